// SPDX-License-Identifier: Apache-2.0
// Reads a recording and prints the CPU seconds of each tool.
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

#include <tracer/tracer.hpp>

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::cerr << "usage: replay RECORDING\n";
    return 2;
  }
  std::map<std::string, double> seconds;
  const auto add = [&seconds](const tracer::ProgramAccount& program) {
    seconds[program.program->tool.value_or("?")] += static_cast<double>(program.account.cpu_ns.value_or(0)) / 1e9;
  };
  tracer::RecordingReader recording(argv[1]);
  while (const auto event = recording.next()) {
    // A process runs one program after another: an exec ends one, the exit ends the last.
    if (const auto* exec = event->get_if<tracer::ProcessExec>()) add(exec->ended);
    if (const auto* exit = event->get_if<tracer::ProcessExit>()) add(exit->program);
  }
  for (const auto& [tool, cpu] : seconds) std::cout << tool << '\t' << cpu << " s\n";
  if (recording.damage().any()) std::cerr << "the recording is damaged or not complete\n";
  return EXIT_SUCCESS;
} catch (const tracer::Error& error) {
  std::cerr << error.what() << '\n';
  return EXIT_FAILURE;
}
