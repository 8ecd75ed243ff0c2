# SPDX-License-Identifier: Apache-2.0
"""`tracerd log` against programs whose starts, ends and files are known."""

import json
import os
import re
import signal
import subprocess
import time

import support
from support import DEADLINE_SECONDS, TRACERD, Terminal, of_kind, parse_lines, text_of, wait_until
from test_own_past import PastCase
from test_serve import ALICE, BOB, become

LINE = re.compile(r"(?P<time>[A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d\.\d{3})  (?P<name>.*?) +(?P<verb>started|ended|queued|finding|lost) +"
                  r"(?P<what>.*)")
TASK = f'task() {{ local name=$1; shift; {TRACERD} task --sample "$name" -- "$@"; }}\n'


def lines_of(text):
    """(name, verb, what) of each line."""
    found = []
    for line in text.splitlines():
        match = LINE.fullmatch(line)
        if match is None:
            raise AssertionError(f"no line of a log: {line!r}")
        found.append((match["name"], match["verb"], match["what"]))
    return found


class Logged(support.TestCase):
    def record(self, script, status=0):
        """Its recording."""
        recording = self.path("r.tracer")
        self.write("p.sh", TASK + script)
        run = self.tracerd("run", "--no-history", "--no-live", "--record", recording, "--", "bash", self.path("p.sh"),
                           cwd=self.folder)
        self.assertEqual(run.returncode, status, run.stderr)
        return recording

    def log(self, *words):
        result = self.tracerd("log", *words)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        return result.stdout


class SeveralRecordings(Logged):
    """Two sessions, as of two hosts."""

    def setUp(self):
        super().setUp()
        self.recordings = []
        for name in ("first", "second"):
            recording = self.record(f"task {name} sh -c 'sleep 0.1; exit 0'\n")
            os.rename(recording, self.path(f"{name}.tracer"))
            self.recordings.append(self.path(f"{name}.tracer"))

    def test_lines_are_in_the_order_of_time_and_name_their_host(self):
        host = os.uname().nodename
        lines = self.log(*reversed(self.recordings)).splitlines()
        self.assertTrue(all(line.startswith(f"{host}  ") for line in lines), lines)
        of_recording = lines_of("\n".join(line.removeprefix(f"{host}  ") for line in lines))
        self.assertEqual([what for name, verb, what in of_recording if verb == "started" and what == "task"], ["task", "task"])
        samples = [name for name, verb, what in of_recording if verb == "started" and what == "task"]
        self.assertEqual(samples, ["first", "second"])

    def test_a_task_of_one_of_them(self):
        lines = self.log(*self.recordings, "second")
        self.assertIn("second", lines)
        self.assertNotIn("first", lines)

    def test_why_answers_from_the_one_that_has_it(self):
        why = self.tracerd("why", *self.recordings, "second")
        self.assertEqual(why.returncode, 0, why.stderr)
        self.assertRegex(why.stdout, f"^on {os.uname().nodename}:\ntask second")
        unknown = self.tracerd("why", *self.recordings, "third")
        self.assertNotEqual(unknown.returncode, 0)
        self.assertIn("has no task, run, process or tool 'third'", unknown.stderr)
        self.assertRegex(unknown.stderr, "first[^$]*second")

    def test_several_are_not_followed(self):
        refused = self.tracerd("log", "-f", *self.recordings)
        self.assertIn("-f follows one recording", refused.stderr)


