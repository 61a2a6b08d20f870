"""Pages for people: work on a session, progress of a race, administration.

Pages are rendered on the server and work without a script; the script adds shortcuts and live numbers. A form is
answered by a redirect, so that reloading a page sends nothing twice.
"""

import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, quote

from jinja2 import Environment, FunctionLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from tombola._formatting import escape_control, format_number, plural
from tombola.persistence.race_file import RaceFile
from tombola.persistence.session_events import Outcome
from tombola.persistence.session_file import Assignment, SessionFile
from tombola.persistence.session_status import Status
from tombola.readers.units import Units
from tombola.service import endpoints, parsing
from tombola.service.hosted_file import HostedFile
from tombola.service.problems import ProblemError
from tombola.service.race_endpoints import race_status
from tombola.service.tokens import MAX_NAME_LENGTH, ROLES, Identity

if TYPE_CHECKING:
    from tombola.service.app import Service

# Name of the cookie that holds the token of a signed-in browser.
COOKIE = "tombola-token"
# Seconds for which a browser stays signed in: one working week.
_COOKIE_SECONDS = 7 * 86_400
# Last outcomes of a worker that the page lists for corrections.
_LISTED_OUTCOMES = 8
# Candidates of a race that its page lists; of the others only the number is shown.
_LISTED_CANDIDATES = 50
# Workers with the most answers that the page lists.
_LISTED_WORKERS = 20
# Fields accepted in one form: an outcome of many actions has the most. Bounds the work for a hostile form.
_MAX_FIELDS = 200
# File under /static -> its content type.
_STATIC = {"page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8"}

# Handler of a page: gets the service, the request and the identity of the caller.
_PageHandler = Callable[["Service", Request, Identity], Awaitable[Response]]


class _WorkerView(NamedTuple):
    """Tickets of one worker, for the page on which outcomes are entered.

    current, columns: the oldest ticket without an outcome, None without any, and the cells of its row.
    answered: today's last answered tickets with their losses, the newest first.
    workers: name and number of answers of each worker, the most active first.
    """

    current: Assignment | None
    columns: dict[str, str]
    answered: list[tuple[Assignment, Any]]
    n_today: int
    workers: list[tuple[str, int]]


def page_routes(service: "Service") -> list[Route]:
    """Return the routes of the pages of a service; their errors are pages too.

    A request without a valid token is redirected to the login.
    """
    table: list[tuple[str, str, str | None, _PageHandler]] = [
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
        ("GET", "/r/{name}", "reader", _race),
        ("GET", "/r/{name}/progress", "reader", _race_progress),
        ("GET", "/admin", "admin", _admin),
        ("POST", "/admin/files/{name}/pause", "admin", _pause),
        ("POST", "/admin/tokens", "admin", _add_token),
        ("POST", "/admin/tokens/remove", "admin", _remove_token),
        ("GET", "/static/{file}", None, _static),
        ("GET", "/favicon.ico", None, _icon),
    ]
    return [Route(path, _as_page(service, role, handler), methods=[method]) for method, path, role, handler in table]


