"""Extraction of the user's own words from messages.

Clients add instructions, skills, lists of plugins, reminders, summaries and output from hooks to the user's
message. Such additions are recognised by their structure: a tagged block that begins a line, or the output of a
hook. Text that users paste (logs, code, tables, generated reports) is also recognised by its structure, since
nobody types such a structure. This module does no I/O.
"""

from __future__ import annotations

import re
from typing import Final

_BLOCK: Final = re.compile(
    r"^[ \t]*<(?P<tag>[A-Za-z][\w:.-]{0,60})(?:[ \t][^<>\n]{0,300})?>(?P<inside>.*?)</(?P=tag)>",
    re.DOTALL | re.MULTILINE,
)
# Tag of the block in which a client wraps what the user typed.
_TYPED_TAG: Final = re.compile(r"user[_-](?:query|message|prompt|input|request)", re.IGNORECASE)
_HEADINGS_ONLY: Final = re.compile(r"(?:\s*#{1,6} [^\n]*)*\s*")
_OF_HOOK: Final = re.compile(
    r"^\W*(?:[A-Z]\w*[ \t])?\[?(?:[A-Z]\w*[ \t])?hook[ \t](?:feedback|output|result|error|success"
    r"|(?:additional )?context|blocking)\w*"
    r"[^\n]{0,80}:",
    re.IGNORECASE,
)
# Text that clients put into the user's message outside any block.
_OF_CLIENT: Final = (
    "Caveat: The messages below were generated",
    "[Request interrupted by user",
    "This session is being continued from a previous conversation",
)

# Lines that were printed or generated rather than typed: marks of terminals and tools, numbered code, log lines,
# Markdown from reports, and lines that contain code.
_PRINTED_LINE: Final = re.compile(
    r"^\s*(?:at\s+\S+[(:]|File \"|Traceback\b|\d+\s*\||[│├└┌╭╰┃❯➜✓✔✗✘✖×●⎿>|$%]|#{1,6}\s|\[[^\]\n]{1,40}\]|\*\*"
    r"|[-*+•]\s+\*\*|[MADRCU?]{1,2}\s+\S*[/.]\S*$|[{}<]|//|/\*|@?https?://|diff --git|@@"
    r"|(?:\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d)|(?:ERROR|WARN|WARNING|INFO|DEBUG|FAIL|PASS)\b"
    r"|\w*(?:Error|Exception|Warning)\b.{0,60}:)"
    r"|[{};]\s*$|=>|::|</\w+>|/>|<\w+ [\w-]+=|\w\.\w+:\d+(?:\D|$)|\w @ \S+|\*\*\s*$|\w\(.*\)\s*[;{:]?$"
    r"|^\s*[\w.]+\s*[=:]\s*[\[{(\"']"
)
_SYMBOL_LEAD: Final = re.compile(r"^\s*[\u2190-\u2bff\U0001f300-\U0001faff]")
_LETTERS: Final = re.compile(r"[^\W\d_]|\s")
_FEWEST_LETTERS: Final = 0.7  # share of letters and spaces in prose
_MOST_PRINTED: Final = 0.34  # share of printed lines in a paragraph that somebody typed


def extract_typed_prose(text: str) -> str:
    """Return the paragraphs of a message that a person typed rather than pasted."""
    return "\n\n".join(one for one in re.split(r"\n\s*\n", text) if not _is_pasted(one))


def _is_pasted(paragraph: str) -> bool:
    lines = [line for line in paragraph.splitlines() if line.strip()]
    printed_lines = sum(_is_printed(line) for line in lines)
    return printed_lines > _MOST_PRINTED * len(lines)


def _is_printed(line: str) -> bool:
    if _PRINTED_LINE.search(line) or _SYMBOL_LEAD.match(line):
        return True
    return len(_LETTERS.findall(line)) < _FEWEST_LETTERS * len(line)


def extract_user_text(text: str) -> str:
    """Return the part of a message that the user wrote.

    Returns "" if the client wrote all of `text`.
    """
    text = text.strip()
    if text.startswith(_OF_CLIENT) or _OF_HOOK.match(text):
        return ""
    if "<" not in text or ">" not in text:
        return text
    typed_blocks = [block["inside"].strip() for block in _BLOCK.finditer(text) if _TYPED_TAG.fullmatch(block["tag"])]
    if typed_blocks:
        return "\n\n".join(filter(None, typed_blocks))
    rest = _BLOCK.sub("", text).strip()
    return "" if rest != text and _HEADINGS_ONLY.fullmatch(rest) else rest
