"""How records lie in a segment: a header, then frames, each found again by its marker and proven by its checksum.

header  magic (8) · format version (4) · first sequence (8) · last sequence written before this file (8) · CRC32 (4)
frame   marker (4) · payload length (4) · sequence (8) · id key (8) · project key (8) · CRC32 (4) · payload
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from hunchd.domain.errors import InvalidInput, StoreError, TooLarge

FORMAT_VERSION = 1
_MAGIC = b"HUNCHJRN"
_HEADER = struct.Struct("<8sIQQ")
_FRAME = struct.Struct("<4sIQQQ")
_CRC = struct.Struct("<I")
HEADER_BYTES = _HEADER.size + _CRC.size
FRAME_BYTES = _FRAME.size + _CRC.size
# Payloads are ASCII, so these bytes cannot begin inside a record: reading finds its way back after damage.
_MARKER = b"\xf5HJ\xfa"
# Far above any message or document (1 MB files are the largest we read); a damaged length is recognised by it.
MAX_PAYLOAD_BYTES = 16 * 1024 * 1024
_NO_KEY = 0
_JSON = json.JSONEncoder(separators=(",", ":"))  # made once: json.dumps would make one for every record


@dataclass(frozen=True, slots=True)
class Record:
    """One accepted thing. The same `id` is accepted once; `at` is seconds since the epoch, `data` JSON values."""

    id: str
    type: str
    project: str | None
    data: Mapping[str, Any]
    at: float


class Header(NamedTuple):
    first: int  # sequence of the first frame
    previous: int  # newest sequence that was written before this file was made


class Frame(NamedTuple):
    """`id_key` 0 marks a record that was erased: only its sequence number is left."""

    offset: int
    sequence: int
    id_key: int
    project_key: int
    payload: memoryview


class Damage(NamedTuple):
    """Bytes that are no frame. `torn`: a write that stopped half-way, as a crash leaves it."""

    offset: int
    end: int
    torn: bool


def key_of(text: str) -> int:
    """8 bytes of a hash: among 200,000 remembered ids, one accidental meeting in 10^14 new ones. Never 0."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


@lru_cache(maxsize=256)  # few projects, many records
def project_key_of(project: str | None) -> int:
    return _NO_KEY if project is None else key_of(project)


def payload_of(record: Record) -> bytes:
    """The record as ASCII JSON; what JSON cannot hold is refused."""
    content = {"id": record.id, "type": record.type, "project": record.project, "at": record.at, "data": record.data}
    try:
        payload = _JSON.encode(content).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"record {record.id!r} cannot be kept as JSON: {error}", field="data") from error
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise TooLarge(f"record {record.id!r} has {len(payload):,} bytes; at most {MAX_PAYLOAD_BYTES:,} are kept")
    return payload


def record_of(payload: bytes | memoryview) -> Record:
    content = json.loads(bytes(payload))
    return Record(content["id"], content["type"], content["project"], content["data"], content["at"])


def header_bytes(first: int, previous: int) -> bytes:
    header = _HEADER.pack(_MAGIC, FORMAT_VERSION, first, previous)
    return header + _CRC.pack(zlib.crc32(header))


def frame_bytes(sequence: int, id_key: int, project_key: int, payload: bytes) -> bytes:
    head = _FRAME.pack(_MARKER, len(payload), sequence, id_key, project_key)
    return b"".join((head, _CRC.pack(zlib.crc32(payload, zlib.crc32(head))), payload))


def erased_frame_bytes(sequence: int) -> bytes:
    return frame_bytes(sequence, _NO_KEY, _NO_KEY, b"")


def read_header(content: bytes) -> Header | None:
    """None when it is damaged or half-written. A file of a later version is left alone: StoreError."""
    if len(content) < HEADER_BYTES:
        return None
    magic, version, first, previous = _HEADER.unpack_from(content)
    (checksum,) = _CRC.unpack_from(content, _HEADER.size)
    if magic != _MAGIC or checksum != zlib.crc32(content[: _HEADER.size]):
        return None
    if version > FORMAT_VERSION:
        raise StoreError(
            f"the journal was written in format {version}, this hunchd reads up to {FORMAT_VERSION}",
            hint="install the newer hunchd again",
        )
    return Header(first, previous)


def scan(content: bytes) -> Iterator[Frame | Damage]:
    """Every intact frame in rising order of sequence, and every stretch of bytes between them that is none."""
    view = memoryview(content)
    offset = HEADER_BYTES if read_header(content) is not None else 0
    newest = 0
    while offset < len(content):
        frame = _frame_at(view, offset, newest)
        if frame is None:
            end = _next_frame(content, view, offset + 1, newest)
            yield Damage(offset, end, torn=end == len(content) and _stops_half_way(view, offset))
            offset = end
            continue
        yield frame
        newest = frame.sequence
        offset += FRAME_BYTES + len(frame.payload)


def frames(content: bytes) -> Iterator[Frame]:
    """The intact frames alone."""
    return (found for found in scan(content) if isinstance(found, Frame))


def _frame_at(view: memoryview, offset: int, newest: int) -> Frame | None:
    begin = offset + FRAME_BYTES
    if begin > len(view):
        return None
    marker, length, sequence, id_key, project_key = _FRAME.unpack_from(view, offset)
    if marker != _MARKER or length > MAX_PAYLOAD_BYTES or begin + length > len(view) or sequence <= newest:
        return None
    payload = view[begin : begin + length]
    (checksum,) = _CRC.unpack_from(view, offset + _FRAME.size)
    if checksum != zlib.crc32(payload, zlib.crc32(view[offset : offset + _FRAME.size])):
        return None
    return Frame(offset, sequence, id_key, project_key, payload)


def _next_frame(content: bytes, view: memoryview, start: int, newest: int) -> int:
    while (found := content.find(_MARKER, start)) >= 0:
        if _frame_at(view, found, newest) is not None:
            return found
        start = found + 1
    return len(content)


def _stops_half_way(view: memoryview, offset: int) -> bool:
    """Whether the bytes from `offset` to the end are the beginning of a frame (or of a header) and nothing else."""
    rest = len(view) - offset
    if rest < FRAME_BYTES:
        beginning = bytes(view[offset : offset + len(_MARKER)])
        return _MARKER.startswith(beginning) or (offset == 0 and _MAGIC.startswith(bytes(view[:8])))
    marker, length, *_ = _FRAME.unpack_from(view, offset)
    return bool(marker == _MARKER and length <= MAX_PAYLOAD_BYTES and rest < FRAME_BYTES + length)
