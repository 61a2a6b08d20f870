"""Bodies and parameters of requests: size limits, JSON, types and ranges."""

import json
from collections.abc import Iterable
from typing import Any

from starlette.requests import ClientDisconnect, Request

from tombola.persistence.session_events import Outcome
from tombola.racing.events import Event
from tombola.service.problems import ProblemError

# Largest body of a request in bytes: 10,000 outcomes of about 100 bytes. Larger ones are answered with status 413.
_MAX_BODY_BYTES = 1_000_000
# Largest number of tickets or calls in one reply: bounds the time for which a request holds the writer thread.
MAX_COUNT = 1000
# Largest number of outcomes or answers in one request: bounds the time for which it holds the writer thread.
MAX_OUTCOMES = 10_000
# Largest reissue_after, in seconds: one year. It exceeds every real wait, and rejects infinite numbers.
MAX_SECONDS = 366 * 86_400.0
# Largest number of characters of an idempotency key, and of texts without a limit of their own: several UUIDs.
MAX_TEXT_LENGTH = 100
# Largest ticket number: larger integers are not exact in JSON parsers with float64 numbers.
MAX_TICKET = 2**53


async def read_body(request: Request) -> bytes:
    """Return a request's body; ProblemError 413 beyond a megabyte, 400 if it is cut."""
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MAX_BODY_BYTES:
                raise ProblemError(
                    413,
                    "too-large",
                    f"{request.method}: expected a body of at most {_MAX_BODY_BYTES} bytes, got more; split the "
                    "request.",
                )
    except ClientDisconnect:
        raise ProblemError(
            400, "incomplete", "request: expected the whole body, got a part of it; send it again."
        ) from None
    return bytes(body)


