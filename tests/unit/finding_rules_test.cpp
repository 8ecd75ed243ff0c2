// SPDX-License-Identifier: Apache-2.0
/// rules/findings.toml: it is read, its examples hold, and docs/findings.md knows the same codes.
#include "rules/finding_rules.hpp"

#include <fstream>
#include <regex>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include <tracer/error.hpp>

using namespace tracer;
using namespace tracer::internal;

TEST_CASE("the examples of rules/findings.toml hold") {
  const FindingRules& rules = FindingRules::builtin();
  CHECK(rules.examples().size() > 20);
  for (const FindingExample& each : rules.examples()) {
    CAPTURE(each.code);
    CAPTURE(each.tool);
    CHECK(rules.is_normal(each.code, each.tool) == each.normal);
  }
  CHECK(rules.trying_examples().size() > 10);
  for (const TryingExample& each : rules.trying_examples()) {
    CAPTURE(each.name);
    CHECK(rules.tries(each.name) == each.tries);
  }
}

TEST_CASE("docs/findings.md lists each code that has a rule, and no other") {
  std::ifstream file("docs/findings.md");
  REQUIRE(file);
  std::set<std::string> documented;
  const std::regex row("^\\| `([a-z_]+)` \\|.*");
  std::smatch match;
  for (std::string line; std::getline(file, line);)
    if (std::regex_match(line, match, row)) documented.insert(match[1]);
  std::set<std::string> known;
  for (const FindingRule& rule : FindingRules::builtin().rules()) known.insert(rule.code);
  CHECK(documented == known);
}

TEST_CASE("mistakes are reported with their lines, all at once") {
  constexpr std::string_view kWrong = R"(schema = 1
[[finding]]
code = "slow"
severity = "bad"
text = "it is slow"
limits = { least_ns = -1 }
[[finding]]
code = "slow"
severity = "note"
text = "again"
[[normal]]
codes = ["fast"]
tools = ["x"]
why = "no such code"
test = { normal = ["x"], wrong = ["y"] }
)";
  std::string message;
  try {
    FindingRules::parse(kWrong, "my.toml");
  } catch (const Error& error) {
    message = error.what();
  }
  CAPTURE(message);
  CHECK(message.find("my.toml") != std::string::npos);
  for (const char* part : {"severity of \"slow\"", "must be 0 or more", "is there twice", "the code \"fast\""})
    CHECK(message.find(part) != std::string::npos);
  for (const char* line : {"2", "6", "7", "11"}) CHECK(message.find(line) != std::string::npos);
}

TEST_CASE("limits have names with units, and what is unknown is 0") {
  const FindingRules& rules = FindingRules::builtin();
  CHECK(rules.limit("disk_wait", "least_wall_ns") == 10'000'000'000);
  CHECK(rules.limit("disk_wait", "no_such") == 0);
  CHECK(rules.limit("no_such", "least_wall_ns") == 0);
}
