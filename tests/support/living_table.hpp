// SPDX-License-Identifier: Apache-2.0
/// Living processes in a table of samples, for tests of what a snapshot tells of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "correlate/sample_table.hpp"
#include "correlate/account.hpp"
#include "wire_builder.hpp"

namespace tracer::living_table {

inline constexpr std::uint64_t kMiB = 1u << 20;
inline constexpr std::uint32_t kCopy = TRACER_FLAG_COPY;  ///< Flags of one that only forked.
inline constexpr std::uint32_t kExecuted = TRACER_FLAG_EXECUTED;
inline constexpr std::uint32_t kBorrower = TRACER_FLAG_PEAK_SHARED | TRACER_FLAG_COPY;

inline std::shared_ptr<const Process> process(std::uint32_t pid, std::optional<std::uint32_t> parent = {},
                                              std::optional<std::string> exe = {}) {
  Process process;
  process.pid = pid;
  process.start_ns = 1;
  process.parent_pid = parent;
  process.exe = std::move(exe);
  return std::make_shared<const Process>(process);
}

inline ThreadRecord thread_of(std::uint32_t pid, std::uint64_t unit = 1) {
  ThreadRecord record;
  record.identity.pid = pid;
  record.identity.time_ns = 5000 + unit;
  record.sum = wire::counted(unit);
  record.waits.threads = 1;
  record.waits.wall_ns = 1000 * unit;
  record.flags = kExecuted;
  record.state = TRACER_STATE_SLEEPING;
  return record;
}

struct Living {
  std::uint32_t pid = 0;
  std::optional<std::uint32_t> parent = {};
  std::optional<std::string> exe = "/usr/bin/python3";
  std::uint64_t anonymous_bytes = 8 * kMiB;
  std::uint64_t shared_bytes = 0;
  std::uint32_t flags = kExecuted;
};

inline void add(SampleTable& table, const Living& living) {
  ThreadRecord record = thread_of(living.pid);
  record.flags = living.flags;
  record.memory =
      ThreadRecord::Memory{living.anonymous_bytes / bytes_of_pages(1), 3, living.shared_bytes / bytes_of_pages(1)};
  table.add(record, process(living.pid, living.parent, living.exe), {});
}

/// A table whose shares come from `answer`, and who was asked.
struct Asking {
  using Answer = std::function<std::optional<std::uint64_t>(std::uint32_t pid)>;

  explicit Asking(Answer answer = [](std::uint32_t) { return std::optional(5 * kMiB); })
      : table([this, answer = std::move(answer)](std::uint32_t pid) {
          asked.push_back(pid);
          return answer(pid);
        }) {}
  std::map<std::uint32_t, ProcessSample> take(const std::vector<Living>& all) {
    for (const Living& living : all) add(table, living);
    std::map<std::uint32_t, ProcessSample> samples;
    for (ProcessSample& sample : table.take()) samples.emplace(sample.process->pid, std::move(sample));
    return samples;
  }

  std::vector<std::uint32_t> asked;
  SampleTable table;
};

using Pids = std::vector<std::uint32_t>;

inline bool memory_is_unknown(const ProcessSample& sample) {
  return !sample.rss_anonymous_bytes && !sample.rss_file_bytes && !sample.rss_shared_bytes && !sample.pss_bytes;
}

}  // namespace tracer::living_table
