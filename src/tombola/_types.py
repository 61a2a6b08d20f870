"""Array types."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
# Tables of losses or costs.
Rows: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
# Integers: rounds, actions or counts.
Rounds: TypeAlias = NDArray[np.int64]
# Row index of each round.
Order: TypeAlias = NDArray[np.uint32]
# Four 64-bit words; see `tombola.rng`.
RngState: TypeAlias = NDArray[np.uint64]
Seed: TypeAlias = int | np.random.SeedSequence
