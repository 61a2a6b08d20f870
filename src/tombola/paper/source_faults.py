"""Source faults: change one expression of a function; a claim must notice.

The fields of a claim are its own copies of the components it tests. A fault in the package itself
passes by them, so it is injected into the function object: its source with one text replaced is
compiled, and the code object is exchanged. All references to the function see the fault, and
compiled kernels are cloned anew, because their fingerprint covers the bytecode. The exchange is
global. Source faults therefore run one at a time, in the main thread.
"""

import inspect
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import FunctionType
from typing import Any, NamedTuple

from tombola.errors import ParameterError


class SourceFault(NamedTuple):
    """Replacement of a text in the source of a function, which a claim must notice.

    function: "module:function" or "module:Class.method", without the leading "tombola.".
    old, new: the text, which must occur exactly once, and its replacement.
    """

    function: str
    old: str
    new: str


def _function_of(name: str) -> FunctionType:
    """Return the function of a name "module:qualified name", decorators removed."""
    module, path = name.split(":")
    function: Any = import_module(f"tombola.{module}")
    for part in path.split("."):
        function = inspect.getattr_static(function, part)
    function = inspect.unwrap(getattr(function, "__func__", function))
    if not isinstance(function, FunctionType):
        raise ParameterError(
            f"SourceFault: function must name a function, got {name!r}; write "
            "'bounds.delay:simulation'."
        )
    return function


def _faulty_function(fault: SourceFault) -> FunctionType:
    """Return the function compiled from its source with the text replaced."""
    function = _function_of(fault.function)
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(fault.old) != 1:
        raise ParameterError(
            f"SourceFault: old must occur exactly once in {fault.function}, got "
            f"{source.count(fault.old)} times "
            f"{fault.old!r}; copy it from the source of the function."
        )
    lines = source.replace(fault.old, fault.new).splitlines()
    # Decorators stay where they are: only the code of the innermost function is exchanged.
    start = next(i for i, line in enumerate(lines) if line.startswith("def "))
    names: dict[str, Any] = {}
    exec(
        compile("\n".join(lines[start:]), f"<fault in {fault.function}>", "exec"),
        function.__globals__,
        names,
    )
    return names[function.__name__]  # type: ignore[no-any-return]


@contextmanager
def injected(fault: SourceFault) -> Iterator[None]:
    """Inject a fault into the package for the block of a `with` statement.

    All threads of the process see the fault. Memoised results are cleared at the start and at the
    end. Raises ParameterError unless the old text occurs exactly once.

    >>> from tombola import bounds
    >>> with injected(SourceFault("bounds.classification:halving", "math.log2", "2 * math.log2")):
    ...     bounds.halving(8)
    6.0
    >>> bounds.halving(8)
    3.0
    """
    function = _function_of(fault.function)
    code = _faulty_function(fault).__code__
    sound = function.__code__
    function.__code__ = code
    _clear_caches()
    try:
        yield
    finally:
        function.__code__ = sound
        _clear_caches()


def _clear_caches() -> None:
    """Clear every memoised function: its results may depend on a fault."""
    for name, module in list(sys.modules.items()):
        if name.startswith("tombola."):
            for value in list(vars(module).values()):
                if isinstance(getattr(value, "__wrapped__", None), FunctionType) and hasattr(
                    value, "cache_clear"
                ):
                    value.cache_clear()
