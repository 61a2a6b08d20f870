"""Files: written whole or not at all, and never over what is read, nor over anything but a regular file.

What tombola has written itself is read as carefully: from a regular file, which has an end.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

from tombola.errors import FileError

PathLike: TypeAlias = str | os.PathLike[str]

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}

_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # a pipe that nobody writes opens at once, too


def write_atomic(path: PathLike, content: str | bytes, *inputs: PathLike) -> None:
    """Write a file so that a reader, or a kill at any moment, finds the old one or the new one, never a part."""
    with whole(path, *inputs) as file:
        file.write(content if isinstance(content, bytes) else content.encode(errors="backslashreplace"))


@contextmanager
def whole(path: PathLike, *inputs: PathLike) -> Iterator[BinaryIO]:
    """Do the same for a file that is written piece by piece; after an error there is the old one."""
    target = resolve_target(path, *inputs)
    part = target.with_name(f".{secrets.token_hex(8)}.part")  # short: a long name leaves no room for more
    with _named(path):
        before = _found(target)
        try:
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if before is not None:
                _take_over(part, before)
            os.replace(part, target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        _sync(target.parent)


def resolve_target(path: PathLike, *inputs: PathLike) -> Path:
    """Return the file that `path` means, links followed, if it can be written without harm to these inputs.

    >>> resolve_target("/dev/null")
    Traceback (most recent call last):
    tombola.errors.FileError: /dev/null: expected a file to write, got a device; name a new file, or an old page.
    """
    with _named(path):
        target = Path(os.path.realpath(path))
        found = _found(target)
        reader = next((given for given in inputs if found and _holds(given, target)), None)
        writable = os.access(target.parent, os.W_OK) and (not found or os.access(target, os.W_OK))
    if reader is not None:
        raise FileError(f"{path}: expected a file of its own to write, but {reader} is read; name another file.")
    if found and not stat.S_ISREG(found.st_mode):
        kind = feedback_type(found.st_mode)
        raise FileError(f"{path}: expected a file to write, got {kind}; name a new file, or an old page.")
    if not target.parent.is_dir():
        raise FileError(f"{path}: expected a file in a folder, but there is no folder {target.parent}; make it first.")
    if not writable:
        raise FileError(
            f"{path}: expected a file that may be written, got one that is read-only, or in such a folder; name "
            "another file."
        )
    return target


def read_bytes(path: PathLike) -> bytes:
    """Return the bytes of a regular file; a pipe or a device, which may have no end, is not waited for.

    A file that is not there is FileNotFoundError, as everywhere.

    >>> read_bytes("/dev/null")
    Traceback (most recent call last):
    tombola.errors.FileError: /dev/null: expected a file to read, got a device; name another file.
    """
    with _named(path, "read"):
        handle = os.open(path, os.O_RDONLY | _AT_ONCE)
        try:
            mode = os.fstat(handle).st_mode
            if not stat.S_ISREG(mode):
                raise FileError(f"{path}: expected a file to read, got {feedback_type(mode)}; name another file.")
            with open(handle, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(handle)


def feedback_type(mode: int) -> str:
    """Return in words what a file is that is none, by its mode."""
    return _KINDS.get(stat.S_IFMT(mode), "something else")


def check_output_path(out: PathLike | None, *inputs: PathLike) -> None:
    """Refuse an --out that cannot be written, or that is one of the inputs, before anything is worked on."""
    try:
        if out is not None:
            resolve_target(out, *inputs)
    except FileError as error:
        raise FileError(f"--out: {error}") from None


def make_folder(path: PathLike) -> Path:
    """Make a folder, and those above it, if they are not there; return it."""
    with _named(path):
        Path(path).mkdir(parents=True, exist_ok=True)
    return Path(path)


def _found(target: Path) -> os.stat_result | None:
    """Return what the system knows of a file, None if there is none; a name that no file can have is an error."""
    try:
        return target.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _take_over(part: Path, before: os.stat_result) -> None:
    """Give a new file the owner, where that is allowed, and the mode of the one in whose place it comes."""
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(part, before.st_uid, before.st_gid)
    os.chmod(part, stat.S_IMODE(before.st_mode))


def _holds(given: PathLike, target: Path) -> bool:
    """Tell whether a file is the input, or lies in it."""
    with suppress(OSError):
        return os.path.samefile(given, target) or Path(os.path.realpath(given)) in target.parents
    return False


@contextmanager
def _named(path: PathLike, done: str = "written") -> Iterator[None]:
    """Let what the system says speak of the file that was asked for."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        if done == "read" and isinstance(error, FileNotFoundError):
            raise
        said = error.strerror or str(error)
        raise FileError(f"{path}: expected a file that can be {done}, got '{said}'; name another file.") from error


def _sync(folder: Path) -> None:
    """Make the name of a new file last, where folders can be synced."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
