"""Routing by features, compared with other libraries on the same rows and orders.

    python benchmarks/context_peers.py POOLS --orders 5 [--rows 1000] [--tables a,b]

Run it in an environment with vowpalwabbit, contextualbandits, river and asf; a missing library is
skipped.

share             (best fixed action - learner) / (best fixed action - best action of each row), in
                  per cent, all rows
bandit feedback   the loss of the action played; full rows: all losses of a row
asf               offline and cross-validated, for reference only
mean loss         with costs: RoutedLP, the best fixed mix and EmpiricalLP with 30 % of the cost of
                  the best action
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from context import read_pool, share
from measure import standard_error
from tombola import Budget, Pool, play
from tombola.budget.optimum import optimum
from tombola.learners import EmpiricalLP, FollowTheLeader, Thrifty
from tombola.policies import Routed, RoutedLP, Trees
from tombola.policies.models import actions_of, fit_models

TABLES = (
    "aslib_asp_potassco",
    "aslib_graphs_2015",
    "frugalml_command",
    "frugalml_rafdb",
    "frugalml_yelp",
    "routellm_mmlu",
)
VOWPAL_WABBIT = {
    "squarecb": "--squarecb --gamma_scale 10",
    "epsilon": "--epsilon 0.05",
    "regcbopt": "--regcb --regcbopt",
    "cover": "--cover 3",
    "bag": "--bag 5",
}
BUDGET_SHARE = 0.3
# asf fits a forest for each pair of actions and each fold: few trees, to end within minutes.
ASF_FOLDS, ASF_TREES = 5, 20
Peer = Callable[[np.ndarray, np.ndarray, int], float]


def standardise(features: np.ndarray) -> np.ndarray:
    """Return features with mean 0 and variance 1 over the list; missing ones are 0."""
    known = np.where(np.isfinite(features), features, np.nan)
    empty = ~np.isfinite(known).any(axis=0)
    known[:, empty] = 0.0
    scale = np.nanstd(known, axis=0)
    scores = (known - np.nanmean(known, axis=0)) / np.where(scale > 0, scale, 1.0)
    return np.asarray(np.clip(np.nan_to_num(scores), -3.0, 3.0))


def vowpal_wabbit(options: str) -> Peer:
    """Return a policy of Vowpal Wabbit, with interactions of context and action."""
    import vowpalwabbit

    def run(losses: np.ndarray, features: np.ndarray, seed: int) -> float:
        k, total = losses.shape[1], 0.0
        worker = vowpalwabbit.Workspace(
            f"--cb_explore_adf {options} -q sa --cb_type mtr --quiet --random_seed {seed + 1}"
        )
        rng = np.random.default_rng(seed)
        for row, x in zip(losses, features, strict=True):
            shared = "shared |s " + " ".join(f"{i}:{v:.5g}" for i, v in enumerate(x) if v)
            plain = [f"|a a{a}" for a in range(k)]
            probabilities = np.array(worker.predict([shared, *plain]))
            action = int(rng.choice(k, p=probabilities / probabilities.sum()))
            total += row[action]
            plain[action] = f"0:{row[action]:.5g}:{probabilities[action]:.6g} {plain[action]}"
            worker.learn([shared, *plain])
        worker.finish()
        return total

    return run


def contextual_bandits(name: str) -> Peer:
    """Return a policy of contextualbandits, refitted at growth 1.5."""
    import contextualbandits.online as online
    from sklearn.linear_model import LogisticRegression

    def run(losses: np.ndarray, features: np.ndarray, seed: int) -> float:
        k, rng = losses.shape[1], np.random.default_rng(seed)
        policy = getattr(online, name)(
            LogisticRegression(max_iter=200), nchoices=k, random_state=seed + 1
        )
        actions, end = rng.integers(0, k, len(losses)), 16
        while end < len(losses):
            rewards = 1.0 - losses[np.arange(end), actions[:end]] > rng.random(end)
            policy.fit(features[:end], actions[:end], rewards.astype(float))
            stop = min(len(losses), int(1.5 * end))
            actions[end:stop] = policy.predict(features[end:stop]).astype(int)
            end = stop
        return float(losses[np.arange(len(losses)), actions].sum())

    return run


def river_lin_ucb(losses: np.ndarray, features: np.ndarray, seed: int) -> float:
    """Return the loss of river's LinUCBDisjoint with its default rate."""
    # Without its types: they differ between versions, and most environments lack it.
    bandit: Any = import_module("river.bandit")
    policy, total = bandit.LinUCBDisjoint(alpha=1.0, seed=seed), 0.0
    arms = list(range(losses.shape[1]))
    for row, x in zip(losses, features, strict=True):
        context = {"constant": 1.0, **{str(i): float(v) for i, v in enumerate(x)}}
        action = policy.pull(arms, context=context)
        total += row[action]
        policy.update(action, context, 1.0 - row[action])
    return total


