"""The engine: rng, memory, fingerprints, and compiled code that is cached and never stale."""

import gc
import importlib
import json
import math
import os
import sys
import types
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from conftest import Run, Sums, variant
from tombola import Learner, Pool, play
from tombola import rng as coins_module
from tombola._types import Floats, RngState
from tombola.engine import compiler
from tombola.engine.compiler import compile_loop, interpreted
from tombola.engine.fingerprint import fingerprint
from tombola.engine.state_vector import flatten, mix_slice, unflattener
from tombola.engine.vectors import dot, exponential, least, total
from tombola.errors import LearnerError
from tombola.rng import bits, choice, gamma, integers, new_rng, normal, uniform

pytestmark = pytest.mark.usefixtures("machine_code")
MASK = 2**64 - 1


def xoshiro(state: list[int]) -> int:
    """The reference: xoshiro256++ of Blackman and Vigna, in Python's own integers."""

    def rotl(x: int, k: int) -> int:
        return ((x << k) | (x >> (64 - k))) & MASK

    result = (rotl((state[0] + state[3]) & MASK, 23) + state[0]) & MASK
    t = (state[1] << 17) & MASK
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= t
    state[3] = rotl(state[3], 45)
    return result


def test_reference_gives_published_numbers() -> None:
    state = [1, 2, 3, 4]
    assert [xoshiro(state) for _ in range(4)] == [
        41943041,
        58720359,
        3588806011781223,
        3591011842654386,
    ]


def fill_bits(out: Any, rng: RngState) -> None:
    for i in range(out.size):
        out[i] = bits(rng)


def choice_of(rng: RngState, mix: Floats) -> int:
    return choice(mix, rng)


def filled(draw: Any, size: int, *parameter: Any, dtype: Any = np.float64, seed: int = 0) -> Any:
    def fill(out: Any, rng: RngState) -> None:
        for i in range(out.size):
            out[i] = draw(rng)

    def fill_with(out: Any, parameter: Any, rng: RngState) -> None:
        for i in range(out.size):
            out[i] = draw(rng, parameter)

    arguments = (np.zeros(size, dtype), *parameter, new_rng(np.random.SeedSequence(seed)))
    compile_loop(fill_with if parameter else fill, arguments)(*arguments)
    return arguments[0]


def too_far(counts: Any, shares: Any, false_alarm: float = 1e-6) -> bool:
    """Test counts against their shares by Pearson's statistic; it fails by accident with probability 1e-6."""
    expected = np.sum(counts) * np.asarray(shares)
    return bool(
        np.sum((counts - expected) ** 2 / expected) > chi2.isf(false_alarm, len(counts) - 1)
    )


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(
    "words", [(1, 2, 3, 4), (MASK, MASK, MASK, MASK), (0, 0, 0, 1), (2**63, 5, 2**40, 0)]
)
def test_bits_are_those_of_reference(words: tuple[int, ...], plain: bool) -> None:
    rng, state, out = np.array(words, np.uint64), list(words), np.zeros(200, np.uint64)
    with interpreted() if plain else nullcontext():
        compile_loop(fill_bits, (out, rng))(out, rng)
    assert out.tolist() == [xoshiro(state) for _ in range(200)]
    assert rng.tolist() == state


def test_uniform_takes_upper_53_bits() -> None:
    state, values = new_rng(np.random.SeedSequence(0)).tolist(), filled(uniform, 100_000)
    assert values[:50].tolist() == [(xoshiro(state) >> 11) / 2**53 for _ in range(50)]
    assert 0 <= values.min() < 0.001
    assert 0.999 < values.max() < 1
    assert not too_far(np.bincount((values * 50).astype(int), minlength=50), np.full(50, 0.02))
    assert coins_module._TO_UNIT * float((1 << 53) - 1) < 1.0


