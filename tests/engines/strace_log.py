# SPDX-License-Identifier: Apache-2.0
"""What a log of strace says of files: which opens ended by a last close, under which path, and whether that path was gone.

    strace -f --seccomp-bpf -yy -s 4096 -e trace=CALLS -o LOG COMMAND

Descriptors are followed through dup, fork, exec and exit, and so are mappings, which hold a file open as well."""

import dataclasses
import os
import posixpath
import re

CALLS = ("open,openat,openat2,creat,close,close_range,dup,dup2,dup3,fcntl,mmap,munmap,mremap,execve,execveat,clone,clone3,fork,"
         "vfork,rename,renameat,renameat2,unlink,unlinkat,rmdir,mknod,mknodat,chdir,fchdir")
COMMAND = ("strace", "-f", "--seccomp-bpf", "-yy", "-s", "4096", "-e", f"trace={CALLS}", "-o")

_LINE = re.compile(r"(\d+) +(.*)")
_RESUMED = re.compile(r"<\.\.\. (\w+) resumed>(.*)", re.DOTALL)
_CALL = re.compile(r"(\w+)\((.*)\) += (-?\w+)(.*)", re.DOTALL)
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
_AT = re.compile(r"(?:AT_FDCWD|\d+)<((?:[^>\\]|\\.)*)>")
_ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|[0-7]{1,3}|.)", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "f": "\f"}


def plain(text):
    """Without the escapes of strace."""
    def one(match):
        code = match[1]
        if code[0] == "x" and len(code) == 3:
            return chr(int(code[1:], 16))
        return chr(int(code, 8)) if code[0] in "01234567" else _LETTERS.get(code, code)
    return _ESCAPE.sub(one, text)


@dataclasses.dataclass(eq=False)
class Opened:
    """What one open has made. `file` is the same for all opens of one file, whatever its names."""
    path: str
    file: object
    is_folder: bool
    linked: bool = True
    holders: int = 0
    closed_by: int | None = None


class Holders:
    """The descriptors, or the mappings, of those who share them."""

    def __init__(self, log):
        self.log = log
        self.held = {}
        self.closed_by_exec = set()
        self.sharers = 1

    def put(self, key, opened, process):
        self.drop(key, process)
        self.held[key] = opened
        opened.holders += 1

    def drop(self, key, process):
        opened = self.held.pop(key, None)
        self.closed_by_exec.discard(key)
        if opened is not None:
            opened.holders -= 1
            if opened.holders == 0:
                self.log.closed(opened, process)

    def copy(self):
        other = Holders(self.log)
        for key, opened in self.held.items():
            other.put(key, opened, None)
        other.closed_by_exec = set(self.closed_by_exec)
        return other

    def leave(self, process):
        self.sharers -= 1
        if self.sharers == 0:
            for key in list(self.held):
                self.drop(key, process)


class Folder:
    """The working folder of those who share it."""

    def __init__(self, path):
        self.path = path


@dataclasses.dataclass
class Thread:
    process: int
    files: Holders
    memory: Holders
    folder: Folder


