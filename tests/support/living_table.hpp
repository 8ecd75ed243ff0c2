// SPDX-License-Identifier: Apache-2.0
/// Living processes in a table of samples, for tests of what a snapshot tells of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "builders.hpp"
#include "correlate/sample_table.hpp"
#include "correlate/account.hpp"
#include "raw_builder.hpp"

namespace tracer::living_table {

inline constexpr std::uint64_t kMiB = 1u << 20;
inline constexpr internal::RecordFlags kCopy{.copy = true};  ///< One that only forked.
inline constexpr internal::RecordFlags kExecuted{.executed = true};
inline constexpr internal::RecordFlags kBorrower{.borrows_memory = true, .copy = true};

inline std::shared_ptr<const Process> process(std::uint32_t pid, std::optional<std::uint32_t> parent = {},
                                              std::optional<std::string> exe = {}) {
  return build::process({.pid = pid, .parent_pid = parent, .exe = std::move(exe)});
}

inline internal::ThreadRecord thread_of(std::uint32_t pid, std::uint64_t unit = 1) {
  internal::ThreadRecord record;
  record.identity.pid = pid;
  record.identity.time_ns = 5000 + unit;
  record.sum = raw::counted(unit);
  record.waits.threads = 1;
  record.waits.wall_ns = 1000 * unit;
  record.flags = kExecuted;
  record.state = internal::ThreadState::kSleeping;
  return record;
}

struct Living {
  std::uint32_t pid = 0;
  std::optional<std::uint32_t> parent = {};
  std::optional<std::string> exe = "/usr/bin/python3";
  std::uint64_t anonymous_bytes = 8 * kMiB;
  std::uint64_t shared_bytes = 0;
  internal::RecordFlags flags = kExecuted;
};

inline void add(internal::SampleTable& table, const Living& living) {
  internal::ThreadRecord record = thread_of(living.pid);
  record.flags = living.flags;
  record.memory = internal::ThreadRecord::Memory{living.anonymous_bytes / internal::bytes_of_pages(1), 3,
                                                 living.shared_bytes / internal::bytes_of_pages(1)};
  table.add(record, process(living.pid, living.parent, living.exe), {});
}

/// A table whose shares come from `answer`, and who was asked; in any time, however long this machine stands still.
struct Asking final : internal::HostQuestions {
  using Answer = std::function<std::optional<std::uint64_t>(std::uint32_t pid)>;

  explicit Asking(
      Answer answer = [](std::uint32_t) { return std::optional(5 * kMiB); },
      std::chrono::milliseconds most_time = std::chrono::hours(1))
      : table(this, most_time), answer_(std::move(answer)) {}
  std::optional<std::uint64_t> pss_bytes(std::uint32_t pid, std::uint64_t) override {
    asked.push_back(pid);
    return answer_(pid);
  }
  std::optional<std::string> cgroup_path(internal::Hierarchy, std::uint64_t) const override { return {}; }
  std::map<std::uint32_t, ProcessSample> take(const std::vector<Living>& all) {
    for (const Living& living : all) add(table, living);
    std::map<std::uint32_t, ProcessSample> samples;
    for (ProcessSample& sample : table.take()) samples.emplace(sample.process->pid, std::move(sample));
    return samples;
  }

  std::vector<std::uint32_t> asked;
  internal::SampleTable table;

 private:
  Answer answer_;
};

using Pids = std::vector<std::uint32_t>;

inline bool memory_is_unknown(const ProcessSample& sample) {
  return !sample.rss_anonymous_bytes && !sample.rss_file_bytes && !sample.rss_shared_bytes && !sample.pss_bytes;
}

}  // namespace tracer::living_table
