"""Large buffers are returned to the system at once: always in bound processes, in the store's during compaction."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hunchd.protocol.malloc_tuning import MMAP_THRESHOLD_BYTES, MMAP_THRESHOLD_VARIABLE, unmap_large_buffers
from hunchd.store.client import PROCESS_LIMITS

APART = """
import ctypes
from hunchd.protocol.malloc_tuning import limit_malloc, unmap_large_buffers

class Told(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p
library.mallinfo2.restype = Told

def apart():
    before = library.mallinfo2().hblks
    library.malloc(1_000_000)
    return library.mallinfo2().hblks - before
"""
MEANWHILE = """
usual = apart()
with unmap_large_buffers():
    meanwhile = apart()
print(usual, meanwhile, apart())
"""
AFTER_A_LARGE_ONE = """
library.free.argtypes = [ctypes.c_void_p]
library.free(library.malloc(20_000_000))
print(apart())
"""


def resident_bytes(limits: dict[str, str], script: str = MEANWHILE) -> list[int]:
    done = subprocess.run([sys.executable, "-c", APART + script], env={"PYTHONPATH": ":".join(sys.path), **limits},
                          capture_output=True, text=True, check=True)  # fmt: skip
    return [int(one) for one in done.stdout.split()]


@pytest.mark.skipif(sys.platform != "linux", reason="a figure of the GNU C library")
def test_large_buffers_unmapped_only_inside_block() -> None:
    assert resident_bytes(dict(PROCESS_LIMITS)) == [0, 1, 0]


@pytest.mark.skipif(sys.platform != "linux", reason="a figure of the GNU C library")
def test_large_buffers_without_threshold_changes_nothing() -> None:
    usual, meanwhile, after = resident_bytes({})
    assert usual == meanwhile == after == 1  # the library's own threshold is lower


@pytest.mark.skipif(sys.platform != "linux", reason="a figure of the GNU C library")
def test_bound_process_never_raises_mmap_threshold() -> None:
    assert resident_bytes({}, AFTER_A_LARGE_ONE) == [0]
    assert resident_bytes({}, f"limit_malloc(){AFTER_A_LARGE_ONE}") == [1]


def test_large_buffers_after_exception_restores_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int]] = []
    monkeypatch.setenv(MMAP_THRESHOLD_VARIABLE, "4194304")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("hunchd.protocol.malloc_tuning._load_mallopt", lambda: lambda *asked: told.append(asked))
    with pytest.raises(OSError, match="full"), unmap_large_buffers():
        raise OSError("full")
    assert [value for _, value in told] == [MMAP_THRESHOLD_BYTES, 4_194_304]
