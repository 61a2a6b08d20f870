"""Pages for people: work on a session, progress of a race, administration.

Pages are rendered on the server and work without a script; the script adds shortcuts and live
numbers. A form is answered by a redirect, so that reloading a page sends nothing twice.
"""

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
from jinja2 import Environment, FunctionLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from tombola._formatting import confidence_text, escape_control, format_number, plural
from tombola.service.endpoints import cells_of
from tombola.service.hosted_file import HostedFile
from tombola.service.parsing import CheckedRequest, invalid_value, read_form
from tombola.service.problems import ProblemError
from tombola.service.tokens import ROLES
from tombola.tables.unit_checks import cell_loss
from tombola.units import Units
from tombola.worklists.race_file import RaceFile
from tombola.worklists.session_file import SessionFile
from tombola.worklists.session_status import Status
from tombola.worklists.work_file import Outcome

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
# File under /static -> its content type.
_STATIC = {"page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8"}

# Handler of a page.
_PageHandler = Callable[[CheckedRequest], Awaitable[Response]]


def page_routes(service: "Service") -> list[Route]:
    """Return the routes of the pages of a service; their errors are pages too.

    A request without a valid token is redirected to the login.
    """
    table: list[tuple[str, str, str | None, _PageHandler]] = [
        ("GET", "/", "reader", _index),
        ("GET", "/login", None, _login_form),
        ("POST", "/login", None, _login),
        ("POST", "/logout", None, _logout),
        ("GET", "/lists/{name}", "reader", _work),
        ("GET", "/lists/{name}/progress", "reader", _progress),
        ("POST", "/lists/{name}/next", "worker", _next),
        ("POST", "/lists/{name}/record", "worker", _record),
        ("POST", "/lists/{name}/amend", "worker", _amend),
        ("POST", "/lists/{name}/cancel", "worker", _cancel),
        ("GET", "/admin", "admin", _admin),
        ("POST", "/admin/lists/{name}/pause", "admin", _pause),
        ("POST", "/admin/tokens", "admin", _add_token),
        ("POST", "/admin/tokens/remove", "admin", _remove_token),
        ("GET", "/static/{file}", None, _static),
        ("GET", "/favicon.ico", None, _icon),
    ]
    routes = []
    for method, path, role, handler in table:
        checked = service.endpoint(role, handler, read_form if method == "POST" else None)
        routes.append(Route(path, _with_error_pages(checked), methods=[method]))
    return routes


