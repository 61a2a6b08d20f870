"""Tour: a walk through one demo pool, in steps that say what is done and what comes out."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tombola import demo
from tombola._play import play
from tombola.advice.default_learners import Conditions
from tombola.advice.report import Answer, answer_to
from tombola.advice.request import CompareRequest
from tombola.confidence import certify_trace
from tombola.errors import ParameterError
from tombola.learners import FollowTheLeader
from tombola.pool import Pool
from tombola.readers.to_pool import Table

REPETITIONS = 20
BRIEF = ("ThompsonSampling", "FrugalUCB", "KLUCB", "UCB2", "Exp3")  # few, since each is compiled at its first use


class Station(NamedTuple):
    """A demo pool of the tour: how it is made, what it is, and the setting that it is there for."""

    make: Callable[[int], Pool]
    story: str
    setting: str
    met: Conditions
    amounts: tuple[float, ...] = ()
    learners: tuple[str, ...] = ()


class Step(NamedTuple):
    """One step: its heading, what is done, and an answer where learners were compared."""

    heading: str
    text: str
    answer: Answer | None = None


STATIONS: dict[str, Station] = {
    "language_models": Station(
        lambda seed: demo.language_models(seed=seed),
        "made-up language models on 2,000 prompts; loss 1 for a wrong answer, cost in dollars",
        "Now with a budget of 5 dollars for all prompts: how much of each model does that buy?",
        Conditions("full"),
        (5.0,),
    ),
    "solvers": Station(
        lambda seed: demo.solvers(seed=seed),
        "made-up solvers on 1,000 instances; the loss is the run time as a share of the cutoff",
        "Now all solvers run side by side, so that every run time is seen.",
        Conditions("full"),
    ),
    "evaluation": Station(
        lambda seed: demo.evaluation(seed=seed),
        "six made-up models on a test set of 5,000 questions; loss 1 for a wrong answer",
        "Now every model answers every question, so that whole rows are seen.",
        Conditions("full"),
    ),
    "call_list": Station(
        lambda seed: demo.call_list(seed=seed).pool,
        "3,000 made-up customers and three ways to reach them; loss 0 for a sale",
        "Now the outcome of a contact is known 120 customers later.",
        Conditions("bandit", delay=120),
        learners=BRIEF,
    ),
    "gpu_models": Station(
        lambda seed: demo.gpu_models(seed=seed),
        "four made-up models that share one GPU, and 4,000 requests; the loss is one minus the quality",
        "Now loading another model costs as much as 5 losses.",
        Conditions("bandit", switching_price=5.0),
        learners=(*BRIEF, "SerflingElimination"),
    ),
    "digits": Station(
        lambda _: demo.digits(),
        "eight classifiers of scikit-learn on 1,797 images of digits; loss 1 where an image is misread",
        "Now every classifier reads every image, so that whole rows are seen.",
        Conditions("full"),
    ),
}


def walk(name: str = "call_list", *, seed: int, workers: int = 1) -> Iterator[Step]:
    """Walk through a demo pool, step by step.

    >>> print(next(walk("solvers", seed=1)).text)
    Made-up solvers on 1,000 instances; the loss is the run time as a share of the cutoff. 1,000 rows, 5 actions: ...
    """
    if name not in STATIONS:
        raise ParameterError(f"demo: expected one of {', '.join(STATIONS)}, got {name!r}; write one of those.")
    stop = STATIONS[name]
    pool = stop.make(seed)
    table = Table(pool, None, [])
    sizes = f"{pool.rows:,} rows, {pool.k} actions: {', '.join(pool.actions)}"
    yield Step("The pool", f"{_sentence(stop.story)} {sizes}. The rows are fixed; tombola draws them in random order.")
    plain = CompareRequest(Conditions(), BRIEF, repetitions=REPETITIONS, seed=seed)
    first = answer_to(table, plain, name=name, workers=workers)
    yield Step("Is the table itself listed in random order?", _sentence(first.order_words))
    words = f"Each learner sees only the loss of the action it plays; {REPETITIONS} shuffles, the same for all."
    yield Step("Which learner does best?", words, first)
    question = CompareRequest(stop.met, stop.learners, amounts=stop.amounts, repetitions=REPETITIONS, seed=seed)
    changed = answer_to(table, question, name=name, workers=workers)
    yield Step("A change of setting", stop.setting, changed)
    yield Step("What is certain half-way", _half_way(pool, seed))
    yield Step("What next", "On a table of your own: tombola compare losses.csv --out page.html")


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _half_way(pool: Pool, seed: int) -> str:
    """Certify the first half of one play that sees whole rows."""
    trace = play(FollowTheLeader(), pool, seed=seed)
    certificate = certify_trace(trace, pool, rounds=pool.rows // 2)
    truth = pool.actions[pool.best]
    return f"{_sentence(str(certificate))} In truth the best action is {truth}: random order is all that this rests on."