class Truth(Logged):
    SCRIPT = """
        task fails sh -c 'exit 3'
        task killed sh -c 'kill -9 $$'
        task writes dd if=/dev/zero of=out.bin bs=1000 count=123 status=none
        task sleeps sleep 1.2
        exit 0
    """

    def test_lines_and_their_order(self):
        before = time.time()
        recording = self.record(self.SCRIPT)
        after = time.time()
        text = self.log(recording)
        lines = lines_of(text)
        self.assertEqual(lines[0], ("p.sh", "started", "run p.sh"))
        for name, ends in (("fails", r"sh -c \(pid \d+\): exit 3, took [\d.]+ .?s, [\d.]+ .?s CPU, [\d.]+ .iB"),
                           ("killed", r"sh -c \(pid \d+\): SIGKILL, took .* CPU, .*iB"),
                           ("writes", r"dd \(pid \d+\): exit 0, took .* CPU, .*iB.*, wrote out\.bin 120\.1 KiB"),
                           ("sleeps", r"sleep \(pid \d+\): exit 0, took 1\.[2-9] s, .*")):
            own = [(verb, what) for whose, verb, what in lines if whose == name]
            self.assertEqual(own[0], ("started", "task"), own)
            ended = [what for verb, what in own if verb == "ended"]
            self.assertRegex(ended[0], f"^{ends}$")
            self.assertRegex(ended[1], r"^task: (exit [03]|SIGKILL), took .* 1 process(, 1 failed)?$")
        # In the order of the script.
        finished = [name for name, verb, what in lines if verb == "ended" and what.startswith("task:")]
        self.assertEqual(finished, ["fails", "killed", "writes", "sleeps"])
        # What lived for less than a second has no start of its own.
        starts = [what for _, verb, what in lines if verb == "started" and "(pid" in what]
        self.assertEqual([what.split(" (pid")[0] for what in starts], [f"bash {self.path('p.sh')}", "sleep 1.2"])
        findings = [what for name, verb, what in lines if verb == "finding" and name == "fails"]
        self.assertIn("task fails failed: sh -c", findings[0])
        self.assertRegex(lines[-1][2] if lines[-1][1] == "ended" else "", r"^$|run p\.sh: exit 0")
        # By the recording's clock, in local time.
        times = [line[:19] for line in text.splitlines()]
        self.assertEqual(times, sorted(times))
        year = time.localtime(before).tm_year
        first, last = (time.mktime(time.strptime(f"{year} {line[:15]}", "%Y %b %d %H:%M:%S")) for line in (times[0], times[-1]))
        self.assertLessEqual(int(before), first)
        self.assertLessEqual(last, after)

    def test_json_has_all_and_agrees(self):
        recording = self.record(self.SCRIPT)
        events = parse_lines(self.log("--json", recording))
        self.assertEqual(events[0]["kind"], "host")
        dumped = [event for event in self.dump(recording) if event["kind"] in {each["kind"] for each in events}]
        self.assertEqual(events, dumped)
        kinds = {event["kind"] for event in events}
        self.assertTrue({"process_start", "process_exec", "process_exit", "file_use", "run_start", "run_finish", "task_start",
                         "task_finish", "finding", "session_end"} <= kinds, kinds)
        self.assertFalse(kinds & {"process_sample", "snapshot_end", "cgroup_sample", "device_sample"}, kinds)
        exits = {event["pid"]: event for event in of_kind(events, "process_exit")}
        told = 0
        for _, verb, what in lines_of(self.log(recording)):
            match = re.match(r"\S.* \(pid (\d+)\): (?:exit (\d+)|(SIG[A-Z]+))", what)
            if verb != "ended" or match is None:
                continue
            exit_event = exits[int(match[1])]
            if match[2]:
                self.assertEqual(exit_event["exit_code"], int(match[2]))
            else:
                self.assertEqual(signal.Signals(exit_event["exit_signal"]).name, match[3])
            told += 1
        self.assertGreaterEqual(told, 5)

    def test_what_is_about_one_task(self):
        recording = self.record(self.SCRIPT)
        lines = lines_of(self.log(recording, "fails"))
        self.assertEqual({name for name, _, _ in lines}, {"fails"})
        key = next(event["context"]["task_key"] for event in of_kind(self.dump(recording), "task_finish")
                   if event["context"]["sample"] == "fails")
        self.assertEqual(self.log(recording, key), self.log(recording, "fails"))
        events = parse_lines(self.log("--json", recording, "fails"))
        self.assertEqual({event["context"]["sample"] for event in events if event.get("context")}, {"fails"})
        # A part of a word is none.
        result = self.tracerd("log", recording, "fail")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout, "")
        self.assertIn("no task or run 'fail'", result.stderr)
        for name in ("fails", "killed", "writes", "sleeps"):
            self.assertIn(f"\n  {name}\n", result.stderr)

    def test_a_flood_of_short_processes_is_few_lines(self):
        recording = self.record("for i in $(seq 300); do /bin/true; done; for i in 1 2 3; do /bin/false; done; exit 0")
        text = self.log(recording)
        counts = [int(match[1] or 1) for match in re.finditer(r"ended +(?:(\d+) x )?true", text)]
        self.assertEqual(sum(counts), 300, text)
        self.assertLess(len(counts), 30, text)
        self.assertEqual(len(of_kind(parse_lines(self.log("--json", recording)), "process_exit")), 300 + 3 + 2)

    def test_attempts_are_told(self):
        recordings = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data/recordings")
        text = self.log(os.path.join(recordings, "retries.tracer"))
        self.assertRegex(text, r"flaky \(S1\) \(attempt 2\) +started  attempt 2 of flaky \(S1\)")
        self.assertRegex(text, r"ended    attempt 3 of flaky \(S1\): exit 0")
        text = self.log(os.path.join(recordings, "nextflow-podman.tracer"))
        self.assertRegex(text, r"started  container \w+ .*podman")


