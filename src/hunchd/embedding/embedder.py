"""Model interfaces with lazy loading, caching and release when idle."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Final, Generic, Protocol, TypeVar

from hunchd.domain.errors import HunchError
from hunchd.protocol.allocating import give_memory_back

logger = logging.getLogger(__name__)

# Enough for the queries of a day; 1.5 kB each.
REMEMBERED: Final = 2_048  # vectors
# A model that could not be loaded may have been repaired meanwhile.
TRY_AGAIN_AFTER: Final = 300.0  # seconds


class ModelUnavailable(HunchError):
    """The model is missing, damaged or unknown. Searching by words still works."""

    code = "unavailable"


class Embedder(Protocol):
    """Model that maps texts to vectors.

    Vectors have length 1 (little-endian float32 bytes); that of a text that the model cannot read is zero. Thread-safe.
    """

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return the vector of each text."""


class Reader(Protocol):
    """Model that returns the probability of contradictions.

    It reads pairs of statements. Thread-safe.
    """

    def contradict(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return for each pair the probability that both cannot hold."""


Model = TypeVar("Model")


class Late(Generic[Model]):
    """Lazily loaded model that is released when idle."""

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
        self._loading = threading.Lock()
        self._model: Model | None = None
        self._failed_at = float("-inf")
        self._used_at = clock()
        self.failure = ""

    @property
    def loaded(self) -> bool:
        """True if the model is in memory."""
        return self._model is not None

    def model(self) -> Model:
        """Return the model, loading it if necessary. Raises ModelUnavailable."""
        self.used()
        model = self._model
        if model is not None:
            return model
        with self._loading:
            if self._model is None:
                self._model = self._try_to_load()
            return self._model

    def used(self) -> None:
        """Mark the model as in use, which delays its release."""
        self._used_at = self._clock()

    def release_if_idle(self) -> bool:
        """Release the model if it was not used for a while.

        Returns True if it was released.
        """
        if self._model is None or self._clock() - self._used_at < self._idle_after:
            return False
        self._model = None
        give_memory_back()
        return True

    def _try_to_load(self) -> Model:
        if self._clock() - self._failed_at < TRY_AGAIN_AFTER:
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


class LazyEmbedder(Late[Embedder]):
    """Lazily loaded embedder with a cache of vectors by content."""

    def __init__(
        self,
        name: str,
        load: Callable[[], Embedder],
        *,
        idle_after: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(name, load, idle_after=idle_after, clock=clock)
        self._remembered: OrderedDict[bytes, bytes] = OrderedDict()

    def known(self, text: str) -> bytes | None:
        """Return the cached vector of a text, or None, without waiting."""
        return self._remembered.get(_key(text))

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return a vector for each text, in order. Raises ModelUnavailable.

        Each distinct text is embedded once.
        """
        keys = [_key(text) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._remembered}
        made = dict(zip(new, self.model().embed(list(new.values())), strict=True)) if new else {}
        self.used()
        vectors = [made[key] if key in made else self._remembered[key] for key in keys]
        self._remembered.update(made)
        while len(self._remembered) > REMEMBERED:
            self._remembered.popitem(last=False)
        return vectors


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
