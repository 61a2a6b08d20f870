"""Exact expected regret of a learner on small inputs, by walking the tree of all row sequences once.

Sequences share their beginnings: a node of the tree is a beginning, with the memory of the learner after it. What the
learner's own coins can do is weighed, not thrown: a mix is averaged over, and where only the loss of the played action
is seen, the tree branches over actions. It is the oracle for everything that is sampled elsewhere, and shows the
hierarchy i.i.d. <= random order <= adversarial (paper, appendix on the hierarchy) number by number.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from tombola import validate
from tombola.engine.coins import new_coins
from tombola.engine.memory import mix_of
from tombola.engine.player import Player
from tombola.errors import ParameterError
from tombola.learners.base import Learner
from tombola.pool import Pool
from tombola.settings import kind_of, setting_of
from tombola.types import Floats

LIMIT = 2_000_000

Path: TypeAlias = tuple[int, ...]
Row: TypeAlias = tuple[float, ...]


class Regrets(NamedTuple):
    """The worst expected regret in each input model, and an input that attains it."""

    iid: float
    random: float
    adversarial: float
    iid_input: dict[Row, float]
    random_input: Pool
    adversarial_input: Pool


def expected_loss(learner: Learner, rows: ArrayLike, *, limit: int = LIMIT) -> float:
    """Return the loss of the learner on these rows in this order, averaged exactly over its own coins.

    >>> from tombola.learners.full.follow_the_leader import FollowTheLeader
    >>> expected_loss(FollowTheLeader(), [[1, 0], [0, 1], [1, 0]])
    3.0
    """
    losses = _rows(rows)
    tree = _Tree("expected_loss", learner, losses, len(losses), limit)
    tree.afford(0.0)
    return math.fsum(loss for _, loss in tree.leaves(lambda path: [len(path)]))


def random_order(learner: Learner, pool: Pool, *, delay: int = 0, limit: int = LIMIT) -> float:
    """Return the expected regret of the learner on this pool in random order, exactly.

    Feedback is `delay` rounds late. Equal rows are told apart by nobody, so only distinct orders are walked.

    >>> from tombola.learners.full.follow_the_leader import FollowTheLeader
    >>> random_order(FollowTheLeader(), Pool([[1, 0], [0, 1]]))
    0.5
    """
    kinds, counts = np.unique(_rows(pool.losses), axis=0, return_counts=True)
    tree = _Tree("random_order", learner, kinds, pool.rows, limit, delay)
    tree.afford(math.lgamma(pool.rows + 1) - sum(math.lgamma(count + 1) for count in counts))
    losses = [loss for _, loss in tree.leaves(_left(counts.tolist()))]
    return math.fsum(losses) / len(losses) - float((counts @ kinds).min())


def worst_pool(
    learner: Learner, kinds_of_rows: ArrayLike, horizon: int, *, delay: int = 0, limit: int = LIMIT
) -> tuple[float, Pool]:
    """Return the largest expected regret in random order over all pools with rows of these kinds, and such a pool.

    >>> from tombola.learners.full.follow_the_leader import FollowTheLeader
    >>> regret, pool = worst_pool(FollowTheLeader(), [[0, 1], [1, 0]], horizon=3)
    >>> round(regret, 9), pool.losses.tolist()
    (1.333333333, [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    """
    kinds = np.unique(_rows(kinds_of_rows), axis=0)
    T = validate.whole("worst_pool", "horizon", horizon, least=1)
    tree = _Tree("worst_pool", learner, kinds, T, limit, delay)
    tree.afford(T * math.log(len(kinds)))
    losses: dict[Path, list[float]] = defaultdict(list)
    for leaf, loss in tree.leaves(_left([T] * len(kinds))):
        losses[tuple(leaf.count(kind) for kind in range(len(kinds)))].append(loss)
    regret, counts = max(
        (math.fsum(same) / len(same) - float((np.array(counts) @ kinds).min()), counts)
        for counts, same in losses.items()
    )
    return regret, Pool(np.repeat(kinds, counts, axis=0))


def worst_case(
    learner: Learner, kinds_of_rows: ArrayLike, horizon: int, *, grid: int = 12, limit: int = LIMIT
) -> Regrets:
    """Return the worst expected regrets over all inputs of this length whose rows are of the given kinds.

    Adversarial and random order are exact maxima. The i.i.d. maximum is over distributions on the kinds with chances
    that are multiples of 1/grid, so it is a lower bound on the maximum over all of them.

    >>> from tombola.learners.full.follow_the_leader import FollowTheLeader
    >>> regrets = worst_case(FollowTheLeader(), [[0, 1], [1, 0]], horizon=3)
    >>> round(regrets.random, 9), regrets.adversarial, regrets.adversarial_input.losses.tolist()
    (1.333333333, 2.0, [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    """
    kinds = np.unique(_rows(kinds_of_rows), axis=0)
    T = validate.whole("worst_case", "horizon", horizon, least=1)
    validate.whole("worst_case", "grid", grid, least=1)
    tree = _Tree("worst_case", learner, kinds, T, limit)
    tree.afford(T * math.log(len(kinds)))
    if math.comb(grid + len(kinds) - 1, grid) > limit:
        raise ParameterError(
            f"worst_case: expected at most limit={limit} distributions, got more for {len(kinds)} kinds of rows and "
            f"grid={grid}; write a smaller grid, or a larger limit."
        )

    losses: dict[Path, list[float]] = defaultdict(list)
    adversarial = -math.inf
    path: Path = ()
    for leaf, loss in tree.leaves(_left([T] * len(kinds))):
        counts = tuple(leaf.count(kind) for kind in range(len(kinds)))
        losses[counts].append(loss)
        regret = loss - float((np.array(counts) @ kinds).min())
        if regret > adversarial:
            adversarial, path = regret, leaf

    means = {counts: math.fsum(same) / len(same) for counts, same in losses.items()}
    random, counts = max((mean - float((np.array(counts) @ kinds).min()), counts) for counts, mean in means.items())
    iid, chances = _worst_iid(means, kinds, T, grid)
    return Regrets(
        iid=iid,
        random=random,
        adversarial=adversarial,
        iid_input={tuple(row): chance for row, chance in zip(kinds.tolist(), chances, strict=True) if chance > 0},
        random_input=Pool(np.repeat(kinds, counts, axis=0)),
        adversarial_input=Pool(kinds[list(path)]),
    )


def _worst_iid(means: dict[Path, float], kinds: Floats, T: int, grid: int) -> tuple[float, list[float]]:
    """Return the largest i.i.d. regret on the grid: expected losses of pools, mixed by the multinomial law."""
    counts = np.array(list(means))
    losses = np.array(list(means.values()))
    ways = np.array([_orders(pool) for pool in means], dtype=np.float64)
    worst, at = -math.inf, [0.0]
    for parts in _parts(grid, len(kinds)):
        chances = np.array(parts) / grid
        loss = float(np.sum(ways * np.prod(chances**counts, axis=1) * losses))
        regret = loss - T * float((chances @ kinds).min())
        if regret > worst:
            worst, at = regret, chances.tolist()
    return worst, at


def _parts(total: int, parts: int) -> Iterator[Path]:
    """Yield every way to write `total` as an ordered sum of whole numbers, zeros included (stars and bars)."""
    for bars in itertools.combinations(range(total + parts - 1), parts - 1):
        edges = (-1, *bars, total + parts - 1)
        yield tuple(right - left - 1 for left, right in itertools.pairwise(edges))


def _orders(counts: Path) -> int:
    """Return the number of distinct orders of a pool with these counts."""
    return math.factorial(sum(counts)) // math.prod(math.factorial(count) for count in counts)


def _left(counts: list[int]) -> Callable[[Path], list[int]]:
    """Return what can follow a beginning: the kinds of rows that are not used up."""
    return lambda path: [kind for kind, count in enumerate(counts) if path.count(kind) < count]


def _rows(rows: ArrayLike) -> Floats:
    """Return the rows as a matrix of our own, checked as a pool is checked."""
    return np.array(Pool(rows).losses, dtype=np.float64, order="C")


class _Branch(NamedTuple):
    """One thing the learner's coins can have done: its weight, the memory it led to, and what it played unanswered."""

    weight: float
    memory: Floats
    waiting: tuple[tuple[int, float], ...] = ()


class _Node(NamedTuple):
    """A beginning, the expected loss on it, and all the learner can know after it."""

    path: Path
    loss: float
    branches: list[_Branch]


class _Tree:
    """All sequences of rows of some kinds, walked depth first with one learner."""

    def __init__(self, owner: str, learner: Learner, kinds: Floats, horizon: int, limit: int, delay: int = 0) -> None:
        self._owner, self._name = owner, type(learner).__name__
        kind_of(learner)
        if not isinstance(learner, Learner):
            raise ParameterError(
                f"{owner}: expected a learner of losses, full or bandit, got {self._name}; write compare(...) to "
                "estimate its regret from many orders."
            )
        if learner.due is not Learner.due:
            raise ParameterError(
                f"{owner}: expected a learner whose coins can be averaged over, got {self._name}, which plans; "
                f"write compare(...) to estimate its regret from many orders."
            )
        self._kinds, self._horizon, self._nodes = kinds, horizon, 0
        self._limit = validate.whole(owner, "limit", limit, least=1)
        self._setting = setting_of(learner, horizon, actions=kinds.shape[1])
        self._live = self._setting.live(learner, new_coins(np.random.SeedSequence(0)))
        self._player: Player = self._live.player
        self._mixes, self._forks = learner.mixes, not self._setting.whole_rows
        self._delay = validate.whole(owner, "delay", delay, least=0)

    def afford(self, log_sequences: float) -> None:
        """Refuse at once a tree with so many sequences that it cannot be walked."""
        forks = self._kinds.shape[1] if self._mixes and self._forks else 1
        if log_sequences + (self._horizon - 1) * math.log(forks) > math.log(self._limit) + 1e-9:
            self._refuse()

    def leaves(self, follow: Callable[[Path], list[int]]) -> Iterator[tuple[Path, float]]:
        """Yield every sequence, as indices of kinds, with the expected loss of the learner on it."""
        stack = [_Node((), 0.0, [_Branch(1.0, self._player.memory.copy())])]
        while stack:
            node = stack.pop()
            if len(node.path) == self._horizon:
                yield node.path, node.loss
                continue
            plays = [self._play(branch.memory) for branch in node.branches]
            stack.extend(self._child(node, plays, kind) for kind in reversed(follow(node.path)))

    def _child(self, node: _Node, plays: list[dict[int, float]], kind: int) -> _Node:
        """Return the node after one more row."""
        row = self._kinds[kind]
        loss, branches = node.loss, []
        last = len(node.path) + 1 == self._horizon
        for branch, chances in zip(node.branches, plays, strict=True):
            self._nodes += len(chances) if self._forks else 1
            if self._nodes > self._limit:
                self._refuse()
            loss += branch.weight * sum(chance * float(row[action]) for action, chance in chances.items())
            if not last:
                branches += self._learn(branch, chances, (*node.path, kind))
        return _Node((*node.path, kind), loss, branches)

    def _learn(self, branch: _Branch, chances: dict[int, float], path: Path) -> list[_Branch]:
        """Return what the learner can have become after the feedback that is due: on the row played `delay` ago."""
        played = len(path) - self._delay
        branches = []
        for ticket in chances.items() if self._forks else [(0, 1.0)]:
            memory, waiting = branch.memory.copy(), (*branch.waiting, ticket)
            if played > 0:
                (action, chance), *late = waiting
                memory, waiting = self._told(memory, played, action, chance, self._kinds[path[played - 1]]), tuple(late)
            branches.append(_Branch(branch.weight * ticket[1], memory, waiting))
        return branches

    def _told(self, memory: Floats, played: int, action: int, chance: float, row: Floats) -> Floats:
        """Return the memory of a learner that was told of an action and its row."""
        self._player.memory[:] = memory
        outcome = self._setting.parse(played, action, self._setting.answer(row, action))
        self._live.learn(played, action, chance, outcome, ())
        return self._player.memory.copy()

    def _play(self, memory: Floats) -> dict[int, float]:
        """Let the learner choose, and return the chance of every action it could have chosen."""
        coins = self._player.coins
        before = coins.tobytes()
        self._player.memory[:] = memory
        action, chance = self._live.act()
        memory[:] = self._player.memory
        if self._mixes:
            return {other: chance for other, chance in enumerate(mix_of(memory).tolist()) if chance > 0.0}
        if chance != 1.0 or coins.tobytes() != before:
            raise ParameterError(
                f"{self._owner}: expected a learner that gives its mix or throws no coin, got {self._name}, which does "
                f"neither (chance {chance:g}); write compare(...) to estimate its regret from many orders."
            )
        return {int(action): 1.0}

    def _refuse(self) -> NoReturn:
        raise ParameterError(
            f"{self._owner}: expected a tree of at most limit={self._limit} nodes, got more for {self._name}, horizon "
            f"{self._horizon} and {len(self._kinds)} kinds of rows; write a smaller horizon, or a larger limit."
        )
