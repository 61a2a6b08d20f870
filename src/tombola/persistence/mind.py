"""Mind: a learner as the events of a run have made it, and which of its tickets are answered; small enough to keep."""

import json
import zlib
from typing import TYPE_CHECKING

import numpy as np

from tombola import __version__
from tombola._types import Floats, Seed
from tombola.budget.budget import Balance
from tombola.feedback import FeedbackModel
from tombola.feedback.base import EncodedOutcome
from tombola.rng import RngStreams

if TYPE_CHECKING:
    from tombola.learners.base import Learner

PENDING, ANSWERED, CANCELLED = 1, 2, 3  # what has become of a ticket; 0: not handed out


class Mind:
    """A learner at work: `act` and `observe` go on from there, `save` and `load` keep it as bytes."""

    def __init__(self, learner: "Learner", setting: FeedbackModel, *, seed: Seed) -> None:
        self.feedback_model = setting
        self._live = setting.live(learner, RngStreams(seed).learner(learner))
        self.runner = self._live.runner
        self.round = 0
        self.marks = np.zeros(setting.horizon + 1, np.uint8)

    def act(self) -> tuple[int, float]:
        """Choose the action of the next round; return it with its probability."""
        action, probability = self._live.act(self.round)
        self.round += 1
        self.marks[self.round] = PENDING
        return int(action), float(probability)

    def observe(self, round: int, action: int, probability: float, outcome: EncodedOutcome) -> None:
        """Take in what came of a ticket."""
        self._live.learn(round, action, probability, outcome)
        self.marks[round] = ANSWERED

    @property
    def pending(self) -> list[int]:
        """The rounds whose tickets have no outcome yet."""
        return [int(round_) for round_ in np.flatnonzero(self.marks == PENDING)]

    @property
    def balance(self) -> Balance:
        """What is spent, reserved and left, under a budget."""
        return self.feedback_model.balance(self.runner.workspace)

    @property
    def _arrays(self) -> list[Floats]:
        """All that changes from round to round, but for the marks."""
        return [self.runner.rng, self.runner.memory, *self.feedback_model.budget_arrays(self.runner.workspace)]

    def save(self) -> bytes:
        """Return everything as bytes."""
        marks = zlib.compress(self.marks[: self.round + 1].tobytes(), 1)
        return b"\n".join([self._head(), b"".join(array.tobytes() for array in self._arrays) + marks])

    def load(self, body: bytes) -> bool:
        """Take up what `save` gave; False if another version of tombola, or another learner, wrote it."""
        head, _, rest = body.partition(b"\n")
        self.round = int(json.loads(head)["round"])
        if head != self._head():
            self.round = 0
            return False
        for array in self._arrays:
            array[:] = np.frombuffer(rest[: array.nbytes], array.dtype)
            rest = rest[array.nbytes :]
        marks = np.frombuffer(zlib.decompress(rest), np.uint8)
        self.marks[: marks.size] = marks
        return True

    def _head(self) -> bytes:
        facts = {"tombola": __version__, "learner": repr(self.runner.learner), "memory": self.runner.memory.size}
        return json.dumps({**facts, "round": self.round}).encode()
