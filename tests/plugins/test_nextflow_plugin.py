# SPDX-License-Identifier: Apache-2.0
"""The plugin nf-tracer in real Nextflow, with a small service in its place, and with the real one.

A JDK 17 and Maven are needed. TRACERD names the real service."""

import contextlib
import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/engines"))

import installed  # noqa: E402

from fake_service import RUN_KEY, FakeService  # noqa: E402
from real_service import RealService  # noqa: E402

# A guard against hanging, never a measure.
DEADLINE_SECONDS = 300
GIB = 1 << 30
ODD = "it's \"odd\"\nand " + 10_000 * "x"
# A name may have lines in it.
FIELDS = "hash,process,status,exit,attempt,workdir,tag,name"

PIPELINE = """
process ALIGN {
  tag "$meta.id"
  cpus 2
  memory 2.GB
  time 1.h
  queue 'long'
  container 'an/image:1'
  input:
  tuple val(meta), val(text)
  output:
  path 'made'
  script:
  "sleep 0.3; echo $text > made"
}
process FLAKY {
  errorStrategy 'retry'
  input:
  val text
  output:
  stdout
  script:
  "sleep 0.1; printf $text; exit ${task.attempt == 1 ? 3 : 0}"
}
process IGNORED {
  errorStrategy 'ignore'
  input:
  val text
  script:
  "sleep 0.1; exit 137"
}
// Nextflow writes its name into the wrapper, which lines in it spoil.
process ODD {
  tag "$text"
  errorStrategy 'ignore'
  input:
  val text
  script:
  "true"
}
process EXEC {
  exec:
  println 'in Nextflow itself'
}
workflow {
  EXEC()
  ALIGN(Channel.of('S1', 'S2').map { [[id: it], 'a'] })
  FLAKY('b') | view
  IGNORED('c')
  if (params.odd) ODD(file(params.odd).text)
}
"""
# One task, and nothing that takes time.
SMALL = "process ONE {\n  output:\n  stdout\n  script:\n  'sleep 0.5; printf here'\n}\nworkflow { ONE() | view }\n"


