"""Search for duplicates: memories that say the same.

Memories that share rare words are compared. Duplicates have a similarity of at least .92 and the same kind, scope and
event. Two texts are compared sentence by sentence, with abbreviations expanded and synonyms unified, and regardless
of case, punctuation, markup and order. Distinguishing tokens must be equal in both: numbers, versions, names in code,
negations, and what comes before or after "instead of" or "from … to …". One text may have an
additional sentence, but not an additional name. These are pure functions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hunchd.consolidation.duplicates.sentence_parser import (
    EMPTY,
    Sentence,
    clear_caches,
    contains_beginning,
    has_swapped_roles,
    is_name,
    join_sentences,
    parse_sentences,
)
from hunchd.consolidation.duplicates.synonyms import DISTINGUISHING_WORDS, FILLER_WORDS
from hunchd.domain.kinds import describe
from hunchd.domain.memory import Kind, Memory, Status

MIN_SIMILARITY: Final = 0.92  # minimum similarity of duplicates about one subject
# Minimum similarity if the vectors agree as well: they cover synonyms that are in no table.
MIN_WORD_SIMILARITY: Final = 0.8
MIN_PART_INFORMATION: Final = 1.8  # minimum information if only a part of the longer text is covered
# Words of two sentences together from which one word may replace another, if little else differs. In a shorter pair,
# one different word changes the meaning: with 14 words, one of 1,760 pairs that exclude each other was merged.
MIN_LONG_WORDS: Final = 20
MAX_ADDED_SHARE: Final = 0.6  # maximum share of added sentences in the longer text
MAX_ADDED_NAMED_SHARE: Final = 0.3  # the same if the added sentences contain names or numbers
MIN_EPISODE_INFORMATION: Final = (
    1.65  # minimum information of an episode: "add missing changelog entry" describes many commits
)
# Less information is enough if both texts have exactly the same words, and either this many words or a rare name.
MIN_REPEATED_INFORMATION: Final = 1.0
MIN_REPEATED_WORDS: Final = 6
MAX_NAME_FREQUENCY: Final = 3  # memories that contain a rare name
MAX_BLOCKING_WORDS: Final = 10  # words by which the candidates for a memory are searched
MAX_DOCUMENT_FREQUENCY: Final = 300  # memories; a word in more of them finds no candidates
COMBINED_WORDS: Final = 4  # a memory without rare words is searched by this many of its rarest words, joined
MAX_COMPARED: Final = 60  # maximum candidates for one memory
MAX_CACHED_TEXTS: Final = 4_000  # texts whose sentences are cached
_UNINFORMATIVE: Final = (
    FILLER_WORDS | DISTINGUISHING_WORDS | {"previous", "commit"}
)  # words that do not tell two memories apart


@dataclass(frozen=True, slots=True)
class _Text:
    """Compact form of a memory's text.

    Only the first sentence is stored. The few word-by-word comparisons parse the sentences again.
    """

    memory: Memory
    words: tuple[str, ...]  # unique
    distinguishing: tuple[str, ...]  # unique and sorted; a tuple, because a small set takes several times the space
    length: int
    first_sentence: Sentence
    sentence_count: int  # sentences


def group_duplicates(
    memories: Mapping[str, Memory],
    vectors: Mapping[str, bytes] | None = None,
    *,
    settled_ids: Collection[str] = (),
) -> list[list[str]]:
    """Group the ids of memories that say the same.

    Each id is in at most one group. `vectors` maps ids to vectors of signed bytes, which detect paraphrases that no
    synonym table covers. Pairs in which both ids are in `settled_ids` are not compared again.
    """
    texts = {one.id: _make_text(one) for one in memories.values() if _may_merge(one)}
    rarity = _WordInformation(texts.values())
    comparer = _PairComparer(rarity, vectors or {})
    groups: dict[str, list[str]] = {}
    leader_of: dict[str, str] = {}
    for first, second in _iter_candidates(texts, rarity, settled_ids):
        leader = leader_of.get(first, first)
        if second in leader_of or second in groups:
            continue
        group = groups.get(leader, [leader])
        # Compare with the whole group: a vague text would otherwise join memories that have nothing else in common.
        if all(comparer.are_duplicates(texts[one], texts[second]) for one in group):
            groups[leader] = [*group, second]
            leader_of[second] = leader_of[leader] = leader
    clear_caches()
    return list(groups.values())


class _WordInformation:
    """Information content of words, from 0 to 1, derived from document frequencies.

    A word in few texts tells more about its text than a word in many.
    """

    def __init__(self, texts: Collection[_Text]) -> None:
        self.document_frequency: Counter[str] = Counter()
        for text in texts:
            self.document_frequency.update(text.words)
        text_count = len(texts)
        max_information = math.log(2 + text_count)
        by_frequency = {
            times: math.log((2 + text_count) / (1 + times)) / max_information
            for times in {0, *self.document_frequency.values()}
        }
        self._information = {
            word: 0.0 if word in _UNINFORMATIVE else by_frequency[times]
            for word, times in self.document_frequency.items()
        }
        self._text_information: dict[str, float] = {}

    def weigh(self, word: str) -> float:
        if word in FILLER_WORDS:
            return 0.1
        return max(0.25, self._information[word])

    def measure_text(self, text: _Text) -> float:
        """Return the total information content of a text's words."""
        if (information := self._text_information.get(text.memory.id)) is None:
            information = self._text_information[text.memory.id] = sum(map(self._information.__getitem__, text.words))
        return information

    def has_name(self, text: _Text) -> bool:
        """Return True if the text contains a rare name.

        This is a name in code or a pull request number.
        """
        return any(
            self.document_frequency[word] <= MAX_NAME_FREQUENCY and is_name(word) for word in text.distinguishing
        )


