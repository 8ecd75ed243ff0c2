// SPDX-License-Identifier: Apache-2.0
#include "rules/engines/python_words.hpp"

#include <algorithm>
#include <utility>

namespace tracer::internal {
namespace {

bool in_name(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::vector<PythonWord> read() {
    begin_line();
    while (at_ < text_.size()) step();
    return std::move(words_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '\n') {
      ++at_;
      if (depth_ == 0) begin_line();
    } else if (c == '\\' && text_.substr(at_ + 1, 1) == "\n") {
      at_ += 2;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
      ++at_;
    } else if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '"' || c == '\'') {
      read_string("");
    } else if (in_name(c)) {
      const std::size_t begin = at_;
      while (at_ < text_.size() && in_name(text_[at_])) ++at_;
      const std::string_view name = text_.substr(begin, at_ - begin);
      const bool quoted = at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'');
      if (quoted && name.size() <= 2 && name.find_first_not_of("rRbBuUfFtT") == std::string_view::npos) {
        read_string(name);
      } else {
        words_.push_back({PythonWord::Kind::kName, 0, std::string(name)});
      }
    } else {
      if (c == '(' || c == '[' || c == '{') ++depth_;
      if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
      words_.push_back({PythonWord::Kind::kSign, 0, std::string(1, c)});
      ++at_;
    }
  }

  void begin_line() {
    std::size_t indent = 0;
    for (; at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t'); ++at_)
      indent = text_[at_] == '\t' ? indent / 8 * 8 + 8 : indent + 1;
    // Blank lines and comments begin nothing.
    if (at_ == text_.size() || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '#') return;
    words_.push_back({PythonWord::Kind::kLine, indent});
  }

  void read_string(std::string_view prefix) {
    const char quote = text_[at_];
    const std::string three(3, quote);
    const bool is_long = text_.substr(at_, 3) == three;
    const std::string_view end = is_long ? std::string_view(three) : std::string_view(three).substr(0, 1);
    const bool raw = prefix.find_first_of("rR") != std::string_view::npos;
    PythonWord word{PythonWord::Kind::kString, 0, {}};
    word.known = prefix.find_first_of("bBfFtT") == std::string_view::npos;
    at_ += end.size();
    while (at_ < text_.size() && text_.substr(at_, end.size()) != end) {
      if (text_[at_] == '\n' && !is_long) break;  // It is not closed.
      if (text_[at_] != '\\' || at_ + 1 == text_.size()) {
        word.text += text_[at_++];
        continue;
      }
      if (raw) {
        word.text.append(text_.substr(at_, 2));
      } else {
        escaped(text_[at_ + 1], word);
      }
      at_ += 2;
    }
    at_ = std::min(at_ + end.size(), text_.size());
    words_.push_back(std::move(word));
  }

  static void escaped(char c, PythonWord& word) {
    constexpr std::string_view kFrom = "ntrabfv\\'\"";
    constexpr std::string_view kTo = "\n\t\r\a\b\f\v\\'\"";
    if (const std::size_t known = kFrom.find(c); known != std::string_view::npos) {
      word.text += kTo[known];
    } else if (std::string_view("xuUN01234567").find(c) != std::string_view::npos) {
      word.known = false;
    } else if (c != '\n') {
      word.text += {'\\', c};
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  std::vector<PythonWord> words_;
};

}  // namespace

std::vector<PythonWord> python_words(std::string_view text) { return Reader(text).read(); }

}  // namespace tracer::internal
