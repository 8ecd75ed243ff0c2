// SPDX-License-Identifier: Apache-2.0
// Prints each process that fails in the tree of a running one, until Enter or until nothing of the tree lives.
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include <tracer/tracer.hpp>

int main(int argc, char** argv) try {
  tracer::SessionOptions options;
  options.filter.include_tree(argc > 1 ? std::atoi(argv[1]) : ::getppid());
  tracer::Session session(options);
  const auto subscription = session.on<tracer::ProcessExit>([](const tracer::ProcessExit& exit) {
    if (!exit.failed()) return;
    std::cout << exit.process->tool.value_or("?") << " (pid " << exit.process->pid << ") failed: "
              << (exit.exit_signal ? "signal " : "status ") << exit.exit_signal.value_or(exit.exit_code.value_or(0));
    if (exit.account.cpu_ns) std::cout << ", CPU " << *exit.account.cpu_ns / 1'000'000 << " ms";
    if (exit.account.peak_rss_bytes) std::cout << ", peak memory " << *exit.account.peak_rss_bytes / 1024 << " KiB";
    std::cout << std::endl;
  });
  session.start();
  for (pollfd enter{STDIN_FILENO, POLLIN, 0}; ::poll(&enter, 1, 1000) == 0 && !session.living().empty();) {}
  session.stop();
} catch (const tracer::Error& error) {
  std::cerr << error.what() << '\n';
  return EXIT_FAILURE;
}
