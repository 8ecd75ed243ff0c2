# SPDX-License-Identifier: Apache-2.0
"""What has passed on this machine, by the content of what was tested. Kept outside the clone: all clones share it."""
import hashlib
import json
import os
import pathlib
import subprocess
import tempfile
import time

KEPT = 40  # Stamps of one name: enough for the branches that somebody works on.


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(base) / "libtracer-tests"


def digest(path):
    """Of a file's content; of an object or program without its debug information, which any comment changes."""
    data = pathlib.Path(path).read_bytes()
    if data[:4] == b"\x7fELF" or data[:8] == b"!<arch>\n":
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "copy"
            stripped = subprocess.run(["objcopy", "--strip-debug", "--enable-deterministic-archives", str(path), str(copy)],
                                      stderr=subprocess.DEVNULL, check=False)
            # objcopy may not know BPF objects.
            data = copy.read_bytes() if stripped.returncode == 0 else data
    return hashlib.sha256(data).hexdigest()


def file_name(name):
    return "".join(c if c.isalnum() or c in ".-" else "_" for c in name)


class Stamps:
    """A thing that is tested has a name and parts: a dictionary from what a part is called to its digest or version."""

    def __init__(self, folder=None, ignore=False):
        self.folder = pathlib.Path(folder or cache_folder())
        self.ignore = ignore  # Nothing counts as passed; passes are recorded all the same.

    def passed_on(self, name, parts):
        """The date on which just these parts passed, or None."""
        stamp = self._stamp(name, parts)
        return None if stamp is None or stamp["left"] else stamp["date"]

    def left(self, name, parts):
        """The cases that needed a second try when all others passed at the first with just these parts; empty: any."""
        stamp = self._stamp(name, parts)
        return [] if stamp is None else stamp["left"]

    def record(self, name, parts, left=()):
        path = self._path(name, parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"date": time.strftime("%Y-%m-%d %H:%M"), "left": list(left), "parts": parts}, indent=1,
                          sort_keys=True)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(text)
        temporary.rename(path)
        for old in self._newest_first(name)[KEPT:]:
            old.unlink(missing_ok=True)

    def why_not(self, name, parts):
        """What differs from the newest pass, in a few words."""
        newest = self._newest_first(name)
        if self.ignore or not newest:
            return "all was asked for" if self.ignore else "never passed here"
        left = self.left(name, parts)
        if left:
            return f"{len(left)} needed a second try"
        before = json.loads(newest[0].read_text())["parts"]
        names = sorted(key for key in parts.keys() | before.keys() if parts.get(key) != before.get(key))
        more = f" and {len(names) - 2} more" if len(names) > 2 else ""
        return "differs: " + ", ".join(names[:2]) + more

    def note_run(self, name, minutes=None):
        """When it ran last; and how long that took, once it is known."""
        path = self.folder / "runs" / file_name(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if minutes is not None:
            path.write_text(f"{minutes:.2f}")
        path.touch()
        os.utime(path)

    def minutes(self, name, otherwise):
        """How long its last run took."""
        try:
            return float((self.folder / "runs" / file_name(name)).read_text())
        except (OSError, ValueError):
            return otherwise

    def last_run(self, name):
        """In seconds since the epoch; 0: never."""
        path = self.folder / "runs" / file_name(name)
        return path.stat().st_mtime if path.exists() else 0

    def by_turn(self, names, commits):
        """The one that ran longest ago first. Among those that never ran here, the number of commits says which is first."""
        places = {name: place for place, name in enumerate(names)}
        return sorted(names, key=lambda name: (self.last_run(name), (places[name] - commits) % len(names)))

    def _stamp(self, name, parts):
        path = self._path(name, parts)
        if self.ignore or not path.exists():
            return None
        os.utime(path)  # The oldest unused ones are forgotten first.
        return {"left": []} | json.loads(path.read_text())

    def _newest_first(self, name):
        folder = self.folder / "passed" / file_name(name)
        return sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)

    def _path(self, name, parts):
        key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]
        return self.folder / "passed" / file_name(name) / f"{key}.json"
