// SPDX-License-Identifier: Apache-2.0
#include "report/asked_work.hpp"

#include <algorithm>
#include <optional>

#include "context/task_name.hpp"

namespace tracer::internal {
namespace {

constexpr std::string_view kWordBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

bool is_word_in(std::string_view word, std::string_view name) {
  const auto goes_on = [&](std::size_t at) {
    return at < name.size() && kWordBytes.find(name[at]) != std::string_view::npos;
  };
  for (std::size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1))
    if ((at == 0 || !goes_on(at - 1)) && !goes_on(at + word.size())) return true;
  return false;
}

/// Null: it is about no run or task.
std::shared_ptr<const Context> subject_of(const Event& event) {
  std::shared_ptr<const Context> context;
  visit(
      [&context](const auto& body) {
        if constexpr (requires { body.process->context; }) {
          context = body.process->context;
        } else if constexpr (requires { body.after; }) {
          context = body.after;
        } else if constexpr (requires { body.context; }) {
          context = body.context;
        }
      },
      event);
  return context;
}

}  // namespace

std::string name_of_scope(const Context& context, bool is_run) {
  if (!is_run) {
    const std::string name = task_name(context);
    return name.empty() ? "?" : name;
  }
  if (context.run) return context.pipeline ? *context.pipeline + " " + *context.run : *context.run;
  return context.pipeline.value_or(context.run_id.value_or(context.engine.value_or("?")));
}

std::vector<std::string> names_of_scope(const Context& context, bool is_run) {
  std::vector<std::string> names = {name_of_scope(context, is_run)};
  const auto add = [&names](const std::optional<std::string>& name) {
    if (name && !name->empty()) names.push_back(*name);
  };
  if (is_run) {
    add(context.run), add(context.run_id), add(context.pipeline);
    if (context.run_key) names.push_back(to_string(*context.run_key));
  } else {
    names.push_back(own_task_name(context));
    if (context.step && context.sample) names.push_back(*context.step + " " + *context.sample);
    add(context.task), add(context.task_id), add(context.sample), add(context.step);
    if (context.task_key) names.push_back(to_string(*context.task_key));
  }
  return names;
}

bool AskedWork::is_asked_for(const std::shared_ptr<const Context>& context) {
  if (context == last_) return takes_last_;
  last_ = context;
  takes_last_ = false;
  for (const bool is_run : {false, true}) {
    if (is_run ? !context->run_key : !context->task_key && !context->sample) continue;
    const auto names = names_of_scope(*context, is_run);
    takes_last_ = takes_last_ || std::any_of(names.begin(), names.end(),
                                             [&](const std::string& name) { return is_word_in(asked_, name); });
    std::set<std::string>& others = is_run ? other_runs_ : other_tasks_;
    if (!takes_last_ && others.size() < kMostOthers) others.insert(names.front());
  }
  found_ = found_ || takes_last_;
  return takes_last_;
}

bool AskedWork::takes(const Event& event) {
  if (asked_.empty()) return true;
  const auto context = subject_of(event);
  return context == nullptr || is_asked_for(context);
}

std::vector<std::string> AskedWork::others() const {
  const std::set<std::string>& names = other_tasks_.empty() ? other_runs_ : other_tasks_;
  return {names.begin(), names.end()};
}

}  // namespace tracer::internal