@pytest.mark.parametrize("count", [1, 2, 3, 7, 10, 3 << 30, (1 << 32) - 1, (1 << 31) + 1])
def test_integers_are_fair(count: int) -> None:
    """Without rejection, 3 * 2^30 would give half of the numbers to one residue of three; failure probability 1e-6."""
    values, cells = filled(integers, 9_000, count, dtype=np.int64, seed=count), min(count, 10)
    assert 0 <= values.min() <= values.max() < count
    assert not too_far(
        np.bincount(values * cells // count, minlength=cells), np.full(cells, 1 / cells)
    )
    if count > 10:
        assert not too_far(np.bincount(values % 3, minlength=3), np.full(3, 1 / 3))


def test_choice_follows_mix_and_gives_rest_to_last_action() -> None:
    mix = np.array([0.0, 0.5, 0.0, 0.3, 0.2, 0.0])
    for shares in (mix, np.array([0.0, 0.5, 0.0, 0.3, 0.1, 0.0])):
        counts = np.bincount(filled(choice_of, 20_000, shares, dtype=np.int64), minlength=6)
        assert counts[[0, 2, 5]].tolist() == [0, 0, 0]
        assert not too_far(counts[[1, 3, 4]], mix[[1, 3, 4]])


PINNED = [
    168.35923516467983,
    541.6881371625259,
    9875.799703616276,
    -13.466297821489414,
    97.912806113663,
]


@pytest.mark.usefixtures("plainly")
def test_rng_numbers_are_stable() -> None:
    """What was published with a seed can be played again: these numbers are part of the program."""
    rng = new_rng(np.random.SeedSequence(7))
    with np.errstate(over="ignore"):
        sums = [math.fsum(gamma(rng, shape) for _ in range(200)) for shape in (1.0, 2.5, 50.0)]
        sums += [math.fsum(kind(rng) for _ in range(200)) for kind in (normal, uniform)]
    assert sums == pytest.approx(PINNED, rel=1e-9)


def test_moments_of_normal_and_gamma() -> None:
    """Each of these means leaves 5 standard errors with probability below 1e-6."""

    def close(values: Any, exact: float) -> bool:
        return bool(abs(values.mean() - exact) < 5 * values.std() / math.sqrt(values.size))

    z = filled(normal, 60_000)
    for power, moment in ((1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0)):
        assert close(z**power, moment)
    assert abs(np.corrcoef(z[:-1], z[1:])[0, 1]) < 5 / math.sqrt(z.size)
    for shape in (1.0, 1.5, 4.0, 50.0):
        g = filled(gamma, 40_000, shape)
        assert g.min() > 0
        for power, moment in (
            (1, shape),
            (2, shape * (shape + 1)),
            (3, shape * (shape + 1) * (shape + 2)),
        ):
            assert close(g**power, moment)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(data=st.data())
def test_packed_state_gets_its_names_back(data: st.DataObject) -> None:
    number = st.floats(allow_nan=False)
    kinds = data.draw(st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=5))
    fields: list[Any] = []
    for kind in kinds:
        shape = [data.draw(st.integers(1, 3)) for _ in range(kind)]
        values = data.draw(st.lists(number, min_size=math.prod(shape), max_size=math.prod(shape)))
        fields.append(np.array(values).reshape(shape) if kind else values[0])
    State = NamedTuple("State", [(f"f{i}", Any) for i in range(len(kinds))])  # type: ignore[misc]
    state = State(*fields)
    memory = flatten(state, actions=2)
    seen = unflattener(state)(memory)
    assert seen._fields == state._fields
    for one, two in zip(seen, fields, strict=True):
        assert np.array_equal(one, two)
        assert np.shape(one) == np.shape(two)
    mix_slice(memory)[:] = 0.5
    assert np.array_equal(seen[-1], fields[-1])
    for one in seen:
        if np.ndim(one):
            one[...] = 7.0
    assert all(
        np.all(np.asarray(field) == 7.0) for field in unflattener(state)(memory) if np.ndim(field)
    )


