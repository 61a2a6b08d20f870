"""Status: how far a live run is, and what its losses so far say about the actions."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola._types import Floats
from tombola.budget.budget import Balance
from tombola.confidence.certificate import Certificate
from tombola.confidence.monitors import RowMonitor, certify
from tombola.persistence.record import Record

if TYPE_CHECKING:
    from tombola.persistence.session_file import Assignment


PIECE = 10_000  # losses that are numbers of Python's at the same time
SEEN = 0.005  # smaller shares of a mix are not worth a word


class ActionStatus(NamedTuple):
    """One action: how often it was played, how many of its losses are known, their mean, and an interval.

    The interval is for the mean over all rows, which the mean of the losses known estimates. It uses the losses up to
    the first that is pending, lest bad news that takes longer lead it astray.
    """

    name: str
    plays: int
    known: int
    used: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Status:
    """A run at one moment; with probability 1 - level all intervals hold, and so do `within` and `regret`."""

    learner: str
    seed: int
    rows: int
    played: int
    answered: int
    cancelled: int
    amended: int
    switches: int
    loss: float
    actions: tuple[ActionStatus, ...]
    pending: tuple["Assignment", ...]
    level: float
    best: str
    within: float
    regret: float
    worst_regret: float
    balance: Balance
    mix: tuple[tuple[str, float], ...]
    left_out: int
    target: float | None = None

    @property
    def money(self) -> str:
        """What is spent, reserved and left of each resource, in one sentence; nothing without a budget."""
        parts = zip(self.balance.amounts, self.balance.spent, self.balance.reserved, self.balance.left, strict=True)
        found = [f"{s:.6g} spent, {r:.6g} reserved, {left:.6g} left of {a:.6g}" for a, s, r, left in parts]
        if len(found) > 1:
            found = [f"resource {number}: {words}" for number, words in enumerate(found, 1)]
        return "; ".join(found)

    @property
    def aim(self) -> str:
        """How the mean loss so far stands to the target, in one sentence; nothing without a target."""
        if self.target is None or not self.answered:
            return ""
        return f"mean loss {self.loss / self.answered:.4g} so far, for a target of {self.target:g} over all rows"

    @property
    def plan(self) -> str:
        """What the learner plays at the moment, in one sentence; nothing without a budget."""
        shares = [f"{name} on {share:.0%}".replace("%", " %") for name, share in self.mix]
        return f"the plan of the moment: {', '.join(shares)} of the rows" if shares else ""

    @property
    def estimate(self) -> str:
        """What may be said of the actions, in one sentence."""
        open_ = " and cancelled" if self.cancelled else ""
        more = f", {self.worst_regret:.4g} if all pending{open_} ones fail" if self.pending else ""
        return (
            f"with probability {1 - self.level:g}, the mean loss of {self.best} is within {self.within:.4g} of the "
            f"best action's; the rows answered so far have lost at most {self.regret:.4g} more than the best action at "
            f"its mean loss{more}"
        )

    @property
    def advice(self) -> str:
        """What would make the intervals sharper, if anything that is known does not count yet."""
        if not any(action.used < action.known for action in self.actions):
            return ""
        open_ = "pending or cancelled" if self.cancelled else "pending"
        return f"the intervals use an action's losses up to its first {open_} ticket" + (
            ": record that one first" if self.pending else ""
        )

    def to_json(self) -> dict[str, Any]:
        """Return the status as plain data; what is not known yet is null."""
        actions = [{name: _known(value) for name, value in action._asdict().items()} for action in self.actions]
        return {
            **vars(self),
            "balance": {**vars(self.balance), "left": self.balance.left},
            "mix": dict(self.mix),
            "actions": actions,
            "pending": [one.to_json() for one in self.pending],
            "estimate": self.estimate,
            "advice": self.advice,
        }


def status_of(
    book: Record,
    pending: Iterable["Assignment"],
    level: float,
    balance: Balance,
    mix: Floats | None,
    target: float | None = None,
) -> Status:
    """Return the status of a run; under a budget also of its money, and of the mix that is played."""
    certificate = certificate_of(book, level)
    plays = np.bincount(book.book.actions, minlength=len(book.names))
    losses, used = _losses(book), certificate.counts
    actions = tuple(
        ActionStatus(name, int(plays[a]), len(losses[a]), int(used[a]), _mean(losses[a]), *certificate.interval(a))
        for a, name in enumerate(book.names[: book.actions])
    )
    best = certificate.best
    return Status(
        learner=repr(book.learner),
        seed=book.seed,
        rows=book.horizon,
        played=book.round,
        answered=book.answered,
        cancelled=len(book.cancelled),
        amended=len(book.amended),
        switches=book.switches,
        loss=_sum(book.losses),
        actions=actions,
        pending=tuple(pending),
        level=level,
        best=book.names[best],
        within=certificate.within(best),
        regret=certificate.regret,
        worst_regret=certificate.worst_regret,
        balance=balance,
        mix=_shares(book, mix) if balance.amounts and mix is not None else (),
        left_out=int(plays[book.actions :].sum()),
        target=target,
    )


def _shares(book: Record, mix: Floats) -> tuple[tuple[str, float], ...]:
    """Return the shares of a mix that are worth a word, the largest first."""
    shares = zip(book.names, mix.tolist(), strict=True)
    return tuple(sorted(((name, share) for name, share in shares if share >= SEEN), key=lambda one: -one[1]))


def certificate_of(book: Record, level: float) -> Certificate:
    """Return what a `ActionMonitor` would say of a run, at once: it takes losses up to the first that is missing."""
    names, played = book.names[: book.actions], (book.round, book.answered, _running(book.losses))
    if book.feedback_model.full_feedback:
        watch = RowMonitor(names, book.horizon, level)
        watch.extend(book.rows[: len(book.unbroken(np.arange(1, book.round + 1)))])
        return watch.certificate(*played)
    actions = book.book.actions
    used = np.concatenate([book.unbroken(np.flatnonzero(actions == a) + 1) for a in range(book.actions)])
    values = actions[used - 1], book.losses_of(used)
    seen = certify(*values, actions=book.actions, population=book.horizon, level=level)
    return replace(seen, names=names, rounds=played[0], answered=played[1], loss=played[2])


def _losses(book: Record) -> list[Floats]:
    """Return the losses known of every action that was listed."""
    rows, played = book.rows, book.played
    if book.feedback_model.full_feedback:
        return list(rows.T)
    return [rows[played == action, 0] for action in range(book.actions)]


def _running(losses: Floats) -> float:
    """Return the sum as it is when losses are added one by one."""
    return 0.0 + float(np.cumsum(losses)[-1]) if losses.size else 0.0


def _sum(losses: Floats) -> float:
    pieces = (losses[first : first + PIECE].tolist() for first in range(0, len(losses), PIECE))
    return math.fsum(chain.from_iterable(pieces))


def _mean(losses: Floats) -> float:
    return _sum(losses) / len(losses) if len(losses) else math.nan


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
