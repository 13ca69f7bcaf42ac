"""Update of a project's code index from its code cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from hunchd.codesearch import segment
from hunchd.codesearch.index import BASE, CHANGED_FILE
from hunchd.codesearch.records import FileRecord, unpack

# Above this, changed files are merged into the base, so that updating the index after a save stays fast.
MOST_CHANGED: Final = 300  # files
CHANGED_SHARE: Final = 0.2  # of all files


class ChunkCache(Protocol):
    """Cache of packed chunks; changes raise the serial number."""

    def chunk_cache_id(self) -> str: ...

    def chunk_serials(self) -> Mapping[str, int]: ...

    def chunks_since(self, serial: int) -> Iterable[tuple[str, str, int, bytes]]: ...


def update_index(folder: Path, cache: ChunkCache) -> None:
    """Update the index in `folder`, or rebuild it.

    The index is rebuilt if it is missing or belongs to a different cache, or if many files have changed. Raises
    OSError if the index cannot be written.
    """
    serials, identity = cache.chunk_serials(), cache.chunk_cache_id()
    base_content = segment.read(folder / BASE)
    if base_content is None or base_content[1].get("cache") != identity:
        return _rebuild(folder, cache, serials, identity)
    base, base_header = base_content
    newest = int(base_header["serial"])
    known_serials = dict(zip(base.paths, base.serials.tolist(), strict=True))
    changed_count = sum(serial > newest for serial in serials.values())
    removed_paths = [path for path in known_serials if path not in serials]
    if changed_count + len(removed_paths) > max(MOST_CHANGED, CHANGED_SHARE * len(known_serials)):
        return _rebuild(folder, cache, serials, identity)
    about = {"base": newest, "cache": identity, "removed": removed_paths}
    return segment.write(segment.build(_iterate_records(cache.chunks_since(newest))), folder / CHANGED_FILE, about)


def _rebuild(folder: Path, cache: ChunkCache, serials: Mapping[str, int], identity: str) -> None:
    about = {"serial": max(serials.values(), default=0), "cache": identity}
    segment.write(segment.build(_iterate_records(cache.chunks_since(0))), folder / BASE, about)
    with suppress(FileNotFoundError):
        (folder / CHANGED_FILE).unlink()


def _iterate_records(rows: Iterable[tuple[str, str, int, bytes]]) -> Iterator[tuple[str, str, int, FileRecord]]:
    return ((path, language, serial, unpack(packed_record)) for path, language, serial, packed_record in rows)
