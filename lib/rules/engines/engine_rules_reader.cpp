// SPDX-License-Identifier: Apache-2.0
#include "rules/engines/engine_rules.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "base/context_fields.hpp"
#include "base/text.hpp"
#include "rules/builtin_rules.hpp"
#include "rules/rules_reader.hpp"

namespace tracer::internal {
namespace {

constexpr std::int64_t kMostNoteLines = 10000;

bool is_field(std::string_view name) {
  return name == "attempt" || (name != "engine" && std::any_of(kContextFields.begin(), kContextFields.end(),
                                                               [&](const ContextField& f) { return f.name == name; }));
}

/// It has a character of its own, outside of brackets.
bool names_something(const std::string& glob) {
  bool in_brackets = false;
  for (const char c : glob) {
    if (c == '[') in_brackets = true;
    if (!in_brackets && c != '*' && c != '?') return true;
    if (c == ']') in_brackets = false;
  }
  return false;
}

}  // namespace

/// Turns a TOML document into rules.
class EngineRulesReader {
 public:
  explicit EngineRulesReader(RuleMistakes& mistakes) : mistakes_(mistakes) {}

  std::vector<EngineRule> take_rules() { return std::move(rules_.rules_); }
  static EngineRules made_of(std::vector<EngineRule> rules) {
    EngineRules made;
    made.rules_ = std::move(rules);
    return made;
  }

  /// A rule with mistakes is left out. `known`: rules of another file, to which these may refer; they follow these.
  void read(const toml::table& root, std::span<const EngineRule> known) {
    check_keys(root, "the file", {"schema", "rule"}, mistakes_);
    std::vector<const toml::table*> tables;
    for_each_table(root, "rule", mistakes_, [&](const toml::table& table) {
      const std::size_t before = mistakes_.count();
      EngineRule rule = read_rule(table);
      if (mistakes_.count() != before) return;
      if (!names_.emplace(rule.name, rules_.rules_.size()).second) {
        mistakes_.add(line_of(table), fmt::format("there are two rules \"{}\"", rule.name));
        return;
      }
      rules_.rules_.push_back(std::move(rule));
      tables.push_back(&table);
    });
    for (std::size_t i = 0; i < known.size(); ++i) names_.emplace(known[i].name, rules_.rules_.size() + i);
    for (std::size_t i = 0; i < tables.size(); ++i) {
      EngineRule& rule = rules_.rules_[i];
      const std::size_t before = mistakes_.count();
      rule.parent = read_references(*tables[i], "parent");
      rule.within = read_references(*tables[i], "within");
      rule.outside = read_references(*tables[i], "outside");
      copy_effects(*tables[i], known, rule);
      for (std::size_t j = 0; j < i; ++j)
        if (rules_.rules_[j].condition == rule.condition)
          mistakes_.add(line_of(*tables[i]), fmt::format("\"{}\" never applies: \"{}\" above it matches the same",
                                                         rule.name, rules_.rules_[j].name));
      rule.left_out = mistakes_.count() != before;
    }
  }

 private:
  EngineRule read_rule(const toml::table& table) {
    check_keys(table, "rule",
               {"name",   "tool_not",    "exe",     "tool",   "argv", "cwd",          "cgroup",    "parent",
                "within", "outside",     "in_run",  "begins", "own",  "key",          "gives",     "infers",
                "labels", "label_pairs", "notes",   "splits", "like", "serves",       "served_by", "elsewhere",
                "again",  "tries",       "recipes", "recipe", "test", "unknown_tool", "carried"},
               mistakes_);
    EngineRule rule;
    rule.name = read_string(table, "name", true, mistakes_);
    const std::size_t dot = rule.name.find('.');
    if (!rule.name.empty() && (dot == 0 || dot == std::string::npos || dot + 1 == rule.name.size()))
      mistakes_.add(line_of(*table.get("name")), "\"name\" must be the engine, a dot, and a word");
    rule.engine = rule.name.substr(0, dot);
    rule.exe = read_strings(table, "exe", false, mistakes_);
    rule.tool_not = read_strings(table, "tool_not", false, mistakes_);
    rule.tool = read_strings(table, "tool", false, mistakes_);
    read_argv(table, rule);
    rule.cwd = patterns(table, "cwd");
    rule.cgroup = patterns(table, "cgroup");
    rule.in_run = read_flag(table, "in_run", mistakes_);
    rule.unknown_tool = read_flag(table, "unknown_tool", mistakes_);
    rule.condition = condition_of(table);
    require_condition(table, rule);
    read_effects(table, rule);
    check_names(table, rule);
    return rule;
  }

