# SPDX-License-Identifier: Apache-2.0
"""Manual pages from the help texts, and tracerd.toml(5) from docs/service.md."""
import re
import time

PLACES = (
    ("/etc/tracer/tracerd.toml", "The configuration of the service, see **tracerd.toml**(5)."),
    ("/run/tracer/tracer.sock, /run/tracer/admin.sock", "The sockets of the service: for everybody, and for root."),
    ("/var/lib/tracer", "Recordings of the service, where the configuration asks for them."),
    ("~/.local/state/tracer/history.db", "What your own runs and tasks took, see **tracerd-history**(1)."),
    ("share/doc/tracerd", "Beside the folder of tracerd: the pages that these texts call docs/NAME.md."),
)
VARIABLES = (
    ("TRACER_SOURCE", "Forces where a session comes from: kernel, service or proc."),
    ("TRACER_SOCKET", "The socket of the service."),
)


def plain(text):
    """As roff prints it."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("…", "...").replace("≥", ">=")
    text = re.sub(r"[^\x00-\x7f]", lambda found: f"\\[u{ord(found[0]):04X}]", text)
    return re.sub(r"^\.", r"\\&.", text, flags=re.M)


def marked(text):
    """Of Markdown: code and bold are bold; a link to another page names it."""
    text = re.sub(r"\[([^]]*)\]\(([\w-]+\.md)[^)]*\)", r"\1 (docs/\2)", text)
    parts = re.split(r"`([^`]*)`|\*\*([^*]*)\*\*", text)
    bold = [code if code is not None else strong for code, strong in zip(parts[1::3], parts[2::3])]
    return "".join(plain(before) + (f"\\fB{plain(inside)}\\fR" if inside is not None else "")
                   for before, inside in zip(parts[::3], [*bold, None]))


def paragraphs(text, markup=plain):
    for paragraph in filter(None, text.split("\n\n")):
        lines = paragraph.strip("\n").splitlines()
        if lines[0].startswith("  "):
            yield from (".IP", ".nf", *(markup(line.strip()) for line in lines), ".fi")
        else:
            yield from (".PP", *map(markup, lines))


def page(name, section, title, summary, date, version, *sections):
    day = time.strftime("%Y-%m-%d", time.gmtime(date))
    lines = ['.\\" Made from the help texts and docs/service.md.',
             f'.TH {plain(name).upper()} {section} {day} "tracerd {version}" "{title}"',
             ".SH NAME", f"{plain(name)} \\- {plain(summary)}"]
    for heading, content in sections:
        content = list(content)
        # The first paragraph follows its heading.
        content = content[1:] if content[:1] == [".PP"] else content
        lines += [f".SH {heading}", *content] if content else []
    return "\n".join(lines) + "\n"


def summary_of(text):
    """As NAME has it: no sentence."""
    return (text[0].lower() + text[1:]).rstrip(".")


def synopsis(usage):
    words = usage.split(" ")
    count = 1 if len(words) < 2 or not words[1].islower() else 2
    return [f"\\fB{plain(' '.join(words[:count]))}\\fR {plain(' '.join(words[count:]))}".rstrip()]


def options(listed):
    for option in listed:
        yield ".TP"
        yield ", ".join(f"\\fB{plain(name)}\\fR" for name in option.names) + (
            f" \\fI{plain(option.value)}\\fR" if option.value else "")
        yield plain(option.text)


def tagged(pairs):
    for left, right in pairs:
        yield from (".TP", f"\\fB{plain(left)}\\fR", marked(right))


def references(names):
    return [",\n".join(f"\\fB{plain(name)}\\fR({section})" for name, section in names)]


def of_commands(own, commands, version, date):
    """{file name: page} of tracerd(1) and tracerd-COMMAND(1)."""
    title = "User Commands"
    listed = [(f"tracerd {name}", f"{command.summary} See **tracerd-{name}**(1).") for name, command in commands.items()]
    service = [("tracerd.toml", 5), *((f"tracerd-{name}", 1) for name in commands)]
    pages = {"tracerd.1": page(
        "tracerd", 1, title, summary_of(own.summary), date, version,
        ("SYNOPSIS", synopsis(own.usage)), ("DESCRIPTION", paragraphs(own.description or own.summary)),
        ("COMMANDS", tagged(listed)), ("OPTIONS", options(own.options)), ("NOTES", paragraphs(own.footer)),
        ("ENVIRONMENT", tagged(VARIABLES)), ("FILES", tagged(PLACES)), ("SEE ALSO", references(service)))}
    for name, command in commands.items():
        more = [("tracerd.toml", 5)] if "tracerd.toml" in command.description else []
        pages[f"tracerd-{name}.1"] = page(
            f"tracerd-{name}", 1, title, summary_of(command.summary), date, version,
            ("SYNOPSIS", synopsis(command.usage)), ("DESCRIPTION", paragraphs(command.description)),
            ("OPTIONS", options(command.options)), ("NOTES", paragraphs(command.footer)),
            ("EXIT STATUS", paragraphs(command.exit_status)), ("SEE ALSO", references([("tracerd", 1), *more])))
    return pages


def rows_of(table):
    """The rows of a Markdown table, without its head."""
    for line in table.strip().splitlines()[2:]:
        yield [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def configuration_keys(service_page):
    """(table, key, default, meaning) of each row of docs/service.md's table; a cell can have several keys."""
    table = ""
    for names, default, meaning in rows_of(re.search(r"^\| key \| default \|.*?\n\n", service_page, re.M | re.S)[0]):
        for name in re.findall(r"`([^`]+)`", names):
            if name.startswith("["):
                table = name
            else:
                yield table, name, default, meaning


def of_configuration(service_page, example, version, date):
    """{file name: page} of tracerd.toml(5)."""
    _, about, after = re.split(r"^## Configuration\n|^\| key \| default \|.*?\n\n", service_page, flags=re.M | re.S)
    keys, shown = [], None
    for table, key, default, meaning in configuration_keys(service_page):
        if table != shown:
            keys += [f".SS {plain(table)}"]
            shown = table
        sentence = f"{meaning[:1].upper()}{meaning[1:]}. " if meaning else ""
        keys += [".TP", f"\\fB{plain(key)}\\fR", marked(f"{sentence}Default: {default}.")]
    # What follows the table, up to the next heading.
    notes = after.partition("\n## ")[0].strip()
    listing = [".nf", *map(plain, example.strip().splitlines()), ".fi"]
    return {"tracerd.toml.5": page(
        "tracerd.toml", 5, "File Formats", "configuration of tracerd serve", date, version,
        ("SYNOPSIS", [plain("/etc/tracer/tracerd.toml")]), ("DESCRIPTION", paragraphs(about.strip(), marked)), ("KEYS", keys),
        ("NOTES", paragraphs(notes, marked)), ("EXAMPLE", listing), ("SEE ALSO", references([("tracerd-serve", 1)])))}


def write(folder, help_of_tracerd, service_page, example, date):
    """All pages below folder/man1 and folder/man5."""
    own, commands, version = help_of_tracerd
    pages = of_commands(own, commands, version, date) | of_configuration(service_page, example, version, date)
    for name, text in pages.items():
        path = folder / f"man{name[-1]}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")
