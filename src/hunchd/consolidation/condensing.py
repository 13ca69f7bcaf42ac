"""A text → its gist at three lengths, out of its own sentences: what it is about, what was decided or done, and why.

No model: sentences are chosen by what they say (a decision, a reason, an outcome) and by the words that distinguish
this text from the others of its project. Names, paths, versions and numbers come through unchanged or not at all.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from hunchd.consolidation.abbreviations import shortened
from hunchd.domain.memory import Levels
from hunchd.retrieval.wording import terms

SUMMARY: Final = 320  # characters: two or three sentences
COMPRESSED: Final = 150  # … one line
INDEX: Final = 60
LONGEST_SENTENCE: Final = 400  # a longer one is a list or a trace
MOST_SENTENCES: Final = 200  # of one text that are looked at
DECIDES: Final = 2.0  # weights, beside a salience between 0 and 1
REASONS: Final = 1.5
CONCLUDES: Final = 1.0
BEGINS: Final = 0.6  # the first sentence says what a text is about
_COMMON: Final = 0.35  # share of a project's texts from which a word distinguishes nothing

_DECISION = re.compile(
    r"\b(?:decid\w+|decision|chose|chosen|agreed|instead of|rather than|in favou?r of|switch(?:ed|es)? (?:to|from)|"
    r"replac\w+|migrat\w+|rejected|adopt\w+|drop(?:ped|s)? support|renam\w+|must|never|always|from now on)\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|since|so that|in order to|due to|to (?:avoid|allow|prevent|support|fix|ensure)|otherwise|"
    r"caused by|the (?:cause|reason|problem) (?:was|is)|turned out)\b",
    re.IGNORECASE,
)
_OUTCOME = re.compile(
    r"\b(?:fix(?:ed|es)?|solved|resolved|works now|passes|passed|failed|reverted|root cause|finally|result(?:ed)?)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(*\d])|\n+")
_MARK = re.compile(r"^\s*(?:[-*+>]|\d+[.)])\s+|^#{1,6}\s+")


@dataclass(slots=True)
class Vocabulary:
    """In how many texts of a project each word is: what is rare tells texts apart."""

    texts: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def learn(self, text: str) -> None:
        self.texts += 1
        self.counts.update(set(terms(text)))

    def weight(self, word: str) -> float:
        """Between 0, in every text, and 1, in this one alone."""
        if not self.texts:
            return 0.5
        share = self.counts.get(word, 1) / self.texts
        if share >= _COMMON and self.texts > 10:
            return 0.0
        return min(1.0, math.log(1.0 / min(share, 1.0)) / math.log(self.texts + 1.0)) if self.texts > 1 else 0.5

    def telling(self, text: str, most: int) -> list[str]:
        """The words by which a text is told from the others, in its own order."""
        words = terms(text)
        best = set(sorted(words, key=lambda word: (-self.weight(word), -len(word), word))[:most])
        return [word for word in words if word in best]


@dataclass(frozen=True, slots=True)
class Gist:
    """What was taken out of a text, each as it stands there."""

    subject: str
    decision: str = ""
    reason: str = ""
    others: tuple[str, ...] = ()


def gist_of(title: str, text: str, vocabulary: Vocabulary) -> Gist:
    """Subject, decision and reason of a text, and what else distinguishes it, best first."""
    named = set(terms(title))
    read = [(one, terms(one)) for one in sentences(text)]
    found = [(one, words) for one, words in read if not _says_the_same(words, named)]
    scored = [(_score(one, words, at, vocabulary), -at, one) for at, (one, words) in enumerate(found)]
    decisions = [one for one in scored if _DECISION.search(one[2])]
    decision = max(decisions)[2] if decisions else ""
    reasons = [one for one in scored if _REASON.search(one[2]) and one[2] != decision]
    reason = "" if _REASON.search(decision) else max(reasons)[2] if reasons else ""
    rest = sorted((one for one in scored if one[2] not in (decision, reason)), reverse=True)
    return Gist(title, decision, reason, tuple(one[2] for one in rest))


def levels_of(title: str, text: str, vocabulary: Vocabulary, *, when: str = "", paths: Sequence[str] = ()) -> Levels:
    """The three shorter forms; none says a name or a number that the text does not."""
    gist = gist_of(title, text, vocabulary)
    told = [gist.subject, *(part for part in (gist.decision, gist.reason) if part)]
    for other in gist.others:
        if len(". ".join(told)) + len(other) > SUMMARY:
            break
        told.append(other)
    where = f"In {', '.join(paths[:3])}{f' and {len(paths) - 3} more' if len(paths) > 3 else ''}" if paths else ""
    summary = _joined((*_within(told, SUMMARY), where))
    return Levels(summary, compressed_of(gist, when=when, paths=paths), cut(gist.subject, INDEX))


def compressed_of(gist: Gist, *, when: str = "", paths: Sequence[str] = ()) -> str:
    """One line: when, what, why and where, shortened by the glossary."""
    why = gist.reason or gist.decision
    clause = _clause(why)
    line = " ".join(part for part in (when, shortened(gist.subject)) if part)
    if clause and len(line) + len(clause) < COMPRESSED:
        line = f"{line}: {shortened(clause)}"
    names = ", ".join(path.rpartition("/")[2] for path in paths[:2])
    return cut(line, COMPRESSED) + (f" ({names}{f' +{len(paths) - 2}' if len(paths) > 2 else ''})" if names else "")


def sentences(text: str) -> list[str]:
    """The sentences and list items of a text, each on one line, once; code blocks are left out."""
    found: dict[str, None] = {}
    fenced = False
    for part in _SENTENCE_END.split(text):
        if part.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
            continue
        plain = " ".join(_MARK.sub("", part).split())
        if not fenced and 12 <= len(plain) <= LONGEST_SENTENCE:
            found[plain] = None
        if len(found) >= MOST_SENTENCES:
            break
    return list(found)


def cut(text: str, limit: int) -> str:
    """At most `limit` characters, ending at a word and never within a name."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    kept = text[: limit - 1].rsplit(" ", 1)[0] if " " in text[:limit] else text[: limit - 1]
    if kept.count("`") % 2:
        kept = kept[: kept.rindex("`")]
    return kept.rstrip(" ,.;:(") + "…"


def _score(sentence: str, words: Sequence[str], at: int, vocabulary: Vocabulary) -> float:
    salience = sum(sorted((vocabulary.weight(word) for word in words), reverse=True)[:6]) / 6 if words else 0.0
    return (
        salience
        + DECIDES * bool(_DECISION.search(sentence))
        + REASONS * bool(_REASON.search(sentence))
        + CONCLUDES * bool(_OUTCOME.search(sentence))
        + BEGINS * (at == 0)
        - 0.002 * max(0, len(sentence) - 160)
    )


def _clause(sentence: str) -> str:
    """From the word that gives the reason on, if there is one."""
    found = _REASON.search(sentence)
    return sentence[found.start() :].rstrip(". ") if found else sentence.rstrip(". ")


def _within(parts: Iterable[str], limit: int) -> list[str]:
    kept: list[str] = []
    room = limit
    for part in parts:
        if kept and len(part) > room:
            continue
        kept.append(cut(part, limit))
        room -= len(part) + 2
    return kept


def _joined(parts: Iterable[str]) -> str:
    return ". ".join(part.rstrip(". ") for part in parts if part)


def _says_the_same(words: Sequence[str], named: Collection[str]) -> bool:
    return bool(words) and sum(word in named for word in words) >= 0.9 * len(words)
