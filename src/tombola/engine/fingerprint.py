"""What a kernel's machine code depends on, as one hash.

The fingerprint of a function reaches everything its compiled code freezes: its own bytecode and constants, the
functions it calls (its own, and those of a module it names), global numbers and arrays, fields of named tuples,
closures, defaults. What it cannot see through makes it None: such a function is compiled, but never cached.
"""

import dis
import hashlib
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from tombola.engine.native import APART, NATIVE

_TRUSTED = ("math", "cmath", "builtins", "numpy")


class _OpaqueError(Exception):
    """Something the fingerprint cannot see through."""


def fingerprint(function: Callable[..., Any], bound: Mapping[str, Callable[..., Any]]) -> str | None:
    """Return the hash of all that `function` with the globals `bound` depends on, or None if that cannot be told."""
    sha = hashlib.sha256(repr(sys.version_info).encode())
    try:
        for part in _walk(function, bound, seen={}):
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
    function: Callable[..., Any], bound: Mapping[str, Callable[..., Any]], seen: dict[int, int]
) -> Iterator[str | bytes]:
    if id(function) in seen:
        yield f"seen {seen[id(function)]}"
        return
    seen[id(function)] = len(seen)
    if not isinstance(function, types.FunctionType):
        raise _OpaqueError
    yield from _code(function.__code__)
    if function in APART:
        yield "apart"
    if function in NATIVE:
        yield from _code(NATIVE[function].__code__)
    for default in (function.__defaults__ or ()) + tuple((function.__kwdefaults__ or {}).items()):
        yield from _value(default, seen)
    for cell in function.__closure__ or ():
        yield from _value(cell.cell_contents, seen)
    for name, attribute in globals_used(function.__code__):
        yield f"global {name}.{attribute}"
        value = bound[name] if name in bound else _lookup(function, name)
        if isinstance(value, types.ModuleType):
            yield from _member(value, attribute, seen)
        else:
            yield from _value(value, seen)


def _lookup(function: types.FunctionType, name: str) -> Any:
    if name in function.__globals__:
        return function.__globals__[name]
    builtins = function.__globals__.get("__builtins__", {})
    table = builtins if isinstance(builtins, dict) else vars(builtins)
    if name not in table:
        raise _OpaqueError
    return table[name]


def _member(module: types.ModuleType, attribute: str | None, seen: dict[int, int]) -> Iterator[str | bytes]:
    if attribute is None:
        raise _OpaqueError
    if module.__name__.split(".")[0] in _TRUSTED:
        yield f"{module.__name__}.{attribute}"
        return
    value = getattr(module, attribute, None)
    if isinstance(value, types.ModuleType):
        raise _OpaqueError
    yield from _value(value, seen)


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


def _value(value: Any, seen: dict[int, int]) -> Iterator[str | bytes]:
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
        yield f"{type(value).__name__} {value!r}"
    elif isinstance(value, tuple | frozenset):
        yield f"{type(value).__name__} {len(value)}"
        for element in value if isinstance(value, tuple) else sorted(value, key=repr):
            yield from _value(element, seen)
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape}"
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, type) and issubclass(value, tuple) and value is not tuple:
        yield f"{value.__module__} {value.__qualname__} {getattr(value, '_fields', ())}"
    elif trusted(value):
        yield f"{value.__module__} {getattr(value, '__qualname__', repr(value))}"
    elif isinstance(value, types.FunctionType):
        yield from _walk(value, {}, seen)
    else:
        yield from _numba(value, seen)


def _numba(value: Any, seen: dict[int, int]) -> Iterator[str | bytes]:
    """Look into what the user compiled with `njit`."""
    numba = sys.modules.get("numba")
    if numba is None:
        raise _OpaqueError
    if isinstance(value, numba.core.registry.CPUDispatcher):
        yield repr(sorted(value.targetoptions.items()))
        yield from _walk(value.py_func, {}, seen)
    else:
        raise _OpaqueError
