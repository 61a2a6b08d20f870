"""Errors of the service as problem+json (RFC 9457)."""

import json
from collections.abc import Mapping
from pathlib import Path

from starlette.responses import Response

from tombola.errors import (
    ConflictError,
    ExhaustedError,
    FeedbackError,
    ParameterError,
    TableError,
    TombolaError,
)
from tombola.worklists.event_log import DamagedFileError

# Content type of an error reply (RFC 9457).
MEDIA_TYPE = "application/problem+json"

# HTTP status -> title of the problem.
TITLES = {
    400: "Malformed request",
    401: "Token required",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict with an earlier request",
    413: "Request too large",
    415: "Unsupported media type",
    421: "Unknown host name",
    422: "Invalid value",
    423: "Paused",
    500: "Damaged file",
    503: "File unavailable",
}


class ProblemError(Exception):
    """An error that is sent as the reply to a request (RFC 9457).

    kind: short name of the problem; its type is urn:tombola:KIND.
    detail: a sentence for the caller.

    >>> ProblemError(404, "not-found", "GET /x: expected a known path, got /x; see the how-to on tombola serve.").status
    404
    """

    def __init__(
        self, status: int, kind: str, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.headers = dict(headers or {})

    def response(self) -> Response:
        """Return the reply: a JSON object with type, title, status and detail."""
        content = {"type": f"urn:tombola:{self.kind}", "title": TITLES.get(self.status, "Error")}
        text = json.dumps({**content, "status": self.status, "detail": self.detail})
        return Response(text, self.status, self.headers, MEDIA_TYPE)


def problem_from(error: TombolaError, path: Path | None = None) -> ProblemError:
    """Return the problem reply of an error: 409 conflict, 422 invalid, 500 damaged, else 503.

    path: file of the service, whose folder clients must not learn.

    >>> problem_from(ConflictError("a: b, got c; d.")).status, problem_from(ParameterError("a: b; c.")).status
    (409, 422)
    """
    detail = str(error)
    if path is not None:
        # Clients must not learn where files are on the server.
        detail = detail.replace(str(path), path.name)
    if isinstance(error, ExhaustedError):
        return ProblemError(409, "exhausted", detail)
    if isinstance(error, ConflictError):
        return ProblemError(409, "conflict", detail)
    if isinstance(error, FeedbackError | ParameterError | TableError):
        return ProblemError(422, "invalid", detail)
    if isinstance(error, DamagedFileError):
        # No Retry-After: another attempt finds the same file.
        return ProblemError(500, "damaged", detail)
    # A full disk, a locked or damaged file: nothing was changed, and a retry may succeed.
    return ProblemError(503, "unavailable", detail, {"Retry-After": "1"})
