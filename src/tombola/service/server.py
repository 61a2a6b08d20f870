"""Open the files, check the options, and run uvicorn."""

import asyncio
import ipaddress
import json
import logging
import os
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from threading import Thread
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from tombola.errors import FileError, ParameterError
from tombola.racing.driver import run_lock
from tombola.service.app import LOG, Service, create_app
from tombola.service.hosted_file import HostedFile
from tombola.service.pages import unit_of
from tombola.service.tokens import TokenStore
from tombola.tables.unit_checks import cell_loss
from tombola.worklists.session_file import SessionFile
from tombola.worklists.work_file import open_work_file

# Seconds that requests under way have to finish when the server stops; event streams, which never
# finish, are cut then.
_GRACEFUL_SECONDS = 5
# Open connections: event streams and clients that keep theirs. Each is an open file, of which most
# systems allow 1,024.
_MAX_CONNECTIONS = 600
# Seconds from the first byte of a request to the end of its header, and from there to the end of
# its body: a megabyte over a slow phone line.
_HEADER_SECONDS = 20.0
_BODY_SECONDS = 60.0
# Longest time for which a thread that computes, such as an export, holds up the others.
_SWITCH_SECONDS = 0.0002
# Connections that wait to be accepted; the default of uvicorn.
_BACKLOG = 2048


class LimitedProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """HTTP of uvicorn with limits: connections in all, and seconds for the parts of a request.

    A client that opens connections and sends nothing would otherwise use up the files of the
    process.
    """

    _timer: asyncio.TimerHandle | None = None
    _limit = 0.0

    def connection_made(self, transport: Any) -> None:
        """Accept a connection, or close it at once beyond the limit."""
        super().connection_made(transport)
        if len(self.connections) > _MAX_CONNECTIONS:
            transport.abort()
        else:
            self._expect_request()

    def data_received(self, data: bytes) -> None:
        """Start the time for a part of a request with its first byte, and end it with its last."""
        super().data_received(data)
        self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_timer()
        super().connection_lost(exc)

    def _expect_request(self) -> None:
        limit = _HEADER_SECONDS
        if self.cycle is not None and not self.cycle.response_complete:
            limit = _BODY_SECONDS if self.cycle.more_body else 0.0
        if limit != self._limit or self._timer is None:
            self._stop_timer()
            self._limit = limit
            if limit:
                self._timer = self.loop.call_later(limit, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _JsonLines(logging.Formatter):
    """One JSON object per line, also of messages of uvicorn; requests are JSON already."""

    def format(self, record: logging.LogRecord) -> str:
        if record.name == LOG.name:
            return record.getMessage()
        line = {
            "time": round(record.created, 3),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line)


class _GroupedLines(logging.StreamHandler[Any]):
    """Writes the lines that come in one turn of the event loop together: a write costs a switch."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line until the loop has done what is ready; write it at once without a loop."""
        self._lines.append(self.format(record) + self.terminator)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.flush()
        else:
            if len(self._lines) == 1:
                loop.call_soon(self.flush)

    def flush(self) -> None:
        """Write the lines."""
        with self.lock or nullcontext():
            lines, self._lines = self._lines, []
            self.stream.write("".join(lines))
        super().flush()


def open_service(
    paths: Sequence[Path], tokens: TokenStore, outcomes: Mapping[str, str] | None = None
) -> Service:
    """Open session and race files; each is served under its name without the suffix.

    ParameterError for equal names and for invalid `outcomes`. Race files are locked until the
    service closes.

    outcomes: text of each button of an outcome -> its value, in the unit of the session; None: yes
        and no.
    """
    lists: dict[str, HostedFile] = {}
    try:
        for path in paths:
            _open_list(path, lists, outcomes or {})
    except BaseException:
        for hosted in lists.values():
            hosted.close()
        raise
    return Service(lists, tokens, outcomes)


def _open_list(path: Path, lists: dict[str, HostedFile], outcomes: Mapping[str, str]) -> None:
    """Open a file, and add it to the lists by its name."""
    with ExitStack() as opened:
        name = path.stem
        if name in lists:
            raise ParameterError(
                f"serve: expected files with different names, got {name!r} twice; rename one."
            )
        file = opened.enter_context(open_work_file(path))
        lock = opened.enter_context(ExitStack())
        if isinstance(file, SessionFile):
            # The first page must not wait for the compiler.
            file.interpreted = True
            unit = unit_of(file)
            for text, value in outcomes.items():
                if cell_loss(value, unit) is None:
                    raise ParameterError(
                        f"--outcomes: expected values from {unit.low:g} to {unit.high:g} for "
                        f"{path.name}, got {text}={value}; write --outcomes "
                        "'sold=1,later=0.5,no=0'."
                    )
        else:
            # `race run` on the same file would make the calls that clients make.
            lock.enter_context(run_lock(path))
        if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
            file.write_ahead()
        # A server is ready when it has read everything.
        file.counts()
        if isinstance(file, SessionFile):
            Thread(target=file.prepare, name=f"tombola-{name}-prepare").start()
        lists[name] = HostedFile(name, file, on_close=lock.close)
        # The list closes them now.
        opened.pop_all()


def is_local(host: str) -> bool:
    """Return whether only this machine reaches a host name or address.

    >>> is_local("127.0.0.1"), is_local("0.0.0.0")
    (True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_host(n_tokens: int, *, proxy_headers: bool = False) -> None:
    """Raise ParameterError if a proxy passes requests on and there is no token.

    >>> check_host(0)
    """
    if proxy_headers and not n_tokens:
        raise ParameterError(
            "serve: expected a token to listen behind a proxy (--proxy-headers), got none, so "
            "that every machine could write; add one with --add-token NAME:admin."
        )


def bind(host: str, port: int) -> socket.socket:
    """Return a listening TCP socket; FileError if the port is not free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on sockets whose protocol is stated. Without it every reply waits
    # about 40 ms for the acknowledgement of its header.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise FileError(
            f"serve: expected a free port, got {host}:{port} ({error.strerror}); use --port."
        ) from None
    return listener


def run(
    service: Service,
    listener: socket.socket,
    *,
    proxy_headers: bool = False,
    on_start: Callable[[], Any] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM; requests under way are finished first.

    proxy_headers: trust X-Forwarded headers; only behind a reverse proxy on this machine.
    on_start: called before the first request is accepted; None: nothing.
    """
    handler = _GroupedLines(sys.stderr)
    handler.setFormatter(_JsonLines())
    for logger, level in ((LOG, logging.INFO), (logging.getLogger("uvicorn"), logging.WARNING)):
        logger.addHandler(handler)
        logger.setLevel(level)
        logger.propagate = False
    config = uvicorn.Config(
        create_app(service),
        http=LimitedProtocol,
        log_config=None,
        proxy_headers=proxy_headers,
        forwarded_allow_ips="127.0.0.1" if proxy_headers else None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACEFUL_SECONDS,
        timeout_keep_alive=30,
        lifespan="on",
    )
    sys.setswitchinterval(_SWITCH_SECONDS)
    if on_start is not None:
        on_start()
    uvicorn.Server(config).run(sockets=[listener])
