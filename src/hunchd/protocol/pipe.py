"""Wire format of the pipe to helper processes: numbered calls in JSON lines.

A frame is one line of JSON. Frames to the helper: `{"i": n, "m": method, "p": params}` is a call, `{"a": n}` grants
one more item of stream n, `{"c": n}` cancels call n, and `{"q": 1}` is a ping, answered by the same frame. Frames from
the helper: `{"i": n, "r": result}`, `{"i": n, "s": item}`, `{"i": n, "end": 1}`, `{"i": n, "e": {"code", "message"}}`,
and `{"bye": 1}` after the helper has been idle long enough. Streams are flow-controlled: the helper sends only as many
items as were granted. After `bye` the helper still serves whatever arrives until the parent closes the pipe, because
only the parent knows which calls are in progress.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Final, TypeVar

from msgspec import UNSET, Raw, Struct, UnsetType, convert
from msgspec.json import Decoder, Encoder

from hunchd.protocol.responses import to_json, to_plain_value

DecodedT = TypeVar("DecodedT")

# Fifty episodes of a big commit fit; a line beyond this is a bug, not data.
MAX_LINE_BYTES: Final = 64 * 1024 * 1024  # bytes
# Interpreter switch interval: a computing thread yields the GIL to the one that sends a response. Python's default of
# five milliseconds would delay each response several times, once after each await.
SWITCH_INTERVAL_SECONDS: Final = 0.0005  # seconds
STOP_GRACE_SECONDS: Final = (
    0.8  # seconds a helper gets to end by itself once its pipe is closed; the daemon has 2 in all
)


_ENCODER: Final = Encoder(enc_hook=to_plain_value)


class Failure(Struct):
    """Error response to a call over the pipe."""

    code: str
    message: str
    hint: str | None = None


class CallFrame(Struct, omit_defaults=True):
    """Frame sent to the helper."""

    i: int | None = None
    m: str = ""
    p: Raw = Raw(b"{}")
    a: int | None = None
    c: int | None = None
    q: int | None = None


class ReplyFrame(Struct, omit_defaults=True):
    """Frame sent by the helper."""

    i: int | None = None
    r: Raw | UnsetType = UNSET
    s: Raw | UnsetType = UNSET
    end: int | None = None
    e: Failure | None = None
    q: int | None = None
    bye: int | None = None


def encode_frame(frame: CallFrame | ReplyFrame) -> bytes:
    """Encode a frame as one line."""
    return _ENCODER.encode(frame) + b"\n"


def encode(value: Any) -> Raw:
    """Encode Structs, dataclasses and plain values as JSON.

    Lone surrogates, which can occur in file names, are preserved.
    """
    try:
        return Raw(_ENCODER.encode(value))
    except UnicodeEncodeError:
        text = json.dumps(to_json(value), separators=(",", ":"), ensure_ascii=False)
        return Raw(text.encode("utf-8", "surrogatepass"))


def decode(raw: bytes | Raw, of: type[DecodedT]) -> DecodedT:
    """Decode JSON produced by `encode` to the type `of`."""
    try:
        decoder: Decoder[DecodedT] = _make_decoder(of)  # type: ignore[arg-type]
        return decoder.decode(raw)
    except UnicodeDecodeError:
        return convert(json.loads(bytes(raw)), of)


@cache
def _make_decoder(of: Any) -> Decoder[Any]:
    return Decoder(of)
