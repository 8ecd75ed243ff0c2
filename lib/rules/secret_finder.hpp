// SPDX-License-Identifier: Apache-2.0
/// Secrets that are known by what is around them or by how they look, wherever they are in a word.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/secret_rules.hpp"
#include "rules/secret_text.hpp"

namespace tracer::internal {

/// The part of SecretScan that needs no words.
class SecretFinder {
 public:
  SecretFinder(const SecretRules& rules, std::size_t total)
      : rules_(rules), maybe_cut_(total >= secret_text::kMaybeCut) {}

 protected:
  /// Notes the ranges of all such secrets in text_.
  void find();
  /// Notes that this range is secret.
  void add(std::size_t begin, std::size_t end);
  /// Puts the mask in place of all ranges; ranges that touch are one secret.
  std::size_t replace(std::string& text);

  const SecretRules& rules_;
  bool maybe_cut_;
  std::string_view text_;
  std::size_t covered_ = 0;
  std::vector<std::pair<std::size_t, std::size_t>> ranges_;

 private:
  /// Headers ("Authorization: Bearer x") and members of objects ("password": "x").
  void colons();

  /// Of URLs and forms: "?token=x&key=y".
  void parameters();
  /// Passwords in URLs: "scheme://user:x@host".
  void urls();
  /// Tokens that begin and look as those of some service do.
  void shapes();
  /// Private keys in PEM.
  void pem();
};

}  // namespace tracer::internal
