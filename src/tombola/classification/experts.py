"""Full-information learners over a finite class (Ben-David et al. 2009)."""

from dataclasses import dataclass

import numpy as np

from tombola._types import Floats, RngState
from tombola.classification.classes.finite import FiniteClass
from tombola.classification.learner import LabelLearner
from tombola.errors import ParameterError
from tombola.feedback import FullFeedback, StepRunner
from tombola.learners.base import Learner


@dataclass(frozen=True)
class Experts(LabelLearner):
    """Predict by the hypothesis that `base`, a full-information learner, chooses.

    hypotheses: a finite class; each hypothesis is an action of `base`.
    base: full-information learner that chooses a hypothesis in every round.

    Its regret over T rounds is that of `base` over |H| actions, one for each hypothesis: at most sqrt(T ln |H| / 2) in
    every order for Hedge.

    >>> from tombola import Hedge, play
    >>> from tombola.classification import LabelledPool
    >>> chain = FiniteClass([[0, 0], [0, 1], [1, 1]])
    >>> play(Experts(chain, Hedge()), LabelledPool([0, 1] * 50, [0, 1] * 50), seed=0).regret < 13
    True
    """

    hypotheses: FiniteClass
    base: Learner

    def __post_init__(self) -> None:
        if getattr(self.base, "feedback", None) != "full" or self.base.needs_round:
            raise ParameterError(
                "Experts: base must be a full-information learner that does not ask for the round of a row, "
                f"got {self.base!r}; write for example Experts(chain, Hedge())."
            )

    def start(self, horizon: int, dimensions: int, rng: RngState) -> "_ExpertsPredictor":
        """Return a new predictor: `base` with one action per hypothesis.

        horizon: number of rounds. dimensions: number of features of a row, not used. rng: random generator of `base`.
        """
        return _ExpertsPredictor(
            self.hypotheses, FullFeedback(self.hypotheses.size, horizon).step_runner(self.base, rng)
        )

    def bound(self, horizon: int) -> float | None:
        """Return the regret bound of `base` over `horizon` rounds, in mistakes, or None."""
        return self.base.bound(self.hypotheses.size, horizon)


class _ExpertsPredictor:
    """Play a learner round by round with hypotheses as actions."""

    def __init__(self, hypotheses: FiniteClass, live: StepRunner) -> None:
        self._class, self._live = hypotheses, live
        self._columns = np.ascontiguousarray(hypotheses.array.T)
        self._played = 0

    def predict(self, row: Floats) -> tuple[int, float]:
        """Return the prediction of the chosen hypothesis, and its probability.

        The probabilities of hypotheses with the same prediction are added up.
        """
        column = self._columns[self._class.point_of(row)]
        action, probability = self._live.act(self._played)
        self._played += 1
        label = int(column[action])
        mix = self._live.runner.mix
        return label, probability if mix is None else float(mix[column == label].sum())

    def learn(self, row: Floats, label: int, weight: float) -> None:
        """Pass the errors of all hypotheses, times `weight`, to the base."""
        errors = weight * (self._columns[self._class.point_of(row)] != label)
        self._live.learn(self._played, 0, 1.0, tuple(errors))
