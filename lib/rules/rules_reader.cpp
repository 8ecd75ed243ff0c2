// SPDX-License-Identifier: Apache-2.0
#define TOML_IMPLEMENTATION
#include "rules/rules_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "rules/plain_toml.hpp"

namespace tracer::internal {
namespace {

/// The schema of rules files that this library reads.
constexpr std::int64_t kRulesSchema = 1;

void check_schema(const toml::table& root, RuleMistakes& mistakes) {
  const toml::node* node = root.get("schema");
  const auto schema = node == nullptr ? std::nullopt : node->value_exact<std::int64_t>();
  if (!schema) {
    mistakes.add(node == nullptr ? 1 : line_of(*node), "\"schema\" must be there and be an integer");
  } else if (*schema != kRulesSchema) {
    mistakes.add(line_of(*node), fmt::format("schema {} is not known here, only {}", *schema, kRulesSchema));
  }
}

template <class T>
T read_value(const toml::table& table, std::string_view key, T absent, std::string_view kind, RuleMistakes& mistakes) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return absent;
  if (auto value = node->value_exact<T>()) return *std::move(value);
  mistakes.add(line_of(*node), fmt::format("\"{}\" must be {}", key, kind));
  return absent;
}

/// Calls `visit` with each item and its node.
template <class T, class Visit>
void for_each_item(const toml::table& table, std::string_view key, std::string_view kind, RuleMistakes& mistakes,
                   Visit visit) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return;
  const toml::array* array = node->as_array();
  if (array == nullptr) {
    mistakes.add(line_of(*node), fmt::format("\"{}\" must be an array of {}", key, kind));
    return;
  }
  for (const toml::node& item : *array) {
    if (auto value = item.value_exact<T>()) {
      visit(*std::move(value), item);
    } else {
      mistakes.add(line_of(item), fmt::format("\"{}\" must hold {} only", key, kind));
    }
  }
}

}  // namespace

void RuleMistakes::add(std::size_t line, std::string_view what) {
  problems_.push_back({ErrorCode::kInvalidRules, 0, fmt::format("{}:{}: {}", origin_, line, what), {}, {}});
}

void RuleMistakes::throw_if_any() {
  if (!problems_.empty()) throw Error(std::move(problems_));
}

void RuleMistakes::move_to(std::vector<Problem>& problems) {
  problems.insert(problems.end(), std::make_move_iterator(problems_.begin()), std::make_move_iterator(problems_.end()));
  problems_.clear();
}

std::size_t line_of(const toml::node& node) { return static_cast<std::size_t>(node.source().begin.line); }

void read_rules(std::string_view text, std::string_view origin,
                const std::function<void(const toml::table& root, RuleMistakes& mistakes)>& read) {
  RuleMistakes mistakes(origin);
  if (const auto line = line_of_foreign_character(text)) {
    mistakes.add(*line, "a character that is not ASCII stands outside of strings and comments");
    mistakes.throw_if_any();
  }
  try {
    const toml::table root = toml::parse(text);
    check_schema(root, mistakes);
    read(root, mistakes);
  } catch (const toml::parse_error& error) {
    mistakes.add(error.source().begin.line, error.description());
  }
  mistakes.throw_if_any();
}

void check_keys(const toml::table& table, std::string_view where, std::initializer_list<std::string_view> known,
                RuleMistakes& mistakes) {
  for (const auto& [key, node] : table)
    if (std::find(known.begin(), known.end(), key.str()) == known.end())
      mistakes.add(line_of(node), fmt::format("{}: unknown key \"{}\"", where, key.str()));
}

bool read_flag(const toml::table& table, std::string_view key, RuleMistakes& mistakes) {
  return read_value<bool>(table, key, false, "true or false", mistakes);
}

std::int64_t read_integer(const toml::table& table, std::string_view key, std::int64_t absent, RuleMistakes& mistakes) {
  return read_value<std::int64_t>(table, key, absent, "an integer", mistakes);
}

std::string read_string(const toml::table& table, std::string_view key, bool required, RuleMistakes& mistakes) {
  const toml::node* node = table.get(key);
  if (required && node == nullptr) mistakes.add(line_of(table), fmt::format("\"{}\" is missing", key));
  auto text = read_value<std::string>(table, key, {}, "a string", mistakes);
  if (text.empty() && node != nullptr && node->is_string())
    mistakes.add(line_of(*node), fmt::format("\"{}\" must not be empty", key));
  return text;
}

const toml::table* read_test(const toml::table& rule, std::initializer_list<std::string_view> keys,
                             RuleMistakes& mistakes) {
  const toml::node* node = rule.get("test");
  const toml::table* test = node == nullptr ? nullptr : node->as_table();
  if (test == nullptr) {
    mistakes.add(line_of(rule), "a rule needs a test");
  } else {
    check_keys(*test, "test", keys, mistakes);
  }
  return test;
}

std::vector<std::string> read_strings(const toml::table& table, std::string_view key, bool may_hold_empty,
                                      RuleMistakes& mistakes) {
  std::vector<std::string> texts;
  for_each_item<std::string>(table, key, "strings", mistakes, [&](std::string text, const toml::node& item) {
    if (text.empty() && !may_hold_empty) {
      mistakes.add(line_of(item), fmt::format("\"{}\" must not hold an empty string", key));
    } else {
      texts.push_back(std::move(text));
    }
  });
  return texts;
}

std::vector<std::int64_t> read_integers(const toml::table& table, std::string_view key, std::int64_t least,
                                        std::int64_t most, RuleMistakes& mistakes) {
  std::vector<std::int64_t> values;
  for_each_item<std::int64_t>(table, key, "integers", mistakes, [&](std::int64_t value, const toml::node& item) {
    if (value < least || value > most) {
      mistakes.add(line_of(item), fmt::format("\"{}\" must hold integers from {} to {}", key, least, most));
    } else {
      values.push_back(value);
    }
  });
  return values;
}

void for_each_table(const toml::table& table, std::string_view key, RuleMistakes& mistakes,
                    const std::function<void(const toml::table&)>& visit) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return;
  const toml::array* array = node->as_array();
  if (array == nullptr) {
    mistakes.add(line_of(*node), fmt::format("\"{}\" must be an array of tables", key));
    return;
  }
  for (const toml::node& item : *array) {
    if (const toml::table* entry = item.as_table()) {
      visit(*entry);
    } else {
      mistakes.add(line_of(item), fmt::format("\"{}\" must hold tables only", key));
    }
  }
}

std::string read_rules_file(const std::filesystem::path& file) {
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::string text;
  char buffer[4096];
  // A directory opens fine and fails with EISDIR at the first read only.
  while (stream.good()) {
    stream.read(buffer, sizeof buffer);
    text.append(buffer, static_cast<std::size_t>(stream.gcount()));
  }
  if (!stream.eof()) {
    const int number = errno != 0 ? errno : EIO;
    throw Error(Problem{ErrorCode::kFileUnreadable,
                        number,
                        fmt::format("can't read the rules file {}", file.string()),
                        "give the path of a readable TOML file",
                        {}});
  }
  return text;
}

}  // namespace tracer::internal
