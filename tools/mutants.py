"""Mutation testing: change the program in one place; a test must fail.

    python tools/mutants.py 50 11               sample 50 mutants of every folder with seed 11;
                                                write the survivors
    python tools/mutants.py 50 11 evidence    of one folder
    python tools/mutants.py record              only record the lines that each test executes
    python tools/mutants.py again 11            try the survivors of seed 11 on the current code and
                                                tests
    python tools/mutants.py named [WORD]        mutants that survived once, each with the test that
                                                must fail; only those with the word in their name

A mutant changes one operator, number, condition, statement or order of arguments, in memory; no
file is written. The files are those of a folder of src/tombola, the tests those of the same folder
in tests/. Tests run in plain Python (NUMBA_DISABLE_JIT=1), so that their lines can be recorded: a
mutant is tried on the tests that execute its line, the fast ones first, for at most
MAX_TEST_SECONDS. Tests that fail or are slow without a mutant are skipped, and a failure counts
only if the test passes with unchanged code. Subprocesses of a test run without the mutant, so a
survivor may still fail there.
"""

import ast
import contextlib
import copy
import gc
import hashlib
import importlib.abc
import importlib.util
import inspect
import json
import os
import pkgutil
import random
import select
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tombola"
SURVIVORS = ROOT / "tools" / "mutants.json"
# Seconds of processor time with line recording; slower tests are skipped.
MAX_RECORDED_SECONDS = 1.0
# Seconds of tests for one mutant, as measured without it.
MAX_TEST_SECONDS = 8.0
# Seconds of processor time with line recording, after which a test is stopped.
STOP_SECONDS = 1
# Steps of a function without a new line, after which its lines are no longer recorded.
MAX_IDLE_STEPS = 1000
# Seconds of processor time, or five times that by the clock, after which a mutant counts as a hang:
# detected.
HANG_SECONDS = 20
FOLDERS = (
    "engine",
    "feedback",
    "budget",
    "evidence",
    "worklists",
    "racing",
    "bounds",
    "learners",
    "tables",
)
REPLACEMENTS: dict[Any, Any] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
# Description: file, old text, new text, name of the test that must fail.
NAMED: dict[str, tuple[str, str, str, str]] = {
    "rate of Hedge times 5": (
        "learners/full_information/hedge.py",
        "tuned = math.sqrt(8 * math.log(actions)",
        "tuned = 5 * math.sqrt(8 * math.log(actions)",
        "test_hedge_rate_is_that_of_its_bound",
    ),
    "top with many sets at the whole level": (
        "racing/rules/top.py",
        "threshold=1.0 / ((1.0 - uses_pairs * _PAIR_SHARE) * self.level)",
        "threshold=1.0 / self.level",
        "test_top_with_many_sets_shares_the_level_of_pairs_and_sets",
    ),
    "within settles at the whole level": (
        "racing/rules/within.py",
        "settling_wealth=1.0 / ((1.0 - drops) * self.level)",
        "settling_wealth=1.0 / self.level",
        "test_within_shares_the_level_of_drops_and_settlements",
    ),
    "place with both sides at the whole level": (
        "racing/rules/ranks.py",
        "threshold = 2.0 / self.level",
        "threshold = 1.0 / self.level",
        "test_place_shares_the_level_over_two_sides",
    ),
    "certain after an early drop": (
        "racing/rules/base.py",
        "certain = np.isinf(state.wealth_at_drop) | (state.drop_row == self.population)",
        "certain = state.drop_row >= 0.0",
        "test_verdict_is_certain_only_without_early_drop",
    ),
    "in order without the prefix rule": (
        "ranking/_rank.py",
        "answered = units[: int(np.argmax(missing))] if in_order and not full else units[~missing]",
        "answered = units[~missing]",
        "test_in_order_holds_at_every_look_and_counts_the_rows_before_a_gap",
    ),
    "router certificate after a gap": (
        "policies/certificate.py",
        "known = scaled[: int(np.argmax(is_pending))] if is_pending.any() else scaled",
        "known = scaled[~is_pending]",
        "test_router_certificate_bets_up_to_the_first_gap",
    ),
    "refutation of a difference not shared": (
        "evidence/sequential_audit.py",
        "return _InequalityTest(inequality, self.population, share, share / parts)",
        "return _InequalityTest(inequality, self.population, share, share)",
        "test_audit_shares_the_refutation_of_a_difference",
    ),
    "strata without a union": (
        "evidence/sequences.py",
        "level=level / len(sizes)",
        "level=level",
        "test_strata_share_the_level",
    ),
    "guard rate up to 2": (
        "policies/guard.py",
        "_MAX_RATE = 0.5",
        "_MAX_RATE = 2.0",
        "test_guard_stakes_at_most_half_of_its_capital",
    ),
    "gate without a union over candidates": (
        "racing/rules/gate.py",
        "threshold = (k - 1) / self.level",
        "threshold = 1.0 / self.level",
        "test_gate_shares_the_level_over_candidates",
    ),
    "groups at the whole level": (
        "racing/strata.py",
        "return level / (groups + 1)",
        "return level",
        "test_groups_share_the_level_with_the_list",
    ),
    "groups without the share of the list": (
        "racing/strata.py",
        "return level / (groups + 1)",
        "return level / max(groups, 1)",
        "test_groups_share_the_level_with_the_list",
    ),
    "ranks of a growing table without pairs": (
        "racing/rules/ranks.py",
        "            threshold=n_pairs(k) / self.level,\n            weights=STRATEGY_WEIGHTS",
        "            threshold=1.0 / self.level,\n            weights=STRATEGY_WEIGHTS",
        "test_ranks_share_the_level_over_pairs",
    ),
    "metrics at the whole level": (
        "ranking/_rank.py",
        "level=level / len(tables)",
        "level=level",
        "test_metrics_and_pairs_share_the_level",
    ),
    "top decided by wealth after the last row": (
        "racing/rules/top.py",
        "if state.rows_seen[0] >= state.population:\n            _drop_by_totals",
        "if state.rows_seen[0] > state.population:\n            _drop_by_totals",
        "test_top_after_the_last_row_is_by_totals",
    ),
    "worse of several metrics has the whole level": (
        "racing/rules/gate.py",
        "worse_threshold=(k - 1) / self.worse_level",
        "worse_threshold=threshold",
        "test_a_false_worse_has_its_share_of_the_level",
    ),
    "bets on clusters ignore their sizes": (
        "racing/strata.py",
        "rule.margin * (1.0 - self._rows / largest)",
        "rule.margin * 0.0",
        "test_clusters_of_different_sizes_keep_the_level",
    ),
    "gate refuted is worse": (
        "racing/rules/gate.py",
        '"better" if holds else "not better"',
        '"better" if holds else "worse"',
        "test_gate_says_not_better_rather_than_worse",
    ),
    "the best is strict": (
        "racing/rules/base.py",
        "strict=strict),)",
        "strict=True),)",
        "test_equal_candidates_get_no_strict_order",
    ),
    "unequal clusters beyond this list": (
        "ranking/_rank.py",
        "return self.is_stated or bool((self.sizes == self.sizes[0]).all())",
        "return True",
        "test_unequal_clusters_need_the_largest_possible_size",
    ),
    "test chosen by the answers at the whole level": (
        "ranking/paired_tests.py",
        "return np.minimum(2.0 * chosen, 1.0)",
        "return chosen",
        "test_binomial_pvalues_equal_definition",
    ),
    "capped race has saved calls": (
        "racing/_race.py",
        "if not self._decided or self.failed_call is not None:",
        "if False:",
        "test_race_stopped_at_its_cap_saves_nothing",
    ),
    "sure of groups by the list alone": (
        "statements.py",
        "        return bool(claiming) and all(part.level == 0.0 for part in claiming)",
        "        return bool(self.conclusions) and self.level == 0.0",
        "test_only_level_zero_is_certain",
    ),
    "ThriftyLP always tries a new action": (
        "learners/budgeted/thrifty_lp.py",
        "paying = fresh & pays",
        "paying = fresh",
        "test_thrifty_lp_plans_no_trial_that_does_not_pay",
    ),
    "horizon is its length": (
        "ranking/_rank.py",
        "    if plan.final_rows is None:\n        return None\n",
        "    if plan.final_rows is None:\n        return units.shape[0]\n",
        "test_present_number_of_rows_as_horizon_exceeds_the_level",
    ),
    "whole list leaves an error of an audit": (
        "evidence/sequential_audit.py",
        "        if self.rows == self.population:\n            is_true = self.inequality.holds(self.mean",
        "        if self.rows > self.population:\n            is_true = self.inequality.holds(self.mean",
        "test_last_row_corrects_evidence_that_was_wrong",
    ),
    "whole list at a level": (
        "evidence/best_column.py",
        "level=0.0 if is_complete else level",
        "level=level",
        "test_whole_list_is_exact_and_not_at_a_level",
    ),
    "sample without its condition": (
        "evidence/best_column.py",
        'condition=RANDOM_SAMPLE if is_sample and not is_complete else ""',
        'condition=""',
        "test_part_of_the_list_keeps_its_level_and_its_condition",
    ),
    "clusters counted as rows": (
        "ranking/_rank.py",
        "rows=int(used.sum()), clusters=reading.rows",
        "rows=reading.rows, clusters=reading.rows",
        "test_json_counts_rows_and_clusters_apart",
    ),
    "open ranks called proved": (
        "ranking/result.py",
        'verdict: Verdict = "proved" if settled and not unknown else "undecided"',
        'verdict: Verdict = "proved"',
        "test_page_of_open_ranks_is_not_tagged_good",
    ),
    "rows chosen by features as a sample": (
        "worklists/session_status.py",
        "if view.feedback_model.n_features:",
        "if False:",
        "test_rows_chosen_by_features_prove_nothing_about_all_rows",
    ),
    "session sure of any leader": (
        "worklists/session_status.py",
        "is_best = has_choice and self.answered > 0 and self.within <= tolerance",
        "is_best = has_choice and self.answered > 0",
        "test_status_is_sure_only_when_it_is_proved",
    ),
    "second call without a word": (
        "racing/result.py",
        'condition=NO_SECOND_CALL if self.reading == "expected" else ""',
        'condition=""',
        "test_expected_answers_exclude_a_second_call",
    ),
    "bounds rounded to the nearest": (
        "statements.py",
        "nearest += step if up else -step",
        "nearest += 0.0",
        "test_bounds_are_rounded_away_from_the_claim",
    ),
    "one look for every look": (
        "ranking/result.py",
        "clauses.append(EVERY_LOOK if self.every_look else ONE_LOOK)",
        "clauses.append(EVERY_LOOK)",
        "test_rank_of_a_sample_says_for_one_look",
    ),
    "ties of ranks called strict": (
        "ranking/result.py",
        "        if self.is_strict:\n            return self.before\n",
        "        if self.name:\n            return self.before\n",
        "test_order_of_equal_candidates_is_called_not_worse",
    ),
    "clusters scaled by the mean size of the sample": (
        "ranking/_rank.py",
        "            beyond = _with_sizes(beyond, clusters, used, plan)\n",
        "",
        "test_interval_scaled_by_the_mean_size_of_the_sample_misses",
    ),
    "conditions on clusters name rows": (
        "ranking/_rank.py",
        "condition = RANDOM_CLUSTER_ORDER if in_order else RANDOM_CLUSTERS",
        "condition = RANDOM_PART",
        "test_clusters_with_missing_rows_name_clusters",
    ),
    "strata compared without the rounding of a sum": (
        "evidence/sequential_audit.py",
        "            is_true = self.inequality.holds(self._total / self.rows, self.rows)",
        "            is_true = self._total / self.rows <= self.inequality.threshold",
        "test_strata_at_the_threshold_are_decided_by_the_whole_list",
    ),
    "undecided gate is certain": (
        "statements.py",
        '            return "nothing is claimed"',
        '            return "0: certain"',
        "test_undecided_gate_of_a_sample_is_not_certain",
    ),
    "foreign label read by position": (
        "racing/side_information.py",
        "if foreign is not None and index != [str(place) for place in range(len(index))]:",
        "if False:",
        "test_known_answers_with_a_foreign_label_are_rejected",
    ),
    "ahead by the smallest score": (
        "worklists/session_text.py",
        "        reverse=now.units.scores,\n",
        "",
        "test_action_ahead_has_the_best_mean_on_every_surface",
    ),
    "page marks a learner that is not advised": (
        "advice/comparison_page.py",
        "advised=None if report.advice.fixed_action else report.advice.learner",
        "advised=report.advice.learner",
        "test_page_highlights_a_learner_only_if_it_is_advised",
    ),
    "probability rounded to the nearest": (
        "_formatting.py",
        "missing = max(1, math.ceil(level * 10**digits - 1e-6))",
        "missing = round(level * 10**digits)",
        "test_confidence_is_rounded_down",
    ),
    "rows in order without a condition": (
        "ranking/_rank.py",
        "condition = RANDOM_ORDER if in_order else RANDOM_PART",
        'condition = "" if in_order else RANDOM_PART',
        "test_rows_in_order_assume_a_random_order",
    ),
    "finished runs without a condition": (
        "ranking/_rank.py",
        'condition="" if run_effects else INDEPENDENT_ANSWERS',
        'condition=""',
        "test_expected_answers_of_finished_runs_assume_independent_rows",
    ),
    "gate without its assumption": (
        "gating/result.py",
        'condition="" if exact else ", ".join(filter(None, [self.assumption, self.looks_text]))',
        'condition="" if exact else self.looks_text',
        "test_gate_says_what_it_assumes",
    ),
    "first of equal actions alone": (
        "pool.py",
        "if total <= allowed",
        "if name == self.actions[self.best]",
        "test_equal_best_actions_are_both_named",
    ),
    "one of equal actions ahead": (
        "worklists/session_text.py",
        "if len(now.leaders) > 1:",
        "if False:",
        "test_equal_actions_are_level_and_none_is_ahead",
    ),
    "session page without escaping": (
        "report/page.py",
        "autoescape=True",
        "autoescape=False",
        "test_page_escapes_names",
    ),
    "event log not synchronous": (
        "worklists/event_log.py",
        "PRAGMA synchronous = EXTRA",
        "PRAGMA synchronous = OFF",
        "test_durability_settings",
    ),
    "level of a certificate not divided by the actions": (
        "evidence/monitors.py",
        "level=share,",
        "level=total_level,",
        "test_certificate_divides_level_by_actions",
    ),
    "level of the order test not divided by the columns": (
        "evidence/order_test.py",
        "math.log(self.columns / self.level)",
        "math.log(1 / self.level)",
        "test_order_test_divides_level_by_columns",
    ),
    "bound of Simulation too small": (
        "bounds/delay.py",
        "math.sqrt(2 * math.log(actions)) * spread",
        "math.sqrt(1.5 * math.log(actions)) * spread",
        "test_simulation_has_corrected_constant",
    ),
    "comparison without the delays of the table": (
        "advice/request.py",
        "delay=self.delay(table),",
        "delay=self.conditions.delay,",
        "test_row_delays_reach_runs",
    ),
    "code not in the key of cached results": (
        "advice/report.py",
        "result_key(package_hash(), ",
        "result_key(",
        "test_key_depends_on_request_table_and_code",
    ),
    "no slack for rounding in fluid play": (
        "budget/tracker.py",
        "slack=actions * 2.0**-52",
        "slack=0.0",
        "test_fluid_slack_covers_rounding",
    ),
    "no margin for the slack in fluid play": (
        "budget/tracker.py",
        "(2.0 if tracker.fluid else 1.0)",
        "1.0",
        "test_fluid_mix_at_limit_is_scaled",
    ),
    "last chunk of a training too long": (
        "learners/reductions/training.py",
        "order[: rounds - begun]",
        "order",
        "test_training_plays_requested_rounds",
    ),
    "first action counted as a switch": (
        "engine/loop.py",
        "if t > 0 and action != accumulators.cursor[_LAST]",
        "if action != accumulators.cursor[_LAST]",
        "test_first_action_is_no_switch",
    ),
    "learner may ask for plans without end": (
        "engine/runner.py",
        "if self._plans > _MAX_PLANS",
        "if False",
        "test_learner_that_stays_due_raises",
    ),
}
SKIPPED_FIELDS = ("annotation", "returns", "type_params", "decorator_list")
# Executed lines by file.
Lines = dict[str, set[int]]
# Seconds and executed lines by test.
Tests = dict[str, tuple[float, Lines]]


