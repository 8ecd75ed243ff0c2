# SPDX-License-Identifier: Apache-2.0
"""Ways to start a child that carries its truth: `true MARK=<the task it belongs to>`; "-" is none."""

from __future__ import annotations

import ctypes
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from typing import Any

TRUE = "/bin/true"
_libc = ctypes.CDLL(None, use_errno=True)


def argv(mark: str) -> list[str]:
    return [TRUE, f"MARK={mark}"]


def _wait(pid: int) -> None:
    os.waitpid(pid, 0)


def run(mark: str) -> None:
    subprocess.run(argv(mark), check=True)


def with_preexec(mark: str) -> None:
    subprocess.run(argv(mark), check=True, preexec_fn=lambda: None)


def with_open_fds(mark: str) -> None:
    subprocess.run(argv(mark), check=True, close_fds=False)


def with_shell(mark: str) -> None:
    subprocess.run(" ".join(argv(mark)), shell=True, check=True)


def in_session(mark: str) -> None:
    subprocess.run(argv(mark), check=True, start_new_session=True, cwd="/")


def os_system(mark: str) -> None:
    os.system(" ".join(argv(mark)))


def os_popen(mark: str) -> None:
    os.popen(" ".join(argv(mark))).close()


def posix_spawn(mark: str) -> None:
    _wait(os.posix_spawn(TRUE, argv(mark), dict(os.environ)))


def posix_spawnp(mark: str) -> None:
    _wait(os.posix_spawnp("true", argv(mark), dict(os.environ)))


def spawnv(mark: str) -> None:
    os.spawnv(os.P_WAIT, TRUE, argv(mark))


def spawnlp_nowait(mark: str) -> None:
    _wait(os.spawnlp(os.P_NOWAIT, "true", *argv(mark)))


def fork_exec(mark: str) -> None:
    pid = os.fork()
    if pid == 0:
        os.execv(TRUE, argv(mark))
    _wait(pid)


def forkpty(mark: str) -> None:
    pid, fd = os.forkpty()
    if pid == 0:
        os.execv(TRUE, argv(mark))
    _wait(pid)
    os.close(fd)


def pty_fork(mark: str) -> None:
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(TRUE, argv(mark))
    _wait(pid)
    os.close(fd)


def pty_spawn(mark: str) -> None:
    with open(os.devnull) as nothing:
        kept = os.dup(0)
        os.dup2(nothing.fileno(), 0)
        try:
            pty.spawn(argv(mark))
        finally:
            os.dup2(kept, 0)
            os.close(kept)


def pexpect_run(mark: str) -> None:
    from label_scenarios import need

    pexpect: Any = need("pexpect")
    child = pexpect.spawn(argv(mark)[0], argv(mark)[1:])
    child.expect(pexpect.EOF)
    child.close()


def c_system(mark: str) -> None:
    _libc.system(" ".join(argv(mark)).encode())


def c_posix_spawn(mark: str) -> None:
    words = [word.encode() for word in argv(mark)]
    array = (ctypes.c_char_p * (len(words) + 1))(*words, None)
    environ = (ctypes.c_char_p * 1)(None)
    pid = ctypes.c_int()
    if _libc.posix_spawn(ctypes.byref(pid), TRUE.encode(), None, None, array, environ) == 0:
        _wait(pid.value)


def grandchild(mark: str) -> None:
    subprocess.run(["/bin/sh", "-c", f"{TRUE} MARK={mark}; {TRUE} MARK={mark}"], check=True)


def python_child(mark: str) -> None:
    subprocess.run([sys.executable, "-S", "-c", f"import os; os.system('{TRUE} MARK={mark}')"], check=True)


ALL: list[Callable[[str], None]] = [
    run, with_preexec, with_open_fds, with_shell, in_session, os_system, os_popen, posix_spawn, posix_spawnp, spawnv,
    spawnlp_nowait, fork_exec, forkpty, pty_fork, pty_spawn, pexpect_run, c_system, c_posix_spawn, grandchild,
    python_child,
]
# In coroutines: what has an audit event, and what C does alone.
BLOCKING: list[Callable[[str], None]] = [run, with_preexec, os_system, posix_spawn, fork_exec, forkpty]
UNSEEN: list[Callable[[str], None]] = [c_system, c_posix_spawn]
