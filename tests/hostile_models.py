"""Models that mislead a router: perfect on the rows they were trained on, by their own account, and bad on others."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

KINDS = ("worst", "nan", "constant", "random", "good then bad")


@dataclass(frozen=True, eq=False)
class HostileModel:
    """A model that knows all losses and predicts against them; the first feature is the number of
    the row.

    "good then bad" routes to the best action of every row while it is trained on less than half of
    them, then to the worst.
    """

    kind: str
    losses: np.ndarray = field(repr=False)

    def fit(self, features: np.ndarray, centred: np.ndarray, seed: int) -> Any:
        return _Fitted(self, centred, seed)


class _Fitted(NamedTuple):
    model: HostileModel
    out_of_bag: np.ndarray
    seed: int

    def predict(self, features: np.ndarray) -> np.ndarray:
        kind, losses = self.model.kind, np.asarray(self.model.losses[features[:, 0].astype(int)])
        if kind == "nan":
            return np.full(losses.shape, np.nan)
        if kind == "random":
            return np.random.default_rng(self.seed).random(losses.shape)
        if kind == "constant":
            return np.tile(np.arange(losses.shape[1], dtype=float)[::-1], (len(losses), 1))
        good = kind == "good then bad" and len(self.out_of_bag) < len(self.model.losses) / 2
        return np.asarray(losses if good else -losses)
