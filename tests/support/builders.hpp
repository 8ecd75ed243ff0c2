// SPDX-License-Identifier: Apache-2.0
/// Events and their parts, made from what a test cares about.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

namespace build {

struct ProcessSpec {
  std::uint32_t pid = 1;
  std::uint64_t start_ns = 1;
  std::optional<std::uint32_t> parent_pid = {};
  std::optional<std::uint64_t> parent_start_ns = {};
  std::optional<std::uint32_t> uid = {};
  std::optional<std::string> comm = {};
  std::optional<std::string> exe = {};
  std::optional<std::vector<std::string>> argv = {};
  std::optional<std::string> tool = {};
  std::optional<std::string> cwd = {};
  tracer::Context context = {};
  tracer::Cgroup cgroup = {};
};

inline std::shared_ptr<const tracer::Process> process(ProcessSpec spec = {}) {
  tracer::Process process;
  process.pid = spec.pid;
  process.start_ns = spec.start_ns;
  process.parent_pid = spec.parent_pid;
  process.parent_start_ns = spec.parent_start_ns;
  process.uid = spec.uid;
  tracer::Program program;
  program.comm = std::move(spec.comm);
  program.exe = std::move(spec.exe);
  program.argv = std::move(spec.argv);
  program.tool = std::move(spec.tool);
  program.cwd = std::move(spec.cwd);
  process.program = std::make_shared<const tracer::Program>(std::move(program));
  process.context = std::make_shared<const tracer::Context>(std::move(spec.context));
  process.cgroup = std::make_shared<const tracer::Cgroup>(std::move(spec.cgroup));
  return std::make_shared<const tracer::Process>(std::move(process));
}

inline tracer::ProcessStart start(std::uint32_t pid, std::uint64_t time_ns = 1) {
  return {time_ns, process({.pid = pid, .start_ns = time_ns}), {}};
}

inline tracer::ProcessExit exit(std::uint32_t pid, std::uint64_t time_ns = 1) {
  tracer::ProcessExit exit;
  exit.time_ns = exit.end_ns = time_ns;
  exit.process = process({.pid = pid, .start_ns = time_ns});
  exit.start_ns = time_ns;
  exit.exit_code = 0;
  return exit;
}

inline tracer::SessionEnd end(std::uint64_t time_ns = 1) {
  tracer::SessionEnd end;
  end.time_ns = time_ns;
  return end;
}

}  // namespace build
