// SPDX-License-Identifier: Apache-2.0
#include "rules/pattern.hpp"

#include <string.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

namespace tracer::internal {
namespace {

constexpr std::size_t kNoEnd = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kMostParts = 256;

[[noreturn]] void refuse(std::string_view pattern, std::string_view what) {
  throw std::invalid_argument(fmt::format("\"{}\": {}", pattern, what));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_name(std::string_view text) {
  return !text.empty() && is_letter(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

/// What stands between the brace at `begin` and the next that closes.
std::string_view inside_braces(std::string_view text, std::size_t begin) {
  const std::size_t end = text.find('}', begin);
  if (end == std::string_view::npos) refuse(text, "a '{' is not closed");
  return text.substr(begin + 1, end - begin - 1);
}

}  // namespace

Pattern::Pattern(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '*':
        // Several are as one.
        if (parts_.empty() || parts_.back().matches != Class::kAny || !parts_.back().name.empty())
          parts_.push_back({Class::kAny, 0, 0, kNoEnd});
        break;
      case '?': parts_.push_back({Class::kAnyOne}); break;
      case '}': refuse(text, "a '}' closes nothing");
      case '{': {
        const std::string_view inside = inside_braces(text, i);
        add_capture(inside);
        i += inside.size() + 1;
        break;
      }
      case '\\':
        if (++i == text.size()) refuse(text, "nothing follows the last '\\'");
        [[fallthrough]];
      default: parts_.push_back({Class::kCharacter, text[i]});
    }
  }
  if (parts_.size() > kMostParts) refuse(text, "it is too long");
  find_needle();
}

void Pattern::find_needle() {
  std::string run;
  for (const Part& part : parts_) {
    if (part.matches != Class::kCharacter) {
      run.clear();
      continue;
    }
    run += part.character;
    if (run.size() > needle_.size()) needle_ = run;
  }
}

void Pattern::add_capture(std::string_view inside) {
  const std::size_t colon = std::min(inside.find(':'), inside.size());
  const std::string_view name = inside.substr(0, colon);
  std::string_view kind = colon == inside.size() ? std::string_view("segment") : inside.substr(colon + 1);
  if (!is_name(name)) refuse(inside, "a capture needs a name of letters, digits and '_'");
  if (const auto all = names(); std::find(all.begin(), all.end(), name) != all.end())
    refuse(inside, "one pattern captures this name twice");
  Part part{Class::kSegment, 0, 1, kNoEnd, std::string(name)};
  const auto digits = std::find_if(kind.begin(), kind.end(), is_digit);
  const std::string_view count = kind.substr(static_cast<std::size_t>(digits - kind.begin()));
  kind = kind.substr(0, kind.size() - count.size());
  if (!count.empty()) {
    const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), part.least);
    if (error != std::errc() || end != count.data() + count.size() || part.least == 0 || part.least > kMostText)
      refuse(inside, "this number of characters is not possible");
    part.most = part.least;
  }
  if (kind == "digits") {
    part.matches = Class::kDigits;
  } else if (kind == "number") {
    part.matches = Class::kNumber;
  } else if (kind == "plain") {
    part.matches = Class::kPlain;
  } else if (kind == "hex") {
    part.matches = Class::kHex;
  } else if (kind == "word") {
    part.matches = Class::kWord;
  } else if (kind == "token") {
    part.matches = Class::kToken;
  } else if (kind == "path") {
    part.matches = Class::kPath;
  } else if (kind == "any") {
    part.matches = Class::kAny;
  } else if (kind != "segment") {
    refuse(
        inside,
        "a class is \"segment\", \"digits\", \"number\", \"hex\", \"word\", \"token\", \"path\", \"plain\" or \"any\"");
  }
  parts_.push_back(std::move(part));
}

bool Pattern::fits(const Part& part, char c, bool first) noexcept {
  switch (part.matches) {
    case Class::kCharacter: return c == part.character;
    case Class::kAnyOne: return true;
    case Class::kSegment: return c != '/';
    case Class::kDigits: return is_digit(c);
    case Class::kNumber: return is_digit(c) && !(first && c == '0');
    case Class::kPlain: return !(first && c == '-');
    case Class::kHex: return is_digit(c) || (c >= 'a' && c <= 'f');
    case Class::kWord: return is_letter(c) || is_digit(c) || c == '_' || c == '.' || c == '-';
    case Class::kToken: return is_letter(c) || is_digit(c) || c == '_';
    case Class::kPath: return std::string_view(" \t\n\r\v\f'\"`;&|<>()").find(c) == std::string_view::npos;
    case Class::kAny: return true;
  }
  return false;
}

