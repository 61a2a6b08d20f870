"""Exact regrets: sums over all sequences of rows, each with the expected loss of the learner on it.

Sequences share their beginnings: a node of the tree is a beginning, with the moments that the learner can be in after
it. What the learner's own rng can do is weighed, not thrown: a mix is averaged over, and where it matters later what
was played, because only that is seen, or paid, the tree branches over actions.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from tombola import _validate
from tombola.budget.budget import Budget, Stop
from tombola.errors import ParameterError
from tombola.exact.distinct_rows import DistinctRows, Input, Row, kinds_of
from tombola.exact.enumerable_learner import Choice, Snapshot, actor_of

LIMIT = 2_000_000

Path: TypeAlias = tuple[int, ...]


class _How(NamedTuple):
    """How feedback comes, what may be spent, and how large a tree may be."""

    delay: int
    budget: Budget | None
    stop: Stop
    limit: int


class Regrets(NamedTuple):
    """The worst expected regret in each input model, and an input that attains it."""

    iid: float
    random: float
    adversarial: float
    iid_input: dict[Row, float]
    random_input: Any
    adversarial_input: Any


def expected_loss(
    learner: Any,
    rows: Input,
    *,
    delay: int = 0,
    budget: Budget | None = None,
    stop: Stop = "fits",
    limit: int = LIMIT,
) -> float:
    """Return the loss of the learner on these rows in this order, averaged exactly over its own rng.

    >>> from tombola.learners.full_information.follow_the_leader import FollowTheLeader
    >>> expected_loss(FollowTheLeader(), [[1, 0], [0, 1], [1, 0]])
    3.0
    """
    kinds = kinds_of("expected_loss", learner, rows, budget)
    places = kinds.places.tolist()
    tree = _Tree("expected_loss", learner, kinds, len(places), _How(delay, budget, stop, limit))
    tree.afford(0.0)
    return math.fsum(loss for _, loss in tree.leaves(lambda path: [places[len(path)]]))


def random_order(
    learner: Any,
    pool: Input,
    *,
    delay: int = 0,
    budget: Budget | None = None,
    stop: Stop = "fits",
    limit: int = LIMIT,
) -> float:
    """Return the expected regret of the learner on this pool in random order, exactly.

    Feedback is `delay` rounds late. Equal rows are told apart by nobody, so only distinct orders are walked. Within a
    `budget` an action is drawn in every round, and the comparator is the best fixed mix; on a labelled pool it is the
    best hypothesis.

    >>> from tombola import Pool
    >>> from tombola.learners.full_information.follow_the_leader import FollowTheLeader
    >>> random_order(FollowTheLeader(), Pool([[1, 0], [0, 1]]))
    0.5

    >>> from tombola.classification import ERM, LabelledPool, Thresholds
    >>> random_order(ERM(Thresholds()), LabelledPool([1, 2, 3], [0, 0, 1]))
    1.1666666666666667
    """
    kinds = kinds_of("random_order", learner, pool, budget)
    counts = kinds.counts.tolist()
    tree = _Tree("random_order", learner, kinds, sum(counts), _How(delay, budget, stop, limit))
    tree.afford(math.lgamma(sum(counts) + 1) - sum(math.lgamma(count + 1) for count in counts))
    losses = [loss for _, loss in tree.leaves(_left(counts))]
    return math.fsum(losses) / len(losses) - kinds.best(counts, sum(counts))


def worst_pool(
    learner: Any,
    kinds_of_rows: Input,
    horizon: int,
    *,
    delay: int = 0,
    budget: Budget | None = None,
    stop: Stop = "fits",
    limit: int = LIMIT,
) -> tuple[float, Any]:
    """Return the largest expected regret in random order over all pools with rows of these kinds, and such a pool.

    >>> from tombola.learners.full_information.follow_the_leader import FollowTheLeader
    >>> regret, pool = worst_pool(FollowTheLeader(), [[0, 1], [1, 0]], horizon=3)
    >>> round(regret, 9), pool.losses.tolist()
    (1.333333333, [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    """
    kinds = kinds_of("worst_pool", learner, kinds_of_rows, budget)
    regret, counts = _walk("worst_pool", learner, kinds, horizon, _How(delay, budget, stop, limit)).worst_pool()
    return regret, kinds.pool(_rows(counts))


def worst_case(
    learner: Any,
    kinds_of_rows: Input,
    horizon: int,
    *,
    grid: int = 12,
    delay: int = 0,
    budget: Budget | None = None,
    stop: Stop = "fits",
    limit: int = LIMIT,
) -> Regrets:
    """Return the worst expected regrets over all inputs of this length whose rows are of the given kinds.

    Adversarial and random order are exact maxima. The i.i.d. maximum is over distributions on the kinds with probabilities
    that are multiples of 1/grid, so it is a lower bound on the maximum over all of them.

    >>> from tombola.learners.full_information.follow_the_leader import FollowTheLeader
    >>> regrets = worst_case(FollowTheLeader(), [[0, 1], [1, 0]], horizon=3)
    >>> round(regrets.random, 9), regrets.adversarial, regrets.adversarial_input.losses.tolist()
    (1.333333333, 2.0, [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    """
    _validate.integer("worst_case", "grid", grid, least=1)
    kinds = kinds_of("worst_case", learner, kinds_of_rows, budget)
    if math.comb(grid + len(kinds) - 1, grid) > limit:
        raise ParameterError(
            f"worst_case: expected at most limit={limit} distributions, got more for {len(kinds)} kinds of rows and "
            f"grid={grid}; write a smaller grid, or a larger limit."
        )
    walked = _walk("worst_case", learner, kinds, horizon, _How(delay, budget, stop, limit))
    random, counts = walked.worst_pool()
    iid, probabilities = walked.worst_iid(grid)
    return Regrets(
        iid=iid,
        random=random,
        adversarial=walked.adversarial,
        iid_input={
            tuple(row): probability
            for row, probability in zip(kinds.names.tolist(), probabilities, strict=True)
            if probability > 0
        },
        random_input=kinds.pool(_rows(counts)),
        adversarial_input=kinds.pool(walked.path),
    )


class _Walked(NamedTuple):
    """All sequences of some kinds of rows: the mean loss for each multiset of rows, and the worst sequence."""

    kinds: DistinctRows
    horizon: int
    means: dict[Path, float]
    adversarial: float
    path: Path

    def worst_pool(self) -> tuple[float, Path]:
        """Return the largest regret in random order, and how often the rows of each kind come there."""
        return max((mean - self.kinds.best(counts, self.horizon), counts) for counts, mean in self.means.items())

    def worst_iid(self, grid: int) -> tuple[float, list[float]]:
        """Return the largest i.i.d. regret on the grid: expected losses of pools, mixed by the multinomial law."""
        counts, losses = np.array(list(self.means)), np.array(list(self.means.values()))
        ways = np.array([_orders(pool) for pool in self.means], dtype=np.float64)
        worst, at = -math.inf, [0.0]
        for parts in _parts(grid, len(self.kinds)):
            probabilities = np.array(parts) / grid
            loss = float(np.sum(ways * np.prod(probabilities**counts, axis=1) * losses))
            regret = loss - self.kinds.best(parts, self.horizon)
            if regret > worst:
                worst, at = regret, probabilities.tolist()
        return worst, at


def _walk(owner: str, learner: Any, kinds: DistinctRows, horizon: int, how: _How) -> _Walked:
    """Walk all sequences of so many rows of these kinds."""
    T = _validate.integer(owner, "horizon", horizon, least=1)
    tree = _Tree(owner, learner, kinds, T, how)
    tree.afford(T * math.log(len(kinds)))
    losses: dict[Path, list[float]] = defaultdict(list)
    best: dict[Path, float] = {}
    adversarial = -math.inf
    path: Path = ()
    for leaf, loss in tree.leaves(_left([T] * len(kinds))):
        counts = tuple(leaf.count(kind) for kind in range(len(kinds)))
        losses[counts].append(loss)
        if counts not in best:
            best[counts] = kinds.best(counts, T)
        if loss - best[counts] > adversarial:
            adversarial, path = loss - best[counts], leaf
    means = {counts: math.fsum(same) / len(same) for counts, same in losses.items()}
    return _Walked(kinds, T, means, adversarial, path)


def _rows(counts: Path) -> list[int]:
    """Return so many rows of each kind, one kind after the other."""
    return [kind for kind, count in enumerate(counts) for _ in range(count)]


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


class _Branch(NamedTuple):
    """One thing the learner's rng can have done: its weight, the moment it led to, and what was played unanswered."""

    weight: float
    moment: Snapshot
    waiting: tuple[tuple[int, float], ...] = ()


class _Node(NamedTuple):
    """A beginning, the expected loss on it, and all the learner can know after it."""

    path: Path
    loss: float
    branches: list[_Branch]


class _Tree:
    """All sequences of rows of some kinds, walked depth first with one learner."""

    def __init__(self, owner: str, learner: Any, kinds: DistinctRows, horizon: int, how: _How) -> None:
        self._owner, self._name = owner, type(learner).__name__
        self._limit = _validate.integer(owner, "limit", how.limit, least=1)
        self._delay = _validate.integer(owner, "delay", how.delay, least=0)
        self._kinds, self._horizon, self._nodes = len(kinds), horizon, 0
        self._actor = actor_of(owner, learner, kinds, horizon, how.budget, how.stop)

    def afford(self, log_sequences: float) -> None:
        """Refuse at once a tree with so many sequences that it cannot be walked."""
        if log_sequences + (self._horizon - 1) * math.log(self._actor.fan) > math.log(self._limit) + 1e-9:
            self._refuse()

    def leaves(self, follow: Callable[[Path], list[int]]) -> Iterator[tuple[Path, float]]:
        """Yield every sequence, as indices of kinds, with the expected loss of the learner on it."""
        stack = [_Node((), 0.0, [_Branch(1.0, self._actor.start())])]
        while stack:
            node = stack.pop()
            if len(node.path) == self._horizon:
                yield node.path, node.loss
                continue
            kinds = list(reversed(follow(node.path)))
            looks = kinds if self._actor.looks else kinds[:1]
            seen = {kind: [self._actor.choices(branch.moment, kind) for branch in node.branches] for kind in looks}
            stack.extend(self._child(node, seen.get(kind, seen[looks[0]]), kind) for kind in kinds)

    def _child(self, node: _Node, choices: list[list[Choice]], kind: int) -> _Node:
        """Return the node after one more row."""
        loss, branches, path = node.loss, [], (*node.path, kind)
        last = len(path) == self._horizon
        for branch, forks in zip(node.branches, choices, strict=True):
            self._nodes += len(forks) if self._actor.forks else 1
            if self._nodes > self._limit:
                self._refuse()
            loss += branch.weight * sum(fork.probability * self._actor.loss(fork.action, kind) for fork in forks)
            if not last:
                branches += self._learn(branch, forks, path)
        return _Node(path, loss, branches)

    def _learn(self, branch: _Branch, forks: list[Choice], path: Path) -> list[_Branch]:
        """Return what the learner can have become after the feedback that is due: on the row played `delay` ago."""
        played = len(path) - self._delay
        branches = []
        for fork in forks if self._actor.forks else [Choice(0, 1.0, forks[0].after)]:
            moment, waiting = fork.after, (*branch.waiting, (fork.action, fork.probability))
            if played > 0:
                (action, probability), *late = waiting
                moment = self._actor.told(moment, played, action, probability, path[played - 1])
                waiting = tuple(late)
            branches.append(_Branch(branch.weight * fork.probability, moment, waiting))
        return branches

    def _refuse(self) -> NoReturn:
        raise ParameterError(
            f"{self._owner}: expected a tree of at most limit={self._limit} nodes, got more for {self._name}, horizon "
            f"{self._horizon} and {self._kinds} kinds of rows; write a smaller horizon, or a larger limit."
        )