def test_state_of_three_dimensions_is_rejected() -> None:
    class State(NamedTuple):
        cube: Any

    with pytest.raises(
        LearnerError, match=r"State\.cube: .* got 3 dimensions; write it as a matrix\."
    ):
        flatten(State(np.zeros((2, 2, 2))), actions=2)


def function_of(source: str, name: str = "f", **scope: Any) -> Any:
    """Return the function that this source defines."""
    space = {"__name__": "somewhere", **scope}
    exec(dedent(source), space)
    return space[name]


def print_of(source: str, **scope: Any) -> str | None:
    return fingerprint(function_of(source, **scope), {})


BASE = """
def g(x): return x + C
def f(x, y=1, *, z=2): return g(x) * y + z
"""


class Two(NamedTuple):
    a: float
    b: float


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x + C", "x - C"),
        ("* y", "/ y"),
        ("y=1", "y=3"),
        ("z=2", "z=3"),
        ("y=1", "y=1.0"),
        ("y=1, *, z", "y=1, z"),
        ("x, y", "x, /, y"),
    ],
)
def test_every_part_counts_in_fingerprint(old: str, new: str) -> None:
    before = print_of(BASE, C=1.0)
    assert print_of(BASE, C=1.0) == before is not None
    assert print_of(BASE.replace(old, new), C=1.0) not in (None, before)


def module_with(value: Any) -> types.ModuleType:
    module = types.ModuleType("knobs")
    module.C = value  # type: ignore[attr-defined]
    return module


REACHED: dict[str, Callable[[Any], str | None]] = {
    "global": lambda value: print_of(BASE, C=value),
    "closure": lambda value: fingerprint(
        function_of("def make(c):\n def f(x): return x + c\n return f", "make")(value), {}
    ),
    "member of a module": lambda value: print_of(
        "def f(x): return knobs.C", knobs=module_with(value)
    ),
    "bound": lambda value: fingerprint(function_of("def f(x): return C(x)"), {"C": value}),
}


@pytest.mark.parametrize("way", REACHED)
@pytest.mark.parametrize(
    "values",
    [
        (1.0, 2.0, 1, np.float64(1.0), True, np.array([1.0])),
        (
            np.array([1.0, 2.0]),
            np.array([2.0, 1.0]),
            np.array([[1.0, 2.0]]),
            np.array([1.0, 2.0], np.float32),
        ),
        ((1, 2), (1, (2,)), (2, 1)),
        (0.0, -0.0),
        (1 / 3, math.nextafter(1 / 3, 1)),
        (Two, NamedTuple("Two", [("b", float), ("a", float)])),
        (math.sin, math.cos),
        (lambda x: x + 1, lambda x: x + 2),
        (function_of("def f(x): return g(x)\ndef g(x): return f(x - 1) if x else 0"),),
    ],
)
def test_values_count_wherever_they_are_reached(values: tuple[Any, ...], way: str) -> None:
    prints = {REACHED[way](value) for value in values}
    assert None not in prints
    assert len(prints) == len(values)


def set_item(table: Any, value: float) -> None:
    table[0] = value


