// SPDX-License-Identifier: Apache-2.0
/// Runs and tasks by the names that people ask for them with.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <tracer/event.hpp>

namespace tracer::internal {

/// "align (S1)", "rnaseq r42": what people call it.
std::string name_of_scope(const Context& context, bool is_run);
/// All that it may be asked for by: its name, the parts of that, its id and its key.
std::vector<std::string> names_of_scope(const Context& context, bool is_run);

/// Whether an event is about what was asked for, as events pass by: a task or run that is called so, or in whose name
/// it is a word. Losses, and what ends a session, are about all.
class AskedWork {
 public:
  static constexpr std::size_t kMostOthers = 12;

  /// Empty: all.
  explicit AskedWork(std::string asked) : asked_(std::move(asked)) {}

  bool takes(const Event& event);
  /// Something was called so.
  bool found() const noexcept { return found_ || asked_.empty(); }
  const std::string& asked() const noexcept { return asked_; }
  /// The first tasks, and where there are none runs, that were called otherwise.
  std::vector<std::string> others() const;

 private:
  bool is_asked_for(const std::shared_ptr<const Context>& context);

  std::string asked_;
  bool found_ = false;
  std::shared_ptr<const Context> last_;
  bool takes_last_ = false;
  std::set<std::string> other_tasks_;
  std::set<std::string> other_runs_;
};

}  // namespace tracer::internal
