// SPDX-License-Identifier: Apache-2.0
#include "rules/tool_rules.hpp"
#include "rules/builtin_rules.hpp"
#include "rules/tool_rules_reader.hpp"

#include <cerrno>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/error.hpp>

#include "in_repository.hpp"

using tracer::Error;
using tracer::ErrorCode;
using tracer::internal::in_repository;
using tracer::internal::ToolRules;
using Words = std::vector<std::string>;

namespace {

std::string named(std::string_view exe, const Words& argv, std::string_view comm = {}) {
  return ToolRules::builtin().name(exe, argv, comm);
}

/// The text of the error that parsing throws; fails the test where it throws none.
std::string mistakes_of(std::string_view toml, std::size_t count) {
  try {
    ToolRules::parse(toml, "my.toml");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kInvalidRules);
    CHECK(error.problems().size() == count);
    return error.what();
  }
  FAIL("parsed: " << std::string(toml));
  return {};
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("every built-in tool rule has an example and every example holds") {
  const ToolRules& rules = ToolRules::builtin();
  CHECK(rules.rule_count() >= 70);
  for (const auto& example :
       tracer::internal::read_tool_examples(tracer::internal::builtin_rules("tools"), "rules/tools.toml")) {
    CAPTURE(example.rule);
    CAPTURE(example.exe);
    REQUIRE_FALSE(example.name.empty());
    CHECK(rules.name(example.exe, example.argv, example.comm) == example.name);
  }
}

TEST_CASE("an unknown executable is named by its file name") {
  CHECK(named("/opt/x/mytool", {"whatever", "sort"}) == "mytool");
  CHECK(named("/opt/x/mytool (deleted)", {"whatever"}) == "mytool");
  CHECK(named("/usr/bin/samtools (deleted)", {"samtools", "view"}) == "samtools view");
}

TEST_CASE("a name is never empty") {
  CHECK(named("", {}) == "unknown");
  CHECK(named("", {""}) == "unknown");
  CHECK(named("", {}, "kworker/0:1") == "kworker/0:1");
  CHECK(named("", {"/a/b/tool", "x"}, "c") == "tool");
  CHECK(named("/", {"/"}, "c") == "c");
  CHECK(named("/usr/bin/python3", {"python", "/"}) == "python");
  CHECK(named("/usr/bin/python3", {"python", ""}) == "python");
  CHECK(named("/usr/bin/python3", {"python", "-m"}) == "python");
  CHECK(named("/usr/bin/java", {"java", "-jar"}) == "java");
  CHECK(named("/usr/bin/bash", {}) == "bash");
  CHECK(named("/bin/busybox", {}) == "busybox");
  CHECK(named("/bin/busybox", {""}) == "busybox");
}

TEST_CASE("launchers may launch launchers but not without end") {
  CHECK(named("/bin/busybox", {"busybox", "sh", "-e", "run.sh"}) == "run.sh");
  CHECK(named("/bin/bash", {"bash", "/x/shims/python", "-m", "pip", "install", "x"}) == "pip install");
  Words endless{"busybox"};
  endless.resize(4000, "busybox");
  CHECK(named("/bin/busybox", endless) == "busybox");
}

TEST_CASE("an option that ends the options is respected") {
  CHECK(named("/bin/bash", {"bash", "-e", "--", "-odd.sh"}) == "-odd.sh");
  CHECK(named("/bin/bash", {"bash", "--"}) == "bash");
}

TEST_CASE("a subcommand is not looked for behind a file") {
  CHECK(named("/usr/bin/samtools", {"samtools", "x.bam", "sort"}) == "samtools");
  CHECK(named("/usr/bin/git", {"git", "./x"}) == "git");
  CHECK(named("/usr/bin/git", {"git", "-C"}) == "git");
}

TEST_CASE("a script that is called like a tool is named like the tool with its subcommand") {
  CHECK(named("/usr/bin/python3.11", {"python", "/o/bin/pip3.11", "--retries", "3", "download"}) == "pip download");
  CHECK(named("/usr/bin/python3.11", {"python3", "-m", "toil.wdl.wdltoil"}) == "toil");
}

TEST_CASE("hostile arguments give a bounded name and no exception") {
  const std::string garbage(4096, '\xff');
  for (const char* exe : {"/usr/bin/java", "/usr/bin/python3", "/usr/bin/perl", "/bin/bash", "/bin/busybox",
                          "/usr/bin/git", "/usr/bin/bcftools", "/usr/lib/R/bin/exec/R", "/opt/unknown", ""}) {
    CAPTURE(exe);
    for (const Words& argv : {Words{garbage}, Words{"x", garbage}, Words{"x", "-" + garbage}, Words{"x", "-m", garbage},
                              Words{"x", "-" + std::string(4096, 'u')}, Words{"x", std::string(4096, '/')},
                              Words(2048, "-"), Words(2048, ""), Words(2048, "--x"), Words{"x", "a\0b\n"}}) {
      const std::string name = named(exe, argv, garbage);
      CHECK_FALSE(name.empty());
      CHECK(name.size() <= 255);
    }
  }
}

TEST_CASE("a name that is too long is cut between characters") {
  std::string wide;
  for (int i = 0; i < 200; ++i) wide += "\xc3\xa4";
  CHECK(named("/x/" + wide, {}).size() == 254);
}

TEST_CASE("exact names win over globs and earlier globs over later ones") {
  const auto rules = ToolRules::parse(R"(schema = 1
[[tool]]
name = "glob"
exe = ["a*c", "[x-z]?"]
[[tool]]
name = "later"
exe = ["a*"]
[[tool]]
name = "exact"
exe = ["abc"])",
                                      "t");
  CHECK(rules.name("/abc", {}, {}) == "exact");
  CHECK(rules.name("/abbc", {}, {}) == "glob");
  CHECK(rules.name("/abb", {}, {}) == "later");
  CHECK(rules.name("/y1", {}, {}) == "glob");
  CHECK(rules.name("/w1", {}, {}) == "w1");
}

