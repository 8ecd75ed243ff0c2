// SPDX-License-Identifier: Apache-2.0
/// Which processes a session follows, as data.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include <tracer/context.hpp>
#include <tracer/export.hpp>

namespace tracer {

/// Rules on processes. Without an include rule, all are included; an include rule that matches takes in the process and
/// all its descendants from then on; an exclude rule prunes a process and its descendants, whatever includes them.
///
/// Trees, cgroups and users are decided in the kernel, before anything is sent. An executable, a tool or an argument is
/// known only from the exec on, and is decided in user space; Session::explain() reports where each rule is decided.
class TRACER_EXPORT Filter {
 public:
  enum class Subject : std::uint8_t { kTree, kCgroup, kUid, kExe, kTool, kArgument };

  struct Rule {
    bool include = true;
    Subject subject = Subject::kTree;
    std::uint64_t number = 0;  ///< pid or uid.
    std::string text;          ///< cgroup path, or a glob (`*`, `?`) on the exe, tool or one argument.
    Context context;           ///< Labels for the processes that an include rule takes in; only kTree and kCgroup.
  };

  /// The process `pid` and its descendants, living and future ones.
  Filter& include_tree(pid_t pid, Context context = {});
  Filter& exclude_tree(pid_t pid);
  /// `path` as in /proc/PID/cgroup ("/docker/…") or as a folder below the cgroup mount; its subtree too.
  Filter& include_cgroup(std::string path, Context context = {});
  Filter& exclude_cgroup(std::string path);
  /// Real user id.
  Filter& include_uid(uid_t uid);
  Filter& exclude_uid(uid_t uid);
  /// Glob on the whole path, or on the last part if the glob has no '/'.
  Filter& include_exe(std::string glob);
  Filter& exclude_exe(std::string glob);
  /// Glob on the tool's name: "samtools *", "bwa mem".
  Filter& include_tool(std::string glob);
  Filter& exclude_tool(std::string glob);
  /// Glob on any one argument, after secrets are masked.
  Filter& include_argument(std::string glob);
  Filter& exclude_argument(std::string glob);

  const std::vector<Rule>& rules() const noexcept { return rules_; }

 private:
  Filter& add(bool include, Subject subject, std::uint64_t number, std::string text, Context context);
  std::vector<Rule> rules_;
};

/// One rule in words: "include the tree of process 4711".
TRACER_EXPORT std::string to_string(const Filter::Rule& rule);

}  // namespace tracer
