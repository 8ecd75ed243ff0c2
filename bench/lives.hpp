// SPDX-License-Identifier: Apache-2.0
/// Lives of processes, made up: each is forked by one shell, executes a program and ends.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

namespace lives {

inline std::uint64_t scatter(std::uint64_t value) { return (value * 0x9e3779b97f4a7c15u) >> 40; }

inline tracer::Account account_of(std::uint64_t seed, bool with_ledger) {
  tracer::Account account;
  account.cpu_ns = 400'000 + scatter(seed) % 100'000;
  account.run_queue_ns = scatter(seed + 1) % 50'000;
  account.minor_faults = 90 + scatter(seed + 2) % 8;
  account.major_faults = 0;
  account.voluntary_switches = 1;
  account.involuntary_switches = scatter(seed + 3) % 3;
  account.peak_rss_bytes = 4096 * (300 + scatter(seed + 4) % 20);
  account.read_bytes = 816;
  account.written_bytes = 0;
  if (!with_ledger) return account;
  tracer::Ledger& ledger = account.ledger.emplace();
  ledger.cpu_ns = *account.cpu_ns;
  ledger.run_queue_ns = *account.run_queue_ns;
  ledger.child_ns = scatter(seed + 5) % 1000;
  ledger.other_ns = scatter(seed + 6) % 3000;
  ledger.wall_ns = ledger.cpu_ns + ledger.run_queue_ns + ledger.child_ns + ledger.other_ns;
  return account;
}

inline void add(std::vector<tracer::Event>& events, std::uint32_t pid, const tracer::Process& parent) {
  using namespace tracer;
  Process process = parent;
  process.pid = pid;
  process.start_ns = 1'000'000'000'000 + pid * 700'000ull + scatter(pid) % 100'000;
  process.parent_pid = parent.pid;
  process.parent_start_ns = parent.start_ns;
  events.emplace_back(ProcessStart{process.start_ns, std::make_shared<const Process>(process), {}});

  Program program = *parent.program;
  program.comm = "noop";
  program.exe = "/usr/bin/noop";
  program.argv = {{"noop", "--input", "sample_" + std::to_string(pid) + ".bam"}};
  process.program = std::make_shared<const Program>(program);
  const auto shared = std::make_shared<const Process>(process);
  const std::uint64_t exec_ns = process.start_ns + 100'000;
  ProcessExec exec{exec_ns, shared, {}, {}};
  exec.ended = {process.start_ns, exec_ns, parent.program, account_of(pid * 3, true)};
  events.emplace_back(std::move(exec));

  ProcessExit exit;
  exit.time_ns = exit.end_ns = exec_ns + 500'000 + scatter(pid) % 10'000;
  exit.process = shared;
  exit.start_ns = process.start_ns;
  exit.exit_code = 0;
  exit.threads = 1;
  exit.account = account_of(pid * 7, true);
  exit.program = {exec_ns, exit.end_ns, process.program, account_of(pid * 11, true)};
  events.emplace_back(std::move(exit));
}

inline tracer::Process shell() {
  tracer::Process shell;
  shell.pid = 1000;
  shell.start_ns = 999'000'000'000;
  shell.uid = 0;
  tracer::Program bash;
  bash.comm = "bash";
  bash.exe = "/usr/bin/bash";
  bash.argv = {{"bash", "pipeline.sh"}};
  bash.cwd = "/data/run";
  shell.program = std::make_shared<const tracer::Program>(bash);
  return shell;
}

}  // namespace lives
