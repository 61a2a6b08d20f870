"""Disk cache of compiled kernels: damaged files, other types, no writable folder, full disk."""

import shutil
from pathlib import Path

import pytest

from conftest import SOURCE, Run
from tombola.engine import cache, compiler
from tombola.engine.compiler import compile_loop
from tombola.errors import TombolaWarning

pytestmark = pytest.mark.usefixtures("machine_code")
COMPILE = """
import numpy as np
from tombola.engine.compiler import compile_loop
from tombola.engine.vectors import least, total
for kernel in (least, total):
    print(compile_loop(kernel, (np.ones(3),))(np.array([1.0, 2.0])))
"""
LIMIT_FILE_SIZE = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (2048, resource.RLIM_INFINITY))
"""


@pytest.mark.parametrize("full", [False, True])
def test_no_writable_folder_or_full_disk_is_one_warning(
    full: bool, tmp_path: Path, run_python: Run
) -> None:
    program, reason = LIMIT_FILE_SIZE + COMPILE, "File too large"
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    if not full:
        shutil.copytree(
            SOURCE / "tombola", tmp_path / "tombola", ignore=shutil.ignore_patterns("__pycache__")
        )
        for folder in {path.parent for path in tmp_path.rglob("*.py")}:
            (folder / "__pycache__").write_text(
                "a file, so that not even root can make a folder here"
            )
        program, reason = COMPILE, "no folder for it can be written"
        environment = {
            "HOME": "/dev/null/home",
            "XDG_CACHE_HOME": "/dev/null/cache",
            "PYTHONPATH": str(tmp_path),
        }
    done = run_python("-W", "default", "-c", program, cwd=tmp_path, **environment)
    assert (done.returncode, done.stdout) == (0, "1.0\n3.0\n"), done.stderr
    assert done.stderr.count(f"TombolaWarning: compiled code cannot be cached ({reason})") == 1
    assert "change the kernel" not in done.stderr


def thrice(number: float) -> float:
    return 3.0 * number


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache folder, and forget the kernels and warnings of this process."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "_warned", set())
    monkeypatch.setattr(compiler, "_loops", {})
    return tmp_path


def test_damaged_index_is_rewritten(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compile_loop(thrice, (2.0,))(2.0) == 6.0
    (index,) = folder.rglob("*.nbi")
    before = index.read_bytes()
    index.write_bytes(before[: len(before) // 2])
    monkeypatch.setattr(compiler, "_loops", {})
    with pytest.warns(TombolaWarning, match="a file of compiled code is damaged") as caught:
        assert compile_loop(thrice, (2.0,))(2.0) == 6.0
    assert len(caught) == 1
    assert index.read_bytes() == before


def test_code_of_other_types_is_not_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes that compile for different types at once can leave the index of one with the code of the other."""
    for number in (2.0, 2):
        assert compile_loop(thrice, (number,))(number) == 6.0
    first, second = sorted(folder.rglob("*.nbc"))
    swapped = second.read_bytes(), first.read_bytes()
    first.write_bytes(swapped[0])
    second.write_bytes(swapped[1])
    for hits in (0, 1):  # compiled again, then loaded
        for number, kind in ((2.0, "float64"), (2, "int64")):
            monkeypatch.setattr(compiler, "_loops", {})
            compiled = compile_loop(thrice, (number,))
            assert [str(kinds[0]) for kinds in compiled.signatures] == [kind]
            assert compiled(number) == 6.0
            assert sum(compiled.stats.cache_hits.values()) == hits


@pytest.mark.parametrize("error", [AttributeError, ModuleNotFoundError])
def test_code_with_renamed_classes_is_recompiled_silently(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    """Unpickling fails on a renamed class; warnings are errors here."""
    assert compile_loop(thrice, (2.0,))(2.0) == 6.0

    def renamed(*arguments: object) -> None:
        raise error("module 'tombola.engine.loop' has no attribute 'Table'")

    monkeypatch.setattr(compiler, "_loops", {})
    monkeypatch.setattr("numba.core.caching.FunctionCache.load_overload", renamed)
    assert compile_loop(thrice, (2.0,))(2.0) == 6.0
    assert list(folder.rglob("*.nbi"))


def test_has_index_finds_cached_kernels_without_numba(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    monkeypatch.setattr(cache, "_cache_folders", cache._cache_folders.__wrapped__)
    source = thrice.__code__.co_filename
    assert not cache.has_index(source, "0" * 24)
    compile_loop(thrice, (2.0,))
    (digest,) = compiler._loops
    assert cache.has_index(source, digest)
    assert not cache.has_index(source, "0" * 24)
