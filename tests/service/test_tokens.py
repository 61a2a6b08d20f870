"""Tokens: only hashes are stored, roles include each other, changes of the file are noticed."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from tombola._files import read_bytes
from tombola.errors import FileError, ParameterError
from tombola.service import tokens
from tombola.service.tokens import Identity, TokenStore


def test_file_has_no_token_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "my.tokens"
    store = TokenStore(path)
    token = store.add("Ann", "admin")
    assert token not in path.read_text(encoding="utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    store.add("Bob", "worker")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert TokenStore(path).find(token) == Identity("Ann", "admin")
    # Another process adds a token.
    assert store.find(TokenStore(path).add("Cem", "reader")) == Identity("Cem", "reader")


def test_token_that_is_too_long_is_not_even_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    store = TokenStore(None)
    owners = [store.add(role, role) for role in ("admin", "worker", "reader")]
    assert [store.find(token) for token in (*owners, "wrong", "")][3:] == [None, None]
    monkeypatch.setattr("tombola.service.tokens._hash", lambda token: pytest.fail("hashed"))
    assert store.find("x" * 100_000) is None


@pytest.mark.parametrize(
    "content", ["", "{}", "nonsense", '{"tokens": [{"name": "a", "role": "king", "sha256": "x"}]}']
)
def test_damaged_file_never_means_no_tokens(tmp_path: Path, content: str) -> None:
    path = tmp_path / "t"
    store = TokenStore(path)
    token = store.add("Ann", "admin")
    path.write_text(content, encoding="utf-8")
    with pytest.raises(FileError, match="tokens"):
        store.find(token)
    path.unlink()
    with pytest.raises(FileError, match="tokens"):
        len(store)


def test_file_that_cannot_be_read_never_means_no_tokens(tmp_path: Path) -> None:
    path = tmp_path / "my.tokens"
    path.symlink_to(path)
    with pytest.raises(FileError):
        TokenStore(path)


def test_last_admin_stays() -> None:
    store = TokenStore(None)
    with pytest.raises(ParameterError, match="admin for the first"):
        store.add("Bob", "worker")
    store.add("Ann", "admin")
    store.add("Bob", "worker")
    with pytest.raises(ParameterError, match="at least one admin"):
        store.remove("Ann")
    assert store.remove("Bob")
    with pytest.raises(ParameterError, match="at least one admin"):
        store.remove("Ann")
    assert not store.remove("Cem")


@pytest.mark.parametrize(
    ("name", "role"),
    [("", "admin"), ("a\n", "admin"), ("a/b", "admin"), ("x" * 61, "admin"), ("a", "king")],
)
def test_invalid_names_and_roles_are_rejected(name: str, role: str) -> None:
    with pytest.raises(ParameterError, match="token: expected"):
        TokenStore(None).add(name, role)


def test_file_is_read_when_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = TokenStore(tmp_path / "tokens")
    token = store.add("Ann", "admin")
    reads: list[str] = []

    def read(path: str) -> bytes:
        reads.append(path)
        return read_bytes(path)

    monkeypatch.setattr(tokens, "read_bytes", read)
    assert [store.find(token) for _ in range(3)] == [("Ann", "admin")] * 3
    assert len(reads) <= 1
    other = TokenStore(tmp_path / "tokens").add("Bob", "reader")
    assert store.find(other) == ("Bob", "reader")
    TokenStore(tmp_path / "tokens").remove("Bob")
    assert store.find(other) is None


@pytest.mark.skipif(os.name != "posix", reason="modes of files are of POSIX")
def test_file_that_others_can_read_is_refused(tmp_path: Path, one_sentence: Any) -> None:
    path = tmp_path / "tokens"
    TokenStore(path).add("Ann", "admin")
    assert path.stat().st_mode & 0o777 == 0o600
    for mode in (0o640, 0o604):
        path.chmod(mode)
        with pytest.raises(FileError, match="chmod 600") as refused:
            TokenStore(path)
        one_sentence(refused.value)
