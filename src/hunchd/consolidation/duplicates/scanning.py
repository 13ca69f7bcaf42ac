"""Search for duplicates by rare words and similarity.

Duplicates have a similarity of at least .92 and the same subject. Pure functions. Two texts are compared sentence by
sentence, with abbreviations expanded, synonyms unified, and without case, punctuation, markup, order and git trailers.
Distinguishing tokens must be equal on both sides: numbers, versions, names of code, denials, the part of a project, and
what stands on which side of "instead of" or "from … to …". An additional sentence does no harm, an additional name
does.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hunchd.consolidation.contradictions.opposites import OPPOSITES
from hunchd.consolidation.contradictions.patterns import FUTURE, PAST
from hunchd.consolidation.duplicates.reading import (
    NOTHING,
    Sentence,
    forget,
    is_begun_in,
    is_name,
    joined,
    scope_of,
    sentences_of,
    turned_round,
)
from hunchd.consolidation.duplicates.words import TELLING, WEAK
from hunchd.domain.memory import Kind, Memory, Status

LEAST: Final = 0.92  # minimum similarity of duplicates about one subject
# Minimum if the vectors agree: these know synonyms that no table has.
LEAST_IN_WORDS: Final = 0.8
LEAST_TOLD_OF_PART: Final = 1.8  # minimum information if only a part of the longer text is covered
SHORT: Final = 14  # words of two texts together; or of one that is repeated verbatim
MOST_ADDED: Final = 0.6  # maximum share of added sentences in the longer text
MOST_ADDED_BY_NAME: Final = 0.3  # the same if those contain names or numbers
LEAST_TOLD: Final = 1.65  # minimum information of an episode: "add missing changelog entry" is said of many things
# Less is enough if both have exactly the same words, and either this many or a name that few memories contain.
LEAST_TOLD_AGAIN: Final = 1.0
LEAST_WORDS_AGAIN: Final = 6
NAMED_BY: Final = 3  # memories
RAREST: Final = 10  # words by which candidates of a memory are searched
COMMON: Final = 300  # memories: a more frequent word finds no candidates
TOGETHER: Final = 4  # its rarest words, joined, for a memory without rare ones
MOST_COMPARED: Final = 60  # candidates of one memory
MOST_READ: Final = 4_000  # texts whose sentences are cached
_KINDS: Final = frozenset({Kind.FACT, Kind.EPISODE, Kind.WORKFLOW})
_SAYS_LITTLE: Final = WEAK | TELLING | {"previous", "commit"}  # words that do not tell two memories apart


@dataclass(frozen=True, slots=True)
class _Text:
    """Compact form of a memory's text.

    Its sentences are parsed again for the few word-by-word comparisons. Its sentences are parsed again for the few
    word-by-word comparisons.
    """

    memory: Memory
    words: tuple[str, ...]  # unique
    telling: tuple[str, ...]  # unique and sorted: a small set takes several times the memory
    length: int
    begins: Sentence
    parts: int  # sentences


def same_groups(
    memories: Mapping[str, Memory],
    vectors: Mapping[str, bytes] | None = None,
    *,
    settled: Collection[str] = (),
    least: float = LEAST,
) -> list[list[str]]:
    """Group the ids of memories that say the same.

    Each id is in one group at most. Each id is in one group at most. `vectors` (signed bytes, by id) recognise wordings
    that no table knows. Two of the `settled_ids` are not compared again.
    """
    texts = {one.id: _text_of(one) for one in memories.values() if _may_merge(one)}
    rarity = _Rarity(texts.values())
    comparing = _Comparing(rarity, vectors or {}, least)
    found: dict[str, list[str]] = {}
    taken: dict[str, str] = {}
    for first, second in _candidates(texts, rarity, settled):
        lead = taken.get(first, first)
        if second in taken or second in found:
            continue
        group = found.get(lead, [lead])
        # Compare with all of a group: low-information texts would join memories that have nothing else in common.
        if all(comparing.same(texts[one], texts[second]) for one in group):
            found[lead] = [*group, second]
            taken[second] = taken[lead] = lead
    forget()
    return list(found.values())


class _Rarity:
    """Information content of words by document frequency, from 0 to 1."""

    def __init__(self, texts: Collection[_Text]) -> None:
        self.count: Counter[str] = Counter()
        for text in texts:
            self.count.update(text.words)
        every = len(texts)
        most = math.log(2 + every)
        told = {times: math.log((2 + every) / (1 + times)) / most for times in {0, *self.count.values()}}
        self._told = {word: 0.0 if word in _SAYS_LITTLE else told[times] for word, times in self.count.items()}
        self._of_text: dict[str, tuple[float, float]] = {}

    def of(self, word: str) -> float:
        if word in WEAK:
            return 0.1
        return max(0.25, self._told[word])

    def told(self, words: Collection[str]) -> float:
        """Return the information of several words; words of most texts add nothing."""
        return sum(map(self._told.__getitem__, words))

    def of_text(self, text: _Text) -> tuple[float, float]:
        """Return the information and the weight of all words of a text."""
        found = self._of_text.get(text.memory.id)
        if found is None:
            found = self._of_text[text.memory.id] = (self.told(text.words), sum(map(self.of, text.words)))
        return found

    def has_name(self, text: _Text) -> bool:
        """Return True if the text has a name that few others have.

        The name is of code or a pull request.
        """
        return any(self.count[word] <= NAMED_BY and is_name(word) for word in text.telling)


def _may_merge(memory: Memory) -> bool:
    return memory.kind in _KINDS and memory.status is Status.ACTIVE and "." not in memory.id


def _candidates(texts: Mapping[str, _Text], rarity: _Rarity, settled: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield each pair that may be duplicates, once.

    Both share rare words and may be of one event. Pairs of two settled memories are left out. Nearly all memories of a
    history belong to a commit of their own: these are compared with memories of none, and with others of the same
    commit, never with each other.
    """
    loose: dict[str, list[str]] = {}  # word → memories without a commit
    bound: dict[str, list[str]] = {}  # word → memories of a commit
    of_commit: dict[str, list[str]] = {}
    for identifier in sorted(texts, key=lambda one: (one not in settled, one)):
        words = sorted(texts[identifier].words, key=lambda word: (rarity.count[word], word))
        rare = [word for word in words if rarity.count[word] <= COMMON][:RAREST]
        rare = rare or [" ".join(words[:TOGETHER])]
        needed = max(2 if len(rare) > 2 else 1, math.ceil(0.3 * len(rare)))
        commits = _commits(texts[identifier].memory)
        if identifier not in settled:
            shared: Counter[str] = Counter()
            for word in rare:
                shared.update(loose.get(word, ()))
                if not commits:
                    shared.update(bound.get(word, ()))
            often = [(other, times) for other, times in shared.items() if times >= needed]
            near = [other for other, _ in sorted(often, key=lambda one: -one[1])[:MOST_COMPARED]]
            peers = {other for commit in commits for other in of_commit.get(commit, ())[:MOST_COMPARED]}
            for other in (*near, *sorted(peers.difference(near))):
                yield other, identifier
        for word in rare:
            (bound if commits else loose).setdefault(word, []).append(identifier)
        for commit in commits:
            of_commit.setdefault(commit, []).append(identifier)


