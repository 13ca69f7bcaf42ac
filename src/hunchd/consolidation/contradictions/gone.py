"""Detection of tools that one statement calls replaced and another still uses.

Example: "Vite replaced Mix" and "assets are built by Mix". The tool is matched by name, which must be a proper name or
a known tool. A statement about the past, the future, or with a denial does not say that the tool is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from hunchd.consolidation.contradictions import patterns as patterns
from hunchd.consolidation.contradictions.choices import class_of
from hunchd.consolidation.contradictions.reading import plain_text
from hunchd.consolidation.contradictions.scopes import LONGEST_TOLD, elsewhere
from hunchd.text.words import STATEMENT_STOP_WORDS

_END: Final = (
    r"(?=\s+(?:to|for|with|by|in|and|from|over|after|because|since|on|at|last|this|everywhere|when|once|years?|as)\b"
    r"|[,.;:()]|$)"
)
_OUT: Final = (
    r"(?:(?:was|were|has been|have been|had been|got)\s+(?:(?:all|finally|completely|entirely|just)\s+)*"
    r"(?:removed|deleted|dropped|archived|purged|swapped(?: out)?|switched off|shut down|turned off|OUT)|"
    r"(?:is|are)\s+(?:(?:now|since|all|finally|completely|entirely)\s+)*(?:gone|history|"
    r"(?:no longer|not) (?:used|in use|needed)|OUT))"
).replace(
    "OUT", "retired|decommissioned|thrown out|ripped out|kicked out|replaced|superseded|uninstalled|abandoned|scrapped"
)
_ACTIVE: Final = re.compile(
    rf"(?<!\bbe )(?<!been )(?<!\bis )(?<!\bare )(?<!was )(?<!were )(?<!got )"
    r"\b(?:dropped|removed|deleted|retired|(?<=we )left|(?<=team )left|ditched|abandoned|"
    r"uninstalled|ripp?(?:ed)? out|threw out|throw out|got rid of|get rid of|purged?|swap(?:ped)?(?: out)?|"
    r"replac(?:e|ed|es|ing)|superseded|scrapped|(?:mov|migrat)(?:e|ed|ing)\b[^.;,]{0,50}?\b(?:from|off|away from)|"
    r"switch(?:ed|ing)?\b[^.;,]{0,30}?\b(?:from|off|away from)|went from|port(?:ed)?\b[^.;,]{0,30}?\bfrom|"
    r"took over from|takes over from|(?:takes|took|in) (?:the )?place of|no longer uses?)\s+"
    rf"(?P<what>[^,.;:()]+?){_END}",
    re.IGNORECASE,
)
_PASSIVE: Final = re.compile(rf"\s{_OUT}\b", re.IGNORECASE)
_STOPS: Final = re.compile(r"[,.;:()]\s|[;:()]")
_LEFT: Final = re.compile(
    r"\b(?:nothing (?:is )?left of|took)\s+(?P<what>[\w.+#-]+?)(?:'s place)?(?=[\s,.;:()]|$)", re.I
)
_COMMIT: Final = re.compile(
    rf"^[\w/!()-]+: (?:drop|remove|delete|replace|swap|retire|uninstall)(?: the (?:last|old))?\s+"
    rf"(?P<what>[^,.;:()]+?){_END}",
    re.I,
)
# A part of the tool may be removed while the tool stays.
_PART: Final = re.compile(
    r"\b(?:support|version|v?\d[\w.]*|flag|option|endpoint|test|page|button|bug|warning|column)s?\b", re.I
)
_DENIED: Final = re.compile(
    r"\b(?:not|no|never|nobody|nothing|none|without|instead|rather|used to|formerly|until|once|plan\w*|may|might|could|"
    r"considered?|proposal|proposed|old|legacy|again|remov\w+|delet\w+|drop\w*|replac\w+|retir\w+|gone|left|migrat\w+|"
    r"moved|switch\w+|before|was|were|archiv\w+|idea|should|why|compar\w+|than|instead|closed|cancelled|partner\w*|customers?|drop)\b|\?",
    re.IGNORECASE,
)
_NAME: Final = re.compile(r"[A-Za-z][\w.+#/-]*[\w+#]|[A-Z]")
_MOST: Final = 4  # words of a name and its context


_NOT_NOW: Final = (_DENIED, patterns.PAST, patterns.FUTURE)
# A text without any of these words replaces nothing.
_PERHAPS: Final = re.compile(
    r"drop|remov|delet|retire|replac|supersed|mov|migrat|switch|left|threw|thrown|rid of|swap|scrap|uninstall|ported|"
    r"decommission|gone|took|takes|place of|ripped|purge|abandon|ditch|no longer|shut down|turned off|kicked|history|"
    r"not used",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Gone:
    """Words that name something replaced.

    `named_alone` holds those named without a further noun: "nvm", not "the nvm folder".
    """

    words: frozenset[str] = frozenset()
    alone: frozenset[str] = frozenset()


def still_used(a: str, b: str) -> bool:
    """Return True if one statement uses a tool that the other replaced."""
    if not (_PERHAPS.search(a) or _PERHAPS.search(b)):
        return False
    return _uses(b, a) or _uses(a, b)


def _uses(text: str, teller: str) -> bool:
    """Return True if `text` uses a tool that `replacing_text` says was replaced."""
    gone = _gone(teller)
    if not gone.words:
        return False
    plain = plain_text(text)
    found = {lower: match for match in _NAME.finditer(plain) if (lower := _root(match[0])) in gone.words}
    if not found or _gone(text).words or any(told.search(plain) for told in _NOT_NOW):
        return False
    named = any(
        lower in gone.alone or _is_name(lower, plain, match) or _is_name_in(lower, plain_text(teller))
        for lower, match in found.items()
    )
    return named and not elsewhere(text, teller)


@lru_cache(maxsize=2_048)
def _gone(text: str) -> _Gone:
    """Return the names that `text` says were replaced or removed."""
    if len(text) > LONGEST_TOLD or _PERHAPS.search(text) is None:
        return _Gone()
    found: set[str] = set()
    alone: set[str] = set()
    for words in _what_is_gone(plain_text(text)):
        if _PART.search(" ".join(words)):
            continue
        names = [
            _root(name[0])
            for word in words
            if (name := _NAME.match(word)) and name[0].lower() not in STATEMENT_STOP_WORDS
        ]
        found.update(names)
        if len(words) == 1 and not words[0].endswith("s"):
            alone.update(names)
    return _Gone(frozenset(found), frozenset(alone))


def _what_is_gone(text: str) -> Iterator[list[str]]:
    for match in _PASSIVE.finditer(text):
        yield _STOPS.split(text[: match.start()])[-1].split()[-_MOST:]
    for pattern in (_ACTIVE, _COMMIT, _LEFT):
        yield from (match["what"].split()[:_MOST] for match in pattern.finditer(text))


def _root(word: str) -> str:
    lower = word.lower().rstrip(".")
    return lower.removesuffix(".js").split("/")[0]


def _is_name(lower: str, text: str, match: re.Match[str]) -> bool:
    """Return True if a word is a known tool or proper name."""
    if class_of(lower) or any(one.isupper() for one in match[0][1:]):
        return True
    return (
        match[0][:1].isupper()
        and bool(text[: match.start()].strip())
        and not text[: match.start()].rstrip().endswith((".", ":"))
    )


def _is_name_in(lower: str, text: str) -> bool:
    return any(_is_name(lower, text, match) for match in _NAME.finditer(text) if _root(match[0]) == lower)
