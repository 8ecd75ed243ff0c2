// SPDX-License-Identifier: Apache-2.0
#include "rules/tool_rules_reader.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "rules/builtin_rules.hpp"
#include "rules/rules_reader.hpp"
#include "rules/tool_rules.hpp"

namespace tracer::internal {
namespace {

/// A bracket alone is the program of that name.
bool is_glob(std::string_view text) { return text != "[" && text.find_first_of("*?[") != std::string_view::npos; }

bool is_among(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

/// Turns a TOML document into rules and their examples.
class ToolRulesReader {
 public:
  explicit ToolRulesReader(RuleMistakes& mistakes) : mistakes_(mistakes) {}

  ToolRules& rules() { return rules_; }
  std::vector<ToolExample>& examples() { return examples_; }

  void read(const toml::table& root) {
    check_keys(root, "the file", {"schema", "tool", "launcher", "rename", "worker"}, mistakes_);
    for_each_table(root, "tool", mistakes_, [&](const toml::table& table) { read_rule(table, false); });
    for_each_table(root, "launcher", mistakes_, [&](const toml::table& table) { read_rule(table, true); });
    for_each_table(root, "rename", mistakes_, [&](const toml::table& table) { read_rename(table); });
    for_each_table(root, "worker", mistakes_, [&](const toml::table& table) { read_worker(table); });
  }

 private:
  void read_rule(const toml::table& table, bool launcher) {
    if (launcher) {
      check_keys(table, "launcher", {"name",          "as_called",
                                     "exe",           "subcommands",
                                     "value_options", "attached_options",
                                     "code_options",  "file_options",
                                     "jar_options",   "module_options",
                                     "stop_options",  "clusters",
                                     "multicall",     "positional",
                                     "assignments",   "waits",
                                     "repeats_argv0", "leading",
                                     "runs",          "split_options",
                                     "shell",         "test"},
                 mistakes_);
    } else {
      check_keys(table, "tool",
                 {"name", "as_called", "exe", "jar", "class", "module", "subcommands", "subcommand_options",
                  "value_options", "answers", "subcommand_answers", "test"},
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
    read_answers(table, rule);
    read_subcommand_answers(table, rule);
    rule.attached_options = strings(table, "attached_options");
    rule.code_options = strings(table, "code_options");
    rule.file_options = strings(table, "file_options");
    rule.jar_options = strings(table, "jar_options");
    rule.module_options = strings(table, "module_options");
    rule.stop_options = strings(table, "stop_options");
    rule.assignments = flag(table, "assignments");
    rule.waits = flag(table, "waits");
    rule.repeats_argv0 = flag(table, "repeats_argv0");
    rule.leading =
        static_cast<std::size_t>(std::clamp<std::int64_t>(read_integer(table, "leading", 0, mistakes_), 0, 8));
    rule.runs = strings(table, "runs");
    rule.split_options = strings(table, "split_options");
    read_positional(table, rule);
    if (flag(table, "shell"))
      for (const std::string& name : strings(table, "exe"))
        for (const char* more : {"", " -c"}) rules_.shells_.insert(name + more);

    const std::size_t found = add_names(table, "exe", rules_.programs_) + add_names(table, "jar", rules_.jars_) +
                              add_names(table, "class", rules_.classes_) + add_names(table, "module", rules_.modules_);
    if (found == 0) mistakes_.add(line_of(table), fmt::format("\"{}\" names no executable to match", rule.name));
    read_examples(table, rule.name);
    if (!launcher && !rule.as_called) rules_.shown_.insert(rule.name);
    rules_.rules_.push_back(std::move(rule));
  }

  bool flag(const toml::table& table, std::string_view key) { return read_flag(table, key, mistakes_); }
  std::vector<std::string> strings(const toml::table& table, std::string_view key) {
    return read_strings(table, key, false, mistakes_);
  }

  void read_rename(const toml::table& table) {
    check_keys(table, "rename", {"name", "executed", "path", "test"}, mistakes_);
    const std::string name = read_string(table, "name", true, mistakes_);
    std::vector<Pattern> paths;
    std::set<std::string, std::less<>> known = {"launcher"};
    try {
      for (const std::string& path : strings(table, "path")) {
        paths.emplace_back(path);
        for (std::string& captured : paths.back().names()) known.insert(std::move(captured));
      }
      Template text(name);
      for (const std::string& used : text.names())
        if (!known.contains(used)) mistakes_.add(line_of(table), fmt::format("nothing captures \"{}\"", used));
      if (paths.empty()) mistakes_.add(line_of(table), fmt::format("\"{}\" has no \"path\"", name));
      const std::string executed = read_string(table, "executed", false, mistakes_);
      rules_.renames_.push_back(
          {std::move(paths), std::move(text), executed.empty() ? std::nullopt : std::optional(executed)});
    } catch (const std::invalid_argument& error) {
      mistakes_.add(line_of(table), error.what());
    }
    read_examples(table, name);
  }

  void read_worker(const toml::table& table) {
    check_keys(table, "worker", {"name", "launchers", "code", "modules", "options", "test"}, mistakes_);
    ToolRules::Worker worker;
    worker.name = read_string(table, "name", true, mistakes_);
    worker.launchers = strings(table, "launchers");
    worker.code = strings(table, "code");
    worker.modules = strings(table, "modules");
    worker.options = strings(table, "options");
    if (worker.launchers.empty() || (worker.code.empty() && worker.modules.empty() && worker.options.empty()))
      mistakes_.add(line_of(table), fmt::format("\"{}\" matches nothing", worker.name));
    rules_.workers_by_name_.insert(worker.name);
    read_examples(table, worker.name);
    rules_.workers_.push_back(std::move(worker));
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

  void read_answers(const toml::table& table, ToolRules::Rule& rule) {
    if (rule.launcher || table.get("answers") == nullptr) return;
    for (const std::int64_t status : read_integers(table, "answers", 1, 255, mistakes_))
      rule.answers.push_back(static_cast<int>(status));
    const toml::node& node = *table.get("answers");
    if (rule.any_subcommand || !rule.subcommands.empty() || !rule.subcommand_options.empty())
      mistakes_.add(line_of(node), "\"answers\" are of a whole tool: there must be no subcommands");
    // An event carries the name that is shown, and its rule is found by that.
    if (!rule.as_called && !is_among(strings(table, "exe"), rule.name))
      mistakes_.add(line_of(node), "\"answers\" need \"as_called\", or a \"name\" that is in \"exe\"");
  }

  void read_subcommand_answers(const toml::table& table, ToolRules::Rule& rule) {
    const toml::node* node = table.get("subcommand_answers");
    if (node == nullptr || rule.launcher) return;
    const toml::table* answers = node->as_table();
    if (answers == nullptr) return mistakes_.add(line_of(*node), "\"subcommand_answers\" must be a table");
    if (!rule.any_subcommand && rule.subcommands.empty())
      mistakes_.add(line_of(*node), "\"subcommand_answers\" need \"subcommands\"");
    for (const auto& [name, value] : *answers)
      for (const std::int64_t status : read_integers(*answers, name.str(), 1, 255, mistakes_))
        rule.subcommand_answers[std::string(name.str())].push_back(static_cast<int>(status));
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
    const std::size_t before = examples_.size();
    for_each_table(table, "test", mistakes_, [&](const toml::table& test) {
      check_keys(test, "test", {"exe", "argv", "comm", "name"}, mistakes_);
      if (test.get("argv") == nullptr) mistakes_.add(line_of(test), "\"argv\" is missing");
      examples_.push_back({rule, read_string(test, "exe", true, mistakes_), read_strings(test, "argv", true, mistakes_),
                           read_string(test, "comm", false, mistakes_), read_string(test, "name", true, mistakes_)});
    });
    if (examples_.size() == before) examples_.push_back({rule, {}, {}, {}, {}});
  }

  RuleMistakes& mistakes_;
  ToolRules rules_;
  std::vector<ToolExample> examples_;
};

ToolRules ToolRules::parse(std::string_view toml, std::string_view origin) {
  ToolRules rules;
  read_rules(toml, origin, [&rules](const toml::table& root, RuleMistakes& mistakes) {
    ToolRulesReader reader(mistakes);
    reader.read(root);
    rules = std::move(reader.rules());
  });
  return rules;
}

ToolRules ToolRules::load(const std::filesystem::path& file) { return parse(read_rules_file(file), file.string()); }

const ToolRules& ToolRules::builtin() {
  static const ToolRules rules = parse(builtin_rules("tools"), "rules/tools.toml (built in)");
  return rules;
}

std::vector<ToolExample> read_tool_examples(std::string_view toml, std::string_view origin) {
  std::vector<ToolExample> examples;
  read_rules(toml, origin, [&examples](const toml::table& root, RuleMistakes& mistakes) {
    ToolRulesReader reader(mistakes);
    reader.read(root);
    examples = std::move(reader.examples());
  });
  return examples;
}

}  // namespace tracer::internal
