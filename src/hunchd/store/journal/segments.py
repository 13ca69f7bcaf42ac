"""Format of a segment: header and frames with checksums.

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
# Payloads are ASCII, so the marker cannot occur inside a record; after damage, reading continues at the next marker.
_MARKER = b"\xf5HJ\xfa"
# Far more than any message or document has (at most 1 MB); a damaged length usually exceeds it.
MAX_PAYLOAD_BYTES = 16 * 1024 * 1024
_NO_KEY = 0
_JSON = json.JSONEncoder(separators=(",", ":"))  # created once: json.dumps would create one for every record


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """Accepted record, deduplicated by `id`. `at` is in seconds since the epoch; `data` contains JSON values."""

    id: str
    type: str
    project: str | None
    data: Mapping[str, Any]
    at: float


class Header(NamedTuple):
    """Header at the beginning of a segment."""

    first: int  # sequence of the first frame
    previous: int  # newest sequence that was written before this file was made


class Frame(NamedTuple):
    """Frame in a segment, which contains one record.

    An `id_key` of 0 marks an erased record, of which only the sequence number is left.
    """

    offset: int
    sequence: int
    id_key: int
    project_key: int
    payload: memoryview


class DamagedRange(NamedTuple):
    """Range of bytes that is not a valid frame.

    `is_torn` marks an incomplete write, such as one interrupted by a crash.
    """

    offset: int
    end: int
    is_torn: bool


def hash_key(text: str) -> int:
    """Return a 64-bit hash of `text`, which is never 0.

    With 200,000 remembered ids, about one new id in 10^14 collides with one of them.
    """
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


@lru_cache(maxsize=256)  # few projects, many records
def hash_project(project: str | None) -> int:
    """Return the key of a project. The key of records without a project is 0."""
    return _NO_KEY if project is None else hash_key(project)


def encode_record(record: JournalRecord) -> bytes:
    """Encode a record as ASCII JSON.

    Raises InvalidInput for values that JSON cannot represent, and TooLarge if the result has more than
    MAX_PAYLOAD_BYTES bytes.
    """
    content = {"id": record.id, "type": record.type, "project": record.project, "at": record.at, "data": record.data}
    try:
        payload = _JSON.encode(content).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"record {record.id!r} cannot be encoded as JSON: {error}", field="data") from error
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise TooLarge(f"record {record.id!r} has {len(payload):,} bytes; at most {MAX_PAYLOAD_BYTES:,} are accepted")
    return payload


def decode_record(payload: bytes | memoryview) -> JournalRecord:
    """Decode a record from its JSON payload."""
    content = json.loads(bytes(payload))
    return JournalRecord(content["id"], content["type"], content["project"], content["data"], content["at"])


def encode_header(first: int, previous: int) -> bytes:
    """Encode the header of a segment with its checksum."""
    header = _HEADER.pack(_MAGIC, FORMAT_VERSION, first, previous)
    return header + _CRC.pack(zlib.crc32(header))


def encode_frame(sequence: int, id_key: int, project_key: int, payload: bytes) -> bytes:
    """Encode a frame: header, checksum, payload."""
    head = _FRAME.pack(_MARKER, len(payload), sequence, id_key, project_key)
    return b"".join((head, _CRC.pack(zlib.crc32(payload, zlib.crc32(head))), payload))


def encode_erased_frame(sequence: int) -> bytes:
    """Encode the frame that replaces an erased record."""
    return encode_frame(sequence, _NO_KEY, _NO_KEY, b"")


def read_header(content: bytes) -> Header | None:
    """Parse the header of a segment; return None if it is damaged or incomplete.

    Raises StoreError for a file with a later format version; the file is left unchanged.
    """
    if len(content) < HEADER_BYTES:
        return None
    magic, version, first, previous = _HEADER.unpack_from(content)
    (checksum,) = _CRC.unpack_from(content, _HEADER.size)
    if magic != _MAGIC or checksum != zlib.crc32(content[: _HEADER.size]):
        return None
    if version > FORMAT_VERSION:
        raise StoreError(
            f"the journal has format {version}; this hunchd reads up to {FORMAT_VERSION}",
            hint="install the newer hunchd again",
        )
    return Header(first, previous)


def scan_segment(content: bytes) -> Iterator[Frame | DamagedRange]:
    """Yield the intact frames in ascending order, and the damaged ranges between them."""
    view = memoryview(content)
    offset = HEADER_BYTES if read_header(content) is not None else 0
    newest = 0
    while offset < len(content):
        frame = _parse_frame(view, offset, newest)
        if frame is None:
            end = _find_next_frame(content, view, offset + 1, newest)
            yield DamagedRange(offset, end, is_torn=end == len(content) and _is_incomplete(view, offset))
            offset = end
            continue
        yield frame
        newest = frame.sequence
        offset += FRAME_BYTES + len(frame.payload)


def iterate_frames(content: bytes) -> Iterator[Frame]:
    """Yield only the intact frames."""
    return (item for item in scan_segment(content) if isinstance(item, Frame))


def _parse_frame(view: memoryview, offset: int, newest: int) -> Frame | None:
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


def _find_next_frame(content: bytes, view: memoryview, start: int, newest: int) -> int:
    while (position := content.find(_MARKER, start)) >= 0:
        if _parse_frame(view, position, newest) is not None:
            return position
        start = position + 1
    return len(content)


def _is_incomplete(view: memoryview, offset: int) -> bool:
    """Return True if the frame or header at `offset` is incomplete."""
    rest = len(view) - offset
    if rest < FRAME_BYTES:
        beginning = bytes(view[offset : offset + len(_MARKER)])
        return _MARKER.startswith(beginning) or (offset == 0 and _MAGIC.startswith(bytes(view[:8])))
    marker, length, *_ = _FRAME.unpack_from(view, offset)
    return bool(marker == _MARKER and length <= MAX_PAYLOAD_BYTES and rest < FRAME_BYTES + length)
