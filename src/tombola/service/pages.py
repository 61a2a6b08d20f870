"""Pages for people: the next row with its action, buttons for the outcome, corrections, and progress.

Pages are rendered on the server and work without a script; the script adds shortcuts and live numbers. A form is
answered by a redirect, so that reloading a page sends nothing twice.
"""

import secrets
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, quote

from jinja2 import Environment, FunctionLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from tombola._formatting import escape_control
from tombola.persistence.session_events import Outcome
from tombola.persistence.session_file import Assignment, SessionFile
from tombola.persistence.session_status import Status
from tombola.service import endpoints, parsing
from tombola.service.hosted import Hosted
from tombola.service.problems import ProblemError
from tombola.service.tokens import Identity

if TYPE_CHECKING:
    from tombola.service.app import Service

COOKIE = "tombola-token"
# Seconds for which a browser stays signed in: one working week.
COOKIE_SECONDS = 7 * 86_400
# Own outcomes listed for corrections, and workers listed.
LISTED_OUTCOMES = 8
LISTED_WORKERS = 20
STATIC = {"page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8"}

PageHandler = Callable[["Service", Request, Identity], Awaitable[Response]]


class WorkerView(NamedTuple):
    """Tickets of one worker: the current one, the last answered ones with their losses, and the number answered."""

    current: Assignment | None
    columns: dict[str, str]
    answered: list[tuple[Assignment, Any]]
    n_answered: int
    workers: list[tuple[str, int]]


def _template(name: str) -> str:
    return (resources.files("tombola.service") / "templates" / name).read_text(encoding="utf-8")


_ENVIRONMENT = Environment(
    autoescape=True,
    loader=FunctionLoader(_template),
    undefined=StrictUndefined,
    trim_blocks=True,
    finalize=lambda value: escape_control(value) if type(value) is str else value,
)
_ENVIRONMENT.filters["path"] = lambda text: quote(text, safe="")


def _page(template: str, status: int = 200, **values: Any) -> Response:
    return HTMLResponse(_ENVIRONMENT.get_template(template).render(**values), status)


def page_routes(service: "Service") -> list[Route]:
    """Return the routes of the pages."""
    table: list[tuple[str, str, str | None, PageHandler]] = [
        ("GET", "/", "reader", _index),
        ("GET", "/login", None, _login_form),
        ("POST", "/login", None, _login),
        ("POST", "/logout", None, _logout),
        ("GET", "/s/{name}", "reader", _work),
        ("GET", "/s/{name}/progress", "reader", _progress),
        ("POST", "/s/{name}/next", "worker", _next),
        ("POST", "/s/{name}/record", "worker", _record),
        ("POST", "/s/{name}/amend", "worker", _amend),
        ("POST", "/s/{name}/cancel", "worker", _cancel),
        ("GET", "/static/{file}", None, _static),
        ("GET", "/favicon.ico", None, _icon),
    ]
    return [Route(path, _as_page(service, role, handler), methods=[method]) for method, path, role, handler in table]


