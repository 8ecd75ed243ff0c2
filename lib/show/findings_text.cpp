// SPDX-License-Identifier: Apache-2.0
#include "show/findings_text.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "base/evidence_text.hpp"
#include "base/quantities.hpp"
#include "context/task_name.hpp"
#include "show/printable.hpp"
#include "show/wrapped.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostFindingsShown = 5;
/// Of these; what is worth knowing must not hide what is wrong.
constexpr std::size_t kMostNotesShown = 2;
constexpr std::size_t kMostFindingWidth = 600;

bool is_note(const Finding& finding) { return finding.severity != "error" && finding.severity != "warning"; }

/// "limit" of limit_bytes, "lock time" of lock_ns.
std::string label_of(std::string name) {
  if (name.ends_with("_bytes")) name.resize(name.size() - 6);
  if (name.ends_with("_ns")) name.replace(name.size() - 2, 2, "time");
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

/// A sentence says these in other words, and shares by what they are shares of.
bool is_said_in_words(const Evidence& evidence) {
  return evidence.name == "how" || evidence.name == "exit_code" || evidence.name == "exit_signal" ||
         evidence.unit == "percent";
}

/// As whole words.
bool says(const std::string& text, const std::string& words) {
  const auto is_word = [&text](std::size_t at) {
    return at < text.size() && (text[at] == '.' || std::isalnum(static_cast<unsigned char>(text[at])) != 0);
  };
  std::size_t at = text.find(words);
  while (at != std::string::npos && (is_word(at - 1) || is_word(at + words.size()))) at = text.find(words, at + 1);
  return at != std::string::npos;
}

std::string with_indent(const std::string& line, std::optional<std::size_t> columns) {
  return wrapped("    " + printable(line, kMostFindingWidth) + '\n', columns);
}

std::string head_of(const Finding& finding, std::optional<std::size_t> columns) {
  return wrapped(printable(fmt::format("{}: {}", finding.severity, finding.text), kMostFindingWidth) + '\n', columns);
}

/// What `said` does not say: "limit: 512 MiB; usage: 511 MiB". Not printable() yet.
std::string evidence_besides(const Finding& finding, const std::string& said) {
  std::string text;
  // Its sentence says all that matters.
  if (finding.code == "pipe_bottleneck") return text;
  for (const Evidence& evidence : finding.evidence) {
    const std::string value = format_evidence(evidence);
    if (!is_said_in_words(evidence) && !value.empty() && !says(said, value))
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", label_of(evidence.name), value);
  }
  return text;
}

}  // namespace

std::vector<AlikeFindings> alike(const std::vector<Finding>& findings) {
  std::vector<AlikeFindings> groups;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::size_t> known;
  for (const Finding& finding : findings) {
    const auto [at, fresh] = known.try_emplace({finding.code, finding.severity, finding.tool.value_or(""),
                                                finding.context->step.value_or(own_task_name(*finding.context))},
                                               groups.size());
    if (fresh) {
      groups.push_back({&finding, 0});
    } else {
      ++groups[at->second].others;
    }
  }
  return groups;
}

std::string moment_of(std::uint64_t time_ns, std::uint64_t origin_ns) {
  const std::uint64_t after_ns = time_ns - std::min(time_ns, origin_ns);
  return after_ns < 1000 ? "at the start" : format_duration(after_ns) + " after the start";
}

std::string count_by_severity(const std::vector<const Finding*>& findings, const std::string& what) {
  constexpr std::tuple<const char*, const char*, const char*> kNames[] = {
      {"error", "error", "errors"}, {"warning", "warning", "warnings"}, {"note", "note", "notes"}};
  std::string text;
  for (const auto& [severity, one, many] : kNames) {
    const auto is_so = [&severity = severity](const Finding* each) { return each->severity == severity; };
    const auto count = static_cast<std::uint64_t>(std::count_if(findings.begin(), findings.end(), is_so));
    if (count != 0) text += (text.empty() ? "" : ", ") + format_count(count, what + one, what + many);
  }
  return text;
}

std::string format_findings(const std::vector<Finding>& findings, std::optional<std::size_t> columns) {
  std::string out;
  std::size_t shown = 0;
  std::size_t notes = 0;
  std::vector<const Finding*> counted;
  for (const auto& [first, others] : alike(findings)) {
    const bool has_room = shown < kMostFindingsShown && (!is_note(*first) || notes < kMostNotesShown);
    if (!has_room) {
      counted.insert(counted.end(), others + 1, first);
      continue;
    }
    ++shown;
    if (is_note(*first)) ++notes;
    out += head_of(*first, columns);
    if (!first->advice.empty()) out += with_indent("try: " + first->advice, columns);
    if (others != 0) out += with_indent(fmt::format("{} more like it", others), columns);
  }
  if (!counted.empty())
    out += wrapped(fmt::format("{} (all of them: tracerd why FILE)\n", count_by_severity(counted, "more ")), columns);
  return out;
}

std::string format_finding(const Finding& finding, std::uint64_t origin_ns, std::optional<std::size_t> columns) {
  std::string when = fmt::format("confidence: {}; {}", finding.confidence, moment_of(finding.first_ns, origin_ns));
  if (finding.last_ns > finding.first_ns)
    when += fmt::format(", for {}", format_duration(finding.last_ns - finding.first_ns));
  if (finding.count > 1) when += fmt::format(", {} times", finding.count);
  if (finding.state == "open") when += "; still so";
  const std::string evidence = evidence_besides(finding, finding.text + '\n' + finding.advice + '\n' + when);
  std::string out = head_of(finding, columns) + with_indent(when, columns);
  if (!evidence.empty()) out += with_indent(evidence, columns);
  if (!finding.advice.empty()) out += with_indent("try: " + finding.advice, columns);
  return out;
}

}  // namespace tracer::internal
