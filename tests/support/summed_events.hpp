// SPDX-License-Identifier: Apache-2.0
/// Events as a summary gets them.
#pragma once

#include <tracer/summary.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "builders.hpp"

namespace summed {

using tracer::Event;
using tracer::Process;
using tracer::ProcessExit;
using tracer::ProcessSample;
using tracer::ProgramAccount;
using tracer::Summary;
using tracer::ToolSample;

struct Run {
  std::uint32_t pid = 1;
  std::optional<std::string> tool = {};
  std::optional<std::string> step = {};
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::optional<std::uint64_t> cpu_ns = 0;
  std::optional<std::uint64_t> peak = {};
  std::int32_t status = 0;
};

inline std::shared_ptr<const Process> process_of(const Run& run) {
  return build::process({.pid = run.pid, .start_ns = 0, .tool = run.tool, .context = {.step = run.step}});
}

inline ProgramAccount program_of(const Run& run) {
  ProgramAccount program;
  program.start_ns = run.start_ns;
  program.end_ns = run.end_ns;
  program.program = process_of(run)->program;
  program.account.cpu_ns = run.cpu_ns;
  program.account.read_bytes = 10;
  program.account.written_bytes = 20;
  program.account.peak_rss_bytes = run.peak;
  return program;
}

inline Event exit_of(const Run& run) {
  ProcessExit exit;
  exit.process = process_of(run);
  exit.exit_code = run.status;
  exit.program = program_of(run);
  return exit;
}

inline ProcessSample sample_at(std::uint64_t time_ns, std::uint32_t pid, std::optional<std::uint64_t> held,
                               std::optional<std::string> step = {}, std::optional<std::string> of = {}) {
  ProcessSample sample;
  sample.time_ns = time_ns;
  sample.process =
      build::process({.pid = pid, .start_ns = 0, .context = {.step = std::move(step), .sample = std::move(of)}});
  sample.rss_anonymous_bytes = held;
  return sample;
}

inline ToolSample folded_at(std::uint64_t time_ns, std::optional<std::uint64_t> held,
                            std::optional<std::string> step = {}) {
  ToolSample sample;
  sample.time_ns = time_ns;
  sample.context = std::make_shared<const tracer::Context>(tracer::Context{.step = std::move(step)});
  sample.processes = 65;
  sample.held_bytes = held;
  return sample;
}

inline Summary summary_of(const std::vector<Event>& events) {
  Summary summary;
  for (const Event& event : events) summary.add(event);
  return summary;
}

/// Of a recording that has its end: all that ended is in it.
inline Summary whole_summary_of(std::vector<Event> events) {
  tracer::SessionEnd end;
  for (const Event& event : events) end.processes_ended += event.get_if<ProcessExit>() != nullptr ? 1 : 0;
  end.processes_started = end.processes_ended;
  events.emplace_back(end);
  return summary_of(events);
}

}  // namespace summed