CHANGES: dict[str, Callable[[Any], Any]] = {
    "constant": lambda f: f.__globals__.update(C=2.0),
    "array": lambda f: set_item(f.__globals__["TABLE"], 2.0),
    "helper": lambda f: f.__globals__.update(g=lambda x: x - 1.0),
    "code of the helper": lambda f: setattr(
        f.__globals__["g"], "__code__", function_of("def f(x): return x * C").__code__
    ),
    "default": lambda f: setattr(f, "__defaults__", (3,)),
    "keyword": lambda f: (
        f.__kwdefaults__.update(z=3) if f.__kwdefaults__ else setattr(f, "__defaults__", (1, 3))
    ),
    "builtin": lambda f: f.__globals__.update(abs=lambda x: x),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("keywords", [", *, z=2", ", z=2"])
def test_fingerprint_memo_is_not_stale(change: str, keywords: str) -> None:
    used = "TABLE[0]" if change == "array" else "C"
    source = f"def g(x): return abs(x) + {used}\ndef f(x, y=1{keywords}): return g(x) * y + z"
    f = function_of(source, C=1.0, TABLE=np.ones(1))
    before = fingerprint(f, {})
    assert fingerprint(f, {}) == before is not None
    CHANGES[change](f)
    assert fingerprint(f, {}) not in (before, None)


def test_equal_closures_share_a_fingerprint() -> None:
    made = function_of("def f(h, n):\n    def inner(x): return h(x) + n\n    return inner")
    h = function_of("def f(x): return x + C", C=1.0)
    loop = function_of("def f(x): return step(x)")
    before = fingerprint(loop, {"step": made(h, 2)})
    assert fingerprint(loop, {"step": made(h, 2)}) == before is not None
    assert fingerprint(loop, {"step": made(h, 3)}) != before
    h.__globals__["C"] = 2.0
    assert fingerprint(loop, {"step": made(h, 2)}) not in (before, None)


OPAQUE: dict[str, dict[str, Any]] = {
    "def f(x): return os.path.join(x)": {"os": os},
    "def f(x): return C[x]": {"C": {"a": 1}},
    "def f(x): return C[0]": {"C": [1]},
    "def f(x): return C.value": {"C": object()},
    "def f(x): return C(x)": {"C": partial(max, 1)},
    "def f(x): return unknown(x)": {},
    "def f(x):\n m = pkg\n return m.path": {"pkg": os},
    "def f(x, y={}): return x": {},
    "def f(x): return C.LIMIT": {"C": type("C", (), {"LIMIT": 3})},
}


@pytest.mark.parametrize("source", OPAQUE)
def test_opaque_function_is_never_cached(source: str) -> None:
    assert print_of(source, **OPAQUE[source]) is None


def learner_of(act: Any) -> Learner:
    """Return a learner that acts like this on the total loss of action 0."""
    return variant("Mine", act=act)()  # type: ignore[no-any-return]


def actions_of(learner: Learner) -> list[int]:
    losses = np.random.default_rng(0).integers(0, 9, (30, 3)) / 8
    compiled = play(learner, Pool(losses), seed=1).actions.tolist()
    with interpreted():
        assert play(learner, Pool(losses), seed=1).actions.tolist() == compiled
    return [int(action) for action in compiled]


def test_kernel_may_not_call_through_module() -> None:
    def act(state: Sums, rng: RngState) -> tuple[int, float]:
        return int(3 * coins_module.uniform(rng)), 1 / 3

    with pytest.raises(LearnerError) as caught:
        play(learner_of(act), Pool(np.zeros((5, 3))), seed=0)
    assert str(caught.value).endswith("write 'from tombola.rng import uniform' and call uniform.")
    with interpreted():
        assert play(learner_of(act), Pool(np.zeros((5, 3))), seed=0).actions.max() < 3


def test_compile_error_shows_the_line_of_the_learner_and_the_fix() -> None:
    def act(state: Sums, rng: RngState) -> tuple[int, float]:
        return state.nothing, 1.0  # type: ignore[attr-defined]

    said = (
        r"(?s)expected kernels that Numba can "
        r"compile.*NUMBA_DISABLE_JIT=1.*test_compiler.py.*state.nothing"
    )
    with pytest.raises(LearnerError, match=said) as caught:
        play(learner_of(act), Pool(np.zeros((5, 3))), seed=0)
    assert "choose_plain" not in str(caught.value), "a function of tombola"
    assert len(str(caught.value).splitlines()) < 12


def test_opaque_kernel_is_compiled_not_cached() -> None:
    package = types.ModuleType("package")
    package.deep = types.ModuleType("package.deep")  # type: ignore[attr-defined]
    package.deep.SHIFT = 1
    source = "def act(state, rng): return (int(4 * state.total[0]) + package.deep.SHIFT) % 3, 1.0"
    before = dict(compiler._loops)
    first = actions_of(learner_of(function_of(source, "act", package=package)))
    package.deep.SHIFT = 2
    second = actions_of(learner_of(function_of(source, "act", package=package)))
    assert second == [(action + 1) % 3 for action in first]
    assert compiler._loops == before


def test_code_edited_within_process_is_never_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    results = []
    for shift in (0, 1, 0):
        (tmp_path / "edited_kernel.py").write_text(
            f"SHIFT = {shift}\ndef act(state, rng): return (int(4 * state.total[0]) + SHIFT) % "
            "3, 1.0\n"
        )
        importlib.invalidate_caches()
        module = sys.modules.get("edited_kernel")
        module = importlib.reload(module) if module else importlib.import_module("edited_kernel")
        results.append(actions_of(learner_of(module.act)))
    assert results[1] == [(action + 1) % 3 for action in results[0]]
    assert results[2] == results[0]


LEARNER = """
from dataclasses import dataclass
from typing import ClassVar, NamedTuple
import numpy as np
from tombola import Learner
from helper import nudge

STEP = 0.25

class State(NamedTuple):
    up: float
    down: float
    total: object

@dataclass(frozen=True)
class Mine(Learner):
    feedback: ClassVar[str] = "full"
    def init(self, actions, horizon):
        return State(up=3.0, down=1.0, total=np.zeros(1))
    @staticmethod
    def act(state, rng):
        return int(state.total[0] * state.up) % 3, 1.0
    @staticmethod
    def observe(state, losses):
        state.total[0] += nudge(losses[0]) + STEP * state.down
"""
HELPER = "def nudge(x):\n    return 0.5 * x\n"
PLAY = """
import json
import numba.core.event as event
import numpy as np
from mine import Mine
from tombola import Exp3, Pool, Session, play
from tombola.engine import compiler
with compiler.compiled(), event.install_recorder("numba:compile") as compiled:
    played = play(Mine(), Pool(np.random.default_rng(0).random((40, 3))), delay=1, seed=1).actions.tolist()
    session = Session(Exp3(), actions=3, horizon=9, seed=0)
    session.observe(session.act(), loss=0.5)
stats = [(kernel.stats, kernel.__qualname__) for kernel in compiler._loops.values()]
hits, misses = (sum(sum(getattr(one, name).values()) for one, _ in stats) for name in ("cache_hits", "cache_misses"))
print(json.dumps([played, len(compiled.buffer), hits, misses, [name for _, name in stats]]))
"""


@pytest.mark.full
def test_code_edited_between_processes_is_never_stale(tmp_path: Path, run_python: Run) -> None:
    """The edits keep size and time of the files, so that only the fingerprint can notice them; no edit, no compiler."""
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(learner: str, helper: str = HELPER) -> Any:
        for name, source in (("mine.py", learner), ("helper.py", helper)):
            (tmp_path / name).write_text(source)
            os.utime(tmp_path / name, (1e9, 1e9))
        done = run_python("-c", PLAY, cwd=tmp_path, **cache)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    edits = [
        (LEARNER, HELPER),
        (LEARNER, HELPER.replace("0.5", "0.9")),
        (LEARNER.replace("STEP = 0.25", "STEP = 0.75"), HELPER),
        (LEARNER.replace("% 3, 1.0", "% 2, 1.0"), HELPER),
        (LEARNER.replace("up: float\n    down: float", "down: float\n    up: float"), HELPER),
        (
            LEARNER.replace("return int(", "return int(np.zeros(3).sum() + "),
            HELPER,
        ),  # with reference counts
    ]
    cold = [run(*edit) for edit in edits]
    files = {path.name for path in (tmp_path / "cache").rglob("*.nb*")}
    played = [one[0] for one in cold]
    assert len({str(one) for one in played[:4]}) == 4, "each of these edits changes what is played"
    assert played[4] == played[5] == played[0]
    assert cold[0][2] == 0 < cold[0][3] <= cold[0][1]
    for (again, compiled, hits, misses, names), before in zip(
        [run(*edits[0]), run(*edits[5])], cold[::5], strict=True
    ):
        assert (again, compiled, misses, names) == (before[0], 0, 0, before[4])
        assert hits == before[2] + before[3]
    assert {name.rpartition("_")[2] for one in cold for name in one[4]} == {"nonrt", "nrt"}
    assert {path.name for path in (tmp_path / "cache").rglob("*.nb*")} == files
    for name in cold[0][4]:
        assert any(f".{name}-" in file and file.endswith(".nbi") for file in files), (
            "Numba names its files so"
        )


def test_imports_are_few(run_python: Run) -> None:
    """`import tombola` loads nothing heavy, and a session with one learner neither the others nor the statistics."""
    script = dedent(
        """
        import sys, tombola
        print([m for m in ("numba", "numpy", "matplotlib", "scipy") if m in sys.modules])
        session = tombola.Session(tombola.UCB2(), 3, 100, seed=1)
        session.observe(session.act(), loss=0.5)
        print(sum(m.split(".")[0] == "tombola" for m in sys.modules))
        """
    )
    done = run_python("-c", script)
    assert done.stderr == ""
    heavy, ours = done.stdout.split("\n", 1)
    assert heavy == "[]"
    assert int(ours) <= 52


def test_without_compiler_numba_is_never_imported(run_python: Run) -> None:
    script = dedent(
        """
        import sys
        from tombola import Exp3, FollowTheLeader, Pool, Session, compare, play
        pool = Pool([[0.0, 1.0], [1.0, 0.5]])
        for order in ("random", "iid", "given"):
            play(FollowTheLeader(), pool, order=order, seed=0)
        compare(pool, [Exp3()], repetitions=2, workers=2, seed=0)
        session = Session(Exp3(), actions=2, horizon=4, seed=0)
        session.observe(session.act(), loss=1.0)
        print([m for m in ("numba", "llvmlite", "matplotlib") if m in sys.modules])
        """
    )
    done = run_python("-c", script, NUMBA_DISABLE_JIT="1")
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_exponential_within_one_ulp() -> None:
    points = np.concatenate([-np.logspace(-300, 2.84, 4000), -np.linspace(0, 699, 4001)])

    def fill(points: Any, out: Any) -> None:
        for i in range(points.size):
            out[i] = exponential(points[i])

    compiled, plain = np.zeros(points.size), np.zeros(points.size)
    compile_loop(fill, (points, compiled))(points, compiled)
    with interpreted():
        compile_loop(fill, (points, plain))(points, plain)
    assert (compiled == plain).all()
    true = np.exp(points)
    assert (np.abs(compiled - true) <= 2 * np.spacing(true)).all()
    assert [exponential(y) for y in (0.0, -701.0, -1e300, -np.inf)] == [1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 9, 100])
def test_sums_over_four_lanes_are_sums(size: int) -> None:
    generator = np.random.default_rng(size)
    left, right = generator.normal(size=size), generator.normal(size=size)
    assert total(left) == pytest.approx(left.sum())
    assert dot(left, right) == pytest.approx(left @ right)
    assert least(left) == left.min()


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_garbage_collector_is_as_before(
    enabled: bool, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It pauses while Numba compiles, and is then as it was, after an error too."""

    def increase(x: float) -> float:
        return x + 1.0

    def compile_(signature: Any) -> None:
        assert not gc.isenabled()
        if fails:
            raise ValueError(signature)

    dispatcher = types.SimpleNamespace(compile=compile_)
    monkeypatch.setattr(compiler, "_dispatcher", lambda *_, **__: dispatcher)
    monkeypatch.setattr(compiler, "is_cached", lambda _: False)
    monkeypatch.setattr(compiler, "_loops", {})
    monkeypatch.setattr(compiler, "_compiled", {})
    was_enabled = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with pytest.raises(LearnerError) if fails else nullcontext():
            compile_loop(increase, (1.0,))
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()
