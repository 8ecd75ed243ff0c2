# SPDX-License-Identifier: Apache-2.0
"""Which folder may include which: the table in docs/design.md. Files that documents name are there."""
import pathlib
import re
import unittest

import support

PAGE = support.ROOT / "docs/design.md"
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


def folders():
    """Those of the table that have C++, in its order."""
    rows = re.findall(r"^\| ((?:`(?:lib|daemon)/[^`]*`(?:, )?)+) \|", PAGE.read_text(encoding="utf-8"), re.M)
    return [folder.rstrip("/") for row in rows for folder in re.findall(r"`([^`]+)`", row)]


def sources():
    for top in ("lib", "daemon"):
        yield from sorted(path for path in (support.ROOT / top).rglob("*.?pp") if path.suffix in (".cpp", ".hpp"))


def folder_of(path):
    return path.parent.relative_to(support.ROOT).as_posix()


def included_by(source):
    """Of this project's own, where they are."""
    places = [source.parent, support.ROOT / "lib", *([support.ROOT / "daemon"] if folder_of(source).startswith("daemon") else [])]
    for name in INCLUDE.findall(source.read_text(encoding="utf-8")):
        yield from [path for path in (place / name for place in places) if path.is_file()][:1]


def room_of(folder):
    """Inside of lib/source and lib/correlate, folders include each other."""
    return folder if folder.startswith(("daemon", "lib/report", "lib/show")) else "/".join(pathlib.PurePosixPath(folder).parts[:2])


class Folders(support.TestCase):
    def test_each_has_a_row(self):
        self.assertEqual({folder_of(source) for source in sources()} - set(folders()), set())

    def test_each_includes_only_those_above_it(self):
        first = {}
        for at, folder in enumerate(folders()):
            first.setdefault(room_of(folder), at)
        wrong = [f"{source.relative_to(support.ROOT)} includes {folder_of(included)}/{included.name}"
                 for source in sources() for included in included_by(source)
                 if first[room_of(folder_of(included))] > first[room_of(folder_of(source))]]
        self.assertEqual(wrong, [])

    def test_what_documents_name_is_there(self):
        tops = "|".join(("bench", "bindings", "bpf", "daemon", "examples", "include", "lib", "packaging", "rules", "scripts", "tests"))
        wrong = [f"{page.name} names {path}" for page in (*sorted(PAGE.parent.glob("*.md")), support.ROOT / "CONTRIBUTING.md")
                 for path in re.findall(rf"`((?:{tops})/[\w./-]+)`", page.read_text(encoding="utf-8"))
                 # NAME and FAMILY stand for any.
                 if not re.search("[A-Z]{4}", path) and not (support.ROOT / path).exists()]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
