// SPDX-License-Identifier: Apache-2.0
#include "rules/engines/engine_rules.hpp"

#include <memory>
#include <sstream>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/error.hpp>

#include "base/context_fields.hpp"
#include "context/engine_trial.hpp"
#include "rules/builtin_rules.hpp"
#include "rules/engines/engine_examples.hpp"
#include "rules/engines/engine_rules.hpp"
#include "rules/tool_rules.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

std::string mistakes_of(std::string_view toml) {
  try {
    EngineRules::parse(toml, "my.toml");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kInvalidRules);
    return error.what();
  }
  FAIL("it was accepted");
  return {};
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("each rule for engines has examples, and they hold") {
  const auto examples = read_engine_examples(builtin_rules("engines"), "rules/engines.toml");
  std::set<std::string> with_examples;
  for (const EngineExample& example : examples) with_examples.insert(example.rule);
  CHECK(with_examples.size() == EngineRules::builtin().rules().size());
  for (const Problem& problem : try_examples(EngineRules::builtin(), examples, "rules/engines.toml"))
    FAIL_CHECK(problem.what);
}

TEST_CASE("all mistakes in a file of rules for engines are reported with their lines") {
  const std::string text = mistakes_of(R"(schema = 1
[[rule]]
name = "a.b"
bogus = 1
exe = ["x"]
own = "mine"
[[rule]]
name = "nodot"
exe = ["x"]
[[rule]]
name = "c.all"
exe = ["*"]
cwd = ["{x:any}"]
begins = "task"
[[rule]]
name = "d.pattern"
argv = [["{a}", "{a}"], "x"]
begins = "job"
gives = { task = "{nothing}", color = "red" }
[[rule]]
name = "e.parent"
exe = ["y"]
parent = ["no.such"]
)");
  CHECK(has(text, "my.toml:4: rule: unknown key \"bogus\""));
  CHECK(has(text, "my.toml:6: \"own\" must be self, tree or work"));
  CHECK(has(text, "my.toml:8: \"name\" must be the engine, a dot, and a word"));
  CHECK(has(text, "\"c.all\" matches every process"));
  CHECK(has(text, "my.toml:17: \"a\" is captured by two words"));
  CHECK(has(text, "my.toml:17: \"argv\" must hold arrays of strings only"));
  CHECK(has(text, "my.toml:18: \"begins\" must be run, task or place"));
  CHECK(has(text, "my.toml:19: \"gives\": there is no field \"color\""));
  CHECK(has(text, "\"d.pattern\": nothing captures \"nothing\""));
  CHECK(has(text, "my.toml:23: \"parent\": there is no rule \"no.such\""));
}

TEST_CASE("an example that does not come as expected is reported, with what came") {
  constexpr std::string_view kText = R"(schema = 1
[[rule]]
name = "a.b"
exe = ["x"]
begins = "task"
gives = { task = "t" }
[[rule.test]]
processes = [{ exe = "/bin/x", argv = ["x"] }]
expect = { task = "u", rule = "a.b" }
)";
  const auto problems =
      try_examples(EngineRules::parse(kText, "my.toml"), read_engine_examples(kText, "my.toml"), "my.toml");
  REQUIRE(problems.size() == 1);
  CHECK(has(problems[0].what, "my.toml:7: a test of \"a.b\": task is \"t\", not \"u\""));
}

TEST_CASE("a rule that another hides, and one whose parent is none, are left out") {
  constexpr std::string_view kText = R"(schema = 1
[[rule]]
name = "a.b"
exe = ["x"]
own = "self"
[[rule]]
name = "a.c"
exe = ["x"]
own = "tree"
[[rule]]
name = "a.d"
exe = ["y"]
parent = ["no.such"]
begins = "task"
)";
  CHECK(has(mistakes_of(kText), "my.toml:6: \"a.c\" never applies: \"a.b\" above it matches the same"));
  std::vector<Problem> skipped;
  const EngineRules rules = EngineRules::parse(kText, "my.toml", &skipped);
  CHECK(skipped.size() == 2);
  Program program;
  program.exe = "/bin/y";
  CHECK(rules.candidates(program).empty());
}

TEST_CASE("two rules of one name contradict each other; a bad rule is named and left out where asked for") {
  constexpr std::string_view kText = R"(schema = 1
[[rule]]
name = "a.b"
exe = ["x"]
own = "self"
[[rule]]
name = "a.b"
exe = ["y"]
own = "self"
[[rule]]
name = "a.c"
exe = 3
[[rule]]
name = "a.d"
exe = ["z"]
own = "tree"
)";
  CHECK(has(mistakes_of(kText), "there are two rules \"a.b\""));
  std::vector<Problem> skipped;
  const EngineRules rules = EngineRules::parse(kText, "my.toml", &skipped);
  REQUIRE(rules.rules().size() == 2);
  CHECK(rules.rules()[0].name == "a.b");
  CHECK(rules.rules()[1].name == "a.d");
  CHECK(skipped.size() >= 2);
  CHECK_THROWS_AS(EngineRules::parse("schema = 1\n[[rule", "x", &skipped), Error);
}
