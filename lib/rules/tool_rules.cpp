// SPDX-License-Identifier: Apache-2.0
#include "rules/tool_rules.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "base/words.hpp"

namespace tracer::internal {
namespace {

/// Bounds the launchers that launch launchers (env -> nice -> busybox -> sh -> python -> ...).
constexpr int kMaxDepth = 6;
/// As long as a file name can be; module and class names of a hostile argv can be longer.
constexpr std::size_t kMaxName = 255;

std::string_view without_deleted(std::string_view exe) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (exe.ends_with(kDeleted)) exe.remove_suffix(kDeleted.size());
  return exe;
}

std::string bounded(std::string_view text) {
  if (text.size() > kMaxName) {
    std::size_t end = kMaxName;
    // No UTF-8 character is cut in halves.
    while (end > kMaxName - 4 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    text = text.substr(0, end);
  }
  return std::string(text);
}

bool holds(const std::vector<std::string>& list, std::string_view word) {
  for (const std::string& item : list) {
    if (item == word) return true;
  }
  return false;
}

/// Where any first argument counts as the subcommand, it must not look like a file or a number.
bool looks_like_subcommand(std::string_view word) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (word.empty() || word.size() > 64 || !letter(word.front())) return false;
  return std::all_of(word.begin(), word.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == ':' || c == '+';
  });
}

/// An option and, where it is "--key=value", its value.
struct Option {
  std::string_view key;
  std::optional<std::string_view> value;
};

Option split_option(std::string_view word) {
  const auto equals = word.find('=');
  if (equals == std::string_view::npos) return {word, std::nullopt};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

bool is_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

bool is_assignment(std::string_view word) {
  const auto equals = word.find('=');
  return equals != std::string_view::npos && equals != 0 && word.find('/') > equals;
}

/// As mktemp and the like make it: digits among letters, or letters of both cases. Words and dates are not like that.
bool looks_random(std::string_view text) {
  const auto any = [text](auto is, std::size_t from) {
    return std::any_of(text.begin() + static_cast<std::ptrdiff_t>(std::min(from, text.size())), text.end(), is);
  };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const bool letters = any(lower, 0) || any(upper, 0);
  return (letters && any(digit, 0)) || (any(lower, 0) && any(upper, 1));
}

}  // namespace

std::optional<std::size_t> ToolRules::Index::find(std::string_view text) const {
  if (const auto hit = exact.find(text); hit != exact.end()) return hit->second;
  // No rule has a longer name, and a bound keeps the globs cheap.
  if (text.size() > kMaxName) return std::nullopt;
  for (const auto& [pattern, rule] : globs) {
    if (glob_matches(pattern, text, Brackets::kClasses)) return rule;
  }
  return std::nullopt;
}

std::string_view ToolRules::shown_name(const Rule& rule, std::string_view called) {
  return rule.as_called ? called : std::string_view(rule.name);
}

std::string ToolRules::name(std::string_view exe, std::span<const std::string> argv, std::string_view comm) const {
  const std::string_view argv0 = argv.empty() ? std::string_view{} : base_name(argv.front());
  std::string_view called = base_name(without_deleted(exe));
  if (called.empty()) called = argv0;
  // A comm is no path, "kworker/0:1" for one, so it is shown as it is.
  if (called.empty()) return bounded(comm.empty() ? "unknown" : comm);
  const std::string better = renamed(exe.empty() ? called : without_deleted(exe), {});
  if (!better.empty()) called = better;

  const Arguments rest = argv.empty() ? argv : argv.subspan(1);
  if (const auto rule = programs_.find(called); rule && rules_[*rule].multicall) {
    std::string_view applet = argv0;
    // A login shell is told so by a '-' in front.
    if (applet.starts_with('-')) applet.remove_prefix(1);
    if (!applet.empty() && programs_.find(applet) != rule) called = applet;
  }
  return resolve(Kind::kProgram, called, rest, {}, 0);
}

std::string ToolRules::renamed(std::string_view path, std::string_view launcher) const {
  std::string rooted;
  if (!path.starts_with('/')) path = rooted = std::string("/").append(path);
  for (const Rename& rename : renames_) {
    for (const Pattern& pattern : rename.paths) {
      Captures captures;
      if (!pattern.matches(path, captures)) continue;
      const auto random = captures.find("random");
      if (random != captures.end() && !looks_random(random->second)) continue;
      if (launcher.empty() && rename.executed) return *rename.executed;
      captures["launcher"] = launcher;
      if (std::string name = rename.name.fill(captures); !name.empty()) return name;
    }
  }
  return {};
}

