"""Fingerprint of a kernel: a hash of everything that its machine code depends on.

It covers the bytecode and constants of the function, the functions it calls, global numbers and
arrays, fields of named tuples, closures and defaults. The fingerprint is None if something in reach
is opaque; such a function is compiled, but never cached.

A walk is memoised with its dependencies: every name it looked up and every function it entered.
While these are the same objects the hash is valid, and checking that takes a tenth of the time of a
walk.
"""

import dis
import hashlib
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from tombola.engine.intrinsics import INTRINSIC_FACTORIES, NOT_INLINED

# Libraries with versions that the cache already depends on.
_TRUSTED = ("math", "cmath", "builtins", "numpy")


class _OpaqueError(Exception):
    """A function or value that the fingerprint cannot inspect."""


class _Walk:
    """Dependencies of one walk; not `memoisable` if one of them can change in place."""

    def __init__(self) -> None:
        self.order_of_visit: dict[int, int] = {}
        self.functions: list[tuple[types.FunctionType, tuple[Any, ...], list[int]]] = []
        self.lookups: list[tuple[Mapping[str, Any], str, Any]] = []
        self.memoisable = True
        self.digest: str | None = None

    def enter(self, function: types.FunctionType) -> None:
        """Record code, defaults and cells of a function; holding them keeps ids unique."""
        contents = _contents(function)
        self.functions.append((function, contents, [*map(id, contents)]))

    def look_up(self, table: Mapping[str, Any], name: str) -> Any:
        """Return `table[name]`, and record it as a dependency."""
        value = table.get(name, _MISSING)
        self.lookups.append((table, name, value))
        return value

    def is_valid(self) -> bool:
        """Return whether another walk would find the same objects."""
        return all(
            [*map(id, _contents(function))] == identities
            for function, _, identities in self.functions
        ) and all(table.get(name, _MISSING) is value for table, name, value in self.lookups)


_MISSING = object()
_walks: dict[Any, _Walk] = {}
_MAX_WALKS = 1024  # the memo is cleared beyond


def fingerprint(
    function: Callable[..., Any], bound: Mapping[str, Callable[..., Any]]
) -> str | None:
    """Return the hash of a function with all it depends on; None if opaque.

    The hash is 24 hexadecimal digits. A function is opaque if something that it uses cannot be
    hashed. `bound` has the functions that replace its global names.
    """
    key = (
        _identity(function),
        *((name, _identity(kernel)) for name, kernel in bound.items()),
        len(NOT_INLINED),
        len(INTRINSIC_FACTORIES),
    )
    known = _walks.get(key)
    if known is not None and known.is_valid():
        return known.digest
    walk = _Walk()
    walk.digest = _digest(function, bound, walk)
    if walk.memoisable and walk.digest is not None:
        if len(_walks) >= _MAX_WALKS:
            _walks.clear()
        _walks[key] = walk
    return walk.digest


def _identity(value: Any, depth: int = 8) -> Any:
    """Return a key that is equal for equal kernels.

    Closures, made anew for each play, are compared by content, up to a depth, since a closure may
    contain itself. The walk holds the objects, so that their ids stay unique.
    """
    if not isinstance(value, types.FunctionType) or value.__closure__ is None or depth == 0:
        return id(value)
    code, defaults, keywords, *cells = _contents(value)
    return (
        *map(id, (value.__globals__, code, defaults, keywords)),
        *(_identity(cell, depth - 1) for cell in cells),
    )


def _contents(function: types.FunctionType) -> tuple[Any, ...]:
    cells = (cell.cell_contents for cell in function.__closure__ or ())
    return (function.__code__, function.__defaults__, function.__kwdefaults__, *cells)


def _digest(
    function: Callable[..., Any], bound: Mapping[str, Callable[..., Any]], walk: _Walk
) -> str | None:
    sha = hashlib.sha256(repr(sys.version_info).encode())
    try:
        for part in _parts(function, bound, walk):
            sha.update(part.encode() if isinstance(part, str) else part)
            sha.update(b"\0")
    except _OpaqueError:
        return None
    return sha.hexdigest()[:24]


@lru_cache(maxsize=4096)
def globals_used(code: types.CodeType) -> tuple[tuple[str, str | None], ...]:
    """Return the pairs (global name, attribute) that bytecode loads.

    ("np", "exp") stands for np.exp; the attribute is None if the name is used by itself. Functions
    defined inside of the code are included.
    """
    instructions = [
        i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "EXTENDED_ARG")
    ]
    used = set()
    for here, following in zip(instructions, [*instructions[1:], None], strict=True):
        if here.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            read = following is not None and following.opname in ("LOAD_ATTR", "LOAD_METHOD")
            used.add((here.argval, following.argval if following is not None and read else None))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            used.update(globals_used(constant))
    return tuple(sorted(used, key=str))


