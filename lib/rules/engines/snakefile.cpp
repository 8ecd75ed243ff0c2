// SPDX-License-Identifier: Apache-2.0
#include "rules/engines/snakefile.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "rules/engines/python_words.hpp"

namespace tracer::internal {
namespace {

using Kind = PythonWord::Kind;
using Words = std::span<const PythonWord>;

constexpr std::string_view kBashPrefix = "set -euo pipefail; ";

bool is(const PythonWord& word, Kind kind, std::string_view text) { return word.kind == kind && word.text == text; }

/// Strings side by side are one; brackets around them don't matter. Absent: it is something else.
std::optional<std::string> plain_string(Words words) {
  std::string text;
  bool any = false;
  for (const PythonWord& word : words) {
    if (word.kind == Kind::kLine || is(word, Kind::kSign, "(") || is(word, Kind::kSign, ")")) continue;
    if (word.kind != Kind::kString || !word.known) return std::nullopt;
    text += word.text;
    any = true;
  }
  return any ? std::optional(std::move(text)) : std::nullopt;
}

/// By the syntax of Python's format(): "{{" is a brace, "{input}" a gap, and "{rule}" the rule's name. Absent: the
/// braces don't fit.
std::optional<GappedText> gapped(std::string_view text, std::string_view rule) {
  GappedText made;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c == '{' || c == '}') && text.substr(i + 1, 1) == std::string_view(&c, 1)) {
      made.pieces.back() += c;
      ++i;
    } else if (c == '{') {
      const std::size_t end = text.find('}', i);
      if (end == std::string_view::npos) return std::nullopt;
      if (text.substr(i + 1, end - i - 1) == "rule") {
        made.pieces.back() += rule;
      } else {
        made.pieces.emplace_back();
      }
      i = end;
    } else if (c == '}') {
      return std::nullopt;
    } else {
      made.pieces.back() += c;
    }
  }
  return made;
}

void trim_ends(GappedText& text) {
  constexpr std::string_view kSpace = " \t\n\r\v\f";
  std::string& first = text.pieces.front();
  first.erase(0, std::min(first.find_first_not_of(kSpace), first.size()));
  std::string& last = text.pieces.back();
  last.erase(last.find_last_not_of(kSpace) + 1);
}

class Parser {
 public:
  explicit Parser(Words words) : words_(words) {}

  Snakefile read() {
    while (at_ < words_.size()) {
      if (words_[at_].kind != Kind::kLine) {
        ++at_;
        continue;
      }
      const std::size_t indent = words_[at_].indent;
      const Words line = line_from(at_ + 1);
      at_ += 1 + line.size();
      read_line(line, indent);
    }
    return std::move(file_);
  }

 private:
  Words line_from(std::size_t begin) const {
    std::size_t end = begin;
    while (end < words_.size() && words_[end].kind != Kind::kLine) ++end;
    return words_.subspan(begin, end - begin);
  }

  void read_line(Words line, std::size_t indent) {
    if (line.size() < 2 || line[0].kind != Kind::kName) return;
    const std::string& word = line[0].text;
    const bool colon_next = is(line[1], Kind::kSign, ":");
    if ((word == "rule" || word == "checkpoint") && (colon_next || line[1].kind == Kind::kName)) {
      // What stands in one line with its name, or has none, is not looked into.
      if (line.size() == 3 && is(line[2], Kind::kSign, ":")) return read_rule(line[1].text, indent);
      file_.understood = false;
    } else if ((word == "module" || word == "use") && line[1].kind == Kind::kName) {
      file_.understood = false;
    } else if (word == "include" && colon_next) {
      const auto path = plain_string(with_following(line.subspan(2), indent));
      if (path && path->find("://") == std::string::npos) {
        file_.includes.push_back(*path);
      } else {
        file_.understood = false;
      }
    } else if (word == "shell" && is(line[1], Kind::kSign, ".") && line.size() > 3) {
      read_setting(line);
    }
  }

  /// shell.prefix("…"), shell.suffix("…"), shell.executable("…").
  void read_setting(Words line) {
    if (line[2].text == "executable") return;
    const auto text = plain_string(line.subspan(3));
    const bool plain = text && text->find_first_of("{}") == std::string::npos;
    if (line[2].text == "prefix" && plain && !file_.prefix) {
      file_.prefix = *text;
    } else {
      file_.understood = false;
    }
  }

  /// A value may go on in lines that are indented more.
  Words with_following(Words value, std::size_t indent) {
    const std::size_t begin = static_cast<std::size_t>(value.data() - words_.data());
    while (at_ < words_.size() && words_[at_].kind == Kind::kLine && words_[at_].indent > indent)
      at_ += 1 + line_from(at_ + 1).size();
    return words_.subspan(begin, at_ - begin);
  }

