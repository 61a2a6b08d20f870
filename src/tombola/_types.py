"""Array types, and the protocol of learners."""

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Array of float64, of any shape.
Floats: TypeAlias = NDArray[np.float64]
# Table of losses or costs: axis 0 has the rows of a pool, axis 1 the actions.
Rows: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
# Array of int64: actions, labels, indices, rounds or counts.
Integers: TypeAlias = NDArray[np.int64]
# Row index of each round.
Order: TypeAlias = NDArray[np.uint32]
# State of a random generator: four 64-bit words, changed in place by each draw (`tombola.rng`).
RngState: TypeAlias = NDArray[np.uint64]
# Source of randomness of a call, an integer of at least 0 or a SeedSequence: equal seeds give equal results.
Seed: TypeAlias = int | np.random.SeedSequence


class AnyLearner(Protocol):
    """Protocol of all learners: of actions, of actions under a budget, or of labels.

    The methods that the loop calls depend on the kind of feedback, so each base class declares its own.
    """

    @property
    def feedback(self) -> Any:
        """Kind of feedback: a key of `FEEDBACK_MODELS`, or a subclass of `FeedbackModel`."""

    @property
    def learns(self) -> bool:
        """Whether it improves with feedback; False for a baseline."""

    @property
    def plans(self) -> bool:
        """Whether its method `plan`, in plain Python, may run between two rounds."""

    @property
    def mixes(self) -> bool:
        """Whether it returns the probability of every action."""
