"""What several test files share."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tombola.engine.compiler import compiled, interpreted

SOURCE = Path(__file__).parent.parent / "src"

HANGS = 1800  # seconds after which a process hangs; no test fails because a machine is slow

# Tests of 7 seconds and more, most of it compilation; a shorter test covers the same. Left to `make test-full`.
SLOW_TESTS = (
    "test_compiler.py::test_warm_start_compiles_nothing",
    "test_compiler.py::test_kernel_that_makes_arrays_works_too",
    "test_docs.py::test_site_builds_without_warnings",
    "test_docs.py::test_how_to_output_matches_page[other_library]",
    "test_docs.py::test_how_to_output_matches_page[race_gate]",
    "test_docs.py::test_how_to_output_matches_page[route_prompts]",
    "test_docs.py::test_how_to_output_matches_page[gpu_models]",
    "test_docs.py::test_how_to_output_matches_page[leaderboard]",
    "test_notebooks.py::test_notebook_prints_what_it_shows[operations]",
    "test_notebooks.py::test_notebook_prints_what_it_shows[engineering]",
    "test_hostile_learners.py::test_hostile_learner_in_session",
    "test_target.py::test_learners_reach_target_near_its_cost",
    "test_target.py::test_live_run_aims",
    "test_base.py::test_budgeted_kernels_in_any_order",
    "test_base.py::test_reductions_take_reordered_bases",
    "test_base.py::test_full_information_kernels_in_any_order",
    "test_regrets.py::test_random_labels_raise",
    "test_regrets.py::test_planning_learner_within_budget",
    "test_feedback_models.py::test_label_trace_has_ticket_probabilities",
    "test_switching.py::test_obeys_the_laws[plain-BettingElimination(delta=None)]",
    "test_switching.py::test_obeys_the_laws[plain-BernsteinElimination",
    "test_budgeted.py::test_simulation_agrees_with_its_twin[simulation-strict",
    "test_budgeted.py::test_session_equals_play_also_saved_midway[PrimalDual()-strict]",
    "test_full_information.py::test_learner_agrees_with_its_twin[simulation of hedge",
    "test_full_information.py::test_learner_agrees_with_its_twin[interleaved",
    "test_reductions.py::test_session_is_restored_with_all_parts",
    "test_table.py::test_too_long_line_is_rejected_early",
    "test_service_kill.py::test_server_killed_under_load",
    "test_service_faults.py::test_server_killed_during_a_race",
    "test_session_kill.py::test_start_killed",
    "test_report.py::test_free_action_is_null_action",
    "test_constraints.py::test_empirical_lp_on_real_prices",
    "test_inspect_ai.py::test_dropped_candidates_are_not_evaluated",
    "test_app.py::test_demo_runs_three_commands[language_models]",
    "test_app.py::test_reproduce_writes_rows_and_pictures",
    "test_app.py::test_compare_under_a_budget_as_json_and_page",
    "test_interrupt.py::test_command_line_says_that_it_stopped[2",
    "test_bandit.py::test_does_what_source_says[KLUCB",
    "test_checks.py::test_base_learners_below_pass_every_check[plain]",
    "test_best.py::test_theorem_1_exactly[1]",
)

Run: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests."""
    for item in items:
        if any(name in item.nodeid for name in SLOW_TESTS):
            item.add_marker(pytest.mark.full)


@pytest.fixture(scope="session", autouse=True)
def _compiled() -> Iterator[None]:
    """Compile kernels also where interpreting them would be faster: their machine code is under test."""
    with compiled():
        yield


@pytest.fixture
def run_python(tmp_path: Path) -> Run:
    """Return a function that runs Python in a process of its own, with these arguments and environment."""

    def run(*arguments: str, cwd: Path | None = None, **environment: str) -> "subprocess.CompletedProcess[str]":
        path = os.pathsep.join([str(SOURCE), *([str(cwd)] if cwd else [])])
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        inherited["TOMBOLA_CACHE"] = str(tmp_path / "cache")
        return subprocess.run(
            [sys.executable, "-W", "error", *arguments],
            capture_output=True,
            text=True,
            cwd=cwd,
            env={**inherited, "PYTHONPATH": path, "COLUMNS": "200", **environment},
            timeout=HANGS,
            check=False,
        )

    return run


@pytest.fixture
def plainly() -> Iterator[None]:
    """Run kernels as plain Python: for tests of what is around them, which would wait for a compiler for nothing."""
    with interpreted():
        yield


@pytest.fixture(params=["plain", pytest.param("compiled", marks=pytest.mark.full)])
def either_way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run kernels as plain Python, and in a full run compiled as well: a learner takes seconds to compile."""
    with interpreted() if request.param == "plain" else nullcontext():
        yield


@pytest.fixture
def one_sentence() -> Callable[[object], str]:
    """Return the check that an error is one sentence which says what to write instead."""

    def check(error: object) -> str:
        message = str(error)
        assert "\n" not in message
        assert message.endswith(".")
        assert ". " not in message
        assert "; " in message, "the part after the semicolon says what to write instead"
        return message

    return check


@pytest.fixture
def browser() -> Iterator[Any]:
    """Return a browser without a window."""
    from playwright.sync_api import sync_playwright

    from browser import CHROMIUM, FLAGS

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield launched
        launched.close()
