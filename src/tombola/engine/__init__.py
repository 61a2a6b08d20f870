"""Engine: loops, rng and the compiler; the only place that knows Numba."""
