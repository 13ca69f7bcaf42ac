"""Partial memory with the fields that ranking needs.

Decoding these fields from the stored JSON takes 4 µs, whereas decoding the whole memory takes 30 µs. Of fifty memories
that are compared, only five are shown.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Final

import msgspec

from hunchd.domain.json_values import JsonObject
from hunchd.domain.memory import Kind, Scope, Status, Usage
from hunchd.store.memory_codec import from_microseconds

_NO_USAGE: Final = Usage()


class _Artifact(msgspec.Struct, frozen=True, gc=False, array_like=True):
    type: str
    ref: str


class RankingView(msgspec.Struct, frozen=True, gc=False):
    """Partial memory whose fields have the same names as in Memory."""

    id: str
    kind: Kind
    title: str
    content: str
    project: str | None
    scope: Scope
    branch: str | None
    ref: str | None
    key: str | None
    value: str | None
    category: str | None
    tags: tuple[str, ...]
    source: JsonObject
    status: Status
    importance: float
    cited: int
    ignored: int
    artifacts: tuple[_Artifact, ...]
    at_microseconds: int = msgspec.field(name="at")  # since the epoch
    updated_microseconds: int = msgspec.field(name="updated")
    valid_to_microseconds: int | None = msgspec.field(name="valid_to")

    @property
    def at(self) -> datetime:
        return from_microseconds(self.at_microseconds)

    @property
    def updated(self) -> datetime:
        return from_microseconds(self.updated_microseconds)

    @property
    def valid_to(self) -> datetime | None:
        return None if self.valid_to_microseconds is None else from_microseconds(self.valid_to_microseconds)

    @property
    def usage(self) -> Usage:
        """Numbers of times the memory was cited and ignored."""
        return Usage(cited=self.cited, ignored=self.ignored) if self.cited or self.ignored else _NO_USAGE


_DECODER: Final = msgspec.json.Decoder(RankingView)


def decode_ranking_view(body: str) -> RankingView:
    """Decode the fields that ranking needs from the stored JSON body of a memory."""
    try:
        return _DECODER.decode(body)
    except msgspec.DecodeError:  # numbers that strict JSON does not have, such as NaN
        return msgspec.convert(json.loads(body), RankingView)
