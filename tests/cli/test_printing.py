"""Printing: text cannot send commands to the terminal, nor look like a line of the program."""

from collections.abc import Callable

import pytest

from tombola.cli.printing import print_error, show

HOSTILE = "r\x1b[2J\u202e\nticket 9: forged"


@pytest.mark.parametrize("say", [print_error, lambda text: show(text, soft=True)])
def test_text_stays_on_its_line(
    say: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    say(f"play a on {HOSTILE}")
    found = capsys.readouterr()
    assert (found.out + found.err) == "play a on r\\x1b[2J\\u202e\\nticket 9: forged\n"