def is_versioned(value: Any) -> bool:
    """Return whether a value is defined by Python's math, builtins or NumPy.

    Numba's cache depends on the versions of these already, so the value needs no fingerprint.
    """
    return str(getattr(value, "__module__", None) or "").split(".")[0] in _TRUSTED


def _parts(
    function: Callable[..., Any], bound: Mapping[str, Callable[..., Any]], walk: _Walk
) -> Iterator[str | bytes]:
    if id(function) in walk.order_of_visit:
        yield f"seen {walk.order_of_visit[id(function)]}"
        return
    walk.order_of_visit[id(function)] = len(walk.order_of_visit)
    if not isinstance(function, types.FunctionType):
        raise _OpaqueError
    walk.enter(function)
    walk.memoisable = walk.memoisable and function.__kwdefaults__ is None
    yield from _code(function.__code__)
    if function in NOT_INLINED:
        yield "not inlined"
    if function in INTRINSIC_FACTORIES:
        yield from _code(INTRINSIC_FACTORIES[function].__code__)
    for default in (function.__defaults__ or ()) + tuple((function.__kwdefaults__ or {}).items()):
        yield from _value(default, walk)
    for cell in function.__closure__ or ():
        yield from _value(cell.cell_contents, walk)
    for name, attribute in globals_used(function.__code__):
        yield f"global {name}.{attribute}"
        value = bound[name] if name in bound else _lookup(function, name, walk)
        if isinstance(value, types.ModuleType):
            yield from _member(value, attribute, walk)
        else:
            yield from _value(value, walk)


def _lookup(function: types.FunctionType, name: str, walk: _Walk) -> Any:
    value = walk.look_up(function.__globals__, name)
    if value is _MISSING:
        builtins = function.__globals__.get("__builtins__", {})
        value = walk.look_up(builtins if isinstance(builtins, dict) else vars(builtins), name)
    if value is _MISSING:
        raise _OpaqueError
    return value


def _member(module: types.ModuleType, attribute: str | None, walk: _Walk) -> Iterator[str | bytes]:
    if attribute is None:
        raise _OpaqueError
    if module.__name__.split(".")[0] in _TRUSTED:
        yield f"{module.__name__}.{attribute}"
        return
    value = walk.look_up(vars(module), attribute)
    if value is _MISSING or isinstance(value, types.ModuleType):
        raise _OpaqueError
    yield from _value(value, walk)


@lru_cache(maxsize=4096)
def _code(code: types.CodeType) -> tuple[str | bytes, ...]:
    parts: list[str | bytes] = [
        code.co_code,
        repr(
            (
                code.co_names,
                code.co_varnames,
                code.co_freevars,
                code.co_exceptiontable,
                code.co_flags,
            )
        ),
        repr((code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)),
    ]
    for constant in code.co_consts:
        parts += (
            _code(constant)
            if isinstance(constant, types.CodeType)
            else [f"{type(constant).__name__} {constant!r}"]
        )
    return tuple(parts)


def _value(value: Any, walk: _Walk) -> Iterator[str | bytes]:
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
        yield f"{type(value).__name__} {value!r}"
    elif isinstance(value, tuple | frozenset):
        yield f"{type(value).__name__} {len(value)}"
        for element in value if isinstance(value, tuple) else sorted(value, key=repr):
            yield from _value(element, walk)
    elif isinstance(value, np.ndarray):
        walk.memoisable = False
        yield f"{value.dtype} {value.shape}"
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, type) and issubclass(value, tuple) and value is not tuple:
        yield f"{value.__module__} {value.__qualname__} {getattr(value, '_fields', ())}"
    elif is_versioned(value):
        yield f"{value.__module__} {getattr(value, '__qualname__', repr(value))}"
    elif isinstance(value, types.FunctionType):
        yield from _parts(value, {}, walk)
    else:
        yield from _numba(value, walk)


def _numba(value: Any, walk: _Walk) -> Iterator[str | bytes]:
    """Yield the parts of a function that the user compiled with `njit`."""
    numba = sys.modules.get("numba")
    if numba is None:
        raise _OpaqueError
    if isinstance(value, numba.core.registry.CPUDispatcher):
        walk.memoisable = False
        yield repr(sorted(value.targetoptions.items()))
        yield from _parts(value.py_func, {}, walk)
    else:
        raise _OpaqueError
