"""File access: atomic writes, and reads from regular files only."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import platformdirs

from tombola.errors import FileError

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows, where a file is locked by msvcrt
    fcntl = None

# A path of a file or folder, as text or path object.
PathLike: TypeAlias = str | os.PathLike[str]

_FILE_TYPES = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}

# File systems, as Linux names them, whose locks or shared memory do not reach other machines.
_NETWORK_SYSTEMS = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre", "davfs"),
        *("fuse.sshfs", "fuse.glusterfs", "fuse.davfs", "fuse.rclone", "fuse.s3fs"),
    }
)

# Windows: lock without waiting (msvcrt.LK_NBLCK).
_LK_NBLCK = 2

# Without O_NONBLOCK, opening a named pipe without a writer would block for ever.
_READ_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def write_atomic(path: PathLike, content: str | bytes, *inputs: PathLike) -> None:
    """Write a file as `atomic_writer` does; text is encoded as UTF-8."""
    with atomic_writer(path, *inputs) as file:
        file.write(
            content if isinstance(content, bytes) else content.encode(errors="backslashreplace")
        )


@contextmanager
def atomic_writer(path: PathLike, *inputs: PathLike) -> Iterator[BinaryIO]:
    """Open a binary file that replaces `path` if no error occurs in the block.

    A context manager: `with atomic_writer(path) as file: file.write(data)`. Content is written to a
    temporary file in the same folder, which is renamed at the end of the block; after an error it
    is deleted, and `path` is unchanged. Owner and mode of an existing file are kept. Raises
    FileError if `path` cannot be written.

    inputs: files, or folders of files, that must not be overwritten; FileError if `path` is one of
        them.
    """
    target = _resolve_target(path, *inputs)
    # A short random name: prefixing a name of maximal length would exceed the limit of the file
    # system.
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    with _file_errors(path):
        previous = _stat(target)
        try:
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if previous is not None:
                _copy_owner_and_mode(part, previous)
            os.replace(part, target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)


def _resolve_target(path: PathLike, *inputs: PathLike) -> Path:
    """Return the file to write, links followed; raise if it cannot be written."""
    with _file_errors(path):
        target = Path(os.path.realpath(path))
        status = _stat(target)
        overwritten = next(
            (source for source in inputs if status and _contains(source, target)), None
        )
        writable = os.access(target.parent, os.W_OK) and (not status or os.access(target, os.W_OK))
    if overwritten is not None:
        raise FileError(
            f"{path}: expected a file of its own to write, but {overwritten} is read; name "
            "another file."
        )
    if status and not stat.S_ISREG(status.st_mode):
        kind = file_type_text(status.st_mode)
        raise FileError(
            f"{path}: expected a file to write, got {kind}; name a new file, or an old page."
        )
    if not target.parent.is_dir():
        raise FileError(
            f"{path}: expected a file in a folder, but there is no folder {target.parent}; make "
            "it first."
        )
    if not writable:
        raise FileError(
            f"{path}: expected a file that may be written, got one that is read-only, or in such "
            "a folder; name "
            "another file."
        )
    return target


def read_bytes(path: PathLike) -> bytes:
    """Return the content of a regular file; reject pipes without blocking.

    A missing file raises FileNotFoundError. A folder, a device, or an error while reading raises
    FileError.
    """
    with _file_errors(path, "read"):
        handle = os.open(path, _READ_FLAGS)
        try:
            mode = os.fstat(handle).st_mode
            if not stat.S_ISREG(mode):
                raise FileError(
                    f"{path}: expected a file to read, got {file_type_text(mode)}; name another "
                    "file."
                )
            with open(handle, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(handle)


@contextmanager
def exclusive_lock(path: PathLike) -> Iterator[bool]:
    """Lock the file `path`, which is made for it; yield False if another process holds it.

    A context manager that releases the lock and removes the file. The lock also ends with the
    process.
    """
    while True:
        with _file_errors(path):
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if not _try_lock(handle):
                yield False
                return
            # The holder before may have removed the file after it was opened here. A lock of a
            # removed file excludes nobody: others make a new file and lock that one.
            status = _stat(Path(path))
            if status is None or not os.path.samestat(status, os.fstat(handle)):
                continue
            try:
                yield True
            finally:
                with suppress(OSError):  # Windows does not remove an open file
                    os.unlink(path)
            return
        finally:
            os.close(handle)


def _try_lock(handle: int) -> bool:
    """Lock an open file without waiting; return whether it succeeded."""
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import_module("msvcrt").locking(handle, _LK_NBLCK, 1)
    except OSError:
        return False
    return True


def default_cache_dir(name: str) -> Path:
    """Return the cache folder of a command, below TOMBOLA_CACHE or the user's cache."""
    return Path(os.environ.get("TOMBOLA_CACHE") or platformdirs.user_cache_path("tombola")) / name


def network_drive(path: PathLike) -> str | None:
    """Return the file system of a path if it is one of a network, else None.

    None also where the system does not tell (elsewhere than on Linux).
    """
    target = Path(os.path.realpath(path))
    try:
        text = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    # The deepest mount point above the path counts, of several there the last one.
    depth, kind = -1, ""
    for line in text.splitlines():
        mount, _, source = line.partition(" - ")
        point = Path(mount.split(" ")[4].replace("\\040", " "))
        if target.is_relative_to(point) and len(point.parts) >= depth:
            depth, kind = len(point.parts), source.split(" ")[0]
    return kind if kind in _NETWORK_SYSTEMS else None


def file_type_text(mode: int) -> str:
    """Return the type of an irregular file by its `st_mode`, such as "a device"."""
    return _FILE_TYPES.get(stat.S_IFMT(mode), "something else")


def check_output_path(out: PathLike | None, *inputs: PathLike) -> None:
    """Raise FileError early if `out`, the value of --out, cannot be written, or is an input; None passes."""
    try:
        if out is not None:
            _resolve_target(out, *inputs)
    except FileError as error:
        raise FileError(f"--out: {error}") from None


def make_folder(path: PathLike) -> Path:
    """Create a folder and its parents if missing; FileError if that fails."""
    with _file_errors(path):
        Path(path).mkdir(parents=True, exist_ok=True)
    return Path(path)


def _stat(target: Path) -> os.stat_result | None:
    try:
        return target.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _copy_owner_and_mode(part: Path, previous: os.stat_result) -> None:
    # Only root may change the owner; for others the file stays theirs.
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(part, previous.st_uid, previous.st_gid)
    os.chmod(part, stat.S_IMODE(previous.st_mode))


def _contains(given: PathLike, target: Path) -> bool:
    """Return whether the target is the input itself, or a file inside an input folder."""
    with suppress(OSError):
        return os.path.samefile(given, target) or Path(os.path.realpath(given)) in target.parents
    return False


@contextmanager
def _file_errors(path: PathLike, action: str = "written") -> Iterator[None]:
    """Convert OSError to FileError with the path that the user gave."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        if action == "read" and isinstance(error, FileNotFoundError):
            raise
        reason = error.strerror or str(error)
        raise FileError(
            f"{path}: expected a file that can be {action}, got '{reason}'; name another file."
        ) from error


def _sync_folder(folder: Path) -> None:
    """Sync the folder entry of a new file, where the system supports it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
