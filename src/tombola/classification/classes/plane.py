"""Exact ERM for hypothesis classes in the plane.

A search takes about n^3 small steps for n different points. It is repeated only after a mistake, because a minimiser
that labels a new row correctly is still one. It is meant for a few thousand rows.
"""

from collections.abc import Callable

import numpy as np

from tombola._types import Floats, RngState
from tombola.engine.compiler import Kernel, compile_loop


class PlaneERM:
    """Search a class in the plane again whenever its hypothesis was wrong.

    search: returns a hypothesis of largest gain, for points and their gains of label 1 over label 0.
    label: returns the label of a row, for a hypothesis and the row.
    """

    def __init__(self, search: Callable[[Floats, Floats], Floats], label: Callable[[Floats, Floats], int]) -> None:
        self._search, self._label = search, label
        self._gains: dict[tuple[float, float], float] = {}
        self._found: Floats | None = None

    def learn(self, row: Floats, label: int, weight: float) -> None:
        """Add the gain of label 1 over label 0, plus or minus `weight`, at a row."""
        point = (float(row[0]), float(row[1]))
        self._gains[point] = self._gains.get(point, 0.0) + (weight if label == 1 else -weight)
        if self._found is not None and self._label(self._found, row) != label:
            self._found = None

    def predict(self, row: Floats, rng: RngState) -> int:
        """Return the label of a row by the current minimiser; `rng` is unused."""
        if not self._gains:
            return 0
        if self._found is None:
            points = sorted(self._gains)
            self._found = self._search(np.array(points), np.array([self._gains[point] for point in points]))
        return self._label(self._found, row)


def run_compiled(function: Kernel, *arguments: Floats) -> None:
    """Compile a search kernel for these arguments, and call it.

    function: the kernel; its results are written into the arguments.
    """
    compile_loop(function, arguments)(*arguments)
