"""Claims of the paper: one file per statement, or per group that shares code.

`paper/registry.py` lists the modules; `paper/contents.py` maps statements of the paper to claims.
"""
