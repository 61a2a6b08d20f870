"""Base class of label learners."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from tombola._types import Floats, RngState
from tombola.classification.classes.base import HypothesisClass
from tombola.classification.label_feedback import LabelFeedback


class Predictor(Protocol):
    """Predictor of labels; true labels may be immediate, late or missing."""

    def predict(self, row: Floats) -> tuple[int, float]:
        """Return the label of a row and its probability (NaN: no formula)."""

    def learn(self, row: Floats, label: int, weight: float) -> None:
        """Take in the true label of a row."""


@dataclass(frozen=True)
class LabelLearner(ABC):
    """A learner of labels, compared with the best of its hypotheses."""

    feedback: ClassVar[type[LabelFeedback]] = LabelFeedback
    plans: ClassVar[bool] = False
    mixes: ClassVar[bool] = False
    learns: ClassVar[bool] = True

    hypotheses: Any

    @abstractmethod
    def start(self, horizon: int, dimensions: int, rng: RngState) -> Predictor:
        """Return a predictor for rows with so many features."""

    def bound(self, horizon: int) -> float | None:
        """Return the bound on the expected regret in random order, or None."""
        return None


def comparator(learner: LabelLearner) -> HypothesisClass:
    """Return the class that a learner is compared with."""
    hypotheses: HypothesisClass = learner.hypotheses
    return hypotheses
