"""Sentences of a report: best action, advised learner, precision, warnings."""

import math
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tombola import _statistics
from tombola._formatting import format_estimate, format_number, join_names, option_text, plural
from tombola._statistics import Estimate
from tombola.bounds.references import bound_source
from tombola.budget.budget import Budget
from tombola.budget.optimum import Optimum, UnreachableError, optimum
from tombola.engine.loop import LOSS, SPENT
from tombola.evidence import OrderVerdict
from tombola.learners import BudgetedBase
from tombola.learners.base import Learner
from tombola.pool import Pool
from tombola.units import UNIT_LOSSES, Units

if TYPE_CHECKING:
    from tombola.advice.report import CompareReport

# With fewer rows per action a warning is shown: too few to try all actions and still gain.
_MIN_ROWS_PER_ACTION = 10
# Losses per row by which two solutions of the same linear program may differ by rounding.
_LP_TOLERANCE = 1e-9
# Smaller shares of a mix are not printed: they would read 0 %.
_MIN_SHARE = 0.005
# More features than this are written as a pattern, if their names begin alike.
_MAX_NAMED_FEATURES = 4
# Longer lists of actions are not written out in a command: it would not fit on a screen.
_MAX_NAMES_LENGTH = 240
# Name, in rankings and sentences, of the reference without learning: one action, chosen uniformly,
# played on every row.
RANDOM_ACTION = "random fixed action"


class Summary(NamedTuple):
    """Hold the result of a comparison in sentences.

    table: name and size of the table.
    best: best action or mix in it, exact.
    advice: learner to use on a new list.
    gain: loss of that learner, compared with references such as a random fixed action.
    precision: repetitions, intervals and the proved bound.
    command: command line that starts a live session with the learner; "" if there is none.
    warnings: sentences about the order or the size of the table.
    remarks: sentences about direction, range and missing cells of the table.
    """

    table: str
    best: str
    advice: str
    gain: str
    precision: str
    command: str
    warnings: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def summarise(report: "CompareReport") -> Summary:
    """Return the result of a comparison in sentences, for terminal, page and JSON."""
    pool = report.pool
    without = report.table.without
    names = join_names(pool.actions, limit=12, length=40)
    actions = f"{plural(pool.k, 'action')}{without and f' {without}'} ({names})"
    return Summary(
        table=f"{report.name}: {plural(pool.rows, 'row')}, {actions}, {report.table.direction}.",
        best=_best_text(report),
        advice=_advice_text(report),
        gain=_gain_text(report),
        precision=_precision_text(report),
        command=_session_command(report),
        warnings=tuple(_warnings(report)),
        remarks=report.table.remarks,
    )


def _best_text(report: "CompareReport") -> str:
    """Describe the best action or mix; exact, since the whole table is known."""
    pool = report.pool
    units = report.units
    budget = report.budget
    best = report.best_mix
    if budget is not None and best is not None:
        which = (
            "Cheapest fixed mix that reaches the target"
            if budget.target is not None
            else "Best fixed mix"
        )
        price_text = _price_text if budget.target is None else _target_price_text
        price = price_text(pool, budget, best, units)
        return f"{which} (exact): {mix_text(pool, best, units)}. {price} {_purpose_text(report)}"
    loss = float(pool.means[pool.best])
    names = pool.all_best
    text = (
        f"Best action{'s' if len(names) > 1 else ''} in this table (exact): "
        f"{join_names(names, last=' and ')}, mean {units.quantity} {units.number(loss):.4g}"
        f"{' each' if len(names) > 1 else ''}"
    )
    if len(names) < pool.k:
        second = min(
            (action for action, name in enumerate(pool.actions) if name not in names),
            key=lambda a: float(pool.means[a]),
        )
        gap = units.gap(float(pool.means[second]) - loss)
        text += f"; next: {pool.actions[second]}, {gap:.4g} behind"
    return f"{text}. {_purpose_text(report)}"


def _advice_text(report: "CompareReport") -> str:
    advice = report.advice
    routes = report.routing is not None and report.routing.helps
    first = f"{_routing_advice(report)}, " if routes else ""
    if advice.fixed_action:
        difference = _difference(advice.gain, f"than a {RANDOM_ACTION}", report.units, -1.0)
        others = " without features" if routes else ""
        return (
            f"Advice for a new list: {first}play one fixed action. No learner{others} is "
            f"significantly better than a {RANDOM_ACTION}; the best, {advice.learner}, has "
            f"{difference}."
        )
    tied = f" (tied: {join_names(advice.tied, limit=None)})" if advice.tied else ""
    lead = ""
    if advice.lead is not None and report.request.target is not None:  # a lead of costs
        lead = f": {format_estimate(advice.lead)} less regret than {advice.next}"
    elif advice.lead is not None:
        lead = f": {_difference(advice.lead, f'than {advice.next}', report.units, -1.0)}"
    reason = f"; {advice.reason}" if advice.reason and not advice.tied else ""
    advised = f"{first}use {advice.learner}{tied}{lead}{reason}"
    return f"Advice for a new list like this one: {advised}."


