// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <tracer/filter.hpp>

#include "protocol/json_fields.hpp"
#include "protocol/messages.hpp"

namespace tracer::internal {

inline constexpr auto kFilterSubjects =
    std::array{std::pair(Filter::Subject::kTree, "tree"), std::pair(Filter::Subject::kCgroup, "cgroup"),
               std::pair(Filter::Subject::kUid, "uid"),   std::pair(Filter::Subject::kExe, "exe"),
               std::pair(Filter::Subject::kTool, "tool"), std::pair(Filter::Subject::kArgument, "argument")};

inline std::uint64_t most_of(Filter::Subject subject) noexcept {
  return subject == Filter::Subject::kTree ? static_cast<std::uint64_t>(std::numeric_limits<pid_t>::max())
                                           : std::numeric_limits<uid_t>::max();
}
inline bool has_number(Filter::Subject subject) noexcept {
  return subject == Filter::Subject::kTree || subject == Filter::Subject::kUid;
}
inline std::size_t longest_text(Filter::Subject subject) noexcept {
  return subject == Filter::Subject::kCgroup ? kMostCgroupBytes : kMostGlobBytes;
}

inline void add_rule(Filter& filter, bool include, Filter::Subject subject, std::uint64_t number, std::string text) {
  switch (subject) {
    case Filter::Subject::kTree: {
      const auto pid = static_cast<pid_t>(number);
      include ? filter.include_tree(pid) : filter.exclude_tree(pid);
      return;
    }
    case Filter::Subject::kUid: {
      const auto uid = static_cast<uid_t>(number);
      include ? filter.include_uid(uid) : filter.exclude_uid(uid);
      return;
    }
    case Filter::Subject::kCgroup:
      include ? filter.include_cgroup(std::move(text)) : filter.exclude_cgroup(std::move(text));
      return;
    case Filter::Subject::kExe:
      include ? filter.include_exe(std::move(text)) : filter.exclude_exe(std::move(text));
      return;
    case Filter::Subject::kTool:
      include ? filter.include_tool(std::move(text)) : filter.exclude_tool(std::move(text));
      return;
    case Filter::Subject::kArgument:
      include ? filter.include_argument(std::move(text)) : filter.exclude_argument(std::move(text));
      return;
  }
}

/// {"include":{"tree":12}}, or with "exclude". `place`: how a refusal names the rule.
inline void read_rule(const Json& rule, const std::string& place, Filter& filter) {
  constexpr std::string_view kWanted = R"(an object such as {"include":{"tree":12}} or {"exclude":{"tool":"x*"}})";
  if (!rule.is_object() || rule.size() != 1) refuse_value(place, kWanted);
  const auto verb = rule.begin();
  const bool include = verb.key() == "include";
  const Json& named = verb.value();
  if ((!include && verb.key() != "exclude") || !named.is_object() || named.size() != 1) refuse_value(place, kWanted);
  for (const auto& [subject, name] : kFilterSubjects) {
    const auto found = named.find(name);
    if (found == named.end()) continue;
    const std::string field = fmt::format("{}.{}.{}", place, verb.key(), name);
    std::uint64_t number = 0;
    std::string text;
    if (has_number(subject)) {
      read_value(*found, field, number);
      if (number > most_of(subject) || (number == 0 && subject == Filter::Subject::kTree))
        refuse_value(field, subject == Filter::Subject::kTree ? "a pid" : "a user id");
    } else {
      read_value(*found, field, text);
      if (text.empty() || text.size() > longest_text(subject))
        refuse_value(field, fmt::format("a text of 1 to {} bytes", longest_text(subject)));
    }
    return add_rule(filter, include, subject, number, std::move(text));
  }
  refuse_value(place, kWanted);
}

inline void read_filter(const Json& json, Filter& filter) {
  if (!json.is_array()) refuse_value("filter", "a list of rules");
  if (json.size() > kMostFilterRules)
    refuse_value("filter", fmt::format("a list of at most {} rules", kMostFilterRules));
  for (std::size_t i = 0; i < json.size(); ++i) read_rule(json[i], fmt::format("filter[{}]", i), filter);
}

inline JsonOut list_of(const Filter& filter) {
  JsonOut list = JsonOut::array();
  for (const Filter::Rule& rule : filter.rules()) {
    JsonOut named = JsonOut::object();
    for (const auto& [subject, name] : kFilterSubjects) {
      if (subject != rule.subject) continue;
      has_number(subject) ? write_value(named[name], rule.number) : write_value(named[name], rule.text);
    }
    list.push_back({{rule.include ? "include" : "exclude", std::move(named)}});
  }
  return list;
}

}  // namespace tracer::internal
