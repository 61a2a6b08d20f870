"""The action at the root: its steps run as scripts, with a GitHub of its own."""

import json
import os
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from conftest import HANGS

yaml = pytest.importorskip("yaml", reason="the action is a YAML file")
ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}


class GitHub(HTTPServer):
    """Comments of one pull request, kept in memory; `writes` lists the changes."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.comments: list[dict[str, Any]] = []
        self.writes: list[str] = []
        self.forbidden = False


class Handler(BaseHTTPRequestHandler):
    server: GitHub

    def reply(self, data: Any, status: int = 200) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self) -> str:
        return str(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"])

    def do_GET(self) -> None:
        page = int(self.path.rpartition("page=")[2])
        assert self.path.startswith("/repos/o/r/issues/7/comments?per_page=100")
        self.reply(self.server.comments[100 * (page - 1) : 100 * page])

    def do_POST(self) -> None:
        if self.server.forbidden:
            self.reply({}, 403)
            return
        self.server.comments.append({"id": len(self.server.comments), "body": self.body()})
        self.server.writes.append("POST")
        self.reply({}, 201)

    def do_PATCH(self) -> None:
        number = int(self.path.rpartition("/")[2])
        self.server.comments[number]["body"] = self.body()
        self.server.writes.append("PATCH")
        self.reply({})

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def github() -> Iterator[GitHub]:
    server = GitHub()
    # A discussion of more than one page, in which nobody is the gate.
    server.comments = [{"id": i, "body": f"I think {i}"} for i in range(130)]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def job(tmp_path: Path, github: GitHub) -> dict[str, str]:
    """Environment of a job whose install step is done."""
    program = tmp_path / "temp" / "tombola-gate" / "bin" / "tombola"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m tombola "$@"\n')
    program.chmod(0o755)
    (tmp_path / "event.json").write_text(json.dumps({"pull_request": {"number": 7}}))
    for name, wrong in (("old", 0), ("new", 0), ("bad", 60), ("mixed", 12)):
        scores = [int(i >= wrong and (i % 2 or name != "mixed")) for i in range(200)]
        if name == "mixed":
            scores = [1 - int(i % 14 == 0) for i in range(200)]
        lines = [f"q{i},{score}" for i, score in enumerate(scores)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,score", *lines]) + "\n")
    lines = [f"q{i},{1 - int(i % 15 == 0)}" for i in range(200)]
    (tmp_path / "mixed_old.csv").write_text("\n".join(["id,score", *lines]) + "\n")
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT / "src"),
        "HOME": str(tmp_path),
        "RUNNER_TEMP": str(tmp_path / "temp"),
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_API_URL": f"http://127.0.0.1:{github.server_port}",
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_TOKEN": "t",
    }


def run_step(name: str, job: dict[str, str], **inputs: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", STEPS[name]["run"]],
        env={**job, **inputs},
        cwd=Path(job["HOME"]),
        capture_output=True,
        text=True,
        timeout=HANGS,
    )


def run_gate(job: dict[str, str], old: str, new: str, **inputs: str) -> str:
    """Run gate, comment and verdict; return the status and what the comment step said."""
    given = {"WITHIN": "0.02", "METRIC": "", "TITLE": "qa", "OPTIONS": "", "COMMITS": "",
             "BASE": "3f2a9c1" + 33 * "0", "HEAD": "b81e044" + 33 * "0", **inputs}  # fmt: skip
    done = run_step("Gate", job, OLD=old, NEW=new, **given)
    assert done.returncode == 0, done.stderr
    output = dict(
        line.split("=", 1) for line in Path(job["GITHUB_OUTPUT"]).read_text().splitlines()
    )
    comment = run_step(
        "Comment", job, STATUS=output["status"], COMMENT=inputs.get("COMMENT", "always")
    )
    assert comment.returncode == 0, comment.stderr
    verdict = run_step(
        "Verdict", job, STATUS=output["status"], UNDECIDED=inputs.get("UNDECIDED", "pass")
    )
    return f"{output['status']} {verdict.returncode} {comment.stdout}".strip()


def test_one_comment_that_is_updated(job: dict[str, str], github: GitHub) -> None:
    Path(job["GITHUB_STEP_SUMMARY"]).write_text("of an earlier step\n")
    assert run_gate(job, "old.csv", "bad.csv") == "1 1 comment written"
    assert run_gate(job, "old.csv", "bad.csv") == "1 1 comment unchanged"
    assert run_gate(job, "old.csv", "new.csv") == "0 0 comment updated"
    assert github.writes == ["POST", "PATCH"]
    body = github.comments[-1]["body"]
    assert body.startswith("<!-- tombola-gate:qa -->\n### ✅ qa: passed – score 0.0 points")
    assert "| | old `3f2a9c1` | new `b81e044` |" in body
    summary = Path(job["GITHUB_STEP_SUMMARY"]).read_text()
    assert summary.startswith("of an earlier step\n<!-- tombola-gate:qa -->")
    assert summary.count("### ") == 3, "appended, not replaced"
    assert run_gate(job, "old.csv", "bad.csv", TITLE="other") == "1 1 comment written"


def test_undecided_comments_and_passes_unless_told(job: dict[str, str], github: GitHub) -> None:
    assert run_gate(job, "mixed_old.csv", "mixed.csv") == "3 0 comment written"
    assert "rows settle 0.02" in github.comments[-1]["body"]
    assert run_gate(job, "mixed_old.csv", "mixed.csv", UNDECIDED="fail") == "3 1 comment unchanged"


def test_what_cannot_be_measured_is_no_comment(job: dict[str, str], github: GitHub) -> None:
    assert run_gate(job, "old.csv", "gone.csv") == "2 2"
    assert github.writes == []


def test_comment_only_unless_passed(job: dict[str, str], github: GitHub) -> None:
    assert run_gate(job, "old.csv", "new.csv", COMMENT="worse") == "0 0 no comment"
    assert run_gate(job, "old.csv", "bad.csv", COMMENT="worse") == "1 1 comment written"
    assert run_gate(job, "old.csv", "new.csv", COMMENT="worse") == "0 0 comment updated"


def test_a_token_that_may_not_write_is_no_verdict(job: dict[str, str], github: GitHub) -> None:
    github.forbidden = True
    assert run_gate(job, "old.csv", "new.csv").startswith("0 0 no comment: GitHub answered 403")


def test_options_are_words_and_no_commands(job: dict[str, str], github: GitHub) -> None:
    """Text of an input is never run, and patterns are not expanded."""
    status = run_gate(
        job, "old.csv", "bad.csv\n\nnew.csv", OPTIONS="--reading recorded\n--level $(touch,x)"
    )
    assert status == "2 2"
    assert not (Path(job["HOME"]) / "x").exists()
    assert run_gate(job, "old.csv", "bad.csv\n\nnew.csv", OPTIONS="--reading recorded").startswith(
        "1 1"
    )
    assert "| **bad** |" in github.comments[-1]["body"]


def test_install_has_every_package_but_the_large_ones() -> None:
    """A dependency that the project adds is one of the action, too."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[<>=;\[ ]", one)[0] for one in project["dependencies"]}
    line = next(line for line in STEPS["Install"]["run"].splitlines() if "numpy" in line)
    installed = set(line.split("--no-compile ")[1].replace('"${packages[@]}"', "").split())
    assert installed == names - {"numba", "highspy", "matplotlib"}


def test_every_input_is_used() -> None:
    text = json.dumps(ACTION["runs"])
    for name in ACTION["inputs"]:
        assert f"inputs.{name}" in text, name
