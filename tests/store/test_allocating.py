"""While a table is tidied large buffers go back to the system at once; before and after they are kept for the next."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hunchd.store.allocating import APART_FROM, USUAL, large_buffers_apart
from hunchd.store.client import LIMITS

HELD = """
import ctypes
from hunchd.store.allocating import large_buffers_apart

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

usual = apart()
with large_buffers_apart():
    meanwhile = apart()
print(usual, meanwhile, apart())
"""


def held(limits: dict[str, str]) -> list[int]:
    done = subprocess.run([sys.executable, "-c", HELD], env={"PYTHONPATH": ":".join(sys.path), **limits},
                          capture_output=True, text=True, check=True)  # fmt: skip
    return [int(one) for one in done.stdout.split()]


@pytest.mark.skipif(sys.platform != "linux", reason="a figure of the GNU C library")
def test_only_meanwhile_a_large_buffer_is_memory_of_its_own() -> None:
    assert held(dict(LIMITS)) == [0, 1, 0]


@pytest.mark.skipif(sys.platform != "linux", reason="a figure of the GNU C library")
def test_without_a_limit_of_ours_nothing_is_changed() -> None:
    usual, meanwhile, after = held({})
    assert usual == meanwhile == after == 1  # the library's own threshold is lower


def test_what_is_tidied_fails_as_it_would_and_the_limit_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int]] = []
    monkeypatch.setenv(USUAL, "4194304")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("hunchd.store.allocating._teller", lambda: lambda *asked: told.append(asked))
    with pytest.raises(OSError, match="full"), large_buffers_apart():
        raise OSError("full")
    assert [value for _, value in told] == [APART_FROM, 4_194_304]
