# SPDX-License-Identifier: Apache-2.0
"""The page's server: HTTP for one user on this host, as docs/api.md describes it."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from .. import _core
from .._errors import InvalidArgumentError, NotPermittedError, TracerError
from ._asked import Asked
from ._documents import Shown, of_key
from ._lake import ShownLake
from ._page import POLICY_OF_SERVER, served_page
from ._runs import Runs

__all__ = ["MOST_STREAMS", "application"]

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
MOST_STREAMS = 16
_MOST_QUERY_BYTES = 4096
_LOOK_S = 1.0
_STILL_HERE_S = 15.0
_SAFE_HEADERS = [(b"content-security-policy", POLICY_OF_SERVER.encode()), (b"x-content-type-options", b"nosniff"),
                 (b"referrer-policy", b"no-referrer"), (b"cross-origin-resource-policy", b"same-origin"), (b"cache-control", b"no-store")]


def _failed(status: int, error: str, code: str = "") -> Response:
    return Response(json.dumps({"error": error, **({"code": code} if code else {})}), status, media_type="application/json")


def _json(text: str) -> Response:
    return Response(text, media_type="application/json")


class _Guard:
    """Refuses who is not meant: another host's name, another site's page, no token."""

    def __init__(self, app: ASGIApp, token: str, cookie: str, hosts: frozenset[str], base: str) -> None:
        self._app, self._token, self._cookie, self._hosts, self._base = app, token, cookie, hosts, base

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        path: str = scope["path"]
        # Some proxies pass the whole path on, some without the part that they are asked for.
        if self._base and (path + "/").startswith(self._base + "/"):
            path = path[len(self._base):] or "/"
        scope = {**scope, "path": path, "root_path": ""}

        async def safely(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *_SAFE_HEADERS]}
            await send(message)

        refused = self._refusal(Request(scope))
        await (self._app if refused is None else refused)(scope, receive, safely)

    def _refusal(self, request: Request) -> Response | None:
        if request.method != "GET":
            return _failed(405, "only GET is answered")
        if len(request.scope["query_string"]) > _MOST_QUERY_BYTES:
            return _failed(414, "the query is too long")
        if _name_of(request.headers.get("host", "")) not in self._hosts:
            return _failed(403, "this host name is not allowed: tracer ui --allow-host NAME")
        origin = request.headers.get("origin")
        if origin is not None and _name_of(origin) not in self._hosts:
            return _failed(403, "this origin is not allowed")
        if request.headers.get("sec-fetch-site") == "cross-site" and request.headers.get("sec-fetch-mode") != "navigate":
            return _failed(403, "another site asks")
        given = parse_qs(request.scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if given and request.url.path == "/":
            if not self._is_token(given):
                return _failed(403, "wrong token: open the address that tracer ui has printed")
            answer = Response("", 303, headers={"location": "./"})
            answer.set_cookie(self._cookie, self._token, path=self._base or "/", httponly=True, samesite="lax")
            return answer
        if not self._is_token(request.cookies.get(self._cookie, "")):
            return _failed(403, "no token: open the address that tracer ui has printed")
        return None

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())


def _name_of(host: str) -> str:
    """Without its port, and without the scheme of an origin."""
    try:
        return (urlsplit(host if "://" in host else f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


class _Api:
    def __init__(self, shown: list[Shown | ShownLake]) -> None:
        self._given = {each.identity: each for each in shown}
        self._runs = Runs(shown)
        self._compared = Asked(lambda a, b: self._found(a).compared(self._found(b)))
        self._streams = 0

    def _opened(self) -> list[tuple[ShownLake, Shown]]:
        return [(lake, each) for lake in self._given.values() if isinstance(lake, ShownLake) for each in lake.opened]

    def _found(self, identity: str) -> Shown:
        found = {each.identity: each for _, each in self._opened()} | self._given
        if identity not in found:
            raise LookupError("there is no such source: see sources")
        if isinstance(shown := found[identity], ShownLake):
            raise LookupError("a lake has only runs and hosts: open a run")
        return shown

    def _source(self, request: Request) -> Shown:
        return self._found(request.query_params.get("source", next(iter(self._given))))

    def _lake(self, request: Request) -> ShownLake:
        lake = self._given.get(request.query_params.get("source", next(iter(self._given))))
        if not isinstance(lake, ShownLake):
            raise LookupError("this source is no lake")
        return lake

    async def sources(self, request: Request) -> Response:
        return _json(json.dumps({"sources": await run_in_threadpool(lambda: [
            *(each.about() for each in self._given.values()), *(each.about() | {"lake": lake.identity} for lake, each in self._opened())])}))

    async def open(self, request: Request) -> Response:
        lake = self._lake(request)
        opened = await run_in_threadpool(lake.open, request.path_params["key"])
        return _json(json.dumps({"sources": [each.about() | {"lake": lake.identity} for each in opened]}))

    async def hosts(self, request: Request) -> Response:
        return _json(json.dumps(await run_in_threadpool(self._lake(request).hosts)))

    async def state(self, request: Request) -> Response:
        source, asked = self._source(request), request.query_params
        if asked.get("key"):
            return _json(json.dumps(await run_in_threadpool(source.held, asked["key"])))
        rows = [each for each in asked.get("rows", "").split(",") if each]
        return _json(await run_in_threadpool(source.state, asked.get("since", ""), rows, ""))

    async def runs(self, request: Request) -> Response:
        return _json(json.dumps(await run_in_threadpool(self._runs.listed)))

    async def compare(self, request: Request) -> Response:
        a, b = self._source(request), self._found(request.query_params.get("with", ""))
        return _json(json.dumps(await run_in_threadpool(self._compared.answer, a.identity, b.identity)))

    def _state(self, source: Shown, since: str) -> tuple[dict[str, Any], str]:
        """The reply of a source for pages, and its text."""
        text = source.state(since, [], "")
        reply = json.loads(text)
        if not reply["more"] and (ends := self._runs.expected_ends(source)):
            text = f"{text[:-1]},{json.dumps({'expected_end': ends})[1:]}"
        return reply, text

    async def report(self, request: Request) -> Response:
        source, key = self._source(request), request.path_params["key"]
        document = await run_in_threadpool(source.document)
        if key != "all":
            part = await run_in_threadpool(of_key, document, key)
            if part is None:
                raise LookupError("there is no such run")
            document = part
        return _json(document)

    def answer_of(self, name: str) -> Callable[[Request], Any]:
        """over_time, why."""

        async def answer(request: Request) -> Response:
            said = await run_in_threadpool(self._source(request).ask, name, request.path_params["key"])
            if said is None:
                raise LookupError(f"this source has no {name} of it")
            return _json(json.dumps(said))

        return answer

    async def changes(self, request: Request) -> Response:
        source = self._source(request)
        if self._streams >= MOST_STREAMS:
            return _failed(503, f"{MOST_STREAMS} pages are open already: close one")
        since = request.headers.get("last-event-id", request.query_params.get("since", ""))
        return StreamingResponse(self._changes(source, since[:256]), media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    async def _changes(self, source: Shown, since: str) -> AsyncIterator[str]:
        """Each reply of the state that says something, and signs of life between them."""
        self._streams += 1
        try:
            quiet = _STILL_HERE_S
            while True:
                try:
                    reply, text = await run_in_threadpool(self._state, source, since)
                except TracerError as error:
                    yield f"event: lost\ndata: {json.dumps({'error': str(error), 'code': error.code})}\n\n"
                    await asyncio.sleep(_LOOK_S)
                    continue
                if reply["since"] != since or reply["all"] or reply["more"]:
                    since, quiet = reply["since"], 0.0
                    yield f"id: {since}\ndata: {text}\n\n"
                elif quiet >= _STILL_HERE_S:
                    quiet = 0.0
                    yield ": still here\n\n"
                if not reply["more"]:
                    quiet += _LOOK_S
                    await asyncio.sleep(_LOOK_S)
        finally:
            self._streams -= 1


def _page(request: Request) -> Response:
    return Response(served_page(), media_type="text/html; charset=utf-8")


def _asset(path: str, name: str, kind: str) -> Route:
    return Route(path, lambda request: Response(_core.page_file(name), media_type=kind))


async def _not_found(request: Request, error: Exception) -> Response:
    return _failed(404, str(error) if isinstance(error, LookupError) else "there is nothing here")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, TracerError)
    status = 400 if isinstance(error, InvalidArgumentError) else 403 if isinstance(error, NotPermittedError) else 503
    return _failed(status, str(error), error.code)


def application(shown: list[Shown | ShownLake], token: str, cookie: str, allowed_hosts: list[str], base_path: str = "") -> ASGIApp:
    """`allowed_hosts`: names besides those of this host's loopback. `base_path`: below which a proxy shows it."""
    api = _Api(shown)
    at = "/api/v1/"
    app = Starlette(routes=[
        Route("/", _page), _asset("/page.js", "script", "text/javascript; charset=utf-8"), _asset("/page.css", "style", "text/css; charset=utf-8"),
        _asset("/page.svg", "icon", "image/svg+xml"),
        Route(f"{at}sources", api.sources), Route(f"{at}runs", api.runs), Route(f"{at}compare", api.compare), Route(f"{at}hosts", api.hosts), Route(f"{at}open/{{key}}", api.open), Route(f"{at}state", api.state), Route(f"{at}changes", api.changes),
        Route(f"{at}report/{{key}}", api.report), Route(f"{at}over_time/{{key}}", api.answer_of("over_time")),
        Route(f"{at}why/{{key}}", api.answer_of("why")),
    ], exception_handlers={404: _not_found, LookupError: _not_found, TracerError: _refused})
    hosts = frozenset(name.lower() for name in (*LOCAL_HOSTS, *allowed_hosts))
    return _Guard(app, token, cookie, hosts, base_path.rstrip("/"))
