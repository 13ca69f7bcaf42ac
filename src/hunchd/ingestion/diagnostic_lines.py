"""Classification of single lines in the output of tools.

A line may contain a location, a label (a word such as "error:" in front of a message), a stack frame, source code
or a marker below it. This module does no I/O.
"""

from __future__ import annotations

import re
from typing import Final

_FILE: Final = r"(?:(?:[A-Za-z]:)?[\w./\\@+~$-]*[\w)]\.[A-Za-z]\w{0,9}|(?:[\w.@+~-]+/)+[\w.@+-]+|[A-Z]\w+file)"
PLACE = re.compile(
    rf"(?:file://)?(?P<path>{_FILE})"
    r"(?:[:,] ?(?P<line>\d+)(?:(?::|, ?char(?:acter)?s? |-|, col(?:umn)? )(?P<column>\d+))?(?:[-:]\d+(?::\d+)?)?"
    r"|\((?P<line2>\d+)(?:[,:] ?(?P<column2>\d+))?(?:[,-] ?\d+)*\)|\"?,? (?:on |at )?line:? (?P<line3>\d+)"
    r"(?:,? (?:col(?:umn)?|characters?):? (?P<column3>\d+))?)"
)
_LINE_IN_FILE = re.compile(rf"\bline (?P<line>\d+) (?:in|of)(?: file)?:? ['\"]?(?P<path>{_FILE})")
_LABEL = re.compile(
    r"(?<![\w-])(?P<label>(?:fatal |syntax |compile |internal |type |parse |runtime |uncaught |unhandled )?"
    r"(?:error|exception|failure|panic)(?![\w-])|FAILED|FATAL|ERR!|fatal(?=:)|[✖✘×✗](?= )|●)"
    r"(?P<code>:? ?\[[A-Za-z][\w:-]*\d[\w:-]*\]| ?\(\w*\d\w*\)| [A-Z]{1,6}\d{2,6}(?!\w))?",
    re.IGNORECASE,
)
_LEADING = re.compile(
    r"^[^\w]*(?:\[?[A-Z]{1,3}\d{2,5}\]? |(?:[\w.@/\\+-]{1,60}: |npm |\d[\d.:]* )*)?(?:[A-Z]\w+ ){0,3}\W*$"
)
WARNING = re.compile(r"(?<![\w-])(?:warn(?:ing)?|info|hint|note|help|notice|debug)(?![\w-])(?!s)", re.IGNORECASE)
_CODE = re.compile(
    r"\b(?:[A-Z]{1,6}-?\d{2,6}|SC\d{4}|[A-Z][A-Za-z]+/[A-Z]\w+|[a-z]+(?:-[a-z0-9]+)+(?=\s*[\])]?\s*$)"
    r"|(?:(?<=\s\s)|(?<=[(\[])|(?<![^\s]))(?:@?[a-z][\w-]*/)+[a-zA-Z][\w-]*(?=\s*[\])]?\s*$))"
)
HEADING = re.compile(rf"^\s*(?:FILE: |file: |==+ |--+ |>> )?(?P<path>{_FILE})(?::? *[-━═─=]*)?$")
FINDING = re.compile(r"^\s*(?P<line>\d+)(?::(?P<column>\d+))?(?:-\d+(?::\d+)?)?(?:\s*\||:)?\s+\S")
BELOW = re.compile(r"^(?:\s{1,}|[|│╷╵┌╭├╰└┬=>^~+]|\d+ *[|│:])")
EXCERPT = re.compile(r"^\s*(?P<mark>>|->|❯)?\s*(?P<number>\d+)(?:\s*[|│┃:]|\s{2,}| (?=\s))(?P<code>.*)$")
MARKER = re.compile(r"^[\s|│┃╷╵╭╰╎·:.\d]*[\^~┬▲▔‾╌─^]{1,}(?P<said>[^\^~]*)$")
BARE_MARKER = re.compile(r"^[\s|│┃╷╵·:.]*[\^~▲][\s\^~-]*$")
FRAME = re.compile(
    r"^\s*(?:at [\w$.<(/]|#\d+ |\.\.\. \d+ more|\[C\]:|by 0x|stack traceback|(?:File \")|[\w$.]+\(\w+\.\w+:\d+\)$"
    r"|(?:from )?\S+:\d+(?::\d+)?:? ?in [`'\w<])"
)
TITLED_RULE = re.compile(rf"^[-━═─\s]*(?P<said>\w.*?) [-━═─]{{3,}} (?P<path>{_FILE})$")
_AT = re.compile(r"(?:\b(?:at|in|on|from|near)\b|[(\['\"])*[\s\W]*$")
GUTTER = re.compile(r"^[\s|│┃╷╵┌╭├╰└┬=╎·]+")
_RULER = re.compile(r"[-=_*━═─~#+. ]{4,}")
_ENDS_LABEL = re.compile(r"[ :\])]{2}|[:\])]?$|: ?|\] ?| \[")
_TRAIL = re.compile(r"[\s:;,|–—-]+$|^[\s:;,|–—>)\]-]+")

