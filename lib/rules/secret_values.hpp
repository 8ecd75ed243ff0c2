// SPDX-License-Identifier: Apache-2.0
/// What a value looks like: a variable, a file, a number; or as if a generator of secrets had made it.
#pragma once

#include <cstdint>
#include <string_view>

namespace tracer::internal {

/// What the value behind a name must look like to be a secret.
enum class Need : std::uint8_t {
  kNever,
  kToken,     ///< There is no name; only what can be nothing else is a secret.
  kRandom,    ///< The name only hints at a secret, as "key" does.
  kWord,      ///< As kText, and no small word: "pass" and "token" alone are names of much else.
  kText,      ///< As kNotPlain, and no number: "pass" and "token" count things, too.
  kNotPlain,  ///< Anything but what stands for a value that is elsewhere.
  kAny,       ///< A program's own option: anything but a variable.
};

namespace secret_values {

/// Where the value stands: a shell still puts values of variables into a script.
enum class Place : std::uint8_t { kWord, kScript };

bool is_secret(std::string_view value, Need need, Place place);

/// As made by a generator: long, of mixed classes, of high entropy; no UUID, accession, path or name of a file.
bool is_random(std::string_view value);

/// "$NAME", "${NAME}", "$(command)", "{{ name }}", "%(name)s", "<name>": the value is elsewhere.
bool is_variable(std::string_view value, Place place);

bool is_path(std::string_view value);

}  // namespace secret_values

}  // namespace tracer::internal
