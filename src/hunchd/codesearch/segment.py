"""Immutable segments of the index, which are stored in files and memory-mapped for reading."""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hunchd.codesearch.chunks import CLASSES, ChunkClass
from hunchd.codesearch.records import FileRecord
from hunchd.codesearch.roles import classify_role
from hunchd.codesearch.terms import get_name_term

VERSION: Final = 5
_MAGIC: Final = b"hunchcs1"
_HEAD: Final = struct.Struct("<8sIQ")  # magic, version, size in bytes of the JSON that locates the arrays
_ALIGNMENT: Final = 64
Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Segment:
    """Inverted index from terms to chunks.

    `terms` is in ascending order; the chunks that contain `terms[n]` are `chunks[begins[n]:begins[n + 1]]`.
    """

    paths: tuple[str, ...]
    languages: tuple[str, ...]
    roles: Array  # by file
    serials: Array  # by file: serial number of its content in the cache
    file_of: Array  # by chunk, ascending
    lines: Array  # by chunk: start, end, line
    classes: Array  # by chunk: its ChunkClass
    lengths: Array  # by chunk: sum of its weights
    keys: Array  # by chunk: hash of its card, by which its vector is found
    names: Array  # by chunk: term of the name that it defines, or 0
    texts: Array  # texts of all chunks, each as JSON
    text_begins: Array
    terms: Array
    begins: Array
    chunks: Array
    weights: Array
    mean_length: float

    def get_postings(self, term: int) -> tuple[Array, Array]:
        """Return the chunks that contain `term`, and the term's weight in each."""
        at = int(self.terms.searchsorted(np.uint32(term)))
        if at == len(self.terms) or self.terms[at] != term:
            return self.chunks[:0], self.weights[:0]
        span = slice(int(self.begins[at]), int(self.begins[at + 1]))
        return self.chunks[span], self.weights[span]

    def get_texts(self, chunk: int) -> tuple[str, str, str, str]:
        """Return the name, kind, title and container of a chunk."""
        raw = self.texts[int(self.text_begins[chunk]) : int(self.text_begins[chunk + 1])].tobytes()
        name, kind, title, container = json.loads(raw)
        return name, kind, title, container


_ARRAYS: Final = (
    "roles", "serials", "file_of", "lines", "classes", "lengths", "keys", "names", "texts", "text_begins", "terms",
    "begins", "chunks", "weights",
)  # fmt: skip


def build(files: Iterable[tuple[str, str, int, FileRecord]]) -> Segment:
    """Build a segment from files, given as (path, language, serial, chunks)."""
    paths: list[str] = []
    languages: list[str] = []
    serials: list[int] = []
    records: list[FileRecord] = []
    for path, language, serial, record in files:
        paths.append(path)
        languages.append(language)
        serials.append(serial)
        records.append(record)
    sizes = [len(record.texts) for record in records]
    counts = join_arrays("<u4", [np.diff(record.begins) for record in records])
    terms = join_arrays("<u4", [record.terms for record in records])
    weights = join_arrays("<u1", [record.weights for record in records])
    owners = np.repeat(np.arange(len(counts), dtype="<i4"), counts)
    order = np.argsort(terms, kind="stable")
    keys, starts = np.unique(terms[order], return_index=True)
    lengths = np.bincount(owners, weights=weights, minlength=len(counts)).astype("<f4")
    texts = [json.dumps(text, ensure_ascii=False).encode("utf-8", "replace") for one in records for text in one.texts]
    return Segment(
        paths=tuple(paths),
        languages=tuple(languages),
        roles=np.array([classify_role(path) for path in paths], "<u1"),
        serials=np.array(serials, "<i8"),
        file_of=np.repeat(np.arange(len(paths), dtype="<i4"), sizes),
        lines=join_arrays("<u4", [record.lines for record in records]).reshape(-1, 3),
        classes=np.array([CLASSES.get(text[1], ChunkClass.CODE) for one in records for text in one.texts], "<u1"),
        lengths=lengths,
        keys=join_arrays("<u8", [record.keys for record in records]),
        names=np.array([get_name_term(text[0], text[1]) for one in records for text in one.texts], "<u4"),
        texts=np.frombuffer(b"".join(texts), "<u1"),
        text_begins=np.concatenate((np.zeros(1, "<i8"), np.cumsum([len(text) for text in texts], dtype="<i8"))),
        terms=keys,
        begins=np.append(starts, len(terms)).astype("<i8"),
        chunks=owners[order],
        weights=weights[order],
        mean_length=float(lengths.mean()) if len(lengths) else 1.0,
    )


def write(segment: Segment, path: Path, header: Mapping[str, Any]) -> None:
    """Write `segment` and `header` to `path` atomically, or raise OSError."""
    meta: dict[str, Any] = {
        "told": dict(header),
        "paths": segment.paths,
        "languages": segment.languages,
        "mean_length": segment.mean_length,
    }
    at, places = 0, {}
    arrays = {name: np.ascontiguousarray(getattr(segment, name)) for name in _ARRAYS}
    for name, array in arrays.items():
        places[name] = [array.dtype.str, list(array.shape), at]
        at += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
    head = json.dumps(meta | {"arrays": places}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(_HEAD.pack(_MAGIC, VERSION, len(head)))
        file.write(head)
        file.write(bytes(-file.tell() % _ALIGNMENT))
        for array in arrays.values():
            file.write(array.tobytes())
            file.write(bytes(-file.tell() % _ALIGNMENT))
    draft.replace(path)


def read(path: Path) -> tuple[Segment, Mapping[str, Any]] | None:
    """Return the mapped segment and header, or None if unusable."""
    try:
        with path.open("rb") as file:
            mapped_file = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):
        return None
    try:
        magic, version, size = _HEAD.unpack_from(mapped_file)
        if magic != _MAGIC or version != VERSION:
            return None
        meta = json.loads(mapped_file[_HEAD.size : _HEAD.size + size].decode("utf-8", "surrogatepass"))
        first = -(-(_HEAD.size + size) // _ALIGNMENT) * _ALIGNMENT
        arrays = {name: _map_array(mapped_file, first, *place) for name, place in meta["arrays"].items()}
        segment = Segment(tuple(meta["paths"]), tuple(meta["languages"]), mean_length=meta["mean_length"], **arrays)
    except (struct.error, ValueError, KeyError, TypeError):
        return None
    return segment, meta["told"]


def _map_array(mapped_file: mmap.mmap, first: int, dtype: str, shape: list[int], at: int) -> Array:
    count = int(np.prod(shape))
    if not count:
        return np.empty(shape, dtype)
    return np.frombuffer(mapped_file, dtype, count, first + at).reshape(shape)


def join_arrays(dtype: str, arrays: Iterable[Array]) -> Array:
    """Return all elements of `arrays` as one array, which is empty if there are none."""
    return np.concatenate([np.empty(0, dtype), *(array.ravel() for array in arrays)]).astype(dtype, copy=False)
