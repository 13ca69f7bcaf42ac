"""Extractive summaries of a text at three lengths.

They contain subject, decision or outcome, and reason, in the text's own sentences. No model: sentences are scored by
their content (a decision, a reason, an outcome) and by the words that distinguish this text from the others of its
project. Names, paths, versions and numbers are kept unchanged or left out.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from hunchd.consolidation.abbreviations import shortened
from hunchd.domain.memory import Levels
from hunchd.ingestion.prose import cut, joined, sentences
from hunchd.ingestion.whereabouts import names_of, places_of
from hunchd.text.words import terms

SUMMARY: Final = 320  # characters: two or three sentences
COMPRESSED: Final = 150  # characters: one line
INDEX: Final = 60
TELLING: Final = 3  # words: "because of it" gives no reason
SHORTEST_SENTENCE: Final = 12
LONGEST_SENTENCE: Final = 400  # a longer one is a list or a trace
DECIDES: Final = 2.0  # weights, beside a salience between 0 and 1
REASONS: Final = 1.5
CONCLUDES: Final = 1.0
BEGINS: Final = 0.6  # the first sentence names the subject of a text
_COMMON: Final = 0.35  # share of a project's texts from which a word has no weight

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
# Gives a reason for the rest of its sentence, whatever the rest says.
_BECAUSE = re.compile(r"\b(?:because|so that|in order to)\b", re.IGNORECASE)
_OUTCOME = re.compile(
    r"\b(?:fix(?:ed|es)?|solved|resolved|works now|passes|passed|failed|reverted|root cause|finally|result(?:ed)?)\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Vocabulary:
    """Document frequency of the words of a project; rare words distinguish texts."""

    texts: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def learn(self, text: str) -> None:
        self.texts += 1
        self.counts.update(set(terms(text)))

    def weight(self, word: str) -> float:
        """Return the weight of a word, from 0 to 1.

        It is 0 if the word is in every text and 1 if it is in one only.
        """
        if not self.texts:
            return 0.5
        share = self.counts.get(word, 1) / self.texts
        if share >= _COMMON and self.texts > 10:
            return 0.0
        return min(1.0, math.log(1.0 / min(share, 1.0)) / math.log(self.texts + 1.0)) if self.texts > 1 else 0.5

    def telling(self, text: str, most: int) -> list[str]:
        """Return the `limit` most distinctive words of a text, in its own order."""
        words = terms(text)
        best = set(sorted(words, key=lambda word: (-self.weight(word), -len(word), word))[:most])
        return [word for word in words if word in best]


@dataclass(frozen=True, slots=True)
class Gist:
    """Sentences selected from a text, each verbatim."""

    subject: str
    decision: str = ""
    reason: str = ""
    said: tuple[str, ...] = ()  # in the order of the text
    best: tuple[str, ...] = ()  # most informative first: decision, reason, then what else distinguishes the text


def gist_of(title: str, text: str, vocabulary: Vocabulary) -> Gist:
    """Select the subject, decision, reason and most distinctive sentences of a text."""
    named = set(terms(title))
    read = [(one, terms(one)) for one in sentences(text) if _speaks(one)]
    found = [(one, words) for one, words in read if not _says_the_same(words, named)]
    scored = [(_score(one, words, at, vocabulary), -at, one) for at, (one, words) in enumerate(found)]
    decisions = [one for one in scored if _DECISION.search(one[2])]
    decision = max(decisions)[2] if decisions else ""
    reasons = [one for one in scored if _REASON.search(one[2]) and one[2] != decision]
    reason = "" if _REASON.search(decision) else max(reasons)[2] if reasons else ""
    rest = (one[2] for one in sorted(scored, reverse=True))
    best = dict.fromkeys(one for one in (decision, reason, *rest) if one)
    return Gist(title, decision, reason, tuple(one for one, _ in found), tuple(best))


def levels_of(title: str, text: str, vocabulary: Vocabulary, *, when: str = "", paths: Sequence[str] = ()) -> Levels:
    """Return the summary, compressed and index levels of a text.

    No level contains a name or a number that the text does not contain.
    """
    gist = gist_of(title, text, vocabulary)
    room = SUMMARY - len(gist.subject)
    told = set(gist.best[:1])
    for sentence in gist.best:
        room -= len(sentence) + 2
        if room < 0:
            break
        told.add(sentence)
    what = cut(joined([sentence for sentence in gist.said if sentence in told]), SUMMARY)
    where = f"In {places_of(paths)}" if paths else ""
    summary = joined([part for part in (gist.subject, what, where) if part])
    return Levels(summary, compressed_of(gist, when=when, paths=paths), cut(gist.subject, INDEX))


def compressed_of(gist: Gist, *, when: str = "", paths: Sequence[str] = ()) -> str:
    """Return one abbreviated line with date, subject, reason and place."""
    line = " ".join(part for part in (when, shortened(gist.subject.rstrip(". "))) if part)
    clause = _clause(gist.reason or gist.decision, room=COMPRESSED - len(line))
    line = f"{line}: {shortened(clause)}" if clause else line
    return cut(line, COMPRESSED) + (f" ({names_of(paths)})" if paths else "")


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


def _clause(sentence: str, *, room: int) -> str:
    """Return the sentence if it fits, else its reason.

    Returns "" if the reason does not fit or makes no sense alone.
    """
    whole = sentence.rstrip(".:; ")
    if len(whole) < room:
        return whole
    found = _BECAUSE.search(whole)
    clause = whole[found.start() :] if found else ""
    return clause if len(clause) < room and len(terms(clause)) >= TELLING else ""


def _speaks(sentence: str) -> bool:
    """Return True if a sentence can stand alone.

    One that ends in a colon introduces another.
    """
    return SHORTEST_SENTENCE <= len(sentence) <= LONGEST_SENTENCE and not sentence.endswith(":")


def _says_the_same(words: Sequence[str], named: Collection[str]) -> bool:
    return bool(words) and sum(word in named for word in words) >= 0.9 * len(words)
