// SPDX-License-Identifier: Apache-2.0
#include "rules/plain_toml.hpp"

#include <doctest/doctest.h>

#include "rules/builtin_rules.hpp"

using tracer::internal::builtin_rules;
using tracer::internal::line_of_foreign_character;

TEST_CASE("characters that are not ASCII may stand in a rules file's strings and comments") {
  CHECK_FALSE(line_of_foreign_character(""));
  CHECK_FALSE(line_of_foreign_character("a = 1\n# é\nb = \"é\" # é\nc = 'é'\n"));
  CHECK_FALSE(line_of_foreign_character("a = \"\"\"é\né\"\"\"\nb = '''é\n#'''\n"));
  CHECK_FALSE(line_of_foreign_character("a = \"\\\"é\"\n"));
  CHECK_FALSE(line_of_foreign_character("a = \"\"\"é\"\"\"\"\" # é\n"));
  CHECK_FALSE(
      line_of_foreign_character("\xef\xbb\xbf"
                                "a = 1\n"));
  for (const char* name : {"tools", "secrets", "engines"}) CHECK_FALSE(line_of_foreign_character(builtin_rules(name)));
}

TEST_CASE("elsewhere in a rules file they are found, with their line") {
  CHECK(line_of_foreign_character("é = 1\n") == 1u);
  CHECK(line_of_foreign_character("a = 1\n\n\xef\xbb\xab\xc9\xbf") == 3u);
  CHECK(line_of_foreign_character("a = \"é\"é\n") == 1u);
  CHECK(line_of_foreign_character("a = '''\n''' é\n") == 2u);
  CHECK(line_of_foreign_character("a = \"\"\"x\"\"\"\"\"é\n") == 1u);
  CHECK(line_of_foreign_character("a = 'x\\'é\n") == 1u);
}

TEST_CASE("a line of a rules file that goes on with one is refused: there toml++ looks for blanks") {
  CHECK(line_of_foreign_character("a = \"\"\"x\\\n  é\"\"\"\n") == 2u);
  CHECK(line_of_foreign_character("a = \"\"\"x\\  é\"\"\"\n") == 1u);
  CHECK_FALSE(line_of_foreign_character("a = \"\"\"x\\\n  y é\"\"\"\n"));
}
