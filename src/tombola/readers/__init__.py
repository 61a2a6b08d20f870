"""Readers: convert a table in any supported form to a pool."""

from tombola.readers.table import read_pool, read_table
from tombola.readers.to_pool import Table

__all__ = ["Table", "read_pool", "read_table"]
