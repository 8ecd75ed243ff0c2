// SPDX-License-Identifier: Apache-2.0
/// Secrets that a command line's words give away: options, variables, what follows them.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "rules/secrets/secret_finder.hpp"

namespace tracer::internal {

/// Masks one argv, word by word: finds the ranges that are secret in each, then replaces them.
class SecretScan : private SecretFinder {
 public:
  SecretScan(const SecretRules& rules, std::size_t total) : SecretFinder(rules, total) { outer_ = Command(rules); }

  /// Masks the next word of argv in place; returns how many secrets it had.
  std::size_t word(std::string& text);

 private:
  using Option = SecretRules::Option;
  /// How a value is to be looked at.
  struct Value {
    Need need = Need::kNever;
    std::string_view after = {}, before = {};
    Need otherwise = Need::kNever;  ///< Of a value in which `after` is not.
    bool scheme = false;            ///< Of a header: "Bearer" is no secret, and is followed by one.
    bool prints = false;            ///< It is a command that prints the secret.
  };
  struct Command {
    Command() = default;
    explicit Command(const SecretRules& rules) : programs(rules.any_program_) {}

    bool started = false;
    bool wrapped = false;
    bool shell = false;
    bool skip = false;         ///< The next word is an option's value that does not matter.
    bool long_option = false;  ///< The last word was "--name", the next one may be its value and no program.
    bool reads = false;        ///< A secret is read from a pipe.
    bool echoes = false;
    bool tees = false;
    bool quoted = false;                   ///< Its first word is in quotes.
    bool part = false;                     ///< A word of a command, cut at its commas and such.
    bool user_next = false, user = false;  ///< An option is followed by a user; has named one.
    bool name_next = false;                ///< An option is followed by the name of what another one gives.
    Need named = Need::kNever;             ///< Of that name.
    SecretRules::OptionSet programs{};     ///< Rules whose program has been seen.
    /// How many words of its subcommand each of them has seen; behind that, how many other words.
    std::array<std::uint8_t, SecretRules::kMaxOptions> progress{};
  };
  /// One word of a command.
  struct Token {
    std::size_t begin, end;
    bool whole;  ///< A word of argv rather than of a script.
    char open;   ///< The quote around it, or 0.
    int depth = 0;
  };

  void value(std::size_t begin, std::size_t end, const Value& how);

  /// Where a shell ends the value that begins at `begin`; `open` is the quote around all of it, or 0.
  void shell_value(std::size_t begin, char open, const Value& how);
  void set_value(std::size_t begin, const Token& token, const Value& how);
  /// Where a value ends whose word goes on with the next assignment: "token=x&y=1".
  std::size_t before_next_name(std::size_t begin, std::size_t end) const;
  bool is_next_name(std::size_t at) const;
  void expect(const Value& how) {
    const bool more = expected_.need < how.need || (expected_.need == how.need && how.after.empty());
    if (!pending_ || more) expected_ = how;
    pending_ = true;
  }

  /// Looks at one word of a command: options, NAME=value, and which program it is.
  void token(Command& command, const Token& token);
  void option(Command& command, const Token& token, std::string_view word);
  void assignment(Command& command, const Token& token, std::string_view word, std::size_t equals);
  /// Whether what is assigned at `at` is a call or a variable of a program.
  bool is_code(std::size_t begin, std::size_t at) const;
  void argument(Command& command, const Token& token, std::string_view word);

  /// What one option says about another: "-u me -p x", "--name db_password --value x".
  bool pair_option(Command& command, std::string_view name, const Token& token, std::size_t value_begin);
  /// "-u me -px"
  void joined_password(Command& command, std::string_view word, const Token& token);
  /// "_gpg_passphrase x" as one word of argv
  void named_word(std::string_view word);
  void pair_argument(Command& command, std::string_view word, bool behind_option);
  /// "--password-command": a program prints what is secret.
  bool is_printed(std::string_view name) const;
  /// What "echo" and "printf" print, if the command is one of them.
  void printed(std::size_t begin, std::size_t end);
  /// "password_stdin", "--passwd-on-stdin"
  bool reads_secret(std::string_view word) const;
  bool is_secret_file(std::string_view path) const;
  /// "echo x > db_password"
  void written(std::size_t sign);
  void program(Command& command, std::string_view word);

  /// Calls `visit` with each rule of the command's programs, and with its progress.
  template <class Visit>
  void for_each_option(Command& command, Visit visit) {
    for (std::size_t part = 0; part < command.programs.size(); ++part) {
      for (std::uint64_t set = command.programs[part]; set != 0; set &= set - 1) {
        const std::size_t i = part * 64 + static_cast<std::size_t>(std::countr_zero(set));
        visit(rules_.options_[i], command.progress[i]);
      }
    }
  }
  static bool is_active(const Option& option, std::size_t progress) {
    return progress >= option.subcommands.size() && (!option.leading || progress == option.subcommands.size());
  }
  /// Whether a rule of its program says what this option is, and is done with it.
  bool program_option(Command& command, std::string_view name, const Token& token, std::size_t value_begin);
  bool joined_option(Command& command, std::string_view word, const Token& token);
  void clustered_option(const Option& option, std::string_view word, const Token& token);

  /// Cuts the text into words as a shell might; a cut may have lost one of a pair of quotes, so they cut like spaces.
  void walk();
  void end_command(Command& command, std::size_t at);
  void mask_piped();
  bool is_and(std::size_t at) const { return text_.substr(at, 2) == "&&"; }

  Command outer_;
  bool pending_ = false;
  Value expected_;
  Value last_name_;  ///< For a '=' that is a word of its own.
  bool script_next_ = false;
  bool printed_ = false;                         ///< What the next command prints is a secret: "--key <(echo x)".
  std::size_t piped_begin_ = 0, piped_end_ = 0;  ///< What the command before this one has printed.
};

}  // namespace tracer::internal
