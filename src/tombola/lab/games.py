"""Minimax regret in random order by linear program: the best learner and the hardest pools.

In random order the past of a learner is exchangeable. So a learner may be assumed to depend on
counts only: how often each row of losses was seen (full information), or how often each action
showed loss 0 and loss 1 (bandit feedback). Its expected regret on a pool is then linear in

    x(state, action)    probability of the action in the state (full information),
    x(state, action)    probability, over the learner's own draws, of all ways to the state that
                        then play the action (bandit feedback; the order of draws cancels),

and the minimax regret is the value of a linear program with one inequality per pool. Its dual
weights are the hardest mixture of pools. Renaming the actions maps pools to pools, so the program
has one variable for each orbit of (state, action), and one inequality for each orbit of pools.

Losses 0 and 1 are enough: a learner that rounds every loss in [0, 1] at random to 0 or 1, with the
loss as the probability of 1, keeps its expected loss, and the comparator can only become smaller
(docs/theory/lower.md, L8).
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from tombola import _validate
from tombola._types import Floats
from tombola.errors import ParameterError
from tombola.lab.exact import compositions, count_orders, zero_one
from tombola.pool import Pool

__all__ = ["Minimax", "adversarial_minimax", "iid_minimax", "minimax"]

# What a learner sees of a row: all losses, or that of its own action.
Feedback: TypeAlias = Literal["full", "bandit"]
# Counts of the rows of a pool, of rows seen, or of observations.
_Counts: TypeAlias = tuple[int, ...]
# A state and an action; a variable of the program is an orbit of these under renaming.
_Play: TypeAlias = tuple[_Counts, int]
# Nonzero entries of the program, by default: about a minute of HiGHS.
_MAX_ENTRIES = 4_000_000


@dataclass(frozen=True)
class Minimax:
    """Smallest worst-case regret of all learners, with an optimal learner.

    value: the minimax regret, up to the tolerance of the linear program (1e-7).
    horizon, actions, delay, feedback: the game.
    rows: the rows of losses that pools may contain, shape (m, actions).
    mixes: optimal mix in each state. With full information a state has the counts of `rows` seen;
        with bandit feedback the counts (action 1: loss 0, loss 1; action 2: loss 0, ...).
    hardest: pools of a hardest mixture, as counts of `rows`, with their probability. Every renaming
        of the actions of a pool is as likely as the pool itself; one of them is listed.
    """

    value: float
    horizon: int
    actions: int
    delay: int
    feedback: Feedback
    rows: Floats
    mixes: Mapping[_Counts, Floats]
    hardest: Mapping[_Counts, float]

    def pool(self, counts: Sequence[int]) -> Pool:
        """Return the pool with these counts of `rows`."""
        return Pool(np.repeat(self.rows, counts, axis=0))

    def regret(self, counts: Sequence[int]) -> float:
        """Return the exact expected regret of the optimal learner on a pool.

        counts: number of copies of each of `rows`; their sum is the horizon.
        """
        program = _PROGRAMS[self.feedback](self.rows, self.horizon, self.delay)
        return program.regret(tuple(counts), self.mixes)


def minimax(
    horizon: int,
    actions: int = 2,
    *,
    delay: int = 0,
    feedback: Feedback = "full",
    rows: Sequence[Sequence[float]] | Floats | None = None,
    limit: int = _MAX_ENTRIES,
) -> Minimax:
    """Return the minimax regret in random order, an optimal learner and hardest pools.

    horizon: rows of a pool.
    delay: rounds between a play and its feedback; 0 with bandit feedback.
    rows: rows that a pool may contain; None: all rows of losses 0 and 1, which gives the minimax
        regret over all pools of losses in [0, 1]. Fewer rows give a lower bound.
    limit: largest number of nonzero entries of the program; more raise ParameterError.

    >>> game = minimax(8)
    >>> round(game.value, 6)
    1.09375
    >>> round(minimax(4, 3).value, 6), round(minimax(4, 3, feedback="bandit").value, 6)
    (1.049129, 1.307692)
    """
    _validate.integer("minimax", "horizon", horizon, least=1)
    _validate.integer("minimax", "actions", actions, least=1)
    _validate.integer("minimax", "delay", delay, least=0)
    if feedback not in _PROGRAMS:
        raise ParameterError(f"minimax: feedback must be 'full' or 'bandit', got {feedback!r}.")
    if feedback == "bandit" and delay:
        raise ParameterError(
            f"minimax: expected no delay with bandit feedback, got {delay}; the state would hold "
            "the actions whose losses are still to come."
        )
    table = zero_one(actions) if rows is None else np.asarray(rows, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != actions or not np.isin(table, (0.0, 1.0)).all():
        raise ParameterError(
            f"minimax: rows must be losses 0 and 1, shape (rows, {actions}), got shape "
            f"{table.shape}; leave them out for all such rows."
        )
    program = _PROGRAMS[feedback](table, horizon, delay)
    program.refuse_above(limit)
    return program.solve(program.pools(), limit)


def iid_minimax(
    horizon: int,
    actions: int = 2,
    *,
    feedback: Feedback = "full",
    rows: Sequence[Sequence[float]] | Floats | None = None,
    grid: int = 24,
    limit: int = _MAX_ENTRIES,
) -> float:
    """Return the minimax regret for i.i.d. rows, against the best action in expectation.

    The law of the rows has probabilities that are multiples of 1/grid, so the value is a lower
    bound of the one over all laws; it rises to it with the grid. Parameters as in `minimax`.

    >>> iid_minimax(8) < minimax(8).value
    True
    """
    table = zero_one(actions) if rows is None else np.asarray(rows, dtype=np.float64)
    program = _PROGRAMS[feedback](table, horizon, 0)
    program.refuse_above(limit)
    return program.solve_laws(grid, limit)


def adversarial_minimax(horizon: int, actions: int = 2) -> float:
    """Return the minimax regret over all sequences of losses, with full information.

    By dynamic programming over the losses so far: the learner mixes, then the adversary chooses
    the row (Cover 1965; Gravin, Peres and Sivan 2016).

    >>> round(adversarial_minimax(8), 6), round(adversarial_minimax(4, 3), 6)
    (1.09375, 1.125)
    """
    _validate.integer("adversarial_minimax", "horizon", horizon, least=1)
    rows = zero_one(actions)[1:-1]  # a row of equal losses changes no regret
    # Regret to come by the losses of each action beyond the smallest, in descending order.
    values: dict[_Counts, float] = {}
    for left in range(horizon + 1):
        values = {
            state: _one_round(rows, state, values) if left else 0.0
            for state in _ordered_states(horizon - left, actions)
        }
    return values[(0,) * actions]


def _ordered_states(largest: int, actions: int) -> Iterator[_Counts]:
    """Yield losses beyond the smallest, in descending order, at most `largest`."""
    for state in itertools.combinations_with_replacement(range(largest, -1, -1), actions - 1):
        yield (*state, 0)


def _one_round(rows: Floats, state: _Counts, after: Mapping[_Counts, float]) -> float:
    """Return min over mixes, max over rows of loss + later regret - growth of the comparator."""
    later = []
    for row in rows.astype(int).tolist():
        losses = [before + loss for before, loss in zip(state, row, strict=True)]
        least = min(losses)
        key = tuple(sorted((loss - least for loss in losses), reverse=True))
        later.append(after[key] - least)
    k = rows.shape[1]
    # No mix at all is best against the row of equal losses, with value `after[state]`.
    solution = linprog(
        np.append(np.zeros(k), 1.0),
        A_ub=np.column_stack([rows, -np.ones(len(rows))]),
        b_ub=-np.array(later),
        A_eq=np.append(np.ones(k), 0.0)[None, :],
        b_eq=[1.0],
        bounds=[(0.0, 1.0)] * k + [(after[state], None)],
        method="highs",
    )
    return float(np.asarray(solution.fun))


class _Program(ABC):
    """The linear program of a game; subclasses know the states and the losses.

    rows: losses 0 and 1, shape (m, k). A pool is a tuple of counts of them.
    """

    feedback: Feedback

    def __init__(self, rows: Floats, horizon: int, delay: int) -> None:
        self.rows = rows
        self.horizon = horizon
        self.delay = delay
        self.k = rows.shape[1]
        places = {tuple(row): place for place, row in enumerate(rows.tolist())}
        # Renamings of the actions that map the set of rows to itself, with what they do to rows.
        self.renamings: list[tuple[_Counts, _Counts]] = []
        for renaming in itertools.permutations(range(self.k)):
            moved = [tuple(row) for row in rows[:, list(renaming)].tolist()]
            if all(row in places for row in moved):
                self.renamings.append((renaming, tuple(places[row] for row in moved)))

    @abstractmethod
    def states(self) -> Iterator[_Counts]:
        """Yield the states in which the learner plays, early ones first."""

    @abstractmethod
    def rename(self, state: _Counts, renaming: _Counts, moved: _Counts) -> _Counts:
        """Return the state after the actions were renamed."""

    @abstractmethod
    def losses(self, pools: Sequence[_Counts]) -> Iterator[tuple[_Play, Floats]]:
        """Yield for each play its contribution to the expected loss on each pool."""

    @abstractmethod
    def constraint(self, state: _Counts) -> tuple[list[tuple[_Play, float]], float]:
        """Return coefficients of plays, and the sum, that make a strategy valid in a state."""

    @abstractmethod
    def weights(self, mixes: Mapping[_Counts, Floats]) -> dict[_Play, float]:
        """Return the variables of a learner from its mixes."""

    def to_mix(self, values: Floats) -> Floats:
        """Return the mix of a state from the values of its variables."""
        total = float(values.sum())
        return values / total if total > 1e-12 else np.full(self.k, 1.0 / self.k)

    def refuse_above(self, limit: int) -> None:
        """Raise if the pools alone have too many entries, before they are listed."""
        n_pools = math.comb(self.horizon + len(self.rows) - 1, len(self.rows) - 1)
        # Each orbit of pools but that of the rows without loss has at least one entry.
        if n_pools // len(self.renamings) - 1 > limit:
            raise self.too_large(limit)

    def too_large(self, limit: int) -> ParameterError:
        """Return the error of a program with more entries than the limit."""
        return ParameterError(
            f"minimax: expected a program of at most limit={limit} entries, got more for "
            f"horizon {self.horizon}, {self.k} actions and {len(self.rows)} rows; write a "
            "smaller horizon, fewer rows, or a larger limit."
        )

    def pools(self) -> list[_Counts]:
        """Return one pool of each orbit under renaming."""
        return self.representatives(compositions(self.horizon, len(self.rows)))

    def representatives(self, counts: Iterable[_Counts]) -> list[_Counts]:
        """Return one of each orbit of counts of rows."""
        return sorted({self.first_of_orbit(each) for each in counts})

    def first_of_orbit(self, counts: _Counts) -> _Counts:
        """Return the smallest counts that a renaming of the actions makes of these."""
        return min(_permute(counts, moved) for _, moved in self.renamings)

    def orbit(self, play: _Play) -> _Play:
        """Return the representative of a play under renaming."""
        state, action = play
        return min(
            (self.rename(state, renaming, moved), renaming.index(action))
            for renaming, moved in self.renamings
        )

    def comparator(self, pools: Sequence[Sequence[float]]) -> Floats:
        """Return the smallest total loss of an action on each pool."""
        totals: Floats = np.asarray(pools, dtype=np.float64) @ self.rows
        least: Floats = np.min(totals, axis=1)
        return least

    def solve(self, pools: list[_Counts], limit: int) -> Minimax:
        """Return the minimax regret over these pools."""
        variables, matrix = self.matrix(pools, limit)
        value, solution, weights = self.optimum(variables, matrix, self.comparator(pools))
        mixes = {
            state: self.to_mix(
                np.array([solution[variables[self.orbit((state, a))]] for a in range(self.k)])
            )
            for state in self.states()
        }
        hardest = {
            pool: float(weight)
            for pool, weight in zip(pools, weights, strict=True)
            if weight > 1e-9
        }
        return Minimax(
            value, self.horizon, self.k, self.delay, self.feedback, self.rows, mixes, hardest
        )

    def solve_laws(self, grid: int, limit: int) -> float:
        """Return the minimax regret over i.i.d. rows with laws on a grid.

        An i.i.d. sequence is a mixture of pools in random order, so its loss is a mixture too.
        """
        pools = list(compositions(self.horizon, len(self.rows)))
        laws = np.array(self.representatives(compositions(grid, len(self.rows)))) / grid
        orders = np.array([float(count_orders(pool)) for pool in pools])
        mixture = np.stack([orders * np.prod(law ** np.array(pools), axis=1) for law in laws])
        variables, matrix = self.matrix(pools, limit)
        comparator = self.horizon * self.comparator(laws.tolist())
        return self.optimum(variables, sparse.csr_array(mixture @ matrix), comparator)[0]

    def matrix(self, pools: list[_Counts], limit: int) -> tuple[dict[_Play, int], Any]:
        """Return the numbers of the variables, and the loss on each pool as a linear form."""
        variables: dict[_Play, int] = {}
        parts: list[tuple[Any, Any, Any]] = []
        entries = 0
        for play, losses in self.losses(pools):
            number = variables.setdefault(self.orbit(play), len(variables))
            at = np.flatnonzero(losses)
            entries += at.size
            if entries > limit:
                raise self.too_large(limit)
            parts.append((losses[at], at, np.full(at.size, number)))
        data, row_numbers, columns = (np.concatenate(column) for column in zip(*parts, strict=True))
        shape = (len(pools), len(variables))
        return variables, sparse.csr_array((data, (row_numbers, columns)), shape=shape)

    def optimum(
        self, variables: Mapping[_Play, int], matrix: Any, comparator: Floats
    ) -> tuple[float, Floats, Floats]:
        """Return the value, the variables, and the weights of the inequalities."""
        equations: list[dict[int, float]] = []
        sums: list[float] = []
        done: set[_Counts] = set()
        for state in self.states():
            first = min(self.rename(state, *renaming) for renaming in self.renamings)
            if first in done:
                continue
            done.add(first)
            terms, total = self.constraint(first)
            equation: dict[int, float] = {}
            for play, coefficient in terms:
                number = variables[self.orbit(play)]
                equation[number] = equation.get(number, 0.0) + coefficient
            equations.append(equation)
            sums.append(total)
        data = [value for equation in equations for value in equation.values()]
        columns = [number for equation in equations for number in equation]
        at = [place for place, equation in enumerate(equations) for _ in equation]
        size = len(variables)
        equality: Any = sparse.csr_array((data, (at, columns)), shape=(len(equations), size + 1))
        bound = sparse.csr_array(-np.ones((matrix.shape[0], 1)))
        inequality: Any = sparse.hstack([matrix, bound]).tocsr()
        solution = linprog(
            np.append(np.zeros(size), 1.0),
            A_ub=inequality,
            b_ub=comparator,
            A_eq=equality,
            b_eq=sums,
            bounds=[(0.0, None)] * size + [(None, None)],
            method="highs",
        )
        if not solution.success:
            raise ParameterError(f"minimax: the linear program failed: {solution.message}")
        weights = -np.asarray(solution.ineqlin.marginals, dtype=np.float64)
        return float(np.asarray(solution.fun)), np.asarray(solution.x)[:size], weights

    def regret(self, pool: _Counts, mixes: Mapping[_Counts, Floats]) -> float:
        """Return the expected regret of a learner on a pool."""
        weights = self.weights(mixes)
        loss = math.fsum(weights[play] * float(losses[0]) for play, losses in self.losses([pool]))
        return loss - float(self.comparator([pool])[0])


class _FullInformation(_Program):
    """A state has the number of times that each row was seen."""

    feedback = "full"

    def states(self) -> Iterator[_Counts]:
        for seen in range(max(1, self.horizon - self.delay)):
            yield from compositions(seen, len(self.rows))

    def rename(self, state: _Counts, renaming: _Counts, moved: _Counts) -> _Counts:
        return _permute(state, moved)

    def losses(self, pools: Sequence[_Counts]) -> Iterator[tuple[_Play, Floats]]:
        counts = np.asarray(pools, dtype=np.int64)
        ways = _binomials(self.horizon)
        for state in self.states():
            seen = sum(state)
            # With a delay the first mix is played in the first delay + 1 rounds.
            rounds = 1 + min(self.delay, self.horizon - 1) if seen == 0 else 1
            reached = np.ones(len(counts))
            for copies, times in zip(counts.T, state, strict=True):
                reached *= ways[copies, times]
            reached *= rounds / ways[self.horizon, seen]
            left = (counts - np.array(state)) @ self.rows / (self.horizon - seen)
            for action in range(self.k):
                yield (state, action), reached * left[:, action]

    def constraint(self, state: _Counts) -> tuple[list[tuple[_Play, float]], float]:
        return [((state, action), 1.0) for action in range(self.k)], 1.0

    def weights(self, mixes: Mapping[_Counts, Floats]) -> dict[_Play, float]:
        return {
            (state, action): float(mix[action])
            for state, mix in mixes.items()
            for action in range(self.k)
        }


class _Bandit(_Program):
    """A state has the number of times that each action showed loss 0 and loss 1.

    Given the actions, the probability of a sequence of observations depends on these counts only.
    A variable is the probability that the learner's own draws lead to the state, in any order, and
    then play the action: a flow that starts at 1 in the empty state.
    """

    feedback = "bandit"

    def states(self) -> Iterator[_Counts]:
        for seen in range(self.horizon):
            yield from compositions(seen, 2 * self.k)

    def rename(self, state: _Counts, renaming: _Counts, moved: _Counts) -> _Counts:
        return tuple(state[2 * a + loss] for a in renaming for loss in (0, 1))

    def losses(self, pools: Sequence[_Counts]) -> Iterator[tuple[_Play, Floats]]:
        # P(observations with these counts | their actions) is a sum over the rows behind them:
        # coefficients of a polynomial in the rows, times the ways to draw these rows.
        polynomials = {(0,) * (2 * self.k): {(0,) * len(self.rows): 1.0}}
        falling = _falling_factorials(self.horizon)
        counts = np.asarray(pools, dtype=np.int64)
        for seen in range(1, self.horizon + 1):
            draws = list(compositions(seen, len(self.rows)))
            place = {draw: number for number, draw in enumerate(draws)}
            ways = np.ones((len(draws), len(counts)))
            for copies, times in zip(counts.T, np.array(draws).T, strict=True):
                ways *= falling[copies[None, :], times[:, None]]
            ways /= falling[self.horizon, seen]
            following: dict[_Counts, dict[_Counts, float]] = {}
            for state, polynomial in polynomials.items():
                for action in range(self.k):
                    for loss in (0, 1):
                        after = _add_one(state, 2 * action + loss)
                        if after not in following:
                            following[after] = self.extend(polynomial, action, loss)
                    after = _add_one(state, 2 * action + 1)
                    monomials = following[after]
                    at = [place[draw] for draw in monomials]
                    coefficients = np.array(list(monomials.values()))
                    yield (state, action), coefficients @ ways[at]
            polynomials = following

    def extend(
        self, polynomial: Mapping[_Counts, float], action: int, loss: int
    ) -> dict[_Counts, float]:
        """Return the polynomial times the sum of the rows in which the action has this loss."""
        product: dict[_Counts, float] = {}
        for row in np.flatnonzero(self.rows[:, action] == loss).tolist():
            for draw, coefficient in polynomial.items():
                key = _add_one(draw, row)
                product[key] = product.get(key, 0.0) + coefficient
        return product

    def constraint(self, state: _Counts) -> tuple[list[tuple[_Play, float]], float]:
        terms = [((state, action), 1.0) for action in range(self.k)]
        for place, times in enumerate(state):
            if times:
                before = tuple(n - (i == place) for i, n in enumerate(state))
                terms.append(((before, place // 2), -1.0))
        return terms, float(not any(state))

    def weights(self, mixes: Mapping[_Counts, Floats]) -> dict[_Play, float]:
        flow = {(0,) * (2 * self.k): 1.0}
        plays: dict[_Play, float] = {}
        for state in self.states():
            for action in range(self.k):
                share = flow.get(state, 0.0) * float(mixes[state][action])
                plays[(state, action)] = share
                for loss in (0, 1):
                    after = _add_one(state, 2 * action + loss)
                    flow[after] = flow.get(after, 0.0) + share
        return plays


_PROGRAMS: dict[str, type[_Program]] = {"full": _FullInformation, "bandit": _Bandit}


def _permute(counts: _Counts, moved: _Counts) -> _Counts:
    """Return the counts of rows after row i became row moved[i]."""
    permuted = [0] * len(counts)
    for place, count in zip(moved, counts, strict=True):
        permuted[place] = count
    return tuple(permuted)


def _add_one(counts: _Counts, place: int) -> _Counts:
    return (*counts[:place], counts[place] + 1, *counts[place + 1 :])


def _binomials(largest: int) -> Floats:
    """Return C(n, j) for n, j up to `largest`."""
    return np.array(
        [[float(math.comb(n, j)) for j in range(largest + 1)] for n in range(largest + 1)]
    )


def _falling_factorials(largest: int) -> Floats:
    """Return n (n - 1) ... (n - j + 1) for n, j up to `largest`."""
    return np.array(
        [[float(math.perm(n, j)) for j in range(largest + 1)] for n in range(largest + 1)]
    )
