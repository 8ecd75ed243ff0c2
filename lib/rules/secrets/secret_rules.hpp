// SPDX-License-Identifier: Apache-2.0
/// Masks passwords, tokens and keys in command lines before they are stored or shown.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rules/secrets/secret_text.hpp"
#include "rules/secrets/secret_values.hpp"

namespace tracer::internal {

/// Immutable after parse(), so any number of threads may call mask().
class SecretRules {
 public:
  /// Throws Error(kInvalidRules) that names origin, line and the mistake, for all mistakes at once.
  static SecretRules parse(std::string_view toml, std::string_view origin);
  /// Throws Error(kFileUnreadable) with errno when the file can't be read, otherwise as parse().
  static SecretRules load(const std::filesystem::path& file);
  /// The rules that are built into the library (rules/secrets.toml); parsed once.
  static const SecretRules& builtin();

  /// Masks secrets in place, each with "***"; returns how many were masked. Linear time on hostile input.
  std::size_t mask(std::vector<std::string>& argv) const;

 private:
  friend class SecretRulesReader;
  friend class SecretFinder;
  friend class SecretScan;

  using Names = secret_text::Names;

  /// What is secret in the words of certain programs.
  struct Option {
    std::vector<std::string> subcommands;  ///< Must have been seen, in this order; "-x": a flag.
    std::vector<std::string> names;        ///< The value is in the same word after '=' or in the next word.
    std::vector<std::string> joined;       ///< The value follows in the same word at once.
    std::vector<std::string> plain;        ///< Have the name of a secret, and are none.
    std::vector<std::string> valued;       ///< Their value is no argument.
    std::string within;                    ///< Must be in the same word of argv.
    std::string flags;                     ///< Letters that may stand between '-' and the letter of one of `names`.
    std::string after;                     ///< Only what follows the first of these characters is secret, if not empty.
    std::string before;         ///< Only what is before the last of these characters is secret, if there is one.
    std::size_t argument = 0;   ///< Which word behind the subcommand is secret, from 1; options are not counted.
    bool keywords = false;      ///< A word that is the name of a secret is followed by its value.
    bool assigned = false;      ///< Each word NAME=VALUE behind the subcommand gives a secret.
    bool first = false;         ///< The program must be the first word of its command.
    bool leading = false;       ///< Only options before the first other word.
    bool stdin_secret = false;  ///< With one of `names`, or without any, a secret is read from a pipe.
  };
  static constexpr std::size_t kMaxOptions = 256;
  /// One bit for each of the options.
  using OptionSet = std::array<std::uint64_t, kMaxOptions / 64>;
  struct Shape {
    std::string prefix;
    std::size_t min = 0;   ///< How many characters must follow the prefix.
    std::string contains;  ///< Must be inside, if not empty, unless the end is cut.
    std::array<bool, 256> set{};
  };

  Need need_of(std::string_view name) const;
  /// Of a name of which the beginning was cut off.
  Need need_of_end(std::string_view name) const;

  std::vector<Option> options_;
  std::unordered_map<std::string, OptionSet, secret_text::Hash, std::equal_to<>> programs_;
  OptionSet any_program_{};
  OptionSet conditional_{};  ///< Those with `first` or `within`.
  Names wrappers_, shells_;
  std::unordered_map<std::string, Need, secret_text::Hash, std::equal_to<>> parts_;
  std::vector<std::string> endings_;  ///< Of words that are written together, such as "dbpassword".
  Names except_last_, except_first_, except_hints_;
  Names parameters_, parameter_hints_, headers_, schemes_, plain_urls_, login_urls_, calls_;
  SecretValues values_;
  std::vector<std::string> url_segments_, url_rests_, setters_, connects_;
  Names pair_logins_, pair_users_, pair_passwords_, pair_names_, pair_values_;
  std::vector<std::string> except_ends_;  ///< Ends of names that say where a secret is.
  std::vector<Shape> shapes_;
  std::array<bool, 256> shape_begins_{};  ///< Which bytes a shape begins with: most words have none.
};

}  // namespace tracer::internal
