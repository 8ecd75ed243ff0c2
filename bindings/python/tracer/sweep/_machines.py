# SPDX-License-Identifier: Apache-2.0
"""Waste that was observed on machines: what they did, and which part of it was tasks'."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._data import query
from ..recommend.shared import has_accelerator
from ._finding import Finding, spoken
from ._recorded import Recorded, machines_of
from ._rules import Rules

__all__ = ["observed"]

_SECOND = 1_000_000
_MINUTE = 60 * _SECOND
_EVER = 2**62
# A longer time without a sample was not observed.
_LONGEST_GAP = 60 * _SECOND
# A finding that was last seen so long before is over.
_FRESH = 120 * _SECOND
_BUCKET = 300 * _SECOND


def observed(recorded: Recorded, rules: Rules, now: int | None, notes: list[str]) -> Iterator[Finding]:
    """Findings at the end of what was recorded of each machine, or `now`."""
    for machine in machines_of(recorded.connection):
        one = _Machine(recorded, rules, machine, now)
        yield from one.findings()
        if one.unknown_gpu:
            notes.append(f"{one.name} has a GPU, and nobody watched it (--families with gpu): whether it is idle is not known")


class _Machine:
    def __init__(self, recorded: Recorded, rules: Rules, facts: dict[str, Any], now: int | None) -> None:
        self._recorded, self._rules, self._facts = recorded, rules, facts
        self._key = str(facts["machine"])
        self._now = now
        self.name = str(facts["instance"] or facts["host_name"] or self._key)
        self.unknown_gpu = False
        recorded.connection.execute("CREATE OR REPLACE TEMP TABLE seen AS SELECT * FROM host_samples WHERE machine = ? AND t1 <= ?",
                                    [self._key, now if now is not None else _EVER])
        self._last, self._first = recorded.connection.execute("SELECT max(t1), min(t0) FROM seen").fetchall()[0]

    def findings(self) -> Iterator[Finding]:
        yield from self._held()
        if self._last is None:
            return
        yield from self._idle()
        yield from self._underfilled()

    def _ask(self, query: str, *values: object) -> Any:
        return self._recorded.connection.execute(query, values).fetchall()[0]

    def _finding(self, code: str, since: int, until: int, certainty: str, **facts: object) -> Finding:
        rule = self._rules.of[code]
        said = {"machine": self.name, "for": spoken((until - since) // _SECOND), **facts}
        return Finding(
            finding=code, machine=self.name, host=self._facts["host_name"], instance=self._facts["instance"],
            instance_type=self._facts["instance_type"], since=since, until=until, certainty=certainty,
            text=rule.say(rule.text, said), advice=rule.say(rule.advice, said),
            evidence={key: value for key, value in facts.items() if value is not None and key not in ("task", "run", "system_percent")})

    def _watched_since(self) -> int:
        """Since when without a gap."""
        gap = self._ask(f"SELECT max(t0) FROM (SELECT t0, t0 - lag(t1) OVER (ORDER BY t1) AS gap FROM seen) WHERE gap > {_LONGEST_GAP}")[0]
        return int(self._first if gap is None else gap)

    def _idle(self) -> Iterator[Finding]:
        worked = self._ask("SELECT max(t1) FROM seen WHERE tasks > 0 OR task_cpu_ns > 0 OR task_cpu_ns IS NULL")[0]
        watched = self._watched_since()
        booted, limit = int(self._facts["booted"]), self._rules.limit
        from_boot = watched - booted <= limit("never-worked", "latest_watch_s") * _SECOND
        never = worked is None and from_boot
        since = booted if never else max(worked or 0, watched)
        least = limit("never-worked" if worked is None else "idle-since", "least_s") * _SECOND
        # A machine that boots is never idle yet, whenever the watch began.
        if self._last - (booted if worked is None else since) < least or self._last - since < limit("idle-since", "least_s") * _SECOND:
            return
        gpu_free = self._gpu_free_since()
        if gpu_free is None:
            return
        if gpu_free > since:
            never, since = False, gpu_free
            if self._last - since < limit("idle-since", "least_s") * _SECOND:
                return
        system, outside = self._system(since)
        foreign = [minute for minute, millicpus in outside.items() if millicpus > limit("idle-since", "most_system_millicpus")]
        if foreign:
            # Somebody works here without a run: it is not idle, and it has worked.
            never, since = False, max(since, max(watched, since) + (max(foreign) + 1) * _MINUTE)
            if self._last - since < limit("idle-since", "least_s") * _SECOND:
                return
            system = self._millicpus(since)
        quiet = limit("never-worked" if never else "idle-since", "most_system_millicpus")
        run, pipeline, uid = self._last_work(since)
        code = "trickle" if system > quiet else "never-worked" if never else "idle-since"
        if code == "trickle" and system > limit("trickle", "most_system_millicpus"):
            return
        certainty = "high" if from_boot or worked is not None else "medium"
        found = self._finding(code, since, self._last, certainty, system_millicpus=round(system), system_percent=round(system / 10), run=run,
                              uptime_s=(self._last - booted) // _SECOND, watched_since_s=(self._last - watched) // _SECOND)
        found.run, found.pipeline, found.started_by = run, pipeline, None if uid is None else f"uid {uid}"
        yield found

    def _gpu_free_since(self) -> int | None:
        """0: none is there, or none was used; None: one is there, and it is not known."""
        samples, last = self._recorded.gpu_uses_of(self._key, self._last)
        if not samples and has_accelerator(str(self._facts["instance_type"])):
            self.unknown_gpu = True
            return None
        return int(last or 0)

    def _millicpus(self, since: int) -> float:
        """Used outside of tasks, on average."""
        used, elapsed = self._ask("""SELECT sum(system_cpu_ns)::DOUBLE, sum(t1 - t0)::DOUBLE FROM seen
            WHERE t0 >= ? AND system_cpu_ns IS NOT NULL""", since)
        return float(used) / float(elapsed) if used and elapsed else 0.0

    def _system(self, since: int) -> tuple[float, dict[int, float]]:
        """What was used outside of tasks, in millicpus; and of this, what was not the machine's own, by minute of the watch."""
        begin = max(since, self._watched_since())
        busiest = self._ask("""SELECT max(system_cpu_ns::DOUBLE / nullif(t1 - t0, 0)) FROM seen
            WHERE t0 >= ? AND t1 - t0 >= 1000000""", begin)[0]
        outside: dict[int, float] = {}
        # Processes are looked at only where they can matter.
        if busiest is not None and float(busiest) > self._rules.limit("idle-since", "most_system_millicpus"):
            for minute, cgroup, cpu_ns in self._recorded.outside_of(self._key, begin, self._last):
                if not self._rules.is_system(cgroup):
                    outside[minute] = outside.get(minute, 0) + cpu_ns / _MINUTE
        return self._millicpus(begin), outside

    def _last_work(self, until: int) -> tuple[str | None, str | None, int | None]:
        row = self._recorded.connection.execute(
            "SELECT run, pipeline, uid FROM works WHERE machine = ? AND ended <= ? ORDER BY ended DESC LIMIT 1",
            [self._key, until + _FRESH]).fetchall()
        return row[0] if row else (None, None, None)

    def _held(self) -> Iterator[Finding]:
        end = self._facts["last"]
        if end is None:
            return
        if self._now is not None:
            end = min(end, self._now)
        least = self._rules.limit("held", "least_s") * _SECOND
        rows = self._recorded.connection.execute(
            """SELECT task, run, pipeline, uid, tool, waits_for, confidence, t0, least(max(t1), ?) FROM stalls
            WHERE machine = ? AND t0 <= ? AND t1 >= ? AND coalesce(ended > ?, true) GROUP BY ALL ORDER BY t0, task""",
            [end, self._key, end - least, end - _FRESH, end]).fetchall()
        # What tasks began is looked at only where some live.
        if self._last is None or self._ask("SELECT max(tasks) FROM seen WHERE t1 >= ?", end - _FRESH)[0]:
            known = {row[0] for row in rows}
            rows += [row for row in self._recorded.pollers_of(self._key, end, least, _FRESH) if row[0] not in known]
        whole = self._last is not None and rows and not self._ask(
            "SELECT count(*) FROM seen WHERE t0 >= ? AND task_cpu_ns > (t1 - t0) * 10", rows[0][7])[0]
        for number, (task, run, pipeline, uid, tool, waits_for, confidence, t0, t1) in enumerate(rows):
            gpu_free = self._gpu_free_since()
            if gpu_free is None:
                confidence = "low"
            elif gpu_free > t0:
                # It may wait for that.
                continue
            found = self._finding("held", t0, t1, str(confidence), task=task or "a task", run=run, tool=tool,
                                  waits_for=waits_for)
            found.task, found.run, found.pipeline, found.started_by = task, run, pipeline, None if uid is None else f"uid {uid}"
            # The machine is lost once, and only where nothing else works on it.
            found.share = 1.0 if whole and number == 0 else None
            yield found

    def _underfilled(self) -> Iterator[Finding]:
        least = self._rules.limit("underfilled", "least_s") * _SECOND
        shares = self._shares(False)
        # Requests are looked at only where they can matter.
        if len(shares) * _BUCKET >= least:
            self._recorded.read_living_requests(self._key)
            shares = self._shares(True)
        since = self._last - len(shares) * _BUCKET
        # The oldest of them may begin with what was before.
        since = self._low_since(since)
        gpu_free = self._gpu_free_since() if self._last - since >= least else None
        if gpu_free is None:
            return
        since = max(since, gpu_free)
        if self._last - since < least:
            return
        by_cpu, by_memory = (sum(each[place] for each in shares) / len(shares) for place in (0, 1))
        held_share = max(by_cpu, by_memory)
        found = self._finding("underfilled", since, self._last, "high", held_percent=round(100 * held_share),
                              binding="CPUs" if by_cpu >= by_memory else "memory", cpu_percent=round(100 * by_cpu),
                              memory_percent=round(100 * by_memory))
        found.share = 1 - held_share
        found.run, found.pipeline, uid = self._last_work(self._last)
        found.started_by = None if uid is None else f"uid {uid}"
        yield found

    def _low_since(self, bucket: int) -> int:
        """The last sample in it in which tasks held enough."""
        row = self._ask("""SELECT max(t1) FROM seen WHERE t1 > ? AND t0 < ? AND
            100 * greatest(task_cpu_ns::DOUBLE / 1000 / nullif((t1 - t0) * cpus, 0), task_memory_bytes::DOUBLE / memory_bytes) >= ?""",
                        bucket, bucket + _BUCKET, self._rules.limit("underfilled", "most_percent"))
        return int(row[0]) if row[0] is not None else bucket

    def _shares(self, with_requests: bool) -> list[tuple[float, float]]:
        """What tasks held of CPUs and memory, back from the end to where it was enough, or is not known."""
        rows = self._recorded.connection.execute(query(__file__, "shares", bucket=_BUCKET), [self._last]).fetchall()
        most = self._rules.limit("underfilled", "most_percent")
        requested = self._requested(len(rows)) if with_requests else {}
        shares: list[tuple[float, float]] = []
        for number, (bucket, elapsed, capacity, cpu, cpu_known, tasks, memory, memory_known, cpus, size) in enumerate(rows):
            # So far back, nobody watched, nothing ran, or it is not known what.
            if bucket != number or elapsed < 0.9 * _BUCKET or not tasks or not (cpu_known and memory_known and capacity):
                break
            of_cpus, of_memory = requested.get(bucket, (0.0, 0.0))
            held = max(cpu / capacity, of_cpus / cpus), max(memory / elapsed, of_memory / size if size else 0)
            if 100 * max(held) >= most:
                break
            shares.append(held)
        return shares

    def _requested(self, buckets: int) -> dict[int, tuple[float, float]]:
        """CPUs and bytes that tasks had requested, on average, in each bucket back from the end."""
        rows = self._recorded.connection.execute(query(__file__, "requested", bucket=_BUCKET, last=self._last),
                                                 [buckets, self._key]).fetchall()
        return {bucket: ((cpus or 0) / _BUCKET, (memory or 0) / _BUCKET) for bucket, cpus, memory in rows}
