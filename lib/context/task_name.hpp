// SPDX-License-Identifier: Apache-2.0
/// What runs and tasks are called: in tables, pages, lists, findings and on the live line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <tracer/context.hpp>

#include "base/declared_task.hpp"
#include "base/text.hpp"

namespace tracer::internal {

/// Its id is made up: nobody outside would know it.
inline bool has_made_up_id(const Context& context) {
  return context.task_id && context.provenance.task_id == Provenance::kInferred;
}

/// "pid 445": the first process of a task whose id is made of it. Empty: it is not.
inline std::string process_name(const Context& context) {
  if (!has_made_up_id(context)) return {};
  const std::size_t digits = context.task_id->find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string::npos || (*context.task_id)[digits] != '-') return {};
  return "pid " + context.task_id->substr(0, digits);
}

/// A command of several lines, such as a recipe or a script, in one.
inline std::string in_one_line(const std::string& text) {
  if (text.find('\n') == std::string::npos) return text;
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool continues = text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '\n';
    if (!continues && std::string_view(" \t\r\n").find(text[i]) == std::string_view::npos) {
      line += text[i];
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  if (line.ends_with(' ')) line.pop_back();
  return line;
}

/// "make": what has started a task that is called by its command. Empty: the task has a name, or is a script, which is
/// called by its own.
inline std::string_view launcher_of(const Context& context) {
  const bool is_command = context.task && context.provenance.task == Provenance::kInferred;
  return is_command && context.engine && is_launcher(*context.engine) && *context.engine != "shell"
             ? *context.engine
             : std::string_view();
}

/// "ALIGN (S1)": what the engine or a label calls it, or the id that they gave it; "make: sort a" of one that has no
/// name but its command. Within its step it says enough.
inline std::string own_task_name(const Context& context) {
  std::string name = in_one_line(context.task.value_or(""));
  if (const std::string_view launcher = launcher_of(context); !launcher.empty())
    name.insert(0, std::string(launcher) + ": ");
  if (name.empty()) name = context.sample.value_or("");
  if (name.empty() && !has_made_up_id(context)) name = context.task_id.value_or("");
  if (context.attempt.value_or(1) > 1) name += " (attempt " + std::to_string(*context.attempt) + ")";
  return name;
}

/// The step, and what a task of it is called.
inline std::string name_in_step(const std::string& step, const std::string& own) {
  // Engines put the step's name into the task's, and a command begins with its tool's.
  if (step.empty() || own.empty() || own.starts_with(step) || own.find(": " + step) != std::string::npos)
    return own.empty() ? step : own;
  return step + " " + own;
}

/// Its step, and what tells it from others of it; else its first process. Empty: it is no task, and has no sample.
inline std::string task_name(const Context& context) {
  const std::string name = name_in_step(context.step.value_or(""), own_task_name(context));
  return name.empty() ? process_name(context) : name;
}

/// What a run is called. Empty: it has no name.
inline std::string run_name(const Context& context) {
  std::string name = context.pipeline.value_or("");
  // Of a file its name is enough; owner/project is no path.
  if (name.starts_with('/')) name = base_name(name);
  if (context.run) name += (name.empty() ? "" : " ") + *context.run;
  if (name.empty() && context.engine && context.run_id) name = *context.engine + " " + *context.run_id;
  return name;
}

}  // namespace tracer::internal
