"""The ASGI application: routes, authorisation, security headers and access logs."""

import json
import logging
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import SplitResult, urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tombola.errors import TombolaError
from tombola.service.hosted_file import HostedFile
from tombola.service.openapi import API, document
from tombola.service.pages import COOKIE, page_routes
from tombola.service.parsing import CheckedRequest, read_json
from tombola.service.problems import ProblemError, problem_from
from tombola.service.tokens import LOCAL_ADMIN, Identity, TokenStore

# Logger that receives one JSON line per request, at level INFO.
LOG = logging.getLogger("tombola.service")

# Host names of requests to a service without tokens; another name means DNS rebinding by a web
# site.
_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
# Headers that a reverse proxy adds. A service without tokens admits only this machine, and a request
# with one of them comes from another.
_PROXY_HEADERS = frozenset({"forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"})
# HTTP methods that change nothing: their origin is not checked.
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

# HTTP headers of every reply: scripts, styles and forms of this server only, and no embedding in
# other pages.
SECURITY_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src "
    "'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    # With no-referrer, browsers would send "Origin: null" with our own forms.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}

_RAW_HEADERS = [(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]

_encode = json.JSONEncoder(allow_nan=False).encode

# Handler of a request after its checks; data that is not a reply is sent as JSON.
_Handler = Callable[[CheckedRequest], Awaitable[Any]]
# Parser of a body.
_Reader = Callable[[Request], Awaitable[dict[str, Any]]]


class Service:
    """Files, tokens and request checks of a service; from `open_service`.

    lists: open session and race files by name; no path of a request reaches the disk.
    tokens: without any token every caller is an admin, so the server must listen on this machine
        only.
    outcomes: text of each button of an outcome -> its value, in the unit of the session; None or
        empty: yes and no.
    """

    def __init__(
        self,
        lists: Mapping[str, HostedFile],
        tokens: TokenStore,
        outcomes: Mapping[str, str] | None = None,
    ) -> None:
        self.lists = dict(lists)
        self.tokens = tokens
        self.outcomes = dict(outcomes or {})
        self.document = document(API)
        self.streams = 0

    def identify(self, request: Request, token: str | None = None) -> Identity:
        """Return the owner of a token; a local admin if the service has no tokens.

        ProblemError 401 if it is missing or unknown. A token has 256 random bits, so wrong ones need
        no counting.

        token: None for that of the request, from its bearer header or its cookie.
        """
        if not len(self.tokens):
            return LOCAL_ADMIN
        if token is None:
            scheme, _, text = request.headers.get("authorization", "").partition(" ")
            token = text.strip() if scheme.lower() == "bearer" else request.cookies.get(COOKIE, "")
        identity = self.tokens.find(token) if token else None
        if identity is not None:
            return identity
        detail = (
            "request: expected a valid token, got none or a wrong one; send it as a bearer "
            "token, on the command line "
            "with --token or TOMBOLA_TOKEN."
        )
        raise ProblemError(401, "token", detail, {"WWW-Authenticate": "Bearer"})

    def _check_origin(self, request: Request, *, has_tokens: bool) -> None:
        """Reject requests that a page of another site makes with the browser of a user."""
        headers = request.headers
        host = headers.get("host", "")
        if not has_tokens and _split(f"//{host}").hostname not in _LOCAL_HOSTS:
            detail = (
                f"request: expected the host name localhost, got {host!r:.100}; add a "
                "token to serve other names."
            )
            raise ProblemError(421, "host", detail)
        # nginx adds no header by default, but speaks HTTP/1.0 then; clients and browsers do not.
        is_passed_on = not _PROXY_HEADERS.isdisjoint(headers.keys()) or (
            request.scope["http_version"] == "1.0"
        )
        if not has_tokens and is_passed_on:
            detail = (
                "request: expected one of this machine, got one that a proxy has passed on; add a "
                "token to serve other machines."
            )
            raise ProblemError(403, "proxy", detail)
        if request.method in _SAFE_METHODS:
            return
        origin = headers.get("origin")
        is_foreign = origin is not None and _split(origin).netloc != host
        if is_foreign or headers.get("sec-fetch-site", "same-origin") not in (
            "same-origin",
            "none",
        ):
            raise ProblemError(
                403,
                "origin",
                "request: expected one from this site, got one from another; open the page itself.",
            )

    def endpoint(
        self, role: str | None, handler: _Handler, read: _Reader | None = None, status: int = 200
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return an endpoint: check origin, token and role, parse the body, then handle.

        role: least role that may call it: "reader", "worker" or "admin"; None for everybody,
            without a token.
        read: parser of the body; None: no body.
        status: HTTP status of a JSON reply.
        """

        async def run(request: Request) -> Response:
            try:
                self._check_origin(request, has_tokens=len(self.tokens) > 0)
                identity = (
                    LOCAL_ADMIN._replace(role="reader") if role is None else self.identify(request)
                )
                request.scope["tombola.worker"] = identity.name
                if role is not None and not identity.may(role):
                    detail = (
                        f"request: expected the role {role}, got {identity.role}; ask an "
                        "admin for a token."
                    )
                    raise ProblemError(403, "role", detail)
                fields = {} if read is None else await read(request)
                reply = await handler(CheckedRequest(self, request, identity, fields))
            except TombolaError as error:
                raise problem_from(error, self.tokens.path) from None
            if isinstance(reply, Response):
                return reply
            return Response(_json_text(reply), status, media_type="application/json")

        return run


def create_app(service: Service) -> ASGIApp:
    """Return the ASGI application of a service; it closes the files at shutdown."""
    table = []
    for operation in API:
        body = operation.body
        read = None if body is None else partial(read_json, schema=body)
        endpoint = service.endpoint(operation.role, operation.handler, read, operation.status)
        table.append(Route(operation.path, endpoint, methods=[operation.method]))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        for hosted in service.lists.values():
            hosted.close()

    handlers: Any = {ProblemError: _problem_reply, HTTPException: _http_reply}
    app = Starlette(
        routes=[*table, *page_routes(service)], exception_handlers=handlers, lifespan=lifespan
    )
    # A path with a slash too many is unknown: a redirect would repeat it in a header.
    app.router.redirect_slashes = False
    return _HeadersAndLog(app)


class _HeadersAndLog:
    """ASGI middleware: add SECURITY_HEADERS, and log one JSON line per request.

    A line has time, method, path, status, milliseconds and worker; never a token.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = message["headers"]
                names = {name for name, _ in own}
                message["headers"] = own + [row for row in _RAW_HEADERS if row[0] not in names]
            await send(message)

        try:
            await self.app(scope, receive, send_with_headers)
        finally:
            # Without the query and the headers: tokens must never reach a log.
            line = {
                "time": round(time.time(), 3),
                "method": scope["method"],
                "path": scope["path"],
                "status": status,
                "ms": round(1000 * (time.perf_counter() - started), 2),
                "worker": scope.get("tombola.worker", ""),
            }
            LOG.info(_encode(line))


async def _problem_reply(request: Request, error: ProblemError) -> Response:
    return error.response()


async def _http_reply(request: Request, error: HTTPException) -> Response:
    kinds = {404: "a known path", 405: "another method"}
    expected = kinds.get(error.status_code, "a valid request")
    got = f"{request.method} {request.url.path!r:.200}"
    detail = f"request: expected {expected}, got {got}; see the how-to on tombola serve."
    return ProblemError(error.status_code, "http", detail, error.headers).response()


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:
        raise ProblemError(
            400, "malformed", "request: expected valid Host and Origin headers; repair them."
        ) from None


def _json_text(reply: Any) -> str:
    """Return plain data as JSON, with null in place of numbers that are not finite."""
    try:
        return _encode(reply)
    except ValueError:
        return _encode(_finite(reply))


def _finite(value: Any) -> Any:
    """Return plain data with None, JSON's null, in place of numbers that are not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