@dataclass(frozen=True)
class Mutant:
    """One change: file, position, old and new source."""

    file: str
    place: int
    first: int
    last: int
    inside: str
    before: str
    after: str
    number: int = 1

    @property
    def tree(self) -> ast.Module:
        """The syntax tree of the module with the change."""
        tree = tree_of(self.file)
        node, which, _ = list(_places(tree))[self.place]
        _changes(node)[which]()
        return ast.fix_missing_locations(tree)

    @property
    def name(self) -> str:
        """The key in the list of survivors; independent of line numbers."""
        again = f" ({self.number})" if self.number > 1 else ""
        return f"{self.file} {self.inside}: {self.before}  ->  {self.after}{again}"


def tree_of(file: str) -> ast.Module:
    """Return the syntax tree of an unchanged module."""
    return ast.parse((SOURCE / file).read_text(encoding="utf-8"))


def mutants_of(file: str) -> Iterator[Mutant]:
    """Yield every mutant of a file; mutants with the same name are numbered."""
    names: Counter[str] = Counter()
    for place, (node, which, inside) in enumerate(_places(tree_of(file))):
        twin = copy.deepcopy(node)
        _changes(twin)[which]()
        spot = _executed_part(node)
        before, after = (
            " ".join(ast.unparse(ast.fix_missing_locations(one)).split()) for one in (node, twin)
        )
        start = max(
            0,
            next((i for i, (x, y) in enumerate(zip(before, after, strict=False)) if x != y), 0)
            - 60,
        )
        before, after = before[start : start + 90], after[start : start + 90]
        mutant = Mutant(
            file, place, spot.lineno, spot.end_lineno or spot.lineno, inside, before, after
        )
        names[mutant.name] += 1
        yield replace(mutant, number=names[mutant.name])


