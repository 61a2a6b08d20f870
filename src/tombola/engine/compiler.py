"""Compile a loop for a learner: the only module that calls Numba.

`compile_loop(loop, arguments, choose=..., observe=...)` clones the plain loop, binds the learner's
kernels to the global names that the loop calls, and compiles the clone with a disk cache. The
qualified name of the clone contains the fingerprint of every function in reach, so an edited kernel
never runs stale machine code.

Compiling a kernel takes one to four seconds, as long as 50,000 interpreted rounds. Drivers
therefore declare their work with `Workload` or `expected_rounds`, and a kernel that is not cached
is interpreted where that is cheaper. Both ways give the same bits. With NUMBA_DISABLE_JIT=1, or
where Numba is not installed, everything is interpreted, and Numba is never imported.
"""

import gc
import os
import types
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Literal, TypeAlias

import numpy as np

from tombola.engine.cache import enable_cache, has_index, is_cached
from tombola.engine.fingerprint import fingerprint, globals_used, is_versioned
from tombola.engine.intrinsics import INTRINSIC_FACTORIES, NOT_INLINED
from tombola.engine.provenance import has_numba
from tombola.errors import LearnerError, TombolaWarning

# A plain function, or a Numba dispatcher (a function compiled by Numba).
Kernel: TypeAlias = Any
# How kernels run: as machine code, as plain Python, or ("auto") interpreted for short work and
# compiled for the rest.
_Mode: TypeAlias = Literal["auto", "compiled", "interpreted"]

# Seconds to compile one loop, measured for the learners of this package. Work that is interpreted
# faster is not compiled.
_COMPILE_SECONDS = 2.0
# Seconds of an interpreted round, and of each action in it, measured for the learners of this
# package.
_ROUND_SECONDS = 20e-6
_ACTION_SECONDS = 10e-6

_loops: dict[str, Kernel] = {}  # by fingerprint
_compiled: dict[Any, Kernel] = {}  # holds the dispatchers, so that the id in the key stays unique
_interpreted_seconds: dict[str, float] = {}  # estimated, by fingerprint, in this process
_mode: ContextVar[_Mode] = ContextVar("mode", default="auto")
_workload: ContextVar["Workload | None"] = ContextVar("workload", default=None)


def compiles() -> bool:
    """Return whether kernels may be compiled here.

    Not inside of `interpreted()`, not with NUMBA_DISABLE_JIT=1, and not without Numba.
    """
    return (
        _mode.get() != "interpreted"
        and os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
        and has_numba()
    )


def interpreted() -> AbstractContextManager[None]:
    """Run kernels requested in the `with` block as plain Python.

    NUMBA_DISABLE_JIT=1 does the same for the process.
    """
    return _in_mode("interpreted")


def compiled() -> AbstractContextManager[None]:
    """Compile all kernels requested in the `with` block, however short their work.

    NUMBA_DISABLE_JIT=1 has precedence.
    """
    return _in_mode("compiled")


@contextmanager
def _in_mode(mode: _Mode) -> Iterator[None]:
    token = _mode.set(mode)
    try:
        yield
    finally:
        _mode.reset(token)


@dataclass
class Workload:
    """Estimated time of a task with interpreted kernels; decides what to compile.

    One decision holds for the whole task, so no reported number comes from both ways. Threads of a
    task share the object and enter `active()` each. The mode of the creating context holds for all
    of them.

    seconds: the estimate, in seconds.
    mode: "compiled" or "interpreted" for all kernels, "auto" by the estimate.
    decisions: fingerprint -> whether to interpret, for kernels requested so far.

    >>> round(Workload.of_rounds(1000, actions=4).seconds, 6)
    0.06
    """

    seconds: float
    mode: _Mode = field(default_factory=_mode.get)
    decisions: dict[str, bool] = field(default_factory=dict)

    @classmethod
    def of_rounds(cls, rounds: float, actions: int) -> "Workload":
        """Return the workload of all rounds of all plays of one learner."""
        return cls(rounds * (_ROUND_SECONDS + _ACTION_SECONDS * actions))

    @contextmanager
    def active(self) -> Iterator[None]:
        """Use this workload for kernels requested in the `with` block.

        Inside of the block of another workload, that one holds and this call has no effect.
        """
        if _workload.get() is not None:
            yield
            return
        token = _workload.set(self)
        try:
            with _in_mode(self.mode):
                yield
        finally:
            _workload.reset(token)

    def interprets(self, function: Kernel, digest: str | None) -> bool:
        """Return whether to interpret a kernel instead of compiling it.

        A kernel that is compiled already, in memory or on disk, is not interpreted. The estimates
        of earlier tasks count too: once their sum reaches the time to compile, the kernel is
        compiled. So many short tasks take at most about twice the time of the better way (ski
        rental).

        digest: the fingerprint, with "_hold_gil" appended for `compile_step`; None for an opaque
            kernel.
        """
        if digest is None:
            return self.seconds < _COMPILE_SECONDS
        if digest not in self.decisions:
            total = _interpreted_seconds.get(digest, 0.0) + self.seconds
            cached = digest in _loops or has_index(function.__code__.co_filename, digest)
            if self.decisions.setdefault(digest, total < _COMPILE_SECONDS and not cached):
                _interpreted_seconds[digest] = total
        return self.decisions[digest]


