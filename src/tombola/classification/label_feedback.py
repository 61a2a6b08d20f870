"""Labels: features are shown, a label is predicted, and after the delay the true one is seen."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from tombola import _validate
from tombola._types import Floats, RngState
from tombola.budget.budget import BudgetRun
from tombola.classification.pool import round_weight
from tombola.engine.compiler import Kernel, compile_step
from tombola.engine.tickets import (
    OUTCOME,
    ROUNDS,
    Ticket,
    is_pending,
    is_typed,
    mark_answered,
    unmark_answered,
    write_ticket,
    written,
)
from tombola.errors import FeedbackError, ParameterError
from tombola.feedback.base import FULL, PAGES, FeedbackModel, LiveKernels, Numbers


@dataclass(frozen=True, eq=False)
class Labels(FeedbackModel):
    """The true label of a row is seen, and what a mistake on it weighs; rows have so many `features`."""

    features: int = 1

    @classmethod
    def made(
        cls, learner: Any, horizon: int, *, actions: int, budget_run: BudgetRun | None, features: int | None
    ) -> Self:
        """Return the setting of a learner of labels: its actions are the labels 0 and 1."""
        if budget_run is not None:
            raise ParameterError(f"budget: labels cost nothing, got one for {learner!r}; leave the budget out.")
        count = _validate.whole("Session", "features", 1 if features is None else features, least=1)
        learner.hypotheses.check(count)
        return cls(2, horizon, count)

    @property
    def width(self) -> int:
        """How many numbers an outcome has: label and weight."""
        return 2

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the actions: the labels."""
        return ("0", "1")

    @property
    def context(self) -> int:
        """How many numbers are shown of a row: its features."""
        return self.features

    def workspace(self, ring: int) -> Any:
        """Never called: a predictor has its own."""
        raise AssertionError("learners of labels have predictors, not players")

    def kernels(self, learner: Any) -> dict[str, Kernel]:
        """Never called: a predictor has its own."""
        raise AssertionError("learners of labels have predictors, not players")

    def steps(self, learner: Any, rng: RngState) -> LiveKernels:
        """Return what a learner does live."""
        predictor = learner.start(self.horizon, self.features, rng)
        features = np.zeros(self.features)
        write = compile_step(write_shown, (PAGES, 0, 1.0, features))
        take = compile_step(take_label, (PAGES, 1, 0, 1.0, 1, 1.0, features))

        def act(pages: Floats, shown: float | Floats) -> tuple[int, int, float]:
            if pages.item(0, ROUNDS) >= len(pages) - 1:
                return FULL, 0, 0.0
            features[0 if type(shown) is float else slice(None)] = shown
            label, probability = predictor.predict(features.copy())
            return write(pages, label, probability, features), label, probability

        def quick(pages: Floats, ticket: Ticket, loss: Any, cost: Any, label: Any) -> bool:
            is_label = type(label) is int and 0 <= label <= 1 and loss is cost is None
            return is_label and is_typed(ticket) and learn(pages, *ticket, label, 1.0)

        def tell(pages: Floats, row: int, round: int, outcome: Numbers) -> bool:
            return learn(pages, row, *written(pages, row), int(outcome[0]), outcome[1])

        def learn(pages: Floats, row: int, action: int, probability: float, label: int, weight: float) -> bool:
            if not take(pages, row, action, probability, label, weight, features):
                return False
            try:
                predictor.learn(features.copy(), label, weight)
            except BaseException:
                unmark_answered(pages, row)
                raise
            return True

        return LiveKernels(act, quick, tell, None)

    def show(self, given: Any) -> float | Floats:
        """Return the features of a row, or the only one."""
        if type(given) is float and self.features == 1 and math.isfinite(given):
            return given + 0.0  # the common case, several times quicker than what follows
        try:
            row = np.atleast_1d(np.array(given, dtype=np.float64)) + 0.0
        except (TypeError, ValueError):
            row = np.full(self.features, np.nan)
        if row.shape != (self.features,) or not np.isfinite(row).all():
            raise FeedbackError(
                f"Session.act: features must be {self.features} finite number{'s' * (self.features > 1)}, got "
                f"{given!r}; fill in what is missing, or give Session the number of features."
            )
        return row

    def parse(self, round: int, action: int, given: Mapping[str, Any]) -> Numbers:
        """Return the label and its weight."""
        label: Any = given.get("label")
        weight: Any = given.get("weight")
        for name, value in given.items():
            if value is not None and name not in ("label", "weight"):
                raise FeedbackError(
                    f"Session.observe: expected nothing but a label and its weight for round {round}, got {name}; "
                    "write observe(ticket, label=...)."
                )
        quick = type(label) is int and 0 <= label <= 1  # asking NumPy takes microseconds
        if not quick and (isinstance(label, str) or np.ndim(label) != 0 or label not in (0, 1)):
            raise FeedbackError(f"Session.observe: label must be 0 or 1, got {label!r}; write label=0 or label=1.")
        return float(label), 1.0 if weight is None or weight == 1.0 else _weight(weight)

    def as_given(self, outcome: Numbers) -> dict[str, Any]:
        """Return what `observe` may be told to have this outcome."""
        return {"label": int(outcome[0]), "weight": outcome[1]}

    def told(self, outcome: Numbers) -> tuple[int, float]:
        """Return the label and its weight."""
        return int(outcome[0]), outcome[1]

    def loss(self, action: int, outcome: Numbers) -> float:
        """Return the weight of a mistake, 0 for a right prediction."""
        return outcome[1] if action != outcome[0] else 0.0

    def answer(self, losses: Floats, action: int, costs: Any = None) -> dict[str, Any]:
        """Return the label that loses less."""
        return {"label": int(losses[1] < losses[0])}


def write_shown(pages: Floats, label: int, probability: float, row: Floats) -> int:
    """Write down a ticket, and the features that were shown; return its round."""
    round_ = write_ticket(pages, label, probability)
    for j in range(row.size):
        pages[round_, pages.shape[1] - row.size + j] = row[j]
    return round_


def take_label(
    pages: Floats, row: int, action: int, probability: float, label: int, weight: float, features: Floats
) -> bool:
    """Write down the true label of a pending ticket, and what a mistake weighs, and fetch the features it was shown."""
    if not is_pending(pages, row, action, probability):
        return False
    for j in range(features.size):
        features[j] = pages[row, pages.shape[1] - features.size + j]
    pages[row, OUTCOME], pages[row, OUTCOME + 1] = label, weight
    mark_answered(pages, row)
    return True


def _weight(weight: Any) -> float:
    number = _validate.number("Session.observe", "weight", weight, above=0, most=1)
    return float(round_weight(np.array([number]))[0])