async def read_json(request: Request, *, required: Iterable[str] = (), optional: Iterable[str] = ()) -> dict[str, Any]:
    """Return the JSON object of a body with these fields and no others.

    ProblemError: 415 for another content type, 400 for malformed JSON, 422 for missing or unknown fields.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await read_body(request)
    # A form of another site cannot send this type without asking the browser's permission first.
    if media_type != "application/json":
        raise ProblemError(
            415,
            "media-type",
            f"request: expected the content type application/json, got {media_type!r:.100}; add the header.",
        )
    try:
        found = json.loads(body)
    except (RecursionError, ValueError):
        raise ProblemError(400, "malformed", "request: expected JSON, got something else; repair the body.") from None
    return _checked_fields("request", found, required, optional)


def _checked_fields(owner: str, found: Any, required: Iterable[str], optional: Iterable[str]) -> dict[str, Any]:
    """Return a JSON object with the required fields and no unknown ones; else 422.

    >>> _checked_fields("request", {"ticket": 1}, ["ticket"], ["loss"])
    {'ticket': 1}
    """
    required, optional = list(required), list(optional)
    names = ", ".join([*required, *optional])
    if not isinstance(found, dict):
        raise invalid_value(owner, f"an object with {names}", type(found).__name__, "write it in braces")
    missing = [name for name in required if name not in found]
    unknown = [name for name in found if name not in required and name not in optional]
    if missing or unknown:
        got = f"no {missing[0]}" if missing else f"{unknown[0]!r:.100}"
        raise invalid_value(owner, f"the fields {names}", got, "see the how-to on tombola serve")
    return found


def parse_integer(owner: str, value: Any, least: int, most: int) -> int:
    """Return a JSON value if it is an integer in [least, most]; else ProblemError 422.

    owner: name of the field, for the message.
    """
    if type(value) is not int or not least <= value <= most:
        raise invalid_value(owner, f"an integer in {least}..{most}", f"{value!r:.100}", "change it")
    return value


def parse_seconds(owner: str, value: Any) -> float:
    """Return a JSON number of seconds from 0 to a year; else ProblemError 422."""
    if type(value) not in (int, float) or not 0 <= value <= MAX_SECONDS:
        raise invalid_value(owner, f"seconds in 0..{MAX_SECONDS:.0f}", f"{value!r:.100}", "change it")
    return float(value)


def parse_text(owner: str, value: Any, most: int = MAX_TEXT_LENGTH) -> str:
    """Return a JSON string of 1 to `most` printable characters; else ProblemError 422."""
    if type(value) is not str or not 1 <= len(value) <= most or not value.isprintable():
        raise invalid_value(owner, f"1 to {most} printable characters", f"{value!r:.100}", "change it")
    return value


def parse_outcome(value: Any) -> Outcome:
    """Convert a JSON object with ticket, loss or reward, and cost to an outcome.

    Only types are checked (ProblemError 422); the session checks ranges and lengths.

    >>> parse_outcome({"ticket": 3, "loss": 0.5})[:4]
    (3, 0.5, None, None)
    """
    fields = _checked_fields("outcome", value, ["ticket"], ["loss", "reward", "cost"])
    ticket = parse_integer("ticket", fields["ticket"], 1, MAX_TICKET)
    return Outcome(ticket, *(_numbers(name, fields.get(name)) for name in ("loss", "reward", "cost")))


def parse_outcomes(value: Any) -> list[Outcome]:
    """Convert a JSON list of 1 to 10,000 objects, as `parse_outcome`; else 422."""
    return [parse_outcome(item) for item in _checked_list("outcomes", value)]


def _checked_list(owner: str, found: Any) -> list[Any]:
    if type(found) is not list or not 1 <= len(found) <= MAX_OUTCOMES:
        got = f"{len(found)} of them" if type(found) is list else type(found).__name__
        raise invalid_value(owner, f"a list of 1 to {MAX_OUTCOMES}", got, "split the request")
    return found


def parse_answers(value: Any) -> list[Event]:
    """Convert a JSON list of 1 to 10,000 objects to answers; else ProblemError 422.

    >>> parse_answers([{"ticket": 3, "loss": 0.5}])
    [Event(kind='answer', ticket=3, loss=0.5, cost=0.0, failed=False)]
    """
    return [_answer(item) for item in _checked_list("answers", value)]


def _answer(found: Any) -> Event:
    fields = _checked_fields("answer", found, ["ticket"], ["loss", "cost", "failed"])
    failed = fields.get("failed", False)
    if type(failed) is not bool:
        raise invalid_value("failed", "true or false", f"{failed!r:.100}", "change it")
    loss, cost = (_number(name, fields.get(name)) for name in ("loss", "cost"))
    return Event(
        "answer", parse_integer("ticket", fields["ticket"], 1, MAX_TICKET), loss, 0.0 if cost is None else cost, failed
    )


def invalid_value(owner: str, expected: str, got: str, fix: str) -> ProblemError:
    """Return a ProblemError 422 (invalid value) for the caller to raise.

    owner: name of the field; the parameters are the parts of the message.

    >>> invalid_value("count", "an integer", "'x'", "change it").detail
    "count: expected an integer, got 'x'; change it."
    """
    return ProblemError(422, "invalid", f"{owner}: expected {expected}, got {got}; {fix}.")


def _number(name: str, value: Any) -> float | None:
    """Return a number, or None; the race checks its range."""
    if type(value) is list:
        raise invalid_value(name, "a number", "a list", "change it")
    found: float | None = _numbers(name, value)
    return found


def _numbers(name: str, value: Any) -> Any:
    """Return a number, a list of them, or None; the session checks ranges and lengths."""
    items = value if type(value) is list else [value]
    if value is not None and not all(type(item) in (int, float) for item in items):
        raise invalid_value(name, "a number or a list of numbers", f"{value!r:.100}", "change it")
    if any(type(item) is int and abs(item) > MAX_TICKET for item in items):
        raise invalid_value(name, "numbers below 2^53", "a larger one", "change it")
    return value
