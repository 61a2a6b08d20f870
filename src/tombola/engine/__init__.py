"""Engine: loop, state, tickets and compiler. Only it imports Numba."""
