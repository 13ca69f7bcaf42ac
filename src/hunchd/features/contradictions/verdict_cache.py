"""Cache of the language model's verdicts, so that no pair is paid for twice."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from hunchd.consolidation.contradictions.statements import extract_statement
from hunchd.domain.memory import Memory
from hunchd.language.prompts import CONTRADICTIONS_PROMPT
from hunchd.store.files import FileOperations, replace_file

logger = logging.getLogger(__name__)

MAX_PAIRS: Final = 20_000  # pairs


class VerdictCache:
    """Cache of verdicts, stored in a file.

    The key of a verdict is made from the texts of the two statements, not from the ids of the memories. The file
    contains only digests, no text.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._verdicts: dict[str, bool] = {}
        try:
            raw = json.loads(path.read_bytes())
            self._verdicts = {str(pair): bool(verdict) for pair, verdict in raw.items()}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, AttributeError):
            logger.exception("could not read %s; pairs will be judged again", path)

    def get(self, one: Memory, other: Memory) -> bool | None:
        """Return the verdict on two statements: True if they contradict each other.

        Returns False if they do not, and None if they have never been judged.
        """
        return self._verdicts.get(_digest_pair(one, other))

    def is_denied(self, one: Memory, other: Memory) -> bool:
        """Return True if the verdict is that there is no contradiction."""
        return self.get(one, other) is False

    def store(self, memory: Memory, verdicts: Iterable[tuple[Memory, bool]]) -> None:
        """Store the verdicts from comparing one memory with others.

        A verdict is True if there is a contradiction.
        """
        verdicts_by_pair = self._verdicts | {_digest_pair(memory, other): verdict for other, verdict in verdicts}
        self._verdicts = dict(list(verdicts_by_pair.items())[-MAX_PAIRS:])
        try:
            replace_file(FileOperations(), self._path, json.dumps(self._verdicts).encode())
        except OSError:
            logger.exception("could not save the verdicts of the language model")


def _digest_pair(one: Memory, other: Memory) -> str:
    """Return a digest of the two statements and the prompt's name.

    The prompt is included so that pairs are judged again when it changes.
    """
    content = "\0".join((CONTRADICTIONS_PROMPT.name, *sorted((extract_statement(one), extract_statement(other)))))
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:24]
