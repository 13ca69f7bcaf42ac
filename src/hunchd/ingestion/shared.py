"""Facts and workflows that colleagues share in the repository's `.hunch` folder.

Free text; it is untrusted.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from hunchd.domain.errors import InvalidInput
from hunchd.domain.facts import place_of
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Trust
from hunchd.domain.sharing import SHARED
from hunchd.ingestion.screening import screened
from hunchd.protocol.shared import LARGEST, SharedFile, is_shared_path, parsed, stem_of
from hunchd.repository.reading import read_file

logger = logging.getLogger(__name__)

MOST = 300  # files per folder, the first by name; more than a team writes, and read within a second
LONGEST_SUMMARY = 400  # characters
LONGEST_COMPRESSED = 160


def shared_memories(root: Path, files: Iterable[str], *, project: str, now: datetime) -> Iterator[Memory]:
    """Yield the shared memories among `files`, the wanted paths below `root`.

    Unreadable files are skipped.
    """
    read: Counter[str] = Counter()
    for path in sorted(filter(is_shared_path, files)):
        folder = path.rpartition("/")[0]
        read[folder] += 1
        if read[folder] > MOST:
            continue
        content = read_file(root, path, limit=LARGEST)
        if content is None:
            continue
        try:
            yield memory_in(parsed(path, screened(content.decode("utf-8")).encode()), project=project, now=now)
        except (InvalidInput, UnicodeDecodeError) as error:
            logger.debug("skipping %s: %s", path, error)


def memory_in(file: SharedFile, *, project: str, now: datetime) -> Memory:
    """Convert a shared file to a memory.

    A fact without a key gets its file name as key.
    """
    since = file.since if file.since is not None and file.since <= now else now
    line = f"{file.key}: {file.value}" if file.key else ""
    says = file.content if file.content.startswith(line) else f"{line} ({file.content})"
    flat = " ".join(says.split())
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
        levels=Levels(_cut(flat, LONGEST_SUMMARY), _cut(line or flat, LONGEST_COMPRESSED), file.title[:60]),
        category=file.category,
        key=file.key or (f"shared/{stem_of(file.path)}" if file.kind is Kind.FACT else None),
        value=file.value,
        scope=Scope.PROJECT,
        confidence=file.confidence,
        importance=file.importance,
        tags=file.tags,
        valid_from=since,
        artifacts=tuple(Artifact("file", path) for path in file.files),
        trust=Trust.PROJECT,
        source={"type": SHARED, "path": file.path}
        | ({"by": file.by} if file.by else {})
        | ({"id": file.id} if file.id else {}),
    )
    return replace(memory, id=place_of(memory) or memory.id)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rsplit(" ", 1)[0] + "…"
