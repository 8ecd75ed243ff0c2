// SPDX-License-Identifier: Apache-2.0
/// Masks passwords, tokens and keys in command lines before they are stored or shown.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

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

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
  };
  using Names = std::unordered_set<std::string, Hash, std::equal_to<>>;

  /// Options of certain programs; the bit in a 64-bit mask is the index.
  struct Option {
    std::string subcommand;           ///< Must have been seen, if not empty.
    std::vector<std::string> names;   ///< The value is in the same word after '=' or in the next word.
    std::vector<std::string> joined;  ///< The value follows in the same word at once.
    std::string after;                ///< Only what follows the first of these characters is secret, if not empty.
  };
  struct Shape {
    std::string prefix;
    std::size_t min = 0;   ///< How many characters must follow the prefix.
    std::string contains;  ///< Must be inside, if not empty, unless the end is cut.
    std::array<bool, 256> set{};
  };

  bool is_secret_name(std::string_view name) const;

  std::vector<Option> options_;
  std::unordered_map<std::string, std::uint64_t, Hash, std::equal_to<>> programs_;
  Names wrappers_, shells_;
  Names parts_, except_last_, except_first_;
  Names parameters_, headers_, schemes_, plain_urls_;
  std::vector<Shape> shapes_;
  std::array<bool, 256> shape_begins_{};  ///< Which bytes a shape begins with: most words have none.
};

}  // namespace tracer::internal