def expected_rounds(rounds: float, actions: int) -> AbstractContextManager[None]:
    """Declare the rounds that kernels requested in the `with` block will play.

    The number, of all plays together, decides whether they are compiled or interpreted.
    """
    return Workload.of_rounds(rounds, actions).active()


def compile_loop(function: Kernel, arguments: tuple[Any, ...], **kernels: Kernel) -> Kernel:
    """Return `function` with the names in `kernels` bound, and compiled.

    The result takes the same arguments. Short work may stay interpreted, with the same bits; see
    `Workload`. LearnerError if Numba cannot compile a kernel.

    function: a plain function that calls `kernels`, plain functions too, as global names.
    arguments: examples of its arguments, which determine the types.

    >>> def double(x):
    ...     return 2 * x
    >>> def loop(n):
    ...     total = 0
    ...     for i in range(n):
    ...         total += step(i)
    ...     return total
    >>> compile_loop(loop, (4,), step=double)(4)
    12
    """
    return _compile_or_interpret(function, arguments, kernels, hold_gil=False)


def compile_step(function: Kernel, arguments: tuple[Any, ...], **kernels: Kernel) -> Kernel:
    """Compile as `compile_loop`, but hold the GIL.

    For short steps: to release the GIL would take as long as the step.
    """
    return _compile_or_interpret(function, arguments, kernels, hold_gil=True)


def _compile_or_interpret(
    function: Kernel, arguments: tuple[Any, ...], kernels: Mapping[str, Kernel], *, hold_gil: bool
) -> Kernel:
    if not compiles():
        return _ignoring_overflow(_bind(function, kernels))
    digest = fingerprint(function, kernels)
    if digest is not None and hold_gil:
        digest += "_hold_gil"
    workload = _workload.get()
    if workload is not None and _mode.get() == "auto" and workload.interprets(function, digest):
        return _ignoring_overflow(_bind(function, kernels))
    if digest in _loops:
        return _ready(_loops[digest], arguments)
    dispatcher = _compile(function, kernels, digest, arguments, hold_gil=hold_gil)
    if digest is not None:
        _loops[digest] = dispatcher
    return dispatcher


def _compile(
    function: Kernel,
    kernels: Mapping[str, Kernel],
    digest: str | None,
    arguments: tuple[Any, ...],
    *,
    hold_gil: bool,
) -> Kernel:
    """Compile without reference counting (NRT), which is faster, or with it if needed."""
    no_nrt = _dispatcher(function, kernels, digest, nrt=False, hold_gil=hold_gil)
    nrt = _dispatcher(function, kernels, digest, nrt=True, hold_gil=hold_gil)
    if is_cached(nrt):
        return _ready(nrt, arguments)
    try:
        return _ready(no_nrt, arguments)
    except TombolaWarning:
        raise
    except Exception:  # Numba raises many types, not only its own
        try:
            return _ready(nrt, arguments)
        except Exception as error:
            raise LearnerError(
                "learner: expected kernels that Numba can compile, got the error below; change "
                "the kernel, or run with "
                f"NUMBA_DISABLE_JIT=1 to debug it in plain Python.\n{_innermost_error(str(error))}"
            ) from None


def _innermost_error(text: str) -> str:
    r"""Return the part of an error of Numba about the innermost function and its line.

    Numba repeats it for every caller, and most callers are functions of tombola.

    >>> _innermost_error("Failed in nopython mode pipeline (step: x)\nNo f\nFile a, line 1\nDuring: b\nFile c")
    'No f\nFile a, line 1'
    """
    lines = text.strip().splitlines()
    own = [line for line in lines if not line.startswith("Failed in nopython mode pipeline")]
    end = next((at for at, line in enumerate(own) if line.startswith("During:")), len(own))
    message = "\n".join(own[:end]).strip() or text.strip()
    if "Unknown attribute" in message and "Module(" in message:
        message += "\nImport the function by name, such as: from tombola.rng import uniform"
    return message


