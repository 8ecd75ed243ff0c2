// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <tracer/event.hpp>

#include "insight/finding_book.hpp"
#include "state/book.hpp"

namespace tracer::internal {

/// A run or task while it lives: what findings look at.
struct ScopeFigures {
  ScopeId id = ScopeId::kNone;
  std::shared_ptr<const Context> context = Process::no_context();  ///< Never null.
  bool is_run = false;
  std::uint32_t pid = 0;       ///< The leader's.
  std::uint64_t start_ns = 0;  ///< Likewise.
  std::uint64_t begin_ns = 0;
  std::uint64_t now_ns = 0;  ///< Up to where the figures are known; at its end, the end.
  bool finished = false;
  bool whole = false;     ///< Nothing of it is unknown.
  bool by_tasks = false;  ///< Of a run: tasks ran for a fifth of its time or more, and speak for it.
  TaskLedger ledger = {};
  std::uint64_t living = 0;
  std::uint32_t cpus = 0;  ///< That its processes may use, at most.
  Requested requested = {};
};

/// A run or task that is over.
struct ScopeEnd {
  ScopeId id = ScopeId::kNone;
  std::shared_ptr<const Context> context;  ///< Never null.
  std::uint64_t time_ns = 0;
  std::optional<ScopeFigures> figures = {};  ///< Absent: part of it is not known.
  const TaskFinish* task = nullptr;          ///< The event; one of these two is null.
  const RunFinish* run = nullptr;

  bool is_run() const noexcept { return run != nullptr; }
};

/// A finding about a run or task as a whole, from its begin until now.
inline FindingDraft draft_of(std::string_view code, const ScopeFigures& figures,
                             std::shared_ptr<const Process> process = nullptr) {
  FindingDraft draft{.code = code, .subject = figures.is_run ? "run" : "task"};
  draft.context = figures.context;
  draft.process = std::move(process);
  draft.first_ns = figures.begin_ns;
  draft.last_ns = figures.now_ns;
  draft.closed = figures.finished;
  return draft;
}

}  // namespace tracer::internal
