"""The page of a race: verdict, candidates left, leader, calls saved.

It updates live.
"""

from collections import Counter
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from tombola.persistence.race_file import RaceFile
from tombola.service.race_endpoints import race_status
from tombola.service.rendering import page, position
from tombola.service.tokens import Identity

if TYPE_CHECKING:
    from tombola.service.app import Service

# Candidates in the table of the page; of the others only the number is shown.
_LISTED_CANDIDATES = 50


async def show_race(service: "Service", request: Request, identity: Identity) -> Response:
    """Return the HTML page of the race named in the path: verdict, standings, calls.

    service, request: the service with its files, and the HTTP request.
    identity: name and role of the caller.
    """
    hosted = service.race(request)
    now = await hosted.cached("page", lambda: _race_view(hosted.file))
    return page(
        "race.html", name=hosted.name, you=identity, paused=hosted.paused, has_token=bool(len(service.tokens)), **now
    )


async def show_race_progress(service: "Service", request: Request, identity: Identity) -> Response:
    """Return the changing part of a race page as HTML; the script of the page reloads it.

    service, request: the service with its files, and the HTTP request.
    identity: name and role of the caller.
    """
    hosted = service.race(request)
    now = await hosted.cached("page", lambda: _race_view(hosted.file))
    return page("race_progress.html", **now)


def _race_view(file: RaceFile) -> dict[str, Any]:
    """Return the variables of the templates of a race page.

    Keys: now (see race_status), limits (of the values, as text), saved_share (per cent of calls saved, as text),
    standings (the first LISTED_CANDIDATES, with `place`, the mean as a position in per cent), n_hidden (the number of
    others), workers (name and number of calls).
    """
    now, units = race_status(file), file.settings.units
    calls, saved = now["calls"], now["calls_saved"]
    workers = Counter(lease.worker or "local" for lease in file.lease_of_ticket().values())
    return {
        "now": now,
        "limits": f"{units.low:g} to {units.high:g}",
        "saved_share": f"{100 * saved / max(calls + saved, 1):.0f} %",
        "standings": [
            {**one, "place": None if one["mean"] is None else position((one["mean"] - units.low) / units.gap(1.0))}
            for one in now["candidates"][:_LISTED_CANDIDATES]
        ],
        "n_hidden": max(len(now["candidates"]) - _LISTED_CANDIDATES, 0),
        "workers": workers.most_common(20),
    }
