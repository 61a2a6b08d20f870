"""Readers: a table, in whatever form it is, to a pool; one file per kind of input."""

from tombola.readers.table import read_pool, read_table
from tombola.readers.to_pool import Table

__all__ = ["Table", "read_pool", "read_table"]
