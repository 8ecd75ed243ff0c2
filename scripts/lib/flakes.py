# SPDX-License-Identifier: Apache-2.0
"""How often a test needed a second try on this machine: one that needs it more than one time in fifty is to be mended."""
import collections
import json
import time

TOO_OFTEN = 1 / 50


class Flakes:
    def __init__(self, folder):
        self.path = folder / "second-tries.jsonl"

    def add(self, step, outcome):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = {"date": time.strftime("%Y-%m-%d %H:%M"), "step": step, "again": outcome.again}
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def lines(self):
        """For each test that ever needed one: how often, of how many runs, and whether that is too often."""
        runs = collections.Counter()
        tries = collections.Counter()
        for line in self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []:
            entry = json.loads(line)
            runs[entry["step"]] += 1
            tries.update((entry["step"], name) for name in entry["again"])
        for (step, name), count in tries.most_common():
            mark = "  MEND" if count > max(1, runs[step] * TOO_OFTEN) else ""
            yield f"{count:3d} of {runs[step]:3d}  {step}: {name}{mark}"
