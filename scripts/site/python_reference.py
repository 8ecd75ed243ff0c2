# SPDX-License-Identifier: Apache-2.0
"""The reference of the Python package, from its sources alone: it need not be built for that."""
import ast
import re

from reference import cell, table, unit_of


def names_by_module(tree):
    """From tracer/__init__.py: module -> its public names."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "_NAMES_IN":
            return {module: names.split() for module, names in ast.literal_eval(node.value).items()}
    raise ValueError("tracer/__init__.py has no _NAMES_IN")


def documentation(node):
    """A docstring as Markdown: indented examples become code."""
    text = ast.get_docstring(node) or ""
    return re.sub(r"(?m)(?:^    .*\n?)+", lambda block: "```python\n" + re.sub(r"(?m)^    ", "", block[0]).rstrip() + "\n```\n", text)


def signature(node, own_name=None):
    arguments = ast.unparse(node.args)
    arguments = re.sub(r"^(self|cls)(, )?", "", arguments)
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    text = f"{prefix}def {own_name or node.name}({arguments}){result}"
    if len(text) > 100:
        parts = re.split(r", (?![^\[(]*[\])])", arguments)
        text = f"{prefix}def {own_name or node.name}(\n    " + ",\n    ".join(parts) + f",\n){result}"
    return text


def decorators(node):
    return [ast.unparse(each).split("(")[0] for each in node.decorator_list]


def fields_of(node):
    """Annotated names, each with the string that follows it."""
    rows = []
    for at, each in enumerate(node.body):
        if isinstance(each, ast.AnnAssign) and not each.target.id.startswith("_"):
            after = node.body[at + 1] if at + 1 < len(node.body) else None
            said = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            shape = ast.unparse(each.annotation)
            if not shape.startswith("ClassVar"):
                rows.append((f"`{each.target.id}`", f"`{cell(shape)}`", unit_of(each.target.id),
                             "can be" if "None" in shape else "", str(said)))
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and "property" in decorators(each) and not each.name.startswith("_"):
            shape = ast.unparse(each.returns) if each.returns else ""
            rows.append((f"`{each.name}`", f"`{cell(shape)}`", unit_of(each.name), "can be" if "None" in shape else "",
                         ast.get_docstring(each) or ""))
    return rows


def function_text(node, level, own_name=None):
    return f"{level} `{own_name or node.name}`\n\n```python\n{signature(node, own_name)}\n```\n\n{documentation(node)}\n"


def with_bases(node, hidden):
    """The members of a class, and those of bases that are not public and so have no text of their own."""
    names = {getattr(each, "name", None) for each in node.body}
    own = list(node.body)
    for base in map(ast.unparse, node.bases):
        if base in hidden:
            own += [each for each in hidden[base].body if getattr(each, "name", None) not in names]
    return own


def class_text(node, hidden):
    bases = ", ".join(f"`{ast.unparse(base)}`" for base in node.bases if ast.unparse(base) not in hidden)
    node.body = with_bases(node, hidden)
    parts = [f"### `{node.name}`\n", f"Is a {bases}.\n" if bases else "", documentation(node) + "\n"]
    rows = fields_of(node)
    if rows:
        parts.append(table(("attribute", "type", "unit", "None", "meaning"), rows))
    for each in node.body:
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)) and not each.name.startswith("_"):
            if not {"property", "overload"} & {*decorators(each)} and not any(name.endswith(".setter") for name in decorators(each)):
                parts.append(function_text(each, "####"))
    return "\n".join(part for part in parts if part.strip())


def python_page(root):
    package = root / "bindings/python/tracer"
    parts = ["# Python\n", "`import tracer`. Times are nanoseconds of the boot clock, sizes are bytes; what is not known is "
             "`None`, never 0. [Fields](../fields.md) has each number's source and error, [Errors](../errors.md) all codes.\n"]
    names = names_by_module(ast.parse((package / "__init__.py").read_text(encoding="utf-8")))
    paths = {path.stem: path for path in sorted(package.glob("_*.py"))} | {
        module: package / f"{module.replace('.', '/')}.py" for module in names}
    trees = {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in paths.items()}
    all_public = {name for public in names.values() for name in public}
    hidden = {node.name: node for tree in trees.values() for node in tree.body
              if isinstance(node, ast.ClassDef) and node.name not in all_public}
    everywhere = {node.name: node for tree in trees.values() for node in tree.body if isinstance(node, ast.ClassDef)}
    for module, public in names.items():
        tree = trees[module]
        title = (ast.get_docstring(tree) or module.strip("_")).split("\n")[0].rstrip(".")
        parts.append(f"## {title}\n")
        of_module = {node.name: node for node in tree.body
                     if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))}
        for name in public:
            node = of_module.get(name, everywhere.get(name))
            if isinstance(node, ast.ClassDef):
                parts.append(class_text(node, hidden))
            elif node:
                parts.append(function_text(node, "###"))
    return "\n".join(parts)
