// SPDX-License-Identifier: Apache-2.0
/// What a value looks like: a variable, a file, a number; or as if a generator of secrets had made it.
#pragma once

#include <cstdint>
#include <string_view>

#include "rules/secrets/secret_text.hpp"

namespace tracer::internal {

/// What the value behind a name must look like to be a secret.
enum class Need : std::uint8_t {
  kNever,
  kToken,     ///< There is no name; only what can be nothing else is a secret.
  kRandom,    ///< The name only hints at a secret, as "key" does.
  kHinted,    ///< As kRandom, and the name says whose it is, as "OPENAI_KEY" does: shorter ones count, too.
  kWord,      ///< As kText, and no small word: "pass" and "token" alone are names of much else.
  kText,      ///< As kNotPlain, and no number: "pass" and "token" count things, too.
  kNotPlain,  ///< Anything but what stands for a value that is elsewhere.
  kAny,       ///< A program's own option: anything but a variable.
};

namespace secret_values {

/// Where the value stands: a shell still puts values of variables into a script.
enum class Place : std::uint8_t { kWord, kScript };

/// As made by a generator: long, of mixed classes, of high entropy; no UUID, accession, path or name of a file.
bool is_random(std::string_view value);

/// "$NAME", "${NAME}", "$(command)", "{{ name }}", "%(name)s", "<name>": the value is elsewhere.
bool is_variable(std::string_view value, Place place);

}  // namespace secret_values

/// What is known of values, of [[value]] in the rules.
class SecretValues {
 public:
  bool is_secret(std::string_view value, Need need, secret_values::Place place) const;
  bool is_path(std::string_view value) const;

 private:
  friend class SecretRulesReader;

  bool is_constant(std::string_view value) const;
  bool is_file(std::string_view value) const;
  bool is_plain(std::string_view value, secret_values::Place place) const;

  secret_text::Names constants_, files_, folders_;
};

}  // namespace tracer::internal
