// SPDX-License-Identifier: Apache-2.0
#include "show/findings_text.hpp"

#include <algorithm>
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
constexpr std::size_t kMostEvidence = 3;
constexpr std::size_t kMostFindingWidth = 600;

bool is_note(const Finding& finding) { return finding.severity != "error" && finding.severity != "warning"; }

/// "limit" of limit_bytes.
std::string label_of(std::string name) {
  for (const std::string_view unit : {"_bytes", "_ns"})
    if (name.size() > unit.size() && name.ends_with(unit)) name.resize(name.size() - unit.size());
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

/// A sentence says these in other words.
bool is_said_in_words(const Evidence& evidence) {
  return evidence.name == "how" || evidence.name == "exit_code" || evidence.name == "exit_signal";
}

std::string with_indent(const std::string& line, std::optional<std::size_t> columns) {
  return wrapped("    " + printable(line, kMostFindingWidth) + '\n', columns);
}

std::string head_of(const Finding& finding, std::optional<std::size_t> columns) {
  return wrapped(printable(fmt::format("{}: {}", finding.severity, finding.text), kMostFindingWidth) + '\n', columns);
}

/// What its text and advice don't say: "limit 512 MiB, usage 511 MiB", at most three. Not printable() yet.
std::string evidence_besides(const Finding& finding) {
  std::string text;
  std::size_t shown = 0;
  // Its sentence says all that matters.
  if (finding.code == "pipe_bottleneck") return text;
  for (const Evidence& evidence : finding.evidence) {
    const std::string value = format_evidence(evidence);
    if (is_said_in_words(evidence) || value.empty() || finding.text.find(value) != std::string::npos ||
        finding.advice.find(value) != std::string::npos)
      continue;
    if (shown++ == kMostEvidence) break;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", label_of(evidence.name), value);
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

std::string count_by_severity(const std::vector<const Finding*>& findings) {
  constexpr std::tuple<std::string_view, std::string_view, std::string_view> kNames[] = {
      {"error", "error", "errors"}, {"warning", "warning", "warnings"}, {"note", "note", "notes"}};
  std::string text;
  for (const auto& [severity, one, many] : kNames) {
    const auto is_so = [&severity = severity](const Finding* each) { return each->severity == severity; };
    const auto count = static_cast<std::uint64_t>(std::count_if(findings.begin(), findings.end(), is_so));
    if (count != 0) text += (text.empty() ? "" : ", ") + format_count(count, one, many);
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
    std::string besides = evidence_besides(*first);
    const auto add = [&besides](const std::string& part) {
      besides += (besides.empty() || part.empty() ? "" : "; ") + part;
    };
    if (!first->advice.empty()) add("try: " + first->advice);
    if (others != 0) add(fmt::format("{} more like it", others));
    if (!besides.empty()) out += with_indent(besides, columns);
  }
  if (!counted.empty())
    out += wrapped(
        fmt::format("{} more: {} (all of them: tracerd why FILE)\n", counted.size(), count_by_severity(counted)),
        columns);
  return out;
}

std::string format_finding(const Finding& finding, std::uint64_t origin_ns, std::optional<std::size_t> columns) {
  std::string when =
      fmt::format("{}; confidence: {}; {}", finding.code, finding.confidence, moment_of(finding.first_ns, origin_ns));
  if (finding.last_ns > finding.first_ns)
    when += fmt::format(", for {}", format_duration(finding.last_ns - finding.first_ns));
  if (finding.count > 1) when += fmt::format(", {} times", finding.count);
  if (finding.state == "open") when += "; still so";
  std::string evidence;
  for (const Evidence& each : finding.evidence)
    evidence += fmt::format("{}{}: {}", evidence.empty() ? "" : "; ", label_of(each.name), format_evidence(each));
  std::string out = head_of(finding, columns) + with_indent(when, columns);
  if (!evidence.empty()) out += with_indent(evidence, columns);
  if (!finding.advice.empty()) out += with_indent("try: " + finding.advice, columns);
  return out;
}

}  // namespace tracer::internal
