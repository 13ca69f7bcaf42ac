"""Extractive summaries of a text at three lengths.

A summary states the subject, the decision or outcome, and the reason, in sentences taken from the text itself. No
model is used: sentences are scored by their content (a decision, a reason, an outcome) and by words that distinguish
this text from others in its project. Names, paths, versions and numbers are either kept unchanged or left out.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from hunchd.domain.memory import Levels
from hunchd.ingestion.path_summary import summarize_file_names, summarize_paths
from hunchd.ingestion.prose import join_sentences, shorten, split_sentences
from hunchd.text.words import extract_terms

MAX_SUMMARY_CHARACTERS: Final = 320  # characters: two or three sentences
MAX_COMPRESSED_CHARACTERS: Final = 150  # characters: one line
MAX_INDEX_CHARACTERS: Final = 60
MIN_REASON_WORDS: Final = 3  # words: "because of it" gives no reason
MIN_SENTENCE_CHARACTERS: Final = 12
MAX_SENTENCE_CHARACTERS: Final = 400  # a longer sentence is probably a list or a trace
DECISION_WEIGHT: Final = 2.0  # this and the next weights are added to a salience between 0 and 1
REASON_WEIGHT: Final = 1.5
OUTCOME_WEIGHT: Final = 1.0
FIRST_SENTENCE_WEIGHT: Final = 0.6  # the first sentence names the subject of a text
_COMMON_SHARE: Final = 0.35  # a word in this share of a project's texts, or more, has no weight

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
# Words that introduce the reason for the rest of their sentence, whatever the rest says.
_BECAUSE = re.compile(r"\b(?:because|so that|in order to)\b", re.IGNORECASE)
_OUTCOME = re.compile(
    r"\b(?:fix(?:ed|es)?|solved|resolved|works now|passes|passed|failed|reverted|root cause|finally|result(?:ed)?)\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Vocabulary:
    """Frequencies of the words in the texts of a project.

    The frequency of a word is the number of texts that contain it; rare words distinguish a text.
    """

    text_count: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def learn(self, text: str) -> None:
        self.text_count += 1
        self.counts.update(set(extract_terms(text)))

    def weigh(self, word: str) -> float:
        """Return the weight of a word, from 0 to 1.

        It is 0 for a word in a large share of the texts and 1 for a word in a single text. With fewer than two texts,
        every word has a weight of 0.5.
        """
        if not self.text_count:
            return 0.5
        share = self.counts.get(word, 1) / self.text_count
        if share >= _COMMON_SHARE and self.text_count > 10:
            return 0.0
        return (
            min(1.0, math.log(1.0 / min(share, 1.0)) / math.log(self.text_count + 1.0)) if self.text_count > 1 else 0.5
        )

    def pick_distinctive(self, text: str, limit: int) -> list[str]:
        """Return the `limit` most distinctive words, in the order of the text."""
        words = extract_terms(text)
        best = set(sorted(words, key=lambda word: (-self.weigh(word), -len(word), word))[:limit])
        return [word for word in words if word in best]


@dataclass(frozen=True, slots=True)
class ExtractedGist:
    """Sentences selected verbatim from a text, with its title as the subject.

    `decision` and `reason` are "" if the text states none.
    """

    subject: str
    decision: str = ""
    reason: str = ""
    sentences: tuple[str, ...] = ()  # in the order of the text
    ranked_sentences: tuple[str, ...] = ()  # most informative first: decision, reason, then the other sentences


def extract_gist(title: str, text: str, vocabulary: Vocabulary) -> ExtractedGist:
    """Select the most informative sentences of a text.

    They are the decision, the reason and then the most distinctive sentences. The title serves as the subject.
    """
    title_words = set(extract_terms(title))
    tokenized_sentences = [(one, extract_terms(one)) for one in split_sentences(text) if _is_self_contained(one)]
    candidates = [(one, words) for one, words in tokenized_sentences if not _repeats_title(words, title_words)]
    scored_sentences = [(_score(one, words, at, vocabulary), -at, one) for at, (one, words) in enumerate(candidates)]
    decisions = [one for one in scored_sentences if _DECISION.search(one[2])]
    decision = max(decisions)[2] if decisions else ""
    reasons = [one for one in scored_sentences if _REASON.search(one[2]) and one[2] != decision]
    reason = "" if _REASON.search(decision) else max(reasons)[2] if reasons else ""
    rest = (one[2] for one in sorted(scored_sentences, reverse=True))
    ranked_sentences = dict.fromkeys(one for one in (decision, reason, *rest) if one)
    return ExtractedGist(title, decision, reason, tuple(one for one, _ in candidates), tuple(ranked_sentences))


def build_levels(title: str, text: str, vocabulary: Vocabulary, *, when: str = "", paths: Sequence[str] = ()) -> Levels:
    """Build the summary, compressed and index levels of a text.

    `when` is a date to put in front of the compressed line. No level contains a name or a number that is not in the
    title, the text, `when` or `paths`.
    """
    gist = extract_gist(title, text, vocabulary)
    room = MAX_SUMMARY_CHARACTERS - len(gist.subject)
    selected_sentences = set(gist.ranked_sentences[:1])
    for sentence in gist.ranked_sentences:
        room -= len(sentence) + 2
        if room < 0:
            break
        selected_sentences.add(sentence)
    body = shorten(
        join_sentences([sentence for sentence in gist.sentences if sentence in selected_sentences]),
        MAX_SUMMARY_CHARACTERS,
    )
    place = f"In {summarize_paths(paths)}" if paths else ""
    summary = join_sentences([part for part in (gist.subject, body, place) if part])
    return Levels(summary, build_compressed(gist, when=when, paths=paths), shorten(gist.subject, MAX_INDEX_CHARACTERS))


def build_compressed(gist: ExtractedGist, *, when: str = "", paths: Sequence[str] = ()) -> str:
    """Build one line with the date, subject, reason and paths.

    The decision takes the place of a missing reason.
    """
    line = " ".join(part for part in (when, gist.subject.rstrip(". ")) if part)
    clause = _extract_clause(gist.reason or gist.decision, room=MAX_COMPRESSED_CHARACTERS - len(line))
    line = f"{line}: {clause}" if clause else line
    return shorten(line, MAX_COMPRESSED_CHARACTERS) + (f" ({summarize_file_names(paths)})" if paths else "")


def _score(sentence: str, words: Sequence[str], at: int, vocabulary: Vocabulary) -> float:
    salience = sum(sorted((vocabulary.weigh(word) for word in words), reverse=True)[:6]) / 6 if words else 0.0
    return (
        salience
        + DECISION_WEIGHT * bool(_DECISION.search(sentence))
        + REASON_WEIGHT * bool(_REASON.search(sentence))
        + OUTCOME_WEIGHT * bool(_OUTCOME.search(sentence))
        + FIRST_SENTENCE_WEIGHT * (at == 0)
        - 0.002 * max(0, len(sentence) - 160)
    )


def _extract_clause(sentence: str, *, room: int) -> str:
    """Return `sentence`, or only its reason clause if it is too long.

    The result must be shorter than `room` characters. Returns "" if the clause is too long as well, or does not
    make sense on its own.
    """
    stripped_text = sentence.rstrip(".:; ")
    if len(stripped_text) < room:
        return stripped_text
    match = _BECAUSE.search(stripped_text)
    clause = stripped_text[match.start() :] if match else ""
    return clause if len(clause) < room and len(extract_terms(clause)) >= MIN_REASON_WORDS else ""


def _is_self_contained(sentence: str) -> bool:
    """Return True if a sentence makes sense on its own and has a suitable length.

    A sentence that ends in a colon does not make sense on its own, because it introduces another.
    """
    return MIN_SENTENCE_CHARACTERS <= len(sentence) <= MAX_SENTENCE_CHARACTERS and not sentence.endswith(":")


def _repeats_title(words: Sequence[str], title_words: Collection[str]) -> bool:
    return bool(words) and sum(word in title_words for word in words) >= 0.9 * len(words)
