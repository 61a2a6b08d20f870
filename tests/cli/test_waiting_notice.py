"""The line that a terminal shows until the first output."""

import io
import sys

import pytest

from conftest import HANGS
from tombola.cli.waiting_notice import _ERASE, _TEXT, LoadingLine


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("writer", ["stdout", "stderr"])
def test_line_appears_and_first_output_removes_it(
    writer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, err = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    line = LoadingLine(delay=0.01)
    line.start()
    line._timer.join(timeout=HANGS)
    assert err.getvalue() == _TEXT
    print("first", file=getattr(sys, writer))
    print("second", file=getattr(sys, writer))
    line.stop()
    assert (out.getvalue(), err.getvalue()) == (
        ("first\nsecond\n", _TEXT + _ERASE)
        if writer == "stdout"
        else ("", f"{_TEXT}{_ERASE}first\nsecond\n")
    )
    assert "write" not in vars(out) | vars(err), "the streams are as before"


def test_early_output_prevents_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    err = Terminal()
    monkeypatch.setattr(sys, "stderr", err)
    line = LoadingLine(delay=60)
    line.start()
    print("early", file=sys.stderr)
    assert (err.getvalue(), line._timer.finished.is_set()) == ("early\n", True)


def test_nothing_is_shown_on_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    err = io.StringIO()
    monkeypatch.setattr(sys, "stderr", err)
    line = LoadingLine(delay=0.0)
    line.start()
    assert not line._timer.is_alive()
    line.stop()
    assert err.getvalue() == ""