def _with_error_pages(
    checked: Callable[[Request], Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint whose errors are pages; without a token, redirect to login."""

    async def run(request: Request) -> Response:
        try:
            # Browsers send one of these with every form; a request without them could come from
            # anywhere.
            if request.method == "POST" and not {"origin", "sec-fetch-site"} & {*request.headers}:
                raise ProblemError(
                    403,
                    "origin",
                    "form: expected an Origin header, got none; use a current browser.",
                )
            return await checked(request)
        except ProblemError as problem:
            path = request.url.path
            if problem.status == 401 and path != "/login":
                return _redirect("/login")
            is_repeatable = problem.status in (409, 422, 423, 503)
            back = "/admin" if path.startswith("/admin") else "/"
            if path.startswith("/lists/") and is_repeatable:
                back = f"/lists/{quote(request.path_params['name'], safe='')}"
            reply = _page(
                "problem.html", problem.status, title=problem.kind, detail=problem.detail, back=back
            )
            reply.headers.update(problem.headers)
            return reply

    return run


async def _index(request: CheckedRequest) -> Response:
    lists = {name: hosted.file.kind for name, hosted in request.service.lists.items()}
    if len(lists) == 1:
        return _redirect("/lists", *lists)
    return _page("index.html", lists=lists, you=request.identity)


async def _login_form(request: CheckedRequest) -> Response:
    return _page("login.html", wrong=False)


async def _login(request: CheckedRequest) -> Response:
    token = request.fields.get("token", "").strip()
    try:
        request.service.identify(request.http, token)
    except ProblemError as problem:
        if problem.status != 401:
            raise
        return _page("login.html", 401, wrong=True)
    reply = _redirect("/")
    is_encrypted = request.http.url.scheme == "https"
    reply.set_cookie(
        COOKIE, token, _COOKIE_SECONDS, httponly=True, samesite="strict", secure=is_encrypted
    )
    return reply


async def _logout(request: CheckedRequest) -> Response:
    reply = _redirect("/login")
    reply.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return reply


async def _work(request: CheckedRequest) -> Response:
    hosted = request.list
    header = _header_values(request, hosted)
    if isinstance(hosted.file, RaceFile):
        return _page("race.html", **header, **await _progress_values(hosted))
    file: SessionFile = hosted.file
    model = file.feedback_model
    unit = unit_of(file)
    mine = await hosted.read(_worker_view, file, request.identity.name, unit)
    is_costly = file.budget is not None and file.budget.prices is None
    return _page(
        "work.html",
        mine=mine,
        answered=mine["n_today"],
        actions=list(file.names[: model.n_listed_actions]),
        full=bool(model.full_feedback),
        buttons=_buttons(request.service, unit),
        n_costs=len(file.describe().cost_columns) if is_costly else 0,
        may_amend=bool(model.supports_amend),
        may_work=request.identity.may("worker") and not hosted.paused,
        key=secrets.token_urlsafe(16),
        **header,
        **await _progress_values(hosted),
    )


async def _progress(request: CheckedRequest) -> Response:
    hosted = request.list
    is_race = isinstance(hosted.file, RaceFile)
    template = "race_progress.html" if is_race else "progress.html"
    return _page(template, **await _progress_values(hosted))


async def _progress_values(hosted: HostedFile) -> dict[str, Any]:
    """Return the variables of the progress template of a list."""
    file = hosted.file
    if isinstance(file, RaceFile):
        return await hosted.read_cached("page", lambda: _race_view(file))
    unit = unit_of(file)
    now = await hosted.read_cached("page", lambda: file.status(units=unit))
    return _session_view(now)


def _header_values(request: CheckedRequest, hosted: HostedFile) -> dict[str, Any]:
    has_token = bool(len(request.service.tokens))
    return {
        "name": hosted.name,
        "you": request.identity,
        "paused": hosted.paused,
        "has_token": has_token,
    }


def unit_of(file: SessionFile) -> Units:
    """Return the unit in which outcomes are entered and shown; scores by default."""
    return Units(*file.range, scores=file.direction != "losses")


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


def _worker_view(file: SessionFile, worker: str, unit: Units) -> dict[str, Any]:
    """Return the tickets of a worker, those of which the last lease is the worker's.

    current, columns: the oldest ticket without an outcome, None without any, and the cells of its
        row.
    answered, n_today: today's last answered tickets with their outcomes, the newest first, and the
        number of all.
    workers: name and number of answers of each worker, the most active first.
    """
    with file.reading():
        return _tickets_of(file, worker, unit)


def _tickets_of(file: SessionFile, worker: str, unit: Units) -> dict[str, Any]:
    view = file.view()
    leased = file.leased_tickets()
    answered = np.isin(leased.tickets, view.answered_tickets)
    cancelled = np.isin(leased.tickets, list(view.cancelled))
    per_worker = np.bincount(leased.workers[answered], minlength=len(leased.names))
    counts = Counter(dict(zip(leased.names, per_worker.tolist(), strict=True)))
    number = leased.names.index(worker) if worker in leased.names else -1
    is_mine = leased.workers == number
    midnight = time.mktime((*time.localtime()[:3], 0, 0, 0, 0, 0, -1))
    today = leased.tickets[is_mine & answered & (leased.times >= midnight)]
    listed = today[-_LISTED_OUTCOMES:][::-1]
    pending = leased.tickets[is_mine & ~answered & ~cancelled][:1].tolist()
    current = file.assignment(pending[0]) if pending else None
    if current is not None and file.describe().is_null(current.action):
        current = None
    return {
        "current": current,
        "columns": {} if current is None else cells_of(file, file.rows_of([current])[0]),
        "answered": [
            (file.assignment(ticket), unit.text(losses))
            for ticket, losses in zip(listed.tolist(), view.outcomes_of(listed), strict=True)
        ],
        "n_today": len(today),
        "workers": counts.most_common(_LISTED_WORKERS),
    }


def _session_view(now: Status) -> dict[str, Any]:
    """Return the values of the progress template; positions are per cent of the width."""
    units = now.units

    def position(number: float) -> float:
        return _position((number - units.low) / (units.high - units.low))

    strips = []
    leaders = now.leaders
    for action in now.actions:
        low, high = position(action.low), position(action.high)
        strips.append(
            {
                "name": action.name,
                "best": action in leaders,
                "known": action.known,
                "low": low,
                "width": max(high - low, 0.5),
                "mean": position(action.mean) if action.known else None,
                "text": format_number(action.mean) if action.known else "",
                "range": f"{format_number(action.low)} to {format_number(action.high)}",
            }
        )
    unit = {
        "word": units.quantity,
        "low": format_number(units.low),
        "high": format_number(units.high),
    }
    return {
        "confidence": confidence_text(now.level),
        "now": now,
        "strips": strips,
        "words": _plain_words(now),
        "unit": unit,
    }


def _plain_words(now: Status) -> str:
    """Return what is proved so far, as a sentence; "" without outcomes or a choice."""
    return now.statement.full if now.answered and len(now.actions) > 1 else ""


async def _next(request: CheckedRequest) -> Response:
    # Without the key of the page, a form that is sent twice would issue two tickets.
    if "key" not in request.fields:
        raise invalid_value("key", "the key of the page", "none", "reload the page")
    key = request.key
    file = request.list.file
    await request.list.write(lambda: file.lease(key, worker=request.identity.name))
    return _redirect("/lists", request.list.name)


async def _record(request: CheckedRequest) -> Response:
    await request.list.write(request.list.file.record_all, [_outcome(request)])
    if request.fields.get("then") == "next":
        try:
            return await _next(request)
        except ProblemError as problem:
            # The outcome is recorded; the page shows that no row is left.
            if problem.kind != "exhausted":
                raise
    return _redirect("/lists", request.list.name)


async def _amend(request: CheckedRequest) -> Response:
    outcome = _outcome(request)
    file = request.list.file
    await request.list.write(lambda: file.amend(outcome.ticket, loss=outcome.loss))
    return _redirect("/lists", request.list.name)


async def _cancel(request: CheckedRequest) -> Response:
    await request.list.write(request.list.file.cancel, request.ticket)
    return _redirect("/lists", request.list.name)


def _race_view(file: RaceFile) -> dict[str, Any]:
    """Return the variables of the race templates; means are positions in per cent."""
    with file.reading():
        now = file.to_json()
        leased = file.leased_tickets()
    units = file.settings.units
    calls = now["calls"]
    left = now["calls_left"]
    workers = Counter(leased.names[worker] or "local" for worker in leased.workers.tolist())
    standings = []
    for candidate in now["candidates"][:_LISTED_CANDIDATES]:
        mean = candidate["mean"]
        place = None if mean is None else _position((mean - units.low) / units.gap(1.0))
        standings.append({**candidate, "place": place})
    standing = now["statement"]["standing"]
    leaders = [now["leader"]] if standing is None else standing["leaders"]
    return {
        "now": now,
        "leaders": [name for name in leaders if name],
        "limits": f"{units.low:g} to {units.high:g}",
        "left_share": f"{100 * left / max(calls + left, 1):.0f} %",
        "standings": standings,
        "n_hidden": max(len(now["candidates"]) - _LISTED_CANDIDATES, 0),
        "workers": workers.most_common(_LISTED_WORKERS),
    }


async def _admin(request: CheckedRequest, token: str = "", owner: str = "") -> Response:
    service = request.service
    return _page(
        "admin.html",
        lists=list(service.lists.values()),
        tokens=service.tokens.owners(),
        roles=ROLES,
        you=request.identity,
        new_token=token,
        owner=owner,
    )


async def _pause(request: CheckedRequest) -> Response:
    request.list.pause(paused=request.fields.get("paused") == "yes")
    return _redirect("/admin")


async def _add_token(request: CheckedRequest) -> Response:
    name, role = (request.fields.get(field, "") for field in ("name", "role"))
    # The only page that shows the token: just its hash is stored.
    return await _admin(
        request, await asyncio.to_thread(request.service.tokens.add, name, role), name
    )


async def _remove_token(request: CheckedRequest) -> Response:
    await asyncio.to_thread(request.service.tokens.remove, request.fields.get("name", ""))
    return _redirect("/admin")


async def _static(request: CheckedRequest) -> Response:
    name = request.http.path_params["file"]
    if name not in _STATIC:
        raise ProblemError(
            404, "not-found", "static: expected page.css or page.js, got another name; reload."
        )
    return Response(
        _template_text(name), media_type=_STATIC[name], headers={"cache-control": "max-age=3600"}
    )


async def _icon(request: CheckedRequest) -> Response:
    return Response(status_code=204)


def _redirect(path: str, *names: str) -> Response:
    """Redirect to a page by GET; names are quoted."""
    return RedirectResponse("/".join([path, *(quote(name, safe="") for name in names)]), 303)


def _outcome(request: CheckedRequest) -> Outcome:
    """Return the outcome of a form: a loss, or one per action, and costs."""
    fields = request.fields
    file = request.list.file
    if not isinstance(file, SessionFile):
        raise invalid_value("list", "a session", file.kind, "record answers by the API")
    model = file.feedback_model
    unit = unit_of(file)
    if model.full_feedback:
        loss: Any = [
            _loss(unit, fields.get(f"outcome-{index}", ""))
            for index in range(model.n_listed_actions)
        ]
    else:
        loss = _loss(unit, fields.get("outcome", ""))
    costs = [_cost(fields[name]) for name in sorted(fields) if name.startswith("cost-")]
    return Outcome(request.ticket, loss, None, costs or None)


def _loss(unit: Units, text: str) -> float:
    loss = cell_loss(text, unit)
    if loss is None:
        raise invalid_value(
            "outcome",
            f"a number from {unit.low:g} to {unit.high:g}",
            text,
            "write digits such as 0.5",
        )
    return loss


def _cost(text: str) -> float:
    try:
        # A comma is the decimal sign on many phones.
        return float(text.strip().replace(",", "."))
    except ValueError:
        raise invalid_value("cost", "a number", text, "write digits such as 0.5") from None


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


def _position(share: float) -> float:
    """Return a share of the width as per cent for an SVG, clipped to 0 to 100.

    >>> _position(0.5), _position(1.5)
    (50.0, 100.0)
    """
    return round(100 * min(max(share, 0.0), 1.0), 2)