/// Tries the shortest run for each part and goes back where the rest does not fit; what has failed once is not tried
/// again.
class Pattern::Match {
 public:
  Match(const std::vector<Part>& parts, std::string_view text)
      : parts_(parts), text_(text), ends_(parts.size()), failed_((parts.size() + 1) * (text.size() + 1)) {}

  bool run() {
    std::vector<std::size_t> begins(parts_.size() + 1, 0);
    std::vector<std::size_t> lengths(parts_.size(), 0);
    std::size_t part = 0;
    bool entering = true;
    for (;;) {
      if (part == parts_.size()) {
        if (begins[part] == text_.size()) return true;
        entering = false;
      } else if (entering && failed(part, begins[part])) {
        entering = false;
      } else if (const std::size_t length =
                     entering ? least(part, begins[part]) : longer(part, begins[part], lengths[part]);
                 length != kNoEnd) {
        lengths[part] = length;
        ends_[part] = {begins[part], length};
        begins[part + 1] = begins[part] + length;
        ++part;
        entering = true;
        continue;
      } else {
        entering = false;
      }
      if (part < parts_.size()) failed_[place(part, begins[part])] = true;
      if (part == 0) return false;
      --part;
    }
  }

  std::string_view captured(std::size_t part) const { return text_.substr(ends_[part].first, ends_[part].second); }

 private:
  std::size_t place(std::size_t part, std::size_t begin) const { return part * (text_.size() + 1) + begin; }
  bool failed(std::size_t part, std::size_t begin) const { return failed_[place(part, begin)]; }

  std::size_t least(std::size_t part, std::size_t begin) const {
    const Part& one = parts_[part];
    if (one.least > text_.size() - begin) return kNoEnd;
    for (std::size_t i = 0; i < one.least; ++i)
      if (!fits(one, text_[begin + i], i == 0)) return kNoEnd;
    return one.least;
  }
  std::size_t longer(std::size_t part, std::size_t begin, std::size_t length) const {
    const Part& one = parts_[part];
    if (length == one.most || begin + length == text_.size() || !fits(one, text_[begin + length], length == 0))
      return kNoEnd;
    return length + 1;
  }

  const std::vector<Part>& parts_;
  std::string_view text_;
  std::vector<std::pair<std::size_t, std::size_t>> ends_;  ///< Where each part began, and how long it is.
  std::vector<bool> failed_;
};

bool Pattern::may_match(std::string_view text) const noexcept {
  if (text.size() > kMostText) return false;
  const auto fits_at = [text](const Part& part, std::size_t begin) {
    for (std::size_t i = 0; i < part.least; ++i)
      if (!fits(part, text[begin + i], i == 0)) return false;
    return true;
  };
  // Parts of one length only stand at known places, from the front or from the back.
  std::size_t begin = 0;
  for (auto part = parts_.begin(); part != parts_.end() && part->least == part->most; begin += part++->least)
    if (part->least > text.size() - begin || !fits_at(*part, begin)) return false;
  std::size_t end = text.size();
  for (auto part = parts_.rbegin(); part != parts_.rend() && part->least == part->most; ++part) {
    if (part->least > end) return false;
    end -= part->least;
    if (!fits_at(*part, end)) return false;
  }
  // Not by find(), which takes as long as one times the other.
  return needle_.size() < 2 || ::memmem(text.data(), text.size(), needle_.data(), needle_.size()) != nullptr;
}

bool Pattern::matches(std::string_view text, Captures& captures) const {
  std::size_t steps = std::numeric_limits<std::size_t>::max();
  return matches(text, captures, steps);
}

