# SPDX-License-Identifier: Apache-2.0
"""What the documentation's pages are made of, and how its snippets are judged."""
import sys
import unittest

import support

sys.path[:0] = [str(support.ROOT / "scripts/site"), str(support.ROOT / "tests/docs")]

import declarations
import reference
import snippets


class Declarations(support.TestCase):
    def items(self, text, name="a.hpp"):
        return declarations.read_header(self.file(name, "// SPDX-License-Identifier: Apache-2.0\n" + text))

    def test_a_header_says_what_it_is_and_what_it_has(self):
        head, items = self.items("/// All about it.\n#pragma once\n#include <x>\nnamespace tracer {\nnamespace internal { struct No {}; }\n"
                                 "class Later;\n/// What it is.\nclass TRACER_EXPORT Thing : public Base {\n public:\n"
                                 "  /// Does it.\n  int go(int a = 1) const noexcept { return a; }\n  Thing(const Thing&) = delete;\n"
                                 " private:\n  /// Not said.\n  int hidden_;\n};\n}  // namespace tracer\n")
        self.assertEqual(head, "All about it.")
        thing, = items
        self.assertEqual((thing.kind, thing.name, thing.doc), ("struct", "Thing", "What it is."))
        self.assertEqual([(each.name, each.doc, each.code) for each in thing.items],
                         [("go", "Does it.", "int go(int a = 1) const noexcept;")])

    def test_comments_stand_before_and_behind(self):
        _, items = self.items("struct S {\n  int a = 0;  ///< First,\n              ///< still.\n  /// Second.\n  std::optional<int> b_ns;\n"
                              "  std::function<void(int)> c = {};  ///< Third.\n};\n")
        self.assertEqual([(each.name, each.kind, each.doc) for each in items[0].items],
                         [("a", "member", "First,\nstill."), ("b_ns", "member", "Second."), ("c", "member", "Third.")])

    def test_enumerators(self):
        _, items = self.items("/// Kinds.\nenum class Kind : int {\n  kA = 1,  ///< One.\n  /// Two.\n  kB,\n};\n")
        self.assertEqual([(each.name, each.code, each.doc) for each in items[0].items], [("kA", "1", "One."), ("kB", "", "Two.")])

    def test_c(self):
        head, items = self.items("/* A page. */\n#ifndef X\n#define X\nextern \"C\" {\n/* A thing. */\ntypedef struct thing {\n  size_t size;\n"
                                 "  uint64_t cpu_ns; /* On a CPU. */\n  void (*done)(void *data, int result);\n} thing;\n\n/* About all that follows. */\n\n"
                                 "/* @since 0.1. Makes\n * one. */\nTRACER_API int thing_new(const char *name,\n  thing **out);\n}\n#endif\n", "a.h")
        self.assertEqual([(each.kind, each.name, each.doc) for each in items],
                         [("struct", "thing", "A thing."), ("function", "thing_new", "@since 0.1. Makes\none.")])
        self.assertEqual([(each.name, each.doc) for each in items[0].items], [("size", ""), ("cpu_ns", "On a CPU."), ("done", "")])

    def test_a_table_of_members_has_units_and_what_can_be_null(self):
        _, items = self.items("struct Account {\n  std::optional<std::uint64_t> cpu_ns;  ///< Exact.\n  std::uint64_t count = 0;\n};\n")
        text = reference.members(items[0], {"cpu_ns": "`task->se`"})
        self.assertIn("| `cpu_ns` | `std::optional<std::uint64_t>` |  | ns | can be | Exact. | `task->se` |", text)
        self.assertIn("| `count` | `std::uint64_t` | `0` |", text)

    def test_every_public_header_is_read_whole(self):
        for header in sorted((support.ROOT / "include/tracer").glob("*.hpp")):
            _, items = declarations.read_header(header)
            for item in items:
                self.assertTrue(item.name, f"{header.name}: {item.code[:200]}")
                self.assertNotIn("\n\n", declarations.COMMENT.sub("", item.code) if item.kind == "function" else "", header.name)


class Snippets(unittest.TestCase):
    def test_blocks_and_marks(self):
        text = "a\n```cpp\nint x;\n```\n<!-- file: b.c -->\n```c\nint y;\n```\n<!-- not run: slow -->\n```bash\nsleep 9\n```\n```text\nt\n```\n"
        found = [(each.language, each.line, each.runs, each.file) for each in snippets.blocks_of(text)]
        self.assertEqual(found, [("cpp", 2, True, None), ("c", 5, True, "b.c"), ("bash", 9, False, None), ("text", 13, False, None)])

    def test_a_console_has_commands_and_what_they_print(self):
        block = snippets.Block("console", "$ a\n1\n2\n$ b\n", 1, "")
        self.assertEqual(block.commands(), [("a", "1\n2\n"), ("b", "")])

    def test_numbers_units_and_bars_may_differ(self):
        shown = "sort  2  1.5 s  9 %  █░░ pipe 88 %, CPU 11 %  ≥ 8.0 MiB\n"
        self.assertIsNone(snippets.difference(shown, "sort   12   900 ms  10 %  ██▒░ CPU 20 %  1 KiB\n"))
        self.assertIsNone(snippets.difference(shown, "sort   12   900 ms  10 %  ██▒░ other 20 %, CPU 1 %  ≥ 1 KiB\n"))
        self.assertEqual(snippets.difference(shown, "gzip  2  1.5 s  9 %  █░░ pipe 88 %  8.0 MiB\n"), shown.rstrip("\n"))

    def test_each_shown_line_must_come_and_no_other_but_where_it_says_so(self):
        self.assertIsNone(snippets.difference("b 1\na 1\n", "a 2\n\nb 3\n"))
        self.assertIn("there is also: c", snippets.difference("a 1\n", "a 2\nc\n"))
        self.assertIsNone(snippets.difference("a 1\n…\n", "a 2\nc\n"))
        self.assertEqual(snippets.difference("a 1\na 1\n", "a 2\n"), "a 1")
        self.assertIsNone(snippets.difference('{"id":"…\n', '{"id":"12"}\n'))

    def test_the_last_value_of_a_cell_is_shown(self):
        code = "class Shown:\n  def _repr_html_(self):\n    raise SystemExit(3)\nShown()\n"
        with self.assertRaises(SystemExit):
            exec(snippets.script_of([code, "1 + 1"]), {})

    def test_what_a_page_would_fetch(self):
        fine = '<a href="https://x">x</a><script>var a = "//x"</script><img src="data:image/png;base64,AA"><link href="own.css">'
        self.assertEqual(snippets.requests_of(fine), [])
        for bad in ('<script src="https://x/y.js"></script>', "<link rel=stylesheet href='//x/y.css'>", "<style>@import 'https://x/y'</style>",
                    "<p style='background: url(https://x/y.png)'>"):
            self.assertTrue(snippets.requests_of(bad), bad)


if __name__ == "__main__":
    unittest.main()
