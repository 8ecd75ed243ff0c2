// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <iostream>

#include <tracer/tracer.hpp>

int main(int argc, char** argv) try {
  tracer::SessionOptions options;
  options.filter.include_tree(argc > 1 ? std::atoi(argv[1]) : 0);
  tracer::Session session(options);
  const auto subscription = session.on<tracer::ProcessExit>([](const tracer::ProcessExit& exit) {
    if (!exit.failed()) return;
    std::cout << exit.tool() << ", pid " << exit.process->pid << ", failed";
    if (exit.account.cpu_ns) std::cout << ", CPU " << *exit.account.cpu_ns / 1'000'000 << " ms";
    std::cout << std::endl;
  });
  session.start();
  std::cin.get();  // Until Enter.
} catch (const tracer::Error& error) {
  std::cerr << error.what() << '\n';
  return EXIT_FAILURE;
}
