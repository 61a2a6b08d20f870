"""GEPA: noise is rejected and a true gain accepted, with and without the real package."""

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tombola.errors import FeedbackError, ParameterError
from tombola.plugins.gepa import GateAcceptance, GateEvaluation


def proposal(before: Any, after: Any) -> Any:
    """Return what the criterion reads of a proposal of GEPA."""
    return SimpleNamespace(subsample_scores_before=before, subsample_scores_after=after)


def programs(*scores: Any) -> Any:
    """Return what the policy reads of the state of GEPA: scores by program and row."""
    return SimpleNamespace(
        prog_candidate_val_subscores=[dict(enumerate(own)) for own in scores],
        get_program_average_val_subset=lambda at: (float(np.mean(scores[at])), len(scores[at])),
    )


class Loader:
    """Validation rows, as GEPA loads them."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def all_ids(self) -> list[int]:
        return list(range(self.rows))


def test_only_a_shown_gain_is_accepted() -> None:
    criterion = GateAcceptance(binary=True)
    assert criterion.should_accept(proposal([0.0] * 5 + [1.0], [1.0] * 6), None)
    # Larger sums, which GEPA accepts by default.
    assert not criterion.should_accept(proposal([0.0] * 4, [1.0] * 4), None)
    noise = proposal([0.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.0, 1.0])
    assert not criterion.should_accept(noise, None)
    assert "UNDECIDED" in criterion.reject_reason(noise, None)
    assert "old 0.500, new 0.750 on 4 rows" in criterion.reject_reason(noise, None)
    same = proposal([1.0, 0.0] * 80, [1.0, 0.0] * 80)
    assert not criterion.should_accept(same, None)
    assert GateAcceptance(0.05).should_accept(same, None)


def test_noise_is_accepted_at_most_at_the_level() -> None:
    """Five standard errors above the level, so a false alarm has probability below 1e-6."""
    rng = np.random.default_rng(3)
    drawn = (rng.random((400, 2, 20)) < 0.5).astype(float)
    criterion = GateAcceptance(level=0.2, binary=True)
    accepted = [
        criterion.should_accept(proposal(before.tolist(), after.tolist()), None)
        for before, after in drawn[:80]
    ]
    allowed = 0.2 + 5 * (0.2 * 0.8 / len(accepted)) ** 0.5
    assert np.mean(accepted) <= allowed
    # The default of GEPA, a larger sum.
    assert np.mean(drawn[:, 1].sum(axis=1) > drawn[:, 0].sum(axis=1)) > 0.35


@pytest.mark.parametrize(("before", "after"), [([], []), ([1.0], [1.0, 0.0]), (None, [1.0])])
def test_scores_on_other_rows_are_rejected(before: Any, after: Any) -> None:
    with pytest.raises(FeedbackError, match="on the same rows"):
        GateAcceptance().should_accept(proposal(before, after), None)
    with pytest.raises(ParameterError, match="level"):
        GateAcceptance(level=0)


def test_the_first_program_stays_until_another_is_shown_to_be_better() -> None:
    worse, equal, better = [0.0] * 100, [0.0, 1.0] * 50, [1.0] * 100
    policy = GateEvaluation(seed=1, binary=True)
    assert policy.get_best_program(programs(equal)) == 0
    state = programs(equal, [1.0, 0.0] * 50, worse, [1.0, 1.0] + [0.0, 1.0] * 49)
    # Program 3 has the largest mean, by one row.
    assert policy.get_best_program(state) == 0
    state.prog_candidate_val_subscores.append(dict(enumerate(better)))
    assert policy.get_best_program(state) == 4
    assert policy.get_valset_score(1, state) == 0.5
    # The level is shared: ten rows show a gain to the first program, not to the last of many.
    first = GateEvaluation(seed=1, binary=True)
    assert first.get_best_program(programs([0.0] * 10, [1.0] * 10)) == 1
    many = programs(*[[0.0] * 10] * 12, [1.0] * 10)
    assert GateEvaluation(seed=1, binary=True).get_best_program(many) == 0


def test_rows_are_a_fixed_random_part() -> None:
    policy = GateEvaluation(seed=4, rows=7)
    part = policy.get_eval_batch(Loader(30), None)
    assert len(set(part)) == 7
    assert part == policy.get_eval_batch(Loader(30), None)
    assert part != sorted(part)
    assert sorted(GateEvaluation(seed=4).get_eval_batch(Loader(30), None)) == list(range(30))


class Toy:
    """Adapter of GEPA whose prompt is its own success probability; answers are random."""

    propose_new_texts = None

    def __init__(self, gain: float, seed: int) -> None:
        self.gain = gain
        self.proposals = 0
        self.rng = random.Random(seed)

    def evaluate(self, batch: Any, candidate: Any, capture_traces: bool = False) -> Any:
        from gepa import EvaluationBatch

        chance = float(candidate["prompt"].split()[0])
        scores = [float(self.rng.random() < chance) for _ in batch]
        return EvaluationBatch(list(scores), scores, list(scores) if capture_traces else None)

    def make_reflective_dataset(self, candidate: Any, batch: Any, components: Any) -> Any:
        return {name: [{"Feedback": "try again"}] for name in components}

    def propose(self, candidate: Any, dataset: Any, components: Any) -> dict[str, str]:
        """Return another text: of the same quality, or better by the gain."""
        self.proposals += 1
        return {"prompt": f"{0.5 + self.gain} {self.proposals}"}


def run_gepa(gain: float, seed: int, **options: Any) -> tuple[float, Any]:
    """Return the share of accepted proposals of a run with the real package, and its result."""
    import gepa
    from gepa.utils.stop_condition import MaxCandidateProposalsStopper

    toy = Toy(gain, seed)
    result = gepa.optimize(
        {"prompt": "0.5 0"},
        trainset=list(range(200)),
        valset=list(range(60)),
        adapter=toy,
        custom_candidate_proposer=toy.propose,
        candidate_selection_strategy=SimpleNamespace(select_candidate_idx=lambda state: 0),
        reflection_minibatch_size=25,
        stop_callbacks=MaxCandidateProposalsStopper(4),
        logger=SimpleNamespace(log=lambda message: None),
        seed=seed,
        **options,
    )
    return (len(result.candidates) - 1) / toy.proposals, result


@pytest.mark.parametrize("runs", [4, pytest.param(100, marks=pytest.mark.full)])
def test_real_package(runs: int) -> None:
    """Five standard errors around the level and around a half."""
    pytest.importorskip("gepa", reason="gepa is not installed: pip install 'tombola[gepa]'")
    shares = {}
    for name, gain in (("noise", 0.0), ("gain", 0.4)):
        for criterion in (None, GateAcceptance(binary=True)):
            options = {} if criterion is None else {"acceptance_criterion": criterion}
            done = [run_gepa(gain, seed, **options)[0] for seed in range(runs)]
            shares[name, criterion is None] = float(np.mean(done))
    print(shares)
    error = 5 * (0.05 * 0.95 / (4 * runs)) ** 0.5
    assert shares["noise", False] <= 0.05 + error
    assert shares["gain", False] >= 0.7
    if runs == 100:
        assert shares["noise", True] > 0.3


def test_real_package_takes_the_policy() -> None:
    """The best program is the first one of noise, and the better one of a true gain."""
    pytest.importorskip("gepa", reason="gepa is not installed: pip install 'tombola[gepa]'")
    from gepa.strategies.acceptance import AcceptanceCriterion
    from gepa.strategies.eval_policy import EvaluationPolicy

    assert isinstance(GateAcceptance(), AcceptanceCriterion)
    assert isinstance(GateEvaluation(seed=1), EvaluationPolicy)
    for gain in (0.0, 0.45):
        policy = GateEvaluation(seed=1, rows=40, binary=True)
        _, result = run_gepa(gain, 0, val_evaluation_policy=policy)
        assert len(result.candidates) > 1
        # GEPA takes the largest mean, which noise has as often as not.
        assert result.best_idx > 0
        assert (policy.best_index(result) > 0) == (gain > 0)
