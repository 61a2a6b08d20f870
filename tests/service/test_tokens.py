"""Tokens: only hashes are stored, roles include each other, changes of the file are noticed."""

import hmac
import stat
from pathlib import Path
from unittest.mock import Mock

import pytest

from tombola.errors import FileError, ParameterError
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


def test_lookup_compares_all_hashes_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A token that is too long is not even hashed."""
    store, compare = TokenStore(None), Mock(wraps=hmac.compare_digest)
    tokens = [store.add(role, role) for role in ("admin", "worker", "reader")]
    monkeypatch.setattr("tombola.service.tokens.hmac.compare_digest", compare)
    for number, token in enumerate((*tokens, "wrong", ""), 1):
        store.find(token)
        assert compare.call_count == 3 * number
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
