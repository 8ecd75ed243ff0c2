# SPDX-License-Identifier: Apache-2.0
"""Stores of objects for tests: versitygw (a real server of S3, with TLS by a CA of our own), moto, and one of ours that fails on command."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from support import wait_until

KEY, SECRET = "testkey", "testsecret1"


def versitygw() -> str | None:
    """Its program: go install github.com/versity/versitygw/cmd/versitygw@latest"""
    return shutil.which("versitygw") or shutil.which("versitygw", path=os.path.expanduser("~/go/bin"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment(endpoint: str, ca: str = "", **more: str) -> dict[str, str]:
    """Of a program that is to use this store: nothing of this machine's own accounts."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "AZURE_", "GOOGLE_"))}
    return kept | {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1",
                   "AWS_ENDPOINT_URL": endpoint, "no_proxy": "*"} | ({"SSL_CERT_FILE": ca} if ca else {}) | more


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def make_ca(folder: Path, name: str = "ca") -> None:
    """NAME.pem, and the server's NAME-cert.pem and NAME-key.pem."""
    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", f"{name}.key", "-out", f"{name}.pem",
            "-subj", f"/CN=test {name}", "-addext", "basicConstraints=critical,CA:TRUE")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}-key.pem", "-out", "request.pem", "-subj", "/CN=localhost")
    openssl("x509", "-req", "-in", "request.pem", "-CA", f"{name}.pem", "-CAkey", f"{name}.key", "-CAcreateserial", "-days", "2",
            "-out", f"{name}-cert.pem", "-extfile", "names")


class Gateway:
    """versitygw over a folder: its bucket is lake. The folder's files are the objects."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.objects = folder / "store/lake"
        self.objects.mkdir(parents=True)
        make_ca(folder)
        self.ca = str(folder / "ca.pem")
        self.port = free_port()
        self.url = f"https://localhost:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        program = versitygw()
        assert program
        self._process = subprocess.Popen(
            [program, "--port", f"127.0.0.1:{self.port}", "--cert", str(self.folder / "ca-cert.pem"), "--key",
             str(self.folder / "ca-key.pem"), "--quiet", "posix", str(self.folder / "store")],
            env=os.environ | {"ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: is_open(self.port), "versitygw")

    def stop(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None


def start_moto(clean_up: Callable[..., object]) -> str:
    """Its address."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    clean_up(process.wait)
    clean_up(process.kill)
    wait_until(lambda: is_open(port), "moto", 60)
    return f"http://127.0.0.1:{port}"


class Double:
    """The few requests of S3 and GCS that a shipper makes, over plain HTTP. `plan`: what to do instead with the next puts.

    A number is a status; "lost": kept, and the connection closed; "cut": closed at once; "hang": no answer; "slow": after two seconds.
    """

    def __init__(self, clean_up: Callable[..., object], port: int = 0) -> None:
        self.objects: dict[str, bytes] = {}
        self.plan: list[int | str] = []
        self.bodies: dict[int, str] = {}
        """Status -> what is said with it."""
        self.always: dict[str, int] = {}
        """Keys that contain this: their status."""
        self.requests: list[str] = []
        double = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None: ...

            def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    with suppress(BrokenPipeError):
                        self.wfile.write(body)

            def key(self) -> str:
                return urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)

            def do_PUT(self) -> None:
                key = self.key()
                body = self.rfile.read(int(self.headers["Content-Length"]))
                double.requests.append(f"PUT {key}")
                act = next((status for text, status in double.always.items() if text in key), None)
                if act is None and double.plan:
                    act = double.plan.pop(0)
                if act == "hang":
                    time.sleep(30)
                if act == "slow":
                    time.sleep(2)
                if isinstance(act, int):
                    self.answer(act, double.bodies.get(act, "").encode())
                    return
                if act != "cut":
                    new = self.headers.get("If-None-Match") == "*" or self.headers.get("x-goog-if-generation-match") == "0"
                    if new and key in double.objects:
                        self.answer(412)
                        return
                    double.objects[key] = body
                if act in ("cut", "lost"):
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                self.answer(200, ETag=f'"{hashlib.md5(body).hexdigest()}"')

            def do_GET(self) -> None:
                body = double.objects.get(self.key())
                double.requests.append(f"{self.command} {self.key()}")
                if body is None:
                    self.answer(404, b"<Error><Code>NoSuchKey</Code><Message>none</Message></Error>")
                else:
                    self.answer(200, body, ETag='"1"', Last_Modified="Sun, 29 Nov 2026 10:00:00 GMT")

            do_HEAD = do_GET

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        clean_up(self._server.server_close)
        clean_up(self._server.shutdown)
