// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/filter.hpp>

namespace tracer::internal {

/// How user space stands to a process.
enum class Selection : std::uint8_t { kSelected, kUndecided, kExcluded };

/// The part of a filter that user space decides: rules on exe, tool and argument. As soon as one of these includes, all
/// include rules are decided here, since any of them may take a process in, and the kernel lets everything through.
class FilterEvaluator {
 public:
  /// `kernel_helps`: there is a kernel side that decides its part. `labels`: false: its rules give none, as processes
  /// have them already.
  FilterEvaluator(const Filter& filter, bool kernel_helps, bool labels = true);

  /// True: the kernel must let every process through.
  bool needs_all() const noexcept { return !includes_.empty(); }
  /// True: no rule of this part leaves anything out.
  bool selects_all() const noexcept { return includes_.empty() && excludes_.empty(); }
  /// True: a process may turn out excluded only when it executes.
  bool may_exclude_late() const noexcept { return !excludes_.empty(); }
  /// True: one that is known to be there may turn out excluded by what it executes.
  bool excludes_by_program() const noexcept;
  /// True: it takes in processes with all that begins below them, and leaves their labels as they are.
  bool takes_whole_trees() const noexcept;
  /// Of a process without a tracked parent.
  Selection initial() const noexcept { return needs_all() ? Selection::kUndecided : Selection::kSelected; }
  struct Decision {
    Selection selection = Selection::kSelected;
    std::shared_ptr<const Context> labels;  ///< Those of the rule that took it in just now; null: it gives none.
  };
  /// Decides again when something more is known of the process.
  Decision decide(Selection inherited, const Process& process) const;

 private:
  struct Include {
    Filter::Rule rule;
    std::shared_ptr<const Context> labels;
  };
  std::vector<Include> includes_;
  std::vector<Filter::Rule> excludes_;
};

/// True for rules on what is known only from the exec on.
bool decided_in_user_space(Filter::Subject subject) noexcept;

/// One line for each rule: what it does and where it is decided.
std::vector<std::string> explain_filter(const Filter& filter, bool kernel_helps, bool own_uid_only);

}  // namespace tracer::internal