def _commits(memory: Memory) -> frozenset[str]:
    """Return the events of a memory: commits and pull requests."""
    return frozenset(artifact.ref for artifact in memory.artifacts if artifact.type in ("commit", "pr"))


class _Comparing:
    """Comparison of pairs; cheap and selective checks come first."""

    def __init__(self, rarity: _Rarity, vectors: Mapping[str, bytes], least: float) -> None:
        self._rarity = rarity
        self._vectors = vectors
        self._least = least
        self._read: dict[str, tuple[Sentence, ...]] = {}
        self._words: tuple[str, frozenset[str]] = ("", frozenset())  # of the last compared text

    def same(self, one: _Text, other: _Text) -> bool:
        if not _same_subject(one.memory, other.memory):
            return False
        # Texts this long are not repeated by chance.
        alike = self._is_said_again(one, other) or self._are_alike(one, other)
        return alike and self._have_one_scope(one, other) and not turned_round(one.memory, other.memory)

    def _are_alike(self, one: _Text, other: _Text) -> bool:
        least = LEAST_TOLD if one.memory.kind is Kind.EPISODE else 0.0
        if not all(self._says_enough(text, least, again=True) for text in (one, other)):
            return False
        similarity = self._similarity(one, other)
        if similarity < (LEAST_IN_WORDS if self._mean_the_same(one, other, similarity) else self._least):
            return False
        again = similarity == 1
        return again or all(self._says_enough(text, least, again=False) for text in (one, other))

    def _have_one_scope(self, one: _Text, other: _Text) -> bool:
        """Return False if equal titles concern two parts of a project."""
        mine, others = scope_of(one.memory), scope_of(other.memory)
        if mine == others or not (mine and others):
            return True
        return _alike(one.begins, other.begins, self._rarity) < LEAST_IN_WORDS

    def _is_said_again(self, one: _Text, other: _Text) -> bool:
        alike = one.length == other.length >= SHORT and one.telling == other.telling and one.begins == other.begins
        return alike and self._sentences(one) == self._sentences(other)

    def _says_enough(self, text: _Text, least: float, *, again: bool) -> bool:
        """Return True if a text can only be about one thing.

        `is_repeated`: the other text has exactly the same words, so less is enough.
        """
        told = self._rarity.of_text(text)[0]
        if told >= least or not again:
            return told >= least
        return told >= LEAST_TOLD_AGAIN and (text.length >= LEAST_WORDS_AGAIN or self._rarity.has_name(text))

    def _mean_the_same(self, one: _Text, other: _Text, similarity: float) -> bool:
        """Return True if the vectors are similar, where that decides."""
        mine, others = (self._vectors.get(text.memory.id) for text in (one, other))
        if mine is None or others is None or not LEAST_IN_WORDS <= similarity < self._least:
            return False
        return _cosine(mine, others) >= LEAST

    def _similarity(self, one: _Text, other: _Text) -> float:
        """Return the mutual coverage of two texts, from 0 to 1.

        It is 0 if distinguishing tokens differ or hardly anything is shared.
        """
        shorter, longer = sorted((one, other), key=lambda text: (text.length, text.memory.id))
        whole = 0.0
        if one.telling == other.telling and self._highest(one, other) >= LEAST_IN_WORDS:
            whole = _alike(joined(self._sentences(shorter)), joined(self._sentences(longer)), self._rarity)
        if whole >= LEAST and longer.parts > 1 and not (self._begins_in(one, other) and self._begins_in(other, one)):
            return 0.0
        # The common beginning is the subject; the rest may be boilerplate.
        if whole >= LEAST or longer.parts < 2 or _alike(shorter.begins, longer.begins, self._rarity) < LEAST_IN_WORDS:
            return whole
        part = _part_of(self._sentences(shorter), self._sentences(longer), self._rarity)
        enough = self._says_enough(shorter, LEAST_TOLD_OF_PART, again=part == 1)
        return max(whole, part if enough else 0.0)

    def _begins_in(self, one: _Text, other: _Text) -> bool:
        """Return True if one sentence of `other` says what `one` begins with.

        Two long texts that differ only in a word of their titles are about two things. A match word by word counts too,
        where only a full stop is missing.
        """
        words = one.begins.words.items()
        weight = sum(self._rarity.of(word) * times for word, times in words)
        return any(
            sum(self._rarity.of(word) * min(times, sentence.words.get(word, 0)) for word, times in words)
            >= LEAST * weight
            for sentence in self._sentences(other)
        ) or is_begun_in(one.memory, other.memory)

    def _highest(self, one: _Text, other: _Text) -> float:
        """Return an upper bound of the similarity.

        It is computed from the sets of words, without their counts.
        """
        if self._words[0] != other.memory.id:
            self._words = (other.memory.id, frozenset(other.words))
        there = self._words[1]
        weights = self._rarity.of_text(one)[1] + self._rarity.of_text(other)[1]
        shared = sum(self._rarity.of(word) for word in one.words if word in there)
        again = max(0, min(one.length - len(one.words), other.length - len(other.words)))  # repeated words
        said = weights + 2 * again
        return 2 * (shared + again) / said if said else 0.0  # a text of punctuation has no words

    def _sentences(self, text: _Text) -> tuple[Sentence, ...]:
        found = self._read.get(text.memory.id)
        if found is None:
            if len(self._read) >= MOST_READ:
                self._read.clear()
            found = self._read[text.memory.id] = sentences_of(text.memory)
        return found


