"""Reader for facts and workflows that colleagues share in the repository's `.hunch` folder.

The files contain free text and are untrusted.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from hunchd.domain.errors import InvalidInput
from hunchd.domain.facts import slot_of
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Trust
from hunchd.domain.sharing import SHARED_SOURCE
from hunchd.ingestion.source_redaction import redact_source
from hunchd.protocol.shared_files import MAX_FILE_BYTES, SharedFile, get_stem, is_shared_path, parse_shared_file
from hunchd.repository.safe_reading import read_file

logger = logging.getLogger(__name__)

MAX_FILES = 300  # files per folder, in order of name; more than a team writes, and read within a second
MAX_SUMMARY = 400  # characters
MAX_COMPRESSED = 160


def read_shared_memories(root: Path, files: Iterable[str], *, project: str, now: datetime) -> Iterator[Memory]:
    """Yield the shared memories among `files`, which are paths below `root`.

    Files that cannot be read or parsed are skipped, and so are those beyond the first MAX_FILES in a folder.
    """
    count_by_folder: Counter[str] = Counter()
    for path in sorted(filter(is_shared_path, files)):
        folder = path.rpartition("/")[0]
        count_by_folder[folder] += 1
        if count_by_folder[folder] > MAX_FILES:
            continue
        content = read_file(root, path, limit=MAX_FILE_BYTES)
        if content is None:
            continue
        try:
            yield shared_file_to_memory(
                parse_shared_file(path, redact_source(content.decode("utf-8")).encode()), project=project, now=now
            )
        except (InvalidInput, UnicodeDecodeError) as error:
            logger.debug("skipped %s: %s", path, error)


def shared_file_to_memory(file: SharedFile, *, project: str, now: datetime) -> Memory:
    """Convert a shared file to a memory.

    If a fact has no key, the name of its file becomes the key.
    """
    since = file.since if file.since is not None and file.since <= now else now
    line = f"{file.key}: {file.value}" if file.key else ""
    statement = file.content if file.content.startswith(line) else f"{line} ({file.content})"
    flat = " ".join(statement.split())
    memory = Memory(
        id=f"shared:{file.path}",
        kind=file.kind,
        title=line or file.title,
        content=file.content,
        at=since,
        created=now,
        updated=now,
        project=project,
        ref=f"shared:{file.path}",
        levels=Levels(_shorten(flat, MAX_SUMMARY), _shorten(line or flat, MAX_COMPRESSED), file.title[:60]),
        category=file.category,
        key=file.key or (f"shared/{get_stem(file.path)}" if file.kind is Kind.FACT else None),
        value=file.value,
        scope=Scope.PROJECT,
        confidence=file.confidence,
        importance=file.importance,
        tags=file.tags,
        valid_from=since,
        artifacts=tuple(Artifact("file", path) for path in file.files),
        trust=Trust.PROJECT,
        source={"type": SHARED_SOURCE, "path": file.path}
        | ({"by": file.by} if file.by else {})
        | ({"id": file.id} if file.id else {}),
    )
    return replace(memory, id=slot_of(memory) or memory.id)


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rsplit(" ", 1)[0] + "…"