def forest(losses: np.ndarray, features: np.ndarray, seed: int) -> float:
    """Return the loss of a plain forest, retrained at growth 1.5; full information."""
    total, start, end = 0.0, 0, 16
    fitted: Any = None
    while start < len(losses):
        block = slice(start, min(end, len(losses)))
        actions = (
            np.zeros(len(losses[block]), int)
            if fitted is None
            else actions_of(fitted.predict(features[block]))
        )
        total += float(losses[block][np.arange(len(actions)), actions].sum())
        start = block.stop
        fitted = (
            fit_models((Trees(3),), features[:start], losses[:start], seed)[0]
            if start < len(losses)
            else None
        )
        end = max(start + 1, int(1.5 * start))
    return total


def asf_offline(losses: np.ndarray, features: np.ndarray, seed: int) -> float:
    """Return the cross-validated loss of asf's pairwise classifier."""
    import pandas as pd
    from asf.selectors import PairwiseClassifier
    from sklearn.ensemble import RandomForestClassifier

    table, performance = pd.DataFrame(features), pd.DataFrame(losses)
    table.columns, performance.columns = [f"f{i}" for i in table], [f"a{i}" for i in performance]
    table.index = performance.index = pd.Index(
        [str(i) for i in range(len(losses))]
    )  # asf returns rows by text
    folds, total = np.random.default_rng(seed).permutation(len(losses)) % ASF_FOLDS, 0.0
    for fold in range(ASF_FOLDS):
        selector = PairwiseClassifier(
            estimator=RandomForestClassifier(ASF_TREES, random_state=seed)
        )
        selector.fit(table[folds != fold], performance[folds != fold])
        chosen = selector.predict(table[folds == fold])
        for row, schedule in chosen.items():
            first = schedule[0][0] if isinstance(schedule[0], tuple) else schedule[0]
            total += float(performance.loc[row, first])
    return total


def installed_peers() -> dict[str, Peer]:
    """Return the installed peers by name."""
    makers: dict[str, Callable[[], Peer]] = {}
    makers |= {
        f"VW {name}": partial(vowpal_wabbit, options) for name, options in VOWPAL_WABBIT.items()
    }
    for name in ("BootstrappedTS", "AdaptiveGreedy"):
        makers[f"contextualbandits {name}"] = partial(contextual_bandits, name)
    makers["river LinUCBDisjoint"] = partial(_if_installed, "river.bandit", river_lin_ucb)
    makers["asf, offline"] = partial(_if_installed, "asf.selectors", asf_offline)
    found: dict[str, Peer] = {}
    for name, make in makers.items():
        try:
            found[name] = make()
        except ImportError as error:
            print(f"{name}: left out ({error})")
    return found | {"forest, full rows": forest}


def _if_installed(module: str, peer: Peer) -> Peer:
    import_module(module)
    return peer


