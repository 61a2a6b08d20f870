"""The JSON API of races under /v1/races: calls, answers, verdict."""

from typing import Any

from tombola.racing.driver import progress_line
from tombola.racing.events import Event
from tombola.racing.report import RaceReport
from tombola.service.endpoints import event_reply, lease, table_reply
from tombola.service.parsing import CheckedRequest
from tombola.worklists.race_csv import export_answers
from tombola.worklists.race_file import RaceFile


async def next_calls(request: CheckedRequest) -> Any:
    """Issue calls of a race; the same Idempotency-Key gives the same calls.

    A call is a candidate to evaluate on a row. Body: count (default: all that the next row needs)
    and reissue_after, both optional. Reply: calls (each with ticket, candidate, row and row_index,
    from 0), key, and done (true or false). No calls and not done: the race waits for answers.
    """
    key, file = request.key, request.race.file
    calls, done = await request.race.write(lambda: (lease(request, file, key), file.race.done))
    return {"calls": [call._asdict() for call in calls], "key": key, "done": done}


async def record(request: CheckedRequest) -> Any:
    """Record answers to calls, all or none.

    Body: answers, a list of objects with ticket, loss or failed, and cost. The same answer again is
        ignored, a
    different one is a conflict (409). Reply: recorded and known (numbers of new and repeated
    answers), and done.
    """
    file, answers = request.race.file, [Event("answer", **one) for one in request.fields["answers"]]
    new, done = await request.race.write(lambda: (file.record_all(answers), file.race.done))
    return {"recorded": new, "known": len(answers) - new, "done": done}


async def status(request: CheckedRequest) -> Any:
    """Return verdict, standings, pending calls and settings of a race.

    Reply: the fields of `RaceReport.to_json`, pending (calls), active (candidates left), leader,
        progress (a line), and
    paused, which is true while the race is paused.
    """
    hosted = request.race
    now = await hosted.read_cached("status", lambda: race_status(hosted.file))
    return {**now, "paused": hosted.paused}


async def verdict(request: CheckedRequest) -> Any:
    """Return the answer of a race so far, whether it is proved, and the calls made.

    Reply: verdict and progress (sentences), proved (null while undecided), answer (names of the
        candidates that are
    possible answers), done, active (candidates left), leader, calls, calls_left (not made)
    and calls_saved (null unless the race is decided).
    """
    now = await status(request)
    names = (
        "verdict",
        "progress",
        "proved",
        "answer",
        "done",
        "active",
        "leader",
        "calls",
        "calls_left",
        "calls_saved",
    )
    return {name: now[name] for name in names}


async def export_table(request: CheckedRequest) -> Any:
    """Return all answers of a race as a CSV or Parquet file.

    The end of the path states which.
    """
    return await table_reply(request.race, request.http.path_params["kind"], export_answers)


async def events(request: CheckedRequest) -> Any:
    """Stream the counts of a race as server-sent events, one at each change.

    Counts: rows, rows_counted (rows that the race has used), calls (made), answered, left (pairs
        of a row and a
    candidate neither evaluated nor known before), active (number of candidates left) and done (true
    or false).
    """
    return event_reply(request, request.race, _race_counts)


def race_status(file: RaceFile) -> dict[str, Any]:
    """Return the fields of `status`; `since` is the Unix time of a pending call, or None."""
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
        "left": race.calls_left,
        "active": len(race.active),
        "done": race.done,
    }
