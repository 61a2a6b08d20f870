"""The JSON API of races under /v1/races: calls, answers, verdict."""

from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from tombola.persistence.race_csv import export_answers
from tombola.persistence.race_file import RaceFile
from tombola.racing.driver import progress_line
from tombola.racing.events import Call
from tombola.racing.report import RaceReport
from tombola.service import parsing
from tombola.service.endpoints import event_reply, json_reply, read_issue_request, table_reply
from tombola.service.tokens import Identity

if TYPE_CHECKING:
    from tombola.service.app import Service


async def next_calls(service: "Service", request: Request, identity: Identity) -> Response:
    """Issue calls of a race; the same Idempotency-Key gives the same calls.

    A call is a candidate to evaluate on a row. Body: count (default: all that the next row needs) and reissue_after,
    both optional. Reply: calls (each with ticket, candidate, row and row_index, from 0), key, and done (true or false).
    No calls and not done: the race waits for answers.
    """
    hosted = service.race(request)
    count, reissue_after, key = await read_issue_request(request, default=None)

    def issue() -> tuple[list[Call], bool]:
        calls = hosted.file.lease(key, count, worker=identity.name, reissue_after=reissue_after)
        return calls, hosted.file.race.done

    calls, done = await hosted.write(issue)
    return json_reply({"calls": [call._asdict() for call in calls], "key": key, "done": done})


async def record(service: "Service", request: Request, identity: Identity) -> Response:
    """Record answers to calls, all or none.

    Body: answers, a list of objects with ticket, loss or failed, and cost. The same answer again is ignored, a
    different one is a conflict (409). Reply: recorded and known (numbers of new and repeated answers), and done.
    """
    hosted = service.race(request)
    fields = await parsing.read_json(request, required=["answers"])
    answers = parsing.parse_answers(fields["answers"])

    def write() -> tuple[int, bool]:
        return hosted.file.record_all(answers), hosted.file.race.done

    new, done = await hosted.write(write)
    return json_reply({"recorded": new, "known": len(answers) - new, "done": done})


async def status(service: "Service", request: Request, identity: Identity) -> Response:
    """Return verdict, standings, pending calls and settings of a race.

    Reply: the fields of `RaceReport.to_json`, pending (calls), active (candidates left), leader, progress (a line), and
    paused, which is true while the race is paused.
    """
    hosted = service.race(request)
    now = await hosted.read_cached("status", lambda: race_status(hosted.file))
    return json_reply({**now, "paused": hosted.paused})


async def verdict(service: "Service", request: Request, identity: Identity) -> Response:
    """Return the answer of a race so far, whether it is proved, and the calls made.

    Reply: verdict and progress (sentences), proved (null while undecided), answer (names of the candidates that are
    possible answers), done, active (candidates left), leader, calls and calls_saved (their numbers).
    """
    hosted = service.race(request)
    now = await hosted.read_cached("status", lambda: race_status(hosted.file))
    names = ("verdict", "progress", "proved", "answer", "done", "active", "leader", "calls", "calls_saved")
    return json_reply({name: now[name] for name in names})


async def export_table(service: "Service", request: Request, identity: Identity) -> Response:
    """Return all answers of a race as a CSV or Parquet file.

    The end of the path states which. Reply: the file as a download.
    """
    return await table_reply(service.race(request), request.path_params["kind"], export_answers)


async def events(service: "Service", request: Request, identity: Identity) -> Response:
    """Stream the counts of a race as server-sent events, one at each change.

    Counts: rows, rows_counted (rows that the race has used), calls (made), answered, saved (pairs of a row and a
    candidate neither evaluated nor known before), active (number of candidates left) and done (true or false).
    """
    return event_reply(service, service.race(request), _race_counts)


def race_status(file: RaceFile) -> dict[str, Any]:
    """Return the report of a race as plain data, with pending calls and progress.

    Keys: those of `RaceReport.to_json`, pending (calls, each with its time `since`, in Unix seconds, or None), active
    (candidates left), leader and progress (a line).
    """
    race, times = file.race, file.lease_times()
    return {
        **RaceReport.from_file(file, race).to_json(),
        "pending": [{**call._asdict(), "since": times.get(call.ticket)} for call in race.pending],
        "active": list(race.active),
        "leader": race.leader,
        "progress": progress_line(race),
    }


def _race_counts(file: RaceFile) -> dict[str, Any]:
    """Return the numbers of a race that its event stream sends."""
    race = file.race
    return {
        "rows": len(race.rows),
        "rows_counted": race.rows_counted,
        "calls": race.calls_made,
        "answered": race.calls_answered,
        "saved": race.calls_saved,
        "active": len(race.active),
        "done": race.done,
    }
