# SPDX-License-Identifier: Apache-2.0
"""Snippets of Markdown pages, and whether what a command prints is like what a page shows of it."""
import ast
import dataclasses
import re

FENCE = re.compile(r"(?:<!-- (?P<mark>[^>]*) -->\n)?^(?P<indent> *)```(?P<language>\w+)\n(?P<text>.*?)^(?P=indent)```$", re.M | re.S)
LANGUAGES = ("bash", "console", "python", "cpp", "c")
CAUSES = "CPU or wait|CPU|run queue|CPU limit|disk|pipe|network|lock|child|sleep|events|memory|stopped|other"
UNITS = "ns|us|µs|ms|s|min|h|B|KiB|MiB|GiB|%"


@dataclasses.dataclass
class Block:
    language: str
    text: str
    line: int
    mark: str

    @property
    def runs(self):
        return self.language in LANGUAGES and not self.mark.startswith("not run: ")

    @property
    def file(self):
        """Where it is stored for the snippets that follow."""
        return self.mark.removeprefix("file: ") if self.mark.startswith("file: ") else None

    def commands(self):
        """Of a console: each command, and what it prints."""
        parts = re.split(r"^\$ ", self.text, flags=re.M)[1:]
        return [tuple(part.split("\n", 1)) for part in parts]


def blocks_of(text):
    for found in FENCE.finditer(text):
        yield Block(found["language"], found["text"], text.count("\n", 0, found.start()) + 1, found["mark"] or "")


def pattern_of(line):
    """Numbers, units, bars, and what was waited for differ from run to run. "…" stands for anything."""
    line = re.sub(rf"(?:{CAUSES}) ≥?\d+ %(?:, (?:{CAUSES}) ≥?\d+ %)*", "\0time\0", line)
    words = []
    for word in re.findall(r"…|\0time\0|[█▒░?]{2,}|≥|\d+(?:\.\d+)*|\s+|[A-Za-z_%µ]+|.", line.strip()):
        if word == "…":
            words.append(".*")
        elif word == "\0time\0":
            words.append(rf"(?:(?:{CAUSES}) ≥?\d+ %(?:, )?)+")
        elif word[0] in "█▒░?" and len(word) > 1:
            words.append("[█▒░?]+")
        elif word == "≥":
            words.append("≥?")
        elif word[0].isdigit():
            words.append(r"\d+(?:\.\d+)*")
        elif word.isspace():
            words.append(r"\s*" if words and words[-1] == "≥?" else r"\s+")
        elif word in UNITS.split("|"):
            words.append(f"(?:{UNITS})")
        else:
            words.append(re.escape(word))
    # Where a bound may stand, or not, there may be no space besides.
    return re.compile("".join(words).replace(r"\s+≥?\s*", r"\s+(?:≥\s*)?"))


def difference(shown, printed):
    """The first shown line like which there is none; or why there are too many. None: they are alike."""
    lines = [line.strip() for line in printed.split("\n") if line.strip()]
    left = list(lines)
    shown = [line for line in shown.split("\n") if line.strip()]
    for line in shown:
        if line.strip() == "…":
            continue
        pattern = pattern_of(line)
        found = next((each for each in left if pattern.fullmatch(each)), None)
        if found is None:
            return line
        left.remove(found)
    if left and not any(line.strip() == "…" for line in shown):
        return f"(nothing, but there is also: {left[0]})"
    return None


def script_of(cells):
    """All cells in one script; the value of the last expression of a cell is shown in text and HTML, as a notebook does."""
    parts = ["def _show(value):\n    repr(value)\n    for name in ('_repr_html_', '_repr_mimebundle_'):\n"
             "        method = getattr(value, name, None)\n        method and method()\n"]
    for text in cells:
        tree = ast.parse(text)
        last = tree.body[-1] if tree.body else None
        if isinstance(last, ast.Expr):
            tree.body[-1] = ast.parse(f"_show({ast.unparse(last.value)})").body[0]
        parts.append(ast.unparse(tree))
    return "\n".join(parts)


def whole_program(text):
    """A part of a C++ program in a function that has a session, and what else parts name."""
    if re.search(r"\bint main\(", text) or re.search(r"^#include", text, re.M):
        return text
    return ("#include <array>\n#include <chrono>\n#include <cstddef>\n#include <iostream>\n#include <tracer/tracer.hpp>\n"
            "void store(const tracer::ProcessExit&);\n"
            f"void part(tracer::Session& session) {{\n{text}\n}}\n")


def requests_of(page):
    """What a browser would fetch from elsewhere when it shows this page."""
    return re.findall(r"""<(?:script|img|iframe|source|audio|video|link|object|embed)\b[^>]*?\b(?:src|href|data)=["']?(?:https?:)?//[^"'> ]+"""
                      r"""|url\(["']?(?:https?:)?//[^)]+|@import[^;]*//[^;]+""", page)
