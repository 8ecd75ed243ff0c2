# SPDX-License-Identifier: Apache-2.0
"""Which process the first sentence names where handlers, substitutions, pools and watchdogs stand between a failure and its script,
and of what nothing is said."""

import json
import shutil
import subprocess

import support
from support import PYTHON

ALIGN = """
import sys, time
began = time.process_time()
while time.process_time() - began < 0.3: pass
sys.exit(int(sys.argv[1]))
"""
# Each ends with a status other than 0, since align.py ended with 3.
HANDLED = {
    "die": 'die() { echo "$1" >&2; date >> failed.log; exit 1; }\nALIGN 0 || die first\nALIGN 3 || die second\n',
    "trap ERR": "set -e; trap 'rm -f tmp; date >> failed.log; exit 1' ERR\nALIGN 3\n",
    "trap EXIT": "set -e; trap 'rm -rf tmp; sleep 0.2' EXIT\nALIGN 3\n",
    "if not": "if ! ALIGN 3; then mkdir -p logs; cp failed.log logs 2> /dev/null || true; exit 2; fi\n",
    "status in a variable": "ALIGN 3; rc=$?\nif [ $rc -ne 0 ]; then echo failed > state; exit 7; fi\n",
    "wait -n": "ALIGN 3 & sleep 30 & B=$!\nif ! wait -n; then kill $B; pkill -P $$; exit 1; fi\n",
    "wait PID": "ALIGN 3 & P=$!\nseq 1 1000 > out\nwait $P || { rm -f out; exit 1; }\n",
    "the others are ended": "ALIGN 3 & seq 1 1000000000 | md5sum > o & B=$!\n"
                            "if ! wait -n; then kill $B 2> /dev/null || true; pkill -P $$ || true; exit 1; fi\n",
    "substitution": "set -e\nx=$(ALIGN 3)\necho $x\n",
    "substitution and die": "x=$(ALIGN 3) || { echo no x >&2; exit 1; }\n",
    "pipefail": "set -eo pipefail\nALIGN 3 | cat > out\n",
    "PIPESTATUS": "ALIGN 3 | cat > out\n[ ${PIPESTATUS[0]} = 0 ] || exit 1\n",
    "function": "step() { ALIGN 3 || return 1; }\nstep || exit 1\n",
    "subshell": "( ALIGN 3 || exit 5; true ) || exit 1\n",
    "parent script": "bash -c 'ALIGN 3 || exit 9' || exit 1\n",
    "python": "exec PYTHON -c \"import subprocess; subprocess.run(['PYTHON', 'align.py', '3'], check=True)\" 2> /dev/null\n",
    "python through bash": "exec PYTHON -c \"import subprocess; subprocess.run('ALIGN 3; exit \\$?', shell=True, check=True)\" 2> /dev/null\n",
    "xargs": "echo 3 | xargs -n 1 ALIGN || exit 1\n",
    "retried in vain": "for i in 1 2 3; do ALIGN 3 && break; sleep 0.1; [ $i = 3 ] && exit 1; done\n",
    "find": "find align.py -exec ALIGN 3 \\; -quit; ALIGN 3 || exit 1\n",
}


