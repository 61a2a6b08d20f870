"""tombola: learn over a finite pool of rows drawn in random order.

What most people need is here; the rest is in rooms that read well: `tombola.full`, `tombola.bandit`,
`tombola.switching`, `tombola.budgets`, `tombola.labels`, `tombola.confidence`, `tombola.reductions`,
`tombola.instances`, `tombola.bounds`. Names are loaded when they are first used, so that `import tombola` costs next to
nothing; `__init__.pyi` lists them, each once.
"""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.2.0.dev0"

_ROOMS = ("full", "bandit", "switching", "budgets", "labels", "confidence", "reductions")
_MOVED_FUNCTIONS = (
    "attack",
    "attack_thresholds",
    "certify",
    "certify_trace",
    "examine",
    "littlestone_dimension",
    "vc_dimension",
)
_GONE = {
    "play_budget": "play(..., budget=...)",
    "play_labels": "play",
    "BudgetSession": "Session(..., budget=...)",
    "LabelSession": "Session",
    "BudgetTrace": "Trace",
    "LabelTrace": "Trace",
}


def _homes() -> dict[str, str]:
    """Return the module of every name at the top."""
    tree = ast.parse((Path(__file__).parent / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module != "typing"]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


_HOME = _homes()

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        return _moved(name)
    home = _HOME[name]
    value = import_module(f"tombola.{name}") if home == "tombola" else getattr(import_module(home), name)
    globals()[name] = value
    return value


def _moved(name: str) -> Any:
    """Return what was at the top in version 0.1, with a warning that says where it is now."""
    if name in _GONE:
        raise AttributeError(f"tombola.{name} is now tombola.{_GONE[name]}; write that instead.")
    if name[:1].isupper() or name in _MOVED_FUNCTIONS:
        for room in _ROOMS:
            module = import_module(f"tombola.{room}")
            if name in module.__all__:
                import warnings

                warnings.warn(
                    f"tombola.{name} is now tombola.{room}.{name}; the old name goes with version 0.3.",
                    DeprecationWarning,
                    stacklevel=3,
                )
                return getattr(module, name)
    raise AttributeError(f"module 'tombola' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