def own_losses(pool: Pool, order: np.ndarray, seed: int) -> dict[str, float]:
    """Return the total losses of tombola's policies on the rows in this order."""
    losses = np.asarray(pool.losses)[order]
    ordered = Pool(losses, features=np.asarray(pool.features)[order])
    routed = play(Routed(), ordered, order="given", seed=seed)
    return {
        "Routed, averaged": routed.expected_loss,
        "Routed, realised": routed.loss,
        "Thrifty, bandit": float(play(Thrifty(price=1.0), ordered, order="given", seed=seed).loss),
        "FollowTheLeader, full rows": float(
            play(FollowTheLeader(), ordered, order="given", seed=seed).loss
        ),
    }


def losses_at_cost(pool: Pool, order: np.ndarray, seed: int) -> dict[str, float]:
    """Return mean losses of RoutedLP, the best fixed mix and EmpiricalLP at one cost."""
    costs = np.asarray(pool.costs, np.float64).reshape(pool.rows, pool.k)[order]
    ordered = Pool(
        np.asarray(pool.losses)[order], costs=costs, features=np.asarray(pool.features)[order]
    )
    budget = Budget(BUDGET_SHARE * float(costs[:, pool.best].sum()), null="add")
    return {
        "RoutedLP": play(RoutedLP(), ordered, budget=budget, order="given", seed=seed).loss
        / pool.rows,
        "best fixed mix": 1 - optimum(ordered, budget).value,
        "EmpiricalLP": float(
            play(EmpiricalLP(), ordered, budget=budget, order="given", seed=seed).loss
        )
        / pool.rows,
    }


def print_table(
    title: str, found: dict[str, dict[str, list[float]]], names: list[str], digits: int
) -> None:
    """Print mean and standard error over orders as a Markdown table, policies x lists."""
    print(f"\n| {title} | {' | '.join(names)} |\n|---|{'---:|' * len(names)}")
    for label, lists in found.items():
        cells = []
        for name in names:
            values = lists.get(name, [])
            cells.append(
                f"{np.mean(values):.{digits}f} ± {standard_error(values):.{digits}f}"
                if values
                else ""
            )
        print(f"| {label} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pools", type=Path)
    parser.add_argument("--orders", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--tables", default=",".join(TABLES))
    given = parser.parse_args()
    others, names = installed_peers(), given.tables.split(",")
    # Policy -> table -> one value per order.
    shares, priced = (defaultdict[str, Any](partial(defaultdict, list)) for _ in range(2))
    for name in names:
        pool = read_pool(given.pools, name, given.rows)
        scores, losses = standardise(np.asarray(pool.features)), np.asarray(pool.losses)
        milliseconds: dict[str, float] = {}
        for seed in range(given.orders):
            order = np.random.default_rng(seed).permutation(pool.rows)
            for label, loss in own_losses(pool, order, seed).items():
                shares[label][name].append(share(pool, loss))
            for label, run in others.items():
                began = time.process_time()
                try:
                    loss = run(losses[order], scores[order], seed)
                except Exception as error:  # a peer may fail on a table
                    print(
                        f"{name}: {label} failed: "
                        f"{str(error).splitlines()[0] if str(error) else error!r}"
                    )
                    continue
                shares[label][name].append(share(pool, loss))
                milliseconds[label] = 1e3 * (time.process_time() - began) / pool.rows
            if pool.costs is not None:
                for label, loss in losses_at_cost(pool, order, seed).items():
                    priced[label][name].append(loss)
        taken = ", ".join(f"{label} {value:.2f}" for label, value in milliseconds.items())
        print(
            f"{name}: {pool.rows} rows, {pool.k} actions, {given.orders} orders; ms a row: {taken}",
            flush=True,
        )
    print_table("share in per cent", shares, names, 1)
    with_costs = [name for name in names if name in priced["RoutedLP"]]
    print_table(f"mean loss at {BUDGET_SHARE:.0%} of the cost", priced, with_costs, 4)


if __name__ == "__main__":
    main()
