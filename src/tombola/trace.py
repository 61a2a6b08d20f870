"""Trace: the result of one play, round by round.

Regret, as the paper defines it for the three input models (equation def:regret):

    random, given   E[sum_t loss_t(a_t)] - min_a sum_t loss_t(a)
    iid             max_a E[sum_t loss_t(a_t) - loss_t(a)]          (pseudo-regret)

In all three the comparator is the best fixed action of the whole pool, on the rows of this play:
over a permutation its loss is the minimum itself, over i.i.d. draws its expectation is. Each switch
of the action adds the switching price; the first action is free.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tombola._formatting import (
    HtmlTable,
    format_number,
    format_percent,
    html_block,
    short_learner,
    short_repr,
    to_frame,
)
from tombola._types import AnyLearner, Floats, Integers, Order
from tombola.budget.budget import NO_BALANCE, Balance
from tombola.order import OrderModel
from tombola.pool import Pool

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace:
    """Hold actions, losses and costs of one play, and its regret.

    learner, order_model: the learner and the input model.
    order: row of the pool in each round, from 0.
    actions, probabilities: action of each round and its probability; -1 and NaN if `mixed`.
    losses, expected_losses: loss of the action of each round, and its expectation over the
        learner's own randomness.
    plays: number of plays per action; an added null action is the last one.
    comparator: function that returns the loss of the comparator in each round: the best fixed
        action, under a budget the best fixed mix, for labels the best hypothesis.
    switches, switching_price: number of switches and the price of one.
    costs: costs in their own units, shape (rounds, resources).
    balance: amounts, spent and reserved under a budget.
    router: of a play of `policies.Routed`, its `policies.RouterRecord`: the choices of router and
        safe learner, and the stakes; else None.
    mixed: whether whole mixes were played (fluid play), with expected losses and costs, instead of
        one action a round.
    full_feedback: whether the learner saw the losses of all actions.
    labels: true label of each round, for a labelled pool; else empty.
    names: name of each action, an added null action included.
    ids: id of each row of the pool, if it has ids.
    """

    learner: AnyLearner
    order_model: OrderModel
    order: Order
    actions: Integers
    probabilities: Floats
    losses: Floats
    expected_losses: Floats
    plays: Floats
    comparator: Callable[[], Floats]
    switches: int = 0
    switching_price: float = 0.0
    costs: Floats
    balance: Balance = NO_BALANCE
    router: Any = None
    mixed: bool = False
    full_feedback: bool = False
    labels: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    names: tuple[str, ...] = ()
    ids: tuple[Any, ...] | None = None

    @property
    def horizon(self) -> int:
        """The number of rounds of the play."""
        return int(self.actions.size)

    @property
    def loss(self) -> float:
        """The total loss of the actions played, switches not included."""
        return float(self.losses.sum())

    @property
    def expected_loss(self) -> float:
        """The expected total loss, over the learner's own randomness in each round."""
        return float(self.expected_losses.sum())

    @property
    def regret(self) -> float:
        """The loss plus the price of the switches, minus the loss of the comparator."""
        return self.loss + self.switching_price * self.switches - self.comparator_loss

    @property
    def expected_regret(self) -> float:
        """The expected loss plus the price of switches, minus the comparator's loss."""
        return self.expected_loss + self.switching_price * self.switches - self.comparator_loss

    @cached_property
    def comparator_losses(self) -> Floats:
        """The loss of the comparator in every round, shape (rounds,)."""
        return self.comparator()

    @cached_property
    def comparator_loss(self) -> float:
        """The total loss of the comparator."""
        return float(self.comparator_losses.sum())

    @cached_property
    def curve(self) -> Floats:
        """The regret after every round, switches not included, shape (rounds,)."""
        return np.cumsum(self.losses - self.comparator_losses)

    @property
    def rewards(self) -> Floats:
        """The reward of every round, 1 - loss, shape (rounds,)."""
        return 1.0 - self.losses

    @property
    def reward(self) -> float:
        """The total reward of the actions played, 1 - loss summed."""
        return float(self.rewards.sum())

    @property
    def comparator_reward(self) -> float:
        """The total reward of the comparator, rounds minus its total loss."""
        return self.horizon - self.comparator_loss

    @property
    def spending(self) -> Floats:
        """The total cost up to and including each round, shape (rounds, resources)."""
        return np.cumsum(self.costs, axis=0)

    @property
    def overspent(self) -> tuple[bool, ...]:
        """Per resource, whether the exact sum of costs exceeds the amount.

        Always False, by construction; a test can assert it. Empty without a budget.
        """
        amounts = self.balance.amounts
        totals = [sum(map(Fraction, self.costs[:, j].tolist())) for j in range(len(amounts))]
        return tuple(
            total > Fraction(amount) for total, amount in zip(totals, amounts, strict=True)
        )

    @property
    def mistakes(self) -> int:
        """The number of wrong predictions; 0 unless labels were predicted."""
        return int(np.count_nonzero(self.losses)) if self.labels.size else 0

    def columns(self) -> dict[str, list[Any]]:
        """Return the rounds as columns by name, one entry per round.

        The names are round (from 1), row, action, loss and comparator_loss. A row is given by its
        id, or by its index if the pool has no ids; an action by its name, -1 in fluid play.

        >>> from tombola import FixedAction, Pool, play
        >>> pool = Pool([[0.0, 1.0], [0.5, 0.0]], actions=["call", "write"], ids=["Ann", "Bob"])
        >>> trace = play(FixedAction(0), pool, order="given", seed=0)
        >>> trace.columns()["row"], trace.columns()["action"]
        (['Ann', 'Bob'], ['call', 'call'])
        """
        rows = self.order.tolist()
        actions = self.actions.tolist()
        return {
            "round": list(range(1, self.horizon + 1)),
            "row": rows if self.ids is None else [self.ids[row] for row in rows],
            # Fluid play has no single action in a round.
            "action": [self.names[a] if self.names and a >= 0 else a for a in actions],
            "loss": self.losses.tolist(),
            "comparator_loss": self.comparator_losses.tolist(),
        }

    def to_frame(self) -> Any:
        """Return `columns()` as a data frame: pandas if it is installed, else polars.

        Raises ParameterError if neither library is installed.
        """
        return to_frame("Trace", self.columns())

    def plot(
        self, *, ax: "Axes | None" = None, size: tuple[float, float] | None = None
    ) -> "Figure":
        """Draw the regret after every round into Matplotlib axes or a new figure; return the figure.

        A new figure displays in notebooks; `figure.save("regret.pdf")` writes it as PDF, SVG or
        PNG.

        ax: axes to draw into; None for a new figure.
        size: width and height of a new figure in inches; None for the default.

        >>> from tombola import Pool, UCB1, play
        >>> play(UCB1(), Pool([[0.0, 1.0]] * 20), seed=0).plot().axes[0].get_xlabel()
        'round'
        """
        from tombola.report.chart import Band, Chart
        from tombola.report.figures import draw_chart

        rounds = np.arange(1, self.horizon + 1, dtype=np.float64)
        chart = Chart(
            f"Regret of {short_learner(self.learner)}, {self.order_model} order",
            "round",
            "regret: loss above that of the comparator",
            (Band(short_learner(self.learner), rounds, self.curve, self.curve, self.curve),),
            log_x=False,
            log_y=False,
        )
        return draw_chart(chart, axes=ax, size=size)

    def __repr__(self) -> str:
        parts = [
            f"{self.order_model} order",
            f"{self.horizon} rounds",
            f"loss {self.loss:.6g}",
            f"regret {self.regret:.6g}",
        ]
        if self.labels.size:
            parts.append(f"{self.mistakes} mistakes")
        elif self.balance.amounts:
            parts.append(f"left {self.balance.left}")
        else:
            parts.append(f"{self.switches} switches")
        return short_repr(f"Trace({short_learner(self.learner)}, {', '.join(parts)})")

    def _repr_html_(self) -> str:
        facts = [
            ("order", str(self.order_model)),
            ("rounds", f"{self.horizon:,}"),
            ("loss", format_number(self.loss)),
            ("regret", format_number(self.regret)),
        ]
        if self.labels.size:
            facts.append(("mistakes", f"{self.mistakes:,}"))
        else:
            facts.append(("switches", f"{self.switches:,}"))
        for number, (amount, left) in enumerate(
            zip(self.balance.amounts, self.balance.left, strict=True), 1
        ):
            which = f" of resource {number}" if len(self.balance.amounts) > 1 else ""
            facts.append((f"left{which}", f"{format_number(left)} of {format_number(amount)}"))
        names = self.names or tuple(map(str, range(self.plays.size)))
        most = np.argsort(-self.plays, kind="stable")
        rows = [
            (
                names[a],
                format_number(float(self.plays[a])),
                format_percent(self.plays[a] / self.horizon, 1),
            )
            for a in most
        ]
        table = HtmlTable(("action", "plays", "share"), rows)
        return html_block(f"Trace of {short_learner(self.learner)}", facts, [table])


def best_action_losses(pool: Pool, order: Order) -> Floats:
    """Return the loss of the pool's best fixed action in every round, shape (rounds,).

    order: row of each round, from 0.

    >>> best_action_losses(Pool([[1, 0], [1, 0], [0, 1]]), np.array([2, 0, 1], np.uint32)).tolist()
    [1.0, 0.0, 0.0]
    """
    return np.asarray(pool.losses[order, pool.best], np.float64)
