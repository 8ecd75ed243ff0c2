// SPDX-License-Identifier: Apache-2.0
/// What reading any rules file has in common. Only the readers include this: nobody else needs the TOML library.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

// Compiled once, in rules_reader.cpp.
#define TOML_HEADER_ONLY 0
#include <toml++/toml.h>

#include <tracer/error.hpp>

#include "rules/rules_file.hpp"

namespace tracer::internal {

/// Collects the mistakes of one rules file, so that all of them are reported at once.
class RuleMistakes {
 public:
  explicit RuleMistakes(std::string_view origin) : origin_(origin) {}

  void add(std::size_t line, std::string_view what);
  void throw_if_any();
  std::size_t count() const noexcept { return problems_.size(); }
  /// Hands them over: they are no errors any more.
  void move_to(std::vector<Problem>& problems);

 private:
  std::string origin_;
  std::vector<Problem> problems_;
};

std::size_t line_of(const toml::node& node);

/// Parses the text, checks its schema, and calls `read` with it. Throws Error(kInvalidRules) with every mistake: where
/// the text is no TOML, and what `read` has found.
void read_rules(std::string_view text, std::string_view origin,
                const std::function<void(const toml::table& root, RuleMistakes& mistakes)>& read);

/// An unknown key is a typing mistake more often than not.
void check_keys(const toml::table& table, std::string_view where, std::initializer_list<std::string_view> known,
                RuleMistakes& mistakes);

/// The value of a key. What is absent is false, 0 or empty; what is not valid is, too, and is a mistake.
bool read_flag(const toml::table& table, std::string_view key, RuleMistakes& mistakes);
std::int64_t read_integer(const toml::table& table, std::string_view key, std::int64_t absent, RuleMistakes& mistakes);
std::string read_string(const toml::table& table, std::string_view key, bool required, RuleMistakes& mistakes);
std::vector<std::string> read_strings(const toml::table& table, std::string_view key, bool may_hold_empty,
                                      RuleMistakes& mistakes);
/// Each from `least` to `most`.
std::vector<std::int64_t> read_integers(const toml::table& table, std::string_view key, std::int64_t least,
                                        std::int64_t most, RuleMistakes& mistakes);

/// The examples of a rule: its table "test", of which these are all keys. Null where it has none, which is a mistake.
const toml::table* read_test(const toml::table& rule, std::initializer_list<std::string_view> keys,
                             RuleMistakes& mistakes);

/// Calls `visit` with each table of an array of tables; nothing where the key is absent.
void for_each_table(const toml::table& table, std::string_view key, RuleMistakes& mistakes,
                    const std::function<void(const toml::table&)>& visit);

}  // namespace tracer::internal
