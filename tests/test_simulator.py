"""The simulator of the documentation: its race rule is the rule of the package."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser import CHROMIUM, FLAGS, needs_browser, open_file
from tombola.racing.rules.best import Best

PAGE = Path(__file__).parent.parent / "docs" / "extra" / "simulator.html"

pytestmark = needs_browser

PLAY = """([tables, orders, populations]) => tables.map((losses, i) => {
  const state = tombola.play(losses, orders[i], populations[i] ?? Infinity, 0.05);
  return {
    active: state.active.map(Number), drop_row: state.dropRow, dropped_against: state.against,
    wealth_at_drop: state.wealthAtDrop.map((wealth) => wealth === Infinity ? -1 : wealth),
    current_wealth: state.currentWealth, total_loss: state.totalLoss,
    rows_seen: [state.rowsSeen], calls: state.calls,
  };
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


def _cases() -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Return 60 tables with an order and a population: ties, one row, one candidate, decimals."""
    rng = np.random.default_rng(7)
    cases = []
    for number in range(60):
        rows, candidates = int(rng.choice([1, 2, 30, 150])), int(rng.choice([1, 2, 3, 7]))
        means = rng.uniform(0.1, 0.9, candidates)
        table = (rng.random((rows, candidates)) < means).astype(float)
        if number % 3 == 1:
            table = np.round(0.7 * table + 0.3 * rng.random((rows, candidates)), 2)
        if number % 5 == 0:
            table[:, -1] = table[:, 0]
        order = rng.permutation(rows) if number % 2 else rng.integers(0, rows, rows)
        cases.append((table, order, float(rows) if number % 2 else np.inf))
    return cases


@cache
def _expected() -> list[tuple[int, dict[str, np.ndarray]]]:
    """Return the calls and the final state of every case, by the rule of the package."""
    expected = []
    for table, order, population in _cases():
        rule = Best(table.shape[1], len(order), population, 0.05)
        calls = rule.play(table, order)
        state = {
            name: np.where(np.isinf(values), -1.0, values)
            for name, values in rule.state._asdict().items()
            if isinstance(values, np.ndarray)
        }
        expected.append((calls, state))
    return expected


def _differences(page: Any) -> list[str]:
    """Return what the rule of a page computes otherwise than the rule of the package."""
    cases = _cases()
    states = page.evaluate(
        PLAY,
        [
            [table.tolist() for table, _, _ in cases],
            [order.tolist() for _, order, _ in cases],
            [None if np.isinf(population) else population for _, _, population in cases],
        ],
    )
    differences = []
    for number, (state, (calls, expected)) in enumerate(zip(states, _expected(), strict=True)):
        if state.pop("calls") != calls:
            differences.append(f"case {number}: other calls than {calls}")
        differences += [
            f"case {number}: {name} {values}, in Python {expected[name]}"
            for name, values in state.items()
            if not np.allclose(values, expected[name], rtol=1e-9, atol=0.0)
        ]
    return differences


def test_rule_equals_the_rule_in_python(browser: Any) -> None:
    page, problems = open_file(browser, PAGE, 1280)
    assert _differences(page) == []
    assert problems == []


@pytest.mark.parametrize(
    ("constant", "fault"),
    [
        ("MAX_LOSS_SHARE = 0.95", "MAX_LOSS_SHARE = 0.7"),
        ("PRIOR_SHARE = 0.03", "PRIOR_SHARE = 0.3"),
        ("threshold: 1 / level", "threshold: 0.7 / level"),
        ("lead > left +", "lead > 0.8 * left +"),
    ],
)
def test_comparison_detects_another_rule(
    browser: Any, tmp_path: Path, constant: str, fault: str
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.count(constant) == 1
    path = tmp_path / "simulator.html"
    path.write_text(text.replace(constant, fault), encoding="utf-8")
    page, _ = open_file(browser, path, 1280)
    assert _differences(page)


@pytest.mark.parametrize("width", [400, 1280])
def test_page_shows_a_race_and_many(browser: Any, width: int) -> None:
    page, problems = open_file(browser, PAGE, width)
    page.wait_for_function("document.getElementById('many-title').textContent.includes('200')")
    page.wait_for_function("document.getElementById('answer').textContent !== ''")
    assert page.locator("#lanes li").count() == 6
    assert "is the best of 6" in page.locator("#answer").inner_text()
    # 200 races at level 5 %: more than 22 wrong ones have probability below 2 in 1,000.
    assert float(page.locator("#race-wrong").inner_text().removesuffix(" %")) <= 11
    assert problems == []


def test_noise_leaves_races_undecided(browser: Any) -> None:
    """With a gap of half a point and 30 % noise, 50 draws decide nothing."""
    page, problems = open_file(browser, PAGE, 1280)
    for name, value in {"rows": 50, "gap": 0.5, "noise": 30, "count": 2}.items():
        page.locator(f"#{name}").fill(str(value))
    page.wait_for_function("document.getElementById('many-title').textContent.includes('200')")
    page.wait_for_function("document.getElementById('answer').textContent !== ''")
    assert float(page.locator("#race-open").inner_text().removesuffix(" %")) >= 85
    assert "expected answers" in page.locator("#reading").inner_text()
    assert problems == []


def test_wrong_races_are_shown_as_wrong(browser: Any) -> None:
    """Among 400 shuffles of a hard list some race is wrong; the page says so."""
    page, _ = open_file(browser, PAGE, 1280)
    page.emulate_media(reduced_motion="reduce")
    for name, value in {"rows": 1000, "gap": 0.5, "count": 12}.items():
        page.locator(f"#{name}").fill(str(value))
    sentence = page.evaluate("""() => {
      for (shuffle = 0; shuffle < 400; shuffle++) {
        const state = race(draw(list, settings, generator(1000 + shuffle)), settings);
        const left = tombola.answer(state);
        if (left.length === 1 && isWrong(list, left[0])) {
          showRace();
          return document.getElementById("answer").textContent;
        }
      }
      return "";
    }""")
    assert sentence.startswith("wrongThis race names")