class Service(FakeService):
    """Each task that was submitted is over, and has used the same."""

    def rows(self, kinds):
        if kinds == ["counts"]:
            return {"counts": {}}
        tasks, findings = [], []
        for key, request in self.submitted.items():
            context = request["context"]
            tasks.append({"id": key, "run_id": context["run_id"], "task_id": context["task_id"], "state": "finished",
                          "wall_ns": 2_000_000_000, "cpu_ns": 3_000_000_000, "memory_bytes_at_least": 3 * GIB // 2})
            if context["step"] == "IGNORED":
                findings.append({"finding_key": key, "code": "oom_kill", "severity": "error", "text": "memory ran out", **context})
        # Another's.
        tasks.append({"id": "z", "run_id": "other", "task_id": "ab/cd", "state": "finished", "wall_ns": 1})
        return {"tasks": tasks, "findings": findings}


SHARED = pathlib.Path(tempfile.gettempdir())  # Set by setUpModule: a folder with the plugin.


def setUpModule():
    global SHARED
    for name in ("javac", "jar"):
        installed.program(name, "openjdk-17-jdk-headless")
    SHARED = pathlib.Path(tempfile.mkdtemp(prefix="libtracer-plugin-", dir="/tmp"))
    unittest.addModuleCleanup(shutil.rmtree, SHARED, True)
    with zipfile.ZipFile(built(SHARED)) as file:
        file.extractall(SHARED / "plugins/nf-tracer-0.2.0")


def class_path():
    words = installed.nextflow("25.04.4")
    return words[words.index("-cp") + 1]


def built(folder):
    result = subprocess.run([ROOT / "plugins/nextflow/build", class_path(), folder], capture_output=True, text=True, check=False)
    assert result.returncode == 0 and not result.stderr, result.stderr
    return pathlib.Path(result.stdout.strip())


@functools.cache
def other_plugin():
    """Its name: a plugin that throws whenever Nextflow calls it for a task."""
    source = SHARED / "other/Factory.java"
    source.parent.mkdir()
    source.write_text("""package other;
        import java.lang.reflect.Proxy;
        import java.util.*;
        import nextflow.trace.*;
        public class Factory implements TraceObserverFactory {
          public Collection<TraceObserver> create(nextflow.Session session) {
            return List.of((TraceObserver) Proxy.newProxyInstance(Factory.class.getClassLoader(), new Class<?>[] {TraceObserver.class}, (self, method, words) -> {
              if (method.getName().startsWith("onProcess")) {
                System.out.println("other: " + method.getName());
                throw new IllegalStateException();
              }
              return method.getReturnType() == boolean.class ? Boolean.FALSE : null;
            }));
          }
        }""")
    classes = SHARED / "plugins/nf-other-0.1.0/classes"
    subprocess.run(["javac", "-nowarn", "-proc:none", "-cp", class_path(), "-d", classes, source], check=True, stderr=subprocess.DEVNULL)
    (classes / "META-INF").mkdir()
    (classes / "META-INF/extensions.idx").write_text("other.Factory\n")
    (classes / "META-INF/MANIFEST.MF").write_text("Manifest-Version: 1.0\nPlugin-Id: nf-other\nPlugin-Version: 0.1.0\n")
    return "nf-other@0.1.0"


class Plugin(unittest.TestCase):
    """A folder with the plugin, and Nextflow."""

    version = "24.10.0"
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="libtracer-plugin-", dir="/tmp"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.socket = str(self.folder / "tracer.sock")

    def service(self, how="new", **options):
        service = Service(how, self.socket, **options)
        self.addCleanup(service.close)
        return service

    def begin(self, *words, script=PIPELINE, plugin=True, socket_path=None, **environment):
        (self.folder / "main.nf").write_text(script)
        with open(self.folder / "nextflow.config", "a", encoding="utf-8") as file:
            file.write(f"trace.fields = '{FIELDS}'\n")
        plugins = ("-plugins", "nf-tracer@0.2.0") if plugin else ()
        environment = {"NXF_OFFLINE": "true", "NXF_PLUGINS_DEFAULT": "false", "NXF_HOME": str(self.folder / "nxf"),
                       "NXF_PLUGINS_DIR": str(SHARED / "plugins"), "HOME": str(self.folder), "LC_ALL": "C.UTF-8",
                       "TRACER_SOCKET": socket_path or self.socket} | environment
        return subprocess.Popen([*installed.nextflow(self.version), "run", "main.nf", *plugins, *words], cwd=self.folder,
                                env=os.environ | environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, errors="replace", start_new_session=True)

    def ended(self, process, status=0):
        try:
            output = process.communicate(timeout=DEADLINE_SECONDS)[0]
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        self.assertEqual(process.returncode, status, output)
        return output

    def run_nextflow(self, *words, status=0, **options):
        return self.ended(self.begin("-ansi-log", "false", *words, **options), status)

    def rows(self):
        """Nextflow's own trace of tasks."""
        lines = (self.folder / "trace.tsv").read_text().splitlines()
        rows = [dict(zip(lines[0].split("\t"), line.split("\t"))) for line in lines[1:]]
        return [row for row in rows if row.get("workdir") and row["process"] != "EXEC"]

    def warnings(self, output):
        return [line for line in output.splitlines() if line.startswith("WARN: ")]

    def assert_only_warning(self, output, pattern):
        found = self.warnings(output)
        self.assertEqual(len(found), 1, output)
        self.assertRegex(found[0], pattern)


def by_task(requests):
    """{task_id: the request}, of which there is one."""
    found = {}
    for one in requests:
        identity = one["context"].get("task_id")
        assert identity not in found, f"twice: {one}"
        found[identity] = one
    return found


class Build(unittest.TestCase):
    def test_the_zip_is_always_the_same(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="libtracer-plugin-", dir="/tmp"))
        self.addCleanup(shutil.rmtree, folder, True)
        self.assertEqual(built(folder).read_bytes(), (SHARED / "nf-tracer-0.2.0.zip").read_bytes())


class WithAService(Plugin):
    def test_names_requests_and_ends(self):
        service = self.service()
        (self.folder / "odd.txt").write_text(ODD)
        output = self.run_nextflow("-name", "happy_curie", "-with-trace", "trace.tsv", "--odd", "odd.txt")
        self.check_requests(service)
        self.check_lines(output)
        self.check_resumed(service)

    def check_requests(self, service):
        submitted = by_task(service.of("submit"))
        run = submitted.pop(None)["context"]
        self.assertEqual((run["engine"], run["run"], run["pipeline"]), ("nextflow", "happy_curie", "main.nf"))
        withdrawn = {service.submitted[one["task_key"]]["context"]["task_id"]: one for one in service.of("withdraw") if "task_key" in one}
        self.assertEqual(len(withdrawn), len([one for one in service.of("withdraw") if "task_key" in one]))
        of_run, *of_tasks = service.of("announce")
        self.assertEqual(of_run["context"], run)
        announced = self.check_twice(service, of_tasks)
        rows = self.rows()
        self.assertEqual(len(rows), 2 + 2 + 1 + 1)
        self.assertEqual({len(rows)}, {len(submitted), len(withdrawn), len(announced)})
        for row in rows:
            task_id = "/".join(row["workdir"].split("/")[-2:])
            request = submitted[task_id]
            context = request["context"]
            self.assertEqual(announced[task_id]["key"], {"work_dir": row["workdir"]})
            self.assertEqual((announced[task_id]["context"], announced[task_id]["requested"]), (context, request["requested"]))
            self.assertEqual({name: context[name] for name in run}, run)
            self.assertEqual((context["step"], str(context["attempt"])), (row["process"], row["attempt"]))
            if row["process"] != "ODD":
                self.assertEqual(context["task"], row["name"])
                self.assertEqual(context.get("labels", {}).get("tag", "-"), row["tag"])
            end = withdrawn[task_id]
            self.assertEqual((end["state"], str(end["exit_code"])),
                             ({"COMPLETED": "succeeded", "FAILED": "failed"}[row["status"]], row["exit"]))
        aligned = [one for one in submitted.values() if one["context"]["step"] == "ALIGN"]
        self.assertEqual(sorted((one["context"]["sample"], one["context"]["labels"]["queue"]) for one in aligned),
                         [("S1", "long"), ("S2", "long")])
        for one in aligned:
            self.assertEqual((one["requested"]["millicpus"], one["requested"]["memory_bytes"], one["requested"]["time_ns"]),
                             (2000, 2 * GIB, 3600 * 10**9))
        odd, = [one["context"] for one in submitted.values() if one["context"]["step"] == "ODD"]
        self.assertTrue(odd["task"].startswith("ODD (it's \"odd\"\nand xxx"), odd["task"][:100])
        self.assertNotIn("sample", odd)
        self.assertEqual([one["state"] for one in service.of("withdraw") if one.get("run_key") == RUN_KEY], ["succeeded"])
        self.run_id = run["run_id"]

    def check_twice(self, service, requests):
        """Each task is announced with its submission, and the very same again once it has started. Returns them by task_id."""
        both = [by_task(requests[index] for index in range(len(requests)) if (requests[index] in requests[:index]) == again)
                for again in (False, True)]
        self.assertEqual(*both)
        with_submission = [service.requests[index - 1] for index, one in enumerate(service.requests)
                           if one in both[0].values() and one not in service.requests[:index]]
        self.assertEqual({one["request"] for one in with_submission}, {"submit"})
        return both[0]

    def check_lines(self, output):
        lines = [line for line in output.splitlines() if re.match(r"\[\w\w/\w{6}\] .*(succeeded|failed)", line)]
        self.assertEqual(len(lines), 6, output)  # Of the odd name, one.
        ends = [line.split("] ")[1] for line in lines]
        for sample in ("S1", "S2"):
            self.assertIn(f"ALIGN ({sample}) succeeded: 2s, CPU 1.5 of 2, memory ≥ 1.5 of 2 GB", ends)
        self.assertIn("NOTE: FLAKY failed (exit 3): 2s, CPU 1.5 of 1, memory ≥ 1.5 GB; it is tried again", ends)
        self.assertIn("FLAKY succeeded: 2s, CPU 1.5 of 1, memory ≥ 1.5 GB", ends)
        self.assertIn("NOTE: IGNORED failed (exit 137), killed: out of memory at ≥ 1.5 GB: 2s, CPU 1.5 of 1", ends)
        odd, = [line for line in ends if line.startswith("NOTE: ODD")]
        self.assertLess(len(odd), 200)
        self.assertIn("tracer: happy_curie succeeded; tasks: 3 failed, 3 succeeded\n", output)
        self.assertIn("tracer: error: memory ran out\n", output)
        self.assertIn("tracer: more of this run: tracerd report, tracerd why\n", output)
        self.assertEqual(self.warnings(output), [])
        # Nextflow looks for extensions with each task.
        self.assertNotIn("ERROR", (self.folder / ".nextflow.log").read_text())

    def check_resumed(self, service):
        """Cached tasks are reported so, in a run of its own; what is done again is a task as any other."""
        del service.requests[:]
        output = self.run_nextflow("-resume", "-with-trace", "again.tsv")
        cached = [one for one in service.of("withdraw") if one["state"] == "cached"]
        self.assertEqual(sorted(service.submitted[one["task_key"]]["context"]["task"] for one in cached),
                         ["ALIGN (S1)", "ALIGN (S2)", "FLAKY"])
        announced = [one["context"].get("task") for one in service.of("announce")]
        self.assertEqual(announced, [None, "IGNORED", "IGNORED"])
        for one in service.of("submit"):
            self.assertEqual(one["context"]["run_id"], f"{self.run_id}/{one['context']['run']}")
        self.assertIn("; tasks: 3 cached, 1 failed\n", output)

    def test_two_runs_in_one_folder(self):
        service = self.service()
        runs = [self.begin("-ansi-log", "false", script=SMALL) for _ in range(2)]
        for one in runs:
            self.assertIn("\nhere", self.ended(one))
        submitted = by_task([one for one in service.of("submit") if "task_id" in one["context"]])
        self.assertEqual(len(submitted), 2)
        self.assertEqual(len({one["context"]["run_id"] for one in submitted.values()}), 2)
        self.assertEqual({one["state"] for one in service.of("withdraw")}, {"succeeded"})

    def test_options(self):
        service = self.service()
        (self.folder / "nextflow.config").write_text(f"plugins {{ id 'nf-tracer@0.2.0' }}\ntracer {{ socket = '{self.socket}'; sample = 'text' }}\n")
        script = SMALL.replace("ONE {", "ONE {\n  tag 't'\n  input:\n  val text").replace("ONE()", "ONE('S7')")
        output = self.run_nextflow(script=script, socket_path="/nowhere", NXF_SYNTAX_PARSER="v2")
        self.assertEqual(self.warnings(output), [])
        context, = (one["context"] for one in service.of("submit") if "task_id" in one["context"])
        self.assertEqual((context["sample"], context["labels"]), ("S7", {"tag": "t"}))
        del service.requests[:]
        (self.folder / "nextflow.config").write_text(f"tracer {{ enabled = false; socket = '{self.socket}' }}\n")
        self.assertNotIn("tracer:", self.run_nextflow(script=SMALL))
        self.assertEqual(service.requests, [])

    def test_where_more_is(self):
        for sees, words in (("own", None), ("all", "in a recording of the service: tracerd report FILE, tracerd why FILE")):
            with self.subTest(sees):
                service = self.service(by_owner=False, sees=sees)
                output = self.run_nextflow(script=SMALL)
                self.assertEqual(self.warnings(output), [])
                self.assertEqual([one.split("more of this run: ")[1] for one in output.splitlines() if "more of" in one],
                                 [words] if words else [])
                service.close()

    def test_what_waits_is_announced_once(self):
        """No CPU is free for the second task until the first has ended."""
        service = self.service()
        (self.folder / "nextflow.config").write_text("executor.cpus = 1\n")
        script = SMALL.replace("output:\n  stdout", "input:\n  val text\n  output:\n  stdout").replace("ONE()", "ONE(Channel.of('a', 'b'))")
        self.run_nextflow(script=script.replace("0.5", "3"))
        first, second = service.submitted
        seen = [(one["request"], one.get("task_key") or "key of " + one["context"]["task_id"]) for one in service.requests
                if "task_key" in one or "task_id" in one.get("context", {})]
        self.assertEqual([one for one in seen if one[1] == first], [(name, first) for name in ("submit", "announce", "announce", "withdraw")])
        self.assertEqual([one for one in seen if one[1] == second], [(name, second) for name in ("submit", "announce", "announce", "withdraw")])
        # Both at once with their submission; again as each starts, and the first takes 3 s.
        starts = [when for index, (one, when) in enumerate(zip(service.requests, service.times))
                  if one["request"] == "announce" and one in service.requests[:index]]
        self.assertGreater(starts[1] - starts[0], 2)

    def test_a_run_that_fails(self):
        service = self.service()
        script = SMALL.replace("sleep 0.5; printf here", "sleep 100") + "process BAD {\n  script:\n  'sleep 0.5; exit 1'\n}\n"
        output = self.ended(self.begin("-ansi-log", "true", script=script.replace("{ ONE()", "{ BAD(); ONE()")), 1)
        ends = {service.submitted[one["task_key"]]["context"]["task"]: one["state"] for one in service.of("withdraw") if "task_key" in one}
        self.assertEqual(ends, {"BAD": "failed", "ONE": "aborted"})
        self.assertEqual(service.of("withdraw")[-1], {"request": "withdraw", "run_key": RUN_KEY, "state": "failed"})
        # Nextflow's table shows these lines alone.
        self.assertIn("NOTE: BAD failed (exit 1): 2s", output)

    def test_beside_another_plugin(self):
        service = self.service()
        self.assertIn("other: on", self.run_nextflow("-plugins", f"nf-tracer@0.2.0,{other_plugin()}", script=SMALL, plugin=False))
        self.assertEqual([one["state"] for one in service.of("withdraw")], ["succeeded", "succeeded"])

    def test_what_runs_when_the_run_is_stopped_is_aborted(self):
        service = self.service()
        run = self.begin("-ansi-log", "false", script=SMALL.replace("0.5", "100"))
        wait_until(lambda: any("task_id" in one["context"] for one in service.of("announce")), "a task")
        time.sleep(1)
        os.kill(run.pid, signal.SIGINT)
        run.communicate(timeout=DEADLINE_SECONDS)
        self.assertEqual([one["state"] for one in service.of("withdraw")], ["aborted", "aborted"])


class WithoutAService(Plugin):
    """The run is the same, and there is one warning."""

    def test_none(self):
        self.assert_only_warning(self.run_small(), r"tracer: can't use the service at .*/tracer.sock: .*TRC140")

    def test_one_that_hangs(self):
        self.service("hung")
        self.assert_only_warning(self.run_small(), "it does not answer in time")
        log = (self.folder / ".nextflow.log").read_text()
        ends = [re.search(rf":(\d\d):(\d\d\.\d+) .*{text}", log) for text in ("all barriers passed", "Execution complete")]
        first, last = (60 * int(one[1]) + float(one[2]) for one in ends)
        self.assertLess((last - first) % 3600, 2 + 10)  # Of which 10 for a machine that is busy.

    def test_one_that_answers_garbage(self):
        service = self.service("nested")
        self.assert_only_warning(self.run_small(), "it answers")
        self.assertTrue(service.of("hello"))

    def test_one_that_is_killed(self):
        """And that begins anew, knowing nothing."""
        first = self.service(dies_after=4)  # At the first task's submission.
        run = self.begin("-ansi-log", "false", script=SMALL.replace("0.5", "12"))
        wait_until(lambda: any("task_id" in one["context"] for one in first.of("submit")), "a task")
        wait_until(lambda: first.is_dead, "its end")
        second = self.service()
        self.assert_only_warning(self.ended(run), "tracer: can't use the service .*: it has closed the connection")
        # Again, as it has started meanwhile.
        self.assertEqual([one["context"].get("task") for one in second.of("announce")], [None, "ONE", "ONE"])
        self.assertEqual([one["state"] for one in second.of("withdraw")], ["succeeded", "succeeded"])

    def test_a_newer_one(self):
        self.service("newer")
        self.assert_only_warning(self.run_small(), r"refuses hello: the service speaks version 2 \[TRC141\]")

    def test_one_that_has_no_room(self):
        service = self.service("full")
        self.assert_only_warning(self.run_small(), r"refuses submit: this user has too many announcements \[TRC142\]")
        self.assertTrue(service.of("announce"))

    def test_an_older_one(self):
        service = self.service("old")
        self.assert_only_warning(self.run_small(), r"the service is older: .*\[TRC142\]")
        self.assertEqual([one["context"].get("task") for one in service.of("announce")], [None, "ONE"])
        self.assertEqual((len(service.of("submit")), service.of("withdraw")), (1, []))

    def run_small(self):
        output = self.run_nextflow(script=SMALL)
        self.assertIn("\nhere", output)
        return output


class WithTheRealService(Plugin, RealService):
    def test_tools_have_the_names_and_requests(self):
        self.begin_service()
        # The kernel knows the folder by its path without a link.
        (self.folder / "real").mkdir()
        (self.folder / "link").symlink_to("real")
        output = self.run_nextflow("-name", "happy_curie", "-with-trace", "trace.tsv", "-w", "link/work")
        self.check(output)

    def check(self, output):
        self.ask("flush")
        rows = [row for row in self.ask("state", rows=["tasks"])["state"]["tasks"] if row.get("run") == "happy_curie"]
        said = {"/".join(row["workdir"].split("/")[-2:]): row for row in self.rows()}
        self.assertEqual(sorted(row["task_id"] for row in rows), sorted(said))
        for row in rows:
            real = said[row["task_id"]]
            self.assertEqual((row["task"], row["step"], row["pipeline"], row["engine"]),
                             (real["name"], real["process"], "main.nf", "nextflow"))
            self.assertEqual(str(row.get("attempt", 1)), real["attempt"])
            self.assertEqual(row["requested"]["millicpus"], 2000 if row["step"] == "ALIGN" else 1000)
            self.assertGreater(row["processes"], 0)
        aligned = [row for row in rows if row["step"] == "ALIGN"]
        self.assertEqual(sorted(row["sample"] for row in aligned), ["S1", "S2"])
        self.assertEqual({(row["requested"]["memory_bytes"], row["labels"]["queue"]) for row in aligned}, {(2 * GIB, "long")})
        self.assertRegex(output, r"\] ALIGN \(S1\) succeeded: \d.*, CPU \d.* of 2, memory (≥ )?\d.* of 2 GB\n")


class WithAServiceSince2504(WithAService):
    version = "25.04.4"


class WithoutAServiceSince2504(WithoutAService):
    version = "25.04.4"


class WithTheRealServiceSince2504(WithTheRealService):
    version = "25.04.4"


def wait_until(holds, what):
    until = time.monotonic() + DEADLINE_SECONDS
    while not holds():
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.05)


if __name__ == "__main__":
    unittest.main()
