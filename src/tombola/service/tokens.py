"""Tokens of the service: random secrets with a name and a role, stored as hashes.

A token has 256 random bits, so one SHA-256 is enough: there is nothing to guess that a slow hash
would protect.
"""

import hashlib
import json
import os
import secrets
from pathlib import Path
from threading import RLock
from typing import NamedTuple

from tombola._files import read_bytes, write_atomic
from tombola.errors import FileError, ParameterError

# Roles of callers; each includes the ones before it. Readers see, workers issue and record, admins
# manage.
ROLES = ("reader", "worker", "admin")
# Characters of a token; longer ones are unknown. Bounds the work for a hostile header; real ones
# have 43.
_MAX_TOKEN_LENGTH = 200
# Largest number of characters of the name of an owner: enough for a full name, and it fits a table
# cell.
MAX_NAME_LENGTH = 60


class Identity(NamedTuple):
    """The owner of a token, with the role "reader", "worker" or "admin".

    >>> Identity("Ann", "worker").may("reader"), Identity("Ann", "worker").may("admin")
    (True, False)
    """

    name: str
    role: str

    def may(self, role: str) -> bool:
        """Return whether the owner has this role's rights: each includes those before it."""
        return ROLES.index(self.role) >= ROLES.index(role)


# Identity of every caller of a service without tokens: an admin, because it listens only on this
# machine.
LOCAL_ADMIN = Identity("local", "admin")


class TokenStore:
    """Tokens of a service, in a JSON file that only its owner can read.

    The file is read again when it has changed, so that changes by another process count. A damaged
    file raises FileError, and so does one that other users of the machine can read.

    path: created by the first `add`; None keeps the tokens in memory.

    >>> store = TokenStore(None)
    >>> store.find("x") is None, len(store)
    (True, 0)
    >>> token = store.add("Ann", "admin")
    >>> store.find(token)
    Identity(name='Ann', role='admin')
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lock = RLock()
        self._by_hash: dict[str, Identity] = {}
        self._version: tuple[int, ...] | None = None
        self._read()

    def __len__(self) -> int:
        return len(self._read())

    def owners(self) -> list[Identity]:
        """Return the owners of all tokens with their roles."""
        return list(self._read().values())

    def add(self, name: str, role: str) -> str:
        """Create a token and return it; only its hash is stored.

        ParameterError for an unknown role, a malformed or used name, and a first token that is not
        an admin's.
        """
        if role not in ROLES:
            raise ParameterError(
                f"token: expected a role of {', '.join(ROLES)}, got {role!r}; write one of them."
            )
        # A slash would end the name in the address that removes the token.
        if not (
            0 < len(name) <= MAX_NAME_LENGTH
            and name.isprintable()
            and name.strip() == name
            and "/" not in name
        ):
            raise ParameterError(
                f"token: expected a name of 1 to {MAX_NAME_LENGTH} printable characters without "
                "a slash, "
                f"got {name!r:.200}; change it."
            )
        with self._lock:
            known = self._read()
            token = secrets.token_urlsafe(32)
            if any(owner.name == name for owner in known.values()):
                raise ParameterError(
                    f"token: expected a new name, got {name!r}, which has a token; remove it first."
                )
            # Once a token exists, requests without one are rejected, also those of the person at
            # the server.
            if not known and role != "admin":
                raise ParameterError(
                    f"token: expected admin for the first token, got {role!r}; add an admin first."
                )
            self._save({**known, _hash(token): Identity(name, role)})
        return token

    def remove(self, name: str) -> bool:
        """Remove the token of a name; return whether there was one. An admin must stay."""
        with self._lock:
            known = self._read()
            others = {key: owner for key, owner in known.items() if owner.name != name}
            if len(others) == len(known):
                return False
            # Without any token every caller would be an admin.
            if not any(owner.role == "admin" for owner in others.values()):
                raise ParameterError(
                    f"token: expected at least one admin to stay, got {name!r}; add an admin first."
                )
            self._save(others)
            return True

    def find(self, token: str) -> Identity | None:
        """Return name and role of the owner of a token, None if it is unknown."""
        return None if len(token) > _MAX_TOKEN_LENGTH else self._read().get(_hash(token))

    def _save(self, by_hash: dict[str, Identity]) -> None:
        if self.path is not None:
            rows = [
                {"name": name, "role": role, "sha256": key} for key, (name, role) in by_hash.items()
            ]
            try:
                # The mode is set before there is any content.
                os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600))
            except OSError as error:
                raise FileError(
                    f"{self.path}: expected a file to write, got {error.strerror}; name another "
                    "one with --tokens."
                ) from None
            write_atomic(self.path, json.dumps({"tokens": rows}, indent=1) + "\n")
            self._version = self._file_version()
        self._by_hash = by_hash

    def _read(self) -> dict[str, Identity]:
        """Return the owners by the hashes of their tokens; the file is read when it changes."""
        with self._lock:
            if self.path is None:
                return self._by_hash
            version = self._file_version()
            if version != self._version:
                by_hash = {} if version is None else self._parsed()
                if self._by_hash and not by_hash:
                    # Never continue without tokens: that would admit everybody.
                    raise FileError(
                        f"{self.path}: expected tokens, got none after some were read; restart the "
                        "service."
                    )
                self._by_hash = by_hash
                self._version = version
            return self._by_hash

    def _file_version(self) -> tuple[int, ...] | None:
        """Return what changes with the file; None if it is missing, FileError if others read it."""
        try:
            status = os.stat(str(self.path))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise FileError(
                f"{self.path}: expected a file to read, got {error.strerror}; restore it."
            ) from None
        if os.name == "posix" and status.st_mode & 0o077:
            raise FileError(
                f"{self.path}: expected a file that only its owner can read, got one that others "
                f"can read too; write chmod 600 {self.path}."
            )
        return status.st_ino, status.st_size, status.st_mtime_ns

    def _parsed(self) -> dict[str, Identity]:
        by_hash: dict[str, Identity] = {}
        try:
            content = read_bytes(str(self.path))
            for row in json.loads(content)["tokens"] if content else ():
                if row["role"] not in ROLES or len(row["sha256"]) != 64:
                    raise ValueError
                by_hash[str(row["sha256"])] = Identity(str(row["name"]), str(row["role"]))
        except FileNotFoundError:
            return {}
        except (KeyError, TypeError, ValueError):
            # Never continue without tokens: that would admit everybody.
            raise FileError(
                f"{self.path}: expected the tokens of a service, got something else; restore it, "
                "or remove it."
            ) from None
        return by_hash


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
