"""State vector: the whole state of a learner as one flat array of float64.

A learner declares its state as a named tuple of numbers and arrays. Passing such a tuple of five to
a compiled function takes 3.4 us for two calls, passing one array 0.7 us. So one vector (`memory`)
is passed, and the kernels rebuild the named tuple as views:

    memory = [actions, (start, stop, columns) of each field, the fields one after the other, the
    mix]

The last `actions` numbers hold the mix of a learner that mixes. One vector is also easy to save,
copy and compare.
"""

import linecache
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tombola._types import Floats
from tombola.errors import LearnerError


def lazy_zeros(rows: int, columns: int) -> Floats:
    """Return a read-only matrix of zeros, shape (rows, columns), that takes no memory.

    In a state vector made by `flatten`, only the parts that are written take memory.
    """
    return np.broadcast_to(np.float64(0), (rows, columns))


def flatten(state: NamedTuple, actions: int) -> Floats:
    """Return a state as a state vector, one flat array of float64.

    Raises LearnerError for a field with more than two dimensions.

    state: a named tuple of numbers, vectors and matrices; None for a field that this learner does
        not have.
    actions: number of actions k; k floats are added for the mix.
    """
    fields = [np.asarray(0.0 if value is None else value, dtype=np.float64) for value in state]
    for name, field in zip(state._fields, fields, strict=True):
        if field.ndim > 2:
            raise LearnerError(
                f"{type(state).__qualname__}.{name}: a field of a state is a number, a vector or "
                "a matrix, "
                f"got {field.ndim} dimensions; write it as a matrix."
            )
    head = 1 + 3 * len(fields)
    memory = np.zeros(head + sum(field.size for field in fields) + actions)
    memory[0] = actions
    start = head
    for index, field in enumerate(fields):
        columns = field.shape[1] if field.ndim == 2 else 1
        memory[1 + 3 * index : 4 + 3 * index] = start, start + field.size, columns
        # A `lazy_zeros` field has zero strides: the vector is zero there already.
        if any(field.strides) or field.size == 1 or field.flat[:1].any():
            memory[start : start + field.size] = field.ravel()
        start += field.size
    return memory


def unflattener(state: NamedTuple) -> Callable[[Floats], Any]:
    """Return the kernel `view(memory)`, which rebuilds the named tuple of a state.

    Its fields are views on the state vector. Of `state`, only the type and the dimensions of the
    fields count.
    """
    return _unflattener(
        type(state), tuple(None if value is None else np.ndim(value) for value in state)
    )


@lru_cache(maxsize=1024)
def _unflattener(state_type: type, dimensions: tuple[int | None, ...]) -> Callable[[Floats], Any]:
    # Generated source: Numba needs one expression per field, with the number of dimensions known.
    parts = ", ".join(_part(1 + 3 * index, ndim) for index, ndim in enumerate(dimensions))
    source = f"def view(memory):\n    return State({parts})\n"
    name = f"<view of {state_type.__module__}.{state_type.__qualname__} {dimensions}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"State": state_type, "__name__": __name__}
    exec(compile(source, name, "exec"), scope)
    return scope["view"]  # type: ignore[no-any-return]


def _part(at: int, dimensions: int | None) -> str:
    if dimensions is None:
        # Numba knows the type of None, and does not compile code for fields that are absent.
        return "None"
    if dimensions == 0:
        return f"memory[int(memory[{at}])]"
    cut = f"memory[int(memory[{at}]):int(memory[{at + 1}])]"
    return cut if dimensions == 1 else f"{cut}.reshape((-1, int(memory[{at + 2}])))"


def mix_slice(memory: Floats) -> Floats:
    """Return a view of the mix at the end of a state vector, shape (k,)."""
    return memory[memory.size - int(memory[0]) :]