WORD = re.compile(r"[^\W\d_]{2,}")
COMPLAINT = re.compile(
    r"\b(?:cannot|can't|could not|couldn't|unable to|failed to|not"
    r" (?:found|allowed|defined|in scope|a|an|supported|exist|permitted|valid)|no (?:such|module|matching|rule|default)"
    r"|invalid|(?:has|have) not"
    r"|unknown|missing|denied|refused|unexpected|undefined|undeclared|expected(?!:)|must (?:be|not|have)"
    r"|does not|doesn't"
    r"|unrecogni[sz]ed|rejected|conflicts?|duplicate|mismatch|timed out|too many|out of"
    r"|unsupported|illegal|forbidden|already (?:exists|in use)|unresolved|ambiguous|required)\b",
    re.IGNORECASE,
)


def format_line(line: str, place: re.Match[str] | None) -> str:
    """Format `line` for display.

    Decorative rules are removed. The location `place` is removed too if the line begins or ends with it.
    """
    if place is not None and not line[: place.start()].strip(" \t\"'>-*`[(#@"):
        line = line[place.end() :]
    elif place is not None and not line[place.end() :].strip(" \t\"'>:.)]"):
        line = line[: place.start()]
    return " ".join(_RULER.sub(" ", line).strip(" \t:;,|–—-│╰╭└┌├─┬").split())


def find_place(line: str) -> re.Match[str] | None:
    return PLACE.search(line) or _LINE_IN_FILE.search(line)


def find_label(line: str) -> re.Match[str] | None:
    """Return the match of the line's error label, such as "error:".

    The label must be at the beginning of the line or right after a location. Returns None if there is no such label.
    """
    for label in _LABEL.finditer(line):
        before = PLACE.sub("", line[: label.start()])
        after = line[label.end() : label.end() + 1]
        if _LEADING.match(before) and (after in ("", ":", " ", "]", ",", ")", "(") or not after.isalnum()):
            return label
    return None


def extract_message(line: str, place: re.Match[str] | None, label: re.Match[str] | None) -> tuple[str, str]:
    """Return the message in a line, and the code of the violated rule.

    The location and the label are removed from the message. The code is "" if the line has none.
    """
    code = (label["code"] or "").strip(" []():") if label is not None else ""
    message_text = line
    if place is not None:
        message_text = f"{_AT.sub('', line[: place.start()])}: {line[place.end() :]}"
    for _ in range(2):  # "✘ [ERROR] …"
        if (again := find_label(message_text)) is None or not _ENDS_LABEL.match(message_text, again.end()):
            break
        message_text = message_text[again.end() :]
    message_text = _RULER.sub(" ", message_text)
    while (cut := _TRAIL.sub("", message_text)) != message_text:
        message_text = cut
    if not code and (code_match := _CODE.search(message_text)) is not None:
        code = code_match[0]
    return message_text.strip(), code
