"""Parsing of an error report into title, code, traceback and prose.

An error report is a long text about a problem, such as an issue, or a text with a traceback.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

LONG: Final = 40  # words; a longer text is an error report
MOST_READ: Final = 32 * 1024  # characters
MOST_FRAMES: Final = 12
LONGEST_TITLE: Final = 240  # characters

_COMMENT = re.compile(r"<!--.{0,2000}?-->", re.DOTALL)
_FENCE = re.compile(r"(?ms)^[ \t]*(```|~~~)[^\n]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)")
_SPAN = re.compile(r"`([^`\n]{1,200})`")
_PYTHON_FRAME = re.compile(r"File \"([^\"\n]{1,400})\", line (\d{1,7})(?:, in ([\w<>]+))?")
_OTHER_FRAME = re.compile(
    r"\bat (?:(?P<function>[\w$.<>]+) ?\()?(?P<path>[\w./\\@:-]+\.\w{1,5}):(?P<line>\d{1,7})|"
    r"^\s*(?P<plain>[\w./\\-]+\.(?:go|rs|rb|c|cc|cpp|h|hpp|php|ex|exs)):(?P<at>\d{1,7})",
    re.MULTILINE,
)
_TEMPLATE = re.compile(
    r"(?im)^[ \t]*(?:#{1,6}[ \t].*|\*\*[^*\n]+\*\*:?[ \t]*|-[ \t]*\[[ xX]\].*|>.*"
    r"|(?:please|thank|steps to reproduce|expected|actual|describe the bug|to reproduce|environment|version|platform|os"
    r"|python version|additional context|screenshots?|checklist|i have|is your feature)\b[^\n]{0,80})$"
)
_VERSIONS = re.compile(r"(?im)^[ \t]*[\w .\-]{1,40}[ \t]*(?:==|[:=])[ \t]*v?\d+(?:\.\d+)+.*$")
_URL = re.compile(r"https?://\S+")
_INDENTED_LINES = re.compile(r"(?m)^(?: {4,}|\t|>>> ).*$")


class Frame(NamedTuple):
    """Frame of a traceback; `function` is "" if the function is unknown."""

    path: str
    function: str
    line: int


@dataclass(frozen=True, slots=True)
class Report:
    """Parsed error report; `frames` is the traceback, raise site first, `spans` are names quoted in backticks."""

    title: str
    code: str
    spans: str
    prose: str
    frames: tuple[Frame, ...]


def is_report(text: str) -> bool:
    """Return True if `text` is long or contains a traceback."""
    return len(text.split()) > LONG or _PYTHON_FRAME.search(text) is not None


def read_report(text: str) -> Report:
    """Parse the first MOST_READ characters of an error report, in linear time."""
    text = _COMMENT.sub(" ", text[:MOST_READ].replace("\r", ""))
    title, _, body = text.strip().partition("\n")
    if len(title) > LONGEST_TITLE:
        end = title.find(". ", 20, LONGEST_TITLE)
        cut = end + 1 if end > 0 else title.rfind(" ", 0, LONGEST_TITLE)
        title, body = title[:cut], f"{title[cut:]}\n{body}"
    title = title.strip("# *")
    frames = _parse_frames(body)
    code = "\n".join(fence_match[2] for fence_match in _FENCE.finditer(body))
    prose = _FENCE.sub("\n", body)
    code += "\n" + "\n".join(_INDENTED_LINES.findall(prose))
    prose = _INDENTED_LINES.sub("", prose)
    spans = "\n".join(_SPAN.findall(f"{title}\n{prose}"))
    for pattern in (_TEMPLATE, _VERSIONS, _URL):
        prose = pattern.sub(" ", prose)
    code = _VERSIONS.sub(" ", _PYTHON_FRAME.sub(" ", code))
    return Report(title, code, spans, prose, frames)


def _parse_frames(text: str) -> tuple[Frame, ...]:
    frames = [
        Frame(frame[1].replace("\\", "/"), frame[3] or "", int(frame[2])) for frame in _PYTHON_FRAME.finditer(text)
    ]
    frames.reverse()  # Python's newest call is last
    for frame in _OTHER_FRAME.finditer(text):
        path = frame["path"] or frame["plain"]
        line = int(frame["line"] or frame["at"])
        frames.append(Frame(path.replace("\\", "/"), (frame["function"] or "").rpartition(".")[2], line))
    return tuple(dict.fromkeys(frames))[:MOST_FRAMES]