  static std::string condition_of(const toml::table& table) {
    std::ostringstream text;
    for (const char* key :
         {"exe", "tool", "tool_not", "unknown_tool", "argv", "cwd", "cgroup", "parent", "within", "outside", "in_run"})
      if (table.contains(key)) text << (text.tellp() == 0 ? "" : "; ") << key << " = " << table[key];
    return text.str();
  }

  /// A rule that every process matches would invent tasks.
  void require_condition(const toml::table& table, const EngineRule& rule) {
    const auto says = [](const auto& patterns) {
      return !patterns.empty() &&
             std::all_of(patterns.begin(), patterns.end(), [](const auto& each) { return each.says_something(); });
    };
    const auto names = [](const std::vector<std::string>& globs) {
      return !globs.empty() && std::all_of(globs.begin(), globs.end(), names_something);
    };
    if (!names(rule.exe) && !names(rule.tool) && !says(rule.argv) && !says(rule.cwd) && !says(rule.cgroup) &&
        (table["parent"].as_array() == nullptr || table["parent"].as_array()->empty()))
      mistakes_.add(line_of(table), fmt::format("\"{}\" matches every process", rule.name));
  }

  void read_argv(const toml::table& table, EngineRule& rule) {
    const toml::node* node = table.get("argv");
    if (node == nullptr) return;
    const toml::array* array = node->as_array();
    if (array == nullptr) return mistakes_.add(line_of(*node), "\"argv\" must be an array of arrays of strings");
    for (const toml::node& item : *array) {
      const toml::array* words = item.as_array();
      if (words == nullptr) {
        mistakes_.add(line_of(item), "\"argv\" must hold arrays of strings only");
        continue;
      }
      std::vector<std::string> texts;
      for (const toml::node& word : *words) {
        if (auto text = word.value_exact<std::string>()) {
          texts.push_back(*std::move(text));
        } else {
          mistakes_.add(line_of(word), "\"argv\" must hold arrays of strings only");
        }
      }
      made(item, [&] { rule.argv.emplace_back(texts); });
    }
  }

  std::vector<Pattern> patterns(const toml::table& table, std::string_view key) {
    std::vector<Pattern> all;
    for (const std::string& text : read_strings(table, key, false, mistakes_))
      made(*table.get(key), [&] { all.emplace_back(text); });
    return all;
  }

  void read_effects(const toml::table& table, EngineRule& rule) {
    const std::string begins = read_string(table, "begins", false, mistakes_);
    if (begins == "run") {
      rule.begins = Begins::kRun;
    } else if (begins == "task") {
      rule.begins = Begins::kTask;
    } else if (begins == "place") {
      rule.begins = Begins::kPlace;
    } else if (!begins.empty()) {
      mistakes_.add(line_of(*table.get("begins")), "\"begins\" must be run, task or place");
    }
    rule.elsewhere = read_flag(table, "elsewhere", mistakes_);
    rule.again = read_flag(table, "again", mistakes_);
    rule.tries = read_flag(table, "tries", mistakes_);
    rule.carried = read_flag(table, "carried", mistakes_);
    const std::string own = read_string(table, "own", false, mistakes_);
    if (own == "self") {
      rule.own = EngineOwn::kSelf;
    } else if (own == "tree") {
      rule.own = EngineOwn::kTree;
    } else if (own == "work") {
      rule.own = EngineOwn::kWork;
    } else if (!own.empty()) {
      mistakes_.add(line_of(*table.get("own")), "\"own\" must be self, tree or work");
    }
    read_text(table, "key", rule.key);
    read_text(table, "serves", rule.serves);
    read_text(table, "served_by", rule.served_by);
    read_given(table, "gives", false, Provenance::kEngineRule, rule);
    read_given(table, "infers", false, Provenance::kInferred, rule);
    read_given(table, "labels", true, Provenance::kEngineRule, rule);
    for_each_table(table, "label_pairs", mistakes_, [&](const toml::table& pairs) {
      check_keys(pairs, "label_pairs", {"text", "between", "inferred"}, mistakes_);
      const bool inferred = read_flag(pairs, "inferred", mistakes_);
      const std::string text = read_string(pairs, "text", true, mistakes_);
      const std::string between = read_string(pairs, "between", false, mistakes_);
      made(pairs, [&] {
        rule.pairs.push_back({Template(text), between.empty() ? "," : between,
                              inferred ? Provenance::kInferred : Provenance::kEngineRule});
      });
    });
    read_notes(table, rule);
    read_recipes(table, rule);
    for_each_table(table, "splits", mistakes_, [&](const toml::table& split) {
      check_keys(split, "splits", {"text", "as"}, mistakes_);
      const std::string text = read_string(split, "text", true, mistakes_);
      made(split, [&] { rule.splits.push_back({Template(text), patterns(split, "as")}); });
    });
  }

