# SPDX-License-Identifier: Apache-2.0
"""Joins lines of bills with tasks: by run id and task hash in the tags, else by the id of the ECS task."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from .._data import query, quoted
from .._format import counted
from ._database import problem
from ._formats import key_of

__all__ = ["TAGS", "join"]

# Meaning -> names of tags, without a prefix "user" and separators; the first that a bill has counts.
TAGS: dict[str, tuple[str, ...]] = {
    "run": ("uniquerunid", "runid", "nextflowiorunid", "tracerrunid"),
    "hash": ("taskhash", "nextflowiotaskhash", "tracertaskid"),
    "pipeline": ("pipelinename", "pipeline"),
    "step": ("pipelineprocess", "nextflowioprocessname", "process", "step"),
    "sample": ("sample", "pipelinetag"),
    "user": ("user", "username", "owner"),
}


def _tag_keys(connection: Any, given: Mapping[str, str]) -> dict[str, str]:
    bad = connection.execute("SELECT row, tags FROM lines WHERE tags IS NOT NULL AND NOT json_valid(tags) LIMIT 1").fetchone()
    if bad:
        raise problem("TRC130", f"row {bad[0]}: tags are no JSON object: {bad[1][:80]!r}", "export it again")
    found = [row[0] for row in connection.execute(
        "SELECT DISTINCT unnest(json_keys(tags)) FROM (SELECT DISTINCT tags FROM lines WHERE tags IS NOT NULL) ORDER BY 1"
    ).fetchall()]
    by_key: dict[str, str] = {}
    for name in found:
        by_key.setdefault(re.sub("^user", "", key_of(name)) or key_of(name), name)
    keys = {}
    for meaning, names in TAGS.items():
        if meaning in given:
            if given[meaning] not in found:
                raise problem("TRC130", f"no line has the tag {given[meaning]}", f"the bill has: {', '.join(found) or 'no tags'}")
            keys[meaning] = given[meaning]
            continue
        chosen = next((by_key[name] for name in names if name in by_key), None)
        if chosen is not None:
            keys[meaning] = chosen
    return keys


def join(connection: Any, given: Mapping[str, str], notes: list[str]) -> dict[str, int]:
    """Makes the tables `tagged` (lines with what their tags say) and `attempts` (containers of the bill with their task)."""
    keys = _tag_keys(connection, given)

    def tag(meaning: str) -> str:
        if meaning not in keys:
            return "NULL::VARCHAR"
        return f"nullif(json_extract_string(tags, {quoted('$.' + json.dumps(keys[meaning]))}), '')"

    connection.execute(f"""CREATE TABLE tagged AS SELECT *, {tag('run')} AS tag_run,
        left(lower(replace({tag('hash')}, '/', '')), 8) AS tag_hash, {tag('pipeline')} AS tag_pipeline,
        {tag('step')} AS tag_step, {tag('sample')} AS tag_sample, {tag('user')} AS tag_user FROM lines""")
    connection.execute("DROP TABLE lines")
    connection.execute(query(__file__, "attempts"))
    joined, hidden, free = connection.execute(
        "SELECT count(DISTINCT task), count(*) FILTER (hidden), count(*) FILTER (cost = 0) FROM attempts").fetchone()
    facts = {"tasks_joined": joined, "hidden_attempts": hidden, "free_attempts": free}
    if hidden:
        least, most = connection.execute("""SELECT sum(total - largest), sum(total - smallest) FROM (
            SELECT sum(cost) AS total, max(cost) FILTER (last) AS largest, min(cost) FILTER (last) AS smallest FROM (
            SELECT task, cost, t1 = max(t1) OVER (PARTITION BY task) AS last FROM attempts) GROUP BY task HAVING count(*) > 1)
            """).fetchone()
        notes.append(f"{counted(hidden, 'hidden attempt')} in the bill: the engine saw one container for each task. Within an hour, the bill does not "
                     f"say which came last: the hidden ones cost {least:.2f} to {most:.2f}")
    if free:
        notes.append(f"{counted(free, 'attempt')} cost nothing: a spot machine that is taken back within its first hour is free")
    return facts
