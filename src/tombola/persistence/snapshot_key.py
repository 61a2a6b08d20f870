"""The key of a person: what is sealed with it was written by tombola for the same person, not by whoever made the file.

A digest notices damage, but whoever can write a file can compute one. What would have to be believed as it stands, the
state of a learner in a checkpoint above all, is sealed with a secret that is in no file of a run. So a file that comes
from somebody else opens as well, only slower: its events are gone through once, and checked.
"""

import os
import secrets
import stat
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

SIZE = 32  # bytes of a secret


class Key(NamedTuple):
    """A secret, and a name for it that gives nothing away."""

    secret: bytes
    name: str

    def seal(self, about: object, body: bytes) -> bytes:
        """Return the seal of a body, and of what it is about."""
        sealed = blake2b(repr(about).encode("utf-8", "surrogatepass"), key=self.secret)
        sealed.update(body)
        return sealed.digest()


def own_key() -> Key | None:
    """Return the key of this person, made when it is first needed; None where no folder can keep one.

    >>> own_key() == own_key()
    True
    """
    try:
        path = key_folder() / "key"
        if str(path) not in _found:
            if not os.path.lexists(path):
                _make(path)
            _found[str(path)] = _read(path)
        return _found[str(path)]
    except (OSError, RuntimeError):  # no folder that may be written, no home at all
        return None


_found: dict[str, Key | None] = {}  # by path, in this process


def key_folder() -> Path:
    """Return where the key is kept: TOMBOLA_STATE, or a folder in the state of the person."""
    state_home = os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()
    return Path(os.environ.get("TOMBOLA_STATE") or Path(state_home) / "tombola")


def _make(path: Path) -> None:
    """Write a new secret, whole, unless another process was quicker."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f".key.{secrets.token_hex(8)}.part")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(SIZE))
            file.flush()
            os.fsync(file.fileno())
        os.link(part, path)
    except FileExistsError:
        pass
    finally:
        part.unlink(missing_ok=True)


def _read(path: Path) -> Key | None:
    """Return the key in a file; None if it is no key, or not this person's alone."""
    with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        found = os.fstat(file.fileno())
        alone = not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o077)
        if not alone or not stat.S_ISREG(found.st_mode) or found.st_size != SIZE:
            return None
        secret = file.read()
    return Key(secret, blake2b(b"name of a key", key=secret, digest_size=8).hexdigest())