  void read_text(const toml::table& table, std::string_view key, std::optional<Template>& text) {
    if (const std::string given = read_string(table, key, false, mistakes_); !given.empty())
      made(*table.get(key), [&] { text.emplace(given); });
  }

  /// What the rule does not say itself is as in the one that it is like.
  void copy_effects(const toml::table& table, std::span<const EngineRule> known, EngineRule& rule) {
    const std::string like = read_string(table, "like", false, mistakes_);
    if (like.empty()) return;
    const auto found = names_.find(like);
    if (found == names_.end())
      return mistakes_.add(line_of(*table.get("like")), fmt::format("there is no rule \"{}\"", like));
    const std::size_t own = rules_.rules_.size();
    const EngineRule from = found->second < own ? rules_.rules_[found->second] : known[found->second - own];
    if (rule.begins == Begins::kNothing) rule.begins = from.begins;
    if (rule.own == EngineOwn::kInherited) rule.own = from.own;
    const auto copy = [](auto& to, const auto& of) {
      if (!to) to = of;
    };
    copy(rule.key, from.key);
    copy(rule.notes, from.notes);
    copy(rule.recipe, from.recipe);
    copy(rule.serves, from.serves);
    copy(rule.served_by, from.served_by);
    if (rule.gives.empty()) rule.gives = from.gives;
    if (rule.pairs.empty()) rule.pairs = from.pairs;
    if (rule.splits.empty()) rule.splits = from.splits;
    if (rule.recipes.empty()) rule.recipes = from.recipes;
  }

  void read_given(const toml::table& table, std::string_view key, bool labels, Provenance provenance,
                  EngineRule& rule) {
    const toml::node* node = table.get(key);
    if (node == nullptr) return;
    const toml::table* given = node->as_table();
    if (given == nullptr) return mistakes_.add(line_of(*node), fmt::format("\"{}\" must be a table", key));
    for (const auto& [name, value] : *given) {
      if (!labels && !is_field(name.str()))
        mistakes_.add(line_of(value), fmt::format("\"{}\": there is no field \"{}\"", key, name.str()));
      GivenField field{std::string(name.str()), labels, {}, provenance};
      // What follows from the cgroup alone is known by it.
      if (provenance == Provenance::kEngineRule && rule.of_cgroup_alone()) field.provenance = Provenance::kCgroup;
      if (const toml::array* several = value.as_array()) {
        for (const toml::node& each : *several) add_text(each, key, field.texts);
      } else {
        add_text(value, key, field.texts);
      }
      rule.gives.push_back(std::move(field));
    }
  }

  void add_text(const toml::node& node, std::string_view key, std::vector<Template>& texts) {
    if (const auto text = node.value_exact<std::string>()) {
      made(node, [&] { texts.emplace_back(*text); });
    } else {
      mistakes_.add(line_of(node), fmt::format("\"{}\" must hold strings only", key));
    }
  }

  void read_notes(const toml::table& table, EngineRule& rule) {
    const toml::node* node = table.get("notes");
    if (node == nullptr) return;
    const toml::table* notes = node->as_table();
    if (notes == nullptr) return mistakes_.add(line_of(*node), "\"notes\" must be a table");
    check_keys(
        *notes, "notes",
        {"file", "begins", "listed", "in", "lines", "most_lines", "last", "id", "inputs", "nameless", "ends", "counts"},
        mistakes_);
    const std::string file = read_string(*notes, "file", true, mistakes_);
    const std::int64_t most = read_integer(*notes, "most_lines", 64, mistakes_);
    if (most < 1 || most > kMostNoteLines)
      mistakes_.add(line_of(*node), fmt::format("\"most_lines\" must be from 1 to {}", kMostNoteLines));
    made(*node, [&] {
      NoteFile found{.path = Template(file)};
      found.begins = patterns(*notes, "begins");
      found.lines = patterns(*notes, "lines");
      found.most_lines = static_cast<std::size_t>(std::max<std::int64_t>(most, 1));
      found.last = read_flag(*notes, "last", mistakes_);
      found.nameless = patterns(*notes, "nameless");
      found.ends = patterns(*notes, "ends");
      found.counts = patterns(*notes, "counts");
      read_text(*notes, "id", found.id);
      read_text(*notes, "inputs", found.inputs);
      read_text(*notes, "listed", found.listed);
      read_text(*notes, "in", found.in_text);
      rule.notes = std::move(found);
    });
  }

