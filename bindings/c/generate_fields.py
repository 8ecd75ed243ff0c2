#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes include/tracer/fields.h from tests/data/schema.golden and families.golden, which the unit tests compare with the
schema and the table of families."""
import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent.parent / "tests/data"
GOLDEN = DATA / "schema.golden"
FAMILIES = DATA / "families.golden"
HEADER = HERE / "include/tracer/fields.h"

HEAD = """\
/* SPDX-License-Identifier: Apache-2.0 */
/* The families, the kinds of events, and the numbers of all their fields, with their types and units. Made by generate_fields.py. */
#ifndef TRACER_FIELDS_H
#define TRACER_FIELDS_H

#include <stdint.h>

"""


def constant(name):
    return "TRACER_FIELD_" + name.upper().replace(".", "_")


def families():
    lines = []
    for line in FAMILIES.read_text(encoding="utf-8").splitlines():
        number, name, brings = line.split(maxsplit=2)
        lines.append(f"  TRACER_FAMILY_{name.upper()} = {1 << int(number)}, /* {brings} */\n")
    lines[-1] = lines[-1].replace(", /*", " /*", 1)
    return "/* For tracer_families. */\nenum {\n" + "".join(lines) + "};\n\n"


def text():
    lines = []
    seen = set()
    kinds = {"none": 0}
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        number, name, kind, unit, *null = line.split()
        kinds[name.split(".")[0]] = int(number[:4], 16)
        if constant(name) in seen:
            sys.exit(f"two fields would be {constant(name)}")
        seen.add(constant(name))
        note = ", ".join([kind, *([unit] if unit != "-" else []), *(["can be absent"] if null else [])])
        lines.append(f"#define {constant(name)} UINT64_C(0x{number}) /* {note} */\n")
    events = ",\n".join(f"  TRACER_EVENT_{name.upper()} = {number}" for name, number in kinds.items())
    return HEAD + families() + f"/* For tracer_event_kind. */\nenum {{\n{events}\n}};\n\n" + "".join(lines) + "\n#endif\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare")
    if parser.parse_args().check:
        if HEADER.read_text(encoding="utf-8") != text():
            sys.exit(f"{HEADER} is not what tests/data/schema.golden asks for: run {HERE.name}/generate_fields.py")
    else:
        HEADER.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
