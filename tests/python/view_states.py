# SPDX-License-Identifier: Apache-2.0
"""States made up for tests of views: as a source gives them, see docs/state.md."""

S = 1_000_000_000
T0 = 5_000 * S  # By the boot clock.


def times(**shares):
    """`time` of a row: {"disk": 0.7, "CPU": 0.3} of 100 s."""
    return [{"cause": cause.replace("_", " "), "time_ns": int(share * 100 * S), "share": share}
            for cause, share in sorted(shares.items(), key=lambda each: -each[1])]


def row(identity, name, **more):
    figures = {"processes": 1, "living": 0, "wall_ns": 90 * S, "lives_ns": 90 * S, "cpu_ns": 45 * S, "cpu_utilization": 0.5,
               "memory_bytes": 1 << 30, "read_bytes": 5 << 20, "written_bytes": 1 << 20, "failed": 0}
    return {"id": identity, "name": name} | figures | more


def run_of(identity="1", name="main.nf amber", state="running", **more):
    return row(identity, name, run_key=f"{int(identity):016x}", state=state, first_start_ns=T0, start_ns=T0,
               time=times(disk=0.6, CPU=0.4), **more)


def step_of(run, name, **more):
    return row(f"{run}/{name}", name, step=name, time=times(CPU=0.9, disk=0.1), tasks=2, first_start_ns=T0, **{"in": run}, **more)


def task_of(identity, name, step, run="1", state="finished", **more):
    at = T0 + int(identity) * S
    if state == "queued":
        nothing = {"processes": 0, "living": 0, "cpu_ns": 0, "failed": 0, "read_bytes": 0, "written_bytes": 0}
        return {"id": identity, "name": name, "in": run, "step": step, "state": state, "submitted_ns": at,
                "task_key": f"{int(identity):016x}"} | nothing | more
    return row(identity, name, step=step, state=state, task_key=f"{int(identity):016x}", run_key=f"{1:016x}", first_start_ns=at,
               start_ns=at, last_end_ns=at + 90 * S, time=times(CPU=0.75, disk=0.25), **{"in": run}, **more)


def finding_of(key, text, severity="error", code="oom_kill", state="closed", **more):
    return {"finding_key": f"{key:016x}", "time_ns": T0 + 10 * S, "first_ns": T0 + 10 * S, "last_ns": T0 + 11 * S, "code": code,
            "severity": severity, "confidence": "high", "subject": "task", "state": state, "count": 1, "text": text,
            "evidence": [{"name": "limit_bytes", "value": 8 << 30, "unit": "bytes"}], "advice": "ask for more memory"} | more


class Fixed:
    """A source that replies with what it is told, and with changes since."""

    def __init__(self, runs=(), steps=(), tasks=(), findings=(), detail=None, **counts):
        self.rows = {"runs": list(runs), "steps": list(steps), "tasks": list(tasks)}
        self.findings = list(findings)
        self.counts = {"processes": 7, "living": 3, "failed": 1, "runs": 1, "tasks": 7, "dropped": 0, "lost": {}} | counts
        self.detail = detail or {}
        self.raises = None
        self.asked = []
        self.whole = True

    def state(self, since=None, rows=None, key=None, fields=None):
        self.asked.append((since, rows, key, fields))
        if self.raises is not None:
            raise self.raises
        if rows == ["counts"]:
            return {"since": "x", "all": True, "more": False, "counts": self.counts} | self.detail
        everything = since is None or self.whole
        self.whole = False
        nothing = {"runs": [], "steps": [], "tasks": []}
        return {"since": "1", "all": everything, "more": False, "counts": self.counts,
                "findings": self.findings if everything else []} | (self.rows if everything else nothing)

    def change(self, **lists):
        """The next reply is whole again."""
        self.findings = lists.pop("findings", self.findings)
        self.rows |= lists
        self.whole = True


def pipeline():
    """One run: a step of which one task failed, one stalled, two are over; one step that waits."""
    asked = {"requested": {"millicpus": 2000, "memory_bytes": 8 << 30}}
    tasks = [task_of("11", "ALIGN (S1)", "ALIGN", outcome="failed", sample="S1", **asked),
             task_of("12", "ALIGN (S2)", "ALIGN", state="running", living=1, sample="S2", **asked),
             *[task_of(str(20 + number), f"ALIGN (D{number})", "ALIGN", outcome="succeeded", **asked) for number in range(4)],
             task_of("31", "SORT (S1)", "SORT", state="running", living=2),
             *[task_of(str(40 + number), f"SORT (Q{number})", "SORT", state="queued", **asked) for number in range(5)]]
    findings = [finding_of(1, "SAMTOOLS (S1) was killed as memory had run out", task_key=f"{11:016x}", step="ALIGN"),
                finding_of(2, "ALIGN (S2) stands still", "warning", "stalled", "open", task_key=f"{12:016x}"),
                finding_of(3, "it is worth knowing", "note", "cpu_contention")]
    return Fixed([run_of()], [step_of("1", "SORT", expected=12), step_of("1", "ALIGN")], tasks, findings)


PATHS = {f"{1:016x}": {"basis": "files", "length_ns_at_least": 200 * S, "length_ns_at_most": 300 * S, "tasks": [
    {"task_key": f"{21:016x}", "name": "ALIGN (D1)", "begin_ns": T0, "end_ns": T0 + 150 * S},
    {"task_key": f"{31:016x}", "name": "SORT (S1)", "begin_ns": T0 + 150 * S, "last_ns": T0 + 200 * S}]}}
"""Critical paths of pipeline(), by their run."""