  void read_recipes(const toml::table& table, EngineRule& rule) {
    for (const std::string& text : read_strings(table, "recipes", false, mistakes_))
      made(*table.get("recipes"), [&] { rule.recipes.emplace_back(text); });
    const toml::node* node = table.get("recipe");
    if (node == nullptr) return;
    const toml::table* recipe = node->as_table();
    if (recipe == nullptr) return mistakes_.add(line_of(*node), "\"recipe\" must be a table");
    check_keys(*recipe, "recipe", {"text", "as"}, mistakes_);
    const std::string text = read_string(*recipe, "text", true, mistakes_);
    const std::string as = read_string(*recipe, "as", true, mistakes_);
    made(*node, [&] { rule.recipe = RecipeName{Template(text), as}; });
  }

  /// A template may only use what some pattern of its rule can capture.
  void check_names(const toml::table& table, const EngineRule& rule) {
    std::set<std::string, std::less<>> known = {"cwd", "pid", "start", "exe", "tool", "runs"};
    const auto learn = [&known](const auto& patterns) {
      for (const auto& pattern : patterns)
        for (std::string& name : pattern.names()) known.insert(std::move(name));
    };
    learn(rule.argv);
    learn(rule.cwd);
    learn(rule.cgroup);
    if (rule.notes) {
      learn(rule.notes->lines);
      learn(rule.notes->begins);
      learn(rule.notes->nameless);
      learn(rule.notes->ends);
      if (!rule.notes->begins.empty()) known.insert("block");
    }
    for (const Split& split : rule.splits) learn(split.patterns);
    if (rule.recipe) known.insert(rule.recipe->as);
    const auto check = [&](const Template& text) {
      for (const std::string& name : text.names())
        if (!known.contains(name))
          mistakes_.add(line_of(table), fmt::format("\"{}\": nothing captures \"{}\"", rule.name, name));
    };
    for (const auto* text : {&rule.key, &rule.serves, &rule.served_by})
      if (*text) check(**text);
    if (rule.notes) {
      check(rule.notes->path);
      for (const auto* text : {&rule.notes->listed, &rule.notes->in_text, &rule.notes->id, &rule.notes->inputs})
        if (*text) check(**text);
    }
    if (rule.recipe) check(rule.recipe->text);
    for (const Template& text : rule.recipes) check(text);
    for (const GivenField& given : rule.gives)
      for (const Template& text : given.texts) check(text);
    for (const LabelPairs& pairs : rule.pairs) check(pairs.text);
    for (const Split& split : rule.splits) check(split.text);
  }

  std::vector<std::size_t> read_references(const toml::table& table, std::string_view key) {
    std::vector<std::size_t> found;
    for (const std::string& name : read_strings(table, key, false, mistakes_)) {
      bool known = false;
      for (const auto& [other, index] : names_) {
        const bool fits = glob_matches(name, other);
        if (fits) found.push_back(index);
        known = known || fits;
      }
      if (!known) mistakes_.add(line_of(*table.get(key)), fmt::format("\"{}\": there is no rule \"{}\"", key, name));
    }
    return found;
  }

  /// Runs what may find a pattern or template wrong.
  template <class Make>
  void made(const toml::node& node, Make make) {
    try {
      make();
    } catch (const std::invalid_argument& error) {
      mistakes_.add(line_of(node), error.what());
    }
  }

  RuleMistakes& mistakes_;
  EngineRules rules_;
  std::map<std::string, std::size_t, std::less<>> names_;
};

namespace {

std::vector<EngineRule> rules_in(std::string_view toml, std::string_view origin, std::span<const EngineRule> known,
                                 std::vector<Problem>* skipped) {
  std::vector<EngineRule> rules;
  read_rules(toml, origin, [&](const toml::table& root, RuleMistakes& mistakes) {
    EngineRulesReader reader(mistakes);
    reader.read(root, known);
    rules = reader.take_rules();
    if (skipped != nullptr) mistakes.move_to(*skipped);
  });
  return rules;
}

}  // namespace

EngineRules EngineRules::parse(std::string_view toml, std::string_view origin, std::vector<Problem>* skipped) {
  return EngineRulesReader::made_of(rules_in(toml, origin, {}, skipped));
}

const EngineRules& EngineRules::builtin() {
  static const EngineRules rules = parse(builtin_rules("engines"), "rules/engines.toml");
  return rules;
}

EngineRules EngineRules::load(const std::filesystem::path& file, std::vector<Problem>* skipped) {
  const std::vector<EngineRule>& known = builtin().rules();
  std::vector<EngineRule> rules = rules_in(read_rules_file(file), file.string(), known, skipped);
  const std::size_t before = rules.size();
  for (EngineRule rule : known) {
    for (std::size_t& index : rule.parent) index += before;
    for (std::size_t& index : rule.within) index += before;
    for (std::size_t& index : rule.outside) index += before;
    rules.push_back(std::move(rule));
  }
  return EngineRulesReader::made_of(std::move(rules));
}

}  // namespace tracer::internal
