// SPDX-License-Identifier: Apache-2.0
#include <tracer/filter.hpp>

#include <fmt/format.h>

namespace tracer {

Filter& Filter::add(bool include, Subject subject, std::uint64_t number, std::string text, Context context) {
  rules_.push_back({include, subject, number, std::move(text), std::move(context)});
  return *this;
}

Filter& Filter::include_tree(pid_t pid, Context context) {
  return add(true, Subject::kTree, static_cast<std::uint64_t>(pid), {}, std::move(context));
}
Filter& Filter::exclude_tree(pid_t pid) { return add(false, Subject::kTree, static_cast<std::uint64_t>(pid), {}, {}); }
Filter& Filter::include_cgroup(std::string path, Context context) {
  return add(true, Subject::kCgroup, 0, std::move(path), std::move(context));
}
Filter& Filter::exclude_cgroup(std::string path) { return add(false, Subject::kCgroup, 0, std::move(path), {}); }
Filter& Filter::include_uid(uid_t uid) { return add(true, Subject::kUid, uid, {}, {}); }
Filter& Filter::exclude_uid(uid_t uid) { return add(false, Subject::kUid, uid, {}, {}); }
Filter& Filter::include_exe(std::string glob) { return add(true, Subject::kExe, 0, std::move(glob), {}); }
Filter& Filter::exclude_exe(std::string glob) { return add(false, Subject::kExe, 0, std::move(glob), {}); }
Filter& Filter::include_tool(std::string glob) { return add(true, Subject::kTool, 0, std::move(glob), {}); }
Filter& Filter::exclude_tool(std::string glob) { return add(false, Subject::kTool, 0, std::move(glob), {}); }
Filter& Filter::include_argument(std::string glob) { return add(true, Subject::kArgument, 0, std::move(glob), {}); }
Filter& Filter::exclude_argument(std::string glob) { return add(false, Subject::kArgument, 0, std::move(glob), {}); }

std::string to_string(const Filter::Rule& rule) {
  const char* verb = rule.include ? "include" : "exclude";
  switch (rule.subject) {
    case Filter::Subject::kTree: return fmt::format("{} the tree of process {}", verb, rule.number);
    case Filter::Subject::kUid: return fmt::format("{} user {}", verb, rule.number);
    case Filter::Subject::kCgroup: return fmt::format("{} cgroup {}", verb, rule.text);
    case Filter::Subject::kExe: return fmt::format("{} executable {}", verb, rule.text);
    case Filter::Subject::kTool: return fmt::format("{} tool {}", verb, rule.text);
    case Filter::Subject::kArgument: return fmt::format("{} argument {}", verb, rule.text);
  }
  return verb;
}

}  // namespace tracer
