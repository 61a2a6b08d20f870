"""Blocks: which of the blocks begun so far a round lies in; what the templates by blocks share."""

from tombola._types import Floats


def in_block(starts: Floats, lengths: Floats, block: int, played: float) -> bool:
    """Tell whether a round lies in this block."""
    return bool(block >= 0 and starts[block] <= played < starts[block] + lengths[block])


def belongs(starts: Floats, lengths: Floats, begun: int, played: float) -> bool:
    """Tell whether a round is round 1 or lies in one of the blocks begun so far; the latest are looked at first."""
    if played == 1.0:
        return True
    block = begun
    while block >= 0:
        if in_block(starts, lengths, block, played):
            return True
        block -= 1
    return False
