// SPDX-License-Identifier: Apache-2.0
/// How many secrets of tests/data/secrets the built-in rules leave, and how much they mask that they should not.
#include "rules/secrets/secret_rules.hpp"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "in_repository.hpp"
#include "rules/rules_reader.hpp"

using tracer::internal::SecretRules;

namespace {

using Words = std::vector<std::string>;

struct Line {
  std::string source;
  Words argv, secrets, kept;
};
struct Part {
  std::vector<Line> secret, harmless;
};
struct Score {
  std::size_t leaks = 0;   ///< Lines of which a secret is left.
  std::size_t lost = 0;    ///< Lines of which something was masked that must be kept.
  std::size_t masked = 0;  ///< Harmless lines that were changed.
  Words failures;
};

Words words_of(const toml::table& line, std::string_view key) {
  Words words;
  if (const toml::array* const array = line[key].as_array()) {
    for (const toml::node& word : *array) words.push_back(word.value<std::string>().value());
  }
  return words;
}

std::vector<Line> lines_of(const toml::table& file, std::string_view kind) {
  std::vector<Line> lines;
  for (const toml::node& node : *file[kind].as_array()) {
    const toml::table& line = *node.as_table();
    lines.push_back({line["source"].value<std::string>().value(), words_of(line, "argv"), words_of(line, "secrets"),
                     words_of(line, "kept")});
  }
  return lines;
}

Part read_part(const std::string& name) {
  std::ifstream file(tracer::internal::in_repository("tests/data/secrets/" + name), std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  // It keeps programs that search repositories for secrets from taking these for real ones.
  constexpr std::string_view kMark = "¦";
  for (auto at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at)) text.erase(at, kMark.size());
  const toml::table root = toml::parse(text, name);
  return {lines_of(root, "secret"), lines_of(root, "harmless")};
}

bool is_in_a_word(const Words& argv, const std::string& part) {
  return std::any_of(argv.begin(), argv.end(),
                     [&](const std::string& word) { return word.find(part) != std::string::npos; });
}

Score score(const Part& part) {
  const SecretRules& rules = SecretRules::builtin();
  Score score;
  for (const Line& line : part.secret) {
    Words argv = line.argv;
    rules.mask(argv);
    const auto is_left = [&](const std::string& text) { return is_in_a_word(argv, text); };
    const bool leaks = std::any_of(line.secrets.begin(), line.secrets.end(), is_left);
    const bool keeps = std::all_of(line.kept.begin(), line.kept.end(), is_left);
    score.leaks += leaks ? 1U : 0U;
    score.lost += keeps ? 0U : 1U;
    if (leaks) score.failures.push_back("leaks: " + line.source);
    if (!keeps) score.failures.push_back("masks what must be kept: " + line.source);
  }
  for (const Line& line : part.harmless) {
    Words argv = line.argv;
    rules.mask(argv);
    if (argv == line.argv) continue;
    ++score.masked;
    score.failures.push_back("masks: " + line.source);
  }
  return score;
}

void report(const std::string& name, const Part& part, const Score& score) {
  MESSAGE(name << ": of " << part.secret.size() << " secret lines " << score.leaks << " leak, of " << score.lost
               << " too much is masked; of " << part.harmless.size() << " harmless lines " << score.masked
               << " are masked");
}

void check_bars(const Part& part, const Score& score) {
  CHECK(score.leaks * 100 <= part.secret.size() * 5);
  CHECK(score.masked * 100 <= part.harmless.size());
  // Masking whole lines would be no leak either. 5 of 150 is what the worst file has; a value that holds a public part
  // beside the secret, as a connection string does, is masked as a whole.
  CHECK(score.lost * 100 <= part.secret.size() * 4);
}

}  // namespace

TEST_CASE("secrets in the parts of the corpus by which rules are made are masked") {
  for (const char* const name : {"seen.toml", "more.toml", "fresh.toml"}) {
    const Part part = read_part(name);
    const Score seen = score(part);
    report(name, part, seen);
    std::string failures;
    for (const std::string& failure : seen.failures) failures += "\n  " + failure;
    if (!failures.empty()) MESSAGE(failures);
    check_bars(part, seen);
  }
}

// Only totals: who sees which of these lines fail makes a rule for them, and they measure nothing anymore.
TEST_CASE("secrets in the half of the corpus that is held out are masked") {
  const Part part = read_part("held_out.toml");
  const Score held_out = score(part);
  report("held out", part, held_out);
  check_bars(part, held_out);
}
