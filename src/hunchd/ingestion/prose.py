"""Sentence splitter for commit messages and descriptions.

It joins wrapped lines and skips everything that is not prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hunchd.text.sentences import split_paragraph

MAX_SENTENCES: Final = 200  # sentences read per text
MIN_WRAP_WIDTH: Final = 50  # characters; narrower text was not wrapped by an editor
MAX_WRAP_WIDTH: Final = 120  # characters; wider text has intended line breaks

_HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FENCE = re.compile(r"\s*(?:```|~~~)")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(?=\S)")
_QUOTE_MARK = re.compile(r"\s*>\s?")
_TRAILER = re.compile(
    r"^[A-Z][\w-]+(?:-by|-on|-id|-to)?: \S+(?: \S+)*(?: <\S+@\S+>| \S+://\S+)\s*$|"
    r"^(?:[\w-]+-(?:by|on|to)|Change-Id|PiperOrigin[\w-]*|Cc|Bug|Test): \S|"
    r"^\(?(?:cherry[ -]picked|backported) from (?:commit )?[0-9a-f]{7,}\)?$",
    re.IGNORECASE,
)
_REFERENCE = r"(?:[\w./-]*(?:#|GH-|!)\d+|https?://\S+|[A-Z]{2,10}-\d+|[0-9a-f]{8,40})"
_REFERENCE_WORDS = (
    r"(?:fix(?:es|ed)?|close[sd]?|resolve[sd]?|related to|part of|follow[ -]?up (?:to|of)|refs?|see(?: also)?|cc)"
)
_NOISE = re.compile(
    r"^(?:[-=*_~]{3,}|#+ .*|See merge request .*|Conflicts?:|git-svn-id.*|\|.*|!\[.*|\[[^\]]+\]: \S+|"
    r"</?(?:a|br|details|div|h\d|hr|img|p|picture|summary|table|t[dhr]|ul|li)\b.*|"
    rf"[\W_]*(?:(?:(?:this |and )?{_REFERENCE_WORDS}|and|issues?|prs?|pull requests?)\W*)*{_REFERENCE}"
    rf"(?:(?:\W|and|fix(?:es)?|close[sd]?)+{_REFERENCE})*\W*)$",
    re.IGNORECASE,
)
_COSMETIC_TARGETS = r"(?:typos?|lint(?:s|er|ing)?|clippy|ci|build|fmt|rustfmt|format(?:ting)?|tests?|review|comments?)"
# Intermediate steps listed by a squashed commit; they say nothing about the change.
_INTERMEDIATE_STEP = re.compile(
    r"^(?:\w+(?:\([^)]*\))?!?: )?(?:wip|tmp|nits?|cargo fmt|cleanup|update \S+\.\w{1,5}|"
    r"merge (?:branch|remote|pull) .*|"
    rf"(?:(?:fix|run|apply|make) (?:the |some |more )?)?{_COSMETIC_TARGETS}"
    r"(?: happy| errors?| warnings?| issues?| failures?)?|"
    r"(?:(?:address|apply|incorporate|resolve)\w*|updates? (?:per|from|after|based on)) .{0,20}"
    r"(?:review|suggestions?|feedback|comments?).{0,40})\W*$",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"^(?://|/\*|\$ |>>> |#\[|@@ |\.\. \w|File \".*\", line \d|Traceback \(|diff --git |(?:---|\+\+\+) [ab]/|"
    r"(?:pub|let|const|var|import) .*;$)|\{$|^[])}]+[;,]?$|[=(].*;$"
)
_URL_LINE = re.compile(r"\W*https?://\S+\s*")
_UNFINISHED_SENTENCE = re.compile(r"[^.!?]*[^.!?\s]$")  # would continue with the URL on the next line, which is skipped
_RULE = re.compile(r"=+|-{3,}|~{3,}")
_LABEL = re.compile(r"^(?:[A-Z][\w -]{0,20}|\w+): ")


def split_sentences(text: str, *, limit: int = MAX_SENTENCES) -> list[str]:
    """Return the distinct sentences and list items, at most `limit`, each on one line."""
    results: dict[str, None] = {}
    for stretch in _unwrap_passages(text):
        for sentence in split_paragraph(stretch):
            if sentence and not _is_noise(sentence) and not _INTERMEDIATE_STEP.match(sentence):
                results[sentence] = None
            if len(results) >= limit:
                return list(results)
    return list(results)


def join_sentences(parts: list[str]) -> str:
    """Join sentences on one line; add full stops where they are missing.

    The last sentence is left as it is.
    """
    terminated_parts = [part if part[-1] in ".!?:;…" else f"{part}." for part in parts[:-1]]
    return " ".join((*terminated_parts, *parts[-1:]))


def shorten(text: str, limit: int) -> str:
    """Shorten a text to `limit` characters, ending it at a word boundary.

    The text is never cut inside a code span.
    """
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    shortened_text = text[: limit - 1].rsplit(" ", 1)[0] if " " in text[:limit] else text[: limit - 1]
    if shortened_text.count("`") % 2:
        shortened_text = shortened_text[: shortened_text.rindex("`")]
    return shortened_text.rstrip(" ,.;:(") + "…"


def _unwrap_passages(text: str) -> Iterator[str]:
    """Yield paragraphs and list items, each on one line."""
    lines = _HTML_COMMENT.sub("", text).splitlines()
    width = max((len(line) for line in lines if "://" not in line), default=0)
    passage, last, item, in_fence = "", "", False, False
    for line in lines:
        if _FENCE.match(line):
            in_fence = not in_fence
        if in_fence or _is_not_prose(line, in_list_item=item and bool(passage)):
            if _URL_LINE.fullmatch(line):
                passage = _UNFINISHED_SENTENCE.sub("", passage)
            elif _RULE.fullmatch(line.strip()) and passage == last.strip():  # a heading, underlined
                passage = ""
            if passage:
                yield passage
            passage, item = "", item and not line.strip()
            continue
        item_match = _ITEM.match(line) or _QUOTE_MARK.match(line)
        stripped_text = " ".join((line[item_match.end() :] if item_match else line).split())
        if passage and not item_match and _continues_sentence(last, line, width):
            passage = f"{passage} {stripped_text}"
        else:
            if passage:
                yield passage
            passage, item = stripped_text, bool(item_match) or (item and line.startswith(" "))
        last = line
    if passage:
        yield passage


def _is_not_prose(line: str, *, in_list_item: bool) -> bool:
    """Return True for a line that is not part of a sentence.

    Such a line is empty, a trailer, a reference, a ruler or code. Inside a list item (`in_list_item`), indentation
    does not indicate code.
    """
    stripped_text = line.strip()
    if not stripped_text or _FENCE.match(line):
        return True
    if _is_noise(stripped_text) or (
        len(stripped_text) <= MAX_WRAP_WIDTH and (_TRAILER.match(stripped_text) or _CODE.search(stripped_text))
    ):
        return True
    return not in_list_item and line.startswith(("    ", "\t")) and not _ITEM.match(line)


def _is_noise(line: str) -> bool:
    return len(line) <= MAX_WRAP_WIDTH and _NOISE.match(line) is not None


def _continues_sentence(last: str, line: str, width: int) -> bool:
    """Return True if `line` continues the sentence on the line before it (`last`).

    This is the case if `line` begins with a lower-case letter, or if its first word did not fit on the line before,
    so that an editor wrapped it. `width` is the length of the longest line.
    """
    if width > MAX_WRAP_WIDTH or _LABEL.match(line):
        return False
    first_word = line.split(None, 1)[0]
    return first_word[0].islower() or len(last) + 1 + len(first_word) > max(width, MIN_WRAP_WIDTH)
