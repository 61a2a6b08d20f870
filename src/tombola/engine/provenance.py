"""Provenance of results: hashes of code, and versions of packages."""

import hashlib
import platform
import sys
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path


@cache
def package_hash() -> str:
    """Return the SHA-256 hash of all source files of this package, in hex."""
    sources = sorted(Path(__file__).parents[1].rglob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


def source_hash(value: object) -> str:
    """Return the SHA-256 hash, in hex, of the file that defines a value's class.

    "" for built-in classes, which have no file.

    >>> source_hash(1), len(source_hash(Path()))
    ('', 64)
    """
    path = getattr(sys.modules[type(value).__module__], "__file__", None)
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path else ""


@cache
def has_numba() -> bool:
    """Return whether Numba is installed; it is not imported."""
    try:
        return find_spec("numba") is not None
    except ModuleNotFoundError:
        return False


@cache
def environment() -> dict[str, str]:
    """Return the versions that determine results to the bit, by component.

    >>> list(environment())
    ['tombola', 'python', 'numpy', 'numba', 'scipy', 'processor']
    """
    import numpy as np
    import scipy

    return {
        "tombola": package_hash()[:12],
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": version("numba") if has_numba() else "none",
        "scipy": scipy.__version__,
        "processor": platform.machine(),
    }
