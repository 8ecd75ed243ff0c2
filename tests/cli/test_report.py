# SPDX-License-Identifier: Apache-2.0
"""Recordings that are looked at again: tracerd report, and those that are kept; tasks that a script names."""

import json
import os
import pathlib
import re
import signal
import subprocess

import support
from support import TRACERD, text_of


def rows_of(text):
    """{first words of a row: its cells}"""
    rows = {}
    for line in text.splitlines():
        cells = re.split(r"  +", line.strip())
        if len(cells) > 3:
            rows.setdefault(cells[0], cells)
    return rows


FRAME = b"TRF2"
"""Each begins with it; the first one, behind 8 bytes, is the header."""


class ReportFile(support.TestCase):
    WORK = ("sh", "-c", "seq 1000 | sort -n > /dev/null; sh -c 'exit 3'; true")

    def report(self, name="r.json"):
        return json.loads(support.text_of(self.path(name)))

    def test_a_run_leaves_the_figures_that_its_recording_gives(self):
        path = self.path("r.json")
        run = self.tracerd("run", "--record", self.path("r.tracer"), "--report", path, "--", *self.WORK)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        again = self.tracerd("report", "--json", self.path("r.tracer"))
        self.assertEqual((again.returncode, again.stderr), (0, ""))
        at_end, read = self.report(), json.loads(again.stdout)
        self.assertEqual((at_end["schema"], at_end["certificate"]["tier"], read["certificate"]["tier"]), (1, "kernel", "recording"))
        self.assertTrue(at_end["certificate"]["complete"])
        for key in ("totals", "runs", "steps", "tasks", "tools", "failures", "pipes"):
            self.assertEqual(at_end[key], read[key], key)
        self.assertEqual({row["name"]: row["processes"] for row in at_end["tools"]}, {"sh -c": 2, "seq": 1, "sort": 1})
        self.assertEqual([one["exit_code"] for one in at_end["failures"]], [3])

    def test_a_page_needs_nothing_else(self):
        path = self.path("r.html")
        run = self.tracerd("run", "--record", self.path("r.tracer"), "--report", path, "--", *self.WORK)
        self.assertEqual(run.returncode, 0, run.stderr)
        read = self.tracerd("report", "--html", self.path("r.tracer"))
        self.assertEqual((read.returncode, read.stderr), (0, ""))
        for page in (support.text_of(path), read.stdout):
            self.assertTrue(page.startswith("<!DOCTYPE html>"), page[:100])
            self.assertFalse(re.search(r"<[^>]* (src|href)=", page.partition("<script>")[0]))
            self.assertFalse(re.search(r"https?://(?!www.w3.org/)", page))
            data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))
            self.assertEqual(data["totals"]["processes"], 4)
            self.assertEqual({row["name"] for row in data["tools"]}, {"sh -c", "seq", "sort"})
            self.assertTrue(data["certificate"]["complete"])
            (held,) = data["held"].values()
            self.assertEqual(sorted(each["name"] for each in held["processes"]), ["seq", "sh -c", "sh -c", "sort"])
            self.assertEqual(sorted(each["exit_code"] for each in held["processes"]), [0, 0, 0, 3])
            whole, *_ = data["over_time"]["series"]
            self.assertEqual(sum(whole["cpu_ns"]), data["totals"]["cpu_ns"])

    def test_an_older_one_is_kept(self):
        path = self.path("r.json")
        self.tracerd("run", "--report", path, "--", "true")
        older = support.text_of(path)
        run = self.tracerd("run", "--report", path, "--", "sh", "-c", "exit 4")
        self.assertIn(f"the older {path} is kept as {path}.1", run.stderr)
        self.assertEqual(support.text_of(path + ".1"), older)
        self.assertEqual(self.report()["failures"][0]["exit_code"], 4)

    def test_one_that_can_not_be_written_is_refused_before_anything_runs(self):
        ran = self.path("ran")
        for name, status, code in ((self.path("r.txt"), 2, "TRC101"), ("/no/such/folder/r.json", 125, "TRC114"),
                                   (self.path("") + ".tracer", 2, "TRC101")):
            with self.subTest(name):
                self.assert_fails(self.tracerd("run", "--report", name, "--", "touch", ran), status, code)
        self.assert_fails(self.tracerd("run", "--report", self.path("x.json"), "--json", self.path("x.json"), "--", "touch", ran),
                          2, "TRC107")
        self.assertFalse(os.path.exists(ran))

    def test_an_interrupted_watch_leaves_one(self):
        path = self.path("r.json")
        sleeper = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        with subprocess.Popen([TRACERD, "watch", "--pid", str(sleeper.pid), "--record", self.path("r.tracer"), "--report", path],
                              stderr=subprocess.PIPE, text=True) as watch:
            support.wait_until(lambda: os.path.exists(self.path("r.tracer")) and os.path.getsize(self.path("r.tracer")) > 0, "traced")
            watch.send_signal(signal.SIGINT)
            watch.communicate(timeout=support.DEADLINE_SECONDS)
        self.assertEqual(watch.returncode, 0)
        self.assertEqual([one["pid"] for one in self.report()["survivors"]], [sleeper.pid])

    def test_the_table_and_the_json_exclude_each_other(self):
        self.assert_fails(self.tracerd("report", "--json", "--by", "tool", "x"), 2, "TRC107")


