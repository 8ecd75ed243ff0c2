# SPDX-License-Identifier: Apache-2.0
"""The help texts of tracerd as data: for manual pages and completion."""
import dataclasses
import re
import subprocess

SECTION = re.compile(r"^(Options|Commands):$", re.M)
EXIT_STATUS = re.compile(r"^Exit status: ", re.M)


@dataclasses.dataclass(frozen=True)
class Option:
    names: tuple  # ("-h", "--help")
    value: str  # "FILE"; "": it takes none
    text: str

    @property
    def long_name(self):
        return self.names[-1]

    def choices(self):
        """The words that its value can be; empty: any. Its text lists them."""
        listed = re.match(r"Rows: (.*?) \(|(\w+, .*; or \w+)$", self.text)
        return re.findall(r"\w+", re.sub(r"\bor\b|\(default\)", "", listed[1] or listed[2])) if listed else []


@dataclasses.dataclass(frozen=True)
class Help:
    usage: str  # "tracerd run [OPTIONS] …"
    summary: str  # Its first line.
    description: str
    options: tuple
    exit_status: str
    footer: str

    @property
    def operand(self):
        """What follows the options: COMMAND, FILE, PID or "", which is nothing."""
        bare = re.sub(r"\[(?!ARGUMENT)[^]]*\]|--\S+ \S+|\|", "", self.usage.partition(" ")[2])
        found = re.search(r"\b(COMMAND|FILE|PID|A B)\b", bare)
        return {"A B": "FILE"}.get(found[1], found[1]) if found else ""


def entries_of(lines):
    """(left, right) of each line of a list; a long left part has its right part on the next line."""
    for line in lines:
        if line.startswith(" " * 10):
            left, right = pending, line.strip()
        else:
            left, _, right = line.strip().partition("  ") if "  " in line.strip() else (line.strip(), "", "")
        pending = left
        if right:
            yield left.strip(), right.strip()


def option_of(left, right):
    names, _, value = left.partition(" ")
    return Option(tuple(names.split(",")), value, right)


def without_exit_status(text):
    """The text, and the paragraph about the exit status that was in it."""
    paragraphs, about = [], []
    for paragraph in text.strip("\n").split("\n\n"):
        begin = EXIT_STATUS.search(paragraph)
        paragraphs.append(paragraph[:begin.start()] if begin else paragraph)
        if begin:
            about.append(paragraph[begin.end():])
    return "\n\n".join(each.strip("\n") for each in paragraphs if each.strip()), "\n".join(about)


def parsed(text):
    """(Help, commands) of what --help prints; `commands` only where there are some: name and summary of each."""
    before, *parts = SECTION.split(text)
    lists, footer = {}, ""
    for name, part in zip(parts[::2], parts[1::2]):
        listed, _, footer = part.lstrip("\n").partition("\n\n")
        lists[name] = list(entries_of(listed.splitlines()))
    usage, _, described = before.partition("\n\n")
    summary, _, description = described.strip("\n").partition("\n\n")
    description, status = without_exit_status(description)
    footer, more_status = without_exit_status(footer)
    return Help(usage.removeprefix("usage: ").strip(), summary, description,
                tuple(option_of(*each) for each in lists["Options"]), status + more_status, footer), lists.get("Commands", [])


def read(tracerd):
    """(Help of tracerd itself, {command: its Help}, version)."""
    def output(*words):
        return subprocess.run([str(tracerd), *words], stdout=subprocess.PIPE, text=True, check=True).stdout

    own, commands = parsed(output("--help"))
    return own, {name: parsed(output(name, "--help"))[0] for name, _ in commands}, output("--version").split()[1]