def _may_merge(memory: Memory) -> bool:
    return describe(memory.kind).merges_duplicates and memory.status is Status.ACTIVE and "." not in memory.id


def _iter_candidates(
    texts: Mapping[str, _Text], rarity: _WordInformation, settled_ids: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield each pair of memories that may be duplicates, once.

    The two memories share rare words or belong to the same commit or pull request. Pairs of two settled memories
    are left out. Nearly every memory from a history belongs to its own commit. It is compared with memories without
    a commit and with others from the same commit, but never with those from a different commit.
    """
    unbound_ids: dict[str, list[str]] = {}  # word → memories without a commit
    bound_ids: dict[str, list[str]] = {}  # word → memories with a commit
    ids_by_commit: dict[str, list[str]] = {}
    for identifier in sorted(texts, key=lambda one: (one not in settled_ids, one)):
        words = sorted(texts[identifier].words, key=lambda word: (rarity.document_frequency[word], word))
        rare = [word for word in words if rarity.document_frequency[word] <= MAX_DOCUMENT_FREQUENCY][
            :MAX_BLOCKING_WORDS
        ]
        rare = rare or [" ".join(words[:COMBINED_WORDS])]
        minimum_shared = max(2 if len(rare) > 2 else 1, math.ceil(0.3 * len(rare)))
        commits = _list_events(texts[identifier].memory)
        if identifier not in settled_ids:
            shared_counts: Counter[str] = Counter()
            for word in rare:
                shared_counts.update(unbound_ids.get(word, ()))
                if not commits:
                    shared_counts.update(bound_ids.get(word, ()))
            frequent = [(other, times) for other, times in shared_counts.items() if times >= minimum_shared]
            near = [other for other, _ in sorted(frequent, key=lambda one: -one[1])[:MAX_COMPARED]]
            peers = {other for commit in commits for other in ids_by_commit.get(commit, ())[:MAX_COMPARED]}
            for other in (*near, *sorted(peers.difference(near))):
                yield other, identifier
        for word in rare:
            (bound_ids if commits else unbound_ids).setdefault(word, []).append(identifier)
        for commit in commits:
            ids_by_commit.setdefault(commit, []).append(identifier)


def _list_events(memory: Memory) -> frozenset[str]:
    """Return the commits and pull requests that a memory is based on."""
    return frozenset(artifact.ref for artifact in memory.artifacts if artifact.type in ("commit", "pr"))


class _PairComparer:
    """Comparer for pairs of texts, which runs cheap and selective checks first."""

    def __init__(self, rarity: _WordInformation, vectors: Mapping[str, bytes]) -> None:
        self._rarity = rarity
        self._vectors = vectors
        self._sentence_cache: dict[str, tuple[Sentence, ...]] = {}

    def are_duplicates(self, one: _Text, other: _Text) -> bool:
        if not _have_same_subject(one.memory, other.memory):
            return False
        return self._are_similar(one, other) and not has_swapped_roles(one.memory, other.memory)

    def _are_similar(self, one: _Text, other: _Text) -> bool:
        min_information = MIN_EPISODE_INFORMATION if one.memory.kind is Kind.EPISODE else 0.0
        if not all(self._is_specific(text, min_information, is_repeated=True) for text in (one, other)):
            return False
        similarity = self._measure_similarity(one, other)
        if similarity < (MIN_WORD_SIMILARITY if self._have_similar_vectors(one, other, similarity) else MIN_SIMILARITY):
            return False
        is_identical = similarity == 1
        return is_identical or all(self._is_specific(text, min_information, is_repeated=False) for text in (one, other))

    def _is_specific(self, text: _Text, min_information: float, *, is_repeated: bool) -> bool:
        """Return True if a text is specific enough to be about one thing only.

        If `is_repeated` is True, the other text has exactly the same words, so less information is enough.
        """
        information = self._rarity.measure_text(text)
        if information >= min_information or not is_repeated:
            return information >= min_information
        return information >= MIN_REPEATED_INFORMATION and (
            text.length >= MIN_REPEATED_WORDS or self._rarity.has_name(text)
        )

    def _have_similar_vectors(self, one: _Text, other: _Text, similarity: float) -> bool:
        """Return True if the vectors of two texts are similar and are needed to decide.

        The vectors are needed if `similarity`, the similarity of the words, is neither high enough nor low enough
        to decide on its own.
        """
        mine, others = (self._vectors.get(text.memory.id) for text in (one, other))
        if mine is None or others is None or not MIN_WORD_SIMILARITY <= similarity < MIN_SIMILARITY:
            return False
        return _compute_cosine(mine, others) >= MIN_SIMILARITY

    def _measure_similarity(self, one: _Text, other: _Text) -> float:
        """Return how well two texts cover each other, from 0 to 1.

        The result is 0 if their distinguishing tokens differ or they have hardly anything in common.
        """
        shorter, longer = sorted((one, other), key=lambda text: (text.length, text.memory.id))
        whole = 0.0
        if one.distinguishing == other.distinguishing:
            whole = _measure_sentence_similarity(
                join_sentences(self._get_sentences(shorter)), join_sentences(self._get_sentences(longer)), self._rarity
            )
        if (
            whole >= MIN_SIMILARITY
            and longer.sentence_count > 1
            and not (self._covers_beginning(one, other) and self._covers_beginning(other, one))
        ):
            return 0.0
        # The common beginning is the subject; the rest may be boilerplate.
        if (
            whole >= MIN_SIMILARITY
            or longer.sentence_count < 2
            or _measure_sentence_similarity(shorter.first_sentence, longer.first_sentence, self._rarity)
            < MIN_WORD_SIMILARITY
        ):
            return whole
        part = _measure_coverage(self._get_sentences(shorter), self._get_sentences(longer), self._rarity)
        is_specific = self._is_specific(shorter, MIN_PART_INFORMATION, is_repeated=part == 1)
        return max(whole, part if is_specific else 0.0)

    def _covers_beginning(self, one: _Text, other: _Text) -> bool:
        """Return True if a sentence of `other` repeats the beginning of `one`.

        Two long texts that differ only in one word of their titles are about different things. A word-for-word match
        also counts, because one of the texts may only lack a full stop.
        """
        words = one.first_sentence.words.items()
        weight = sum(self._rarity.weigh(word) * times for word, times in words)
        return any(
            sum(self._rarity.weigh(word) * min(times, sentence.words.get(word, 0)) for word, times in words)
            >= MIN_SIMILARITY * weight
            for sentence in self._get_sentences(other)
        ) or contains_beginning(one.memory, other.memory)

    def _get_sentences(self, text: _Text) -> tuple[Sentence, ...]:
        sentences = self._sentence_cache.get(text.memory.id)
        if sentences is None:
            if len(self._sentence_cache) >= MAX_CACHED_TEXTS:
                self._sentence_cache.clear()
            sentences = self._sentence_cache[text.memory.id] = parse_sentences(text.memory)
        return sentences


def _have_same_subject(one: Memory, other: Memory) -> bool:
    """Return True if both memories have the same kind, scope and event.

    If both have a key, the keys must be equal too. Two commits are different events, however similar their messages
    are.
    """
    if (one.kind, one.project, one.scope, one.branch) != (other.kind, other.project, other.scope, other.branch):
        return False
    if one.key and other.key and one.key.casefold() != other.key.casefold():
        return False
    mine, others = _list_events(one), _list_events(other)
    return not (mine and others and mine.isdisjoint(others))


def _measure_coverage(shorter: Sequence[Sentence], longer: Sequence[Sentence], rarity: _WordInformation) -> float:
    """Return how well the longer text covers each sentence of the shorter one.

    The result is the lowest similarity of any sentence in the shorter text, from 0 to 1. It is 0 if a sentence is not
    covered or the longer text adds too much.
    """
    uncovered_words, lowest, covered_count = list(longer), 1.0, 0
    for sentence in shorter:
        best = max(
            uncovered_words,
            key=lambda candidate: _measure_sentence_similarity(sentence, candidate, rarity),
            default=None,
        )
        if best is None:
            return 0.0
        if sentence is shorter[0] and best is not longer[0]:
            return 0.0
        lowest = min(lowest, _measure_sentence_similarity(sentence, best, rarity))
        if lowest < MIN_WORD_SIMILARITY:
            return 0.0
        uncovered_words.remove(best)
        covered_count += best.length
    max_added = (
        MAX_ADDED_SHARE
        if all(one.distinguishing <= DISTINGUISHING_WORDS for one in uncovered_words)
        else MAX_ADDED_NAMED_SHARE
    )
    return lowest if covered_count >= (1 - max_added) * sum(one.length for one in longer) else 0.0


def _measure_sentence_similarity(one: Sentence, other: Sentence, rarity: _WordInformation) -> float:
    if one.distinguishing != other.distinguishing:
        return 0.0
    shared_weight = unmatched_weight = 0.0
    mine, others = [], []  # words that one sentence contains more often than the other
    for word, times in one.words.items():
        other_times = other.words.get(word, 0)
        shared_weight += rarity.weigh(word) * min(times, other_times)
        if times > other_times:
            unmatched_weight += rarity.weigh(word) * (times - other_times)
            mine.append(word)
    for word, times in other.words.items():
        own_times = one.words.get(word, 0)
        if times > own_times:
            unmatched_weight += rarity.weigh(word) * (times - own_times)
            others.append(word)
    if one.length + other.length < MIN_LONG_WORDS and not (
        FILLER_WORDS.issuperset(mine) and FILLER_WORDS.issuperset(others)
    ):
        return 0.0  # in a short sentence, one different word changes the meaning
    if FILLER_WORDS.issuperset(mine) or FILLER_WORDS.issuperset(others):  # no word replaces another
        shared_weight += sum(rarity.weigh(word) for word in one.distinguishing if word not in one.words)
    return 2 * shared_weight / (2 * shared_weight + unmatched_weight) if shared_weight else 0.0


def _make_text(memory: Memory) -> _Text:
    sentences = parse_sentences(memory)
    words = {word for sentence in sentences for word in (*sentence.words, *sentence.distinguishing)}
    distinguishing = tuple(sorted({word for sentence in sentences for word in sentence.distinguishing}))
    length = sum(sentence.length for sentence in sentences)
    first_sentence = sentences[0] if sentences else Sentence({}, EMPTY, 0)
    return _Text(memory, tuple(words), distinguishing, length, first_sentence, len(sentences))


def _compute_cosine(one: bytes, other: bytes) -> float:
    a, b = (memoryview(vector).cast("b") for vector in (one, other))
    product = sum(x * y for x, y in zip(a, b, strict=True))
    lengths = math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))
    return product / lengths if lengths else 0.0