def _as_page(service: "Service", role: str | None, handler: PageHandler) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint whose problems are pages; without a token it leads to the login."""
    checked = service.endpoint(role, handler)

    async def run(request: Request) -> Response:
        try:
            # Browsers send one of these with every form; a request without them could come from anywhere.
            if request.method == "POST" and not {"origin", "sec-fetch-site"} & {*request.headers}:
                raise ProblemError(403, "origin", "form: expected an Origin header, got none; use a current browser.")
            return await checked(request)
        except ProblemError as problem:
            if problem.status == 401 and request.url.path != "/login":
                return RedirectResponse("/login", 303)
            back = (
                f"/s/{quote(request.path_params['name'], safe='')}" if problem.status in (409, 422, 423, 503) else "/"
            )
            reply = _page("problem.html", problem.status, title=problem.kind, detail=problem.detail, back=back)
            reply.headers.update(problem.headers)
            return reply

    return run


async def _form(request: Request) -> dict[str, str]:
    """Return the fields of a form, each with its last value."""
    body = await parsing.read_body(request)
    try:
        found = parse_qs(body.decode(), keep_blank_values=True, strict_parsing=bool(body), max_num_fields=200)
    except ValueError:
        raise ProblemError(
            400, "malformed", "form: expected the fields of a form, got something else; reload."
        ) from None
    return {name: values[-1] for name, values in found.items()}


async def _index(service: "Service", request: Request, identity: Identity) -> Response:
    if len(service.sessions) == 1 and not service.races:
        return RedirectResponse(f"/s/{quote(next(iter(service.sessions)), safe='')}", 303)
    return _page("index.html", sessions=list(service.sessions), races=list(service.races), you=identity)


async def _login_form(service: "Service", request: Request, identity: Identity) -> Response:
    return _page("login.html", wrong=False)


async def _login(service: "Service", request: Request, identity: Identity) -> Response:
    token = (await _form(request)).get("token", "").strip()
    try:
        service.identify(request, token)
    except ProblemError as problem:
        if problem.status != 401:
            raise
        return _page("login.html", 401, wrong=True)
    reply = RedirectResponse("/", 303)
    is_encrypted = request.url.scheme == "https"
    reply.set_cookie(COOKIE, token, COOKIE_SECONDS, httponly=True, samesite="strict", secure=is_encrypted)
    return reply


async def _logout(service: "Service", request: Request, identity: Identity) -> Response:
    reply = RedirectResponse("/login", 303)
    reply.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return reply


async def _work(service: "Service", request: Request, identity: Identity) -> Response:
    hosted = service.session(request)
    file = hosted.file
    mine = await hosted.read(_worker_view, file, identity.name)
    now = await hosted.cached("status", file.status)
    current = mine.current
    is_known = current is not None and file.names.index(current.action) < file.feedback_model.n_listed_actions
    return _page(
        "work.html",
        name=hosted.name,
        you=identity,
        mine=mine,
        current=current if is_known else None,
        columns=mine.columns,
        actions=list(file.names[: file.feedback_model.n_listed_actions]),
        full=bool(file.feedback_model.full_feedback),
        n_costs=0 if file.budget is None or file.budget.prices is not None else len(now.balance.amounts),
        may_amend=bool(file.feedback_model.supports_amend),
        may_work=identity.may("worker"),
        has_token=bool(len(service.tokens)),
        key=secrets.token_urlsafe(16),
        paused=hosted.paused,
        now=now,
        strips=_strips(now),
    )


async def _progress(service: "Service", request: Request, identity: Identity) -> Response:
    hosted = service.session(request)
    now = await hosted.cached("status", hosted.file.status)
    return _page("progress.html", now=now, strips=_strips(now))


def _worker_view(file: SessionFile, worker: str) -> WorkerView:
    """Return the tickets of a worker: those of the last lease of each ticket."""
    view = file.view()
    outcomes, mine, counts = view.outcomes, [], dict[str, int]()
    for ticket, lease in file.lease_of_ticket().items():
        counts[lease.worker] = counts.get(lease.worker, 0) + (outcomes[ticket - 1] is not None)
        if lease.worker == worker:
            mine.append(ticket)
    answered = [ticket for ticket in mine if outcomes[ticket - 1] is not None]
    pending = [ticket for ticket in mine if outcomes[ticket - 1] is None and ticket not in view.cancelled]
    last = answered[-LISTED_OUTCOMES:][::-1]
    current = file.assignment(pending[0]) if pending else None
    return WorkerView(
        current,
        {} if current is None else endpoints.cells_of(file, file.rows_of([current])[0]),
        [(file.assignment(ticket), outcomes[ticket - 1]) for ticket in last],
        len(answered),
        sorted(counts.items(), key=lambda item: -item[1])[:LISTED_WORKERS],
    )


def _strips(now: Status) -> list[dict[str, Any]]:
    """Return the confidence intervals of the actions; positions are per cent of the width."""
    return [
        {
            "name": action.name,
            "best": action.name == now.best and now.answered > 0,
            "known": action.known,
            "low": round(100 * (1 - min(action.high, 1.0)), 2),
            "width": round(100 * max(min(action.high, 1.0) - max(action.low, 0.0), 0.005), 2),
            "mean": round(100 * (1 - action.mean), 2) if action.known else None,
        }
        for action in now.actions
    ]


async def _next(service: "Service", request: Request, identity: Identity) -> Response:
    hosted = service.session(request)
    key = parsing.text("key", (await _form(request)).get("key"))
    await hosted.write(lambda: hosted.file.lease(key, 1, worker=identity.name))
    return _back(hosted)


async def _record(service: "Service", request: Request, identity: Identity) -> Response:
    hosted = service.session(request)
    fields = await _form(request)
    await hosted.write(hosted.file.record_all, [_outcome(hosted, fields)])
    if fields.get("then") == "next":
        key = parsing.text("key", fields.get("key"))
        try:
            await hosted.write(lambda: hosted.file.lease(key, 1, worker=identity.name))
        except ProblemError as problem:
            # The outcome is recorded; the page shows that no row is left.
            if problem.kind != "exhausted":
                raise
    return _back(hosted)


async def _amend(service: "Service", request: Request, identity: Identity) -> Response:
    hosted = service.session(request)
    given = _outcome(hosted, await _form(request))
    await hosted.write(lambda: hosted.file.amend(given.round, loss=given.loss, reward=given.reward))
    return _back(hosted)


async def _cancel(service: "Service", request: Request, identity: Identity) -> Response:
    hosted = service.session(request)
    await hosted.write(hosted.file.cancel, _ticket(await _form(request)))
    return _back(hosted)


async def _static(service: "Service", request: Request, identity: Identity) -> Response:
    name = request.path_params["file"]
    if name not in STATIC:
        raise ProblemError(404, "not-found", "static: expected page.css or page.js, got another name; reload.")
    return Response(_template(name), media_type=STATIC[name], headers={"cache-control": "max-age=3600"})


async def _icon(service: "Service", request: Request, identity: Identity) -> Response:
    return Response(status_code=204)


def _back(hosted: Hosted[SessionFile]) -> Response:
    return RedirectResponse(f"/s/{quote(hosted.name, safe='')}", 303)


def _ticket(fields: dict[str, str]) -> int:
    text = fields.get("ticket", "")
    return parsing.integer(
        "ticket", int(text) if text.isascii() and text.isdecimal() and len(text) < 17 else 0, 1, parsing.MAX_TICKET
    )


def _outcome(hosted: Hosted[SessionFile], fields: dict[str, str]) -> Outcome:
    """Return the outcome of a form: a score in [0, 1], one per action with full feedback, and costs."""
    if hosted.file.feedback_model.full_feedback:
        n_actions = hosted.file.feedback_model.n_listed_actions
        reward: Any = [_number("score", fields.get(f"score-{index}")) for index in range(n_actions)]
    else:
        reward = _number("score", fields.get("score"))
    costs = [_number("cost", fields[name]) for name in sorted(fields) if name.startswith("cost-")]
    return Outcome(_ticket(fields), None, reward, costs or None)


def _number(name: str, text: str | None) -> float:
    try:
        # A comma is the decimal sign on many phones.
        return float((text or "").strip().replace(",", "."))
    except ValueError:
        raise parsing.invalid(name, "a number", f"{text!r:.100}", "write digits such as 0.5") from None