def _executed_part(node: Any) -> Any:
    """Return the part of a node that is executed whenever the node is."""
    match node:
        case ast.If() | ast.While() | ast.IfExp():
            return node.test
        case ast.comprehension():
            return node.ifs[0]
    return node


def _places(tree: ast.AST) -> Iterator[tuple[Any, int, str]]:
    """Yield every possible change: node, index of the change, function."""
    for node, inside in _walk(tree, "module"):
        for which in range(len(_changes(node))):
            yield node, which, inside


def _walk(node: ast.AST, inside: str) -> Iterator[tuple[Any, str]]:
    """Yield the nodes that can be changed, with the enclosing function.

    No docstrings, annotations, messages, imports and type-checking blocks.
    """
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        inside = node.name
    yield node, inside
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if name not in SKIPPED_FIELDS and isinstance(child, ast.AST) and not _is_skipped(child):
                yield from _walk(child, inside)


def _is_skipped(node: ast.AST) -> bool:
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    typed = (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("cast", "TypeVar")
    )
    idle = (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )
    return (
        docstring
        or typed
        or idle
        or isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom)
    )


def _changes(node: Any) -> list[Callable[[], None]]:
    """Return the possible changes of a node, as functions that apply them in place."""
    place: Any = node
    match node:
        case ast.Compare():
            return [partial(_replace_comparison, node, at) for at in range(len(node.ops))]
        case ast.BoolOp():
            dropped = [partial(_drop, node, at) for at in range(len(node.values))]
            return [lambda: setattr(place, "op", REPLACEMENTS[type(place.op)]()), *dropped]
        case ast.BinOp() if type(place.op) in REPLACEMENTS:
            return [lambda: setattr(place, "op", REPLACEMENTS[type(place.op)]())]
        case ast.AugAssign():
            swap = (
                [lambda: setattr(place, "op", REPLACEMENTS[type(place.op)]())]
                if type(place.op) in REPLACEMENTS
                else []
            )
            return [*swap, lambda: _make_pass(place)]
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return [lambda: _make_pass(place)]
        case ast.Constant(value=bool()):
            return [lambda: setattr(place, "value", not place.value)]
        case ast.Constant(value=int()):
            return [
                lambda: setattr(place, "value", place.value + 1),
                lambda: setattr(place, "value", place.value - 1),
            ]
        case ast.Constant(value=float()) if place.value in (0.0, 1.0):
            return [
                lambda: setattr(place, "value", 1.0 - place.value),
                lambda: setattr(place, "value", 0.5),
            ]
        case ast.Constant(value=float()):
            return [
                partial(setattr, place, "value", place.value * factor) for factor in (1.25, 0.5)
            ]
        case ast.If() | ast.While() | ast.IfExp():
            turned = ast.UnaryOp(ast.Not(), place.test)
            never = (
                [lambda: setattr(place, "test", ast.Constant(value=False))]
                if isinstance(node, ast.If)
                else []
            )
            return [lambda: setattr(place, "test", turned), *never]
        case ast.comprehension(ifs=[_, *_]):
            return [lambda: place.ifs.clear()]
        case ast.UnaryOp(op=ast.Not()):
            return [lambda: setattr(place, "operand", ast.UnaryOp(ast.Not(), place.operand))]
        case ast.Return(value=ast.expr()):
            return [lambda: setattr(place, "value", ast.Constant(None))]
        case ast.Break():
            return [lambda: _make_pass(place)]
        case ast.Expr(value=ast.Call()):
            return [lambda: setattr(place, "value", ast.Constant(None))]
        case ast.Call(func=ast.Name(id="min" | "max")):
            return [lambda: setattr(place.func, "id", "max" if place.func.id == "min" else "min")]
        case ast.Call(args=[ast.Name(), ast.Name(), *_]) if not isinstance(node.func, ast.Name) or (
            node.func.id not in ("isinstance", "super", "range")
        ):
            return [lambda: place.args.__setitem__(slice(0, 2), place.args[1::-1])]
        case ast.UnaryOp(op=ast.USub()):
            return [lambda: setattr(place, "op", ast.UAdd())]
    return []