def _purpose_text(report: "CompareReport") -> str:
    """Return what the learners are for, and what they see of a row."""
    seen = {
        "bandit": ": each takes one action per row, and sees only its outcome (bandit feedback)",
        "full": ": each takes one action per row, and sees the outcomes of all (full feedback)",
    }
    return f"Learners are for new lists{seen.get(report.feedback, '')}."


def _routing_advice(report: "CompareReport") -> str:
    """Return the advice to route by features, which comes before that of a learner."""
    if report.request.has_budget:
        return (
            "route by features with RoutedLP, which plays a table with all losses and costs in "
            "Python; in a session"
        )
    seen = (
        "where only the action played is seen" if report.feedback != "full" else "without features"
    )
    return (
        "route by features with Routed, which needs the outcomes of all actions of each row; "
        f"{seen}"
    )


def _gain_text(report: "CompareReport") -> str:
    if report.budget is not None and report.budget.target is not None:
        return _target_gain_text(report)
    advice = report.advice
    known = (
        "the best fixed mix within the budget"
        if report.runs.amounts
        else "the best action, known in advance"
    )
    regret = _difference(advice.regret, f"than {known}", report.units)
    start = f"Over {plural(report.pool.rows, 'row')} {advice.learner} has"
    if advice.gain is None or advice.fixed_action:
        return f"{start} {regret}."
    return (
        f"{start} {_difference(advice.gain, f'than a {RANDOM_ACTION}', report.units, -1.0)}, "
        f"and {regret}."
    )


def _target_gain_text(report: "CompareReport") -> str:
    runs = report.runs
    advice = report.advice
    rows = report.pool.rows
    end = runs.cell(advice.learner, advice.order).sums[:, -1]
    loss = mean_in_units(_statistics.mean(end[:, LOSS] / rows), report.units)
    spent = _statistics.mean(end[:, SPENT])
    cheapest = rows * runs.target_regrets[rows].cost
    share = f", {_percent(spent.value / cheapest)} of the cheapest mix" if cheapest > 0 else ""
    return (
        f"On a new list {advice.learner} has a mean {report.quantity} of {format_estimate(loss)} "
        "and costs "
        f"{format_estimate(spent)}{share}. The target is aimed at, not guaranteed."
    )


def _precision_text(report: "CompareReport") -> str:
    count = report.request.repetitions
    if count == 1:
        return f"One repetition has no interval; write {option_text('repetitions', '40')}."
    text = (
        f"Means over {plural(count, 'repetition')}; ± is half the 95 % interval; differences "
        "are paired (same orders)."
    )
    # A regret above the number of rows is impossible, so such a bound says nothing.
    if report.bound is not None and report.bound < report.pool.rows:
        bound = format_number(report.regret_scale * report.bound)
        source = bound_source(report.request.learners_by_name[report.advice.learner])
        theorem = f" ({source})" if source else ""
        text += (
            f" Proved for every table in random order: expected regret at most {bound}{theorem}."
        )
    return text


def _warnings(report: "CompareReport") -> list[str]:
    pool = report.pool
    delay = report.request.conditions.delay
    warnings = []
    if delay >= pool.rows:
        warnings.append(
            f"The delay of {plural(delay, 'round')} is not shorter than the list of "
            f"{plural(pool.rows, 'row')}: no "
            "feedback arrives in time, so nothing can be learned."
        )
    elif pool.rows < _MIN_ROWS_PER_ACTION * pool.k:
        warnings.append(
            f"Only {pool.rows / pool.k:.3g} rows per action: too few to try all actions and "
            "still gain."
        )
    if report.order_test.refuted and "given" not in report.request.orders:
        warnings.append(
            "The table is not listed in random order: shuffle your list, or compare with "
            "--orders random,given."
        )
    if report.advice.order == "given":
        warnings.append("This holds for the given order of the table only; bounds need a shuffle.")
    if len(report.runs.learners) == 1 and report.request.learners:
        only = report.runs.learners[0]
        warnings.append(
            f"{only} is the only compared learner; leave out {option_text('learners')} to "
            "compare others."
        )
    return warnings


