"""Experts: any full-information learner over a finite class, such as Hedge (Ben-David, Pal, Shalev-Shwartz 2009)."""

from dataclasses import dataclass

import numpy as np

from tombola.classes.finite import FiniteClass
from tombola.classes.learner import LabelLearner
from tombola.engine import loops
from tombola.engine.player import Player
from tombola.errors import ParameterError
from tombola.learners.base import Learner
from tombola.types import Coins, Floats


@dataclass(frozen=True)
class Experts(LabelLearner):
    """Let `base`, a full-information learner, choose a hypothesis each round, and predict what that one says.

    Its regret is that of `base` over |H| actions: sqrt(T ln |H| / 2) in every order for Hedge.

    >>> from tombola import Hedge
    >>> from tombola.classes import LabelledPool, play_labels
    >>> chain = FiniteClass([[0, 0], [0, 1], [1, 1]])
    >>> play_labels(Experts(chain, Hedge()), LabelledPool([0, 1] * 50, [0, 1] * 50), seed=0).regret < 13
    True
    """

    hypotheses: FiniteClass
    base: Learner

    def __post_init__(self) -> None:
        if getattr(self.base, "feedback", None) != "full" or self.base.dated:
            raise ParameterError(
                "Experts: base must be a full-information learner that does not ask for the round of a row, "
                f"got {self.base!r}; write for example Experts(chain, Hedge())."
            )

    def start(self, horizon: int, dimensions: int, coins: Coins) -> "ExpertsPredictor":
        """Start the base over the hypotheses."""
        return ExpertsPredictor(self.hypotheses, Player(self.base, self.hypotheses.size, horizon, coins))

    def bound(self, horizon: int) -> float | None:
        """Bound the regret as that of the base."""
        return self.base.bound(self.hypotheses.size, horizon)


class ExpertsPredictor:
    """A player whose actions are hypotheses."""

    def __init__(self, hypotheses: FiniteClass, player: Player) -> None:
        self._class, self._player = hypotheses, player
        self._columns = np.ascontiguousarray(hypotheses.array.T)
        self._choose = player.step(loops.step_choose, player.memory, player.coins)
        self._due = player.step(loops.step_due, player.memory) if player.learner.plans else None
        self._learn = player.step(loops.step_full, player.memory, 1, np.zeros(hypotheses.size))
        self._played = 0

    def predict(self, row: Floats) -> tuple[int, float]:
        """Predict what the chosen hypothesis says; its chance is that of all who say the same, if known."""
        while self._due is not None and self._due(self._player.memory):
            self._player.plan(self._played)
        self._played += 1
        column = self._columns[self._class.point_of(row)]
        action, chance = self._choose(self._player.memory, self._player.coins)
        label = int(column[action])
        mix = self._player.mix
        return label, chance if mix is None else float(mix[column == label].sum())

    def learn(self, row: Floats, label: int, weight: float) -> None:
        """Tell the base the error of every hypothesis."""
        self._learn(self._player.memory, self._played, weight * (self._columns[self._class.point_of(row)] != label))
