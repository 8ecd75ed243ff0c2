// SPDX-License-Identifier: Apache-2.0
#include "context/notes.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.hpp"

namespace tracer::internal {
namespace {

bool first_match(const Pattern& pattern, const std::vector<std::string>& lines, bool from_the_end, Captures& captures) {
  const auto matches = [&](const std::string& line) { return pattern.matches(line, captures); };
  return from_the_end ? std::any_of(lines.rbegin(), lines.rend(), matches)
                      : std::any_of(lines.begin(), lines.end(), matches);
}

/// Each of the texts, which stand between commas, is in `text`.
bool holds_all(std::string_view list, std::string_view text) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view one = trim(list.substr(0, comma));
    list.remove_prefix(std::min(list.size(), comma + 1));
    if (!one.empty() && text.find(one) == std::string_view::npos) return false;
  }
  return true;
}

/// Adds what the block that is meant captures, and as "block" how often it was there by then. False: there is none, or
/// there are different ones.
bool match_block(const NoteFile& notes, const NoteAnswer& answer, Captures& captures) {
  const std::vector<std::string>& lines = *answer.lines;
  std::optional<Captures> meant;
  std::size_t times = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Captures own;
    if (std::none_of(notes.begins.begin(), notes.begins.end(),
                     [&](const Pattern& pattern) { return pattern.matches(lines[i], own); }))
      continue;
    for (; i + 1 < lines.size() && lines[i + 1].starts_with(' '); ++i)
      for (const Pattern& pattern : notes.lines) pattern.matches(lines[i + 1], own);
    Captures all = captures;
    all.insert(own.begin(), own.end());
    const std::string listed = notes.listed ? notes.listed->fill(all) : std::string();
    if (notes.listed && (listed.empty() || !holds_all(listed, notes.in_text ? notes.in_text->fill(all) : ""))) continue;
    if (meant && *meant != own) return false;
    meant = std::move(own);
    ++times;
  }
  if (!meant) return false;
  captures.insert(meant->begin(), meant->end());
  if (answer.in_time) captures.insert_or_assign("block", std::to_string(times));
  return true;
}

}  // namespace

bool match_notes(const NoteFile& notes, const NoteAnswer& answer, Captures& captures) {
  if (!answer.lines) return false;
  if (!notes.begins.empty()) return match_block(notes, answer, captures);
  const std::vector<std::string>& lines = *answer.lines;
  bool found = false;
  for (const Pattern& pattern : notes.lines) found = first_match(pattern, lines, notes.last, captures) || found;
  return found;
}

}  // namespace tracer::internal
