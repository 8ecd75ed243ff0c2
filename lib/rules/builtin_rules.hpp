// SPDX-License-Identifier: Apache-2.0
/// The rules that are built into the library, and what reading any rules file has in common.
/// The readers are templates over the table type so that this header needs no TOML library.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <tracer/error.hpp>

namespace tracer {

/// The texts of rules/tools.toml and rules/secrets.toml; a file that cmake/EmbedRules.cmake generates defines them.
extern const std::string_view kBuiltinToolRules, kBuiltinSecretRules;

/// The schema of rules files that this library reads.
inline constexpr std::int64_t kRulesSchema = 1;

/// Collects the mistakes of one rules file, so that all of them are told at once.
class RuleMistakes {
 public:
  explicit RuleMistakes(std::string_view origin) : origin_(origin) {}

  void add(std::size_t line, std::string_view what) {
    problems_.push_back({ErrorCode::kInvalidRules, 0, fmt::format("{}:{}: {}", origin_, line, what), {}, {}});
  }
  void throw_if_any() {
    if (!problems_.empty()) throw Error(std::move(problems_));
  }

 private:
  std::string origin_;
  std::vector<Problem> problems_;
};

template <class Node>
std::size_t line_of(const Node& node) {
  return static_cast<std::size_t>(node.source().begin.line);
}

/// A key that nobody reads is a typing mistake more often than not, so each one is told.
template <class Table>
void check_keys(const Table& table, std::string_view where, std::initializer_list<std::string_view> known,
                RuleMistakes& mistakes) {
  for (const auto& [key, node] : table) {
    if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
      mistakes.add(line_of(node), fmt::format("{}: unknown key \"{}\"", where, key.str()));
    }
  }
}

template <class Table>
void check_schema(const Table& root, RuleMistakes& mistakes) {
  const auto* node = root.get("schema");
  const auto schema = node == nullptr ? std::nullopt : node->template value_exact<std::int64_t>();
  if (!schema) {
    mistakes.add(node == nullptr ? 1 : line_of(*node), "\"schema\" must be there and be an integer");
  } else if (*schema > kRulesSchema || *schema < 1) {
    mistakes.add(line_of(*node), fmt::format("schema {} is not known here, only {}", *schema, kRulesSchema));
  }
}

/// Reads a value of type T; `fallback` where the key is absent or mistaken.
template <class T, class Table>
T read_value(const Table& table, std::string_view key, T fallback, std::string_view kind, RuleMistakes& mistakes) {
  const auto* node = table.get(key);
  if (node == nullptr) return fallback;
  if (auto value = node->template value_exact<T>()) return *std::move(value);
  mistakes.add(line_of(*node), fmt::format("\"{}\" must be {}", key, kind));
  return fallback;
}

template <class Table>
std::string read_string(const Table& table, std::string_view key, bool required, RuleMistakes& mistakes) {
  if (required && table.get(key) == nullptr) mistakes.add(line_of(table), fmt::format("\"{}\" is missing", key));
  auto text = read_value<std::string>(table, key, {}, "a string", mistakes);
  const auto* node = table.get(key);
  if (text.empty() && node != nullptr && node->is_string()) {
    mistakes.add(line_of(*node), fmt::format("\"{}\" must not be empty", key));
  }
  return text;
}

/// Reads an array of strings; empty where the key is absent.
template <class Table>
std::vector<std::string> read_strings(const Table& table, std::string_view key, bool may_hold_empty,
                                      RuleMistakes& mistakes) {
  std::vector<std::string> texts;
  const auto* node = table.get(key);
  if (node == nullptr) return texts;
  const auto* array = node->as_array();
  if (array == nullptr) {
    mistakes.add(line_of(*node), fmt::format("\"{}\" must be an array of strings", key));
    return texts;
  }
  for (const auto& item : *array) {
    auto text = item.template value_exact<std::string>();
    if (!text) {
      mistakes.add(line_of(item), fmt::format("\"{}\" must hold strings only", key));
    } else if (text->empty() && !may_hold_empty) {
      mistakes.add(line_of(item), fmt::format("\"{}\" must not hold an empty string", key));
    } else {
      texts.push_back(*std::move(text));
    }
  }
  return texts;
}

/// Calls `visit` with each table of an array of tables; nothing where the key is absent.
template <class Table, class Visit>
void for_each_table(const Table& table, std::string_view key, RuleMistakes& mistakes, Visit visit) {
  const auto* node = table.get(key);
  if (node == nullptr) return;
  const auto* array = node->as_array();
  if (array == nullptr) {
    mistakes.add(line_of(*node), fmt::format("\"{}\" must be an array of tables", key));
    return;
  }
  for (const auto& item : *array) {
    if (const auto* entry = item.as_table()) {
      visit(*entry);
    } else {
      mistakes.add(line_of(item), fmt::format("\"{}\" must hold tables only", key));
    }
  }
}

/// Throws Error(kFileUnreadable) with errno.
inline std::string read_rules_file(const std::filesystem::path& file) {
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

}  // namespace tracer