def _as_page(service: "Service", role: str | None, handler: _PageHandler) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint whose errors are pages; without a token, redirect to login."""
    checked = service.endpoint(role, handler)

    async def run(request: Request) -> Response:
        try:
            # Browsers send one of these with every form; a request without them could come from anywhere.
            if request.method == "POST" and not {"origin", "sec-fetch-site"} & {*request.headers}:
                raise ProblemError(403, "origin", "form: expected an Origin header, got none; use a current browser.")
            return await checked(request)
        except ProblemError as problem:
            path = request.url.path
            if problem.status == 401 and path != "/login":
                return RedirectResponse("/login", 303)
            is_repeatable = problem.status in (409, 422, 423, 503)
            session = path.startswith("/s/") and is_repeatable and request.path_params["name"]
            back = f"/s/{quote(session, safe='')}" if session else "/admin" if path.startswith("/admin") else "/"
            reply = _page("problem.html", problem.status, title=problem.kind, detail=problem.detail, back=back)
            reply.headers.update(problem.headers)
            return reply

    return run


async def _index(service: "Service", request: Request, identity: Identity) -> Response:
    paths = [f"/s/{quote(name, safe='')}" for name in service.sessions]
    paths += [f"/r/{quote(name, safe='')}" for name in service.races]
    if len(paths) == 1:
        return RedirectResponse(paths[0], 303)
    return _page("index.html", sessions=list(service.sessions), races=list(service.races), you=identity)


async def _login_form(service: "Service", request: Request, identity: Identity) -> Response:
    return _page("login.html", wrong=False)


async def _login(service: "Service", request: Request, identity: Identity) -> Response:
    token = (await _read_form(request)).get("token", "").strip()
    try:
        service.identify(request, token)
    except ProblemError as problem:
        if problem.status != 401:
            raise
        return _page("login.html", 401, wrong=True)
    reply = RedirectResponse("/", 303)
    is_encrypted = request.url.scheme == "https"
    reply.set_cookie(COOKIE, token, _COOKIE_SECONDS, httponly=True, samesite="strict", secure=is_encrypted)
    return reply


async def _logout(service: "Service", request: Request, identity: Identity) -> Response:
    reply = RedirectResponse("/login", 303)
    reply.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return reply


async def _work(service: "Service", request: Request, identity: Identity) -> Response:
    hosted = service.session(request)
    file, unit = hosted.file, unit_of(hosted.file)
    mine = await hosted.read(_worker_view, file, identity.name)
    now = await hosted.read_cached("status", file.status)
    current = mine.current
    is_known = current is not None and file.names.index(current.action) < file.feedback_model.n_listed_actions
    return _page(
        "work.html",
        name=hosted.name,
        you=identity,
        mine=mine,
        answered=mine.n_today,
        current=current if is_known else None,
        columns=mine.columns,
        actions=list(file.names[: file.feedback_model.n_listed_actions]),
        full=bool(file.feedback_model.full_feedback),
        buttons=_buttons(service, unit),
        n_costs=0 if file.budget is None or file.budget.prices is not None else len(now.balance.amounts),
        may_amend=bool(file.feedback_model.supports_amend),
        may_work=identity.may("worker") and not hosted.paused,
        has_token=bool(len(service.tokens)),
        key=secrets.token_urlsafe(16),
        paused=hosted.paused,
        **_progress_values(now, unit),
    )


async def _progress(service: "Service", request: Request, identity: Identity) -> Response:
    hosted = service.session(request)
    now = await hosted.read_cached("status", hosted.file.status)
    return _page("progress.html", **_progress_values(now, unit_of(hosted.file)))


def unit_of(file: SessionFile) -> Units:
    """Return the unit in which outcomes are entered and shown; scores by default."""
    return Units(*file.range, scores=file.kind != "losses")


def _buttons(service: "Service", unit: Units) -> list[dict[str, str]]:
    """Return the buttons of an outcome: those of the server, or yes and no."""
    if service.outcomes:
        return [
            {"text": text, "value": value, "key": str(index), "style": ""}
            for index, (text, value) in enumerate(service.outcomes.items(), start=1)
        ]
    if not unit.scores:
        # A yes would be the largest loss, which people read the other way round.
        return []
    return [
        {"text": "Yes", "value": f"{unit.high:g}", "key": "Y", "style": "yes"},
        {"text": "No", "value": f"{unit.low:g}", "key": "N", "style": "no"},
    ]


def _worker_view(file: SessionFile, worker: str) -> _WorkerView:
    """Return the tickets of a worker: those of the last lease of each ticket."""
    view = file.view()
    outcomes, mine, counts = view.outcomes, [], dict[str, int]()
    midnight = time.mktime((*time.localtime()[:3], 0, 0, 0, 0, 0, -1))
    for ticket, lease in file.lease_of_ticket().items():
        counts[lease.worker] = counts.get(lease.worker, 0) + (outcomes[ticket - 1] is not None)
        if lease.worker == worker:
            mine.append((ticket, lease.time >= midnight))
    today = [ticket for ticket, is_today in mine if is_today and outcomes[ticket - 1] is not None]
    pending = [ticket for ticket, _ in mine if outcomes[ticket - 1] is None and ticket not in view.cancelled]
    current = file.assignment(pending[0]) if pending else None
    return _WorkerView(
        current,
        {} if current is None else endpoints.cells_of(file, file.rows_of([current])[0]),
        [(file.assignment(ticket), outcomes[ticket - 1]) for ticket in today[-_LISTED_OUTCOMES:][::-1]],
        len(today),
        sorted(counts.items(), key=lambda item: -item[1])[:_LISTED_WORKERS],
    )


def _progress_values(now: Status, units: Units) -> dict[str, Any]:
    """Return the values of the progress template; positions are per cent of the width."""

    def share(loss: float) -> float:
        return _position(1 - loss if units.scores else loss)

    strips = []
    for action in now.actions:
        ends = sorted((share(action.low), share(action.high)))
        strips.append(
            {
                "name": action.name,
                "best": action.name == now.best and now.answered > 0,
                "known": action.known,
                "low": ends[0],
                "width": max(ends[1] - ends[0], 0.5),
                "mean": share(action.mean) if action.known else None,
                "text": format_number(units.number(action.mean)) if action.known else "",
                "range": " to ".join(map(format_number, units.interval(action.low, action.high))),
            }
        )
    limits = {"low": format_number(units.low), "high": format_number(units.high)}
    return {
        "now": now,
        "strips": strips,
        "words": _plain_words(now, units),
        "unit": {"word": units.quantity, **limits},
        "number": lambda loss: format_number(units.number(loss)),
    }


def _plain_words(now: Status, units: Units) -> str:
    """Return how the session goes as one or two sentences."""
    if not now.answered or len(now.actions) < 2:
        return ""
    if now.within <= 0.0:
        return f"{now.best} is the best action on this list, with probability {1 - now.level:g}."
    gap = format_number(units.gap(now.within))
    return f"{now.best} is ahead. It is not sure yet: another action may be better by up to {gap} per row."


async def _next(service: "Service", request: Request, identity: Identity) -> Response:
    hosted = service.session(request)
    key = parsing.parse_text("key", (await _read_form(request)).get("key"))
    await hosted.write(lambda: hosted.file.lease(key, 1, worker=identity.name))
    return _back(hosted)


async def _record(service: "Service", request: Request, identity: Identity) -> Response:
    hosted = service.session(request)
    fields = await _read_form(request)
    await hosted.write(hosted.file.record_all, [_outcome(hosted, fields)])
    if fields.get("then") == "next":
        key = parsing.parse_text("key", fields.get("key"))
        try:
            await hosted.write(lambda: hosted.file.lease(key, 1, worker=identity.name))
        except ProblemError as problem:
            # The outcome is recorded; the page shows that no row is left.
            if problem.kind != "exhausted":
                raise
    return _back(hosted)


async def _amend(service: "Service", request: Request, identity: Identity) -> Response:
    hosted = service.session(request)
    given = _outcome(hosted, await _read_form(request))
    await hosted.write(lambda: hosted.file.amend(given.round, loss=given.loss))
    return _back(hosted)


async def _cancel(service: "Service", request: Request, identity: Identity) -> Response:
    hosted = service.session(request)
    await hosted.write(hosted.file.cancel, _ticket(await _read_form(request)))
    return _back(hosted)


async def _race(service: "Service", request: Request, identity: Identity) -> Response:
    hosted = service.race(request)
    now = await hosted.read_cached("page", lambda: _race_view(hosted.file))
    return _page(
        "race.html", name=hosted.name, you=identity, paused=hosted.paused, has_token=bool(len(service.tokens)), **now
    )


async def _race_progress(service: "Service", request: Request, identity: Identity) -> Response:
    hosted = service.race(request)
    return _page("race_progress.html", **await hosted.read_cached("page", lambda: _race_view(hosted.file)))


def _race_view(file: RaceFile) -> dict[str, Any]:
    """Return the variables of the race templates; means are positions in per cent."""
    now, units = race_status(file), file.settings.units
    calls, saved = now["calls"], now["calls_saved"]
    workers = Counter(lease.worker or "local" for lease in file.lease_of_ticket().values())
    return {
        "now": now,
        "limits": f"{units.low:g} to {units.high:g}",
        "saved_share": f"{100 * saved / max(calls + saved, 1):.0f} %",
        "standings": [
            {**one, "place": None if one["mean"] is None else _position((one["mean"] - units.low) / units.gap(1.0))}
            for one in now["candidates"][:_LISTED_CANDIDATES]
        ],
        "n_hidden": max(len(now["candidates"]) - _LISTED_CANDIDATES, 0),
        "workers": workers.most_common(_LISTED_WORKERS),
    }


async def _admin(service: "Service", request: Request, identity: Identity) -> Response:
    return _admin_page(service, identity)


def _admin_page(service: "Service", identity: Identity, token: str = "", owner: str = "") -> Response:
    files = [("sessions", one) for one in service.sessions.values()] + [
        ("races", one) for one in service.races.values()
    ]
    return _page(
        "admin.html",
        files=[{"kind": kind, "name": one.name, "paused": one.paused} for kind, one in files],
        tokens=service.tokens.owners(),
        roles=ROLES,
        you=identity,
        new_token=token,
        owner=owner,
    )


async def _pause(service: "Service", request: Request, identity: Identity) -> Response:
    hosted = service.file_at(request)
    hosted.pause(paused=(await _read_form(request)).get("paused") == "yes")
    return RedirectResponse("/admin", 303)


async def _add_token(service: "Service", request: Request, identity: Identity) -> Response:
    fields = await _read_form(request)
    name = parsing.parse_text("name", fields.get("name"), MAX_NAME_LENGTH)
    token = await service.call(service.tokens.add, name, fields.get("role", ""))
    # The only page that shows the token: just its hash is stored.
    return _admin_page(service, identity, token, name)


async def _remove_token(service: "Service", request: Request, identity: Identity) -> Response:
    name = parsing.parse_text("name", (await _read_form(request)).get("name"), MAX_NAME_LENGTH)
    await service.call(service.tokens.remove, name)
    return RedirectResponse("/admin", 303)


async def _static(service: "Service", request: Request, identity: Identity) -> Response:
    name = request.path_params["file"]
    if name not in _STATIC:
        raise ProblemError(404, "not-found", "static: expected page.css or page.js, got another name; reload.")
    return Response(_template_text(name), media_type=_STATIC[name], headers={"cache-control": "max-age=3600"})


async def _icon(service: "Service", request: Request, identity: Identity) -> Response:
    return Response(status_code=204)


def _back(hosted: HostedFile[SessionFile]) -> Response:
    return RedirectResponse(f"/s/{quote(hosted.name, safe='')}", 303)


def _ticket(fields: dict[str, str]) -> int:
    text = fields.get("ticket", "")
    return parsing.parse_integer(
        "ticket", int(text) if text.isascii() and text.isdecimal() and len(text) < 17 else 0, 1, parsing.MAX_TICKET
    )


def _outcome(hosted: HostedFile[SessionFile], fields: dict[str, str]) -> Outcome:
    """Return the outcome of a form: a loss, or one per action, and costs."""
    model, unit = hosted.file.feedback_model, unit_of(hosted.file)
    if model.full_feedback:
        loss: Any = [_loss(unit, fields.get(f"outcome-{index}", "")) for index in range(model.n_listed_actions)]
    else:
        loss = _loss(unit, fields.get("outcome", ""))
    costs = [_cost(fields[name]) for name in sorted(fields) if name.startswith("cost-")]
    return Outcome(_ticket(fields), loss, None, costs or None)


def _loss(unit: Units, text: str) -> float:
    loss = unit.parse(text)
    if loss is None:
        raise parsing.invalid_value(
            "outcome", f"a number from {unit.low:g} to {unit.high:g}", f"{text!r:.100}", "write digits such as 0.5"
        )
    return loss


def _cost(text: str) -> float:
    try:
        # A comma is the decimal sign on many phones.
        return float(text.strip().replace(",", "."))
    except ValueError:
        raise parsing.invalid_value("cost", "a number", f"{text!r:.100}", "write digits such as 0.5") from None


def _template_text(name: str) -> str:
    return (resources.files("tombola.service") / "templates" / name).read_text(encoding="utf-8")


_ENVIRONMENT = Environment(
    autoescape=True,
    loader=FunctionLoader(_template_text),
    undefined=StrictUndefined,
    trim_blocks=True,
    finalize=lambda value: escape_control(value) if type(value) is str else value,
)
_ENVIRONMENT.filters |= {"path": lambda text: quote(text, safe=""), "plural": plural}


def _page(template: str, status: int = 200, **values: Any) -> Response:
    """Render a template as an HTML reply; values are escaped, a missing one raises."""
    return HTMLResponse(_ENVIRONMENT.get_template(template).render(**values), status)


async def _read_form(request: Request) -> dict[str, str]:
    """Return the fields of a submitted form, each with its last value; else 400."""
    body = await parsing.read_body(request)
    try:
        found = parse_qs(body.decode(), keep_blank_values=True, strict_parsing=bool(body), max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise ProblemError(
            400, "malformed", "form: expected the fields of a form, got something else; reload."
        ) from None
    return {name: values[-1] for name, values in found.items()}


def _position(share: float) -> float:
    """Return a share of the width as per cent for an SVG, clipped to 0 to 100.

    >>> _position(0.5), _position(1.5)
    (50.0, 100.0)
    """
    return round(100 * min(max(share, 0.0), 1.0), 2)
