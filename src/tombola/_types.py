"""Array types."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
Rounds: TypeAlias = NDArray[np.int64]
Order: TypeAlias = NDArray[np.uint32]
RngState: TypeAlias = NDArray[np.uint64]
Seed: TypeAlias = int | np.random.SeedSequence
