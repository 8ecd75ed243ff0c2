// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tracer::internal {

/// An example that a secret rule carries, so that the rules test themselves.
struct SecretExample {
  std::string rule;  ///< The kind of the rule and its line, such as "option:12".
  std::vector<std::string> argv;
  std::vector<std::string> masked;  ///< What SecretRules::mask() must make of argv; empty: the rule has no example.
};

/// The examples of all rules of a file; a rule without any has one whose `masked` is empty. Throws as
/// SecretRules::parse().
std::vector<SecretExample> read_secret_examples(std::string_view toml, std::string_view origin);

}  // namespace tracer::internal
