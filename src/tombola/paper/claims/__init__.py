"""Claims of the paper: one file per statement, or per group that shares code."""
