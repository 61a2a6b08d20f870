"""Source: what the numbers of this package depend on, as a name: its own code, and the packages that compute."""

import hashlib
import platform
from functools import cache
from pathlib import Path


@cache
def package_hash() -> str:
    """Return a hash of all source files of the package: numbers of other code are not ours."""
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


@cache
def environment() -> dict[str, str]:
    """Return what computes here: two places with the same environment give the same numbers.

    >>> list(environment())
    ['tombola', 'python', 'numpy', 'numba', 'scipy', 'processor']
    """
    import numba
    import numpy as np
    import scipy

    return {
        "tombola": package_hash()[:12],
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "scipy": scipy.__version__,
        "processor": platform.machine(),
    }
