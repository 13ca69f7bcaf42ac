"""Functions that read request bodies within the size limits and decode them.

A body is decoded either as a whole or line by line. Large bodies are decoded without blocking the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

from aiohttp import web
from aiohttp.web import RequestPayloadError
from msgspec.structs import asdict

from hunchd.domain.errors import HunchError, InvalidInput, TooLarge
from hunchd.protocol.decoding import MalformedRequest, decode_json, reject_unstorable
from hunchd.protocol.export_integrity import ExportIntegrity
from hunchd.protocol.exports import (
    MAX_LISTED_REJECTIONS,
    MEMORY_TYPES,
    ExportLine,
    ImportCounts,
    ImportedAnswer,
    ImportLine,
    parse_export_line,
)
from hunchd.protocol.fields import Fields
from hunchd.protocol.memories import memory_from_json
from hunchd.protocol.paths import MAX_PATH_CHARACTERS
from hunchd.protocol.responses import Rejection, make_rejection, sort_rejections
from hunchd.protocol.signals import signal_from_json
from hunchd.serving.access import AccessDenied
from hunchd.serving.limits import ServerLimits

# Larger bodies would block the event loop for a millisecond or more, so a thread decodes them.
_MAX_INLINE_DECODE_BYTES: Final = 128 * 1024  # bytes


async def read_json_body(request: web.Request, limits: ServerLimits) -> Any:
    """Read and decode a JSON body.

    Raises TooLarge, MalformedRequest, or AccessDenied with status 408 if the body does not arrive in time.
    """
    if (request.content_length or 0) > limits.body_bytes:
        raise _too_large_error(limits)
    try:
        async with asyncio.timeout(limits.read_seconds):
            raw = await request.read()
    except TimeoutError as error:
        raise _too_slow_error(limits) from error
    except web.HTTPRequestEntityTooLarge as error:
        raise _too_large_error(limits) from error
    except (RequestPayloadError, ConnectionError) as error:
        raise MalformedRequest("the body does not match its headers") from error
    return decode_json(raw) if len(raw) <= _MAX_INLINE_DECODE_BYTES else await asyncio.to_thread(decode_json, raw)


def is_bodiless(request: web.Request) -> bool:
    """Return True if the request has no body or an empty one."""
    return request.content_length == 0 or not request.can_read_body


class ImportLines:
    """Lines of a request body that imports exported data.

    Iterating over `read_lines` yields the valid lines and collects the rejected ones.
    """

    def __init__(self, request: web.Request, limits: ServerLimits) -> None:
        self._request = request
        self._limits = limits
        self._integrity = ExportIntegrity()
        self.rejections: list[Rejection] = []
        self.rejected_count = 0

    async def read_lines(self) -> AsyncIterator[ImportLine]:
        """Yield each valid line, with its index in the body."""
        index = 0
        async for raw in self._split_lines():
            if raw is None or raw.strip():
                self._integrity.count_line()
            if raw is None:
                self._reject(index, TooLarge(f"the line is longer than {self._limits.line_bytes:,} bytes"))
            elif raw.strip():
                try:
                    line = _parse_import_line(raw)
                except InvalidInput as error:
                    self._reject(index, error)
                else:
                    self._integrity.check_line(line)
                    yield ImportLine(index, line.type, line.data)
            index += 1

    def summarize(self, counts: ImportCounts) -> ImportedAnswer:
        """Build the result of the import.

        It contains the lines rejected by parsing and by the engine, and states whether the import was complete.
        """
        rejected = sort_rejections(self.rejections, counts.rejected)[:MAX_LISTED_REJECTIONS]
        complete, warnings = self._integrity.summarize()
        return ImportedAnswer(
            **(asdict(counts) | {"rejected": rejected}),
            refused=self.rejected_count,
            complete=complete,
            warnings=warnings,
        )

    def _reject(self, index: int, error: HunchError) -> None:
        self.rejected_count += 1
        if len(self.rejections) < MAX_LISTED_REJECTIONS:
            self.rejections.append(make_rejection(index, error))

    async def _split_lines(self) -> AsyncIterator[bytes | None]:
        """Yield the lines of the body.

        None takes the place of a line that exceeds the size limit.
        """
        pending: list[bytes] = []
        size = 0
        async for part in self._read_chunks():
            *complete, partial_line = part.split(b"\n")
            for line in complete:
                yield b"".join((*pending, line)) if size + len(line) <= self._limits.line_bytes else None
                pending, size = [], 0
            size += len(partial_line)
            pending = [*pending, partial_line] if size <= self._limits.line_bytes else []
        yield b"".join(pending) if size <= self._limits.line_bytes else None

    async def _read_chunks(self) -> AsyncIterator[bytes]:
        content = self._request.content
        while True:
            try:
                async with asyncio.timeout(self._limits.read_seconds):
                    chunk = await content.readany()
            except TimeoutError as error:
                raise _too_slow_error(self._limits) from error
            except (RequestPayloadError, ConnectionError) as error:
                raise MalformedRequest("the body does not match its headers") from error
            if not chunk:
                return
            yield chunk


def _parse_import_line(raw: bytes) -> ExportLine:
    """Parse a line and validate all its fields.

    This ensures that no line fails to parse once the engine has started the import.
    """
    line = parse_export_line(decode_json(raw))
    content = line.data
    reject_unstorable(content, "data")
    match line.type:
        case type_ if type_ in MEMORY_TYPES:
            memory_from_json(content)
        case "signal":
            fields = Fields(content, ("id", "kind", "project", "at", "data", "absorbed"), prefix="data.")
            for name in ("id", "kind", "project"):
                fields.get_required_text(name)
            if fields.get_time("at") is None:
                raise InvalidInput("'data.at' is missing; it must be the time of the signal", field="data.at")
            signal_from_json(content.get("data"))  # the signal itself, inside the store's record
        case "project":
            fields = Fields(content, ("id", "path", "name"), prefix="data.")
            fields.get_required_text("id")
            fields.get_required_text("path", limit=MAX_PATH_CHARACTERS)
    return line


def _too_large_error(limits: ServerLimits) -> TooLarge:
    return TooLarge(f"the body is larger than {limits.body_bytes:,} bytes", hint="send several smaller requests")


def _too_slow_error(limits: ServerLimits) -> AccessDenied:
    return AccessDenied(408, "too_slow", f"the body did not arrive within {limits.read_seconds:.0f} s")
