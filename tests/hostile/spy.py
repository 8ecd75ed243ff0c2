#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A user who wants to read another: spy.py WORLD. Asks for all that the service answers, and for what is the other's, until it is
killed. Replies are in the file `replies`, the stream in `stream`, what was granted that must not be in `granted`."""

import json
import os
import sys
import threading

from client import Client

PATIENCE_SECONDS = 60


def follow(path):
    with Client(path) as client, open("stream", "wb") as file:
        client.ask("subscribe", living_first=True, **{"from": 1})
        client.copy_to(file, lambda: True)


def taken(world):
    """What the other's replies to `state` have."""
    try:
        with open(world["victim_folder"] + "/taken", encoding="ascii") as file:
            return json.load(file)
    except OSError:
        return {"since": "", "keys": []}


def has_rows_of(state, keys):
    rows = [row for name in ("runs", "tasks", "findings") for row in state.get(name, [])]
    shown = {value for row in rows for value in (row.get("run_key"), row.get("task_key"), *(row.get("context") or {}).values())
             if isinstance(value, str)}
    return bool(shown & set(keys))


def questions(world, theirs):
    """With whether they must be refused."""
    stolen = {"task": "stolen"}
    for name in ("totals", "statistics", "status", "snapshot", "findings", "history", "state"):
        yield name, {}, False
    for fields in ({"rows": ["tasks", "nothing"]}, {"fields": ["cpu_ns"] * 20000}, {"fields": ["x" * 200000]}, {"key": "z" * 16},
                   {"since": "x" * 100000}, {"since": "\u202e.-1"}):
        yield "state", fields, False
    for key in taken(world)["keys"][-20:]:
        yield "state", {"key": key, "since": taken(world)["since"]}, False
    mark = world["victim_mark"]
    yield "history", {"pipeline": mark + "-pipeline", "step": mark + "-step", "input_bytes": 1}, False
    for key in ({"pid": theirs}, {"work_dir": world["victim_folder"]}, {"work_dir": world["victim_folder"] + "/x"},
                {"below": {"pid": theirs}, "argv": ["..."]}, {"cgroup": "/"}, {"slurm_job": "1"}, {"container": "0123456789ab"}):
        yield "announce", {"key": key, "context": stolen}, True
    yield "attach", {"pid": theirs, "context": stolen}, True
    yield "label", {"tid": theirs, "context": stolen}, True
    for number in range(1, 6):
        yield "resume_label", {"label": number, "tid": theirs}, True


def look(world):
    theirs = world["victim"]
    with (Client(world["socket"], PATIENCE_SECONDS) as client, open("replies", "ab") as replies,
          open("granted", "a", encoding="utf-8") as granted):
        for name, fields, forbidden in questions(world, theirs):
            reply = client.ask(name, **fields)
            replies.write(json.dumps([name, fields if not forbidden else {}, reply]).encode() + b"\n")
            if name == "state" and reply["ok"]:
                forbidden = has_rows_of(reply["state"], taken(world)["keys"]) or any(
                    reply["state"].get(part) for part in ("processes", "files", "peers") if fields.get("key"))
            if forbidden and reply["ok"]:
                granted.write(json.dumps([name, fields]) + "\n")
    rules = ({"uid": world["victim_uid"]}, {"tree": theirs}, {"argument": f"*{world['victim_mark']}*"})
    for number, rule in enumerate(rules):
        with Client(world["socket"], PATIENCE_SECONDS) as client, open(f"filtered-{number}", "wb") as file:
            if client.ask("subscribe", living_first=True, filter=[{"include": rule}])["ok"]:
                client.copy_to(file, iter((True, True, False)).__next__)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        world = json.load(file)
    os.chdir(world["folder"])
    threading.Thread(target=follow, args=(world["socket"],), daemon=True).start()
    while True:
        try:
            look(world)
        except (OSError, EOFError) as error:
            print(repr(error), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
