# SPDX-License-Identifier: Apache-2.0
"""How the Python package is layered: one module brings recordings into DuckDB, packages use no private modules of each other, and
long queries are files."""
import ast
import functools
import re
import unittest

import support

PACKAGE = support.ROOT / "bindings/python/tracer"
# Of these, any package may use all: they are below them.
BELOW = {"_data"}
MOST_LINES = 4


@functools.cache
def modules():
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def name_of(path):
    return path.relative_to(PACKAGE).as_posix()


def private_imports(path, tree):
    """Of modules of another package below tracer, as from ..cost._prices import Price."""
    if path.parent == PACKAGE:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 2 and node.module:
            package, *rest = node.module.split(".")
            if package not in BELOW and (PACKAGE / package).is_dir():
                yield from [f"{package}.{'.'.join([*rest, each.name])}" for each in node.names
                            if any(part.startswith("_") for part in [*rest, each.name])]


def long_queries(tree):
    said = {each.value for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Constant, ast.JoinedStr)) and node not in said and node.end_lineno - node.lineno >= MOST_LINES:
            text = ast.unparse(node)
            if re.search(r"\b(SELECT|INSERT INTO|UPDATE|CREATE (TEMP )?(TABLE|VIEW))\b", text):
                yield node.lineno


class Packages(support.TestCase):
    def test_one_module_makes_tables_of_recordings(self):
        makers = {name_of(path) for path, tree in modules().items() for node in ast.walk(tree)
                  if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "register"
                  and any(isinstance(each, ast.Attribute) and each.attr == "table" for argument in node.args for each in ast.walk(argument))}
        self.assertEqual(makers, {"_data/_opened.py"})

    def test_no_package_uses_private_modules_of_another(self):
        self.assertEqual({name_of(path): found for path, tree in modules().items() if (found := list(private_imports(path, tree)))}, {})

    def test_queries_of_five_lines_are_files(self):
        self.assertEqual({name_of(path): found for path, tree in modules().items() if (found := list(long_queries(tree)))}, {})

    def test_each_query_is_used(self):
        for path in sorted(PACKAGE.rglob("*.sql")):
            text = "".join(each.read_text(encoding="utf-8") for each in path.parent.parent.glob("*.py"))
            self.assertIn(f'"{path.stem}"', text, name_of(path))


if __name__ == "__main__":
    unittest.main()
