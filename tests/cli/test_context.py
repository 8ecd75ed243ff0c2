# SPDX-License-Identifier: Apache-2.0
"""Runs, tasks and rules on the command line. Engines themselves: tests/engines."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import textwrap
import unittest

import support

CONFIGURE = """\
#!/bin/sh
for what in cc make sed; do command -v $what >/dev/null || : ; done
for n in 1 2 3 4 5; do echo "int main(void) { return $n; }" > conftest.c; cat conftest.c | grep -c main >/dev/null; done
rm -f conftest.c
cat > Makefile <<'X'
all: a.o b.o check
a.o: ; @sh -c 'sleep 0.01; echo a > a.o'
b.o: ; @cp Makefile b.o && sort b.o > /dev/null
check: a.o b.o ; @for t in t1 t2 t3; do sh ./test.sh $$t; done; find . -name '*.o' -exec cat {} + | xargs -n 1 echo > /dev/null
X
"""


class Contexts(support.TestCase):
    def script(self, name, text):
        path = pathlib.Path(self.folder, name)
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def events(self, *words, options=()):
        result, events = self.trace(*words, options=options, cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        return events

    def begun(self, events, kind):
        return [event["context"]["run"] if kind == "run_start" else event["context"]["engine"]
                for event in support.of_kind(events, kind)]

    def test_a_build_with_its_tests_is_the_run_of_its_command_with_tasks_of_make(self):
        self.script("configure", CONFIGURE)
        self.script("test.sh", "#!/bin/sh\ntrue | cat\npython3 -c pass\n")
        self.script("all.sh", "#!/bin/sh\n./configure && make -j2\n")
        events = self.events("./all.sh")
        ended = support.of_kind(events, "process_exit")
        self.assertGreater(len(ended), 30)
        self.assertEqual(self.begun(events, "run_start"), ["all.sh"])
        self.assertIn("make", self.begun(events, "task_start"))
        # What starts jobs in a run, though configure's are hardly meant as such.
        self.assertLessEqual(set(self.begun(events, "task_start")), {"make", "xargs", "find", "shell"})
        self.assertEqual({event["context"] and event["context"]["run"] for event in ended}, {"all.sh"})

    def test_an_interactive_shell_invents_nothing(self):
        typed = "ls | head -1\nfor n in 1 2 3; do date > /dev/null; done\nbash -c 'sort /etc/passwd | uniq -c | tail -1'\nexit\n"
        pathlib.Path(self.folder, "typed").write_text(typed)
        events = self.events("script", "-qec", "bash --norc -i < typed", "/dev/null")
        self.assertGreater(len(support.of_kind(events, "process_exit")), 8)
        self.assertEqual(self.begun(events, "run_start"), ["script"])
        self.assertEqual(self.begun(events, "task_start"), [])

    def test_jobs_of_make_in_a_labeled_run_are_tasks_of_it(self):
        self.script("configure", CONFIGURE)
        self.script("test.sh", "#!/bin/sh\ntrue\n")
        self.script("all.sh", "#!/bin/sh\n./configure && make -j2\n")
        events = self.events("./all.sh", options=("--run", "r1"))
        tasks = support.of_kind(events, "task_start")
        self.assertGreaterEqual(len(tasks), 2)
        self.assertEqual({event["context"]["run"] for event in tasks}, {"r1"})

    def test_own_rules_come_first_and_are_explained(self):
        rules = self.script("mine.toml", textwrap.dedent("""\
            schema = 1
            [[rule]]
            name = "mine.job"
            argv = [["*sh", "*/job-{sample}.sh"]]
            begins = "task"
            gives = { step = "job", sample = "{sample}" }
            [[rule.test]]
            processes = [{ exe = "/bin/sh", argv = ["sh", "/w/job-S1.sh"] }]
            expect = { step = "job", sample = "S1" }
            """))
        job = self.script("job-S7.sh", "#!/bin/sh\nsort /etc/passwd > /dev/null\n")
        recording = self.path("x.tracer")
        events = self.events("sh", job, options=("--engine-rules", rules, "--record", recording))
        sort = [event for event in support.of_kind(events, "process_exit") if event["tool"] == "sort"]
        self.assertEqual(sort[0]["context"]["sample"], "S7")
        self.assertEqual(sort[0]["provenance"]["sample"], "engine rule")
        self.assertEqual(sort[0]["context"]["rules"], ["mine.job"])
        check = self.tracerd("check", "--rules", rules)
        self.assertEqual((check.returncode, check.stdout), (0, f"{rules}: no mistakes\n"))
        why = self.tracerd("dump", "--explain", "--engine-rules", rules, recording)
        self.assertEqual(why.returncode, 0, why.stderr)
        self.assertRegex(why.stdout, r"sample +S7 +engine rule, mine\.job: argv = \[")

    def test_own_rules_for_secrets_replace_the_built_in_ones(self):
        rules = self.script("secrets.toml", 'schema = 1\n[[name]]\nparts = ["patient"]\n')
        command = ("sh", "-c", "exit 0", "--patient=Ann", "--password=open")
        events = self.events(*command, options=("--secret-rules", rules))
        argv = [event["argv"] for event in support.of_kind(events, "process_exit") if event["exe"].endswith("sh")]
        self.assertIn(["sh", "-c", "exit 0", "--patient=***", "--password=open"], argv)
        for words in (("run", "--secret-rules", "/no/such/file", "--", "true"),
                      ("explain", "--secret-rules", "/no/such/file", str(os.getpid()))):
            missing = self.tracerd(*words)
            self.assertNotEqual(missing.returncode, 0)
            self.assertIn("/no/such/file", missing.stderr)

    def test_a_living_process_is_explained(self):
        folder = pathlib.Path(self.folder, "work/ab/0123456789abcdef0123456789abcd")
        folder.mkdir(parents=True)
        folder.joinpath(".command.run").write_text("#!/bin/bash\n### ---\n### name: 'ALIGN (S1)'\nsleep 30 & echo; wait\n")
        with subprocess.Popen(["bash", "-ue", ".command.run"], cwd=folder, stdout=subprocess.PIPE) as wrapper:
            wrapper.stdout.readline()
            why = self.tracerd("explain", str(wrapper.pid))
            verbose = self.tracerd("explain", "-v", str(wrapper.pid))
            blind = self.tracerd("explain", "--no-engine-notes", str(wrapper.pid))
            for child in support.text_of(f"/proc/{wrapper.pid}/task/{wrapper.pid}/children").split():
                os.kill(int(child), 15)
        self.assertEqual(why.returncode, 0, why.stderr)
        self.assertRegex(why.stdout, r"task +ALIGN \(S1\) +engine rule, nextflow\.task_here\n")
        self.assertRegex(verbose.stdout, r"task +ALIGN \(S1\) +engine rule, nextflow\.task_here: argv = ")
        self.assertRegex(why.stdout, r"sample +S1 +inferred, nextflow\.task")
        self.assertNotIn("ALIGN", blind.stdout)
        self.assertIn("ab/0123456789abcdef0123456789abcd", blind.stdout)

    def test_a_later_attempt_is_not_explained_as_the_first(self):
        rules = self.script("attempts.toml", textwrap.dedent("""\
            schema = 1
            [[rule]]
            name = "mine.run"
            argv = [["*sh", "*/run.sh"]]
            begins = "run"
            own = "self"
            [[rule.test]]
            processes = [{ exe = "/bin/sh", argv = ["sh", "/w/run.sh"] }]
            expect = { rule = "mine.run" }
            [[rule]]
            name = "mine.job"
            argv = [["*sh", "*/job.sh"]]
            begins = "task"
            gives = { step = "job", task = "job" }
            [[rule.test]]
            processes = [{ exe = "/bin/sh", argv = ["sh", "/w/job.sh"] }]
            expect = { rule = "mine.job", step = "job" }
            [[rule]]
            name = "mine.numbered"
            argv = [["*sh", "*/numbered.sh", "{attempt:digits}"]]
            begins = "task"
            gives = { task = "numbered", attempt = "{attempt}" }
            [[rule.test]]
            processes = [{ exe = "/bin/sh", argv = ["sh", "/w/numbered.sh", "2"] }]
            expect = { rule = "mine.numbered", attempt = "2" }
            [[rule]]
            name = "mine.trying"
            argv = [["*sh", "*/trying.sh", "{attempt:digits}"]]
            begins = "task"
            gives = { task = "trying", attempt = "{attempt}" }
            [[rule.test]]
            processes = [{ exe = "/bin/sh", argv = ["sh", "/w/trying.sh", "1"] }]
            expect = { rule = "mine.trying", attempt = "1" }
            [[rule]]
            name = "mine.command"
            parent = ["mine.trying"]
            argv = [["*sh", "-c", "*"]]
            again = true
            own = "work"
            [[rule.test]]
            processes = [{ exe = "/bin/sh", argv = ["sh", "/w/trying.sh", "1"] }, { exe = "/bin/sh", argv = ["sh", "-c", "false"] }]
            expect = { rule = "mine.command", own = "false" }
            """))
        self.script("job.sh", f"#!/bin/sh\n[ -e {self.path('failed')} ] || {{ : > {self.path('failed')}; exit 1; }}\necho; read go\n")
        for name in ("numbered.sh", "trying.sh"):
            self.script(name, "#!/bin/sh\necho; read go\n")
        jobs = ("job.sh", "numbered.sh 2", "trying.sh 1")
        run = self.script("run.sh", "#!/bin/sh\n" + "".join(f"sh {self.path(job)} || sh {self.path(job)}\n" for job in jobs) + "true\n")
        shown = []
        with subprocess.Popen(["sh", run], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            for _ in jobs:
                process.stdout.readline()
                job = support.text_of(f"/proc/{process.pid}/task/{process.pid}/children").split()[0]
                why = self.tracerd("explain", "--engine-rules", rules, job)
                self.assertEqual(why.returncode, 0, why.stderr)
                shown.append("".join(line + "\n" for line in why.stdout.splitlines() if line.startswith("  attempt")))
                process.stdin.write(b"go\n")
                process.stdin.flush()
        self.assertRegex(shown[1], r"attempt +2 +engine rule, mine\.numbered")
        for i in (0, 2):
            self.assertEqual(shown[i], "  attempt    not known: a session that sees the earlier ones counts them\n", jobs[i])

    def task(self, tag, command):
        folder = pathlib.Path(self.folder, "work", tag, "0" * 30)
        folder.mkdir(parents=True)
        folder.joinpath(".command.run").write_text(f"#!/bin/bash\n### ---\n### name: 'COUNT ({tag})'\nbash -ue .command.sh\n")
        folder.joinpath(".command.sh").write_text(command)
        return f"(cd {folder} && bash -ue .command.run)"

    def test_the_table_shows_runs_steps_tasks_and_tools(self):
        commands = "; ".join([self.task("ab", "head -c 3000000 /dev/urandom | gzip | wc -c"), self.task("cd", "seq 100 | sort -n; exit 3")])
        result = self.tracerd("run", "--run", "r1", "--", "bash", "-c", commands + "; true")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [line.split("  ")[0] if line[:1] != " " else line.rstrip() for line in result.stderr.splitlines()]
        text = result.stderr
        for name in ("r1", "  step COUNT", "    gzip", "    task COUNT (ab)", "    task COUNT (cd)"):
            self.assertRegex(text, rf"(?m)^{re.escape(name)} ", lines)
        self.assertRegex(text, r"(?m)^    \(nextflow itself\) ")
        for level, expected in [("step", "COUNT"), ("task", "COUNT (ab)"), ("tool", "gzip"), ("process", "gzip"), ("run", "r1")]:
            with self.subTest(by=level):
                for folder in ("ab", "cd"):
                    shutil.rmtree(os.path.join(self.folder, "work", folder), True)
                commands = "; ".join([self.task("ab", "seq 10000 | gzip | wc -c"), self.task("cd", "exit 3")])
                result = self.tracerd("run", "--run", "r1", "--by", level, "--", "bash", "-c", commands + "; true")
                self.assertRegex(result.stderr, rf"(?m)^{re.escape(expected)} ")

    def recorded(self, *words, **options):
        """The JSON report of a recorded run."""
        result = self.tracerd("run", "--no-live", "--no-history", "--record", self.path("r"), "--report", self.path("r.json"), "--", *words,
                              cwd=self.folder, **options)
        return result, json.loads(pathlib.Path(self.path("r.json")).read_text())

    def test_a_tool_that_is_a_script_is_no_task(self):
        if shutil.which("zgrep") is None:
            self.skipTest("gzip has no scripts")
        self.script("qc.sh", "zcat x.gz | head -1 > /dev/null; zgrep -c none x.gz > /dev/null; sleep 0.3; true\n")
        self.script("all.sh", "seq 1000 | gzip > x.gz; zcat x.gz > /dev/null; bash qc.sh\n")
        _, report = self.recorded("bash", "all.sh")
        self.assertEqual([task["name"] for task in report["tasks"]], ["qc.sh"], report["tasks"])
        self.assertIn("zcat", {tool["name"] for tool in report["tools"]})

    def test_scripts_that_ran_for_less_than_a_fifth_of_the_run_speak_for_nothing(self):
        self.script("qc.sh", "true | cat\n")
        self.script("all.sh", "bash qc.sh; sleep 0.5\n")
        result, report = self.recorded("bash", "all.sh")
        self.assertEqual(([run["name"] for run in report["runs"]], report["steps"], report["tasks"]), (["all.sh"], [], []), result.stderr)
        self.assertNotIn("tasks", result.stderr)
        self.assertNotIn("tasks", self.tracerd("why", self.path("r")).stdout)
        self.assertEqual(json.loads(self.tracerd("compare", "--json", self.path("r"), self.path("r")).stdout)["steps"], [])
        # It can be asked for.
        self.assertIn("task qc.sh", self.tracerd("why", self.path("r"), "qc.sh").stdout)
        self.script("all.sh", "bash qc.sh; sleep 0.5; true | xargs -I{} true; echo a | xargs echo > /dev/null\n")
        _, report = self.recorded("bash", "all.sh")
        self.assertIn("qc.sh", {task["step"] for task in report["tasks"] if "step" in task})

    def test_a_name_that_comes_late_makes_no_second_row(self):
        for number in (1, 2):
            folder = pathlib.Path(self.folder, "work", "ab", f"{number:030x}")
            folder.mkdir(parents=True)
            folder.joinpath(".command.run").write_text(
                "#!/bin/bash\n### ---\ntouch .command.begin; sleep 0.3; mv .named .command.run; sleep 0.3\n"
                "(/bin/bash -ue $PWD/.command.sh 2>&1 | tee .command.out) & wait $!\n")
            folder.joinpath(".named").write_text(f"#!/bin/bash\n### ---\n### name: 'QC:ALIGN (S{number})'\n")
            folder.joinpath(".command.sh").write_text("seq 1 20000 | md5sum\n")
        result, report = self.recorded("bash", "-c", "for d in work/ab/*; do (cd $d; exec bash -ue .command.run) > /dev/null & done; wait")
        self.assertEqual(sorted(task["name"] for task in report["tasks"]), ["QC:ALIGN (S1)", "QC:ALIGN (S2)"], result.stderr)
        self.assertEqual({task["labels"]["tag"] for task in report["tasks"]}, {"S1", "S2"})
        self.assertEqual([step["tasks"] for step in report["steps"]], [2])

    def test_the_folder_of_an_array_of_jobs_is_no_task(self):
        array = pathlib.Path(self.folder, "work", "aa", "0" * 30)
        elements = [self.task(tag, "head -c 2000000 /dev/zero | md5sum").split()[1] for tag in ("bb", "cc")]
        for folder in elements:
            run = pathlib.Path(folder, ".command.run")
            run.write_text(run.read_text().replace("bash -ue .command.sh", f"cd {folder}; bash -ue {folder}/.command.sh"))
        array.mkdir(parents=True)
        array.joinpath(".command.run").write_text("#!/bin/bash\n### ---\n### name: 'COUNT (1)'\nbash -ue $PWD/.command.sh\n")
        array.joinpath(".command.sh").write_text(f"array=({' '.join(elements)})\nbash ${{array[$SLURM_ARRAY_TASK_ID]}}/.command.run\n")
        result = self.tracerd("run", "--no-live", "--no-history", "--trace", self.path("t.tsv"), "--", "bash", "-c",
                              f"cd {array}; for i in 0 1; do SLURM_ARRAY_TASK_ID=$i bash .command.run; done; true")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = [line.split("\t") for line in pathlib.Path(self.path("t.tsv")).read_text().splitlines()[1:]]
        self.assertEqual(sorted(row[3] for row in rows), ["COUNT (bb)", "COUNT (cc)"], rows)

    def test_a_copy_of_a_shell_that_polling_meets_is_no_task(self):
        self.script("plain.sh", "for i in $(seq 1 60); do md5sum /usr/bin/bash > /dev/null; done\nfor i in $(seq 1 60); do /bin/true; done\n")
        for _ in range(2):
            _, events = self.trace("bash", "plain.sh", cwd=self.folder, env=os.environ | {"TRACER_SOURCE": "proc"})
            self.assertEqual(support.of_kind(events, "task_start"), [])

    def test_wrong_words_for_explain_and_check(self):
        for words, text in [(["explain"], "name a process"), (["explain", "x"], "PID x: not a process id"),
                            (["explain", "2147483632"], "no process 2147483632 lives")]:
            result = self.tracerd(*words)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(text, result.stderr)
        bad = self.script("bad.toml", 'schema = 1\n[[rule]]\nname = "a.b"\nexe = ["*"]\nbogus = 1\n')
        result = self.tracerd("check", "--rules", bad)
        self.assertEqual(result.returncode, 1)
        self.assertIn(f'{bad}:5: rule: unknown key "bogus"', result.stderr)
        self.assertIn('"a.b" matches every process', result.stderr)
        result = self.tracerd("run", "--engine-rules", bad, "--", "true")
        self.assertEqual(result.returncode, 0)
        self.assertIn("a rule is left out", result.stderr)
        result = self.tracerd("run", "--engine-rules", "/no/such/file", "--", "true")
        self.assertEqual(result.returncode, 125)
        self.assertIn("TRC110", result.stderr)


if __name__ == "__main__":
    unittest.main()