const ToolRules::Worker* ToolRules::worker_of(std::string_view launcher, std::vector<std::string> Worker::*by,
                                              std::string_view text) const {
  for (const Worker& worker : workers_) {
    const std::vector<std::string>& globs = worker.*by;
    if (!globs.empty() && holds(worker.launchers, launcher) &&
        std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) { return glob_matches(glob, text); }))
      return &worker;
  }
  return nullptr;
}

bool ToolRules::knows(std::string_view tool) const {
  const std::string_view word = tool.substr(0, tool.find(' '));
  return shown_.contains(word) || programs_.find(word);
}

bool ToolRules::is_answer(std::string_view tool, int status) const {
  // No rule has it, and nearly all end so.
  if (status == 0) return false;
  const auto is_in = [status](const std::vector<int>& answers) {
    return std::find(answers.begin(), answers.end(), status) != answers.end();
  };
  for (;;) {
    if (const auto rule = programs_.find(tool)) return is_in(rules_[*rule].answers);
    // "git diff", "timeout grep"
    const std::size_t end = tool.find(' ');
    if (end == std::string_view::npos) return false;
    const auto rule = programs_.find(tool.substr(0, end));
    if (!rule) return false;
    tool.remove_prefix(end + 1);
    // One that waits for another passes on its status.
    if (rules_[*rule].waits) continue;
    const auto& answers = rules_[*rule].subcommand_answers;
    const auto found = answers.find(tool);
    return found != answers.end() && is_in(found->second);
  }
}

std::string ToolRules::resolve(Kind kind, std::string_view what, Arguments rest, std::string_view launcher,
                               int depth) const {
  std::optional<std::size_t> found;
  std::string_view key = kind == Kind::kModule ? what : base_name(what);
  const std::string better = kind == Kind::kProgram && !launcher.empty() ? renamed(what, launcher) : std::string();
  if (!better.empty()) key = better;
  switch (kind) {
    case Kind::kProgram: found = programs_.find(key); break;
    case Kind::kJar: found = jars_.find(key); break;
    case Kind::kClass: found = classes_.find(key); break;
    case Kind::kModule:
      // Most modules are called as their program, and "multiqc.cli" belongs to "multiqc".
      for (const auto part : {key, key.substr(0, key.find('.'))}) {
        if (!found) found = modules_.find(part);
        if (!found) found = programs_.find(part);
      }
      // "python -m test" is not test(1), nor are its statuses answers.
      if (found && rules_[*found].as_called && !rules_[*found].answers.empty())
        return bounded(fmt::format("{} -m {}", launcher, key));
      break;
  }
  if (!found) return bounded(key);
  const Rule& rule = rules_[*found];
  const auto shown = kind == Kind::kProgram ? shown_name(rule, key) : std::string_view(rule.name);
  if (!rule.launcher) return with_subcommand(rule, shown, rest);
  return depth < kMaxDepth ? launch(rule, shown, rest, depth + 1) : bounded(shown);
}

std::string ToolRules::with_subcommand(const Rule& rule, std::string_view shown, Arguments rest) const {
  const bool positional = rule.any_subcommand || !rule.subcommands.empty();
  if (!positional && rule.subcommand_options.empty()) return bounded(shown);
  const auto accepted = [&](std::string_view word) {
    if (rule.subcommands.empty()) return looks_like_subcommand(word);
    return std::any_of(rule.subcommands.begin(), rule.subcommands.end(), [&](const std::string& item) {
      return word.size() <= kMaxName && glob_matches(item, word, Brackets::kClasses);
    });
  };
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const std::string_view word = rest[i];
    if (is_option(word)) {
      const Option option = split_option(word);
      const bool chooses = holds(rule.subcommand_options, option.key);
      if (!chooses && !holds(rule.value_options, option.key)) continue;
      const std::string_view value = option.value ? *option.value : ++i < rest.size() ? rest[i] : std::string_view{};
      if (chooses && accepted(value)) return bounded(fmt::format("{} {}", shown, value));
    } else if (positional) {
      return accepted(word) ? bounded(fmt::format("{} {}", shown, word)) : bounded(shown);
    }
  }
  return bounded(shown);
}

/// What stands behind the options of one that runs other programs, and behind its own words.
std::string ToolRules::launch_program(const Rule& rule, std::string_view shown, Arguments rest, int depth) const {
  std::size_t at = 0;
  while (rule.assignments && at < rest.size() && is_assignment(rest[at])) ++at;
  for (std::size_t leading = rule.leading; at < rest.size() && (leading != 0 || is_option(rest[at])); ++at)
    if (!is_option(rest[at])) --leading;
  if (!rule.runs.empty() && (at >= rest.size() || !holds(rule.runs, rest[at++]))) return bounded(shown);
  if (at >= rest.size()) return bounded(shown);
  const std::string_view program = rest[at++];
  if (rule.repeats_argv0 && at < rest.size() && base_name(rest[at]) == base_name(program)) ++at;
  const std::string name = resolve(Kind::kProgram, program, rest.subspan(at), shown, depth);
  if (name.empty()) return bounded(shown);
  return rule.waits ? bounded(fmt::format("{} {}", shown, name)) : name;
}

