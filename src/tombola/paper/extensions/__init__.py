"""Claims beyond the paper: our theorems and lower bounds, one file each or two that share their computations."""