class Bounds(support.TestCase):
    """What is not whole says so, and is never 0."""

    def recorded(self):
        path = self.path("r.tracer")
        result = self.tracerd("run", "--record", path, "--", "sh", "-c",
                              "for i in $(seq 40); do sort /proc/self/status > /dev/null; sleep 0.12; done; true")
        self.assertEqual(result.returncode, 0, result.stderr)
        return path

    def report_of(self, data):
        path = self.path("damaged.tracer")
        pathlib.Path(path).write_bytes(data)
        text = self.tracerd("report", "--by", "tool", path)
        self.assertEqual(text.returncode, 0, text.stderr)
        return text, json.loads(self.tracerd("report", "--json", path).stdout)

    def assert_bounded(self, made):
        self.assertFalse(made["certificate"]["complete"])
        self.assertFalse(made["certificate"]["rows_are_whole"])
        for row in (made["totals"], *made["tools"]):
            for name in ("cpu_ns", "memory_bytes", "read_bytes", "written_bytes", "failed", "processes", "lives_ns",
                         "wall_ns", "cpu_utilization"):
                self.assertNotIn(name, row)

    def test_a_damaged_recording(self):
        path = self.recorded()
        whole = json.loads(self.tracerd("report", "--json", path).stdout)
        self.assertTrue(whole["certificate"]["rows_are_whole"])
        self.assertFalse(any(whole["certificate"]["damage"].values()))
        data = bytearray(pathlib.Path(path).read_bytes())
        first = data.index(FRAME, 9)
        self.assertLess(first, data.rindex(FRAME))
        data[first + 200:first + 264] = bytes(byte ^ 0xFF for byte in data[first + 200:first + 264])
        text, made = self.report_of(data)
        self.assert_bounded(made)
        self.assertGreater(made["certificate"]["damage"]["skipped_bytes"], 0)
        self.assertLess(made["certificate"]["exits_seen"], made["certificate"]["ended"])
        self.assertLess(made["totals"]["cpu_ns_at_least"], whole["totals"]["cpu_ns"])
        self.assertIn("Sums are lower bounds", text.stdout)
        self.assertIn("bytes are damaged or cut off", text.stderr)

    def test_a_recording_that_was_cut(self):
        data = pathlib.Path(self.recorded()).read_bytes()
        text, made = self.report_of(data[:data.rindex(FRAME)])
        self.assert_bounded(made)
        self.assertNotIn("ended", made["certificate"])
        self.assertTrue(made["certificate"]["damage"]["truncated"])
        self.assertRegex(text.stdout, r"NOT complete: \d+ ended process(es)? seen; how many ended is not known")
        # Nothing but its head.
        text, made = self.report_of(data[:data.index(FRAME, 9)])
        self.assert_bounded(made)
        self.assertNotIn("cpu_ns_at_least", made["totals"])
        self.assertNotRegex(text.stdout, r"(?m)^total .* 0 B")


