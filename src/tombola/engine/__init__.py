"""Engine: the loop, its state and tickets, and the compiler; the only package that imports Numba."""
