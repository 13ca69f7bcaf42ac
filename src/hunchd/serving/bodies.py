"""Request bodies: read within limits, decoded, or read line by line.

Large bodies are decoded without blocking the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from aiohttp import web
from aiohttp.web import RequestPayloadError

from hunchd.domain.errors import HunchError, InvalidInput, TooLarge
from hunchd.protocol.answers import MEMORY_TYPES, NAMED_REJECTIONS, export_line, parse_export_line, rejection_json
from hunchd.protocol.decoding import Malformed, decoded, refuse_unstorable
from hunchd.protocol.fields import Fields
from hunchd.protocol.memories import memory_from_json
from hunchd.protocol.messages import signal_from_json
from hunchd.protocol.paths import PATH_LIMIT
from hunchd.protocol.wholeness import Wholeness
from hunchd.serving.access import Refusal
from hunchd.serving.limits import Limits

# Larger bodies would block the event loop for a millisecond or more, so a thread decodes them.
_DECODED_AT_ONCE: Final = 128 * 1024  # bytes


async def json_body(request: web.Request, limits: Limits) -> Any:
    """Read and decode the JSON body.

    Raises Refusal 408 if it does not arrive in time.
    """
    if (request.content_length or 0) > limits.body:
        raise _too_large(limits)
    try:
        async with asyncio.timeout(limits.read):
            raw = await request.read()
    except TimeoutError as error:
        raise _too_slow(limits) from error
    except web.HTTPRequestEntityTooLarge as error:
        raise _too_large(limits) from error
    except (RequestPayloadError, ConnectionError) as error:
        raise Malformed("the body does not match its headers") from error
    return decoded(raw) if len(raw) <= _DECODED_AT_ONCE else await asyncio.to_thread(decoded, raw)


def is_bodiless(request: web.Request) -> bool:
    """Return True if the request has no body, or one of length 0."""
    return request.content_length == 0 or not request.can_read_body


class ImportLines:
    """Lines of an import: iterates over the valid ones and collects the rejected ones."""

    def __init__(self, request: web.Request, limits: Limits) -> None:
        self._request = request
        self._limits = limits
        self._wholeness = Wholeness()
        self.rejected: list[dict[str, Any]] = []
        self.refused = 0

    async def read(self) -> AsyncIterator[dict[str, Any]]:
        """Yield each valid line as {"type", "version", "data"}.

        "line" is its number, from 0.
        """
        index = 0
        async for raw in self._lines():
            if raw is None or raw.strip():
                self._wholeness.came()
            if raw is None:
                self._refuse(index, TooLarge(f"a line may have {self._limits.line:,} bytes"))
            elif raw.strip():
                try:
                    line = _understood(raw)
                except InvalidInput as error:
                    self._refuse(index, error)
                else:
                    self._wholeness.understood(line)
                    yield line | {"line": index}
            index += 1

    def told(self, done: Mapping[str, Any]) -> dict[str, Any]:
        """Build the result of the import.

        It contains the lines rejected here and by the engine, and whether the import was complete.
        """
        named = sorted([*self.rejected, *done.get("rejected", ())], key=lambda one: int(one["index"]))
        return {**done, "refused": self.refused, "rejected": named[:NAMED_REJECTIONS], **self._wholeness.told()}

    def _refuse(self, index: int, error: HunchError) -> None:
        self.refused += 1
        if len(self.rejected) < NAMED_REJECTIONS:
            self.rejected.append(rejection_json(index, error))

    async def _lines(self) -> AsyncIterator[bytes | None]:
        """Yield the lines; None stands for one that exceeds the limit."""
        waiting: list[bytes] = []
        size = 0
        async for part in self._parts():
            *whole, rest = part.split(b"\n")
            for line in whole:
                yield b"".join((*waiting, line)) if size + len(line) <= self._limits.line else None
                waiting, size = [], 0
            size += len(rest)
            waiting = [*waiting, rest] if size <= self._limits.line else []
        yield b"".join(waiting) if size <= self._limits.line else None

    async def _parts(self) -> AsyncIterator[bytes]:
        content = self._request.content
        while True:
            try:
                async with asyncio.timeout(self._limits.read):
                    part = await content.readany()
            except TimeoutError as error:
                raise _too_slow(self._limits) from error
            except (RequestPayloadError, ConnectionError) as error:
                raise Malformed("the body does not match its headers") from error
            if not part:
                return
            yield part


def _understood(raw: bytes) -> dict[str, Any]:
    """Parse a line down to its fields.

    This way no line fails once the engine has started the import.
    """
    type_, content = parse_export_line(decoded(raw))
    refuse_unstorable(content, "data")
    match type_:
        case _ if type_ in MEMORY_TYPES:
            memory_from_json(content)
        case "signal":
            fields = Fields(content, ("id", "kind", "project", "at", "data", "absorbed"), where="data.")
            for name in ("id", "kind", "project"):
                fields.required_text(name)
            if fields.time("at") is None:
                raise InvalidInput("'data.at' is missing; give the time of the signal", field="data.at")
            signal_from_json(content.get("data"))  # the signal itself, inside the store's record
        case "project":
            fields = Fields(content, ("id", "path", "name"), where="data.")
            fields.required_text("id")
            fields.required_text("path", limit=PATH_LIMIT)
    return export_line(type_, content)


def _too_large(limits: Limits) -> TooLarge:
    return TooLarge(f"a body may have {limits.body:,} bytes", hint="send several smaller requests")


def _too_slow(limits: Limits) -> Refusal:
    return Refusal(408, "too_slow", f"the body did not arrive within {limits.read:.0f} s")
