"""Specialise a loop to a learner: the only place that calls Numba.

`compile_loop(loop, act=..., observe=...)` clones the plain loop, binds the learner's kernels to the global names the loop
calls, and compiles the clone with `cache=True` under a qualified name that carries the fingerprint of everything
reachable. So a warm start compiles nothing, and an edited kernel has another name and cannot run stale code.
With NUMBA_DISABLE_JIT=1 the clone itself is returned, and Numba is never imported.
"""

import os
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeAlias

import numpy as np

from tombola.engine.cache import enable_cache, is_cached
from tombola.engine.fingerprint import fingerprint, globals_used, trusted
from tombola.engine.intrinsics import NATIVE, NOT_INLINED
from tombola.errors import LearnerError, TombolaWarning

Kernel: TypeAlias = Any  # a plain function or a compiled one: Numba's types say no more

_specialised: dict[str, Kernel] = {}
_compiled: dict[Any, Kernel] = {}  # keeps its dispatchers alive, so that no other can take over their identity


_plain: ContextVar[bool] = ContextVar("plain", default=False)


def compiles() -> bool:
    """Tell whether kernels are compiled, here and now."""
    return not _plain.get() and os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


@contextmanager
def interpreted() -> Iterator[None]:
    """Run kernels as plain Python inside this block, as NUMBA_DISABLE_JIT=1 does for the whole process."""
    token = _plain.set(True)
    try:
        yield
    finally:
        _plain.reset(token)


def compile_loop(function: Kernel, arguments: tuple[Any, ...], **kernels: Kernel) -> Kernel:
    """Return `function` with the global names of `kernels` bound to those functions, compiled for such arguments.

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
    return _specialise(function, arguments, kernels, brief=False)


def compile_step(function: Kernel, arguments: tuple[Any, ...], **kernels: Kernel) -> Kernel:
    """Do the same for a step so short that letting other threads run meanwhile would take as long."""
    return _specialise(function, arguments, kernels, brief=True)


def _specialise(function: Kernel, arguments: tuple[Any, ...], kernels: Mapping[str, Kernel], *, brief: bool) -> Kernel:
    if not compiles():
        return _quiet(_bind(function, kernels))
    digest = fingerprint(function, kernels)
    if digest is not None and brief:
        digest += "_brief"
    known = _specialised.get(digest) if digest is not None else None
    compiled = _ready(known, arguments) if known else _compile(function, kernels, digest, arguments, brief=brief)
    if digest is not None:
        _specialised[digest] = compiled
    return compiled


def _compile(
    function: Kernel, kernels: Mapping[str, Kernel], digest: str | None, arguments: tuple[Any, ...], *, brief: bool
) -> Kernel:
    """Compile without reference counting, which is many times faster; kernels that make arrays need it, and get it."""
    lean = _dispatcher(function, kernels, digest, lean=True, brief=brief)
    rich = _dispatcher(function, kernels, digest, lean=False, brief=brief)
    if is_cached(rich):
        return _ready(rich, arguments)
    try:
        return _ready(lean, arguments)
    except TombolaWarning:
        raise
    except Exception:  # Numba has errors of its own, but not for everything it cannot do
        try:
            return _ready(rich, arguments)
        except Exception as error:
            names = ", ".join(f"{name} = {kernel.__qualname__}" for name, kernel in kernels.items())
            raise LearnerError(
                f"{function.__name__} ({names}): expected kernels that Numba can compile, got this from Numba; "
                f"change the kernel, or run with NUMBA_DISABLE_JIT=1 to look at it in plain Python: {error}"
            ) from None


def _cacheable(function: Kernel, digest: str | None) -> bool:
    """Tell whether machine code can be kept on disk: all of it is seen through, and there is a file to keep it by."""
    return digest is not None and os.path.isfile(function.__code__.co_filename)


def _ready(dispatcher: Any, arguments: tuple[Any, ...]) -> Any:
    """Compile a dispatcher for these arguments, or load it from the cache, without calling it."""
    from numba import typeof

    kind = (id(dispatcher), *map(_kind, arguments))
    if kind in _compiled:
        return dispatcher
    dispatcher.compile(tuple(typeof(argument) for argument in arguments))  # type: ignore[no-untyped-call]
    _compiled[kind] = dispatcher
    return dispatcher


def _kind(argument: Any) -> Any:
    """Return what Numba's type of an argument depends on; asking Numba itself takes a quarter of a millisecond."""
    if isinstance(argument, np.ndarray):
        flags = argument.flags
        return argument.dtype, argument.ndim, flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned
    if isinstance(argument, tuple):
        return (type(argument), *map(_kind, argument))
    return type(argument)


def _dispatcher(function: Kernel, kernels: Mapping[str, Kernel], digest: str | None, *, lean: bool, brief: bool) -> Any:
    import numba

    njit: Any = numba.njit  # its types do not know `_nrt`
    options: dict[str, Any] = {"nogil": not brief, "_nrt": not lean}
    done: dict[int, Kernel] = {}

    def bind(inner: Kernel, bound: Mapping[str, Kernel]) -> types.FunctionType:
        """Clone `inner` with every plain function in its reach compiled."""
        clone = _bind(inner, bound)
        for name, attribute in globals_used(clone.__code__):
            value = clone.__globals__.get(name)
            if isinstance(value, types.ModuleType) and attribute is not None:
                _refuse_member(inner, value, attribute)
            elif isinstance(value, types.FunctionType) and not trusted(value):
                clone.__globals__[name] = compile_inner(value)
        for cell in clone.__closure__ or ():
            if isinstance(cell.cell_contents, types.FunctionType):
                cell.cell_contents = compile_inner(cell.cell_contents)
        return clone

    def compile_inner(inner: Kernel) -> Kernel:
        if id(inner) not in done:
            native = NATIVE.get(inner)
            inline = "always" if lean and inner not in NOT_INLINED else "never"
            done[id(inner)] = native() if native else njit(bind(inner, {}), inline=inline, **options)
        return done[id(inner)]

    clone = bind(function, kernels)
    clone.__qualname__ = f"{function.__name__}_{digest}_{'lean' if lean else 'rich'}"
    dispatcher = njit(clone, **options)
    if _cacheable(function, digest):
        enable_cache(dispatcher)
    return dispatcher


def _bind(function: Kernel, bound: Mapping[str, Kernel]) -> types.FunctionType:
    """Clone `function` with its own copy of its globals, in which `bound` comes first."""
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
    if isinstance(value, types.FunctionType) and not trusted(value):
        raise LearnerError(
            f"{function.__qualname__}: a kernel can only call functions it names directly, got "
            f"{module.__name__}.{attribute}; write 'from {module.__name__} import {attribute}' and call {attribute}."
        )


def _quiet(function: Kernel) -> Kernel:
    """Let 64-bit words overflow in silence, as they do in compiled code."""

    @wraps(function)
    def run(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*arguments)

    return run