class Log:
    """`ended`: what was closed for the last time, in that order, with the last path. `made`: paths of what is no regular file."""

    def __init__(self, path, cwd):
        self.ended = []
        self.made = set()
        self.living = set()
        self.threads = {}
        self.names = {}
        self.cwd = cwd
        # A child's first call may stand before the end of the call that has made it.
        with open(path, encoding="latin-1", newline="\n") as file:
            for number, text in self._whole(file):
                self._line(number, text)
        for thread in list(self.threads):
            self._exit(thread)

    def _whole(self, file):
        """(thread, call) in the order of their ends; of what makes a child, of their beginnings."""
        lines = [_LINE.fullmatch(line.rstrip("\n")).groups() for line in file]
        ends = {}
        begun = {}
        for place, (number, text) in enumerate(lines):
            if text.endswith("<unfinished ...>"):
                begun[number] = place
            elif resumed := _RESUMED.fullmatch(text):
                if number in begun:
                    ends[begun.pop(number)] = place, resumed[2]
        skipped = set()
        for place, (number, text) in enumerate(lines):
            if place in skipped:
                continue
            if text.endswith("<unfinished ...>"):
                if place not in ends:
                    continue
                end, rest = ends[place]
                text = text.removesuffix("<unfinished ...>").rstrip(" ") + rest
                if re.match(r"v?fork|clone", text):
                    skipped.add(end)
                else:
                    lines[end] = number, text
                    continue
            yield int(number), text

    def closed(self, opened, process):
        opened.closed_by = process
        self.living.discard(opened)
        self.ended.append(opened)

    def _exit(self, number):
        thread = self.threads.pop(number, None)
        if thread is not None:
            thread.files.leave(thread.process)
            thread.memory.leave(thread.process)

    def _line(self, number, text):
        if text.startswith(("+++ exited", "+++ killed", "+++ superseded")):
            self._exit(number)
            return
        call = _CALL.fullmatch(text)
        if call is None:
            return
        name, words, result, more = call.groups()
        if result == "?" or result.startswith("-"):
            return
        thread = self.threads.setdefault(number, None) or self._first(number)
        handler = getattr(self, f"_{name}", None)
        if handler is not None:
            handler(thread, words, result, more)

    def _first(self, number):
        thread = self.threads[number] = Thread(number, Holders(self), Holders(self), Folder(self.cwd))
        return thread

    # Opens and closes.

    def _openat(self, thread, words, result, more):
        flags = words[_TEXT.search(words).end():]
        path = re.match(r"<((?:[^>\\]|\\.)*)>", more)
        # Devices, pipes and sockets have more than a path; what only stands for a path is no open.
        if path is None or not path[1].startswith("/") or "<" in path[1] or "O_PATH" in flags:
            thread.files.drop(int(result), thread.process)
            return
        name = plain(path[1])
        opened = Opened(name, self.names.setdefault(name, object()), "O_DIRECTORY" in flags and "O_TMPFILE" not in flags)
        if "O_TMPFILE" in flags or "(deleted)" in more:
            opened.linked, opened.file = False, object()
        self.living.add(opened)
        thread.files.put(int(result), opened, thread.process)
        if "O_CLOEXEC" in flags:
            thread.files.closed_by_exec.add(int(result))

    _open = _openat2 = _creat = _openat

    def _close(self, thread, words, result, more):
        thread.files.drop(int(re.match(r"\d+", words)[0]), thread.process)

    def _close_range(self, thread, words, result, more):
        first, last = (int(word) for word in re.findall(r"\d+", words)[:2])
        for number in [each for each in thread.files.held if first <= each <= last]:
            if "CLOSE_RANGE_CLOEXEC" in words:
                thread.files.closed_by_exec.add(number)
            else:
                thread.files.drop(number, thread.process)

    def _dup(self, thread, words, result, more):
        opened = thread.files.held.get(int(re.match(r"\d+", words)[0]))
        if int(result) == int(re.match(r"\d+", words)[0]):
            return
        if opened is None:
            thread.files.drop(int(result), thread.process)
            return
        thread.files.put(int(result), opened, thread.process)
        if "CLOEXEC" in words:
            thread.files.closed_by_exec.add(int(result))

    _dup2 = _dup3 = _dup

    def _fcntl(self, thread, words, result, more):
        number = int(re.match(r"\d+", words)[0])
        if "F_DUPFD" in words:
            self._dup(thread, words, result, more)
        elif "F_SETFD" in words and number in thread.files.held:
            (thread.files.closed_by_exec.add if "FD_CLOEXEC" in words else thread.files.closed_by_exec.discard)(number)

    def _mmap(self, thread, words, result, more):
        parts = words.rsplit(", ", 2)
        number = re.match(r"\d+", parts[1])
        opened = thread.files.held.get(int(number[0])) if number else None
        if opened is not None:
            thread.memory.put(int(result, 16), opened, thread.process)

    def _munmap(self, thread, words, result, more):
        first, length = words.split(", ")
        for address in [each for each in thread.memory.held if 0 <= each - int(first, 16) < int(length)]:
            thread.memory.drop(address, thread.process)

    def _mremap(self, thread, words, result, more):
        opened = thread.memory.held.get(int(words.split(", ")[0], 16))
        if opened is not None and int(words.split(", ")[0], 16) != int(result, 16):
            thread.memory.put(int(result, 16), opened, thread.process)
            thread.memory.drop(int(words.split(", ")[0], 16), thread.process)

    # Threads and processes.

    def _clone(self, thread, words, result, more):
        child = int(result)
        shared = {"files": "CLONE_FILES" in words, "memory": "CLONE_VM" in words, "folder": "CLONE_FS" in words}
        if child in self.threads:
            return
        for name in ("files", "memory"):
            if shared[name]:
                getattr(thread, name).sharers += 1
        self.threads[child] = Thread(thread.process if "CLONE_THREAD" in words else child,
                                     thread.files if shared["files"] else thread.files.copy(),
                                     thread.memory if shared["memory"] else thread.memory.copy(),
                                     thread.folder if shared["folder"] else Folder(thread.folder.path))

    _clone3 = _fork = _clone

    def _vfork(self, thread, words, result, more):
        self._clone(thread, "CLONE_VM", result, more)

    def _execve(self, thread, words, result, more):
        files = thread.files.copy()
        thread.files.leave(thread.process)
        thread.memory.leave(thread.process)
        thread.files, thread.memory = files, Holders(self)
        for number in list(files.closed_by_exec):
            files.drop(number, thread.process)

    _execveat = _execve

    def _chdir(self, thread, words, result, more):
        thread.folder.path = self._paths(thread, words)[0]

    def _fchdir(self, thread, words, result, more):
        thread.folder.path = plain(_AT.match(words)[1])

    # Names.

    def _paths(self, thread, words):
        """Absolute, of the arguments that are paths."""
        found = []
        at = 0
        for text in _TEXT.finditer(words):
            base = _AT.search(words, at, text.start())
            folder = plain(base[1]) if base else thread.folder.path
            path = posixpath.join(folder, plain(text[1]))
            # The last component may be a link itself; those before it lead to a folder.
            head, tail = posixpath.split(posixpath.normpath(path))
            found.append(posixpath.join(os.path.realpath(head), tail))
            at = text.end()
        return found

    def _unlink(self, thread, words, result, more):
        path = self._paths(thread, words)[0]
        if "AT_REMOVEDIR" in words:
            self.made.add(path)
            return
        self.names.pop(path, None)
        for opened in self.living:
            if opened.path == path:
                opened.linked = False

    _unlinkat = _unlink

    def _rmdir(self, thread, words, result, more):
        self.made.add(self._paths(thread, words)[0])

    def _mknod(self, thread, words, result, more):
        if "S_IFREG" not in words:
            self.made.add(self._paths(thread, words)[0])

    _mknodat = _mknod

    def _rename(self, thread, words, result, more):
        old, new = self._paths(thread, words)
        if old == new:
            return
        self.names.pop(new, None)
        for name in [name for name in self.names if name == old or name.startswith(old + "/")]:
            self.names[new + name[len(old):]] = self.names.pop(name)
        for opened in self.living:
            if opened.linked and opened.path == new:
                opened.linked = False
            elif opened.linked and (opened.path == old or opened.path.startswith(old + "/")):
                opened.path = new + opened.path[len(old):]

    _renameat = _renameat2 = _rename
