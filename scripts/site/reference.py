# SPDX-License-Identifier: Apache-2.0
"""The reference of the C++ and the C interface, from their headers, as pages in Markdown."""
import re

from declarations import read_header

UNITS = (("_ns", "ns"), ("_ms", "ms"), ("_bytes", "bytes"), ("_pages", "pages"), ("_seconds", "s"), ("_share", "0 to 1"),
         ("_percent", "%"), ("millicpus", "1/1000 CPU"))


# The structs whose members are the fields of docs/fields.md that have a source there.
WITH_SOURCES = ("Account", "Cgroup", "Process", "Program", "tracer_flat_event")


def unit_of(name):
    return next((unit for ending, unit in UNITS if name.endswith(ending)), "")


def cell(text):
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


def table(heads, rows):
    """Columns that say nothing in any row are left out."""
    kept = [index for index, _ in enumerate(heads) if index == 0 or any(row[index] for row in rows)]
    lines = [[heads[index] for index in kept], ["---"] * len(kept), *([cell(row[index]) for index in kept] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def prose(text):
    """A comment as Markdown: names of signs that Markdown has are left alone in code only."""
    return re.sub(r"(?<![`\w])([a-z_]+::[A-Za-z_:]+|[a-z]+(?:_[a-z]+)+(?:\(\))?)(?![`\w])", r"`\1`",
                  text.replace("<", "&lt;")).strip()


def field_sources(text):
    """From docs/fields.md, by the name of a field: where its number comes from. A name with two sources has none."""
    sources, heads = {}, []
    for line in text.split("\n"):
        cells = [each.strip() for each in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells:
            heads = []
        elif not heads:
            heads = cells
        elif "source" in heads and len(cells) == len(heads) and not cells[0].startswith("--"):
            for name in re.findall(r"`(\w+)`", cells[0]):
                found = cells[heads.index("source")]
                sources[name] = found if sources.get(name, found) == found else ""
    return {name: re.sub(r"\]\(#", "](../fields.md#", source) for name, source in sources.items() if source}


def type_of(code, name):
    """A member's type, as code."""
    head = re.sub(rf"\b{name}\b.*", "", re.sub(r"///.*|/\*.*?\*/", "", code, flags=re.S), flags=re.S)
    return f"`{cell(head)}`" if head.strip() else ""


def default_of(code):
    found = re.search(r"=\s*([^;]+);", code) or re.search(r"\w\{([^;{}]+)\};", code)
    value = cell(found[1]) if found else ""
    return f"`{value}`" if value and value != "{}" else ""


def null_of(code):
    if "std::optional" in code:
        return "can be"
    return "never" if "shared_ptr" in code else ""


def members(item, sources):
    rows = [(f"`{each.name}`", type_of(each.code, each.name), default_of(each.code), unit_of(each.name), null_of(each.code),
             prose(each.doc), sources.get(each.name, "") if item.name in WITH_SOURCES else "") for each in item.items if each.kind == "member" and each.name]
    return table(("member", "type", "default", "unit", "null", "meaning", "source"), rows) if rows else ""


def function(item, language, level="####"):
    title = item.name if item.name != "operator" else item.code.split("(")[0].split()[-1]
    return f"{level} `{title}`\n\n```{language}\n{item.code}\n```\n\n{prose(item.doc)}\n"


def of_the_language(item):
    """Moves, destruction, and what only the library itself calls."""
    return item.name.startswith("~") or re.search(r"&&\s*\w*\)", item.code) or "internal::" in item.code


def entity(item, language, sources):
    parts = [f"### `{item.name}`\n", prose(item.doc) + "\n"]
    if item.kind == "enum":
        rows = [(f"`{each.name}`", f"`{each.code}`" if each.code else "", prose(each.doc)) for each in item.items]
        parts.append(table(("value", "number", "meaning"), rows))
    elif item.kind == "struct":
        parts += [members(item, sources), *(function(each, language) for each in item.items
                                            if each.kind == "function" and not of_the_language(each)),
                  *(entity(each, language, sources).replace("### ", "#### ") for each in item.items
                    if each.kind in ("struct", "enum"))]
    elif item.kind == "function":
        return function(item, language, "###")
    else:
        parts.append(f"```{language}\n{item.code}\n```\n")
    return "\n".join(part for part in parts if part.strip())


def with_values(items):
    """In C the name of a type with a fixed width is declared before its values, which have none."""
    for before, item in zip(items, items[1:]):
        if item.kind == "enum" and not item.name and before.code.startswith("typedef"):
            before.kind, before.items = "enum", item.items
    return items


def page(title, intro, headers, language, sources):
    """One page of all `headers`. Types that C names apart from their values come with them."""
    parts = [f"# {title}\n", intro]
    for path in headers:
        said, items = read_header(path)
        items = [item for item in with_values(items) if item.name]
        if not items:
            continue
        parts += [f"## {path.name}\n", prose(said) + "\n"]
        parts += [entity(item, language, sources) for item in items]
    return "\n".join(parts)


def cpp_page(root):
    intro = ("Include `<tracer/tracer.hpp>`, or the one header that you need; all is in `namespace tracer`. An absent value is "
             "`std::nullopt`. [Fields](../fields.md) has each number's source and error, [Errors](../errors.md) all codes.\n")
    sources = field_sources((root / "docs/fields.md").read_text(encoding="utf-8"))
    return page("C++", intro, sorted((root / "include/tracer").glob("*.hpp")), "cpp", sources)


def c_page(root):
    intro = ("Include `<tracer.h>` and link `libtracer-c`. [Fields](../fields.md) has each number's source and error. "
             "`tracer/fields.h` has the constants of kinds, families and fields, such as `TRACER_EVENT_PROCESS_EXIT`.\n")
    folder = root / "bindings/c/include"
    headers = [path for path in sorted(folder.glob("tracer/*.h")) if path.name != "fields.h"]
    sources = field_sources((root / "docs/fields.md").read_text(encoding="utf-8"))
    return page("C", intro, [*folder.glob("tracer.h"), *headers], "c", sources)
