"""Code: what the rows of a claim rest on, its own source and that of all it imports, as one hash.

A change elsewhere in the package leaves finished units finished; a change in what they ran has them run again.
"""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


@cache
def code_of(*modules: str) -> str:
    """Return a hash of the source of these modules and of everything of this package that they import.

    >>> code_of("tombola.pool") == code_of("tombola.pool", "tombola._types") != code_of("tombola.order")
    True
    """
    reached, ahead = set[Path](), [file for module in modules if (file := _file(module))]
    while ahead:
        file = ahead.pop()
        if file not in reached:
            reached.add(file)
            ahead += _imported(file)
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(reached))).hexdigest()


@cache
def _imported(file: Path) -> tuple[Path, ...]:
    """The files that a file imports, at its head or anywhere else in it."""
    names = _names(ast.parse(file.read_bytes()))
    return tuple(dict.fromkeys(found for name in names if (found := _file(name))))


def _names(tree: ast.Module) -> Iterator[str]:
    """The modules that a file imports; `from package import name` names a module of the package, or the package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if _file(name) else node.module for name in inner)


@cache
def _file(module: str) -> Path | None:
    """The source file of a module of this package; none for one of another."""
    first, *rest = module.split(".")
    place = PACKAGE.joinpath(*rest)
    found = (place.with_suffix(".py"), place / "__init__.py") if first == PACKAGE.name else ()
    return next((file for file in found if file.is_file()), None)
