"""What goes over the pipe between the front and a helper process: JSON lines, answers by number, streams with credit.

A frame is one line of JSON. To the helper: `{"i": n, "m": method, "p": params}` asks, `{"a": n}` takes one more
item of stream n, `{"c": n}` cancels n, `{"q": 1}` asks for a sign of life, which is the same frame. From the helper:
`{"i": n, "r": result}`, `{"i": n, "s": item}`, `{"i": n, "end": 1}`, `{"i": n, "e": {"code", "message"}}`, and
`{"bye": 1}` when it has been idle long enough: it still serves whatever arrives until the parent, which alone knows
what is under way, closes the pipe.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

# Fifty episodes of a big commit fit; a line beyond this is a bug, not data.
LONGEST_LINE: Final = 64 * 1024 * 1024  # bytes
# A thread that computes gives way to one that has an answer to carry on after so long. Python's five milliseconds are
# waited several times in one answer: once behind each thing that it waits for.
GIVE_WAY_AFTER: Final = 0.0005  # seconds
STOP_GRACE: Final = 0.8  # seconds a helper gets to end by itself once its pipe is closed; the daemon has 2 in all


class Json(str):
    """An answer that is written already, as JSON on one line."""

    __slots__ = ()


def line(frame: Mapping[str, Any] | Json) -> bytes:
    text = frame if isinstance(frame, Json) else json.dumps(frame, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass") + b"\n"
