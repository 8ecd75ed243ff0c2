#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the views cost, and how soon they show what is: bench/views.py TRACERD first|paint|changes|busy [MINUTES]. Needs root, and a Python
with libtracer[ui].

first    until the first row of `tracer top`, and until the page of `tracer ui` is drawn in Chromium
paint    until a page of 1,000 tasks, and one of 20,000, is drawn
changes  beside 1,000 tasks that run: until one that starts, fails or is queued is in both views
busy     memory of the page's server and its tab, and their CPUs and those of `tracer top`, while tasks come and go"""

import fcntl
import os
import pty
import re
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "tests/python")]
import pages
import tracer
from browser import Browser
from serve import begin, cpu_s

TRACER = [sys.executable, "-m", "tracer"]
STEPS = 20
TIMES = 7
ESCAPES = re.compile(rb"\x1b\[[0-9;?<=>]*[A-Za-z]")


def rss_mib(pids):
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
            total += next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    return total / 1024


def below(pid):
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += below(int(child))
    return found


class Top:
    """`tracer top` in a terminal of its own; what it has written, and when."""

    def __init__(self, *words, size=(160, 50)):
        self.begin = time.time()
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.execvpe(TRACER[0], [*TRACER, "top", *words], os.environ | {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"})
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.written = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        while True:
            select.select([self._terminal], [], [])
            try:
                data = os.read(self._terminal, 65536)
            except OSError:
                return
            self.written.append((time.time(), ESCAPES.sub(b"", data).decode(errors="replace")))

    def close(self):
        os.write(self._terminal, b"q")
        os.waitpid(self.pid, 0)
        self._reader.join()
        os.close(self._terminal)


class Page:
    """`tracer ui`, and a tab that shows it."""

    LOG = """window.seen = [];
      new MutationObserver(() => { const text = document.querySelector('.counts')?.textContent ?? '';
        if (window.seen.at(-1)?.[1] !== text) window.seen.push([Date.now() / 1000, text]); })
        .observe(document.body, { childList: true, subtree: true, characterData: true }); 0"""

    def __init__(self, *words):
        self.begin = time.time()
        self.server = subprocess.Popen([*TRACER, "ui", "--port", "0", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        line = next(line for line in self.server.stdout if "http://" in line)
        self.address = re.search(r"http://\S+", line)[0]
        self.browser = Browser(1440, 900)

    def open(self, ready="document.querySelector('.counts, .card') !== null"):
        self.browser.open(self.address, ready)

    def close(self):
        self.browser.close()
        self.server.send_signal(signal.SIGINT)
        self.server.communicate(timeout=20)


class Pipeline:
    """One whose engine announces its tasks: processes in folders of their own."""

    def __init__(self, session, folder):
        self.session, self.folder, self.count, self.living = session, Path(folder), 0, []
        self.context = {"engine": "bench", "run_id": "r1", "pipeline": "bench"}

    def context_of(self, number):
        return self.context | {"step": f"step{number % STEPS}", "task": f"step{number % STEPS} ({number})", "task_id": f"t{number}"}

    def start(self, seconds=0):
        self.count += 1
        place = self.folder / str(self.count)
        place.mkdir(exist_ok=True)
        self.session.announce(work_dir=place, context=self.context_of(self.count))
        # Ends with status 3 when its input is closed.
        script = f"read -t {seconds} line; exit 0" if seconds else "read line; exit 3"
        self.living.append(subprocess.Popen(["bash", "-c", script], cwd=place, stdin=subprocess.PIPE))

    def queue(self):
        self.count += 1
        self.session.submit(self.context_of(self.count))

    def fail(self):
        process = self.living.pop()
        process.stdin.close()
        process.wait()

    def close(self):
        for process in self.living:
            process.kill()
            process.wait()
            process.stdin.close()


def wait_for(found, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = found()
        if value is not None:
            return value
        time.sleep(0.02)
    return None


def first(place, pipeline):
    pipeline.start()
    tops, pages_ = [], []
    for _ in range(TIMES):
        top = Top("--socket", place)
        tops.append(wait_for(lambda: next((at - top.begin for at, text in top.written if "step1" in text), None)))
        top.close()
        # A browser is there already.
        page = Page(place)
        began = time.time() - page.begin
        page.browser.close()
        page.browser = Browser(1440, 900)
        opened = time.time()
        page.open()
        pages_.append((began, time.time() - opened))
        page.close()
    print(f"first row of tracer top: {statistics.median(tops):.2f} s ({min(tops):.2f} to {max(tops):.2f})")
    print(f"tracer ui: its address after {statistics.median(each for each, _ in pages_):.2f} s with the browser's start, the page after "
          f"{statistics.median(each for _, each in pages_):.2f} s")


def paint(folder):
    for tasks in (1000, 20_000):
        path = pages.written(folder, pages.made_up(tasks))
        times = []
        for _ in range(TIMES):
            browser = Browser(1440, 900)
            try:
                began = time.time()
                browser.open(path)
                times.append(time.time() - began)
            finally:
                browser.close()
        print(f"{tasks} tasks: drawn after {statistics.median(times):.2f} s ({min(times):.2f} to {max(times):.2f})")


def changes(place, pipeline):
    for _ in range(1000):
        pipeline.start()
    time.sleep(5)
    top, page = Top("--socket", place), Page(place)
    delays = {"page": [], "top": []}
    try:
        page.browser.open(page.address + "#/run/", "document.querySelector('.counts') !== null")
        page.browser.run(page.LOG)
        time.sleep(3)
        running, queued, failed = 1000, 0, 0
        for number in range(60):
            what = ("start", "queue", "fail")[number % 3]
            getattr(pipeline, what)()
            at = time.time()
            running, queued, failed = running + (what == "start") - (what == "fail"), queued + (what == "queue"), failed + (what == "fail")
            # One that does next to nothing may count as stalled.
            words, wanted = {"start": (("running", "stalled"), running), "queue": (("queued",), queued), "fail": (("failed",), failed)}[what]

            def says(text, words=words, wanted=wanted):
                return sum(int(number) for number, word in re.findall(r"(\d+) ?(\w+?)(?=\d|\W|$)", text) if word in words) == wanted

            seen = wait_for(lambda: next((when for when, text in page.browser.run("window.seen") if when >= at - 0.05 and says(text)), None), 10)
            delays["page"].append(None if seen is None else seen - at)
            seen = wait_for(lambda: next((when for when, text in top.written for line in text.splitlines() if when >= at and " tasks " in line and says(line)), None), 10)
            delays["top"].append(None if seen is None else seen - at)
            time.sleep(0.5)
        for view, found in delays.items():
            known = sorted(10.0 if each is None else each for each in found)
            print(f"{view}: {statistics.median(known):.2f} s, 95 % within {known[int(0.95 * len(known))]:.2f} s; not seen: {found.count(None)} of {len(found)}")
    finally:
        top.close()
        page.close()


def busy(place, pipeline, minutes):
    pipeline.start(seconds=20)
    top, page = Top("--socket", place), Page(place)
    try:
        page.browser.open(page.address + "#/run/", "document.querySelector('.counts, .card') !== null")
        tab = below(page.browser.process.pid)
        pids = {"server": [page.server.pid], "tab": tab, "top": [top.pid]}
        before = {name: sum(map(cpu_s, each)) for name, each in pids.items()}
        began = time.monotonic()
        looks = []
        while time.monotonic() < began + 60 * minutes:
            until = time.monotonic() + 60
            while time.monotonic() < until:
                pipeline.start(seconds=20)
                for process in [each for each in pipeline.living if each.poll() is not None]:
                    process.stdin.close()
                    pipeline.living.remove(process)
                time.sleep(0.25)
            looks.append({name: rss_mib(each) for name, each in pids.items()})
            print(f"{len(looks)} min: " + ", ".join(f"{name} {value:.1f} MiB" for name, value in looks[-1].items()), flush=True)
        seconds = time.monotonic() - began
        third = looks[len(looks) // 3]
        for name, each in pids.items():
            print(f"{name}: memory {looks[-1][name] / third[name]:.2f} times that of a third of the time, "
                  f"{100 * (sum(map(cpu_s, each)) - before[name]) / seconds:.1f} % of a CPU")
    finally:
        top.close()
        page.close()


def main():
    tracerd, what = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        if what == "paint":
            return paint(folder)
        service = begin(tracerd, f"{folder}/s")
        try:
            with tracer.connect(f"{folder}/s") as session:
                pipeline = Pipeline(session, folder)
                try:
                    {"first": first, "changes": changes}[what](f"{folder}/s", pipeline) if what != "busy" \
                        else busy(f"{folder}/s", pipeline, int(sys.argv[3]) if len(sys.argv) > 3 else 30)
                finally:
                    pipeline.close()
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait()
    return None


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main()
