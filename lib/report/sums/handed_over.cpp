// SPDX-License-Identifier: Apache-2.0
#include "report/sums/handed_over.hpp"

#include <algorithm>
#include <string_view>

#include "base/text.hpp"
#include "base/tool_name.hpp"
#include "rules/daemon_rules.hpp"

namespace tracer::internal {
namespace {

/// "docker run": the name of what runs, and its first argument that is no option.
std::string called_with(const Program& program, const std::string& tool) {
  if (!program.argv) return tool;
  const auto& words = *program.argv;
  const std::string name(base_name(tool));
  // A script's name stands behind its interpreter.
  auto word = std::find_if(words.begin(), words.end(), [&](const auto& each) { return base_name(each) == name; });
  if (word == words.end()) return tool;
  word = std::find_if(word + 1, words.end(), [](const auto& each) { return !each.starts_with('-'); });
  return word == words.end() ? name : name + " " + *word;
}

}  // namespace

void HandedOver::saw(const Process& process) {
  const std::string tool = known_tool(*process.program).value_or("");
  const std::string called = called_with(*process.program, tool);
  const std::string path = process.cgroup->path.value_or("");
  const auto keep = [&path](std::set<std::string>& paths) {
    if (paths.size() < kMostPlaces) paths.insert(path);
  };
  for (const DaemonRule& rule : DaemonRules::builtin()) {
    if (rule.is_client(tool) || rule.is_client(called)) {
      Daemon& daemon = daemons_[rule.name];
      ++daemon.calls;
      keep(daemon.clients);
    } else if (rule.is_seen_by(tool)) {
      daemons_[rule.name].seen = true;
    } else if (!path.empty() && rule.is_seen_by(path)) {
      keep(daemons_[rule.name].places);
    }
  }
}

std::map<std::string, std::uint64_t> HandedOver::calls() const {
  std::map<std::string, std::uint64_t> calls;
  for (const auto& [name, daemon] : daemons_)
    if (daemon.calls != 0 && !daemon.seen &&
        std::includes(daemon.clients.begin(), daemon.clients.end(), daemon.places.begin(), daemon.places.end()))
      calls[name] = daemon.calls;
  return calls;
}

}  // namespace tracer::internal
