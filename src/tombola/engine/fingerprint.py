"""What a kernel's machine code depends on, as one hash.

The fingerprint of a function reaches everything its compiled code freezes: its own bytecode and constants, the
functions it calls (its own, and those of a module it names), global numbers and arrays, fields of named tuples,
closures, defaults. What it cannot see through makes it None: such a function is compiled, but never cached.

A walk is remembered with its witnesses, every name it looked up and every function it entered. While these are the same
objects the hash is the same, and to see that they are takes a tenth of the time.
"""

import dis
import hashlib
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from tombola.engine.intrinsics import NATIVE, NOT_INLINED

_TRUSTED = ("math", "cmath", "builtins", "numpy")


class _OpaqueError(Exception):
    """Something the fingerprint cannot see through."""


class _Trail:
    """What a walk saw: functions by number, and witnesses; not `lasting` if something on it can change in place."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self.functions: list[tuple[types.FunctionType, tuple[Any, ...], list[int]]] = []
        self.names: list[tuple[Mapping[str, Any], str, Any]] = []
        self.lasting = True
        self.digest: str | None = None

    def enter(self, function: types.FunctionType) -> None:
        """Remember what a function carries itself; the objects are kept, so that no other can take their identity."""
        carried = _carried(function)
        self.functions.append((function, carried, [*map(id, carried)]))

    def look_up(self, table: Mapping[str, Any], name: str) -> Any:
        """Return what a table has under a name, and remember it."""
        value = table.get(name, _ABSENT)
        self.names.append((table, name, value))
        return value

    def holds(self) -> bool:
        """Tell whether another walk would see the same."""
        return all([*map(id, _carried(function))] == identities for function, _, identities in self.functions) and all(
            table.get(name, _ABSENT) is value for table, name, value in self.names
        )


_ABSENT = object()
_trails: dict[Any, _Trail] = {}
_MOST = 1024  # trails that are remembered


def fingerprint(function: Callable[..., Any], bound: Mapping[str, Callable[..., Any]]) -> str | None:
    """Return the hash of all that `function` with the globals `bound` depends on, or None if that cannot be told."""
    key = (
        _identity(function),
        *((name, _identity(kernel)) for name, kernel in bound.items()),
        len(NOT_INLINED),
        len(NATIVE),
    )
    known = _trails.get(key)
    if known is not None and known.holds():
        return known.digest
    trail = _Trail()
    trail.digest = _digest(function, bound, trail)
    if trail.lasting and trail.digest is not None:
        if len(_trails) >= _MOST:
            _trails.clear()
        _trails[key] = trail
    return trail.digest


def _identity(value: Any, depth: int = 8) -> Any:
    """What makes a kernel the same as another; of a closure, which a setting makes anew for each play, what it holds.

    A closure may hold itself, so it is not followed for ever. The trail keeps alive what is told by its identity here.
    """
    if not isinstance(value, types.FunctionType) or value.__closure__ is None or depth == 0:
        return id(value)
    code, defaults, keywords, *cells = _carried(value)
    return (*map(id, (value.__globals__, code, defaults, keywords)), *(_identity(cell, depth - 1) for cell in cells))


def _carried(function: types.FunctionType) -> tuple[Any, ...]:
    cells = (cell.cell_contents for cell in function.__closure__ or ())
    return (function.__code__, function.__defaults__, function.__kwdefaults__, *cells)


def _digest(function: Callable[..., Any], bound: Mapping[str, Callable[..., Any]], trail: _Trail) -> str | None:
    sha = hashlib.sha256(repr(sys.version_info).encode())
    try:
        for part in _walk(function, bound, trail):
            sha.update(part.encode() if isinstance(part, str) else part)
            sha.update(b"\0")
    except _OpaqueError:
        return None
    return sha.hexdigest()[:24]


@lru_cache(maxsize=4096)
def globals_used(code: types.CodeType) -> tuple[tuple[str, str | None], ...]:
    """Return the global names that `code` loads, each with the attribute taken from it at once, if any."""
    instructions = [i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "EXTENDED_ARG")]
    used = set()
    for here, following in zip(instructions, [*instructions[1:], None], strict=True):
        if here.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            attribute = following is not None and following.opname in ("LOAD_ATTR", "LOAD_METHOD")
            used.add((here.argval, following.argval if following is not None and attribute else None))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            used.update(globals_used(constant))
    return tuple(sorted(used, key=str))


def trusted(value: Any) -> bool:
    """Tell whether `value` is a function of a library whose version the cache already depends on."""
    return str(getattr(value, "__module__", None) or "").split(".")[0] in _TRUSTED


def _walk(
    function: Callable[..., Any], bound: Mapping[str, Callable[..., Any]], trail: _Trail
) -> Iterator[str | bytes]:
    if id(function) in trail.numbers:
        yield f"seen {trail.numbers[id(function)]}"
        return
    trail.numbers[id(function)] = len(trail.numbers)
    if not isinstance(function, types.FunctionType):
        raise _OpaqueError
    trail.enter(function)
    trail.lasting = trail.lasting and function.__kwdefaults__ is None
    yield from _code(function.__code__)
    if function in NOT_INLINED:
        yield "apart"
    if function in NATIVE:
        yield from _code(NATIVE[function].__code__)
    for default in (function.__defaults__ or ()) + tuple((function.__kwdefaults__ or {}).items()):
        yield from _value(default, trail)
    for cell in function.__closure__ or ():
        yield from _value(cell.cell_contents, trail)
    for name, attribute in globals_used(function.__code__):
        yield f"global {name}.{attribute}"
        value = bound[name] if name in bound else _lookup(function, name, trail)
        if isinstance(value, types.ModuleType):
            yield from _member(value, attribute, trail)
        else:
            yield from _value(value, trail)


def _lookup(function: types.FunctionType, name: str, trail: _Trail) -> Any:
    value = trail.look_up(function.__globals__, name)
    if value is _ABSENT:
        builtins = function.__globals__.get("__builtins__", {})
        value = trail.look_up(builtins if isinstance(builtins, dict) else vars(builtins), name)
    if value is _ABSENT:
        raise _OpaqueError
    return value


def _member(module: types.ModuleType, attribute: str | None, trail: _Trail) -> Iterator[str | bytes]:
    if attribute is None:
        raise _OpaqueError
    if module.__name__.split(".")[0] in _TRUSTED:
        yield f"{module.__name__}.{attribute}"
        return
    value = trail.look_up(vars(module), attribute)
    if value is _ABSENT or isinstance(value, types.ModuleType):
        raise _OpaqueError
    yield from _value(value, trail)


@lru_cache(maxsize=4096)
def _code(code: types.CodeType) -> tuple[str | bytes, ...]:
    parts: list[str | bytes] = [
        code.co_code,
        repr((code.co_names, code.co_varnames, code.co_freevars, code.co_exceptiontable, code.co_flags)),
        repr((code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)),
    ]
    for constant in code.co_consts:
        parts += (
            _code(constant) if isinstance(constant, types.CodeType) else [f"{type(constant).__name__} {constant!r}"]
        )
    return tuple(parts)


def _value(value: Any, trail: _Trail) -> Iterator[str | bytes]:
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
        yield f"{type(value).__name__} {value!r}"
    elif isinstance(value, tuple | frozenset):
        yield f"{type(value).__name__} {len(value)}"
        for element in value if isinstance(value, tuple) else sorted(value, key=repr):
            yield from _value(element, trail)
    elif isinstance(value, np.ndarray):
        trail.lasting = False
        yield f"{value.dtype} {value.shape}"
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, type) and issubclass(value, tuple) and value is not tuple:
        yield f"{value.__module__} {value.__qualname__} {getattr(value, '_fields', ())}"
    elif trusted(value):
        yield f"{value.__module__} {getattr(value, '__qualname__', repr(value))}"
    elif isinstance(value, types.FunctionType):
        yield from _walk(value, {}, trail)
    else:
        yield from _numba(value, trail)


def _numba(value: Any, trail: _Trail) -> Iterator[str | bytes]:
    """Look into what the user compiled with `njit`."""
    numba = sys.modules.get("numba")
    if numba is None:
        raise _OpaqueError
    if isinstance(value, numba.core.registry.CPUDispatcher):
        trail.lasting = False
        yield repr(sorted(value.targetoptions.items()))
        yield from _walk(value.py_func, {}, trail)
    else:
        raise _OpaqueError
