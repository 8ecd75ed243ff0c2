// SPDX-License-Identifier: Apache-2.0
/// Announcements, and records of processes that meet them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/announcement.hpp>

#include "shell_records.hpp"

namespace tracer::announced_run {

using collect::all_of;
using collect::Polled;
using shell_records::kChild;
using shell_records::kShell;
using wire::Who;

inline Context task_named(const std::string& task) {
  Context context;
  context.pipeline = "rnaseq";
  context.run = "r1";
  context.task = task;
  return context;
}

/// Announced, and met with the records that follow.
struct Announced : Polled {
  explicit Announced(SessionOptions options = {}) : Polled(std::move(options)) {}

  void say(AnnouncementKey key, Context context, Requested requested = {}) {
    session->announce({std::move(key), std::move(context), std::move(requested)});
  }
  void start(const Who& who) { push(wire::start_record(who)); }
  void exec(const Who& who, const std::string& cwd, std::vector<std::string> argv = {"sort", "x"}) {
    push(wire::exec_record(who, {.time_ns = who.start_ns + 10,
                                 .program_start_ns = who.start_ns,
                                 .exe = "/usr/bin/" + argv[0],
                                 .cwd = cwd,
                                 .argv = argv}));
  }
  void exit(const Who& who, std::uint64_t program_start_ns, std::uint32_t status = 0) {
    push(wire::exit_record(
        who, {.time_ns = 1'000'000 + who.pid, .program_start_ns = program_start_ns, .exit_code = status << 8}));
  }
  void drain() {
    while (poll() != 0) continue;
  }
  std::shared_ptr<const Context> context_at_exit(std::uint32_t pid) {
    drain();
    for (const ProcessExit& exit : all_of<ProcessExit>(events))
      if (exit.process->pid == pid) return exit.process->context;
    FAIL("it has not ended");
    return nullptr;
  }
};

inline const Who kInner = wire::child_of(kChild, 102, 3000);

}  // namespace tracer::announced_run