class Handlers(support.TestCase):
    def setUp(self):
        super().setUp()
        self.align = self.write("align.py", ALIGN)
        self.write("failed.log", "")

    def first_finding(self, script):
        script = self.write("s.sh", script.replace("ALIGN", f"{PYTHON} align.py").replace("PYTHON", PYTHON))
        result = self.tracerd("run", "--no-live", "--no-history", "--report", "r.json", "--", "bash", script, cwd=self.folder)
        with open(self.path("r.json"), encoding="utf-8") as file:
            return result, json.load(file)

    def test_the_cause_is_named_first(self):
        for name, script in HANDLED.items():
            with self.subTest(handler=name):
                result, report = self.first_finding(script)
                self.assertNotEqual(result.returncode, 0, result.stderr)
                self.assertTrue(report["findings"], result.stderr)
                self.assertRegex(report["findings"][0]["text"], r"failed: align\.py \(pid \d+\) in it ended with status 3", result.stderr)
                self.assertIn("s.sh failed (status", report["verdict"])

    def test_an_engine_that_fails_by_itself(self):
        self.write("snakemake", "import subprocess, sys\nsubprocess.run(['/bin/bash', '-c', 'set -euo pipefail; sort /etc/passwd > o'])\n"
                                "sys.exit('MissingInputException')\n")
        self.write("Snakefile", "rule a:\n    output: 'o'\n    shell: 'sort /etc/passwd > {output}'\n")
        result = self.tracerd("run", "--no-live", "--no-history", "--", PYTHON, "snakemake", "--cores", "1", cwd=self.folder)
        self.assertRegex(result.stderr, r"\nSnakefile failed \(status 1\) in ")

    def test_a_script_that_fails_by_itself_is_its_own_cause(self):
        work = f"{PYTHON} align.py 0"
        for script in (f"ls nowhere 2> /dev/null\n{work}\nexit 4\n", f"{work}\nexit 4\n",
                       "perl -e 'exit 2' x\nsort /dev/null\nif ! grep -q genome failed.log; then exit 4; fi\n"):
            with self.subTest(script=script):
                _, report = self.first_finding(script)
                self.assertRegex(report["findings"][0]["text"], r"^run s\.sh failed: s\.sh \(pid \d+\) in it ended with status 4")


class NoFailures(support.TestCase):
    def report(self, *command):
        result = self.tracerd("run", "--no-live", "--no-history", "--report", "r.json", "--", *command, cwd=self.folder)
        with open(self.path("r.json"), encoding="utf-8") as file:
            report = json.load(file)
        return result, report

    def assert_none(self, *command):
        result, report = self.report(*command)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual((report["failures_seen"], report["findings"]), (0, []), result.stderr)
        self.assertRegex(report["verdict"], r" succeeded \(status 0\) in ")
        return result

    def test_who_is_asked_for_its_version(self):
        usage = self.write("usage.c", '#include <stdio.h>\nint main(int c, char** v) { for (int i = 0; i < 20; i++) '
                                      'fprintf(stderr, "Usage: index, mem, sampe, and so on\\n"); return c == 1 || v[1][0] == \'-\'; }\n')
        subprocess.run(["cc", "-o", self.path("bwa"), usage], check=True)
        for script in ("x=$(./bwa 2>&1 | head -3); true", "echo $(echo $(./bwa 2>&1) | sed s/Usage//)", "x=$(./bwa --version 2>&1); true",
                       "./bwa -h 2> /dev/null || true", "perl -e 'exit 1' -- --version; true"):
            with self.subTest(script=script):
                self.assert_none("bash", "-c", script)

    def test_one_that_fails_with_arguments_is_no_question(self):
        for script in ("perl -e 'exit 1' in.bam; true", "perl -e 'exit 1' -- --version 2; true", f"{PYTHON} fork.py; true"):
            with self.subTest(script=script):
                self.write("fork.py", "import multiprocessing, sys\nif __name__ == '__main__':\n"
                                      "    p = multiprocessing.Process(target=sys.exit, args=('no input',)); p.start(); p.join()\n")
                result, report = self.report("bash", "-c", script)
                self.assertEqual(report["failures_seen"], 1, result.stderr)

    def test_an_exec_that_fails_and_is_caught(self):
        self.write("opt.py", "import subprocess\ntry: subprocess.run(['pigz-nope'])\nexcept FileNotFoundError: pass\n")
        self.write("opt.pl", "system('pigz-nope', '-V') == -1 or die;\n")
        self.write("opt.js", "const r = require('child_process').spawnSync('pigz-nope'); if (!r.error) process.exit(1);\n")
        for words in ((PYTHON, "opt.py"), ("perl", "opt.pl"), ("node", "opt.js")):
            if shutil.which(words[0]):
                with self.subTest(words=words):
                    self.assert_none(*words)

    def test_workers_that_a_pool_ends(self):
        self.write("pool.py", "import multiprocessing as m\nif __name__ == '__main__':\n    with m.Pool(2) as p: p.map(abs, range(8))\n")
        self.assert_none(PYTHON, "pool.py")

    def test_a_server_that_a_script_ends(self):
        self.assert_none("bash", "-c", "sleep 60 & P=$!; sleep 0.2; kill -9 $P; wait $P 2> /dev/null; true")


