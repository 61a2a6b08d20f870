"""Snapshot of the state of a long log, beside it: a reopened file replays only what came after.

FILE-snapshot has arrays and texts by name, the number and digest of the event that they belong to,
and what their bits depend on: code, versions, processor. It is a cache. One that does not fit, is
damaged, or comes from another user or machine is ignored, and everything is replayed. The state
goes to compiled code, so a snapshot is signed with a key that only this user of this machine has.
"""

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from tombola._files import default_cache_dir
from tombola.engine.provenance import environment

_KEY_BYTES = 32
_SIGNATURE_BYTES = 32


def snapshot_path(path: Path) -> Path:
    """Return the path of the snapshot of a file."""
    return Path(f"{path}-snapshot")


def write_snapshot(path: Path, number: int, digest: bytes, parts: Mapping[str, Any]) -> None:
    """Write the state after an event beside a file; nothing if that is not possible.

    parts: arrays and texts by name.
    """
    names = {}
    content = []
    for name, part in parts.items():
        data = part.encode() if isinstance(part, str) else np.ascontiguousarray(part).tobytes()
        dtype = None if isinstance(part, str) else part.dtype.str
        names[name] = [dtype, [] if dtype is None else list(part.shape), len(data)]
        content.append(data)
    header = {"at": [number, digest.hex()], "environment": environment(), "parts": names}
    body = b"".join([json.dumps(header).encode(), b"\n", *content])
    # The folder may be full or read-only; the log has everything. A part of a file, as a loss of
    # power leaves it, does not fit its signature.
    with suppress(OSError):
        mode = os.stat(path).st_mode & 0o777
        signature = _sign(_key(), body)
        _replace(snapshot_path(path), mode, signature, body)


def read_snapshot(path: Path) -> tuple[int, bytes, dict[str, Any]] | None:
    """Return number and digest of the event of a snapshot, and its parts; None if unusable."""
    try:
        content = snapshot_path(path).read_bytes()
        body = memoryview(content)[_SIGNATURE_BYTES:]
        if not hmac.compare_digest(content[:_SIGNATURE_BYTES], _sign(_key(), body)):
            return None
        at = content.index(b"\n", _SIGNATURE_BYTES) + 1
        header = json.loads(content[_SIGNATURE_BYTES:at])
        if header["environment"] != environment():
            return None
    except (OSError, ValueError):
        return None
    parts: dict[str, Any] = {}
    for name, (dtype, shape, size) in header["parts"].items():
        data = content[at : at + size]
        at += size
        parts[name] = data.decode() if dtype is None else np.frombuffer(data, dtype).reshape(shape)
    number, digest = header["at"]
    return number, bytes.fromhex(digest), parts


def _sign(key: bytes, body: bytes | memoryview) -> bytes:
    return hashlib.blake2b(body, key=key, digest_size=_SIGNATURE_BYTES).digest()


def _key() -> bytes:
    """Return the key of this user on this machine; it is drawn when it is first needed."""
    path = default_cache_dir("snapshots") / "key"
    with suppress(FileNotFoundError):
        key = path.read_bytes()
        if len(key) == _KEY_BYTES:
            return key
    path.parent.mkdir(parents=True, exist_ok=True)
    _replace(path, 0o600, secrets.token_bytes(_KEY_BYTES))
    return path.read_bytes()


def _replace(path: Path, mode: int, *parts: bytes) -> None:
    """Replace a file; nobody who may not read the new one can read a part of it."""
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(part, flags, mode), "wb") as file:
            file.writelines(parts)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
