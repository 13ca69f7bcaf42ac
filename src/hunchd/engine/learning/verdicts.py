"""Persistent verdicts of the language model, so that no pair is paid for twice."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from hunchd.consolidation.contradictions.scanning import statement
from hunchd.domain.memory import Memory
from hunchd.language.prompts import CONTRADICTIONS
from hunchd.store.files import Files, replace_file

logger = logging.getLogger(__name__)

REMEMBERED: Final = 20_000  # pairs


class Verdicts:
    """Verdicts by the text of both sides, independent of memory ids.

    The file holds digests only, no text.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._of: dict[str, bool] = {}
        try:
            told = json.loads(path.read_bytes())
            self._of = {str(pair): bool(verdict) for pair, verdict in told.items()}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, AttributeError):
            logger.exception("%s is not readable; pairs will be judged again", path)

    def of(self, one: Memory, other: Memory) -> bool | None:
        """Return True if both cannot hold, None if this text was never judged."""
        return self._of.get(_pair(one, other))

    def denied(self, one: Memory, other: Memory) -> bool:
        """Return True if the verdict is that both can hold."""
        return self.of(one, other) is False

    def keep(self, memory: Memory, verdicts: Iterable[tuple[Memory, bool]]) -> None:
        """Store the verdicts of a memory against others."""
        said = self._of | {_pair(memory, other): verdict for other, verdict in verdicts}
        self._of = dict(list(said.items())[-REMEMBERED:])
        try:
            replace_file(Files(), self._path, json.dumps(self._of).encode())
        except OSError:
            logger.exception("verdicts of the language model could not be saved")


def _pair(one: Memory, other: Memory) -> str:
    """Return the digest of a pair and the prompt.

    Another prompt judges again.
    """
    said = "\0".join((CONTRADICTIONS.name, *sorted((statement(one), statement(other)))))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:24]
