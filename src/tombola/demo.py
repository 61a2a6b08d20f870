"""Example pools: scikit-learn's digits, and one for each how-to guide.

Only the digits are real data; the others are generated. Each docstring states the question of its
example.
"""

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from tombola import _validate
from tombola._types import Floats, Seed
from tombola.errors import TombolaError
from tombola.pool import Pool
from tombola.tables.to_pool import Table

# The classifiers: milliseconds of one processor to train on 1,437 images and read the other 360,
# measured once, so that the pool is the same everywhere; then where scikit-learn has it, and its
# parameters.
_CLASSIFIERS: dict[str, tuple[float, str, dict[str, Any]]] = {
    "ridge": (5.3, "linear_model.RidgeClassifier", {}),
    "naive Bayes": (3.1, "naive_bayes.GaussianNB", {}),
    "small tree": (12.6, "tree.DecisionTreeClassifier", {"max_depth": 6, "random_state": 0}),
    "tree": (18.7, "tree.DecisionTreeClassifier", {"random_state": 0}),
    "discriminant": (9.0, "discriminant_analysis.LinearDiscriminantAnalysis", {}),
    "support vectors": (44.6, "svm.SVC", {}),
    "neighbours": (6.1, "neighbors.KNeighborsClassifier", {"n_neighbors": 3}),
    "forest": (339.6, "ensemble.RandomForestClassifier", {"n_estimators": 100, "random_state": 0}),
}


@cache
def digits() -> Pool:
    """Return losses of eight classifiers on the 1,797 images of scikit-learn's digits.

    A row is an image, an action a classifier; the loss is 1 where the held-out image is misread.
    Predictions are those of a five-fold cross-validation, so no classifier has seen the image that
    it reads. The cost of an action is the time it takes to train it and read one fold, in
    milliseconds as measured once on one machine. The classifiers are trained anew in each call,
    which takes seconds. Raises TombolaError without scikit-learn.
    """
    images, labels = _scikit("datasets").load_digits(return_X_y=True)
    choice = _scikit("model_selection")
    folds = choice.StratifiedKFold(5, shuffle=True, random_state=0)
    losses = np.empty((len(labels), len(_CLASSIFIERS)))
    for action, (_, home, parameters) in enumerate(_CLASSIFIERS.values()):
        module, name = home.split(".")
        classifier = getattr(_scikit(module), name)(**parameters)
        losses[:, action] = choice.cross_val_predict(classifier, images, labels, cv=folds) != labels
    prices = [price for price, _, _ in _CLASSIFIERS.values()]
    return Pool(
        losses,
        list(_CLASSIFIERS),
        _ids("image", len(labels)),
        np.broadcast_to(prices, losses.shape),
    )


def language_models(horizon: int = 2000, *, seed: Seed) -> Pool:
    """Return generated losses and costs of four language models on prompts.

    The loss is 1 for a wrong answer, else 0; the cost is in dollars, by length. Expensive models
    are better, but most prompts are easy. Question: how many correct answers can a given amount
    buy?

    >>> pool = language_models(100, seed=0)
    >>> pool, pool.actions
    (Pool(100 rows, 4 actions, 1 resources), ('tiny', 'small', 'medium', 'large'))
    """
    T, rng = _start("language_models", horizon, seed)
    skill = np.array([-0.5, 0.4, 1.1, 1.7])
    dollars = np.array([0.2, 1.0, 5.0, 25.0]) / 1e6
    tokens = np.ceil(rng.lognormal(6.5, 0.7, T))
    wrong = _misses(rng, rng.normal(0, 1, T), skill)
    return Pool(
        wrong, ["tiny", "small", "medium", "large"], _ids("prompt", T), tokens[:, None] * dollars
    )


