"""What every bound obeys: a regret is never above T, and with one action there is none."""


def capped(bound: float, horizon: float, actions: int) -> float:
    """Return the bound, but no more than T, and 0 for one action.

    >>> capped(250.0, 100, 2), capped(2.5, 100, 2), capped(2.5, 100, 1)
    (100.0, 2.5, 0.0)
    """
    return 0.0 if actions == 1 else min(float(horizon), bound)