std::string ToolRules::launch(const Rule& rule, std::string_view shown, Arguments rest, int depth) const {
  const auto or_launcher = [&](std::string name) { return name.empty() ? bounded(shown) : name; };
  const auto run = [&](Kind kind, std::size_t at) {
    if (rule.positional == Positional::kProgram)
      return launch_program(rule, shown, rest.subspan(std::min(at, rest.size())), depth);
    return at < rest.size() ? or_launcher(resolve(kind, rest[at], rest.subspan(at + 1), rule.name, depth))
                            : bounded(shown);
  };
  // The value is the rest of the word (`attached`) or, without one, the next word.
  const auto value_at = [&](std::optional<std::string_view> attached, std::size_t at) {
    return attached ? *attached : at + 1 < rest.size() ? std::string_view(rest[at + 1]) : std::string_view();
  };
  const auto run_value = [&](Kind kind, std::optional<std::string_view> attached, std::size_t at) {
    const std::string_view what = value_at(attached, at);
    const std::size_t next = std::min(at + (attached ? 1 : 2), rest.size());
    return what.empty() ? bounded(shown) : or_launcher(resolve(kind, what, rest.subspan(next), rule.name, depth));
  };
  Kind kind = rule.positional == Positional::kClass ? Kind::kClass : Kind::kProgram;

  for (std::size_t i = 0; i < rest.size(); ++i) {
    const std::string_view word = rest[i];
    if (word == "--" && rule.positional != Positional::kNone) return run(kind, i + 1);
    if (!is_option(word)) {
      if (holds(rule.subcommands, word)) return bounded(fmt::format("{} {}", shown, word));
      // A lone "-" is the standard input.
      if (word == "-" && !rule.assignments) return bounded(shown);
      // java takes files of arguments as @file.
      if (rule.positional == Positional::kNone || (kind == Kind::kClass && word.starts_with('@'))) continue;
      return run(kind, i + (word == "-" ? 1 : 0));
    }
    // One turn for a whole option, one for each letter of a cluster such as "-euo".
    const bool cluster = rule.clusters && word[1] != '-';
    const Option whole = split_option(word);
    for (std::size_t at = 1; at < (cluster ? word.size() : 2); ++at) {
      const char letter[] = {'-', word[at]};
      const std::string_view key = cluster ? std::string_view(letter, 2) : whole.key;
      std::optional<std::string_view> attached = whole.value;
      if (cluster) attached = at + 1 < word.size() ? std::optional(word.substr(at + 1)) : std::nullopt;
      if (const Worker* worker = worker_of(rule.name, &Worker::options, key)) return worker->name;
      if (holds(rule.code_options, key)) {
        // The options of a shell's cluster may follow its letter, "-ce"; a text that is attached is one of Python or R.
        if (const Worker* worker = worker_of(rule.name, &Worker::code, value_at(attached, i))) return worker->name;
        // R takes several, of which the last begins the work.
        for (std::size_t next = i + 2; !attached && next + 1 < rest.size() && rest[next] == key; next += 2)
          if (const Worker* worker = worker_of(rule.name, &Worker::code, rest[next + 1])) return worker->name;
        return bounded(fmt::format("{} {}", shown, rule.code_options.front()));
      }
      if (holds(rule.stop_options, key)) return bounded(shown);
      if (holds(rule.module_options, key)) {
        if (const Worker* worker = worker_of(rule.name, &Worker::modules, value_at(attached, i))) return worker->name;
        return run_value(Kind::kModule, attached, i);
      }
      if (holds(rule.file_options, key)) return run_value(Kind::kProgram, attached, i);
      if (holds(rule.split_options, key)) {
        const std::vector<std::string_view> words = words_of(value_at(attached, i), " \t");
        std::vector<std::string> all(words.begin(), words.end());
        const std::size_t next = std::min(i + (attached ? 1 : 2), rest.size());
        all.insert(all.end(), rest.begin() + static_cast<std::ptrdiff_t>(next), rest.end());
        return depth < kMaxDepth ? launch(rule, shown, all, depth + 1) : bounded(shown);
      }
      if (holds(rule.jar_options, key)) kind = Kind::kJar;
      if (holds(rule.attached_options, key)) break;
      if (holds(rule.value_options, key)) {
        if (!attached) ++i;
        break;
      }
    }
  }
  return bounded(shown);
}

}  // namespace tracer::internal