class Hostile(Logged):
    def test_names_can_not_steer_a_terminal(self):
        script = f"touch $'evil\\n\\e[31mred.txt'; task $'S1\\n\\e]0;title\\a' sh -c 'exit 4' $'{'y' * 10000}' $'\\e[2J\\nnext'; exit 0"
        recording = self.record(script)
        text = self.tracerd("log", recording)
        self.assertEqual(text.returncode, 0, text.stderr)
        self.assertFalse(re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text.stdout), text.stdout)
        lines = lines_of(text.stdout)
        self.assertTrue(any("touch" in what and "red.txt" in what for _, _, what in lines), text.stdout)
        self.assertTrue(any(whose.startswith("S1") and "exit 4" in what for whose, _, what in lines), text.stdout)
        for line in self.tracerd("log", "--json", recording).stdout.splitlines():
            json.loads(line)

    def test_a_long_command_is_whole_but_on_a_terminal(self):
        recording = self.record(f"sh -c 'sleep 1.2; :' sh {'w' * 2500}; exit 0")
        self.assertIn("w" * 2500, self.log(recording))
        terminal = Terminal(self, TRACERD, "log", recording, columns=90)
        terminal.read_until(None)
        self.assertEqual(terminal.exit_status(), 0)
        lines = [line for line in terminal.text.replace("\r", "").split("\n") if line]
        self.assertTrue(any("started  sh -c" in line and line.endswith("…") for line in lines), lines)
        self.assertLessEqual(max(len(line) for line in lines), 90)


