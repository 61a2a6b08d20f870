"""Label feedback: features before the prediction, the true label after the delay."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from tombola import _validate
from tombola._formatting import plural
from tombola._types import Floats, RngState
from tombola.budget.budget import BudgetRun
from tombola.classification.pool import round_weight
from tombola.engine.compiler import compile_step
from tombola.engine.tickets import (
    OUTCOME_START,
    ROUNDS,
    Ticket,
    has_native_types,
    is_pending,
    mark_answered,
    read_ticket,
    unmark_answered,
    write_ticket,
)
from tombola.errors import FeedbackError, ParameterError
from tombola.feedback.base import EMPTY_CELLS, TABLE_FULL, FeedbackModel, LiveKernels
from tombola.feedback.codec import EncodedOutcome


@dataclass(frozen=True, eq=False)
class LabelFeedback(FeedbackModel):
    """Feedback model of label learners: the true label and the weight of a mistake.

    An encoded outcome is (label, weight). There are two actions, the labels 0 and 1; `features` is
    the number of features.
    """

    default_actions: ClassVar[int | None] = 2
    names: ClassVar[tuple[str, ...] | None] = ("0", "1")
    features: int = 1

    @classmethod
    def for_learner(
        cls,
        learner: Any,
        horizon: int,
        *,
        actions: int,
        budget_run: BudgetRun | None,
        features: int | None,
    ) -> Self:
        if budget_run is not None:
            raise ParameterError(
                f"budget: labels cost nothing, got one for {learner!r}; leave the budget out."
            )
        count = _validate.integer(
            "Session", "features", 1 if features is None else features, least=1
        )
        learner.hypotheses.check(count)
        return cls(2, horizon, count)

    @property
    def outcome_width(self) -> int:
        return 2

    @property
    def n_features(self) -> int:
        return self.features

    def live_kernels(self, learner: Any, rng: RngState) -> LiveKernels:
        predictor = learner.start(self.horizon, self.features, rng)
        features = np.zeros(self.features)
        write = compile_step(_write_ticket_and_features, (EMPTY_CELLS, 0, 1.0, features))
        take = compile_step(_record_label, (EMPTY_CELLS, 1, 0, 1.0, 1, 1.0, features))

        def act(cells: Floats, shown: float | Floats) -> tuple[int, int, float]:
            if cells.item(0, ROUNDS) >= len(cells) - 1:
                return TABLE_FULL, 0, 0.0
            features[0 if type(shown) is float else slice(None)] = shown
            label, probability = predictor.predict(features.copy())
            return write(cells, label, probability, features), label, probability

        def observe_fast(cells: Floats, ticket: Ticket, loss: Any, cost: Any, label: Any) -> bool:
            is_label = type(label) is int and 0 <= label <= 1 and loss is cost is None
            return is_label and has_native_types(ticket) and learn(cells, *ticket, label, 1.0)

        def observe(cells: Floats, row: int, round: int, outcome: EncodedOutcome) -> bool:
            return learn(cells, row, *read_ticket(cells, row), int(outcome[0]), outcome[1])

        def learn(
            cells: Floats, row: int, action: int, probability: float, label: int, weight: float
        ) -> bool:
            if not take(cells, row, action, probability, label, weight, features):
                return False
            try:
                predictor.learn(features.copy(), label, weight)
            except BaseException:
                unmark_answered(cells, row)
                raise
            return True

        return LiveKernels(act, observe_fast, observe, None)

    def encode_features(self, features: Any) -> float | Floats:
        """Return validated features of a row, shape (features,); a float stays a float.

        features: argument of `Session.act`: numbers, or one number for one feature.
        """
        if type(features) is float and self.features == 1 and math.isfinite(features):
            return features + 0.0  # the common case, several times quicker than what follows
        try:
            row = np.atleast_1d(np.array(features, dtype=np.float64)) + 0.0
        except (TypeError, ValueError):
            row = np.full(self.features, np.nan)
        if row.shape != (self.features,) or not np.isfinite(row).all():
            raise FeedbackError(
                f"Session.act: features must be {plural(self.features, 'finite number')}, got "
                f"{features!r}; fill in what is missing, or give Session the number of features."
            )
        return row

    def encode(self, round: int, action: int, outcome: Mapping[str, Any]) -> EncodedOutcome:
        label: Any = outcome.get("label")
        weight: Any = outcome.get("weight")
        for name, value in outcome.items():
            if value is not None and name not in ("label", "weight"):
                raise FeedbackError(
                    "Session.observe: expected nothing but a label and its weight for round "
                    f"{round}, got {name}; "
                    "write observe(ticket, label=...)."
                )
        observe_fast = type(label) is int and 0 <= label <= 1  # asking NumPy takes microseconds
        if not observe_fast and (
            isinstance(label, str) or np.ndim(label) != 0 or label not in (0, 1)
        ):
            raise FeedbackError(
                f"Session.observe: label must be 0 or 1, got {label!r}; write label=0 or label=1."
            )
        if weight is None or weight == 1.0:
            return float(label), 1.0
        number = _validate.real("Session.observe", "weight", weight, above=0, most=1)
        return float(label), float(round_weight(np.array([number]))[0])

    def to_observe_kwargs(self, outcome: EncodedOutcome) -> dict[str, Any]:
        return {"label": int(outcome[0]), "weight": outcome[1]}

    def decode(self, outcome: EncodedOutcome) -> tuple[int, float]:
        return int(outcome[0]), outcome[1]

    def loss(self, action: int, outcome: EncodedOutcome) -> float:
        return outcome[1] if action != outcome[0] else 0.0

    def outcome_of_row(self, losses: Floats, action: int, costs: Any = None) -> dict[str, Any]:
        """Return {"label": label of smaller loss}; the label is 0 if they are equal."""
        return {"label": int(losses[1] < losses[0])}


def _write_ticket_and_features(cells: Floats, label: int, probability: float, row: Floats) -> int:
    """Write a ticket and the features of its row into the table; return its round."""
    round_ = write_ticket(cells, label, probability)
    for j in range(row.size):
        cells[round_, cells.shape[1] - row.size + j] = row[j]
    return round_


def _record_label(
    cells: Floats,
    row: int,
    action: int,
    probability: float,
    label: int,
    weight: float,
    features: Floats,
) -> bool:
    """Record label and weight of a pending ticket, and copy its features; else False."""
    if not is_pending(cells, row, action, probability):
        return False
    for j in range(features.size):
        features[j] = cells[row, cells.shape[1] - features.size + j]
    cells[row, OUTCOME_START] = label
    cells[row, OUTCOME_START + 1] = weight
    mark_answered(cells, row)
    return True
