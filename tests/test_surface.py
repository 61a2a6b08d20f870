"""The public surface: what is promised is there, documented, and refuses what it does not know."""

import importlib
import inspect
import re
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest

import tombola
from tombola import errors

PUBLIC = {name: getattr(tombola, name) for name in tombola.__all__}
ROOMED = {
    name for module in tombola._MODULES for name in getattr(getattr(tombola, module), "__all__", ())
}


def members(value: Any) -> dict[str, Any]:
    """Return the public functions and properties that a class (without its fields) or a module defines itself."""
    found, fields = {}, getattr(value, "__dataclass_fields__", {})
    for name, member in vars(value).items() if isinstance(value, type | types.ModuleType) else ():
        function = getattr(
            member, "__func__", getattr(member, "fget", getattr(member, "func", member))
        )
        own = isinstance(value, type) or str(getattr(function, "__module__", "")).startswith(
            value.__name__
        )
        if not name.startswith("_") and inspect.isfunction(function) and name not in fields and own:
            found[name] = function
    return found


def parameters(value: Any) -> dict[str, inspect.Parameter]:
    return (
        dict(inspect.signature(value).parameters)
        if callable(value) and value is not tombola.TombolaError
        else {}
    )


def test_everything_promised_is_there_and_nothing_else() -> None:
    assert len(tombola.__all__) == len(set(tombola.__all__))
    assert set(dir(tombola)) == {*tombola.__all__, "__version__"}
    space: dict[str, Any] = {}
    exec("from tombola import *", space)
    assert set(space) - {"__builtins__"} == set(tombola.__all__)
    for name in tombola._MODULES:
        assert PUBLIC[name].__name__ == f"tombola.{name}"
    for name, home in tombola._HOME.items():
        assert PUBLIC[name] is getattr(importlib.import_module(f"tombola.{home}"), name)
        assert PUBLIC[name].__name__ == name
    assert {"paper", "policies"} <= set(tombola._MODULES), "README names them"
    with pytest.raises(AttributeError, match="no attribute 'Surprise'"):
        tombola.Surprise  # type: ignore[attr-defined]  # noqa: B018


def test_every_error_is_documented() -> None:
    kinds = [value for value in vars(errors).values() if isinstance(value, type)]
    assert all(issubclass(kind, (tombola.TombolaError, errors.TombolaWarning)) for kind in kinds)
    assert all(kind.__name__ in str(errors.__doc__) for kind in kinds)


@pytest.mark.parametrize("name", PUBLIC)
def test_docstrings_are_sentences_about_names_that_exist(name: str) -> None:
    """Words in `backquotes` are parameters, members, names of the same module, public names or Python."""
    value = PUBLIC[name]
    assert not str(value.__doc__).startswith(f"{name}("), "a docstring of its own"
    for where, target, doc in docstrings(name):
        assert doc, where
        assert doc.split("\n\n")[0].rstrip().endswith((".", ":")), f"{where}: {doc}"
        known = {
            *tombola.__all__,
            *ROOMED,
            "None",
            "True",
            "False",
            "NaN",
            *parameters(target),
            *parameters(value),
        }
        for kind in value.__mro__ if isinstance(value, type) else ():
            known |= {*vars(kind), *vars(kind).get("__annotations__", {})}
        known |= {
            parameter for function in members(value).values() for parameter in parameters(function)
        }
        known |= set(
            vars(value if isinstance(value, types.ModuleType) else sys.modules[value.__module__])
        )
        for word in re.findall(r"(?<!`)`([A-Za-z_]\w*)`", doc):
            assert word in known, f"{where} speaks of `{word}`"


def docstrings(name: str) -> Iterator[tuple[str, Any, str]]:
    value = PUBLIC[name]
    yield name, value, inspect.getdoc(value) or ""
    for inner, function in members(value).items():
        # An override without a docstring has the contract of its base.
        doc = inspect.getdoc(getattr(value, inner, function)) or inspect.getdoc(function)
        yield f"{name}.{inner}", function, doc or ""


@pytest.mark.parametrize("name", [name for name, value in PUBLIC.items() if callable(value)])
def test_no_unknown_keywords_and_no_positional_switches(name: str) -> None:
    value = PUBLIC[name]
    assert inspect.Parameter.VAR_KEYWORD not in [one.kind for one in parameters(value).values()]
    # A named tuple is what comes out, not what is asked for.
    record = isinstance(value, type) and issubclass(value, tuple)
    for target in () if record else (value, *members(value).values()):
        for parameter in parameters(target).values():
            if parameter.annotation in (bool, "bool"):
                assert parameter.kind is inspect.Parameter.KEYWORD_ONLY, f"{target}: {parameter}"


def test_seeds_are_required_in_experiments_and_drawn_live() -> None:
    """An experiment must be repeatable; a session draws a seed, stores it and prints it."""
    required = inspect.Parameter.empty
    defaults: dict[Any, Any] = {
        tombola.play: required,
        tombola.compare: required,
        tombola.Session: None,
    }
    for function, default in defaults.items():
        seed = inspect.signature(function).parameters["seed"]
        assert seed.default is default
        assert seed.kind is inspect.Parameter.KEYWORD_ONLY
