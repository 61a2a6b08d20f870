"""Block UCB for switching costs (Agrawal, Hegde, Teneketzis 1988).

R. Agrawal, M. V. Hegde and D. Teneketzis, "Asymptotically efficient adaptive allocation rules for
the multiarmed bandit problem with switching cost", IEEE Transactions on Automatic Control 33. With
the index of UCB1 in place of theirs.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats
from tombola.learners.bandit.counts import make_block_act
from tombola.learners.bandit.ucb2 import UCB2
from tombola.learners.base import Feedback, Learner
from tombola.learners.parameters import real


class _State(NamedTuple):
    scale: float  # factor of ln n in the radius
    blocks: Floats  # number of blocks of each frame
    # frame, blocks_left: current frame, and its blocks left.
    frame: Floats
    blocks_left: Floats
    # current, left: action of the block, and rounds left in it.
    current: Floats
    left: Floats
    answered: Floats  # all answers
    # chosen, seen, means: plays, answers and mean loss of each action.
    chosen: Floats
    seen: Floats
    means: Floats


def _blocks_per_frame(horizon: int) -> list[int]:
    """Return the number of blocks of frames 1, 2, .., up to the horizon.

    >>> _blocks_per_frame(1000)
    [1, 7, 166, 16256]
    """
    counts: list[int] = []
    rounds = 0
    while rounds < horizon:
        frame = len(counts) + 1
        counts.append(-(-(2 ** (frame * frame) - 2 ** ((frame - 1) * (frame - 1))) // frame))
        rounds += counts[-1] * frame
    return counts


def _most_promising(state: _State) -> int:
    """Return the action with the smallest lower confidence bound; all have answers."""
    best = 0
    least = math.inf
    depth = state.scale * math.log(state.answered[0])
    for action in range(state.seen.size):
        value = state.means[action] - math.sqrt(depth / state.seen[action])
        if value < least:
            best = action
            least = value
    return best


def _next_block(state: _State, action: int) -> float:
    """Count the next block and return its length; frame f has blocks of f rounds."""
    if state.blocks_left[0] == 0.0 and int(state.frame[0]) < state.blocks.size:
        state.blocks_left[0] = state.blocks[int(state.frame[0])]
        state.frame[0] += 1.0
    state.blocks_left[0] -= 1.0
    return state.frame[0]  # type: ignore[no-any-return]


@dataclass(frozen=True)
class BlockUCB(Learner):
    """Play the action with the smallest UCB1 index for a block of f rounds.

    Rounds are divided into frames f = 1, 2, ..; the index of action a is mean(a) - sqrt(scale ln n
    / n(a)).

    scale: factor of ln n in the index, 0 or more; a smaller one explores less.

    Frame f has ceil((2^(f^2) - 2^((f-1)^2)) / f) blocks, after a frame in which every action is
    tried once; by round t a block lasts about sqrt(log2 t) rounds. n(a) counts the losses seen of
    a, and n all of them. The analysis is for i.i.d. rows and depends on the gaps, so `bound` is
    None.

    >>> from tombola import Pool, play
    >>> play(BlockUCB(), Pool([[1.0, 0.0]] * 12), seed=0).actions.tolist()
    [0, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1]
    """

    scale: float = real(2.0, least=0)
    feedback: ClassVar[Feedback] = "bandit"

    def init(self, actions: int, horizon: int) -> _State:
        blocks = np.array(_blocks_per_frame(horizon), dtype=np.float64)
        return _State(self.scale, blocks, *(np.zeros(1) for _ in range(5)), *np.zeros((3, actions)))

    act = staticmethod(make_block_act(_most_promising, _next_block))
    observe = staticmethod(UCB2.observe)
