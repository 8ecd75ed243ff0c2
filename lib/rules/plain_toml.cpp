// SPDX-License-Identifier: Apache-2.0
#include "rules/plain_toml.hpp"

#include <algorithm>

namespace tracer::internal {
namespace {

bool is_foreign(char c) { return static_cast<unsigned char>(c) >= 0x80; }

/// Walks over a text. Where a string has no end, toml++ refuses it before it sees what follows.
class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text) {}

  std::optional<std::size_t> find() {
    while (at_ < text_.size() && !found_) {
      const char c = text_[at_];
      if (is_foreign(c)) {
        found_ = at_;
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '"' || c == '\'') {
        pass_string(c);
      } else {
        ++at_;
      }
    }
    if (!found_) return std::nullopt;
    const std::string_view before = text_.substr(0, *found_);
    return 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  }

 private:
  bool is_at(char c, std::size_t offset = 0) const { return at_ + offset < text_.size() && text_[at_ + offset] == c; }
  bool is_at_three(char quote) const { return is_at(quote) && is_at(quote, 1) && is_at(quote, 2); }

  void pass_string(char quote) {
    if (is_at_three(quote)) return pass_lines(quote);
    for (++at_; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == quote) {
        ++at_;
        return;
      }
      if (quote == '"' && text_[at_] == '\\') ++at_;
    }
  }

  /// A string of several lines. One or two quotes may stand before those that end it.
  void pass_lines(char quote) {
    for (at_ += 3; at_ < text_.size() && !found_; ++at_) {
      if (is_at_three(quote)) {
        at_ += 3;
        for (int more = 0; more < 2 && is_at(quote); ++more) ++at_;
        return;
      }
      if (quote == '"' && text_[at_] == '\\') pass_escape();
    }
  }

  /// A backslash at the end of a line takes with it the blanks of the next, where toml++ looks for blanks of its own.
  void pass_escape() {
    const std::size_t end = text_.find_first_not_of(" \t\r", at_ + 1);
    if (end == at_ + 1 && text_[end] != '\n') {
      ++at_;
      return;
    }
    const std::size_t word = text_.find_first_not_of(" \t\r\n", at_ + 1);
    if (word == std::string_view::npos) {
      at_ = text_.size();
    } else if (is_foreign(text_[word])) {
      found_ = word;
    } else {
      at_ = word - 1;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<std::size_t> found_;
};

}  // namespace

std::optional<std::size_t> line_of_foreign_character(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return Walk(text).find();
}

}  // namespace tracer::internal