class Told(support.TestCase):
    def run_script(self, script):
        return self.tracerd("run", "--no-live", "--no-history", "--", "bash", "-c", script, cwd=self.folder)

    def test_what_is_killed_while_it_computes(self):
        self.write("align.py", "while True: pass\n")
        self.write("wf.py", "import subprocess, sys\ntry: subprocess.run([sys.executable, 'align.py'], timeout=1)\n"
                            "except subprocess.TimeoutExpired: pass\n")
        for script in (f"{PYTHON} wf.py", f"{PYTHON} align.py & P=$!; ( sleep 1; kill -9 $P ) & wait $P 2> /dev/null; sort /etc/passwd > out"):
            with self.subTest(script=script):
                result = self.run_script(script)
                self.assertRegex(result.stderr, r"note: run .* ended with status 0, but align\.py \(pid \d+\) in it was ended by SIGKILL, sent by ")

    def test_the_worst_comes_first(self):
        result = self.run_script("ls nowhere 2> /dev/null; perl -e 'exit 3' x; perl -e 'kill 9, $$' y; ls nowhere 2> /dev/null; true")
        self.assertRegex(result.stderr, r"but perl -e \(pid \d+\) in it was ended by SIGKILL, sent by itself; bash -c went on; 3 more failed: ")

    def test_all_are_counted(self):
        result = self.tracerd("run", "--no-live", "--no-history", "--report", "r.json", "--", "bash", "-c",
                              "for i in $(seq 150); do ls nowhere 2> /dev/null; done; true", cwd=self.folder)
        with open(self.path("r.json"), encoding="utf-8") as file:
            finding = json.load(file)["findings"][0]
        self.assertEqual((finding["code"], finding["count"]), ("silent_failure", 150), result.stderr)
        self.assertIn("149 more failed: ls", finding["text"])

    def test_a_library_that_is_missing(self):
        self.write("f.c", "int f(void) { return 0; }\n")
        self.write("m.c", "int f(void); int main(void) { return f(); }\n")
        for words in ("-shared -fPIC -o libgone.so f.c", "-o samtools m.c -L. -lgone"):
            subprocess.run(["cc", *words.split()], cwd=self.folder, check=True)
        subprocess.run(["rm", self.path("libgone.so")], check=True)
        result = self.tracerd("run", "--no-live", "--no-history", "--step", "sort", "--", "bash", "-c", "set -e; ./samtools sort x; true", cwd=self.folder)
        self.assertRegex(result.stderr, r"samtools sort \(pid \d+\) could not start")
        self.assertNotIn("was not found", result.stderr)
        result = self.tracerd("run", "--no-live", "--no-history", "--step", "sort", "--", "bash", "-c", "no-such-tool; true", cwd=self.folder)
        self.assertRegex(result.stderr, r"bash -c \(pid \d+\) ran a command that was not found")

    def test_who_runs_a_command_that_is_not_there(self):
        for wrapper in ("nohup", "stdbuf -oL", "taskset -c 0", "env"):
            with self.subTest(wrapper=wrapper):
                result = self.run_script(f"{wrapper} no-such-tool 2> /dev/null; true")
                self.assertNotIn("could not start", result.stderr)
                self.assertIn("ran a command that was not found", result.stderr)

    def test_a_status_above_128_is_explained(self):
        result = self.run_script("set -e; perl -e 'exit 137' x; true")
        self.assertIn("ended with status 137 (128 + SIGKILL)", result.stderr)
        self.assertIn("137 is the status of what was killed", " ".join(result.stderr.split()))

    def test_advice_knows_that_a_shell_is_careful(self):
        result = self.run_script("true")
        self.assertEqual(result.returncode, 0)
        careful = self.tracerd("run", "--no-live", "--no-history", "--", "bash", "-euo", "pipefail", "-c", "perl -e 'exit 3' x || true; true", cwd=self.folder)
        self.assertIn("something hides this one, such as || true", " ".join(careful.stderr.split()))
        self.assertNotIn("set -euo pipefail\n", careful.stderr)


if __name__ == "__main__":
    support.main()
