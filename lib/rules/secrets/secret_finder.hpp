// SPDX-License-Identifier: Apache-2.0
/// Secrets that are known by what is around them or by how they look, wherever they are in a word.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/secrets/secret_rules.hpp"
#include "rules/secrets/secret_text.hpp"
#include "rules/secrets/secret_values.hpp"

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
  /// As add() where what is there is as secret as `need` says.
  void add_if(std::size_t begin, std::size_t end, Need need) {
    if (begin < end && rules_.values_.is_secret(text_.substr(begin, end - begin), need, place_)) add(begin, end);
  }
  /// "up{token=" of a query: a label.
  bool is_label(std::size_t begin) const {
    return begin > 1 && text_[begin - 1] == '{' && secret_text::is_name(text_[begin - 2]);
  }
  /// Puts the mask in place of all ranges; ranges that touch are one secret.
  std::size_t replace(std::string& text);

  const SecretRules& rules_;
  bool maybe_cut_;
  std::string_view text_;
  secret_values::Place place_ = secret_values::Place::kWord;
  std::size_t covered_ = 0;
  std::vector<std::pair<std::size_t, std::size_t>> ranges_;

 private:
  /// Headers ("Authorization: Bearer x") and members of objects ("password": "x").
  void colons();

  /// The name that ends before `end`, blanks, a quote and "]" between: of "os.environ['KEY'] =" KEY.
  struct Name {
    std::size_t begin = 0, end = 0;
    bool quoted = false, apart = false;  ///< In quotes; blanks or a bracket between.
  };
  Name name_before(std::size_t end) const;
  /// Assignments of programs and files: "password = 'x'", "password => 'x'", "password: x".
  void assignments();
  void assigned(const Name& name, std::size_t from, bool colon, Need need);
  /// A value in quotes behind words: SQL's "PASSWORD 'x'", "IDENTIFIED BY 'x'".
  void phrases();
  bool is_sql_phrase(std::size_t end) const;
  /// The second text of "auth=('me', 'x')", the first of "set_token('x')", the third of "connect('h', 'me', 'x')".
  void calls();
  struct Argument {
    std::size_t begin = 0, end = 0;  ///< Between its quotes.
    std::size_t position = 0;        ///< Among all arguments.
  };
  /// The quoted arguments behind `at`, until one that has a name; what is no text is passed over.
  std::vector<Argument> quoted_arguments(std::size_t at) const;
  void call(std::string_view name, const std::vector<Argument>& arguments);
  /// "s/@PASSWORD@/x/" of sed
  void substitutions();
  /// "<password>x</password>"
  void tags();
  /// What is between quotes at `at`, or nothing; `at` moves behind it.
  std::pair<std::size_t, std::size_t> quoted_text(std::size_t& at) const;

  /// Of URLs and forms: "?token=x&key=y".
  void parameters();
  /// Passwords in URLs: "scheme://user:x@host".
  void urls();
  /// "me:x@host" without a scheme.
  void logins();
  void url_path(std::size_t begin, std::size_t end);
  /// Tokens that begin and look as those of some service do.
  void shapes();
  /// Private keys in PEM.
  void pem();
  /// What is left on both sides of the cut of a long argument vector.
  void cut();
};

}  // namespace tracer::internal
