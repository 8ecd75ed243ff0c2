#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a small recording for tests/unit/recorded_engines_test.cpp of what a run of these tests has kept.

  TRACER_ENGINES_KEEP=FOLDER python3 -m unittest test_nextflow.py
  ./shrink.py FOLDER/nextflow-24.10.0-traced.json > ../data/engines/nextflow-24.10.toml

Processes are numbered anew, and what names the machine is replaced. Of processes of the engine's own only the first few
of each tool stay, and those above others that stay."""

import json
import pathlib
import re
import sys

MOST_ALIKE = 2
LONGEST = 400  # of a word
FIELDS = ("pipeline", "run", "step", "task", "sample", "engine")
REPLACED = [(re.compile(r"/[\w./-]*/libtracer-engine-\w+"), "/data/run"),
            (re.compile(r"/[\w./-]*/libtracer-engines/[\w.-]+"), "/opt/engine"),
            (re.compile(r"/[\w./-]*/\.?pyenv/versions/[\w.]+"), "/usr"),
            (re.compile(r"/tmp/[\w.-]+"), "/tmp/x"),
            (re.compile(r"slurm_\w+/uid"), "slurm_node1/uid"),
            (re.compile(r"^host: .*"), "host: node1"),
            (re.compile(r"--test [0-9a-f]+"), "--test 0"),
            (re.compile(r"^[0-9a-f]{12}$"), "0")]


def clean(text):
    for pattern, replacement in REPLACED:
        text = pattern.sub(replacement, text)
    return text if len(text) <= LONGEST else text[:LONGEST // 2] + "…"


def quoted(value):
    return json.dumps(clean(value) if isinstance(value, str) else [clean(word) for word in value], ensure_ascii=False)


class Run:
    def __init__(self, path):
        self.events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[1:]]
        notes = path.with_suffix(".notes")
        self.notes = json.loads(notes.read_text(encoding="utf-8")) if notes.exists() else {}
        self.numbers = {}
        # A session's own cgroup, in which nothing is told apart.
        cgroups = [event["cgroup"] for event in self.events if event.get("cgroup")]
        self.common = max(set(cgroups), key=cgroups.count)

    def kept(self):
        """Identities of the processes that stay."""
        parents = {}
        own = {}
        tools = {}
        for event in self.events:
            if event["kind"] == "process_start":
                parents[self.who(event)] = (event["parent_pid"], event["parent_start_ns"])
            elif event["kind"] == "process_exit":
                own[self.who(event)] = bool(event["context"] and event["context"]["engine_own"])
                tools[self.who(event)] = event["tool"]
        seen = {}
        kept = set()
        for who in parents:
            if own.get(who):
                seen[tools[who]] = seen.get(tools[who], 0) + 1
                if seen[tools[who]] > MOST_ALIKE:
                    continue
            while who in parents and who not in kept:
                kept.add(who)
                who = parents[who]
        return kept

    @staticmethod
    def who(event):
        return event["pid"], event["start_ns"]

    def number(self, who):
        return self.numbers.setdefault(who, 100 + len(self.numbers))

    def print(self):
        kept = self.kept()
        print("# SPDX-License-Identifier: Apache-2.0\n# Made by tests/engines/shrink.py.\nschema = 1")
        print("note = [")
        for path, lines in self.notes.items():
            print(f"  {{ path = {quoted(path)}, lines = {quoted(lines)} }},")
        print("]\nevent = [")
        for event in self.events:
            kind = event["kind"].removeprefix("process_")
            if not event["kind"].startswith("process_") or kind == "sample" or self.who(event) not in kept:
                continue
            line = [f"kind = {quoted(kind)}, pid = {self.number(self.who(event))}"]
            if kind == "start" and (event["parent_pid"], event["parent_start_ns"]) in self.numbers:
                line.append(f"parent = {self.number((event['parent_pid'], event['parent_start_ns']))}")
            if kind == "exec":
                line += [f"{name} = {quoted(event[name])}" for name in ("exe", "argv", "cwd") if event[name]]
            if kind in ("start", "exec"):
                cgroup = event["cgroup"] or ""
                line.append(f"cgroup = {quoted('/user.slice' if cgroup == self.common else cgroup)}")
            if kind == "exit":
                line.append(f"status = {event['exit_code'] if event['exit_code'] is not None else 128 + event['exit_signal']}")
                context = event["context"] or {}
                said = [(name, context[name]) for name in FIELDS if context.get(name)]
                said += [("attempt", str(context["attempt"]))] if context.get("attempt") else []
                # A log is kept as it was at the end, and tells of later attempts, too.
                said = [one for one in said if event["provenance"] and event["provenance"][one[0]] != "inferred" or
                        one[0] not in ("attempt", "task_id")]
                if context.get("task_id") and event["provenance"]["task_id"] != "inferred":
                    said.append(("task_id", context["task_id"]))
                said.append(("own", "true" if context.get("engine_own") else "false"))
                line.append("expect = { " + ", ".join(f"{name} = {quoted(value)}" for name, value in said) + " }")
            print("  { " + ", ".join(line) + " },")
        print("]")


if __name__ == "__main__":
    Run(pathlib.Path(sys.argv[1])).print()