  void read_rule(const std::string& name, std::size_t rule_indent) {
    std::optional<std::size_t> body_indent;
    while (at_ < words_.size() && words_[at_].kind == Kind::kLine && words_[at_].indent > rule_indent) {
      const std::size_t indent = words_[at_].indent;
      if (!body_indent) body_indent = indent;
      const Words line = line_from(at_ + 1);
      at_ += 1 + line.size();
      if (indent != *body_indent || line.size() < 2 || line[0].kind != Kind::kName || !is(line[1], Kind::kSign, ":"))
        continue;
      const std::string& word = line[0].text;
      if (word == "shell") {
        const auto text = plain_string(with_following(line.subspan(2), indent));
        Snakefile::Rule rule{name, Snakefile::Kind::kCommand, text ? gapped(*text, name) : std::nullopt};
        if (rule.text) trim_ends(*rule.text);
        file_.rules.push_back(std::move(rule));
      } else if (word == "script" || word == "notebook") {
        const auto text = plain_string(with_following(line.subspan(2), indent));
        Snakefile::Rule rule{name, Snakefile::Kind::kScript, text ? gapped(base_name(*text), name) : std::nullopt};
        file_.rules.push_back(std::move(rule));
      } else if (word == "wrapper") {
        file_.rules.push_back({name, Snakefile::Kind::kScript, GappedText{{"wrapper.", ""}}});
      } else if (word == "cwl" || word == "template_engine") {
        file_.rules.push_back({name, Snakefile::Kind::kCommand, std::nullopt});
      }
    }
  }

  Words words_;
  std::size_t at_ = 0;
  Snakefile file_;
};

/// What is in the quotes of `shell -c '…'` at the end, where a container's client executes that.
std::optional<std::string> inside_container(std::string_view command) {
  const std::size_t client = command.find(" exec ");
  const std::size_t begin = command.find(" -c '", client == std::string_view::npos ? command.size() : client);
  if (begin == std::string_view::npos || !command.ends_with('\'')) return std::nullopt;
  const std::string_view head = command.substr(0, client);
  if (!base_name(trim(head)).starts_with("singularity") && !base_name(trim(head)).starts_with("apptainer"))
    return std::nullopt;
  std::string_view quoted = command.substr(begin + 5);
  if (quoted.empty()) return std::nullopt;
  quoted.remove_suffix(1);
  std::string text;
  while (!quoted.empty()) {
    constexpr std::string_view kQuote = "'\\''";
    const std::size_t next = std::min(quoted.find(kQuote), quoted.size());
    text += quoted.substr(0, next);
    if (next == quoted.size()) break;
    text += '\'';
    quoted.remove_prefix(next + kQuote.size());
  }
  return text;
}

/// Without what Snakemake puts in front for an environment.
std::string_view without_environment(std::string_view command) {
  command = trim(command);
  if (command.starts_with("source ") || command.starts_with(". "))
    if (const std::size_t end = command.find("'; "); end != std::string_view::npos) command.remove_prefix(end + 3);
  if (command.starts_with("module purge && "))
    if (const std::size_t end = command.find("; "); end != std::string_view::npos) command.remove_prefix(end + 2);
  return command;
}

/// The file's name, without what Snakemake makes of it: "/w/.snakemake/scripts/tmpk3n4x8yw.plot.py". Empty: no script
/// is executed.
std::string_view script_in(std::string_view command) {
  constexpr std::string_view kFolder = "/.snakemake/scripts/tmp";
  constexpr std::size_t kRandom = 8;
  const std::size_t at = command.find(kFolder);
  if (at == std::string_view::npos) return {};
  std::string_view name = command.substr(at + kFolder.size());
  if (name.size() <= kRandom || name[kRandom] != '.') return {};
  name.remove_prefix(kRandom + 1);
  return name.substr(0, name.find_first_of("' \""));
}

}  // namespace

bool GappedText::matches(std::string_view text) const noexcept {
  if (!text.starts_with(pieces.front())) return false;
  if (pieces.size() == 1) return text.size() == pieces.front().size();
  text.remove_prefix(pieces.front().size());
  for (std::size_t i = 1; i + 1 < pieces.size(); ++i) {
    const std::size_t at = text.find(pieces[i]);
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + pieces[i].size());
  }
  return text.ends_with(pieces.back());
}

Snakefile Snakefile::parse(std::string_view text) {
  const std::vector<PythonWord> words = python_words(text);
  return Parser(words).read();
}

std::optional<std::string> rule_that_runs(std::span<const Snakefile> files, std::string_view command) {
  std::optional<std::string_view> prefix;
  for (const Snakefile& file : files) {
    if (!file.understood || (file.prefix && prefix && *prefix != *file.prefix)) return std::nullopt;
    if (file.prefix) prefix = *file.prefix;
  }
  const auto inner = inside_container(command);
  std::string_view text = without_environment(inner ? *inner : command);
  // Shells other than bash get no prefix, unless one was set.
  const std::string_view in_front = trim(prefix.value_or(kBashPrefix));
  if (text.starts_with(in_front)) {
    text.remove_prefix(in_front.size());
  } else if (prefix) {
    return std::nullopt;
  }
  text = trim(text);
  const std::string_view script = script_in(text);
  std::optional<std::string> found;
  for (const Snakefile& file : files) {
    for (const Snakefile::Rule& rule : file.rules) {
      const bool is_script = rule.kind == Snakefile::Kind::kScript;
      if (is_script != !script.empty()) continue;
      if (rule.text && !rule.text->matches(is_script ? script : text)) continue;
      if (found && *found != rule.name) return std::nullopt;
      found = rule.name;
    }
  }
  return found;
}

}  // namespace tracer::internal
