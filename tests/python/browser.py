# SPDX-License-Identifier: Apache-2.0
"""Drives a headless Chromium through its debugging pipe, with the standard library only."""

import base64
import fcntl
import json
import os
import select
import shutil
import struct
import subprocess
import tempfile
import time
import zlib

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# A guard against hanging, never a measure.
DEADLINE_SECONDS = 90


def _high(descriptor):
    copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 20)
    os.close(descriptor)
    return copy


class Browser:
    """One browser with one page, which has no network but this host's loopback."""

    def __init__(self, width=1200, height=900):
        self.folder = tempfile.mkdtemp(prefix="tracer-browser-")
        to_read, self._writer = map(_high, os.pipe())
        self._reader, to_write = map(_high, os.pipe())
        self.log = open(os.path.join(self.folder, "log"), "w+b")

        def place():
            os.dup2(to_read, 3)
            os.dup2(to_write, 4)

        self.process = subprocess.Popen(
            [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--hide-scrollbars",
             f"--user-data-dir={self.folder}/profile", f"--window-size={width},{height}", "--remote-debugging-pipe",
             "about:blank"],
            preexec_fn=place, pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log,
            start_new_session=True, env=os.environ | {"HOME": self.folder})
        os.close(to_read)
        os.close(to_write)
        self._buffer = b""
        self._next = 0
        self.events = []
        self.session = None
        try:
            target = self.send("Target.createTarget", url="about:blank")["targetId"]
            self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.send(f"{domain}.enable")
            self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        except BaseException:
            self.close()
            raise

    def close(self):
        try:
            self.session = None
            if self.process.poll() is None:
                self.send("Browser.close")
                self.process.wait(10)
        except Exception:
            pass
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            os.close(self._writer)
            os.close(self._reader)
            self.log.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _message(self, deadline):
        while b"\0" not in self._buffer:
            if not select.select([self._reader], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError("the browser does not answer")
            data = os.read(self._reader, 1 << 20)
            if not data:
                self.log.seek(0)
                raise AssertionError("the browser has ended: " + self.log.read().decode(errors="replace")[-2000:])
            self._buffer += data
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, **params):
        """The result of a command; events that come meanwhile are kept."""
        self._next += 1
        request = {"id": self._next, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self._writer, data):]
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            message = self._message(deadline)
            if message.get("id") == request["id"]:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message.get("result", {})
            if "method" in message:
                self.events.append(message)

    def run(self, script):
        """The value of an expression in the page; a promise is waited for."""
        result = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise AssertionError(json.dumps(result["exceptionDetails"])[:2000])
        return result["result"].get("value")

    def open(self, place, ready="document.documentElement.dataset.ready === 'yes'"):
        self.events.clear()
        self.send("Page.navigate", url=place if "://" in place else "file://" + place)
        until = time.monotonic() + DEADLINE_SECONDS
        while self.run(f"location.href !== 'about:blank' && document.readyState === 'complete' && ({ready})") is not True:
            if time.monotonic() > until:
                raise AssertionError("the page is never ready: " + repr(self.complaints()))
            time.sleep(0.05)
        self.frames(2)

    def frames(self, count=2):
        """Waits until so many frames were drawn."""
        self.run(f"new Promise((done) => {{ let left = {count}; const next = () => left-- > 0 ? "
                 "requestAnimationFrame(next) : done(true); next(); })")

    def scheme(self, value):
        self.send("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": value}])
        self.frames()

    def complaints(self):
        """Exceptions, errors of the console, and what the policy has refused."""
        found = []
        for event in self.events:
            params = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"].get("exception", {}).get("description", str(params)))
            elif event["method"] == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append(json.dumps(params["args"]))
            elif event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
            elif event["method"] == "Page.javascriptDialogOpening":
                found.append("a dialog: " + params["message"])
        return found

    def requests(self):
        """The addresses of all that was asked for."""
        return [event["params"]["request"]["url"] for event in self.events
                if event["method"] == "Network.requestWillBeSent"]

    def picture(self, selector=None, scale=0.25):
        """(width, height, rows of (red, green, blue)) of an element, or of the window."""
        options = {"format": "png"}
        if selector is None:
            width, height = self.run("[innerWidth, innerHeight]")
            x, y = self.run("[scrollX, scrollY]")
        else:
            x, y, width, height = self.run(
                f"(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect(); "
                "return [r.x + scrollX, r.y + scrollY, r.width, r.height]; })()")
        options["clip"] = {"x": x, "y": y, "width": width, "height": height, "scale": scale}
        options["captureBeyondViewport"] = True
        return decode_png(base64.b64decode(self.send("Page.captureScreenshot", **options)["data"]))


def decode_png(data):
    """8 bits a channel, RGB or RGBA, not interlaced: what browsers write."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, color, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert depth == 8 and color in (2, 6) and interlaced == 0
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    size = 3 if color == 2 else 4
    raw, stride = zlib.decompress(packed), width * size
    rows, before = [], bytearray(stride)
    for y in range(height):
        kind = raw[y * (stride + 1)]
        line = bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            left = line[i - size] if i >= size else 0
            above = before[i]
            corner = before[i - size] if i >= size else 0
            if kind == 1:
                line[i] = (line[i] + left) & 255
            elif kind == 2:
                line[i] = (line[i] + above) & 255
            elif kind == 3:
                line[i] = (line[i] + (left + above) // 2) & 255
            elif kind == 4:
                guess = left + above - corner
                near = min((abs(guess - left), 0, left), (abs(guess - above), 1, above), (abs(guess - corner), 2, corner))
                line[i] = (line[i] + near[2]) & 255
        rows.append([tuple(line[x:x + 3]) for x in range(0, stride, size)])
        before = line
    return width, height, rows
