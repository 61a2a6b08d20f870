"""Base class of label learners."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

from tombola._types import Floats, RngState
from tombola.classification.classes.base import HypothesisClass
from tombola.classification.label_feedback import LabelFeedback


class Predictor(Protocol):
    """Protocol of the state of a label learner during one play.

    Labels may arrive at once, late, or never.
    """

    def predict(self, row: Floats) -> tuple[int, float]:
        """Return the predicted label of a row and its probability (NaN if unknown)."""

    def learn(self, row: Floats, label: int, weight: float) -> None:
        """Update with the true label of a row; `weight` is the loss of a wrong prediction."""


@dataclass(frozen=True)
class LabelLearner(ABC):
    """Base class of learners of labels, compared with the best hypothesis.

    Subclass it as a frozen dataclass with the method `start`.

    hypotheses: hypothesis class; the comparator is its best hypothesis in hindsight.
    feedback: model of the feedback.
    plans, mixes: False: it has no method `plan` and plays no mix.
    learns: False for a baseline that does not improve with feedback.
    """

    feedback: ClassVar[type[LabelFeedback]] = LabelFeedback
    plans: ClassVar[bool] = False
    mixes: ClassVar[bool] = False
    learns: ClassVar[bool] = True

    hypotheses: HypothesisClass

    @abstractmethod
    def start(self, horizon: int, dimensions: int, rng: RngState) -> Predictor:
        """Return a new `Predictor` before the first round.

        dimensions: number of features of a row.
        """

    def bound(self, horizon: int) -> float | None:
        """Return the bound on the expected regret in random order, or None if unknown.

        In total loss (mistakes with weight 1) over `horizon` rows, against the best hypothesis of the class.
        """
        return None
