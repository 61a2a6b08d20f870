"""Learners, loaded on first use, so that one does not import the others.

Add a learner: its file in the folder of its feedback, and one import in `__init__.pyi`.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

# Names by module. The stub has them for type checkers already.
_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_MODULES = {name: module for module, name in re.findall(r"^from (\S+) import (\w+) as", _STUB, re.MULTILINE)}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'tombola.learners' has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