def _replace_comparison(node: ast.Compare, at: int) -> None:
    node.ops[at] = REPLACEMENTS[type(node.ops[at])]()


def _drop(node: ast.BoolOp, at: int) -> None:
    """Replace one of several conditions by a neutral one."""
    node.values[at] = ast.Constant(value=isinstance(node.op, ast.And))


def _make_pass(node: Any) -> None:
    """Turn a statement into `pass`."""
    node.__class__ = ast.Pass


class ModuleReplacer(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import hook that loads one module from another syntax tree."""

    def __init__(self, file: str, tree: ast.Module) -> None:
        self.path, self.tree = SOURCE / file, tree
        self.name = ".".join(("tombola", *Path(file).with_suffix("").parts))

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> Any:
        """Return a spec for the replaced module only."""
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self)

    def pytest_sessionstart(self) -> None:
        """Precede the finder of pytest, which would read the file from the disk."""
        sys.meta_path.insert(0, self)

    def create_module(self, spec: Any) -> None:
        """Use the default module object."""

    def exec_module(self, module: ModuleType) -> None:
        """Execute the changed tree."""
        exec(compile(self.tree, str(self.path), "exec"), module.__dict__)


class CollectedTests:
    """Plugin that collects tests and calls `work` instead of running them.

    `work` may run some of them in a fork.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self.work = work
        self.items: dict[str, Any] = {}

    def pytest_runtestloop(self, session: Any) -> bool:
        """Call `work`."""
        self.items = {item.nodeid: item for item in session.items}
        COLLECTED.update(dict.fromkeys(self.items, self))
        self.work()
        return True

    def run(self, tests: list[str], pipe: int) -> int:
        """Run tests up to the first failure; return 1 if there was one."""
        config = self.items[tests[0]].config
        failing = FailureReporter(pipe)
        config.pluginmanager.register(failing)
        for name in tests:
            config.hook.pytest_runtest_protocol(item=self.items[name], nextitem=None)
            if failing.any:
                return 1
        return 0


COLLECTED: dict[str, CollectedTests] = {}


class FailureReporter:
    """Plugin that writes failing tests and broken files into a pipe."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe
        self.any = False

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Report a failing test."""
        if report.failed:
            self.any = True
            os.write(self.pipe, f"{report.nodeid}\n".encode())

    def pytest_collectreport(self, report: Any) -> None:
        """Report a file that cannot be imported."""
        if report.failed:
            os.write(self.pipe, f"{report.nodeid}\n".encode())


class LineRecorder:
    """Plugin that records duration and executed lines of passing tests."""

    def __init__(self, files: list[str]) -> None:
        self.names = {str(SOURCE / file): file for file in files}
        self.tests: dict[str, tuple[float, dict[str, list[int]]]] = {}
        self.lines: dict[str, set[int]] = {}
        # Steps since the last new line, by function.
        self.idle: Counter[CodeType] = Counter()
        self.begun = 0.0

    def pytest_runtest_setup(self, item: Any) -> None:
        """Start recording."""
        self.lines = defaultdict(set)
        self.idle.clear()
        self.begun = time.process_time()
        signal.signal(signal.SIGVTALRM, stop_test)
        # Repeats every second: Hypothesis tries a failing example twice.
        signal.setitimer(signal.ITIMER_VIRTUAL, STOP_SECONDS, 1.0)
        sys.settrace(self.enter)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Store a fast passing test."""
        if report.when != "call":
            return
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        took = time.process_time() - self.begun
        if report.passed and took < MAX_RECORDED_SECONDS:
            lines = {file: sorted(found) for file, found in self.lines.items()}
            self.tests[report.nodeid] = (took, lines)

    def enter(self, frame: FrameType, event: str, argument: object) -> Any:
        """Trace the lines of functions in the recorded files."""
        code = frame.f_code
        file = self.names.get(code.co_filename)
        if file is None or self.idle[code] > MAX_IDLE_STEPS:
            return None
        lines = self.lines[file]
        lines.add(frame.f_lineno)

        def step(frame: FrameType, event: str, argument: object) -> Any:
            if frame.f_lineno not in lines:
                lines.add(frame.f_lineno)
                self.idle[code] = 0
            else:
                self.idle[code] += 1
                frame.f_trace_lines = self.idle[code] <= MAX_IDLE_STEPS
            return step

        return step


def stop_test(number: int, frame: FrameType | None) -> None:
    """Fail a test that is too slow to be run for every mutant."""
    import pytest

    pytest.fail("too slow", pytrace=False)


def in_child(work: Callable[[int], int], seconds: int = HANG_SECONDS) -> tuple[int, str]:
    """Run `work` in a fork; return its status and its output into the pipe."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        import resource

        status = 1
        with contextlib.suppress(BaseException):
            os.close(reading)
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
            resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            status = work(writing)
        os._exit(status)
    os.close(writing)
    output, end = b"", time.monotonic() + 5 * seconds
    with open(reading, "rb", buffering=0) as file:
        while select.select([file], [], [], max(0.0, end - time.monotonic()))[0] and (
            more := file.read(1 << 16)
        ):
            output += more
    if time.monotonic() >= end:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return status, output.decode()


def recorded_tests(folder: str) -> Tests:
    """Return the fast passing tests of a folder with their lines.

    Recordings are cached in the temporary directory.
    """
    recorded: dict[str, Any] = {}
    for path in _tests(folder):
        cached = Path(tempfile.gettempdir()) / f"tombola-mutants-{_digest(path, folder)}.json"
        if not cached.exists():
            cached.write_text(record_lines(path, folder))
        recorded |= json.loads(cached.read_text())
    return {
        name: (seconds, {file: set(lines) for file, lines in executed.items()})
        for name, (seconds, executed) in recorded.items()
    }


def record_lines(path: str, folder: str) -> str:
    """Run the tests of a file and return the recording as JSON."""

    def work(pipe: int) -> int:
        import pytest

        recorder = LineRecorder(_files(folder))
        pytest.main([*PYTEST_OPTIONS, "-m", "not full", path], plugins=[recorder])
        with os.fdopen(pipe, "w") as file:
            json.dump(recorder.tests, file)
        return 0

    return in_child(work, 7200)[1] or "{}"


def _digest(path: str, folder: str) -> str:
    """Return a hash of a test file and of the recorded files."""
    files = [ROOT / path, *(SOURCE / file for file in _files(folder))]
    return hashlib.sha256(
        b"".join([path.encode(), *(file.read_bytes() for file in files)])
    ).hexdigest()[:12]


def _tests(folder: str) -> list[str]:
    tests = sorted((ROOT / "tests" / folder).rglob("test_*.py"))
    return [str(path.relative_to(ROOT)) for path in tests] + [
        f"src/tombola/{file}" for file in _files(folder)
    ]


def _files(folder: str) -> list[str]:
    return [str(path.relative_to(SOURCE)) for path in sorted((SOURCE / folder).rglob("*.py"))]


def tests_of(mutant: Mutant, tests: Tests) -> list[str]:
    """Return the tests that execute the lines of a mutant, fast ones first.

    If there are none, those of its file.
    """
    lines = set(range(mutant.first, mutant.last + 1))
    met = {
        name: took for name, (took, went) in tests.items() if lines & went.get(mutant.file, set())
    }
    if not met:
        met = {name: took for name, (took, went) in tests.items() if mutant.file in went}
    chosen, total = [], 0.0
    for name in sorted(met, key=met.__getitem__):
        total += met[name] + 0.01
        if total > MAX_TEST_SECONDS:
            break
        chosen.append(name)
    return chosen


def failing_test(file: str, tree: ast.Module, tests: list[str]) -> str:
    """Return the first failing test, "a hang", "a crash", or "" if all pass."""

    def work(pipe: int) -> int:
        import pytest

        loaded = replace_functions(file, tree)
        if loaded and all(name in COLLECTED for name in tests):
            return COLLECTED[tests[0]].run(tests, pipe)
        plugins: list[Any] = [FailureReporter(pipe)]
        if not loaded:
            for name in [name for name in sys.modules if name.partition(".")[0] == "tombola"]:
                del sys.modules[name]
            plugins.append(ModuleReplacer(file, tree))
            plugins[-1].pytest_sessionstart()
        return int(pytest.main([*PYTEST_OPTIONS, "-x", *tests], plugins=plugins))

    status, output = in_child(work)
    if status == 0:
        return ""
    if output:
        return output.splitlines()[0]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 1, (
        f"{file}: pytest ended with {status} and ran nothing"
    )
    return (
        "a hang"
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGKILL, signal.SIGXCPU)
        else "a crash"
    )


