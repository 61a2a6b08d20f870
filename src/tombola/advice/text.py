"""Sentences: an answer in words, what to do first; the terminal and the page print the same."""

import shlex
from contextlib import suppress
from typing import NamedTuple

from tombola import _statistics
from tombola._formatting import format_estimate, format_number, join_names, option_text
from tombola._statistics import Estimate
from tombola.advice.mix_text import mix_words, price_words
from tombola.advice.report import Answer
from tombola.engine.loop import LOSS, SPENT
from tombola.learners.base import Learner

FEW = 10  # rows per action below which little can be learned
LONGEST = 160  # letters of a command's list of actions


class Sentences(NamedTuple):
    """What to do, what that is worth, how sure it is, what the table itself says, how to start, and warnings."""

    do: str
    worth: str
    sure: str
    here: str
    start: str
    warnings: tuple[str, ...]

    def pairs(self) -> list[tuple[str, str]]:
        """Return the sentences with the word that says what each is about; none is empty."""
        found = [("answer", self.do), ("worth", self.worth), ("how sure", self.sure), ("this table", self.here)]
        found += [("start", self.start), *(("warning", warning) for warning in self.warnings)]
        return [(word, sentence) for word, sentence in found if sentence]


def sentences(answer: Answer) -> Sentences:
    """Say what an answer means; with a target, the mix that reaches it comes first, and the learner after it."""
    if answer.budget is not None and answer.budget.target is not None:
        mix, price = mix_words(answer.pool, answer.budget), price_words(answer.pool, answer.budget)
        return Sentences(mix, price, _sure(answer), _reached(answer), "", tuple(_warnings(answer)))
    return Sentences(
        _do(answer), _worth(answer), _sure(answer), _here(answer), start_command(answer), tuple(_warnings(answer))
    )


def start_command(answer: Answer) -> str:
    """Return the command that starts a live run with the advised learner, or nothing where it cannot."""
    advice = answer.advice
    if advice.stays or answer.runs.amounts or ".py:" in advice.learner:  # a run finds no learner in somebody's file
        return ""
    names = [f'"{name}"' if "," in name else name for name in answer.pool.actions]
    fitting = [name for at, name in enumerate(names) if len(",".join(names[: at + 1])) <= LONGEST] or names[:1]
    actions = ",".join([*fitting, *["..."] * (len(fitting) < len(names))])
    learner = written(answer.question.recipes[advice.learner])
    words = ["--actions", actions, "--learner", learner, "--seed", "1", "--out", "my.run"]
    return f"tombola session start ids.csv {shlex.join(words)}"


def written(learner: Learner) -> str:
    """Return a learner as one writes it after --learner: its name, and its parameters if they are not the usual ones.

    >>> from tombola import UCB2, FollowTheLeader
    >>> written(UCB2(alpha=0.5)), written(FollowTheLeader(ties="random"))
    ('UCB2', 'FollowTheLeader(ties="random")')
    """
    with suppress(TypeError):
        if learner == type(learner)():
            return type(learner).__name__
    return repr(learner).replace("'", '"')


def _do(answer: Answer) -> str:
    advice = answer.advice
    if advice.stays:
        more = _negative(advice.gain)
        beyond = " beyond noise" if more.value < 0 else ""
        return (
            f"pick one action and stay: no learner beats that here{beyond}; {advice.learner}, the best, has "
            f"{_more(more)} in all than one picked blindly"
        )
    tied = f", tied with {join_names(advice.tied, limit=None, last=' and ')}" if advice.tied else ""
    ahead = f": {format_estimate(advice.ahead)} less loss in all than {advice.next}" if advice.ahead is not None else ""
    reason = f"; {advice.why}" if advice.why and not advice.tied else ""
    return f"use {advice.learner} for a list like this one{tied}{ahead}{reason}"


def _more(estimate: Estimate) -> str:
    """Return how much more loss that is, or how much less."""
    return (
        f"{format_estimate(estimate)} more loss"
        if estimate.value >= 0
        else f"{format_estimate(_negative(estimate))} less loss"
    )


def _negative(estimate: Estimate | None) -> Estimate:
    assert estimate is not None
    return Estimate(0.0 - estimate.value, -estimate.high, -estimate.low, estimate.repetitions)


def _worth(answer: Answer) -> str:
    advice, rows = answer.advice, answer.pool.rows
    against = "the best fixed mix within the budget" if answer.runs.amounts else "the best action known beforehand"
    regret = f"{_more(advice.regret)} in all than {against}"
    if advice.gain is None or advice.stays:
        return f"over {rows:,} rows, {advice.learner} has {regret}"
    gain = f"{_more(_negative(advice.gain))} in all than one action picked blindly, on average"
    return f"over {rows:,} rows, {gain}; {regret}"


def _sure(answer: Answer) -> str:
    count = answer.question.repetitions
    if count == 1:
        return f"one repetition says little; write {option_text('repetitions', '40')}"
    words = (
        f"means over {count} repetitions of the {answer.pool.rows:,} rows; ± is half the width of the 95 % interval, "
        "and differences are taken on the same orders"
    )
    if answer.bound is not None and answer.bound < answer.pool.rows:  # else it says nothing that is not plain
        words += f"; whatever the table, its expected regret is at most {format_number(answer.bound)} in random order (proved)"
    return words


def _here(answer: Answer) -> str:
    if answer.budget is not None:
        mix, price = mix_words(answer.pool, answer.budget), price_words(answer.pool, answer.budget)
        return f"you have it whole: {mix}; {price}; a learner is for the next list like this one"
    return f"you have it whole: the best action in it is {answer.best}; a learner is for the next list like this one"


def _reached(answer: Answer) -> str:
    """Say what the best learner makes of a target."""
    runs, advice, rows = answer.runs, answer.advice, answer.pool.rows
    end = runs.cell(advice.learner, advice.order).sums[:, -1]
    loss, spent = _statistics.mean(end[:, LOSS] / rows), _statistics.mean(end[:, SPENT])
    cheapest = rows * runs.target_regrets[rows].cost
    share = f", {spent.value / cheapest:.0%} of that mix".replace("%", " %") if cheapest > 0 else ""
    return (
        f"you have it whole; on the next list like this one {advice.learner} would have a mean loss of "
        f"{format_estimate(loss)} and spend {format_estimate(spent)}{share}; the target is aimed at, not guaranteed"
    )


def _warnings(answer: Answer) -> list[str]:
    met, pool, found = answer.question.met, answer.pool, []
    if met.delay >= pool.rows:
        found.append(
            f"feedback comes {met.delay:,} rounds late and the list has {pool.rows:,} rows: nothing is known in time, "
            "so nothing can be learned"
        )
    elif pool.rows < FEW * pool.k:
        found.append(f"{pool.rows / pool.k:.3g} rows for each action: too few to try them all and still gain by it")
    if answer.verdict.refuted and "given" not in answer.question.orders:
        found.append(
            "the table is not listed in random order: shuffle your list, or compare with --orders random,given"
        )
    if answer.advice.order == "given":
        found.append("this holds for the order of the table only; a bound needs a shuffle")
    if len(answer.runs.learners) == 1 and answer.question.learners:
        alone = answer.runs.learners[0]
        found.append(
            f"{alone} is the only learner that was compared; leave out {option_text('learners')} to see others"
        )
    return found
