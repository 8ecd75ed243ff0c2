# SPDX-License-Identifier: Apache-2.0
"""Reads what a C or C++ header of this project declares, with the comments that say what it is."""
import dataclasses
import re

COMMENT_TEXT = r"///<[^\n]*(?:\n[ \t]*///<[^\n]*)*|///(?!<)[^\n]*(?:\n[ \t]*///(?!<)[^\n]*)*|//[^\n]*|/\*.*?\*/"
COMMENT = re.compile(COMMENT_TEXT, re.S)
DIRECTIVE = re.compile(r"#(?:[^\n\\]|\\.|\\\n)*")
ACCESS = re.compile(r"(public|protected|private)\s*:")
OPENED = re.compile(r'(?:inline\s+)?namespace\b[^{;]*\{|extern "C"\s*\{')
TYPE = re.compile(r"(?:template\s*<.*?>\s*)?(?:typedef\s+)?(struct|class|union|enum class|enum)\b(?:\s+(?!__)[A-Z_]+(?=\s+\w))?"
                  r"(?:\s+(\w+))?[^;{(=]*\{", re.S)


@dataclasses.dataclass
class Item:
    code: str
    doc: str = ""
    kind: str = "other"  # struct, class, enum, function, member, other
    name: str = ""
    items: list = dataclasses.field(default_factory=list)


def text_of(comment):
    """Without the marks of comments; empty: not meant for readers of the reference."""
    if comment.startswith("/*"):
        body = re.sub(r"\n\s*\* ?", "\n", comment[2:-2]).strip()
    else:
        lines = [re.sub(r"^\s*//", "", line) for line in comment.split("\n")]
        lines = [re.sub(r"^/<? ?", "", line) for line in lines if line.startswith("/")]
        body = "\n".join(lines).strip()
    return "" if body.startswith("SPDX") else body


def end_of(text, start):
    """Where the declaration ends that begins at `start`."""
    at, depth, body = start, 0, False
    while at < len(text):
        comment = COMMENT.match(text, at)
        if comment:
            at = comment.end()
            continue
        sign = text[at]
        if sign == '"':
            at = re.compile(r'"(?:[^"\\]|\\.)*"').match(text, at).end()
            continue
        if sign in "({[":
            # The body of a function needs no semicolon.
            body = body or depth == 0 and sign == "{" and bool(re.search(r"\)[^()=;{}]*(:[^{}]*)?$", text[start:at]))
            depth += 1
        elif sign in ")}]":
            depth -= 1
            if depth == 0 and sign == "}" and body:
                return at + 1
        elif sign == ";" and depth == 0:
            return at + 1
        at += 1
    return len(text)


def items_of(text):
    """What `text`, a header or the inside of a namespace or a class, declares for all to see."""
    items, doc, at, hidden, last_line = [], [], 0, False, -1
    while at < len(text):
        if text[at].isspace():
            # A comment that a blank line follows is about what comes later as a whole.
            blank = re.compile(r"\n[ \t]*\n").match(text, at)
            doc = [] if blank and not hidden else doc
            at += 1
            continue
        line = text.count("\n", 0, at)
        if comment := COMMENT.match(text, at):
            said = text_of(comment[0])
            if items and (comment[0].startswith("///<") or line == last_line):
                items[-1].doc = f"{items[-1].doc} {said}".strip()
                last_line = line if comment[0].startswith("/*") else -1
            elif said:
                doc.append(said)
            at = comment.end()
        elif directive := DIRECTIVE.match(text, at):
            doc, at = [], directive.end()
        elif access := ACCESS.match(text, at):
            hidden, at = access[1] != "public", access.end()
        elif opened := OPENED.match(text, at):
            inner, depth = opened.end(), 1
            close = inner
            while depth and close < len(text):
                depth += {"{": 1, "}": -1}.get(text[close], 0)
                close += 1
            if "internal" not in opened[0]:
                items += items_of(text[inner:close - 1])
            doc, at = [], close
        elif text[at] in "};":
            at += 1
        else:
            end = end_of(text, at)
            item = described(text[at:end], "\n".join(doc))
            if not hidden and item:
                items.append(item)
            doc, at, last_line = [], end, text.count("\n", 0, end)
    return items


def described(code, doc):
    code = re.sub(r"\b(TRACER_EXPORT|TRACER_API|TRACER_LAYOUT)\s+", "", code).strip()
    if code.startswith(("friend ", "static_assert", "TRACER_")) or re.search(r"= (delete|default);$|^(class|struct) \w+;$", code):
        return None
    type_found = TYPE.match(code)
    if type_found:
        inner = code[type_found.end():code.rindex("}")]
        kind = "enum" if type_found[1].startswith("enum") else "struct"
        name = type_found[2] or (re.search(r"\}\s*(\w+)\s*;$", code) or ["", ""])[1]
        items = enumerators_of(inner) if kind == "enum" else items_of(inner)
        return Item(code, doc, kind, name, items)
    plain = COMMENT.sub("", code)
    head = re.split(r"[{=](?!=)", re.sub(r"operator\s*\S+?(?=\()", "operator", plain))[0]
    call = re.search(r"(~?\w+)\s*\(", re.sub(r"\[\[.*?\]\]|std::function<.*?>", "", head, flags=re.S))
    # A pointer to a function is a member like others.
    if call and not re.search(r"\(\s*\*", head):
        return Item(signature_of(code), doc, "function", call[1])
    name = re.search(r"(?:\(\*\s*)?(\w+)\s*(?:\)\s*\(.*\)|\[[^\]]*\])?\s*;?\s*$", head.strip(), re.S)
    return Item(code, doc, "member", name[1] if name else "")


def signature_of(code):
    """Without the body."""
    depth = 0
    for at, sign in enumerate(code):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "{" and depth == 0:
            return code[:at].rstrip() + ";"
    return code


def enumerators_of(text):
    """Each with its value as code."""
    items, doc = [], []
    for found in re.finditer(rf"(?P<comment>{COMMENT_TEXT})|(?P<name>\w+)\s*(?:=\s*(?P<value>[^,/\n]+))?,?",
                             text, re.S):
        if found["comment"]:
            said = text_of(found["comment"])
            before = text[:found.start()].rsplit("\n", 1)[-1]
            if items and (found["comment"].startswith("///<") or before.strip()):
                items[-1].doc = f"{items[-1].doc} {said}".strip()
            else:
                doc.append(said)
        else:
            items.append(Item((found["value"] or "").strip(), " ".join(doc), "enumerator", found["name"]))
            doc = []
    return items


def read_header(path):
    """What the header says of itself, and its items."""
    text = path.read_text(encoding="utf-8")
    head = []
    for comment in COMMENT.finditer(text):
        before = text[:comment.start()]
        if re.sub(r"\s", "", COMMENT.sub("", before)):
            break
        head.append(text_of(comment[0]))
    return "\n\n".join(part for part in head if part), items_of(text)
