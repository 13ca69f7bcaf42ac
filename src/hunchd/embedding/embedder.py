"""Interfaces of the models; models load on first use and are released when idle."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Final, Generic, Protocol, TypeVar

from hunchd.domain.errors import HunchError
from hunchd.protocol.malloc_tuning import release_free_memory

logger = logging.getLogger(__name__)

# Enough for the queries of a day; 1.5 kB each.
MAX_CACHED_VECTORS: Final = 2_048  # vectors
# A model that could not be loaded may have been repaired meanwhile.
RETRY_AFTER_SECONDS: Final = 300.0  # seconds


class ModelUnavailable(HunchError):
    """Error raised if a model is missing, damaged or unknown.

    Searching by words still works without the model.
    """

    code = "unavailable"


class Embedder(Protocol):
    """Thread-safe model that maps texts to vectors.

    Vectors are little-endian float32 bytes and have length 1, or are zero if the model cannot read the text.
    """

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return the vector of each text."""


class ContradictionModel(Protocol):
    """Thread-safe model that finds contradictions between pairs of statements."""

    def rate_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return the probability of a contradiction for each pair.

        Two statements contradict each other if they cannot both hold.
        """


class StatementModel(Protocol):
    """Thread-safe model that judges the sentences of a session in context.

    The context of a sentence is the sentence before it.
    """

    def rate_sentences(self, pairs: Sequence[tuple[str, str]]) -> list[bytes]:
        """Return the logits of the statement labels for each sentence.

        Each of the `pairs` consists of a context and a sentence. The logits are float32 numbers as bytes.
        """


Model = TypeVar("Model")


class LazyModel(Generic[Model]):
    """Model that is loaded on first use and released when idle."""

    def __init__(
        self,
        name: str,
        load: Callable[[], Model],
        *,
        idle_after: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self._load = load
        self._idle_after = idle_after  # seconds
        self._clock = clock
        self._load_lock = threading.Lock()
        self._model: Model | None = None
        self._failed_at = float("-inf")
        self._last_used_at = clock()
        self.failure = ""

    @property
    def is_loaded(self) -> bool:
        """True if the model is in memory."""
        return self._model is not None

    def get_model(self) -> Model:
        """Return the model, loading it if necessary.

        Raises ModelUnavailable if the model cannot be loaded; no further attempt is made for RETRY_AFTER_SECONDS.
        """
        self.mark_used()
        model = self._model
        if model is not None:
            return model
        with self._load_lock:
            if self._model is None:
                self._model = self._try_to_load()
            return self._model

    def mark_used(self) -> None:
        """Record that the model is in use, which delays its release."""
        self._last_used_at = self._clock()

    def release_if_idle(self) -> bool:
        """Release the model if it has not been used for `idle_after` seconds.

        Returns True if it was released.
        """
        if self._model is None or self._clock() - self._last_used_at < self._idle_after:
            return False
        self._model = None
        release_free_memory()
        return True

    def _try_to_load(self) -> Model:
        if self._clock() - self._failed_at < RETRY_AFTER_SECONDS:
            raise ModelUnavailable(self.failure)
        try:
            model = self._load()
        except ModelUnavailable as error:
            self._failed_at, self.failure = self._clock(), error.message
            raise
        except Exception as error:  # the libraries below a model raise many kinds of errors
            logger.exception("the model %s cannot be loaded", self.name)
            self._failed_at, self.failure = self._clock(), f"the model {self.name} cannot be loaded: {error}"
            raise ModelUnavailable(self.failure) from error
        self.failure = ""
        return model


class LazyEmbedder(LazyModel[Embedder]):
    """Embedder that is loaded on first use and caches the vectors of texts."""

    def __init__(
        self,
        name: str,
        load: Callable[[], Embedder],
        *,
        idle_after: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(name, load, idle_after=idle_after, clock=clock)
        self._cache: OrderedDict[bytes, bytes] = OrderedDict()

    def get_cached(self, text: str) -> bytes | None:
        """Return the cached vector of a text, or None, without loading the model."""
        return self._cache.get(_hash_text(text))

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return a vector for each text, in order.

        Each distinct text is embedded only once. Raises ModelUnavailable if the model is needed but cannot be loaded.
        """
        keys = [_hash_text(text) for text in texts]
        texts_by_key = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._cache}
        new_vectors = (
            dict(zip(texts_by_key, self.get_model().embed(list(texts_by_key.values())), strict=True))
            if texts_by_key
            else {}
        )
        self.mark_used()
        vectors = [new_vectors[key] if key in new_vectors else self._cache[key] for key in keys]
        self._cache.update(new_vectors)
        while len(self._cache) > MAX_CACHED_VECTORS:
            self._cache.popitem(last=False)
        return vectors


def _hash_text(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
