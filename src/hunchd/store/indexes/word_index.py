"""In-memory word index with BM25 ranking, updated whenever a text is added or removed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from heapq import heapify, heappop
from typing import NamedTuple

from hunchd.text.bm25 import LARGEST_GAIN, compute_idf, compute_length_norm
from hunchd.text.identifiers import split_subwords
from hunchd.text.scripts import find_words, has_special_words, normalize_letters
from hunchd.text.words import INDEX_STOP_WORDS

# Only the beginning of a longer text is indexed here; the store indexes all of it.
_INDEXED_CHARACTERS = 8_000
# In a pasted query the rarest words decide; the others only cost time.
_MAX_QUERY_WORDS = 24
# A word in this share of the texts, and at least this many, is common: visiting each would take milliseconds.
_COMMON_SHARE = 0.25
_COMMON_COUNT = 500

_ENDINGS = ("s", "es", "e", "d", "ed", "ing")
_SHORTEST_WITH_FORMS, _SHORTEST_ROOT = 4, 3  # letters

_WORD = re.compile(r"[^\W_]+(?:_+[^\W_]+)*")


class WordMatch(NamedTuple):
    """Text that contains words of a query."""

    id: str
    score: float
    words: tuple[str, ...]  # query words by which it was found, rarest first
    share: float  # share of these words in the weight of the query, 0..1; rare words have more weight


def count_words(text: str) -> Counter[str]:
    """Count the lowercase words of a text. `getUserName` and `get_user_name` also count as get, user and name."""
    counts: Counter[str] = Counter()
    for word, times in Counter(_find_words(normalize_letters(text))).items():
        for part in {word.lower(), *split_subwords(word)}:
            counts[part] += times
    return counts


def _find_words(text: str) -> list[str]:
    """Return the words of a normalized text; a name with underscores is one word."""
    return find_words(text) if has_special_words(text) else _WORD.findall(text)


def extract_query_words(question: str) -> Iterable[str]:
    """Return the words of a query without stop words.

    Returns all words if the query contains only stop words. Stop words must be removed because a word like "the" is
    rare in code templates, so that a search among templates would consider it significant.
    """
    words = count_words(question)
    return [word for word in words if word not in INDEX_STOP_WORDS] or words


def inflect_word(word: str) -> Iterable[str]:
    """Return the word, followed by its possible inflections.

    A fact may say "deploys" where a query says "deploy". The store indexes stems, whereas this index contains whole
    words and tries their inflections.
    """
    if not (word.isascii() and word.isalpha() and len(word) >= _SHORTEST_WITH_FORMS):
        return (word,)
    roots = {word, *(word.removesuffix(end) for end in _ENDINGS if len(word) - len(end) >= _SHORTEST_ROOT)}
    if word.endswith("ies"):
        roots.add(f"{word[:-3]}y")
    forms = {f"{root}{end}" for root in roots for end in ("", *_ENDINGS)}
    forms.update(f"{root[:-1]}ies" for root in roots if root.endswith("y"))
    return (word, *sorted(forms - {word}))


class WordIndex:
    """Index that finds the ids of texts by their words."""

    def __init__(self) -> None:
        self._postings: dict[str, dict[str, int]] = {}  # word → id → weighted count
        self._words_by_id: dict[str, tuple[str, ...]] = {}  # id → its words
        self._lengths: dict[str, int] = {}
        self._total_length = 0

    def __len__(self) -> int:
        return len(self._words_by_id)

    def add(self, identifier: str, fields: Sequence[tuple[str, int]]) -> int:
        """Index weighted texts under an id; return the number of distinct words."""
        self.remove(identifier)
        counts: Counter[str] = Counter()
        for text, weight in fields:
            for word, times in count_words(text[:_INDEXED_CHARACTERS]).items():
                counts[word] += weight * times
        for word, count in counts.items():
            self._postings.setdefault(word, {})[identifier] = count
        self._words_by_id[identifier] = tuple(counts)
        self._lengths[identifier] = length = sum(counts.values())
        self._total_length += length
        return len(counts)

    def remove(self, identifier: str) -> None:
        for word in self._words_by_id.pop(identifier, ()):
            postings = self._postings[word]
            del postings[identifier]
            if not postings:
                del self._postings[word]
        self._total_length -= self._lengths.pop(identifier, 0)

    def search(self, question: str, among: Set[str] | None = None) -> Iterator[WordMatch]:
        """Yield texts that share a word with `question`, best first.

        Texts with equal scores are ordered by id. `among` restricts the search to these ids, which also makes it
        faster.
        """
        forms_by_word = {
            word: indexed_forms for word in extract_query_words(question) if (indexed_forms := self._find_forms(word))
        }
        query_words = sorted(
            (min(indexed_forms.values()), word, tuple(indexed_forms)) for word, indexed_forms in forms_by_word.items()
        )[:_MAX_QUERY_WORDS]
        missing = sum(
            forms_by_word.keys().isdisjoint({word.lower(), *split_subwords(word)})
            for word in set(_find_words(normalize_letters(question)))
            if word.lower() not in INDEX_STOP_WORDS
        )
        scores: dict[str, float] = {}
        base, slope = compute_length_norm(max(self._total_length, 1) / max(len(self._words_by_id), 1))
        lengths = self._lengths
        for form in (form for _, _, forms in query_words for form in forms):
            postings = self._postings[form]
            # A common word only ranks what rarer words have found; by itself it would match nearly everything.
            ranks_only = scores and len(postings) > max(_COMMON_COUNT, _COMMON_SHARE * len(self._words_by_id))
            weight = self._compute_idf(len(postings)) * LARGEST_GAIN
            visited_words = postings.keys() if among is None else among & postings.keys()
            for identifier in scores.keys() & visited_words if ranks_only else visited_words:
                count = postings[identifier]
                gain = weight * count / (count + base + slope * lengths[identifier])
                scores[identifier] = scores.get(identifier, 0.0) + gain
        return self._iterate_best_first(scores, query_words, missing)

    def _find_forms(self, word: str) -> dict[str, int]:
        """Return those inflections of a word that are indexed, with their frequencies."""
        return {form: len(postings) for form in inflect_word(word) if (postings := self._postings.get(form))}

    def _iterate_best_first(
        self, scores: dict[str, float], query_words: list[tuple[int, str, tuple[str, ...]]], missing: int
    ) -> Iterator[WordMatch]:
        # A heap, because only a few of possibly thousands of results are consumed.
        heap = [(-score, identifier) for identifier, score in scores.items()]
        heapify(heap)
        weights = {word: self._compute_idf(frequency) for frequency, word, _ in query_words}
        total_weight = sum(weights.values()) + missing * self._compute_idf(1)
        while heap:
            score, identifier = heappop(heap)
            shared_postings = tuple(
                word
                for _, word, forms in query_words
                if any(identifier in self._postings.get(form, ()) for form in forms)
            )
            yield WordMatch(
                identifier, -score, shared_postings, sum(map(weights.__getitem__, shared_postings)) / total_weight
            )

    def _compute_idf(self, frequency: int) -> float:
        return compute_idf(len(self._words_by_id), frequency)
