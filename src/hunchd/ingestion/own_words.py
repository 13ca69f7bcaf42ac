"""Find what a user said in a message that their client has filled with text of its own. No I/O.

Clients put instructions, skills, lists of plugins, reminders, summaries and feedback of hooks into the user's message.
They mark it by structure: in a tagged block that begins a line, or as the output of a hook.
"""

from __future__ import annotations

import re
from typing import Final

_BLOCK: Final = re.compile(
    r"^[ \t]*<(?P<tag>[A-Za-z][\w:.-]{0,60})(?:[ \t][^<>\n]{0,300})?>(?P<inside>.*?)</(?P=tag)>",
    re.DOTALL | re.MULTILINE,
)
# The block in which a client wraps what the user typed.
_TYPED_TAG: Final = re.compile(r"user[_-](?:query|message|prompt|input|request)", re.IGNORECASE)
_HEADINGS_ONLY: Final = re.compile(r"(?:\s*#{1,6} [^\n]*)*\s*")
_OF_HOOK: Final = re.compile(
    r"^\W*(?:[A-Z]\w*[ \t])?\[?(?:[A-Z]\w*[ \t])?hook[ \t](?:feedback|output|result|error|success"
    r"|(?:additional )?context|blocking)\w*"
    r"[^\n]{0,80}:",
    re.IGNORECASE,
)
# What clients say in the user's place without a block.
_OF_CLIENT: Final = (
    "Caveat: The messages below were generated",
    "[Request interrupted by user",
    "This session is being continued from a previous conversation",
)


def extract_user_text(text: str) -> str:
    """Return what the user said; "" if all of `text` is the client's."""
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