class Files(Logged):
    def test_what_is_no_recording(self):
        result = self.tracerd("log", self.path("missing.tracer"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("can't open", result.stderr)
        environment = os.environ | {"TRACER_SOCKET": self.path("no.sock")}
        for words in (("r42",), ("r42", "S1"), ("p.sh",)):
            result = self.tracerd("log", *words, env=environment, cwd=self.folder)
            self.assertEqual(result.returncode, 1, words)
            self.assertIn(f"there is no recording '{words[0]}', and a run can't be looked for: no service listens", result.stderr)
        for words in ((), ("-f",), ("-f", "S1")):
            result = self.tracerd("log", *words, env=environment)
            self.assertEqual(result.returncode, 1, words)
            self.assertIn("no service listens", result.stderr)
        result = self.tracerd("log", "-f", "r42", "S1", env=environment)
        self.assertEqual(result.returncode, 1)
        self.assertIn("not a past run", result.stderr)

    def test_a_file_that_is_being_written_is_followed_to_its_end(self):
        recording = self.path("r.tracer")
        os.mkfifo(self.path("gate"))
        run = self.start(TRACERD, "run", "--no-history", "--no-live", "--record", recording, "--", "bash", "-c",
                         "sleep 0.1; cat gate; /bin/false; exit 0", cwd=self.folder, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: os.path.exists(recording) and os.path.getsize(recording), "the recording has begun")
        with open(self.path("followed"), "w", encoding="utf-8") as out:
            follower = self.start(TRACERD, "log", "-f", recording, stdout=out, stderr=subprocess.DEVNULL)
        wait_until(lambda: "ended    sleep" in text_of(self.path("followed")), "what is known is told while it runs")
        self.assertNotIn("false", text_of(self.path("followed")).replace("/bin/false; exit", ""))
        with open(self.path("gate"), "w", encoding="utf-8"):
            pass
        self.assertEqual(run.wait(DEADLINE_SECONDS), 0)
        self.assertEqual(follower.wait(DEADLINE_SECONDS), 0)
        self.assertRegex(text_of(self.path("followed")), r"ended    (bash -c|false) \(pid \d+\): exit 1")
        self.assertIn("ended    cat", text_of(self.path("followed")))


class OfTheService(PastCase):
    def test_the_latest_run_and_one_by_its_name(self):
        self.serve_past()
        self.run_named(ALICE, "first", "sleep 0.1")
        self.run_named(BOB, "bobs", "exit 3")
        command = f"{TRACERD} task --step align --sample S1 -- sh -c 'exit 4'; {TRACERD} task --step align --sample S2 -- true; true"
        self.run_named(ALICE, "second", command)
        self.run_listed(ALICE, "second")
        self.run_listed(BOB, "bobs")
        latest = self.ask_as(ALICE, "log")
        self.assertEqual(latest.returncode, 0, latest.stderr)
        self.assertIn("rnaseq second, the run of", latest.stderr)
        self.assertRegex(latest.stdout, r"started  run rnaseq second")
        self.assertRegex(latest.stdout, r"ended    sh -c \(pid \d+\): exit 4")
        self.assertNotIn("first", latest.stdout)
        self.assertNotIn("bobs", latest.stdout)
        # A word alone is a run, or else a task of the latest.
        self.assertIn("ended    run rnaseq first: exit 0", self.ask_as(ALICE, "log", "first").stdout)
        of_task = self.ask_as(ALICE, "log", "S1")
        self.assertEqual({"S1" in name for name, _, _ in lines_of(of_task.stdout)}, {True}, of_task.stdout)
        self.assertEqual(self.ask_as(ALICE, "log", "second", "S1").stdout, of_task.stdout)
        self.assertEqual(self.ask_as(ALICE, "log", "second", "S3").returncode, 1)
        for words in (("bobs",), ("bobs", "S1")):
            result = self.ask_as(ALICE, "log", *words)
            self.assertEqual(result.returncode, 1, words)
            self.assertIn("bobs", result.stderr)
            self.assertEqual(result.stdout, "")

    def test_tasks_that_are_queued_and_tried_again(self):
        self.serve_past()
        path, _ = self.follow(ALICE)

        def begun():
            self.run_as(ALICE, "/bin/sh", "-c", "exit 9")
            return "exit 9" in text_of(path)
        wait_until(begun, "it follows")
        run = {"engine": "planner", "run_id": "r1", "pipeline": "plan", "run": "first"}

        def ask(request, **keys):
            reply = self.client(ALICE).ask(request, **keys)
            self.assertTrue(reply["ok"], reply)
            return reply

        for attempt, outcome in ((1, "failed"), (2, "succeeded")):
            context = run | {"step": "align", "task": "align (1)", "task_id": "t1", "attempt": attempt}
            key = ask("submit", context=context)["task_key"]
            time.sleep(0.3)
            folder = self.path(f"work-{attempt}")
            os.mkdir(folder, 0o777)
            os.chown(folder, ALICE, ALICE)
            ask("announce", key={"work_dir": folder}, context=context)
            subprocess.run(["sh", "-c", f"sleep 0.2; exit {2 - attempt}"], cwd=folder, preexec_fn=lambda: become(ALICE), check=False)
            ask("withdraw", task_key=key, state=outcome)
            wait_until(lambda: f"engine's word: {outcome}" in text_of(path), "the attempt is over")
        told = [(verb, what) for name, verb, what in lines_of(text_of(path)) if name.startswith("align (1)") and "(pid" not in what]
        pattern = [("queued", "task"), ("started", "task, after .* in the queue"), ("ended", "task: exit 1, .*"),
                   ("ended", "task, by its engine's word: failed"), ("queued", r"attempt 2 of align \(1\)"),
                   ("started", r"attempt 2 of align \(1\), after .* in the queue"), ("ended", r"attempt 2 of align \(1\): exit 0, .*"),
                   ("ended", r"attempt 2 of align \(1\), by its engine's word: succeeded")]
        told = [(verb, what) for verb, what in told if verb != "finding"]
        self.assertEqual(len(told), len(pattern), told)
        for (verb, what), (its_verb, text) in zip(told, pattern):
            self.assertEqual(verb, its_verb, told)
            self.assertRegex(what, f"^{text}$")

    def follow(self, uid, *words):
        """What it writes to."""
        path = self.path(f"followed-{len(os.listdir(self.folder))}")
        with open(path, "w", encoding="utf-8") as out:
            follower = self.start(TRACERD, "log", "-f", *words, stdout=out, env=self.environment(), cwd="/", user=uid, group=uid,
                                  extra_groups=[])
        return path, follower

    def test_what_starts_later_is_followed(self):
        self.serve_past()
        path, follower = self.follow(ALICE)
        json_path, _ = self.follow(ALICE, "--json")
        own, _ = self.follow(ALICE, "S7")

        def begun():
            self.run_as(ALICE, "/bin/sh", "-c", "exit 9")
            return "exit 9" in text_of(path) and '"exit_code":9' in text_of(json_path)
        wait_until(begun, "it follows")
        self.run_named(BOB, "bobs", "exit 3")
        self.run_named(ALICE, "live", f"{TRACERD} task --sample S7 -- sh -c 'sleep 1.2; exit 5'; sleep 1.1; exit 0")
        wait_until(lambda: "run rnaseq live: exit 0" in text_of(path), "the run has ended")
        wait_until(lambda: "exit 5" in text_of(own), "of the task, too")
        text = text_of(path)
        self.assertRegex(text, r"S7 +started  sh -c sleep 1\.2; exit 5 \(pid \d+\)")
        self.assertRegex(text, r"S7 +ended    task: exit 5")
        self.assertLess(text.index("started  sh -c sleep 1.2"), text.index("task: exit 5"))
        self.assertNotIn("bobs", text)
        self.assertEqual({"S7" in name for name, _, _ in lines_of(text_of(own))}, {True}, text_of(own))
        events = parse_lines(text_of(json_path))
        self.assertEqual(events[0]["kind"], "host")
        self.assertIn(5, [event["exit_code"] for event in of_kind(events, "process_exit")])
        follower.send_signal(signal.SIGINT)
        self.assertEqual(follower.wait(DEADLINE_SECONDS), -signal.SIGINT)


if __name__ == "__main__":
    support.main()
