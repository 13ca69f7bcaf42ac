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
from hunchd.consolidation.contradictions.alternatives import find_class
from hunchd.consolidation.contradictions.scopes import MAX_SINGLE_TOPIC_CHARACTERS, have_other_scopes
from hunchd.consolidation.contradictions.statement_parser import normalize_text
from hunchd.text.words import STATEMENT_STOP_WORDS

_PHRASE_END: Final = (
    r"(?=\s+(?:to|for|with|by|in|and|from|over|after|because|since|on|at|last|this|everywhere|when|once|years?|as)\b"
    r"|[,.;:()]|$)"
)
_PASSIVE_VERBS: Final = (
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
    rf"(?P<what>[^,.;:()]+?){_PHRASE_END}",
    re.IGNORECASE,
)
_PASSIVE: Final = re.compile(rf"\s{_PASSIVE_VERBS}\b", re.IGNORECASE)
_CLAUSE_END: Final = re.compile(r"[,.;:()]\s|[;:()]")
_NOTHING_LEFT: Final = re.compile(
    r"\b(?:nothing (?:is )?left of|took)\s+(?P<what>[\w.+#-]+?)(?:'s place)?(?=[\s,.;:()]|$)", re.I
)
_COMMIT: Final = re.compile(
    rf"^[\w/!()-]+: (?:drop|remove|delete|replace|swap|retire|uninstall)(?: the (?:last|old))?\s+"
    rf"(?P<what>[^,.;:()]+?){_PHRASE_END}",
    re.I,
)
# A part of the tool may be removed while the tool stays.
_PART: Final = re.compile(
    r"\b(?:support|version|v?\d[\w.]*|flag|option|endpoint|test|page|button|bug|warning|column)s?\b", re.I
)
_NOT_AFFIRMED: Final = re.compile(
    r"\b(?:not|no|never|nobody|nothing|none|without|instead|rather|used to|formerly|until|once|plan\w*|may|might|could|"
    r"considered?|proposal|proposed|old|legacy|again|remov\w+|delet\w+|drop\w*|replac\w+|retir\w+|gone|left|migrat\w+|"
    r"moved|switch\w+|before|was|were|archiv\w+|idea|should|why|compar\w+|than|instead|closed|cancelled|partner\w*|customers?|drop)\b|\?",
    re.IGNORECASE,
)
_NAME: Final = re.compile(r"[A-Za-z][\w.+#/-]*[\w+#]|[A-Z]")
_MAX_NAME_WORDS: Final = 4  # words of a name and its context


_NOT_CURRENT: Final = (_NOT_AFFIRMED, patterns.PAST, patterns.FUTURE)
# A text without any of these words replaces nothing.
_TRIGGER: Final = re.compile(
    r"drop|remov|delet|retire|replac|supersed|mov|migrat|switch|left|threw|thrown|rid of|swap|scrap|uninstall|ported|"
    r"decommission|gone|took|takes|place of|ripped|purge|abandon|ditch|no longer|shut down|turned off|kicked|history|"
    r"not used",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _ReplacedNames:
    """Words that name something replaced.

    `named_alone` holds those named without a further noun: "nvm", not "the nvm folder".
    """

    names: frozenset[str] = frozenset()
    named_alone: frozenset[str] = frozenset()


def uses_replaced_tool(a: str, b: str) -> bool:
    """Return True if one statement uses a tool that the other replaced."""
    if not (_TRIGGER.search(a) or _TRIGGER.search(b)):
        return False
    return _mentions_replaced_tool(b, a) or _mentions_replaced_tool(a, b)


def _mentions_replaced_tool(text: str, replacing_text: str) -> bool:
    """Return True if `text` uses a tool that `replacing_text` says was replaced."""
    replaced_names = _find_replaced(replacing_text)
    if not replaced_names.names:
        return False
    plain = normalize_text(text)
    mentions = {
        lower: match for match in _NAME.finditer(plain) if (lower := _normalize_name(match[0])) in replaced_names.names
    }
    if not mentions or _find_replaced(text).names or any(pattern.search(plain) for pattern in _NOT_CURRENT):
        return False
    is_named = any(
        lower in replaced_names.named_alone
        or _is_name(lower, plain, match)
        or _contains_name(lower, normalize_text(replacing_text))
        for lower, match in mentions.items()
    )
    return is_named and not have_other_scopes(text, replacing_text)


@lru_cache(maxsize=2_048)
def _find_replaced(text: str) -> _ReplacedNames:
    """Return the names that `text` says were replaced or removed."""
    if len(text) > MAX_SINGLE_TOPIC_CHARACTERS or _TRIGGER.search(text) is None:
        return _ReplacedNames()
    replaced_names: set[str] = set()
    named_alone: set[str] = set()
    for words in _iter_replaced_phrases(normalize_text(text)):
        if _PART.search(" ".join(words)):
            continue
        names = [
            _normalize_name(name[0])
            for word in words
            if (name := _NAME.match(word)) and name[0].lower() not in STATEMENT_STOP_WORDS
        ]
        replaced_names.update(names)
        if len(words) == 1 and not words[0].endswith("s"):
            named_alone.update(names)
    return _ReplacedNames(frozenset(replaced_names), frozenset(named_alone))


def _iter_replaced_phrases(text: str) -> Iterator[list[str]]:
    for match in _PASSIVE.finditer(text):
        yield _CLAUSE_END.split(text[: match.start()])[-1].split()[-_MAX_NAME_WORDS:]
    for pattern in (_ACTIVE, _COMMIT, _NOTHING_LEFT):
        yield from (match["what"].split()[:_MAX_NAME_WORDS] for match in pattern.finditer(text))


def _normalize_name(word: str) -> str:
    lower = word.lower().rstrip(".")
    return lower.removesuffix(".js").split("/")[0]


def _is_name(lower: str, text: str, match: re.Match[str]) -> bool:
    """Return True if a word is a known tool or proper name."""
    if find_class(lower) or any(one.isupper() for one in match[0][1:]):
        return True
    return (
        match[0][:1].isupper()
        and bool(text[: match.start()].strip())
        and not text[: match.start()].rstrip().endswith((".", ":"))
    )


def _contains_name(lower: str, text: str) -> bool:
    return any(_is_name(lower, text, match) for match in _NAME.finditer(text) if _normalize_name(match[0]) == lower)
