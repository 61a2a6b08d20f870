"""Races over HTTP: calls, answers, verdict, tables; the same race as in a file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from race_cases import finish_files, loss_of, start_file
from service_cases import Api, api_of
from tombola.errors import SessionError
from tombola.service.server import open_service
from tombola.service.tokens import TokenStore

R = "/v1/lists/models"


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    start_file(tmp_path / "models.race").close()
    with api_of(tmp_path / "models.race") as found:
        yield found


def test_race_over_http_equals_the_file(api: Api, tmp_path: Path) -> None:
    with start_file(tmp_path / "same.race") as same:
        finish_files(same)
        race, done = api.service.lists["models"].file.race, False
        while not done:
            tickets = [
                call["ticket"] for call in api.post(f"{R}/next", {"count": 2}).json()["tickets"]
            ]
            answers = [
                {"ticket": ticket, "loss": loss_of(race.call(ticket)), "cost": 0.25}
                for ticket in tickets
            ]
            done = api.post(f"{R}/record", {"outcomes": answers}).json()["done"]
        status = api("GET", f"{R}/status").json()
        assert status["verdict"] == status["summary"] == same.race.verdict
        assert status["answer"] == list(same.race.answer)
        assert status["calls_saved"] == same.race.calls_saved
        assert [one["name"] for one in status["candidates"] if one["active"]] == list(
            same.race.active
        )
        assert api.post(f"{R}/next", {}).json() | {"key": ""} == {
            "tickets": [],
            "key": "",
            "done": True,
        }
        assert len(api("GET", f"{R}/export.csv").text.splitlines()) == same.race.calls_answered + 1
        assert api("GET", f"{R}/export.parquet").content[:4] == b"PAR1"


def test_calls_are_issued_and_answered_once(api: Api) -> None:
    path, failed = api.service.lists["models"].path, {"ticket": 1, "failed": True}
    first = api.post(f"{R}/next", {}, idempotency_key="k1").json()
    assert api.post(f"{R}/next", {}, idempotency_key="k1").json() == first
    assert len(first["tickets"]) == len(api.service.lists["models"].file.settings.candidates)
    assert (
        api.post(f"{R}/next", {"count": 1}, idempotency_key="k2").json()["tickets"][0]
        not in first["tickets"]
    )
    assert (
        api.post(f"{R}/next", {"count": 1, "reissue_after": 0}).json()["tickets"][0]["ticket"]
        == first["tickets"][0]["ticket"]
    )
    assert api.post(f"{R}/record", {"outcomes": [failed]}).json()["recorded"] == 1
    before = path.read_bytes()
    answers = [{"ticket": 2, "loss": 0.5}, {"ticket": 1, "loss": 0.25}]
    assert api.post(f"{R}/record", {"outcomes": answers}).status_code == 409
    assert api.post(f"{R}/record", {"outcomes": [failed]}).json()["known"] == 1
    assert path.read_bytes() == before
    now = api("GET", f"{R}/status").json()
    assert (now["failures"], len(now["pending"])) == (1, len(first["tickets"]))


@pytest.mark.parametrize(
    "answer",
    [
        {"ticket": 1},
        {"ticket": 1, "loss": 2},
        {"ticket": 1, "loss": [0.5]},
        {"ticket": 1, "loss": True},
        {"ticket": 1, "loss": 0.5, "failed": True},
        {"ticket": 1, "failed": 1},
        {"ticket": 1, "loss": 0.5, "cost": -1},
        {"ticket": 9, "loss": 0.5},
        {"ticket": 10**9, "loss": 0.5},
        {"ticket": 1, "loss": 0.5, "other": 1},
        [],
    ],
)
def test_invalid_answer_changes_nothing(api: Api, answer: Any, one_sentence: Any) -> None:
    api.post(f"{R}/next", {"count": 1})
    before = api.service.lists["models"].path.read_bytes()
    reply = api.post(f"{R}/record", {"outcomes": [answer]})
    assert reply.status_code == 422
    one_sentence(reply.json()["detail"])
    assert api.service.lists["models"].path.read_bytes() == before


def test_served_race_is_paused_and_locked(api: Api) -> None:
    api.post("/v1/lists/models/pause", {"paused": True})
    assert api.post(f"{R}/next", {}).status_code == 423
    assert api("GET", "/v1").json()["lists"][0]["paused"] is True
    with pytest.raises(SessionError, match="being run by another process"):
        open_service([api.service.lists["models"].path], TokenStore(None))


def test_random_answers_over_http_equal_the_file(tmp_path: Path) -> None:
    """Rows come again with another run; the race is that of a file with the same answers."""
    rng = np.random.default_rng(5)
    start_file(tmp_path / "models.race", answers="auto", max_calls=300).close()
    with (
        api_of(tmp_path / "models.race") as api,
        start_file(tmp_path / "same.race", answers="auto", max_calls=300) as same,
    ):
        runs: dict[tuple[str, str], list[int]] = {}
        while True:
            reply = api.post(f"{R}/next", {"count": 5}).json()
            again = same.next(5)
            tickets = reply["tickets"]
            assert [ticket["ticket"] for ticket in tickets] == [item.ticket for item in again]
            if not tickets:
                break
            outcomes = []
            for ticket in tickets:
                runs.setdefault((ticket["action"], ticket["id"]), []).append(ticket["run"])
                # The two answers of the pilot differ.
                number = ticket["ticket"]
                loss = float(rng.random() < 0.5 if number > 2 else number == 1)
                outcomes.append({"ticket": number, "loss": loss})
            api.post(f"{R}/record", {"outcomes": outcomes})
            for outcome in outcomes:
                same.record(outcome["ticket"], loss=outcome["loss"])
        status = api("GET", f"{R}/status").json()
        assert status["verdict"] == same.race.verdict
        assert status["calls"] <= 300
        assert status["pilot"].startswith("Pilot (2 calls): answers change")
        assert "in expectation over repeated answers" in status["verdict"]
        assert all(sorted(numbers) == [*range(1, len(numbers) + 1)] for numbers in runs.values())
        assert max(map(len, runs.values())) > 1