def _same_subject(one: Memory, other: Memory) -> bool:
    """Return True if both have the same kind, scope and event.

    Two commits are two events, however similar their messages are.
    """
    if (one.kind, one.project, one.scope, one.branch) != (other.kind, other.project, other.scope, other.branch):
        return False
    if one.key and other.key and one.key.casefold() != other.key.casefold():
        return False
    if one.kind is Kind.FACT and _when(one) != _when(other):  # past or present
        return False
    mine, others = _commits(one), _commits(other)
    return not (mine and others and mine.isdisjoint(others))


def _when(memory: Memory) -> tuple[bool, bool]:
    return PAST.search(memory.content) is not None, FUTURE.search(memory.content) is not None


def _part_of(shorter: Sequence[Sentence], longer: Sequence[Sentence], rarity: _Rarity) -> float:
    """Return how well the longer text covers each sentence of the shorter one."""
    free, least, covered = list(longer), 1.0, 0
    for sentence in shorter:
        best = max(free, key=lambda candidate: _alike(sentence, candidate, rarity), default=None)
        if best is None:
            return 0.0
        if sentence is shorter[0] and best is not longer[0]:
            return 0.0
        least = min(least, _alike(sentence, best, rarity))
        if least < LEAST_IN_WORDS:
            return 0.0
        free.remove(best)
        covered += best.length
    if any(one.goes_on and not TELLING.issuperset(one.words) for one in free):  # more than "fixes #4133"
        return 0.0
    added = MOST_ADDED if all(one.telling <= TELLING for one in free) else MOST_ADDED_BY_NAME
    return least if covered >= (1 - added) * sum(one.length for one in longer) else 0.0


