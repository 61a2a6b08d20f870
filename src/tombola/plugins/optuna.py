"""Optuna: a pruner that stops a trial once it is proved, by the rows it shares with another, not to be the best.

The objective goes through the rows in the order of `pruner.order`, and reports the loss of each with its place as step:

    pruner = RacePruner(rows=500, trials=20, seed=1)
    def objective(trial):
        losses = []
        for step, row in enumerate(pruner.order):
            losses.append(loss(trial, row))
            trial.report(losses[-1], step)
            if trial.should_prune():
                raise TrialPruned
        return mean(losses)

Trials come one after another, so two of them stand at different places of the list; each pair has its share of the
level (docs/theory/race.md). The guarantee is for candidates fixed beforehand, as by a grid or by enqueue_trial: a
sampler that looks at losses on these rows chooses candidates that depend on the order, and then this is a pruner like
any other.
"""

from optuna.pruners import BasePruner
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from tombola import _validate
from tombola._types import Floats
from tombola.errors import FeedbackError, ParameterError
from tombola.order import draw_order
from tombola.racing.best import Best
from tombola.rng import RngStreams


class RacePruner(BasePruner):
    """Stop trials that are proved not to be the best of so many on a list of so many rows, but for probability `level`.

    >>> RacePruner(rows=5, trials=2, seed=1).order
    [1, 3, 0, 4, 2]
    """

    def __init__(self, rows: int, trials: int, *, seed: int, level: float = 0.05) -> None:
        self._rows = _validate.integer("RacePruner", "rows", rows, least=1)
        self._trials = _validate.integer("RacePruner", "trials", trials, least=2)
        self._level = _validate.real("RacePruner", "level", level, above=0, below=1)
        self.order: list[int] = [int(row) for row in draw_order("random", rows, RngStreams(seed).order())]
        self._pairs: dict[tuple[int, int], Best] = {}

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        """Tell whether the rows so far prove that another trial is better."""
        if trial.number >= self._trials:
            raise ParameterError(
                f"RacePruner: expected at most {self._trials} trials, got trial {trial.number + 1}; "
                f"write RacePruner(trials={trial.number + 1}) before the study begins."
            )
        sign = study.direction
        mine = _losses(trial, sign)
        others = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED, TrialState.RUNNING))
        return any(
            self._worse(trial.number, mine, other.number, _losses(other, sign))
            for other in others
            if other.number != trial.number
        )

    def _worse(self, mine: int, my_losses: list[float], other: int, other_losses: list[float]) -> bool:
        """Go on with the race of a pair, and tell whether I am out of it."""
        key = min(mine, other), max(mine, other)
        if key not in self._pairs:
            share = self._level / (self._trials - 1)
            self._pairs[key] = Best(candidates=2, rows=self._rows, population=self._rows, level=share)
        field, both = self._pairs[key], [my_losses, other_losses]
        if key[0] != mine:
            both.reverse()
        for row in range(field.seen, min(map(len, both))):
            if not field.done:
                field.update(_row(both[0][row], both[1][row]))
        return bool(field.state.active[key.index(mine)] == 0.0)


def _row(first: float, second: float) -> Floats:
    import numpy as np

    return np.array([first, second])


def _losses(trial: FrozenTrial, direction: StudyDirection) -> list[float]:
    """Return the losses that a trial has reported, one a row without a gap."""
    values = trial.intermediate_values
    losses = []
    for step in range(len(values)):
        value = values.get(step, float("nan"))
        loss = 1.0 - value if direction == StudyDirection.MAXIMIZE else value
        if not 0.0 <= loss <= 1.0:
            raise FeedbackError(
                f"RacePruner: expected a value in [0, 1] for every row, reported as trial.report(value, step) with "
                f"step 0, 1, 2, ..., got {value!r} for step {step}; rescale it."
            )
        losses.append(float(loss))
    return losses
