"""Readers: a table, in whatever form it is, to a pool; one file per kind of input."""

from tombola.readers.pooling import Table
from tombola.readers.table import read_pool, read_table

__all__ = ["Table", "read_pool", "read_table"]
