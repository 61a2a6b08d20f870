"""Exact VC and Littlestone dimensions of finite classes, by search.

Both are hard in general (Papadimitriou and Yannakakis 1996; Frances and Litman 1998), so the search
raises ParameterError after a number of steps.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tombola.errors import ParameterError

# Largest number of hypotheses of a class; larger ones raise, because the search is exponential.
_MAX_HYPOTHESES = 4096
# Largest number of steps of a search, a few seconds; then it raises.
_MAX_STEPS = 1_000_000


def class_matrix(owner: str, matrix: Any) -> NDArray[np.int64]:
    """Return a hypothesis class as an array of labels, shape (hypotheses, points).

    Raises ParameterError, in the name of `owner`, for anything but a matrix of 0 and 1 with a row
    and a column.
    """
    try:
        array = np.array(matrix)
    except ValueError:
        array = np.zeros(0)
    if (
        array.ndim != 2
        or 0 in array.shape
        or array.dtype.kind not in "biuf"
        or not np.isin(array, (0, 1)).all()
    ):
        came = (
            f"{array.dtype} of shape {array.shape}"
            if array.ndim != 2 or 0 in array.shape
            else "other values"
        )
        raise ParameterError(
            f"{owner}: the class must be a matrix of 0 and 1 with at least one row (hypothesis) "
            "and column (point), "
            f"got {came}; write for example {owner}([[0, 0], [0, 1]])."
        )
    return array.astype(np.int64)


def columns_of(owner: str, matrix: Any) -> tuple[int, tuple[int, ...]]:
    """Return a class as bit sets: all hypotheses, and those with label 1 by point.

    Bit i stands for hypothesis i. Equal hypotheses and equal points count once. Raises
    ParameterError if there are more than 4096 hypotheses. Parameters as `class_matrix`.
    """
    distinct = np.unique(class_matrix(owner, matrix), axis=0)
    if distinct.shape[0] > _MAX_HYPOTHESES:
        raise ParameterError(
            f"{owner}: the exact dimension is searched for at most {_MAX_HYPOTHESES} different "
            "hypotheses, "
            f"got {distinct.shape[0]}; take fewer points or hypotheses."
        )
    columns = {sum(1 << int(h) for h in np.flatnonzero(column)) for column in distinct.T}
    return (1 << distinct.shape[0]) - 1, tuple(sorted(columns))


def vc_dimension(matrix: Any) -> int:
    """Return the size of the largest set of points that the class labels in all ways.

    matrix: labels 0 and 1, shape (hypotheses, points). Raises ParameterError if the search takes
        too long.

    >>> vc_dimension([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]])
    1
    """
    everyone, columns = columns_of("vc_dimension", matrix)
    steps = 0
    largest = 0
    stack: list[tuple[int, tuple[int, ...]]] = [(0, (everyone,))]
    while stack:
        start, cells = stack.pop()
        largest = max(largest, len(cells).bit_length() - 1)
        for index in range(start, len(columns)):
            steps += len(cells)
            inside = tuple(cell & columns[index] for cell in cells)
            outside = tuple(cell & ~columns[index] for cell in cells)
            if all(inside) and all(outside):
                stack.append((index + 1, inside + outside))
        if steps > 20 * _MAX_STEPS:
            raise _too_large("vc_dimension", 20 * _MAX_STEPS)
    return largest


def littlestone_dimension(matrix: Any) -> int:
    """Return the depth of the largest mistake tree of the class (Littlestone 1988).

    It is the number of mistakes that an adversary can force on every learner, with labels by one of
    the hypotheses. The parameter and the error are those of `vc_dimension`.

    >>> littlestone_dimension([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]])
    2
    """
    everyone, columns = columns_of("littlestone_dimension", matrix)
    return MistakeTrees(columns).depth(everyone)


class MistakeTrees:
    """Compute Littlestone dimensions of subsets of a finite class, memoised.

    Subsets are bit sets: bit i stands for hypothesis i. `columns` has, for each point, the
    hypotheses with label 1.
    """

    def __init__(self, columns: tuple[int, ...]) -> None:
        self.columns = columns
        self._known: dict[int, int] = {}

    def depth(self, alive: int) -> int:
        """Return the Littlestone dimension of a bit set of hypotheses; -1 if empty."""
        if alive & (alive - 1) == 0:
            return 0 if alive else -1
        if alive not in self._known:
            if len(self._known) >= _MAX_STEPS:
                raise _too_large("littlestone_dimension", _MAX_STEPS)
            self._known[alive] = self._search(alive)
        return self._known[alive]

    def question(self, alive: int) -> int:
        """Return the index of the point at which an adversary should ask for the label.

        The smaller of the Littlestone dimensions of both parts of `split` is largest there.
        """
        return max(
            range(len(self.columns)),
            key=lambda x: min(self.depth(part) for part in self.split(alive, x)),
        )

    def split(self, alive: int, point: int) -> tuple[int, int]:
        """Return the hypotheses of `alive` with label 0 and with label 1 at a point."""
        return alive & ~self.columns[point], alive & self.columns[point]

    def _search(self, alive: int) -> int:
        best = 0
        parts = [sorted(self.split(alive, x), key=int.bit_count) for x in range(len(self.columns))]
        # The most balanced split first: its smaller part bounds the depth.
        for small, large in sorted(parts, key=lambda part: -part[0].bit_count()):
            if small.bit_count().bit_length() <= best or alive.bit_count().bit_length() - 1 == best:
                break
            here = self.depth(small)
            if here >= best:
                best = max(best, 1 + min(here, self.depth(large)))
        return best


def _too_large(owner: str, limit: int) -> ParameterError:
    return ParameterError(
        f"{owner}: the search was given up after {limit} steps; the problem is hard in general, "
        "so take fewer points."
    )
