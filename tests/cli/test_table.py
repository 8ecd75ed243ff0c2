# SPDX-License-Identifier: Apache-2.0
"""The table that tracerd run prints at the end."""

import os
import re
import shutil
import subprocess
import unicodedata

import support
from support import PYTHON, TRACERD


class Table(support.TestCase):
    BUSY = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; sleep 0.2"

    def test_bars_and_words_say_where_time_went(self):
        result = self.tracerd("run", "--", "sh", "-c", "exec sleep 0.3")
        row = next(line for line in result.stderr.splitlines() if line.startswith("sleep  "))
        self.assertRegex(row, r" [█▒]{0,3}░{5,8} sleep \d+ %")
        self.assertIn("█ running on a CPU", result.stderr)
        busy = self.tracerd("run", "--", "sh", "-c", self.BUSY)
        row = next(line for line in busy.stderr.splitlines() if line.startswith("sh -c  "))
        self.assertIn("█", row)

    def test_in_a_plain_locale_all_is_ascii(self):
        for locale in ({"LC_ALL": "C"}, {"LC_ALL": "", "LANG": "C", "LC_CTYPE": ""}):
            result = self.tracerd("run", "--", "sh", "-c", "exec sleep 0.3", "é", env=os.environ | locale)
            self.assertTrue(result.stderr.isascii(), result.stderr)
            row = next(line for line in result.stderr.splitlines() if line.startswith("sleep  "))
            self.assertRegex(row, r" [^ .]{0,3}\.{5,8} sleep \d+ %")
            self.assertIn("# running on a CPU", result.stderr)

    def test_on_a_terminal_no_line_is_wider_than_it(self):
        program = self.path("a-tool-with-a-name-that-is-rather-long")
        shutil.copy(shutil.which("sleep"), program)
        script = f"{program} 0.1; {self.BUSY}; sh -c 'exit 3' {'x' * 200}; true"
        for columns in (140, 120, 80, 60):
            with self.subTest(columns=columns):
                terminal = support.Terminal(self, TRACERD, "run", "--no-live", "--", "sh", "-c", script, columns=columns)
                terminal.read_until(None)
                self.assertEqual(terminal.exit_status(), 0, terminal.text)
                self.assertIn("total ", terminal.text)
                lines = terminal.text.splitlines()
                # What tracing cost is a sentence, and only there when it cost much.
                grid = [line for line in lines if not line.startswith("tracing cost")]
                self.assertEqual([line for line in grid if len(line) > columns], [])
                heads = next(line for line in lines if line.startswith("tool "))
                for head in ("wall", "CPU", "memory", "failed"):
                    self.assertIn(f" {head}", heads)
                # No two tools are cut to one name.
                names = [re.split("  +", line)[0] for line in lines if re.match("sh|a-tool|sleep", line)]
                self.assertEqual(len(names), len(set(names)), terminal.text)
                # How many columns fit in between depends on the widths of the figures.
                if columns in (140, 60):
                    self.assertEqual("written" in heads, columns == 140, heads)
                    self.assertEqual("procs" in heads, columns == 140, heads)
                self.assertIn("failed", heads)

    def test_names_that_begin_alike_keep_their_ends_and_no_column_is_empty(self):
        for end in ("first", "second"):
            shutil.copy("/bin/true", self.path(f"a-tool-with-a-long-name-{end}"))
        script = f"{self.folder}/a-tool-with-a-long-name-first; {self.folder}/a-tool-with-a-long-name-second"
        terminal = support.Terminal(self, TRACERD, "run", "--no-live", "--", "sh", "-c", script, columns=60)
        terminal.read_until(None)
        self.assertRegex(terminal.text, r"\na-tool-\S*….*first +\d")
        self.assertRegex(terminal.text, r"\na-tool-\S*….*second +\d")
        self.assertRegex(terminal.text, r"\ntool +wall +CPU +memory\n")
        polled = self.tracerd("run", "--", "sleep", "0.3", env=os.environ | {"TRACER_SOURCE": "proc"})
        self.assertNotIn("where time went", polled.stderr)

    def test_what_failed_is_red_on_terminals_that_want_it(self):
        words = (TRACERD, "run", "--no-live", "--record", self.path("r"), "--", "sh", "-c", "sh -c 'exit 3'; true")
        terminal = support.Terminal(self, *words, color=True)
        terminal.read_until(None)
        self.assertIn("\n\x1b[1;31m1 failed\x1b[0m:\n", terminal.text)
        self.assertRegex(terminal.text, r"(?m)^sh -c .* \x1b\[1;31m1\x1b\[0m$")
        report = support.Terminal(self, TRACERD, "report", self.path("r"), color=True)
        report.read_until(None)
        self.assertIn("\n\x1b[1;31m1 failed\x1b[0m:\n", report.text)
        plain = support.Terminal(self, TRACERD, "report", self.path("r"))
        plain.read_until(None)
        self.assertNotIn("\x1b", plain.text + self.tracerd("report", self.path("r")).stdout)
        self.assertIn("\n1 failed:\n", plain.text)

    def test_without_samples_it_says_how_to_name_them(self):
        hint = " processes (name samples by --sample of tracerd run or task"
        self.assertIn(hint, self.tracerd("run", "--by", "sample", "--", "true").stderr)
        self.assertNotIn(hint, self.tracerd("run", "--by", "sample", "--sample", "S1", "--", "true").stderr)

    def test_where_rows_do_not_add_up_a_line_says_why(self):
        texts = {by: self.tracerd("run", "--by", by, "--", "sh", "-c", "true; exec /bin/true").stderr for by in ("process", "task", "tool")}
        self.assertIn("\nin no row, as part of no task: 1 of 1 processes (--by tool has them)\n", texts["task"])
        self.assertIn("\nrows add up to 2 processes, not 1: one that executed several programs counts in each\n", texts["tool"])
        self.assertNotRegex(texts["process"], "part of no|add up to")
        many = self.tracerd("run", "--by", "process", "--", "sh", "-c", "for i in $(seq 40); do /bin/true; done").stderr
        self.assertRegex(many, r"\n… \d+ more processes with less CPU each: CPU \d+ .s\n")

    def test_tools_and_tasks_are_told_apart(self):
        script = f"{TRACERD} task --step sort -- sort /etc/passwd > /dev/null; sort /etc/group > /dev/null"
        text = self.tracerd("run", "--", "bash", "-c", script).stderr
        self.assertRegex(text, r"(?m)^  step sort +1 +")
        self.assertRegex(text, r"(?m)^  sort +1 +")

    def assert_is_brief(self, text):
        lines = text.splitlines()
        begin = next(i for i, line in enumerate(lines) if line.startswith("run, step"))
        table = lines[begin:next(i for i, line in enumerate(lines) if line.startswith("total "))]
        self.assertLessEqual(len(table) + 1, 25, text)
        for line in table:
            self.assertNotRegex(line.split("  ")[0], r"\b(?=\w*\d)[0-9a-f]{8,}\b", text)
            self.assertNotRegex(line, r"^ *\S+( itself\))? +0 ", text)

    def test_a_thousand_tasks_of_make_are_a_few_lines(self):
        with open(self.path("Makefile"), "w", encoding="ascii") as file:
            file.write("all: $(addprefix t,$(shell seq 1000))\nt%:\n\t@test $* -ne 7 || sleep 0.5; test $* -ne 9\n")
        result = self.tracerd("run", "--", "make", "-k", "-s", "-j2", "-C", self.folder)
        self.assert_is_brief(result.stderr)
        self.assertRegex(result.stderr, r"(?m)^make +100\d +")
        self.assertRegex(result.stderr, r"(?m)^  task make: test .*7 -ne [79] .*slowest +", result.stderr)
        self.assertRegex(result.stderr, r"(?m)^  task make: test .*9 -ne [79] .*failed +", result.stderr)

    def test_recipes_that_begin_alike_are_called_by_what_tells_them_apart(self):
        with open(self.path("Makefile"), "w", encoding="ascii") as file:
            file.write(".PHONY: all\nall: t1.o t2.o t3.o\n%.o:\n\t@sleep 0.1; head -c 1000 /usr/share/common-licenses/GPL-3 > $@\n")
        result = self.tracerd("run", "--", "make", "-s", "-j3", "-C", self.folder)
        for target in ("t1.o", "t2.o", "t3.o"):
            self.assertRegex(result.stderr, rf"(?m)^  (task )?make: sleep … {target}  ", result.stderr)
        for target in ("t1.o", "t2.o", "t3.o"):
            os.remove(self.path(target))
        # A common head of Makefiles.
        flags = ("SHELL=/bin/bash", ".SHELLFLAGS=-eu -o pipefail -c")
        result = self.tracerd("run", "--", "make", "-s", "-j3", "-C", self.folder, *flags)
        for target in ("t1.o", "t2.o", "t3.o"):
            self.assertRegex(result.stderr, rf"(?m)^  (task )?make: sleep … {target}  ", result.stderr)
            os.remove(self.path(target))
        result = self.tracerd("run", "--by", "task", "--", "make", "-s", "-j3", "-C", self.folder)
        self.assertRegex(result.stderr, r"(?m)^make: sleep … t2\.o  ", result.stderr)

    def test_jobs_of_parallel_are_a_few_lines_and_its_probes_are_no_failures(self):
        if shutil.which("parallel") is None:
            self.skipTest("GNU parallel is missing")
        result = self.tracerd("run", "--", "parallel", "md5sum < /dev/null; true {}", ":::", *map(str, range(200)))
        self.assert_is_brief(result.stderr)
        self.assertRegex(result.stderr, r"(?m)^parallel +200 +")
        self.assertRegex(result.stderr, r"(?m)^  \(parallel itself\) ")
        self.assertNotIn("failed", result.stderr)
        self.assertNotIn("tput", result.stderr)
        # As parallel's own probe, but a job: the shell executes it in its own place.
        result = self.tracerd("run", "--by", "tree", "--", "parallel", "-N0", "hostname", ":::", "1", "2", "3")
        self.assertEqual(len(re.findall(r"(?m)^    (task )?hostname +1 ", result.stderr)), 3, result.stderr)
        self.assertEqual(len(re.findall(r"(?m)^    \(parallel itself\) ", result.stderr)), 0, result.stderr)

    def test_many_tools_are_folded_but_those_that_failed(self):
        for i in range(40):
            shutil.copy(shutil.which("false" if i == 7 else "true"), self.path(f"tool{i:02}"))
        result = self.tracerd("run", "--", "sh", "-c", f"for tool in {self.folder}/tool*; do $tool; done; true")
        self.assertRegex(result.stderr, r"\n… \d+ more tools with less CPU each: \d+ processes, CPU \d+ .s\n")
        rows = [line for line in result.stderr.splitlines() if line.startswith("tool")]
        self.assertLess(len(rows), 25)
        self.assertTrue(any(line.startswith("tool07 ") for line in rows), result.stderr)

    def test_when_all_is_well_one_line_says_so(self):
        result = self.tracerd("run", "--", "sleep", "10")
        self.assertRegex(result.stderr.splitlines()[-1], r"^complete: 1 of 1 ended processes seen, nothing lost; "
                         r"tracing cost: CPU [\d.]+ m?s to start, then \d+ .s \(\d+\.\d % of one\)$")

    def programs(self, *names):
        """The table's lines, of a run of programs with these names."""
        for name in names:
            shutil.copy("/bin/true", self.path(name))
        result = self.tracerd("run", "--by", "tool", "--", "sh", "-c", 'for p in "$@"; do "$p"; done', "sh",
                              *map(self.path, names))
        return result.stderr.split("\ntool ", 1)[1].split("\n\n")[0].split("\n")

    def test_no_program_can_pass_for_the_sum(self):
        lines = self.programs("total", " total ", '"total"', "totals")
        firsts = [re.split(r"  +\d", line)[0].strip() for line in lines[1:]]
        self.assertEqual(firsts.count("total"), 1)
        self.assertEqual(firsts[-1], "total")
        self.assertEqual(sorted(firsts[:-1]), sorted(["sh -c", '"total"', '"total"', '""total""', "totals"]))

    def test_columns_stay_in_line_behind_characters_of_any_width(self):
        lines = self.programs("\u6f22\u5b57", "e\u0301\u0301\u0301", "plain", "\U0001f600" * 30)

        def width(text):
            return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)

        ends = {width(re.match(r".*?  +1(?=  )", line).group()) for line in lines[1:-1]}
        self.assertEqual(len(ends), 1, "\n".join(lines))
        self.assertTrue(any("\u6f22\u5b57" in line for line in lines))


if __name__ == "__main__":
    support.main()