def _ready(dispatcher: Any, arguments: tuple[Any, ...]) -> Any:
    """Compile a dispatcher for these arguments, or load it from the cache."""
    from numba import typeof

    key = (id(dispatcher), *map(_type_key, arguments))
    if key in _compiled:
        return dispatcher
    with _no_collection():
        dispatcher.compile(tuple(typeof(argument) for argument in arguments))
    _compiled[key] = dispatcher
    return dispatcher


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause the garbage collector in the `with` block.

    Numba makes many objects that live until the end of a compilation. The collector visits them
    again and again, and finds nothing: a sixth of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _type_key(argument: Any) -> Any:
    """Return the properties that determine Numba's type; `typeof` takes 0.25 ms."""
    if isinstance(argument, np.ndarray):
        flags = argument.flags
        return (
            argument.dtype,
            argument.ndim,
            flags.c_contiguous,
            flags.f_contiguous,
            flags.writeable,
            flags.aligned,
        )
    if isinstance(argument, tuple):
        return (type(argument), *map(_type_key, argument))
    return type(argument)


def _dispatcher(
    function: Kernel,
    kernels: Mapping[str, Kernel],
    digest: str | None,
    *,
    nrt: bool,
    hold_gil: bool,
) -> Any:
    import numba

    njit: Any = numba.njit  # its types lack `_nrt`
    options: dict[str, Any] = {"nogil": not hold_gil, "_nrt": nrt}
    done: dict[int, Kernel] = {}

    def bind(inner: Kernel, bound: Mapping[str, Kernel]) -> types.FunctionType:
        """Clone `inner` with every plain function in reach compiled."""
        clone = _bind(inner, bound)
        for name, attribute in globals_used(clone.__code__):
            value = clone.__globals__.get(name)
            if isinstance(value, types.ModuleType) and attribute is not None:
                _refuse_member(inner, value, attribute)
            elif isinstance(value, types.FunctionType) and not is_versioned(value):
                clone.__globals__[name] = compile_inner(value)
        for cell in clone.__closure__ or ():
            if isinstance(cell.cell_contents, types.FunctionType):
                cell.cell_contents = compile_inner(cell.cell_contents)
        return clone

    def compile_inner(inner: Kernel) -> Kernel:
        if id(inner) not in done:
            native = INTRINSIC_FACTORIES.get(inner)
            inline = "never" if nrt or inner in NOT_INLINED else "always"
            done[id(inner)] = (
                native() if native else njit(bind(inner, {}), inline=inline, **options)
            )
        return done[id(inner)]

    clone = bind(function, kernels)
    clone.__qualname__ = f"{function.__name__}_{digest}_{'nrt' if nrt else 'nonrt'}"
    dispatcher = njit(clone, **options)
    if digest is not None and os.path.isfile(function.__code__.co_filename):
        enable_cache(dispatcher)
    return dispatcher


def _bind(function: Kernel, bound: Mapping[str, Kernel]) -> types.FunctionType:
    """Clone `function` with its own globals, in which `bound` has precedence."""
    cells = tuple(types.CellType(cell.cell_contents) for cell in function.__closure__ or ())
    clone = types.FunctionType(
        function.__code__,
        {**function.__globals__, **bound},
        function.__name__,
        function.__defaults__,
        cells or None,
    )
    clone.__kwdefaults__ = function.__kwdefaults__
    clone.__module__ = function.__module__
    clone.__qualname__ = function.__qualname__
    return clone


def _refuse_member(function: Kernel, module: types.ModuleType, attribute: str) -> None:
    value = getattr(module, attribute, None)
    if isinstance(value, types.FunctionType) and not is_versioned(value):
        raise LearnerError(
            f"{function.__qualname__}: a kernel can only call functions it names directly, got "
            f"{module.__name__}.{attribute}; write 'from {module.__name__} import {attribute}' "
            f"and call {attribute}."
        )


def _ignoring_overflow(function: Kernel) -> Kernel:
    """Let 64-bit words wrap around without a warning, as they do in compiled code."""

    @wraps(function)
    def run(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*arguments)

    return run
