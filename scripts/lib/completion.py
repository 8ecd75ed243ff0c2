# SPDX-License-Identifier: Apache-2.0
"""The completion of bash, from the help texts: data for packaging/completion.bash.in."""
import shlex


def kind_of(option):
    return "PID" if option.long_name == "--pid" else option.value


def script(help_of_tracerd, template):
    own, commands, _ = help_of_tracerd
    options, values, operands = [], [], []
    for name, command in commands.items():
        options.append(f"[{name}]={shlex.quote(' '.join(option.long_name for option in command.options))}")
        values += [f"[{name} {option.long_name}]={shlex.quote(' '.join([kind_of(option), *option.choices()]))}"
                   for option in command.options if option.value]
        operands += [f"[{name}]={command.operand}"] if command.operand else []
    first = [*commands, *(option.long_name for option in own.options)]
    for placeholder, entries in (("@FIRST@", first), ("@OPTIONS@", options), ("@VALUES@", values), ("@OPERANDS@", operands)):
        template = template.replace(placeholder, ("\n" + " " * 8 if len(entries) > 1 and "=" in entries[0] else " ").join(entries))
    return template