TEST_CASE("all mistakes of a tool rules file are told at once with their lines") {
  const std::string text = mistakes_of(R"(schema = 2
nmae = "x"
[[tool]]
name = "a"
exe = ["[a"]
[[tool]]
exe = "b"
sub = 1
[[launcher]]
name = "c"
exe = ["c", "c"]
positional = "skript"
test = [ { exe = "/c", argv = ["c"], nam = "c" } ])",
                                       11);
  CHECK(has(text, "my.toml:1: schema 2"));
  CHECK(has(text, "my.toml:2: the file: unknown key \"nmae\""));
  CHECK(has(text, "my.toml:5: \"[a\" has a bracket"));
  CHECK(has(text, "my.toml:6: \"name\" is missing"));
  CHECK(has(text, "my.toml:7: \"exe\" must be an array of strings"));
  CHECK(has(text, "my.toml:8: tool: unknown key \"sub\""));
  CHECK(has(text, "my.toml:11: \"c\" is in another rule's \"exe\" already"));
  CHECK(has(text, "my.toml:12: \"positional\" must be"));
  CHECK(has(text, "my.toml:13: test: unknown key \"nam\""));
}

TEST_CASE("a tool rules file that is no toml or has no schema is refused") {
  CHECK(has(mistakes_of("schema = 1\n[[tool", 1), "my.toml:2: "));
  CHECK(has(mistakes_of("", 1), "my.toml:1: \"schema\""));
  CHECK(has(mistakes_of("schema = \"1\"", 1), "integer"));
  mistakes_of("schema = 1\ntool = 3", 1);
  mistakes_of("schema = 1\ntool = [3]", 1);
  mistakes_of("\xff", 1);
}

TEST_CASE("a rule without an example is told by an example without a name") {
  const auto examples = tracer::internal::read_tool_examples("schema = 1\n[[tool]]\nname = \"a\"\nexe = [\"a\"]", "t");
  REQUIRE(examples.size() == 1);
  CHECK(examples[0].rule == "a");
  CHECK(examples[0].name.empty());
}

