"""Claims of the paper, one file each."""
