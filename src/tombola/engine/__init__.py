"""Engine: loops, coins and the compiler; the only place that knows Numba."""
