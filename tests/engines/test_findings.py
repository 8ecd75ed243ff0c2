# SPDX-License-Identifier: Apache-2.0
"""Failures that real engines are told to ignore: a finding names the right process."""

import unittest

import installed
import nextflow_runs
import support

CRASH = "python3 -c 'import ctypes, resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); ctypes.string_at(0)'"
# It works for a while before it fails, so that it is no question.
FAIL = "python3 -c 'import sys, time; [0 for _ in iter(lambda: time.process_time() < 0.3, False)]; sys.exit(3)'"

NEXTFLOW = f'''
process FAILS {{
  errorStrategy 'ignore'
  script: """{FAIL}"""
}}
process CRASHES {{
  errorStrategy 'ignore'
  script: """{CRASH}"""
}}
process HIDES {{
  script: """
  {CRASH} || true
  {FAIL} || true
  """
}}
workflow {{ FAILS(); CRASHES(); HIDES() }}
'''

SNAKEFILE = f'''
rule all:
    input: "crashed", "failed"
rule crashes:
    output: "crashed"
    shell: """{CRASH.replace("(0, 0)", "(0,0)")} || :; touch {{output}}"""
rule fails:
    output: "failed"
    shell: """{FAIL} || :; touch {{output}}"""
'''


class Findings(support.EngineTest):
    def found(self, trace, step):
        """(code, severity) of what is no note, of the Python process in the task of this step."""
        findings = [each for each in trace.of_kind("finding")
                    if (each["context"] or {}).get("step") == step and each["severity"] != "note"]
        for each in findings:
            self.assertEqual(each["tool"], "python -c", each["text"])
        return sorted((each["code"], each["severity"]) for each in findings)


class Nextflow(Findings):
    @classmethod
    def prepare(cls, workspace):
        engine = nextflow_runs.Nextflow("24.10.0", workspace)
        workspace.file("main.nf", NEXTFLOW)
        cls.trace = engine.run("nextflow-findings", "main.nf")

    def test_what_error_strategy_ignore_hides(self):
        self.assertEqual(self.found(self.trace, "FAILS"), [("first_failure", "warning")])
        self.assertEqual(self.found(self.trace, "CRASHES"), [("core_dumped", "error"), ("first_failure", "warning")])

    def test_what_the_script_hides(self):
        self.assertEqual(self.found(self.trace, "HIDES"), [("core_dumped", "error"), ("silent_failure", "warning")])


class Snakemake(Findings):
    @classmethod
    def prepare(cls, workspace):
        programs = installed.python_engine("snakemake-9", "snakemake>=9,<10")
        workspace.file("Snakefile", SNAKEFILE)
        cls.trace = workspace.run("snakemake-findings", programs / "snakemake", "--cores", "2")

    def test_what_a_rule_hides(self):
        self.assertEqual(self.found(self.trace, "crashes"), [("core_dumped", "error")])
        self.assertEqual(self.found(self.trace, "fails"), [("silent_failure", "warning")])


if __name__ == "__main__":
    unittest.main()