PYTEST_OPTIONS = ("-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")


def replace_functions(file: str, tree: ast.Module) -> bool:
    """Replace the code of changed functions in a loaded module.

    Return False if the module must be imported again.
    """
    path = str(SOURCE / file)
    before, after = (_codes(one, path) for one in (tree_of(file), tree))
    changed = {name for name in before if _instructions(before[name]) != _instructions(after[name])}
    same = ast.dump(tree) == ast.dump(tree_of(file))
    if "<module>" in changed or not (changed or same):
        return False
    live: dict[str, list[FunctionType]] = defaultdict(list)
    for found in gc.get_objects():
        if isinstance(found, FunctionType) and found.__code__.co_filename == path:
            live[found.__code__.co_qualname].append(found)
    made = any(one.startswith(f"{name}.<locals>") for one in live for name in changed)
    if made or not all(
        live[name] and _same_free_variables(before[name], after[name]) for name in changed
    ):
        return False
    for name in changed:
        for function in live[name]:
            function.__code__ = after[name]
    return True


def _codes(tree: ast.Module, path: str) -> dict[str, CodeType]:
    """Return the code objects of a module by qualified name."""
    whole = compile(tree, path, "exec")
    found, todo = {"<module>": whole}, [("<module>", whole)]
    while todo:
        name, code = todo.pop()
        inner = [one for one in code.co_consts if isinstance(one, CodeType)]
        if name == "<module>" or not code.co_flags & inspect.CO_OPTIMIZED:
            found |= {one.co_qualname: one for one in inner}
            todo += [(one.co_qualname, one) for one in inner]
    return found