def _alike(one: Sentence, other: Sentence, rarity: _Rarity) -> float:
    if one.telling != other.telling:
        return 0.0
    shared = left = 0.0
    mine, others = [], []  # words that one of them contains more often
    for word, times in one.words.items():
        again = other.words.get(word, 0)
        shared += rarity.of(word) * min(times, again)
        if times > again:
            left += rarity.of(word) * (times - again)
            mine.append(word)
    for word, times in other.words.items():
        once = one.words.get(word, 0)
        if times > once:
            left += rarity.of(word) * (times - once)
            others.append(word)
    if any(OPPOSITES.get(word) in others for word in mine) or any(OPPOSITES.get(word) in mine for word in others):
        return 0.0
    if one.length + other.length < SHORT and not (WEAK.issuperset(mine) and WEAK.issuperset(others)):
        return 0.0  # in a short sentence one different word means another thing
    if WEAK.issuperset(mine) or WEAK.issuperset(others):  # no word replaces another
        shared += sum(rarity.of(word) for word in one.telling if word not in one.words)
    return 2 * shared / (2 * shared + left) if shared else 0.0


def _text_of(memory: Memory) -> _Text:
    sentences = sentences_of(memory)
    words = {word for sentence in sentences for word in (*sentence.words, *sentence.telling)}
    telling = tuple(sorted({word for sentence in sentences for word in sentence.telling}))
    length = sum(sentence.length for sentence in sentences)
    begins = sentences[0] if sentences else Sentence({}, NOTHING, 0)
    return _Text(memory, tuple(words), telling, length, begins, len(sentences))


def _cosine(one: bytes, other: bytes) -> float:
    a, b = (memoryview(vector).cast("b") for vector in (one, other))
    product = sum(x * y for x, y in zip(a, b, strict=True))
    lengths = math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))
    return product / lengths if lengths else 0.0
