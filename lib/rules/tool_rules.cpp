// SPDX-License-Identifier: Apache-2.0
#include "rules/tool_rules.hpp"

#include "rules/builtin_rules.hpp"

// The compiled library would be one more thing to ship; the header must be used in this file only.
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

namespace tracer {
namespace {

/// Bounds the launchers that launch launchers (busybox -> sh -> python -> ...).
constexpr int kMaxDepth = 4;
/// As long as a file name can be; module and class names of a hostile argv can be longer.
constexpr std::size_t kMaxName = 255;

std::string_view basename_of(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  if (path == "/") return {};
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

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

bool is_glob(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

/// Matches "[...]" at `at`; moves `at` behind it. parse() has made sure that the bracket is closed.
bool class_matches(std::string_view pattern, std::size_t& at, char c) {
  const auto close = pattern.find(']', at + 2);
  bool hit = false;
  for (std::size_t i = at + 1; i < close; ++i) {
    if (i + 2 < close && pattern[i + 1] == '-') {
      hit = hit || (pattern[i] <= c && c <= pattern[i + 2]);
      i += 2;
    } else {
      hit = hit || pattern[i] == c;
    }
  }
  at = close + 1;
  return hit;
}

/// fnmatch() may take exponential time and depends on the locale; this one takes pattern times text.
bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    std::size_t next = p + 1;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() &&
               (pattern[p] == '?' ||
                (pattern[p] == '[' ? class_matches(pattern, next = p, text[t]) : pattern[p] == text[t]))) {
      p = next;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
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

}  // namespace

std::optional<std::size_t> ToolRules::Index::find(std::string_view text) const {
  if (const auto hit = exact.find(text); hit != exact.end()) return hit->second;
  // No rule has a longer name, and a bound keeps the globs cheap.
  if (text.size() > kMaxName) return std::nullopt;
  for (const auto& [pattern, rule] : globs) {
    if (glob_matches(pattern, text)) return rule;
  }
  return std::nullopt;
}

std::string_view ToolRules::shown_name(const Rule& rule, std::string_view called) {
  return rule.as_called ? called : std::string_view(rule.name);
}

std::string ToolRules::name(std::string_view exe, std::span<const std::string> argv, std::string_view comm) const {
  const std::string_view argv0 = argv.empty() ? std::string_view{} : basename_of(argv.front());
  std::string_view called = basename_of(without_deleted(exe));
  if (called.empty()) called = argv0;
  // A comm is no path, "kworker/0:1" for one, so it is shown as it is.
  if (called.empty()) return bounded(comm.empty() ? "unknown" : comm);

  const Arguments rest = argv.empty() ? argv : argv.subspan(1);
  if (const auto rule = programs_.find(called); rule && rules_[*rule].multicall) {
    std::string_view applet = argv0;
    // A login shell is told so by a '-' in front.
    if (applet.starts_with('-')) applet.remove_prefix(1);
    if (!applet.empty() && programs_.find(applet) != rule) called = applet;
  }
  return resolve(Kind::kProgram, called, rest, 0);
}

std::string ToolRules::resolve(Kind kind, std::string_view what, Arguments rest, int depth) const {
  std::optional<std::size_t> found;
  std::string_view key = kind == Kind::kModule ? what : basename_of(what);
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
    return std::any_of(rule.subcommands.begin(), rule.subcommands.end(),
                       [&](const std::string& item) { return word.size() <= kMaxName && glob_matches(item, word); });
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

std::string ToolRules::launch(const Rule& rule, std::string_view shown, Arguments rest, int depth) const {
  const auto or_launcher = [&](std::string name) { return name.empty() ? bounded(shown) : name; };
  const auto run = [&](Kind kind, std::size_t at) {
    return at < rest.size() ? or_launcher(resolve(kind, rest[at], rest.subspan(at + 1), depth)) : bounded(shown);
  };
  // The value is the rest of the word (`attached`) or, without one, the next word.
  const auto run_value = [&](Kind kind, std::optional<std::string_view> attached, std::size_t at) {
    if (!attached) return run(kind, at + 1);
    return or_launcher(resolve(kind, *attached, rest.subspan(at + 1), depth));
  };
  Kind kind = rule.positional == Positional::kClass ? Kind::kClass : Kind::kProgram;

  for (std::size_t i = 0; i < rest.size(); ++i) {
    const std::string_view word = rest[i];
    if (word == "--" && rule.positional != Positional::kNone) return run(kind, i + 1);
    if (!is_option(word)) {
      if (holds(rule.subcommands, word)) return bounded(fmt::format("{} {}", shown, word));
      // A lone "-" is the standard input.
      if (word == "-") return bounded(shown);
      // java takes files of arguments as @file.
      if (rule.positional == Positional::kNone || (kind == Kind::kClass && word.starts_with('@'))) continue;
      return run(kind, i);
    }
    // One turn for a whole option, one for each letter of a cluster such as "-euo".
    const bool cluster = rule.clusters && word[1] != '-';
    const Option whole = split_option(word);
    for (std::size_t at = 1; at < (cluster ? word.size() : 2); ++at) {
      const char letter[] = {'-', word[at]};
      const std::string_view key = cluster ? std::string_view(letter, 2) : whole.key;
      std::optional<std::string_view> attached = whole.value;
      if (cluster) attached = at + 1 < word.size() ? std::optional(word.substr(at + 1)) : std::nullopt;
      if (holds(rule.code_options, key)) return bounded(fmt::format("{} {}", shown, rule.code_options.front()));
      if (holds(rule.stop_options, key)) return bounded(shown);
      if (holds(rule.module_options, key)) return run_value(Kind::kModule, attached, i);
      if (holds(rule.file_options, key)) return run_value(Kind::kProgram, attached, i);
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

/// Turns a TOML document into rules; here rather than in ToolRules so that its header needs no TOML.
class ToolRulesReader {
 public:
  ToolRulesReader(ToolRules& rules, RuleMistakes& mistakes) : rules_(rules), mistakes_(mistakes) {}

  void read(const toml::table& root) {
    check_keys(root, "the file", {"schema", "tool", "launcher"}, mistakes_);
    check_schema(root, mistakes_);
    for_each_table(root, "tool", mistakes_, [&](const toml::table& table) { read_rule(table, false); });
    for_each_table(root, "launcher", mistakes_, [&](const toml::table& table) { read_rule(table, true); });
  }

 private:
  void read_rule(const toml::table& table, bool launcher) {
    if (launcher) {
      check_keys(table, "launcher",
                 {"name", "as_called", "exe", "subcommands", "value_options", "attached_options", "code_options",
                  "file_options", "jar_options", "module_options", "stop_options", "clusters", "multicall",
                  "positional", "test"},
                 mistakes_);
    } else {
      check_keys(table, "tool",
                 {"name", "as_called", "exe", "jar", "class", "module", "subcommands", "subcommand_options",
                  "value_options", "test"},
                 mistakes_);
    }
    ToolRules::Rule rule;
    rule.launcher = launcher;
    rule.name = read_string(table, "name", true, mistakes_);
    rule.as_called = flag(table, "as_called");
    rule.clusters = flag(table, "clusters");
    rule.multicall = flag(table, "multicall");
    read_subcommands(table, rule);
    rule.subcommand_options = strings(table, "subcommand_options");
    rule.value_options = strings(table, "value_options");
    rule.attached_options = strings(table, "attached_options");
    rule.code_options = strings(table, "code_options");
    rule.file_options = strings(table, "file_options");
    rule.jar_options = strings(table, "jar_options");
    rule.module_options = strings(table, "module_options");
    rule.stop_options = strings(table, "stop_options");
    read_positional(table, rule);

    const std::size_t found = add_names(table, "exe", rules_.programs_) + add_names(table, "jar", rules_.jars_) +
                              add_names(table, "class", rules_.classes_) + add_names(table, "module", rules_.modules_);
    if (found == 0) mistakes_.add(line_of(table), fmt::format("\"{}\" names no executable to match", rule.name));
    read_examples(table, rule.name);
    rules_.rules_.push_back(std::move(rule));
  }

  bool flag(const toml::table& table, std::string_view key) {
    return read_value<bool>(table, key, false, "true or false", mistakes_);
  }
  std::vector<std::string> strings(const toml::table& table, std::string_view key) {
    return read_strings(table, key, false, mistakes_);
  }

  void read_subcommands(const toml::table& table, ToolRules::Rule& rule) {
    const toml::node* node = table.get("subcommands");
    if (node != nullptr && !rule.launcher && node->value_exact<std::string>() == "any") {
      rule.any_subcommand = true;
      return;
    }
    rule.subcommands = strings(table, "subcommands");
    for (const std::string& item : rule.subcommands) check_glob(*node, item);
  }

  void read_positional(const toml::table& table, ToolRules::Rule& rule) {
    const std::string text = read_string(table, "positional", rule.launcher, mistakes_);
    if (text == "script") {
      rule.positional = ToolRules::Positional::kScript;
    } else if (text == "class") {
      rule.positional = ToolRules::Positional::kClass;
    } else if (text == "program") {
      rule.positional = ToolRules::Positional::kProgram;
    } else if (!text.empty() && text != "none") {
      mistakes_.add(line_of(*table.get("positional")), "\"positional\" must be none, script, class or program");
    }
  }

  void check_glob(const toml::node& node, std::string_view glob) {
    for (auto open = glob.find('['); open != std::string_view::npos;) {
      const auto close = glob.find(']', open + 2);
      if (close == std::string_view::npos) {
        mistakes_.add(line_of(node), fmt::format("\"{}\" has a bracket that is not closed", glob));
        return;
      }
      open = glob.find('[', close);
    }
  }

  std::size_t add_names(const toml::table& table, std::string_view key, ToolRules::Index& index) {
    const std::vector<std::string> names = strings(table, key);
    const std::size_t rule = rules_.rules_.size();
    for (const std::string& name : names) {
      const toml::node& node = *table.get(key);
      if (is_glob(name)) {
        check_glob(node, name);
        index.globs.emplace_back(name, rule);
      } else if (!index.exact.emplace(name, rule).second) {
        mistakes_.add(line_of(node), fmt::format("\"{}\" is in another rule's \"{}\" already", name, key));
      }
    }
    return names.size();
  }

  void read_examples(const toml::table& table, const std::string& rule) {
    const std::size_t before = rules_.examples_.size();
    for_each_table(table, "test", mistakes_, [&](const toml::table& test) {
      check_keys(test, "test", {"exe", "argv", "comm", "name"}, mistakes_);
      if (test.get("argv") == nullptr) mistakes_.add(line_of(test), "\"argv\" is missing");
      rules_.examples_.push_back(
          {rule, read_string(test, "exe", true, mistakes_), read_strings(test, "argv", true, mistakes_),
           read_string(test, "comm", false, mistakes_), read_string(test, "name", true, mistakes_)});
    });
    if (rules_.examples_.size() == before) rules_.examples_.push_back({rule, {}, {}, {}, {}});
  }

  ToolRules& rules_;
  RuleMistakes& mistakes_;
};

ToolRules ToolRules::parse(std::string_view toml, std::string_view origin) {
  ToolRules rules;
  RuleMistakes mistakes(origin);
  try {
    ToolRulesReader(rules, mistakes).read(toml::parse(toml));
  } catch (const toml::parse_error& error) {
    mistakes.add(error.source().begin.line, error.description());
  }
  mistakes.throw_if_any();
  return rules;
}

ToolRules ToolRules::load(const std::filesystem::path& file) { return parse(read_rules_file(file), file.string()); }

const ToolRules& ToolRules::builtin() {
  static const ToolRules rules = parse(kBuiltinToolRules, "rules/tools.toml (built in)");
  return rules;
}

}  // namespace tracer
