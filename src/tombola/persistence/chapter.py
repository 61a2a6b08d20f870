"""Chapter: what a stretch of the events of a run says, in columns of numbers; so much quicker to read than the events.

Chapters are kept beside the events, each sealed by a digest. They say nothing that the events do not.
"""

import json
import math
import zlib
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from tombola._types import Floats, Rounds
from tombola.errors import SessionError
from tombola.feedback import FeedbackModel
from tombola.feedback.base import EncodedOutcome
from tombola.persistence.event_log import LogEvent
from tombola.persistence.outcome import outcome_from


class Chapter(NamedTuple):
    """The tickets handed out, in order; the rounds answered, and those amended, with their outcomes; those cancelled.

    >>> from tombola.feedback import Bandit
    >>> events = [LogEvent(1, "ticket", 1, 0, [1, None]), LogEvent(2, "outcome", 1, 0, {"reward": 0.25})]
    >>> chapter = chapter_of(events, Bandit(2, 9), lambda round: 0)
    >>> chapter.actions, chapter.answered, chapter.answers
    (array([1]), array([1]), array([[0.75]]))
    >>> Chapter.load(chapter.save()).answers
    array([[0.75]])
    """

    actions: Rounds
    probabilities: Floats
    answered: Rounds
    answers: Floats
    amended: Rounds
    amendments: Floats
    cancelled: Rounds

    def save(self) -> bytes:
        """Return the chapter as bytes."""
        kinds = [column.dtype.newbyteorder("<").str for column in self]
        forms = [[kind, column.shape] for kind, column in zip(kinds, self, strict=True)]
        content = b"".join(column.astype(kind).tobytes() for kind, column in zip(kinds, self, strict=True))
        return b"\n".join([json.dumps(forms).encode(), zlib.compress(content, 1)])

    @classmethod
    def load(cls, body: bytes) -> "Chapter":
        """Take up what `save` gave."""
        head, _, rest = body.partition(b"\n")
        content, place, columns = zlib.decompress(rest), 0, []
        for kind, shape in json.loads(head):
            columns.append(np.frombuffer(content, kind, math.prod(shape), place).reshape(shape))
            place += columns[-1].nbytes
        return cls(*columns)


def chapter_of(events: Iterable[LogEvent], setting: FeedbackModel, action_of: Callable[[int], int]) -> Chapter:
    """Return what events say; `action_of` knows the actions of tickets that were handed out before them."""
    tickets: dict[int, tuple[int, float]] = {}
    answers: dict[int, EncodedOutcome] = {}
    amendments: dict[int, EncodedOutcome] = {}
    cancelled = []
    for event in events:
        if event.kind == "ticket":
            action, probability = event.value
            tickets[event.key] = action, math.nan if probability is None else probability
        elif event.kind == "cancel":
            cancelled.append(event.key)
        elif event.kind in ("outcome", "amend"):
            action = tickets[event.key][0] if event.key in tickets else action_of(event.key)
            told = answers if event.kind == "outcome" else amendments
            told[event.key] = outcome_from(event.key, event.value).numbers(setting, action)
        else:
            raise SessionError(f"SessionFile: expected an event of a session, got {event.kind!r}; use a later version.")
    actions, probabilities = zip(*tickets.values(), strict=True) if tickets else ((), ())
    return Chapter(
        np.array(actions, np.int64),
        np.array(probabilities, np.float64),
        *_columns(answers, setting.outcome_width),
        *_columns(amendments, setting.outcome_width),
        np.array(cancelled, np.int64),
    )


def _columns(told: dict[int, EncodedOutcome], width: int) -> tuple[Rounds, Floats]:
    return np.array(list(told), np.int64), np.array(list(told.values()), np.float64).reshape(-1, width)
