"""The writer thread of a served file: waiting writes share a transaction, and none is lost."""

import asyncio
import threading
from pathlib import Path

import pytest

from service_cases import start_session
from tombola.service.hosted_file import HostedFile
from tombola.service.problems import ProblemError
from tombola.worklists import SessionFile

pytestmark = pytest.mark.usefixtures("plainly")


def test_waiting_writes_share_one_commit(tmp_path: Path) -> None:
    """Twenty requests wait for the thread; one conflict among them is only its own."""
    file = SessionFile.open(start_session(tmp_path / "calls.run"))
    file.next(21)
    file.record(1, loss=0.5)
    hosted = HostedFile("calls", file)
    statements: list[str] = []
    file._log._connection.set_trace_callback(statements.append)

    async def work() -> list[object]:
        release = threading.Event()
        blocked = asyncio.ensure_future(hosted.read(release.wait))
        writes = [
            asyncio.ensure_future(hosted.write(lambda n=n: file.record(n, loss=0.25)))
            for n in range(1, 22)
        ]
        await asyncio.sleep(0)
        # A client that goes away before its turn changes nothing.
        writes[-1].cancel()
        await asyncio.sleep(0)
        release.set()
        await blocked
        return list(await asyncio.gather(*writes, return_exceptions=True))

    results = asyncio.run(work())
    hosted.close()
    assert isinstance(results[0], ProblemError)
    assert results[0].status == 409
    assert results[1:-1] == [True] * 19
    assert isinstance(results[-1], asyncio.CancelledError)
    assert statements.count("COMMIT") == 1
    # Each statement lets another thread go first: all requests share the ones of the transaction.
    assert len([text for text in statements if not text.startswith("INSERT INTO events")]) <= 8
    assert hosted.changes == 19
    with SessionFile.open(tmp_path / "calls.run") as again:
        assert [task.ticket for task in again.pending] == [21]