bool Pattern::matches(std::string_view text, Captures& captures, std::size_t& steps) const {
  // To begin with it, and to go through it.
  constexpr std::size_t kBegin = 128;
  const std::size_t most = may_match(text) ? kBegin + parts_.size() * (text.size() + 1) : 1;
  const bool has_enough = most <= steps;
  steps -= std::min(most, steps);
  if (most == 1 || !has_enough) return false;
  Match match(parts_, text);
  if (!match.run()) return false;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].name.empty()) continue;
    const auto known = captures.find(parts_[i].name);
    if (known != captures.end() && known->second != match.captured(i)) return false;
  }
  for (std::size_t i = 0; i < parts_.size(); ++i)
    if (!parts_[i].name.empty()) captures.insert_or_assign(parts_[i].name, std::string(match.captured(i)));
  return true;
}

std::vector<std::string> Pattern::names() const {
  std::vector<std::string> all;
  for (const Part& part : parts_)
    if (!part.name.empty()) all.push_back(part.name);
  return all;
}

bool Pattern::says_something() const noexcept {
  return std::any_of(parts_.begin(), parts_.end(), [](const Part& part) {
    return part.matches == Class::kCharacter ? part.character != '/' : part.least > 1;
  });
}

WordsPattern::WordsPattern(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    Element element;
    element.any_words = word == "...";
    if (!element.any_words) element.pattern.emplace_back(word);
    elements_.push_back(std::move(element));
  }
  std::set<std::string> all;
  for (std::string& name : names())
    if (const auto [at, is_new] = all.insert(std::move(name)); !is_new)
      throw std::invalid_argument(fmt::format("\"{}\" is captured by two words", *at));
}

bool WordsPattern::matches(const std::vector<std::string>& words, Captures& captures) const {
  const auto least =
      std::count_if(elements_.begin(), elements_.end(), [](const Element& one) { return !one.any_words; });
  if (words.size() < static_cast<std::size_t>(least)) return false;
  // Most arguments differ in the first or the last word.
  const auto differ = [](const Element& one, const std::string& word) {
    return !one.any_words && !one.pattern.front().may_match(word);
  };
  if (least != 0 && (differ(elements_.front(), words.front()) || differ(elements_.back(), words.back()))) return false;
  std::size_t steps = kMostSteps;
  Captures made = captures;
  auto element = elements_.begin();
  auto word = words.begin();
  // Words capture different names, so what fits first behind the last "..." need not be looked at again.
  auto any = elements_.end();
  auto resume = words.begin();
  Captures before;
  while (word != words.end() && steps != 0) {
    if (element != elements_.end() && element->any_words) {
      any = element++;
      resume = word;
      before = made;
    } else if (element != elements_.end() && element->pattern.front().matches(*word, made, steps)) {
      ++element;
      ++word;
    } else if (any != elements_.end()) {
      element = any + 1;
      word = ++resume;
      made = before;
    } else {
      return false;
    }
  }
  if (word != words.end() || !std::all_of(element, elements_.end(), [](const Element& one) { return one.any_words; }))
    return false;
  captures = std::move(made);
  return true;
}

std::vector<std::string> WordsPattern::names() const {
  std::vector<std::string> all;
  for (const Element& element : elements_)
    for (const Pattern& pattern : element.pattern)
      for (std::string& name : pattern.names()) all.push_back(std::move(name));
  return all;
}

bool WordsPattern::says_something() const noexcept {
  return std::any_of(elements_.begin(), elements_.end(), [](const Element& element) {
    return !element.any_words && element.pattern.front().says_something();
  });
}

Template::Template(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') {
      const std::string_view name = inside_braces(text, i);
      if (!is_name(name)) refuse(text, "a name consists of letters, digits and '_'");
      pieces_.push_back({true, std::string(name)});
      i += name.size() + 1;
      continue;
    }
    if (text[i] == '}') refuse(text, "a '}' closes nothing");
    if (pieces_.empty() || pieces_.back().is_name) pieces_.push_back({});
    pieces_.back().text += text[i];
  }
}

std::string Template::fill(const Captures& captures) const {
  std::string text;
  for (const Piece& piece : pieces_) {
    if (!piece.is_name) {
      text += piece.text;
      continue;
    }
    const auto found = captures.find(piece.text);
    if (found == captures.end() || found->second.empty()) return {};
    text += found->second;
  }
  return text;
}

std::vector<std::string> Template::names() const {
  std::vector<std::string> all;
  for (const Piece& piece : pieces_)
    if (piece.is_name) all.push_back(piece.text);
  return all;
}

}  // namespace tracer::internal