class Names(support.TestCase):
    """Tasks are named by what they run; rows can be told apart."""

    def reported(self, script):
        path, name = self.path("r.tracer"), self.write("all.sh", script)
        result = self.tracerd("run", "--record", path, "--", "bash", name, cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        return path, result.stderr, json.loads(self.tracerd("report", "--json", path).stdout)

    def test_jobs_of_launchers_and_scripts(self):
        self.write("step2.sh", "sort -n /dev/null; true\n")
        self.write("data", "x\n")
        path, _, made = self.reported(
            "bash step2.sh A\nbash step2.sh B\nprintf 'a b' | xargs -n1 sh -c 'sleep 0.01; echo $0'\n"
            "find . -name data -exec md5sum {} \\;\nprintf 'x x' | xargs -n1 -P1 echo\n")
        names = [row["name"] for row in made["tasks"]]
        self.assertEqual(len(set(names)), len(names), names)
        self.assertLessEqual({"step2.sh A", "step2.sh B", "xargs: sleep 0.01; echo $0 a", "xargs: sleep 0.01; echo $0 b",
                              "find: md5sum ./data"}, set(names))
        # Those are the same; only their processes are not.
        self.assertEqual(len([name for name in names if re.fullmatch(r"xargs: echo x \(pid \d+\)", name)]), 2, names)
        ids = {row["task_id"] for row in made["tasks"]}
        for by in ("task", "tree"):
            text = self.tracerd("report", "--by", by, path).stdout
            self.assertFalse([one for one in ids if one in text])
        trace = self.tracerd("export", "--trace", "-", path).stdout.splitlines()
        self.assertEqual({line.split("\t")[1] for line in trace[1:]}, {"-"})
        folder = self.path("benchmarks")
        self.assertEqual(self.tracerd("export", "--benchmark", folder, path).returncode, 0)
        self.assertIn("step2.sh_A.tsv", os.listdir(folder))

    def test_what_is_executed_again_by_launchers_is_one_process(self):
        os.chmod(self.write("x.py", "#!/usr/bin/env python3\n"), 0o755)
        _, _, made = self.reported("./x.py\nnice ionice env nohup setsid -w python3 x.py\n./x.py; true\n")
        rows = {row["name"]: row["processes"] for row in made["tools"]}
        self.assertEqual(rows["x.py"], 4 if made["totals"]["processes"] == 5 else 3, rows)

    def test_the_own_work_of_launchers_and_of_tracerd(self):
        path = self.path("r.tracer")
        result = self.tracerd("run", "--by", "tool", "--record", path, "--", "bash", "-c", "echo a b | xargs -n1 echo; true")
        self.assertIn("(xargs itself)", rows_of(result.stderr))
        _, text, _ = self.reported(f"{TRACERD} task --sample S1 -- true\n")
        self.assertNotIn("own work took", text)


class Report(support.TestCase):
    LOOP = ('for s in S1 S2; do "$0" task --sample $s --step align -- sh -c "exit 3"; '
            '"$0" task --name "sum of $s" --sample=$s -- cat /dev/null; done; true')

    def test_the_table_comes_back(self):
        path = self.path("r.tracer")
        run = self.tracerd("run", "--record", path, "--", "sh", "-c", "true | cat; sh -c 'exit 3'; true")
        again = self.tracerd("report", path)
        self.assertEqual((again.returncode, again.stderr), (0, ""))
        for name in ("cat", "sh -c"):
            self.assertEqual(rows_of(again.stdout)[name][:4], rows_of(run.stderr)[name][:4])
        self.assertIn("1 failed:", again.stdout)
        self.assertTrue(again.stdout.startswith("r.tracer on ") or again.stdout.startswith(f"{path} on "), again.stdout)
        with open(path, "rb") as file:
            piped = self.tracerd("report", "-", stdin=file)
        self.assertEqual(piped.stdout.split("\n", 1)[1], again.stdout.split("\n", 1)[1])

    def test_several_are_added_up(self):
        paths = [self.path("a"), self.path("b")]
        for path in paths:
            self.tracerd("run", "--record", path, "--", "sh", "-c", "cat /dev/null; sh -c 'exit 3'; true")
        one = rows_of(self.tracerd("report", paths[0]).stdout)
        both = self.tracerd("report", *paths)
        rows = rows_of(both.stdout)
        self.assertEqual((both.returncode, both.stderr), (0, ""))
        for name in ("cat", "sh -c", "total"):
            self.assertEqual(int(rows[name][1]), 2 * int(one[name][1]), name)
        self.assertIn("2 failed:", both.stdout)
        host = os.uname().nodename
        self.assertEqual(both.stdout.splitlines()[0].count(f" on {host}"), 2)
        self.assertIn("complete: 6 of 6", both.stdout)

    def test_wrong_ones_are_refused(self):
        self.assert_fails(self.tracerd("report", env=os.environ | {"TRACER_SOCKET": self.path("no.sock")}), 1, "TRC140")
        self.assert_fails(self.tracerd("report", "/dev/null"), 1, "TRC111")
        self.assert_fails(self.tracerd("report", self.path("none")), 1, "TRC110")
        self.assert_fails(self.tracerd("report", "--by", "color", "x"), 2, "TRC101")

    def test_processes_can_be_told_apart(self):
        path = self.path("r")
        run = self.tracerd("run", "--by", "process", "--record", path, "--", "sh", "-c",
                           "cat /dev/null; cat /proc/self/comm >/dev/null; true")
        pids = {event["argv"][-1]: event["pid"] for event in support.of_kind(self.dump(path), "process_exit")
                if event["tool"] == "cat"}
        for text in (run.stderr, self.tracerd("report", "--by", "process", path).stdout):
            for file in ("/dev/null", "/proc/self/comm"):
                self.assertRegex(text, rf"(?m)^cat {pids[file]} {file} ")

    def test_a_script_names_its_tasks(self):
        path = self.path("r")
        result = self.tracerd("run", "--by", "sample", "--record", path, "--", "sh", "-c", self.LOOP, TRACERD)
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = rows_of(result.stderr)
        self.assertEqual({name for name in rows if name.startswith("S")}, {"S1", "S2"})
        finished = [(event["context"]["step"], event["context"]["sample"], event["context"]["task"], event["exit_code"])
                    for event in support.of_kind(self.dump(path), "task_finish")]
        self.assertEqual(finished, [("align", "S1", "align (S1)", 3), (None, "S1", "sum of S1", 0),
                                    ("align", "S2", "align (S2)", 3), (None, "S2", "sum of S2", 0)])
        tools = {(event["context"]["sample"], event["tool"]) for event in support.of_kind(self.dump(path), "process_exit")
                 if event["context"] and event["context"]["sample"]}
        self.assertEqual(tools, {("S1", "sh -c"), ("S1", "cat"), ("S2", "sh -c"), ("S2", "cat")})
        self.assertIn("align (S1)", self.tracerd("report", path).stdout)
        # What was given in a form that no rule knows is executed again.
        self.assertEqual([row for row in rows_of(self.tracerd("report", "--by", "tool", path).stdout) if "tracerd" in row],
                         ["(tracerd itself)", "tracerd"])
        self.assertIn("align (S1)", self.tracerd("report", "--by", "task", path).stdout)

    def test_a_task_needs_no_rights_and_no_session(self):
        as_nobody = ["setpriv", "--reuid", str(support.NOBODY), "--clear-groups", "--no-new-privs", "--inh-caps=-all"]
        done = subprocess.run([*as_nobody, TRACERD, "task", "--sample", "S1", "--", "sh", "-c", "echo $0 $1; exit 5", "a", "-b"],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (5, "a -b\n", ""))
        self.assert_fails(self.tracerd("task", "--sample", "S1", "--", "no-such-program"), 127, "TRC120")
        self.assert_fails(self.tracerd("task", "--sample", "S1", "--", "/etc/passwd"), 126, "TRC121")
        self.assert_fails(self.tracerd("task", "--sample", "S1"), 2, "TRC101")
        self.assert_fails(self.tracerd("task", "--", "true"), 2, "TRC101")

    def test_an_older_recording_is_kept(self):
        path = self.path("r")
        for number, word in enumerate(("one", "two", "three")):
            result = self.tracerd("run", "--record", path, "--", "sh", "-c", "exit 0", word)
            self.assertEqual(result.stderr.count("is kept as"), 0 if number == 0 else 1, result.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["r", "r.1", "r.2"])
        for name, word in (("r", "three"), ("r.1", "two"), ("r.2", "one")):
            self.assertIn(f'"{word}"', self.tracerd("dump", self.path(name)).stdout)
        self.assertNotIn("moved or replaced", result.stderr)

    def test_one_that_was_rotated_is_kept_as_far_as_there_is_room(self):
        path = self.path("r")
        for word in ("one", "two", "three"):
            result = self.tracerd("run", "--record", path, "--max-size", "1MiB", "--rotate", "1", "--", "sh", "-c", "exit 0", word)
        self.assertEqual(sorted(os.listdir(self.folder)), ["r", "r.1"])
        self.assertIn('"two"', self.tracerd("dump", self.path("r.1")).stdout)
        self.assertIn("the oldest 1 file was removed", result.stderr)

    def test_what_a_link_leads_to_is_replaced_as_before(self):
        path, link = self.path("r"), self.path("link")
        os.symlink(path, link)
        for word in ("one", "two"):
            self.assertNotIn("is kept as", self.tracerd("run", "--record", link, "--", "sh", "-c", "exit 0", word).stderr)
        self.assertEqual((sorted(os.listdir(self.folder)), os.readlink(link)), (["link", "r"], path))
        self.assertIn('"two"', self.tracerd("dump", path).stdout)

    def test_a_run_that_can_not_begin_keeps_it_where_it_is(self):
        path = self.path("r")
        self.tracerd("run", "--record", path, "--", "true")
        before = text_of(path)
        self.assertNotEqual(self.tracerd("run", "--record", path, "--engine-rules", "/dev/null/x", "--", "true").returncode, 0)
        self.assertEqual((os.listdir(self.folder), text_of(path)), (["r"], before))

    def test_an_option_is_no_value(self):
        for words in (["--record", "--", "true"], ["--record", "--json", "x", "--", "true"], ["--by", "--no-live", "true"]):
            result = self.tracerd("run", *words, cwd=self.folder)
            self.assert_fails(result, 2, "TRC101")
            self.assertIn("needs a value, not " + words[1], result.stderr)
        self.assert_fails(self.tracerd("export", "--trace", "--benchmark", "x", cwd=self.folder), 2, "TRC101")
        self.assertEqual(os.listdir(self.folder), [])
        self.assertEqual(self.tracerd("run", "--record=--", "--", "true", cwd=self.folder).returncode, 0)
        self.assertEqual(os.listdir(self.folder), ["--"])
        self.assertEqual(self.tracerd("run", "--json", "-", "true").returncode, 0)

    def test_narrow_terminals(self):
        for columns in (80, 50):
            terminal = support.Terminal(self, TRACERD, "run", "--no-live", "--", "sh", "-c",
                                        "seq 300000 | sort | md5sum; sh -c 'exit 3'; true", columns=columns)
            terminal.read_until(None)
            lines = terminal.text.splitlines()
            self.assertEqual([line for line in lines if len(line) > columns], [])
            self.assertIn("not shown: ", terminal.text)

    def test_the_title_is_short(self):
        result = self.tracerd("run", "--sample", "S1", "--", "sh", "-c", "true", "x" * 200)
        title = next(line for line in result.stderr.splitlines() if line)
        self.assertLessEqual(len(title), 70, title)
        self.assertTrue(title.startswith("S1: sh -c true"), title)


if __name__ == "__main__":
    support.main()
