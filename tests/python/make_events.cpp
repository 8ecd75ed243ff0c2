// SPDX-License-Identifier: Apache-2.0
/// Writes a recording with each kind of event, with every field and with none, and at its end a process that lives:
/// make_events FILE [ROUNDS]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <tracer/sink.hpp>

#include "builders.hpp"
#include "sample_events.hpp"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: make_events FILE [ROUNDS]\n", stderr);
    return 2;
  }
  const auto sink = tracer::recording_sink(std::filesystem::path(argv[1]), tracer::this_host());
  const unsigned long rounds = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1;
  for (unsigned long round = 0; round < rounds; ++round) {
    sink->write(sample_events::all());
    sink->flush();
  }
  auto living = sample_events::full<tracer::ProcessSample>();
  living.time_ns = std::uint64_t{1} << 40;
  const tracer::Event last[] = {living, build::end(living.time_ns)};
  sink->write(last);
  sink->flush();
  return sink->problem() ? 1 : 0;
}
