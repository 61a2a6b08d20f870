"""Readers: convert a table in any supported form to a pool.

Names are imported on first use, so that session files, which need only units, open quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tombola.tables.table import read_pool, read_table
    from tombola.tables.to_pool import Table

__all__ = ["Table", "read_pool", "read_table"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'tombola.tables' has no attribute {name!r}")
    return getattr(import_module("tombola.tables.table"), name)
