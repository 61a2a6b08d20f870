"""The public surface: what is promised is there, documented, and refuses what it does not know."""

import importlib
import inspect
import re
import sys
import types
from typing import Any

import pytest

import tombola
from tombola import errors

PUBLIC = {name: getattr(tombola, name) for name in tombola.__all__}
CLASSES = {name: value for name, value in PUBLIC.items() if isinstance(value, type)}


ROOMED = {name for module in tombola._MODULES for name in getattr(getattr(tombola, module), "__all__", ())}


def members(kind: type) -> dict[str, Any]:
    """Return the public functions and properties that a class defines itself, but not its fields."""
    found, fields = {}, getattr(kind, "__dataclass_fields__", {})
    for name, value in vars(kind).items():
        function = getattr(value, "__func__", getattr(value, "fget", getattr(value, "func", value)))
        if not name.startswith("_") and inspect.isfunction(function) and name not in fields:
            found[name] = function
    return found


def test_everything_promised_is_there() -> None:
    assert len(tombola.__all__) == len(set(tombola.__all__))
    for name in tombola._MODULES:
        assert PUBLIC[name].__name__ == f"tombola.{name}"
    for name, home in tombola._HOME.items():
        value = PUBLIC[name]
        assert value is getattr(importlib.import_module(f"tombola.{home}"), name)
        assert value.__name__ == name


def test_dir_and_star_give_what_is_promised() -> None:
    assert set(dir(tombola)) == {*tombola.__all__, "__version__"}
    space: dict[str, Any] = {}
    exec("from tombola import *", space)
    assert set(space) - {"__builtins__"} == set(tombola.__all__)


def test_every_learner_and_error_of_ours_can_be_found() -> None:
    kinds = [value for value in vars(errors).values() if isinstance(value, type)]
    assert all(issubclass(kind, (tombola.TombolaError, errors.TombolaWarning)) for kind in kinds)
    assert all(kind.__name__ in str(errors.__doc__) for kind in kinds)


def test_what_is_not_promised_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Surprise'"):
        tombola.Surprise  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("name", PUBLIC)
def test_everything_public_says_what_it_is(name: str) -> None:
    value = PUBLIC[name]
    assert inspect.getdoc(value)
    inner = members(value) if isinstance(value, type) else {}
    if isinstance(value, types.ModuleType):
        inner = {n: v for n, v in vars(value).items() if inspect.isfunction(v) and not n.startswith("_")}
    for inner_name, function in inner.items():
        # An override without a docstring has the contract of its base.
        doc = inspect.getdoc(getattr(value, inner_name, function)) or inspect.getdoc(function)
        assert doc, f"{name}.{inner_name}"
        assert doc.split("\n\n")[0].rstrip().endswith((".", ":")), f"{name}.{inner_name}: {doc}"


@pytest.mark.parametrize("name", CLASSES)
def test_class_docstring_is_its_own(name: str) -> None:
    assert not str(CLASSES[name].__doc__).startswith(f"{name}(")


@pytest.mark.parametrize("name", PUBLIC)
def test_parameters_and_members_named_in_docstring_exist(name: str) -> None:
    """Words in `backquotes` are parameters, members, names of the same module, public names or Python."""
    value = PUBLIC[name]
    targets: list[tuple[str, Any]] = [(name, value)]
    if isinstance(value, type):
        targets += [(f"{name}.{inner}", function) for inner, function in members(value).items()]
    elif isinstance(value, types.ModuleType):
        # Not the functions that it imports from elsewhere.
        functions = {n: v for n, v in vars(value).items() if inspect.isfunction(v)}
        own = {n: v for n, v in functions.items() if v.__module__.startswith(value.__name__)}
        targets += [(n, v) for n, v in own.items() if not n.startswith("_")]
    python = {"None", "True", "False", "NaN"}
    for where, target in targets:
        known = {*tombola.__all__, *ROOMED, *python, *_parameters(target), *_parameters(value)}
        if isinstance(value, type):
            known |= {
                member for kind in value.__mro__ for member in (*vars(kind), *vars(kind).get("__annotations__", {}))
            }
            known |= {parameter for function in members(value).values() for parameter in _parameters(function)}
        known |= set(vars(value if isinstance(value, types.ModuleType) else sys.modules[value.__module__]))
        for word in re.findall(r"(?<!`)`([A-Za-z_]\w*)`", inspect.getdoc(target) or ""):
            assert word in known, f"{where} speaks of `{word}`"


def _parameters(value: Any) -> set[str]:
    return set(inspect.signature(value).parameters) if callable(value) and value is not tombola.TombolaError else set()


CALLABLE = [name for name, value in PUBLIC.items() if callable(value) and value is not tombola.TombolaError]
CALLED = [name for name in CALLABLE if not (name in CLASSES and issubclass(PUBLIC[name], tuple))]  # a record is read


@pytest.mark.parametrize("name", CALLABLE)
def test_nothing_public_swallows_unknown_keywords(name: str) -> None:
    kinds = [p.kind for p in inspect.signature(PUBLIC[name]).parameters.values()]
    assert inspect.Parameter.VAR_KEYWORD not in kinds


@pytest.mark.parametrize("name", CALLED)
def test_switches_are_never_positional(name: str) -> None:
    value = PUBLIC[name]
    result = name in CLASSES and issubclass(value, tuple)  # a named tuple is what comes out, not what is asked for
    targets = [*([] if result else [value]), *(members(value).values() if name in CLASSES else ())]
    for target in targets:
        for parameter in inspect.signature(target).parameters.values():
            if parameter.annotation in (bool, "bool"):
                assert parameter.kind is inspect.Parameter.KEYWORD_ONLY, f"{target}: {parameter}"


def test_seeds_are_required_in_experiments_and_drawn_live() -> None:
    """An experiment must be repeatable; a session draws a seed, stores it and prints it."""
    required = inspect.Parameter.empty
    defaults: dict[Any, Any] = {tombola.play: required, tombola.compare: required, tombola.Session: None}
    for function, default in defaults.items():
        seed = inspect.signature(function).parameters["seed"]
        assert seed.default is default
        assert seed.kind is inspect.Parameter.KEYWORD_ONLY