def _session_command(report: "CompareReport") -> str:
    """Return the command of a session with the advised learner; "" if impossible."""
    advice = report.advice
    routes = report.routing is not None and report.routing.helps
    # A session can use the learners of the package only, and no budget without its options.
    if report.request.has_budget or (
        not routes and (advice.fixed_action or ".py:" in advice.learner)
    ):
        return ""
    names = [f'"{name}"' if "," in name else name for name in report.pool.actions]
    learner = [] if routes else [_learner_text(report.request.learners_by_name[advice.learner])]
    limits = "{:g},{:g}".format(*report.table.range)
    outcomes = [f"--{report.table.kind}", *([] if limits == "0,1" else ["--range", limits])]
    # A long list of names stays in the table.
    is_long = len(",".join(names)) > _MAX_NAMES_LENGTH and Path(report.name).suffix != ""
    words = [
        *(["--actions-from", report.name] if is_long else ["--actions", ",".join(names)]),
        *outcomes,
        *(_feature_options(report.pool) if routes else ["--learner", *learner]),
        "--seed",
        "1",
        "--file",
        "my.run",
    ]
    return f"tombola session start ids.csv {shlex.join(words)}"


def _feature_options(pool: Pool) -> list[str]:
    """Return the options that name the features of a list, for a session that routes.

    >>> pool = Pool([[0.0, 1.0]], features=[[1.0, 2.0, 3.0]], feature_names=["size", "a=b", "q:0"])
    >>> _feature_options(pool)
    ['--features', 'size,a', '--text', 'q']
    """
    # A level of a category is a column name=level, a part of a text a column name:number.
    texts = {name.partition(":")[0]: None for name in pool.feature_names if ":" in name}
    columns = {name.partition("=")[0]: None for name in pool.feature_names if ":" not in name}
    names = list(columns)
    if len(names) > _MAX_NAMED_FEATURES:
        first, last = min(names), max(names)  # all names begin as these two begin alike
        alike = [a == b for a, b in zip(first, last, strict=False)]
        prefix = first[: alike.index(False)] if False in alike else first
        names = [f"{prefix}*"] if prefix else names
    options = ["--features", ",".join(names)] if names else []
    return [*options, "--text", ",".join(texts)] if texts else options


def _learner_text(learner: Learner | BudgetedBase) -> str:
    """Return a learner as text for --learner; default parameters are left out.

    >>> from tombola import UCB2, FollowTheLeader
    >>> _learner_text(UCB2(alpha=0.5)), _learner_text(FollowTheLeader(ties="random"))
    ('UCB2', 'FollowTheLeader(ties="random")')
    """
    with suppress(TypeError):  # a parameter without a default
        if learner == type(learner)():
            return type(learner).__name__
    return repr(learner).replace("'", '"')


def order_test_text(test: OrderVerdict, actions: Sequence[str], level: float) -> str:
    """Return the result of the test for random order in a sentence or two.

    actions: names of the columns tested.
    level: error probability of the test.
    """
    if not test.refuted:
        return (
            f"Order test: no evidence against random order (level {_percent(level)}). "
            "Shuffle the list to be sure."
        )
    return (
        f"Order test: not in random order. The values of {actions[test.column]} drift, detected "
        "after "
        f"{plural(test.values, 'row')} (p-value at most {max(test.p_value, 1e-99):.0e}). Results "
        "in random order hold "
        "only if you shuffle the rows first."
    )


def mix_text(pool: Pool, best: Optimum, units: Units = UNIT_LOSSES) -> str:
    """Describe the mix of `best`: share of each action, mean loss, total costs.

    >>> pool = Pool.from_rewards([[0.4, 0.9]] * 10, ["small", "large"], costs=[[0.2, 0.9]] * 10)
    >>> mix_text(pool, optimum(pool, Budget(5.0, null="add")))
    'small on 57 % of the rows and large on 43 %; mean loss 0.3857, cost 5'
    """
    names = [*pool.actions, "none of them"][: best.mix.size]
    order = [
        action
        for action in np.argsort(-best.mix, kind="stable").tolist()
        if best.mix[action] >= _MIN_SHARE
    ]
    shares = [f"{names[action]} on {_percent(best.mix[action])}" for action in order]
    shares[0] += " of the rows"
    costs = [format_number(cost) for cost in (pool.rows * best.cost).tolist()]
    shares_text = join_names(shares, limit=None, length=200, last=" and ")
    mean = f"mean {units.quantity} {units.number(1 - best.value):.4g}"
    return f"{shares_text}; {mean}, cost {join_names(costs, limit=None, last=' and ')}"


