"""Sentence splitter for commit messages and descriptions.

It unwraps lines and skips everything but prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hunchd.text.sentences import split_paragraph

MOST: Final = 200  # sentences read per text
NARROWEST: Final = 50  # characters; narrower text was not wrapped by an editor
WIDEST: Final = 120  # characters; wider text has intended line breaks

_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FENCE = re.compile(r"\s*(?:```|~~~)")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(?=\S)")
_QUOTED = re.compile(r"\s*>\s?")
_TRAILER = re.compile(
    r"^[A-Z][\w-]+(?:-by|-on|-id|-to)?: \S+(?: \S+)*(?: <\S+@\S+>| \S+://\S+)\s*$|"
    r"^(?:[\w-]+-(?:by|on|to)|Change-Id|PiperOrigin[\w-]*|Cc|Bug|Test): \S|"
    r"^\(?(?:cherry[ -]picked|backported) from (?:commit )?[0-9a-f]{7,}\)?$",
    re.IGNORECASE,
)
_REFERENCE = r"(?:[\w./-]*(?:#|GH-|!)\d+|https?://\S+|[A-Z]{2,10}-\d+|[0-9a-f]{8,40})"
_REFERS = r"(?:fix(?:es|ed)?|close[sd]?|resolve[sd]?|related to|part of|follow[ -]?up (?:to|of)|refs?|see(?: also)?|cc)"
_NOISE = re.compile(
    r"^(?:[-=*_~]{3,}|#+ .*|See merge request .*|Conflicts?:|git-svn-id.*|\|.*|!\[.*|\[[^\]]+\]: \S+|"
    r"</?(?:a|br|details|div|h\d|hr|img|p|picture|summary|table|t[dhr]|ul|li)\b.*|"
    rf"[\W_]*(?:(?:(?:this |and )?{_REFERS}|and|issues?|prs?|pull requests?)\W*)*{_REFERENCE}"
    rf"(?:(?:\W|and|fix(?:es)?|close[sd]?)+{_REFERENCE})*\W*)$",
    re.IGNORECASE,
)
_MENDED = r"(?:typos?|lint(?:s|er|ing)?|clippy|ci|build|fmt|rustfmt|format(?:ting)?|tests?|review|comments?)"
# Intermediate steps listed by a squashed commit; they say nothing about the change.
_ON_THE_WAY = re.compile(
    r"^(?:\w+(?:\([^)]*\))?!?: )?(?:wip|tmp|nits?|cargo fmt|cleanup|update \S+\.\w{1,5}|"
    r"merge (?:branch|remote|pull) .*|"
    rf"(?:(?:fix|run|apply|make) (?:the |some |more )?)?{_MENDED}(?: happy| errors?| warnings?| issues?| failures?)?|"
    r"(?:(?:address|apply|incorporate|resolve)\w*|updates? (?:per|from|after|based on)) .{0,20}"
    r"(?:review|suggestions?|feedback|comments?).{0,40})\W*$",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"^(?://|/\*|\$ |>>> |#\[|@@ |\.\. \w|File \".*\", line \d|Traceback \(|diff --git |(?:---|\+\+\+) [ab]/|"
    r"(?:pub|let|const|var|import) .*;$)|\{$|^[])}]+[;,]?$|[=(].*;$"
)
_ADDRESS = re.compile(r"\W*https?://\S+\s*")
_UNFINISHED = re.compile(r"[^.!?]*[^.!?\s]$")  # continues with the URL on the next line, which is skipped
_RULE = re.compile(r"=+|-{3,}|~{3,}")
_LABEL = re.compile(r"^(?:[A-Z][\w -]{0,20}|\w+): ")


def sentences(text: str, *, most: int = MOST) -> list[str]:
    """Return the distinct sentences and list items of a text.

    Each is on one line.
    """
    found: dict[str, None] = {}
    for stretch in _stretches(text):
        for plain in split_paragraph(stretch):
            if plain and not _is_noise(plain) and not _ON_THE_WAY.match(plain):
                found[plain] = None
            if len(found) >= most:
                return list(found)
    return list(found)


def joined(parts: list[str]) -> str:
    """Join sentences on one line, adding missing full stops."""
    ended = [part if part[-1] in ".!?:;…" else f"{part}." for part in parts[:-1]]
    return " ".join((*ended, *parts[-1:]))


def cut(text: str, limit: int) -> str:
    """Shorten to `limit` characters, at a word, never within a name."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    kept = text[: limit - 1].rsplit(" ", 1)[0] if " " in text[:limit] else text[: limit - 1]
    if kept.count("`") % 2:
        kept = kept[: kept.rindex("`")]
    return kept.rstrip(" ,.;:(") + "…"


def _stretches(text: str) -> Iterator[str]:
    """Yield paragraphs and list items, each on one line."""
    lines = _HIDDEN.sub("", text).splitlines()
    width = max((len(line) for line in lines if "://" not in line), default=0)
    open_, last, item, fenced = "", "", False, False
    for line in lines:
        if _FENCE.match(line):
            fenced = not fenced
        if fenced or _is_no_prose(line, within=item and bool(open_)):
            if _ADDRESS.fullmatch(line):
                open_ = _UNFINISHED.sub("", open_)
            elif _RULE.fullmatch(line.strip()) and open_ == last.strip():  # a heading, underlined
                open_ = ""
            if open_:
                yield open_
            open_, item = "", item and not line.strip()
            continue
        mark = _ITEM.match(line) or _QUOTED.match(line)
        plain = " ".join((line[mark.end() :] if mark else line).split())
        if open_ and not mark and _goes_on(last, line, width):
            open_ = f"{open_} {plain}"
        else:
            if open_:
                yield open_
            open_, item = plain, bool(mark) or (item and line.startswith(" "))
        last = line
    if open_:
        yield open_


def _is_no_prose(line: str, *, within: bool) -> bool:
    """Return True for an empty line, trailer, reference, rule or code.

    Inside a list item (`within`), indentation does not mark code.
    """
    plain = line.strip()
    if not plain or _FENCE.match(line):
        return True
    if _is_noise(plain) or (len(plain) <= WIDEST and (_TRAILER.match(plain) or _CODE.search(plain))):
        return True
    return not within and line.startswith(("    ", "\t")) and not _ITEM.match(line)


def _is_noise(line: str) -> bool:
    return len(line) <= WIDEST and _NOISE.match(line) is not None


def _goes_on(last: str, line: str, width: int) -> bool:
    """Return True if a line continues the sentence of the `last` one.

    An editor wrapped it where the next word had no room.
    """
    if width > WIDEST or _LABEL.match(line):
        return False
    begins = line.split(None, 1)[0]
    return begins[0].islower() or len(last) + 1 + len(begins) > max(width, NARROWEST)
