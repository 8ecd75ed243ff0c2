# SPDX-License-Identifier: Apache-2.0
"""IPython, several sessions, and others."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import label_children as children
from label_scenarios import need, scenario
from tracer import task


@scenario
def ipython_cells() -> None:
    shell_module: Any = need("IPython.core.interactiveshell")
    shell = shell_module.InteractiveShell.instance()
    shell.run_cell(
        "from tracer import task\n"
        "with task('a'):\n"
        f"    !{children.TRUE} MARK=a\n"
        f"    x = !{children.TRUE} MARK=a\n"
        "    with task('b'):\n"
        f"        get_ipython().run_cell_magic('bash', '', '{children.TRUE} MARK=b')\n"
        f"        get_ipython().system('{children.TRUE} MARK=b')\n"
        f"!{children.TRUE} MARK=-\n"
    )
    shell.run_cell(f"%%bash\n{children.TRUE} MARK=-\n")


@scenario
def pexpect_dialogue() -> None:
    pexpect: Any = need("pexpect")
    with task("a"):
        shell = pexpect.spawn("/bin/sh", encoding="utf-8")
    with task("b"):
        shell.sendline(f"{children.TRUE} MARK=a; exit")
        shell.expect(pexpect.EOF)
        shell.close()
        children.run("b")


@scenario
def many_threads_and_tasks() -> None:
    def work(number: int) -> None:
        for turn in range(3):
            with task(f"m{number}.{turn}"):
                children.run(f"m{number}.{turn}")
                with ThreadPoolExecutor(2) as pool:
                    list(pool.map(children.run, [f"m{number}.{turn}"] * 2))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@scenario
def recursion() -> None:
    def deeper(depth: int) -> None:
        with task(f"r{depth}"):
            children.run(f"r{depth}")
            if depth < 6:
                deeper(depth + 1)
            children.c_system(f"r{depth}")

    deeper(0)
    assert sys.getrecursionlimit()