def _same_free_variables(before: CodeType, after: CodeType) -> bool:
    """Return whether a function can take another code object."""
    return before.co_freevars == after.co_freevars


def _instructions(code: CodeType) -> Any:
    """Return instructions and constants, without line numbers.

    Functions of a module or class are left out.
    """
    whole = code.co_flags & inspect.CO_OPTIMIZED
    inner = [
        _instructions(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts
    ]
    constants = [
        one
        for one, of in zip(inner, code.co_consts, strict=True)
        if whole or not isinstance(of, CodeType)
    ]
    return code.co_code, constants, code.co_names


def sample_mutants(folder: str, count: int, seed: int) -> list[Mutant]:
    """Return a random sample of the mutants of a folder."""
    found = [mutant for file in _files(folder) for mutant in mutants_of(file)]
    print(f"{folder}: {len(found)} mutants can be made", flush=True)
    chosen = random.Random(f"{seed} {folder}").sample(found, min(len(found), count))
    return [mutant for mutant in chosen if mutant.before != mutant.after]


def survives(mutant: Mutant, tests: Tests) -> bool:
    """Return whether no test detects a mutant.

    Only tests that pass with unchanged code count.
    """
    while True:
        chosen = tests_of(mutant, tests)
        found = failing_test(mutant.file, mutant.tree, chosen) if chosen else ""
        if not found:
            print(f"SURVIVES {len(chosen)} tests, line {mutant.first}: {mutant.name}", flush=True)
            return True
        if found not in tests or passes(mutant.file, found):
            print(f"{found}: {mutant.name}", flush=True)
            return False
        print(f"skipped, it fails without a mutant: {found}", flush=True)
        del tests[found]


@cache
def passes(file: str, test: str) -> bool:
    """Return whether a test passes with the unchanged module, loaded like a mutant."""
    return not failing_test(file, tree_of(file), [test])


def run_sample(count: int, seed: int, folder: str) -> None:
    """Test a sample of mutants and write the survivors."""
    mutants, tests = sample_mutants(folder, count, seed), recorded_tests(folder)
    survived: dict[str, str] = {}
    for tried, mutant in enumerate(mutants, start=1):
        if survives(mutant, tests):
            survived[mutant.name] = ""
        survivors = json.loads(SURVIVORS.read_text()) if SURVIVORS.exists() else {}
        survivors.setdefault(str(seed), {})[folder] = {"tried": tried, "survived": survived}
        SURVIVORS.write_text(json.dumps(survivors, indent=1) + "\n")


def retry_survivors(folder: str, survivors: dict[str, str]) -> None:
    """Test the survivors of a folder again."""
    mutants = [
        mutant for file in _files(folder) for mutant in mutants_of(file) if mutant.name in survivors
    ]
    tests = recorded_tests(folder)
    found = [mutant for mutant in mutants if survives(mutant, tests)]
    print(
        f"{folder}: {len(mutants) - len(found)} of {len(mutants)} survivors are detected now",
        flush=True,
    )


def find_test(name: str) -> str:
    """Return the path::name of a test function.

    Named mutants give only the function, so that a test may move to another file.
    """
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        if f"def {name}(" in path.read_text(encoding="utf-8"):
            return f"{path.relative_to(ROOT)}::{name}"
    raise LookupError(f"no test {name}")


def run_named(words: Sequence[str] = ()) -> None:
    """Check that every named mutant is detected by its test; else exit with 1.

    words: only the mutants with one of them in their name; empty: all.
    """
    undetected = 0
    for description, (file, before, after, test) in NAMED.items():
        if words and not any(word in description for word in words):
            continue
        source = (SOURCE / file).read_text(encoding="utf-8")
        assert source.count(before) == 1, f"{description}: the text is not in {file} exactly once"
        node = find_test(test)
        failing = failing_test(file, ast.parse(source.replace(before, after)), [node])
        fails = failing.partition("[")[0] == node and passes(file, node)
        undetected += not fails
        print(
            f"{description}: {test} {'detects it' if fails else 'DOES NOT DETECT IT'}", flush=True
        )
    sys.exit(1 if undetected else 0)


def load_all() -> None:
    """Import the packages of the tests once, before the forks."""
    import tombola

    packages = [
        one.name
        for one in pkgutil.walk_packages(tombola.__path__, "tombola.")
        if "__main__" not in one.name
    ]
    for name in (
        "numpy",
        "pytest",
        "hypothesis",
        "scipy.stats",
        "matplotlib.figure",
        "jinja2",
        "highspy",
        *packages,
    ):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def main() -> None:
    """Run the command line."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    os.chdir(ROOT)
    load_all()
    if sys.argv[1:2] == ["named"]:
        run_named(sys.argv[2:])
        return
    if sys.argv[1] == "record":
        for folder in sys.argv[2:] or FOLDERS:
            print(f"{folder}: {len(recorded_tests(folder))} tests", flush=True)
        return
    for folder in sys.argv[3:] or FOLDERS:
        run_folder(folder, sys.argv[1], sys.argv[2])


def run_folder(folder: str, command: str, seed: str) -> None:
    """Sample mutants or retry survivors of one folder, in a fork.

    Its tests are collected once in that fork.
    """
    import pytest

    recorded_tests(folder)
    if command == "again":
        work = partial(
            retry_survivors, folder, json.loads(SURVIVORS.read_text())[seed][folder]["survived"]
        )
    else:
        work = partial(run_sample, int(command), int(seed), folder)
    if (pid := os.fork()) == 0:
        pytest.main(
            [*PYTEST_OPTIONS, "-s", "-m", "not full", *_tests(folder)],
            plugins=[CollectedTests(work)],
        )
        os._exit(0)
    os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
