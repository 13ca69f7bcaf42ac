"""Wire format of the pipe to helper processes.

JSON lines, numbered responses, streams with credit. A frame is one line of JSON. To the helper:
`{"i": n, "m": method, "p": params}` is a call, `{"a": n}` grants one more item of stream n, `{"c": n}` cancels n,
`{"q": 1}` is a ping, answered by the same frame. From the helper: `{"i": n, "r": result}`, `{"i": n, "s": item}`,
`{"i": n, "end": 1}`, `{"i": n, "e": {"code", "message"}}`, and `{"bye": 1}` when it has been idle long enough: it
still serves whatever arrives until the parent, which alone knows what is in flight, closes the pipe.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

# Fifty episodes of a big commit fit; a line beyond this is a bug, not data.
MAX_LINE_BYTES: Final = 64 * 1024 * 1024  # bytes
# Interpreter switch interval: a computing thread yields the GIL to the one that sends a response. Python's default of
# five milliseconds would be waited several times per response, once after each await.
SWITCH_INTERVAL_SECONDS: Final = 0.0005  # seconds
STOP_GRACE_SECONDS: Final = (
    0.8  # seconds a helper gets to end by itself once its pipe is closed; the daemon has 2 in all
)


class SerializedJson(str):
    """Result that is already serialized, as JSON on one line."""

    __slots__ = ()


def encode_frame(frame: Mapping[str, Any] | SerializedJson) -> bytes:
    """Encode a frame as one line."""
    text = frame if isinstance(frame, SerializedJson) else json.dumps(frame, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass") + b"\n"
