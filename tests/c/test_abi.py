#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The C interface is as its reference in abi/ says: symbols, and sizes, members and values of all types that they use.
`--renew` stores the reference anew, which is right only for what was never released."""
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HEADERS = ROOT / "bindings/c/include"
ARROW = ROOT / "include/tracer/arrow.h"
MAP = ROOT / "bindings/c/tracer-c.map"
REFERENCE = HERE / "abi" / platform.machine() / "abi.xml"
LIBRARY = pathlib.Path(os.environ.get("TRACER_C_LIBRARY", ROOT / "build/dev/bindings/c/libtracer-c.so.0"))
WALK = pathlib.Path(os.environ.get("TRACER_C_WALK", ROOT / "build/dev/tests/c/c_walk"))

CHANGED_INCOMPATIBLY = 8  # Bits of abidiff's exit status.
CHANGED = 4


def output_of(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def declared():
    """The functions in the headers."""
    text = "".join(header.read_text(encoding="utf-8") for header in HEADERS.glob("**/*.h"))
    return set(re.findall(r"^TRACER_API\b[^;(]*?\b(tracer_\w+)\(", text, re.M))


def mapped():
    """The functions in the version script, with their nodes."""
    nodes = re.findall(r"^(TRACER_[\d.]+) \{(.*?)^\}", MAP.read_text(encoding="utf-8"), re.M | re.S)
    return {name: node for node, body in nodes for name in re.findall(r"^    (\w+);", body, re.M)}


def exported():
    """What the library exports, with the nodes."""
    symbols = [line.split()[-1] for line in output_of("nm", "-D", "--defined-only", LIBRARY).splitlines()]
    return dict(re.split("@+", symbol) for symbol in symbols if not re.fullmatch(r"TRACER_[\d.]+(@+TRACER_[\d.]+)?", symbol))


def write_abi(path):
    with tempfile.TemporaryDirectory() as folder:
        # By the header alone, whatever folders the build was in.
        headers = pathlib.Path(folder) / "include"
        shutil.copytree(HEADERS, headers)
        shutil.copy(ARROW, headers / "tracer")
        subprocess.run(["abidw", "--exported-interfaces-only", "--drop-undefined-syms", "--drop-private-types", "--no-elf-needed",
                        "--no-comp-dir-path", "--no-corpus-path", "--no-show-locs", "--type-id-style", "hash",
                        "--headers-dir", headers, "--out-file", path, LIBRARY], check=True)


class Symbols(unittest.TestCase):
    def test_declared_mapped_and_exported_are_the_same(self):
        self.assertGreater(len(declared()), 100)
        self.assertEqual(sorted(declared()), sorted(mapped()))
        self.assertEqual(exported(), mapped(), "exported, or of C++, that the version script does not have")

    def test_the_walk_calls_all(self):
        called = {re.split("@+", line.split()[-1])[0] for line in output_of("nm", "-u", WALK).splitlines()}
        self.assertEqual(sorted(set(mapped()) - called), [])

    def test_name_of_the_library(self):
        dynamic = output_of("readelf", "-d", LIBRARY)
        self.assertIn("[libtracer-c.so.0]", dynamic)
        self.assertNotIn("[libtracer.so", dynamic, "it needs the library of C++")

    def test_nodes_are_chained(self):
        chain = re.findall(r"^(TRACER_[\d.]+) \{|^\} ?(TRACER_[\d.]+)?;", MAP.read_text(encoding="utf-8"), re.M)
        names = [name for name, _ in chain if name]
        self.assertEqual([before for name, before in chain if not name], ["", *names[:-1]])


class Fields(unittest.TestCase):
    def test_constants_are_those_of_the_schema(self):
        subprocess.run([sys.executable, ROOT / "bindings/c/generate_fields.py", "--check"], check=True)


class Abidiff(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if shutil.which("abidiff") is None:
            raise unittest.SkipTest("no abidiff: install abigail-tools")
        if not REFERENCE.exists():
            raise unittest.SkipTest(f"no reference for {platform.machine()}")
        if os.environ.get("TRACER_C_SANITIZE"):
            raise unittest.SkipTest("a sanitizer's library has other symbols")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.now = pathlib.Path(folder.name) / "abi.xml"
        write_abi(cls.now)

    def compare(self, reference):
        result = subprocess.run(["abidiff", "--no-show-locs", reference, self.now], stdout=subprocess.PIPE, text=True,
                                check=False)
        return result.returncode, result.stdout

    def test_nothing_is_incompatible(self):
        status, text = self.compare(REFERENCE)
        self.assertEqual(status & ~CHANGED, 0, text)
        if status & CHANGED:
            print(text)

    def test_what_is_incompatible_would_be_found(self):
        """With a reference that has a function more; and with one where a field is elsewhere."""
        text = REFERENCE.read_text(encoding="utf-8")
        more = text.replace("<elf-function-symbols>", "<elf-function-symbols>\n    <elf-symbol name='tracer_gone' "
                            "version='TRACER_0.1' is-default-version='yes' type='func-type' binding='global-binding' "
                            "visibility='default-visibility' is-defined='yes'/>", 1)
        self.assertNotEqual(more, text)
        moved = re.sub(r"(layout-offset-in-bits=')192('[^>]*>\s*<var-decl name='text')", r"\g<1>256\2", text, count=1)
        self.assertNotEqual(moved, text)
        for other, least in ((more, CHANGED_INCOMPATIBLY), (moved, CHANGED)):
            with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
                file.write(other)
                file.flush()
                status, _ = self.compare(file.name)
            self.assertTrue(status & least, f"status {status}")


def renew():
    REFERENCE.parent.mkdir(parents=True, exist_ok=True)
    write_abi(REFERENCE)


if __name__ == "__main__":
    if "--renew" in sys.argv:
        renew()
    else:
        unittest.main()
