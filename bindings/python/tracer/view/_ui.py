# SPDX-License-Identifier: Apache-2.0
"""The command `tracer ui`."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import errno
import hashlib
import os
import secrets
import signal
import socket
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._documents import Shown
    from ._lake import ShownLake

__all__ = ["add_command", "run"]

_PORT = 8477
_MOST_PORT = 65535
_SYS_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION_3 = 0x20080522


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    ui = commands.add_parser(
        "ui", help="show runs, steps and tasks in the browser, while they run and after",
        description="Serves a page on this host's loopback: of the service, or of recordings, folders that hold some, lakes, and sockets "
        "of services. It prints the address, whose token is needed once. docs/api.md has recipes for ssh, Jupyter and Open OnDemand.")
    ui.add_argument("sources", metavar="SOURCE", nargs="*", help="a recording, a folder, a lake (a folder, or s3://, gs://, az://), "
                    "or a service's socket. Default: the service of this host")
    ui.add_argument("--export", metavar="FILE", help="write the page as one file that needs no server, and end")
    ui.add_argument("--port", metavar="N", type=int, default=_PORT, help=f"another one is taken if it is in use. Default: {_PORT}")
    ui.add_argument("--socket", metavar="PATH", help="listen on this Unix socket, for ssh -L PORT:PATH, instead of a port that others of this "
                    "host can reach")
    ui.add_argument("--base-path", metavar="PATH", default="", help="where a proxy shows it, such as /node/n1/8477")
    ui.add_argument("--allow-host", metavar="NAME", action="append", default=[], help="a name by which a proxy is asked for it; may be given again")


def run(options: argparse.Namespace) -> int:
    from .._errors import InvalidArgumentError

    if options.export and len(options.sources) != 1:
        raise InvalidArgumentError("--export writes the page of one source", "name one recording, folder or socket")
    if options.base_path and not options.base_path.startswith("/"):
        raise InvalidArgumentError(f"--base-path {options.base_path} is no path from the root", "begin it with /")
    if not 0 <= options.port <= _MOST_PORT:
        raise InvalidArgumentError(f"--port {options.port} is no port", f"name one from 1 to {_MOST_PORT}, or 0 for any that is free")
    if not options.export:
        _needs_extra()
    from ._documents import Shown, shown_of

    shown = shown_of(options.sources)
    if options.export:
        if not isinstance(shown[0], Shown):
            raise InvalidArgumentError("--export writes the page of a recording, not of a lake", "bring a run here first: tracer lake fetch")
        return _export(shown[0], options.export)
    return _serve(shown, options)


def _needs_extra() -> None:
    from .._errors import MissingPackageError

    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError:
        raise MissingPackageError("tracer ui needs starlette and uvicorn, which are not installed", "pip install 'libtracer[ui]'") from None


def _export(shown: Shown, file: str) -> int:
    from .. import _core
    from ..__main__ import _write
    from .._show import plain_text

    text = "This page needs JavaScript." if shown.live else plain_text(shown.source.report)
    _write(file, _core.page_of(shown.exported(), shown.name, text).encode("utf-8", "backslashreplace"))
    return 0


def _serve(shown: list[Shown | ShownLake], options: argparse.Namespace) -> int:
    import uvicorn

    from ._server import application

    listening, where = _socket(options.socket) if options.socket else _port(options.port)
    try:
        place = os.path.realpath(options.socket) if options.socket else str(listening.getsockname()[1])
        token = _token(place)
        # Cookies of one host are shared by all of its ports.
        cookie = "tracer-" + hashlib.sha256(place.encode()).hexdigest()[:12]
        app = application(shown, token, cookie, options.allow_host, options.base_path)
        if os.geteuid() == 0:
            if any(each.live for each in shown):
                print("tracer: as root, the page shows what every user of this host runs", file=sys.stderr)
            _give_up_rights()
        print(f"{where}{options.base_path.rstrip('/')}/?token={token}", flush=True)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, lifespan="off", timeout_graceful_shutdown=1, limit_concurrency=128,
                                               server_header=False, date_header=False, proxy_headers=False, ws="none"))
        # uvicorn would end by the signal, and leave the socket.
        setattr(server, "capture_signals", contextlib.nullcontext)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: setattr(server, "should_exit", True))
        server.run(sockets=[listening])
        return 0
    finally:
        listening.close()
        if options.socket:
            Path(options.socket).unlink(missing_ok=True)
        for each in shown:
            if each.live:
                each.source.close()  # type: ignore[union-attr]


def _port(wanted: int) -> tuple[socket.socket, str]:
    listening = socket.socket(socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", wanted))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            listening.close()
            raise _unusable(f"port {wanted}", error) from None
        listening.bind(("127.0.0.1", 0))
        print(f"tracer: port {wanted} is in use; this is port {listening.getsockname()[1]}", file=sys.stderr)
    listening.listen(64)
    return listening, f"http://127.0.0.1:{listening.getsockname()[1]}"


def _socket(path: str) -> tuple[socket.socket, str]:
    """For its owner only. One that nobody listens on anymore is replaced."""
    listening = socket.socket(socket.AF_UNIX)
    try:
        if os.path.lexists(path) and stat.S_ISSOCK(os.lstat(path).st_mode):
            with socket.socket(socket.AF_UNIX) as other:
                if other.connect_ex(path) == 0:
                    raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
            os.unlink(path)
        before = os.umask(0o177)
        try:
            listening.bind(path)
        finally:
            os.umask(before)
    except OSError as error:
        listening.close()
        raise _unusable(path, error) from None
    listening.listen(64)
    print(f"tracer: listens on {path}: ssh -L {_PORT}:{os.path.abspath(path)} {socket.gethostname()}", file=sys.stderr)
    return listening, f"http://127.0.0.1:{_PORT}"


def _unusable(what: str, error: OSError) -> Exception:
    from .._errors import InvalidArgumentError

    return InvalidArgumentError(f"can't listen on {what}: {error if error.errno is None else os.strerror(error.errno)}", "name another one")


def _token(place: str) -> str:
    """The same after a restart, so that open pages go on; of this login only."""
    folder = os.environ.get("XDG_RUNTIME_DIR")
    if not folder:
        return secrets.token_urlsafe(24)
    file = Path(folder) / f"tracer-ui-{hashlib.sha256(place.encode()).hexdigest()[:12]}"
    try:
        with open(os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW), encoding="ascii") as kept:
            status = os.fstat(kept.fileno())
            token = kept.read(64)
        if status.st_uid == os.geteuid() and not status.st_mode & 0o077 and len(token) == 32:
            return token
    except (OSError, ValueError):
        pass
    token = secrets.token_urlsafe(24)
    try:
        file.unlink(missing_ok=True)
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600), "w", encoding="ascii") as kept:
            kept.write(token)
    except OSError:
        pass
    return token


def _give_up_rights() -> None:
    """What draws the page needs no capability; who it is, the service still sees."""
    number = _SYS_CAPSET.get(os.uname().machine)
    if number is None:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    none = (ctypes.c_uint32 * 6)()
    if libc.syscall(ctypes.c_long(number), header, none) != 0:
        print(f"tracer: keeps its capabilities: {os.strerror(ctypes.get_errno())}", file=sys.stderr)