def solvers(horizon: int = 1000, *, seed: Seed) -> Pool:
    """Return generated run times of five solvers on instances, as losses and costs.

    The loss is the run time divided by the cutoff of 900 seconds; the cost is in seconds. Run times
    are heavy-tailed, and each family of instances has its own fast solver. Question: which solver
    should run, if only its own run time is observed?

    >>> solvers(50, seed=0)
    Pool(50 rows, 5 actions, 1 resources)
    """
    T, rng = _start("solvers", horizon, seed)
    family = rng.integers(0, 5, T)
    median = np.array([3.9, 3.6, 4.2, 4.5, 3.2])
    logarithm = median + rng.normal(0, 1.5, (T, 1)) + rng.normal(0, 1.2, (T, 5))
    logarithm[np.arange(T), family] -= 1.5
    seconds = np.minimum(np.exp(logarithm), 900.0)
    return Pool(
        seconds / 900.0,
        ["alpha", "beta", "gamma", "delta", "epsilon"],
        _ids("instance", T),
        seconds,
    )


def evaluation(horizon: int = 5000, *, seed: Seed) -> Pool:
    """Return generated losses of six prompts on the questions of a test set.

    The loss is 1 for a wrong answer, else 0; all prompts find the same questions hard. Question:
    after how many questions, drawn in random order, is it certain which model is best on the whole
    set?

    >>> evaluation(200, seed=0).actions
    ('v1', 'v2', 'v3', 'v4', 'v5', 'v6')
    """
    T, rng = _start("evaluation", horizon, seed)
    skill = np.array([0.2, 0.5, 0.6, 0.9, 1.0, 1.5])
    return Pool(
        _misses(rng, rng.normal(0, 1.5, T), skill),
        [f"v{i}" for i in range(1, 7)],
        _ids("question", T),
    )


def call_list(horizon: int = 3000, *, seed: Seed) -> Table:
    """Return a generated list of customers, with delays of their outcomes in rounds.

    An action is one of three ways to reach a customer; the loss is 0 for a sale, else 1. The table
    has the losses in `Table.pool`, and the number of rounds until each outcome is known in
    `Table.delays`. Question: how to reach each customer, if an outcome is known only some hundred
    customers later, or after the list is done?

    >>> table = call_list(100, seed=0)
    >>> table.pool.actions, len(table.delays)
    (('phone', 'email', 'letter'), 100)
    """
    T, rng = _start("call_list", horizon, seed)
    keen = rng.normal(0, 0.6, (T, 1))
    probability = 1 / (1 + np.exp(-(keen + np.array([-2.2, -1.6, -2.6]))))
    delays = np.ceil(rng.gamma(2.0, 60.0, T)).astype(np.int64)
    pool = Pool(
        rng.random((T, 3)) >= probability,
        ["phone", "email", "letter"],
        _ids("customer", T),
    )
    return Table(
        pool,
        delays,
        ["made up: customers with late outcomes", f"mean delay {delays.mean():.0f} rounds"],
    )


def gpu_models(horizon: int = 4000, *, seed: Seed) -> Pool:
    """Return generated losses of four models that share one GPU.

    The loss is one minus the quality of an answer, in [0, 1]. One model is loaded at a time.
    Question: which model should answer, if loading another one takes as long as several answers?
    Try a switching price of 5 losses.

    >>> gpu_models(100, seed=0)
    Pool(100 rows, 4 actions)
    """
    T, rng = _start("gpu_models", horizon, seed)
    center = np.array([0.42, 0.38, 0.35, 0.45]) + rng.normal(0, 0.1, (T, 1))
    quality_lost = np.clip(center + rng.normal(0, 0.2, (T, 4)), 0.0, 1.0)
    return Pool(quality_lost, ["code", "chat", "mixed", "short"], _ids("request", T))


def _start(owner: str, horizon: int, seed: Seed) -> tuple[int, np.random.Generator]:
    return _validate.integer(owner, "horizon", horizon, least=1), np.random.default_rng(
        _validate.seed_sequence(owner, seed)
    )


def _misses(rng: np.random.Generator, hardness: Floats, skill: Floats) -> Floats:
    probability = 1 / (1 + np.exp(-2 * (skill - hardness[:, None])))
    return (rng.random(probability.shape) >= probability).astype(np.float64)


def _ids(what: str, count: int) -> list[str]:
    return [f"{what} {i}" for i in range(count)]


def _scikit(module: str) -> Any:
    try:
        return import_module(f"sklearn.{module}")
    except ImportError:
        raise TombolaError(
            "demo.digits: expected the package scikit-learn, found none; write pip install "
            '"tombola[demo]", or use a '
            "generated pool such as demo.language_models(seed=0)."
        ) from None