def _price_text(pool: Pool, budget: Budget, best: Optimum, units: Units = UNIT_LOSSES) -> str:
    """Describe the value of a tenth more budget.

    >>> pool = Pool.from_rewards([[0.4, 0.9]] * 10, ["small", "large"], costs=[[0.2, 0.9]] * 10)
    >>> _price_text(pool, Budget(5.0, null="add"), optimum(pool, Budget(5.0, null="add")))
    'A tenth more budget (0.5) brings 0.3571 less total loss.'
    >>> _price_text(pool, Budget(50.0, null="add"), optimum(pool, Budget(50.0, null="add")))
    'More budget saves nothing: the best action is affordable on every row.'
    """
    parts = []
    amounts = budget.per_resource
    change = "more" if units.scores else "less"
    for resource, amount in enumerate(amounts):
        of_resource = f" of resource {resource + 1}" if amounts.size > 1 else ""
        saved = _losses_saved(pool, budget, best, resource)
        if amount == 0 and best.prices[resource] > 0:
            parts.append(
                f"Any budget{of_resource} above 0 could bring {change} total {units.quantity}."
            )
        elif saved > 0:
            tenth = format_number(amount / 10)
            gain = format_number(units.gap(saved))
            parts.append(
                f"A tenth more budget{of_resource} ({tenth}) brings {gain} {change} total "
                f"{units.quantity}."
            )
    if not parts and _losses_saved(pool, budget, best, None) > 0:
        return "A tenth more of one resource alone saves nothing."
    return (
        " ".join(parts) or "More budget saves nothing: the best action is affordable on every row."
    )


def _losses_saved(pool: Pool, budget: Budget, best: Optimum, resource: int | None) -> float:
    """Return the losses saved by a tenth more of a resource, or (None) of all."""
    if resource is None:
        value = 1.0 - float(pool.means.min())
    else:
        amounts = budget.per_resource.copy()
        amounts[resource] = min(1.1 * amounts[resource], sys.float_info.max)
        value = optimum(pool, replace(budget, amounts=amounts.tolist())).value
    saved = pool.rows * (value - best.value)
    return saved if saved > _LP_TOLERANCE * pool.rows else 0.0


def _target_price_text(
    pool: Pool, budget: Budget, best: Optimum, units: Units = UNIT_LOSSES
) -> str:
    """Describe the cost of one row better, and of a target that is a tenth stricter.

    >>> pool = Pool.from_rewards([[0.4, 0.9]] * 10, ["small", "large"], costs=[[0.2, 0.9]] * 10)
    >>> for target in (0.3, 0.1, 0.7):
    ...     budget = Budget(target=target, null="add")
    ...     print(_target_price_text(pool, budget, optimum(pool, budget)))
    One row better (by 1 loss) costs 1.4; a target a tenth stricter (0.27) costs 0.42 more.
    No mix reaches a target a tenth stricter (0.09).
    A target a tenth stricter (0.63) costs nothing more.
    """
    assert budget.target is not None
    if budget.target == 0:
        return "No target is stricter."
    stricter = 0.9 * budget.target
    name = f"a target a tenth stricter ({format_number(units.number(stricter))})"
    one_less, more = (
        _extra_cost(pool, budget, best, target)
        for target in (budget.target - 1 / pool.rows, stricter)
    )
    row = f"one row better (by {format_number(units.gap(1.0))} {units.quantity})"
    parts = [f"{row} costs {format_number(one_less)}"] if one_less else []
    if more is None:
        within = " within the budget" if budget.amounts is not None else ""
        parts.append(f"no mix reaches {name}{within}")
    else:
        parts.append(f"{name} costs {format_number(more) if more > 0 else 'nothing'} more")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _extra_cost(pool: Pool, budget: Budget, best: Optimum, target: float) -> float | None:
    """Return the extra cost of a stricter target; None if no mix reaches it."""
    if target < 0:
        return None
    try:
        cost = optimum(pool, replace(budget, target=target)).cost[0]
    except UnreachableError:
        return None
    return pool.rows * max(0.0, float(cost - best.cost[0]))


def interval_data(estimate: Estimate | None) -> dict[str, float | None] | None:
    """Return an estimate as JSON data: value, low and high; an infinite interval is None."""
    if estimate is None:
        return None
    finite = math.isfinite(estimate.half_width)
    return {
        "value": estimate.value,
        "low": estimate.low if finite else None,
        "high": estimate.high if finite else None,
    }


def mean_in_units(mean_loss: Estimate, units: Units) -> Estimate:
    """Convert the estimate of a mean loss, with its interval, to the unit of a table."""
    return mean_loss.linear(-units.gap(1.0) if units.scores else units.gap(1.0), units.number(0.0))


def _difference(losses: Estimate | None, than: str, units: Units, sign: float = 1.0) -> str:
    """Return "3.0 ± 1.0 more total loss than ..."; for scores, "less total score"; `sign` -1 for a gain."""
    assert losses is not None
    difference = losses.linear(sign * units.gap(1.0))
    change = "more" if (difference.value >= 0) != units.scores else "less"
    size = difference if difference.value >= 0 else difference.linear(-1.0)
    return f"{format_estimate(size)} {change} total {units.quantity} {than}"


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")