TEST_CASE("a status by which a tool answers is told apart from one by which it fails") {
  const ToolRules& rules = ToolRules::builtin();
  for (const char* tool : {"grep", "zgrep", "expr", "diff", "cmp", "[", "test", "pgrep", "which", "rg"}) {
    CAPTURE(tool);
    CHECK(rules.is_answer(tool, 1));
    CHECK_FALSE(rules.is_answer(tool, 0));
    CHECK_FALSE(rules.is_answer(tool, 2));
  }
  CHECK(rules.is_answer("getent", 2));
  CHECK(rules.is_answer(named("/usr/bin/git", {"git", "-C", "x", "diff", "--quiet"}), 1));
  CHECK_FALSE(rules.is_answer("git diff", 128));
  for (const char* tool : {"false", "sed", "bash", "samtools quickcheck", "grep -c", "", "unknown", "git", "git commit",
                           "unknown diff", "git "}) {
    CAPTURE(tool);
    CHECK_FALSE(rules.is_answer(tool, 1));
  }
  // What runs is the script that the shell was given.
  CHECK(rules.is_answer(named("/bin/sh", {"sh", "/usr/bin/zgrep", "x"}), 1));
}

TEST_CASE("answers that no event could find, or that are no statuses, are mistakes") {
  const std::string text = mistakes_of(R"(schema = 1
[[tool]]
name = "a"
exe = ["a"]
answers = [0, 256, "1"]
[[tool]]
name = "b"
exe = ["c"]
answers = [1]
[[tool]]
name = "d"
exe = ["d"]
subcommands = "any"
answers = [1]
[[tool]]
name = "e"
exe = ["e"]
answers = 1
[[launcher]]
name = "f"
exe = ["f"]
positional = "none"
answers = [1])",
                                       7);
  CHECK(has(text, "my.toml:5: \"answers\" must hold integers from 1 to 255"));
  CHECK(has(text, "my.toml:5: \"answers\" must hold integers only"));
  CHECK(has(text, "my.toml:9: \"answers\" need \"as_called\""));
  CHECK(has(text, "my.toml:14: \"answers\" are of a whole tool"));
  CHECK(has(text, "my.toml:18: \"answers\" must be an array of integers"));
  CHECK(has(text, "my.toml:23: launcher: unknown key \"answers\""));
}

TEST_CASE("answers of subcommands that there are none of, or that are no statuses, are mistakes") {
  const std::string text = mistakes_of(R"(schema = 1
[[tool]]
name = "a"
exe = ["a"]
subcommand_answers = { b = [1] }
[[tool]]
name = "c"
exe = ["c"]
subcommands = "any"
subcommand_answers = { d = [0] }
[[tool]]
name = "e"
exe = ["e"]
subcommands = "any"
subcommand_answers = [1])",
                                       3);
  CHECK(has(text, "my.toml:5: \"subcommand_answers\" need \"subcommands\""));
  CHECK(has(text, "my.toml:10: \"d\" must hold integers from 1 to 255"));
  CHECK(has(text, "my.toml:15: \"subcommand_answers\" must be a table"));
}

TEST_CASE("the rules that are built in are known by the names of their files") {
  for (const char* name : {"tools", "secrets", "engines"}) {
    std::ifstream file(in_repository(std::string("rules/") + name + ".toml"));
    std::ostringstream text;
    text << file.rdbuf();
    CHECK(text.str().size() > 1000);
    CHECK(tracer::internal::builtin_rules(name) == text.str());
  }
  CHECK(tracer::internal::builtin_rules("nonsense").empty());
}

TEST_CASE("a tool rules file that can't be read is told with errno") {
  for (const auto& [path, number] : {std::pair{"/nonexistent/x.toml", ENOENT}, std::pair{"/tmp", EISDIR}}) {
    try {
      ToolRules::load(path);
      FAIL("loaded " << path);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kFileUnreadable);
      CHECK(error.error_number() == number);
    }
  }
}
