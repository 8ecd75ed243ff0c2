# SPDX-License-Identifier: Apache-2.0
"""Recordings that are kept, and all that tracerd prints of them: tests/data/recordings."""

import contextlib
import json
import lzma
import os
import re
import subprocess

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data/recordings")
SECONDS = 120
MOST_ASKED = 6
ANEW = "anew."
PAGE_DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def recordings(folder=FOLDER):
    """The files of each recording by its name, the oldest first."""
    found = {}
    for file in sorted(os.listdir(folder)):
        name, dot, number = file.partition(".tracer")
        if dot:
            found.setdefault(name, []).append((-int(number[1:] or 0), file))
    return {name: [file for _, file in sorted(files)] for name, files in found.items()}


def printed(tracerd, folder, *words):
    """What it prints, messages behind it; the same wherever and by whom it is run."""
    environment = {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PATH": os.environ["PATH"], "XDG_STATE_HOME": folder, "HOME": folder}
    result = subprocess.run([tracerd, *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS, check=False)
    text = (result.stdout + result.stderr).decode()
    return text if result.returncode == 0 else text + f"exit status {result.returncode}\n"


def outputs(tracerd, folder, files):
    """What it prints of a recording whose files are in `folder`: texts by the names of the files that keep them."""

    def transcript(*commands):
        return "".join(f"$ tracerd {' '.join(words)}\n{printed(tracerd, folder, *words)}\n" for words in commands)

    why = {file: printed(tracerd, folder, "why", "--json", file) for file in files}
    return {
        "report.txt": transcript(("report", *files), ("report", "--by", "task", *files)),
        "report.json": printed(tracerd, folder, "report", "--json", *files),
        "why.json": "".join(why.values()),
        "why.txt": transcript(*(("why", file) for file in files),
                              *(("why", file, asked) for file in files for asked in subjects(why[file]))),
        "files.txt": transcript(("files", *files), ("lineage", *files)),
        "lineage.json": printed(tracerd, folder, "lineage", "--json", *files),
    }


def subjects(why):
    """The runs, tasks and processes that its findings are about, and other runs: the first few."""
    found = []
    answer = json.loads(why.split("\n", 1)[0])
    for each in answer["findings"]:
        found += [each.get("task_key") or each.get("run_key"), each.get("pid") and f"pid:{each['pid']}"]
    found += [task["task_key"] for run in answer["runs"] for task in run.get("critical_path", {}).get("tasks", [])]
    found += [run["run_key"] for run in answer["runs"]]
    return [each for each in dict.fromkeys(found) if each][:MOST_ASKED]


def kept(name, is_anew):
    """What outputs() was when the recording was made."""
    texts = {}
    for file in sorted(os.listdir(os.path.join(FOLDER, name)), key=lambda file: file.startswith(ANEW)):
        if file.startswith(ANEW) > is_anew:
            continue
        path = os.path.join(FOLDER, name, file)
        with lzma.open(path) if path.endswith(".xz") else open(path, "rb") as text:
            texts[file.removeprefix(ANEW).removesuffix(".xz")] = text.read().decode()
    return texts


def keep(folder, file, text, is_anew):
    """A text as it is, JSON compressed; with findings made anew, what differs."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, ANEW * is_anew + file)
    data = text.encode()
    if file.endswith(".json"):
        path, data = path + ".xz", lzma.compress(data, preset=9)
    with open(path, "wb") as to:
        to.write(data)


def forget(folder, file):
    """With findings made anew, it is as it was recorded."""
    for end in ("", ".xz"):
        with contextlib.suppress(FileNotFoundError):
            os.remove(os.path.join(folder, ANEW + file + end))
