"""Learners of labels: base class, and ERM (the paper's A^RO, Section 6)."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

from tombola._types import Floats, RngState
from tombola.bounds import classification as bounds
from tombola.classification.classes.base import HypothesisClass, OnlineERM, Ties
from tombola.classification.label_feedback import LabelFeedback
from tombola.errors import ParameterError


class Predictor(Protocol):
    """Protocol of the state of a label learner during one play.

    Labels may arrive at once, late, or never.
    """

    def predict(self, row: Floats) -> tuple[int, float]:
        """Return the label of a row of features, shape (d,), and its probability or NaN."""

    def learn(self, row: Floats, label: int, weight: float) -> None:
        """Update with the true label of a row; `weight` is the loss of a mistake."""


@dataclass(frozen=True)
class LabelLearner(ABC):
    """Base class of learners of labels, compared with the best hypothesis.

    Subclass it as a frozen dataclass with the method `start`; `learns` is False for a baseline that
    ignores feedback.
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

        In total loss (mistakes with weight 1) over `horizon` rows, against the best hypothesis of
        the class.
        """
        return None


@dataclass(frozen=True)
class ERM(LabelLearner):
    """Predict labels by an empirical risk minimiser on the labels seen so far.

    hypotheses: a hypothesis class, such as `Thresholds()`.
    ties: which of several hypotheses of smallest error predicts: "first", "last", "middle" or
        "random" (see `tombola.classification.switch_dp`).

    In random order the expected regret over T rounds against the best hypothesis is at most
    1 + pi sqrt(2 v T ln(e T / v)), where v is the VC dimension.

    >>> from tombola import play
    >>> from tombola.classification import LabelledPool, Thresholds
    >>> pool = LabelledPool([0.1, 0.9, 0.2, 0.7, 0.4], [0, 1, 0, 1, 0])
    >>> play(ERM(Thresholds()), pool, order="given", seed=0).actions.tolist()
    [0, 1, 1, 1, 1]
    """

    hypotheses: HypothesisClass
    ties: Ties = "first"

    def __post_init__(self) -> None:
        if not isinstance(self.hypotheses, HypothesisClass):
            raise ParameterError(
                f"ERM: hypotheses must be a class of hypotheses, got {self.hypotheses!r}; write "
                "for example "
                "ERM(Thresholds())."
            )
        if self.ties not in self.hypotheses.ties:
            raise ParameterError(
                f"ERM: ties must be one of {', '.join(self.hypotheses.ties)} for "
                f"{type(self.hypotheses).__name__}, "
                f"got {self.ties!r}; write ties={self.hypotheses.ties[0]!r}."
            )

    def start(self, horizon: int, dimensions: int, rng: RngState) -> "_ERMPredictor":
        return _ERMPredictor(
            self.hypotheses.online_erm(self.ties, horizon, dimensions), self.probability, rng
        )

    @property
    def probability(self) -> float:
        """The probability of a prediction: 1, or NaN (not known) with random ties."""
        return math.nan if self.ties == "random" else 1.0

    def bound(self, horizon: int) -> float | None:
        vc = self.hypotheses.vc
        return None if vc is None else bounds.erm(horizon, vc)


class _ERMPredictor:
    """Predict by a minimiser and its random generator."""

    def __init__(self, erm: OnlineERM, probability: float, rng: RngState) -> None:
        self._erm = erm
        self._probability = probability
        self._rng = rng
        self.learn = erm.learn

    def predict(self, row: Floats) -> tuple[int, float]:
        return self._erm.predict(row, self._rng), self._probability
