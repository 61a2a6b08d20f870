"""Claims of the paper: one file per statement, or per group that shares code.

L215 is line 215 of the LaTeX source of the paper; so are all such numbers in this folder.
"""
