"""Claims beyond the paper: our theorems and lower bounds."""
