// SPDX-License-Identifier: Apache-2.0
#include "context/notes.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace tracer::internal {
namespace {

bool first_match(const Pattern& pattern, const std::vector<std::string>& lines, bool from_the_end, Captures& captures) {
  const auto matches = [&](const std::string& line) { return pattern.matches(line, captures); };
  return from_the_end ? std::any_of(lines.rbegin(), lines.rend(), matches)
                      : std::any_of(lines.begin(), lines.end(), matches);
}

bool in_file_name(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '/' || static_cast<unsigned char>(c) >= 0x80;
}

/// `name` is a word of its own in `text`, and not a part of another file's name.
bool holds_name(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const std::string_view before = text.substr(0, at);
    const std::string_view after = text.substr(at + name.size());
    const bool begins =
        before.empty() || before.ends_with("./") || !(in_file_name(before.back()) || before.back() == '.');
    const bool goes_on = !after.empty() && (in_file_name(after.front()) ||
                                            (after.front() == '.' && after.size() > 1 && in_file_name(after[1])));
    if (begins && !goes_on) return true;
  }
  return false;
}

/// Each of the texts, which stand between commas, is in `text`. False: there are none.
bool holds_all(std::string_view list, std::string_view text) {
  bool any = false;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view one = trim(list.substr(0, comma));
    list.remove_prefix(std::min(list.size(), comma + 1));
    if (one.empty()) continue;
    if (!holds_name(text, one)) return false;
    any = true;
  }
  return any;
}

struct Block {
  Captures said = {};
  std::string id = {};
  bool nameless = false;
  bool over = false;
  bool has_outputs = false;  ///< All that it lists as its own is in the text.
  bool has_inputs = false;   ///< Likewise, what it lists as another's.
};

struct Blocks {
  std::vector<Block> all;
  std::size_t counted = 0;  ///< How many there are by what is said of their number.
};

Blocks blocks_in(const NoteFile& notes, const std::vector<std::string>& lines) {
  const auto matches = [](const std::vector<Pattern>& patterns, const std::string& line, Captures& captures) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const Pattern& pattern) { return pattern.matches(line, captures); });
  };
  const auto end_those = [](std::vector<Block>& blocks, const std::string& id) {
    for (Block& block : blocks) block.over = block.over || (!id.empty() && block.id == id);
  };
  Blocks blocks;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Captures own;
    const bool named = matches(notes.begins, lines[i], own);
    if (named || matches(notes.nameless, lines[i], own)) {
      for (; named && i + 1 < lines.size() && lines[i + 1].starts_with(' '); ++i)
        for (const Pattern& pattern : notes.lines) pattern.matches(lines[i + 1], own);
      std::string id = notes.id ? notes.id->fill(own) : std::string();
      end_those(blocks.all, id);
      blocks.all.push_back({.said = std::move(own), .id = std::move(id), .nameless = !named});
    } else if (matches(notes.ends, lines[i], own)) {
      if (notes.id) end_those(blocks.all, notes.id->fill(own));
    } else if (matches(notes.counts, lines[i], own)) {
      const std::string& number = own["number"];
      std::size_t count = 0;
      std::from_chars(number.data(), number.data() + number.size(), count);
      blocks.counted += std::min<std::size_t>(count, lines.size());
    }
  }
  return blocks;
}

/// The only one for which it holds; those that say the same are one.
template <class Is>
const Block* only_one(const std::vector<Block>& blocks, Is is) {
  const Block* found = nullptr;
  for (const Block& block : blocks) {
    if (!is(block)) continue;
    if (found != nullptr && found->said != block.said) return nullptr;
    found = &block;
  }
  return found;
}

/// The block that is meant by the text; null: that is not clear.
const Block* meant(const NoteFile& notes, const NoteAnswer& answer, Blocks& blocks, const Captures& captures) {
  for (Block& block : blocks.all) {
    if (block.nameless || !notes.in_text) continue;
    Captures all = captures;
    all.insert(block.said.begin(), block.said.end());
    const std::string text = notes.in_text->fill(all);
    block.has_outputs = notes.listed && holds_all(notes.listed->fill(all), text);
    block.has_inputs = notes.inputs && holds_all(notes.inputs->fill(all), text);
  }
  const auto fits = [&](const Block& block) {
    // Who begins lives while this is read: what is over by then was another.
    return !(block.over && answer.in_time) && std::none_of(block.said.begin(), block.said.end(), [&](const auto& one) {
      const auto known = captures.find(one.first);
      return known != captures.end() && known->second != one.second;
    });
  };
  if (const Block* found =
          only_one(blocks.all, [&](const Block& b) { return fits(b) && b.has_outputs && b.has_inputs; }))
    return found;
  // What one makes another may read: a text with all that another reads may as well be that one's.
  const Block* found = only_one(blocks.all, [&](const Block& b) { return fits(b) && b.has_outputs; });
  const auto is_rival = [&](const Block& b) { return fits(b) && b.has_inputs && b.said != found->said; };
  if (found != nullptr && std::none_of(blocks.all.begin(), blocks.all.end(), is_rival)) return found;
  // The only one that goes on, if there are no others.
  const bool whole = answer.lines->size() < notes.most_lines && answer.in_time && answer.whole;
  if (!whole || blocks.counted == 0 || blocks.counted != blocks.all.size()) return nullptr;
  found = nullptr;
  for (const Block& block : blocks.all) {
    if (block.over) continue;
    if (found != nullptr) return nullptr;
    found = &block;
  }
  return found != nullptr && !found->nameless && fits(*found) ? found : nullptr;
}

/// Adds what the block that is meant captures, and as "block" how often it was there by then. False: there is none, or
/// there are different ones.
bool match_block(const NoteFile& notes, const NoteAnswer& answer, Captures& captures) {
  Blocks blocks = blocks_in(notes, *answer.lines);
  const Block* found = meant(notes, answer, blocks, captures);
  if (found == nullptr) return false;
  captures.insert(found->said.begin(), found->said.end());
  const auto times = std::count_if(blocks.all.begin(), blocks.all.end(),
                                   [&](const Block& block) { return block.said == found->said; });
  if (answer.in_time) captures.insert_or_assign("block", std::to_string(times));
  return true;
}

}  // namespace

NoteFindings look_up(const NoteQuestion& question, const ReadNotes& read) {
  NoteFindings findings{false, question.captures};
  const auto read_file = [&](const NoteRequest& request) { return read(request, question.process); };
  if (question.recipes) question.recipes->read(read_file);
  if (question.rule == nullptr) return findings;
  const EngineRule& rule = *question.rule;
  if (rule.recipe && question.recipes)
    if (auto name = question.recipes->rule_that_runs(rule.recipe->text.fill(question.captures)))
      findings.captures.insert_or_assign(rule.recipe->as, *std::move(name));
  findings.found = true;
  if (!rule.notes) return findings;
  const NoteFile& notes = *rule.notes;
  const std::string path = notes.path.fill(findings.captures);
  const NoteAnswer answer = path.empty() ? NoteAnswer() : read_file({path, notes.most_lines, !notes.begins.empty()});
  findings.found = match_notes(notes, answer, findings.captures);
  return findings;
}

bool match_notes(const NoteFile& notes, const NoteAnswer& answer, Captures& captures) {
  if (!answer.lines) return false;
  if (!notes.begins.empty()) return match_block(notes, answer, captures);
  const std::vector<std::string>& lines = *answer.lines;
  bool found = false;
  for (const Pattern& pattern : notes.lines) found = first_match(pattern, lines, notes.last, captures) || found;
  return found;
}

}  // namespace tracer::internal
