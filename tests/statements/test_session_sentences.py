"""Sessions that once said more than was proved."""

from pathlib import Path

import pytest

from tombola.learners import Exp3
from tombola.service.pages import _plain_words
from tombola.worklists import SessionFile
from tombola.worklists.session_page import session_page
from tombola.worklists.session_text import status_lines

pytestmark = pytest.mark.usefixtures("plainly")


@pytest.mark.parametrize("by_features", [False, True])
def test_rows_chosen_by_features_prove_nothing_about_all_rows(
    by_features: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """coder is played where the features promise success: always right there, .58 over all rows.

    The session said "Sure: at 95 % confidence coder is the best action"; large is right on .65 of
    all rows. Without features the same outcomes do prove it: the rule is what keeps silent.
    """
    ids = [str(row) for row in range(400)]
    with SessionFile.start(tmp_path / "s", ids, ["coder", "large"], Exp3(), seed=1) as file:
        file.interpreted = True
        model = type(file.feedback_model)
        for turn in range(40):
            for task in file.next(5):
                is_right = task.action == "coder" or turn % 20 < 13
                file.record(task.ticket, loss=float(not is_right))
        if by_features:
            monkeypatch.setattr(model, "n_features", property(lambda _: 1))
        now = file.status()
        says_best = "coder is the best of 2 actions"
        shown = ["\n".join(status_lines(now, "s")), _plain_words(now), session_page(file)]
        shown += [file._repr_html_() or "", str(now.to_json()["statement"])]
        assert all((says_best in text) is not by_features for text in shown)
        if by_features:
            # What is left is arithmetic: outcomes that are known bound the mean of all rows.
            truth = {"coder": 0.42, "large": 0.35}
            assert all(action.low <= truth[action.name] <= action.high for action in now.actions)
            assert all(claim.amount >= 0.42 - 0.35 for claim in now.statement.conclusions)


def test_every_surface_of_a_session_has_the_same_statement(tmp_path: Path) -> None:
    """Terminal, page, card, JSON and service, with pending tickets and after the last row."""
    ids = [str(row) for row in range(12)]
    with SessionFile.start(tmp_path / "s", ids, ["a", "b"], Exp3(), seed=2) as file:
        file.interpreted = True
        for count in (3, 4, 5):
            tasks = file.next(count)
            for task in tasks if count == 5 else tasks[1:]:
                file.record(task.ticket, loss=float(task.action == "a"))
            now = file.status()
            text = now.statement.full
            assert text in status_lines(now, "s")
            assert text == _plain_words(now)
            assert text in session_page(file)
            assert text in (file._repr_html_() or "")
            assert now.to_json()["statement"]["text"] in text[:1].lower() + text[1:]
