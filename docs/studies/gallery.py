"""Write the pages of the gallery into a folder; `make docs` does so when it builds the site.

The tables are those of the demo, and a table of two metrics with 40 candidates.
"""

import tempfile
from pathlib import Path

import numpy as np

import tombola
from tombola import demo
from tombola._formatting import csv_text
from tombola.advice import CompareRequest, compare_page, run_comparison
from tombola.advice.default_learners import Conditions
from tombola.evidence import audit
from tombola.racing.report import RaceReport
from tombola.ranking.page import ranking_page
from tombola.tables import read_table

ROWS = 400
SEED = 1


def write_pages(folder):
    """Write every page kind, under the names that gallery.md links to."""
    folder.mkdir(parents=True, exist_ok=True)
    pool = demo.evaluation(ROWS, seed=SEED)
    pages = {
        "race": race_page(pool),
        "race-running": race_page(pool, max_calls=90),
        "race-by-group": race_page(pool, groups=True),
        "gate": race_page(pool, baseline="v4", better=True),
        "rank": ranking_page(tombola.rank(pool.losses, names=pool.actions, kind="losses"), "Ranks"),
        "rank-two-metrics": two_metrics_page(),
        "compare": learner_page(pool),
        "session": session_page(pool),
        "audit": audit_page(pool),
    }
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")


def race_page(pool, *, groups=False, **options):
    """Return the page of a race on a table of losses."""
    strata = None
    if groups:
        strata = np.random.default_rng(0).choice(["law", "code", "maths"], pool.rows).tolist()
    race = tombola.Race(
        pool.actions, list(pool.ids), seed=SEED, strata=strata, answers="fixed", **options
    )
    while not race.done:
        for call in race.calls():
            column = pool.actions.index(call.candidate)
            race.record(call, loss=float(pool.losses[call.row_index, column]))
    return RaceReport.from_race(race).to_html()


def two_metrics_page():
    """Return the page of 40 candidates with an error and a price."""
    rng = np.random.default_rng(SEED)
    skill = rng.random(40)
    error = (rng.random((ROWS, 40)) < 0.6 - 0.5 * skill).astype(float)
    price = np.clip(0.2 + 0.6 * skill + 0.2 * rng.random((ROWS, 40)) - 0.3 * rng.random(40), 0, 1)
    names = [f"model {number}" for number in range(1, 41)]
    both = tombola.rank({"error": error, "price": price}, names=names, kind="losses")
    return ranking_page(both, "Error and price")


def learner_page(pool):
    """Return the page of a comparison of learners."""
    request = CompareRequest(Conditions(), ("Thrifty", "UCB2"), repetitions=10)
    table = read_table(pool.losses, kind="losses", actions=pool.actions)
    report = run_comparison(table, request, name="prompts_loss.csv")
    return compare_page(report, command="tombola compare prompts_loss.csv")


def session_page(pool):
    """Return the page of a session after 160 of 400 rows."""
    from tombola.worklists.session_page import session_page as page_of

    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "calls.run"
        rng = np.random.default_rng(SEED)
        with tombola.SessionFile.start(
            path, pool.ids, ["call", "letter"], tombola.Thrifty(), kind="scores", seed=SEED
        ) as file:
            for ticket in file.next(160):
                chance = 0.4 if ticket.action == "call" else 0.25
                file.record(ticket.ticket, reward=float(rng.random() < chance))
            return page_of(file)


def audit_page(pool):
    """Return the page of an audit of a table."""
    with tempfile.TemporaryDirectory() as scratch:
        table = Path(scratch) / "answers.csv"
        rows = zip(pool.ids, pool.losses[:, -1].tolist(), strict=True)
        table.write_text(csv_text([["id", "wrong"], *rows]), encoding="utf-8")
        return audit(table, ["mean(wrong) < 0.25"], seed=SEED).to_page()
