// SPDX-License-Identifier: Apache-2.0
/// What a kernel source without a session around it yields.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "source/kernel/kernel_source.hpp"

namespace tracer::internal {

struct Kept : Feed {
  void record(const Record& record) override { records.push_back(record); }
  void event(tracer::Event) override {}
  void snapshot_end(std::uint64_t time_ns) override { ends.push_back(time_ns); }

  template <class R>
  std::vector<R> all() const {
    std::vector<R> found;
    for (const Record& record : records)
      if (const R* each = std::get_if<R>(&record)) found.push_back(*each);
    return found;
  }
  std::set<std::uint32_t> exits() const {
    std::set<std::uint32_t> pids;
    for (const ExitRecord& record : all<ExitRecord>()) pids.insert(record.identity.pid);
    return pids;
  }
  /// By pid, the context in the last record of a living thread.
  std::map<std::uint32_t, std::uint32_t> contexts() const {
    std::map<std::uint32_t, std::uint32_t> contexts;
    for (const ThreadRecord& record : all<ThreadRecord>()) contexts[record.identity.pid] = record.identity.context_id;
    return contexts;
  }

  std::vector<Record> records;
  std::vector<std::uint64_t> ends;
};

inline SourceRule tree(pid_t pid, std::uint32_t context_id) {
  SourceRule rule;
  rule.rule.number = static_cast<std::uint64_t>(pid);
  rule.context_id = context_id;
  return rule;
}

}  // namespace tracer::internal
