"""Explanations of a router: curve, importance and words agree with data made for them."""

import numpy as np
import pytest

from tombola import Pool, play
from tombola.policies import Ridge, Routed
from tombola.policies.explain import (
    block_means,
    feature_importance,
    gain_of_twice_the_rows,
    tree_in_words,
)

pytestmark = pytest.mark.usefixtures("plainly")


def example(rows: int = 600) -> Pool:
    """The side decides which action is right; the other features are noise, one of them a category."""
    rng = np.random.default_rng(0)
    side = rng.integers(0, 2, rows)
    losses = np.abs(np.stack([side, 1 - side], axis=1) - (rng.random((rows, 1)) < 0.1))
    noise = rng.random((rows, 3))
    noise[::5, 0] = np.nan
    names = ["side=b", "size", "prompt:0", "prompt:1"]
    return Pool(
        losses, ["left", "right"], features=np.column_stack([side, noise]), feature_names=names
    )


def test_importance_finds_the_feature() -> None:
    found = feature_importance(example(), (Ridge(),))
    assert found[0].name == "side"
    assert {one.name for one in found} == {"side", "size", "prompt"}
    assert found[0].gain == pytest.approx(0.4, abs=0.08)
    assert all(abs(one.gain) < 0.05 for one in found[1:])


def test_importance_is_empty_without_a_router() -> None:
    pool = Pool(np.tile([0.0, 1.0], (90, 1)), features=np.arange(90.0))
    assert feature_importance(pool, (Ridge(),)) == ()


def test_tree_names_categories() -> None:
    first, *_, last = tree_in_words(example())
    assert first.startswith("side is not b")
    assert ": left (" in first
    assert last.startswith("side is b")
    assert ": right (" in last


def test_learning_curve_is_the_loss_of_the_blocks() -> None:
    record = play(Routed(models=(Ridge(),)), example(), seed=1).router
    assert record is not None
    curve = block_means(record)
    lengths = np.array([block.end - block.start for block in record.blocks])
    start = record.blocks[0].start
    assert (curve * lengths).sum() == pytest.approx(record.router_losses[start:].sum())


def test_rising_curve_promises_nothing() -> None:
    starts = np.array([16.0, 64.0, 256.0])
    assert gain_of_twice_the_rows(starts, np.array([0.1, 0.2, 0.3]), starts, 400) == 0.0
