"""Search for contradicting memories.

Candidates share words or names; each pair is judged. Pure functions. Facts with the same key and scope are not compared
here: there the newer claim replaces the older one. This module compares memories of different keys, or of none.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from hunchd.consolidation.conflicts import conflict_of, ended
from hunchd.consolidation.contradictions.judging import Judgement, judged, with_reading
from hunchd.consolidation.contradictions.reading import clauses_of
from hunchd.consolidation.contradictions.readings import Readings, differing
from hunchd.consolidation.plan import Planned, Step
from hunchd.domain.facts import normal_key, place_of, since, voice_of
from hunchd.domain.memory import Kind, Memory, Status, Trust
from hunchd.ingestion.conventions import globs_of, part_of

CANDIDATES: Final = 20  # candidates of one memory
SAID_BY_MODEL: Final = 0.8  # minimum probability of a language model's verdict
# Pairs of one memory that an entailment model reads, first those that the rules oppose. Comparing a new memory with
# 100,000 stays below 50 ms; and of more pairs that merely share a subject, more are misread.
MOST_READ: Final = 2
LIKELY_BOTH: Final = 0.5  # factor for the priority of a pair that probably agrees
MOST_OF_ONE: Final = 3  # contradictions opened for one memory; more are misread
STATEMENT: Final = 500  # characters of a memory that are read as a statement
SHORTEST: Final = 6  # characters
COMMON: Final = 400  # memories: a more frequent word finds no candidates
# Recorded automatically about one moment: does not claim to hold now.
_OF_HISTORY: Final = frozenset({"git", "commit", "signal", "session", "consolidation"})
_KINDS: Final = frozenset({Kind.FACT, Kind.EPISODE})
# Keys read from files that enumerate options and decide nothing.
_LISTS: Final = frozenset({"run everything", "before a commit", "commands", "ci systems"})
_DIGITS: Final = re.compile(r"\d+")
# Two files of one project seldom contradict each other: of 3,037 pairs of statements in files of fourteen projects none
# did, but nine were reported without this threshold.
SURE_OF_FILES: Final = 0.85
_REASONS: Final[Mapping[str, str]] = {
    "versions": "they name versions that exclude each other",
    "value": "they give another value to the same",
    "choice": "they choose something else for the same",
    "order": "one has the order of the other turned around",
    "negation": "one denies what the other says",
    "meaning": "a language model says that they cannot both hold",
}


@dataclass(frozen=True, slots=True)
class Opposition:
    """Pair of memories that cannot both hold; `b` is the newer one."""

    a: Memory
    b: Memory
    judgement: Judgement

    @property
    def sides(self) -> tuple[str, str]:
        """Return the ids of both memories."""
        return self.a.id, self.b.id

    def beside(self, memory: Memory) -> Memory:
        """Return the other side of the pair."""
        return self.a if self.b.id == memory.id else self.b

    def record(self, now: datetime) -> Memory:
        """Return the contradiction as a memory to store."""
        kind = self.judgement.kind
        if kind == "wording":
            reason = differing(statement(self.a), statement(self.b))
        else:
            reason = _REASONS.get(kind, "they cannot both hold")
        return conflict_of(self.a, self.b, now, reason=reason, confidence=round(self.judgement.probability, 3))


@dataclass(frozen=True, slots=True)
class Look:
    """Result of comparing one memory with its candidates.

    Each pair has the older side first. `contradicting` are contradictions by the rules. `unsettled` are pairs for an
    entailment model: first those that the rules oppose, the most probable first, then the most similar. `explicit` are
    sentences that contradict each other so explicitly that this model is not consulted. `doubtful` is what a language
    model may confirm beyond that, pairs with a word in common first.
    """

    opposed: tuple[Opposition, ...]
    open: tuple[tuple[Memory, Memory], ...]
    doubtful: tuple[Opposition, ...] = ()
    told_outright: tuple[tuple[Memory, Memory], ...] = ()

    @property
    def free(self) -> frozenset[tuple[str, str]]:
        """Return the ids of freely worded pairs.

        A language model decides about them.
        """
        return frozenset((a.id, b.id) for a, b in (*self.open, *self.told_outright))

    def told(self, said: Mapping[tuple[str, str], float]) -> list[Opposition]:
        """Return the contradictions given the probabilities, most probable first.

        `probabilities` maps the ids of both sides to what the entailment model has read.
        """
        by_rules = [one for one in self.opposed if one.sides not in said]
        pairs = [(a, b) for a, b in self.open if (a.id, b.id) in said]
        as_read = (one for a, b in pairs if (one := read(a, b, said[a.id, b.id])) is not None)
        return sorted([*by_rules, *as_read], key=_surest_first)

    def as_read(self, said: Mapping[tuple[str, str], float]) -> list[Opposition]:
        """Return the most probable contradictions by `probabilities`, at most MAX_PER_MEMORY."""
        return surest(self.told(said))

    def for_judge(self, told: Iterable[Opposition]) -> list[Opposition]:
        """Return the pairs for a language model.

        First freely worded `contradicting` ones, then doubtful ones.
        """
        opened = [one for one in told if one.sides in self.free]
        sides = {one.sides for one in opened}
        return [*opened, *(one for one in self.doubtful if one.sides not in sides)]

    def without(self, denied: Callable[[Memory, Memory], bool]) -> Look:
        """Return a copy without freely worded pairs that are denied."""
        gone = {(a.id, b.id) for a, b in (*self.open, *self.told_outright) if denied(a, b)}
        return replace(
            self,
            opposed=tuple(one for one in self.opposed if one.sides not in gone),
            open=tuple((a, b) for a, b in self.open if (a.id, b.id) not in gone),
        )


def states(memory: Memory) -> bool:
    """Return True if a memory states that something holds now."""
    if memory.kind not in _KINDS or memory.status is not Status.ACTIVE or "." in memory.id:
        return False
    if memory.key in _LISTS and memory.trust is not Trust.USER:
        return False
    if memory.kind is Kind.EPISODE and (
        memory.trust is not Trust.USER
        or str(memory.source.get("type")) in _OF_HISTORY
        or any(artifact.type in ("commit", "pr") for artifact in memory.artifacts)
    ):
        return False
    return len(statement(memory)) >= SHORTEST


def statement(memory: Memory) -> str:
    """Return the text of a memory that is compared, at most MAX_STATEMENT_CHARACTERS."""
    text = memory.content[:STATEMENT]
    if memory.category == "instruction":  # their keys are generated
        return text
    if memory.key and memory.value and normal_key(memory.key) not in text.casefold():
        return f"{memory.key}: {memory.value}"
    return text


def _is_entry(memory: Memory) -> bool:
    """Return True if a memory is only a key with a value."""
    return bool(memory.key) and statement(memory).casefold().startswith(f"{memory.key}:".casefold())


def _are_entries_of_two_keys(one: Memory, other: Memory) -> bool:
    """Return True if both come from files under different keys.

    Example: "java: 8" and "ci java: 17, 21".
    """
    return (
        Trust.USER not in (one.trust, other.trust)
        and _is_entry(one)
        and _is_entry(other)
        and normal_key(one.key or "") != normal_key(other.key or "")
    )


def _are_two_of_a_number(one: Memory, other: Memory) -> bool:
    """Return True if the keys differ in a number only.

    Example: "port of worker 1", "port of worker 2".
    """
    mine, others = normal_key(one.key or ""), normal_key(other.key or "")
    return mine != others and _DIGITS.sub("#", mine) == _DIGITS.sub("#", others)


def _are_for_other_files(one: Memory, other: Memory) -> bool:
    """Return True if both are instructions for different files.

    The narrower one is the exception to the other.
    """
    if not one.category == other.category == "instruction":
        return False
    return (part_of(one), globs_of(one)) != (part_of(other), globs_of(other))


def may_oppose(one: Memory, other: Memory) -> bool:
    """Return True if two memories overlap but differ in key.

    They overlap in scope and time. Memories of one key are settled by the rule of one value for a key.
    """
    if one.id == other.id or one.project != other.project or one.scope is not other.scope:
        return False
    if one.branch != other.branch or not _overlap(one, other):
        return False
    place = place_of(one)
    if place is not None and place == place_of(other):
        return False
    return not (_are_of_one_piece(one, other) or _are_for_other_files(one, other) or _linked(one, other))


def _are_of_one_piece(one: Memory, other: Memory) -> bool:
    """Return True if both come from one file, session or history.

    These do not contradict themselves. Statements that people and agents made in spring may exclude today's.
    """
    if one.trust is Trust.USER or voice_of(one) != voice_of(other):
        return False
    if one.source.get("path"):
        return True
    said_by = one.source.get("type") or "client"
    return said_by != "client" and not (said_by == "session" and one.source["session"] != other.source["session"])


def may_be_asked(memory: Memory, other: Memory) -> bool:
    """Return True if a language model may be asked whether both hold.

    Pairs that the rules exclude are left out.
    """
    if not states(other) or not may_oppose(memory, other):
        return False
    return not _are_entries_of_two_keys(memory, other) and not _are_two_of_a_number(memory, other)


def nearness(one: Memory, other: Memory, similarity: float | None) -> float:
    """Return a score for how likely two statements are about the same.

    It is the cosine of their vectors plus half the share of common words. If `similarity` is None (no vector), it is
    estimated from the share of common words.
    """
    words, others = words_of(one), words_of(other)
    alike = len(words & others) / max(len(words | others), 1)
    return (0.25 + 0.9 * alike if similarity is None else similarity) + 0.5 * alike


def held_against(memory: Memory, candidates: Iterable[Memory]) -> Look:
    """Compare a memory with each of `candidates` by the rules."""
    opposed: list[Opposition] = []
    open_ones: list[_Open] = []
    told_outright: list[tuple[Memory, Memory]] = []
    words = words_of(memory)
    for other in candidates:
        if not may_be_asked(memory, other):
            continue
        a, b = in_order(memory, other)
        judgement = judged(statement(a), statement(b))
        if judgement.kind == "negation" and not words & words_of(other):  # the denial is about something else
            continue
        if _oppose(a, b, judgement):
            opposed.append(Opposition(a, b, judgement))
            if not judgement.is_open and judgement.kind != "versions" and not (_is_entry(a) or _is_entry(b)):
                told_outright.append((a, b))
        if judgement.is_open:
            others = words_of(other)
            open_ones.append(_Open(a, b, judgement, len(words & others) / max(len(words | others), 1)))
    free = sorted((one for one in open_ones if one.is_free), key=_Open.place)
    doubtful = sorted((one for one in open_ones if one.is_doubtful), key=lambda one: not one.alike)
    return Look(
        tuple(opposed),
        tuple((one.a, one.b) for one in free),
        tuple(told_by_model(one.a, one.b) for one in doubtful),
        tuple(told_outright),
    )


@dataclass(frozen=True, slots=True)
class _Open:
    """Pair that the rules do not settle."""

    a: Memory
    b: Memory
    judgement: Judgement
    alike: float  # share of words in common

    @property
    def is_free(self) -> bool:
        """Return True if both are sentences.

        An entry of a manifest, such as "tests: pytest", is none: an entailment model misreads it.
        """
        return not (_is_entry(self.a) or _is_entry(self.b))

    @property
    def is_doubtful(self) -> bool:
        """Return True if a language model may find more than the rules.

        A user may use other words for the same thing; two files without a word in common are not worth the price of a
        question.
        """
        if not self.alike:
            return self.is_free and Trust.USER in (self.a.trust, self.b.trust)
        return self.is_free or not self.judgement.contradicts

    def place(self) -> tuple[float, float, str, str]:
        """Return the sort key of the pair in the reading order."""
        sure = self.judgement.probability if self.judgement.contradicts else 0.0
        alike = self.alike * (LIKELY_BOTH if self.judgement.likely_both else 1.0)
        return -sure, -alike, self.a.id, self.b.id


def _oppose(a: Memory, b: Memory, judgement: Judgement) -> bool:
    of_files = all(one.trust in (Trust.PROJECT, Trust.UNTRUSTED) for one in (a, b))
    return judgement.contradicts and (not of_files or judgement.probability >= SURE_OF_FILES)


def surest(found: Iterable[Opposition]) -> list[Opposition]:
    """Return the MAX_PER_MEMORY most probable pairs, most probable first.

    More contradictions of one memory are probably misread.
    """
    return sorted(found, key=_surest_first)[:MOST_OF_ONE]


def _surest_first(one: Opposition) -> tuple[float, str, str]:
    return -one.judgement.probability, one.a.id, one.b.id


def read(a: Memory, b: Memory, probability: float | None) -> Opposition | None:
    """Judge a pair by the rules and an entailment model.

    Returns None if there is no contradiction. `b` is the newer one; a `probability` of None: no model has read the
    pair.
    """
    judgement = with_reading(judged(statement(a), statement(b)), probability)
    return Opposition(a, b, judgement) if _oppose(a, b, judgement) else None


def told_by_model(a: Memory, b: Memory) -> Opposition:
    """Return a pair that a language model calls contradictory.

    `b` is the newer one.
    """
    return Opposition(a, b, Judgement(SAID_BY_MODEL, "meaning"))


def as_judged(
    told: Iterable[Opposition], free: Sequence[Opposition], verdict: Callable[[Memory, Memory], bool | None]
) -> list[Opposition]:
    """Apply the verdicts of a language model about the `freely_worded` pairs.

    A `verdict` of None means that the model has none: then the pair stays as in `contradicting`. Pairs that it denies
    are dropped.
    """
    said = {one.sides: verdict(one.a, one.b) for one in free}
    undecided = [one for one in told if said.get(one.sides) is None]
    return [*surest(undecided), *(_confirmed(one) for one in free if said[one.sides])]


def _confirmed(one: Opposition) -> Opposition:
    """Return the pair with a probability of at least MIN_MODEL_PROBABILITY.

    Its reason stays.
    """
    sure = max(one.judgement.probability, SAID_BY_MODEL)
    return replace(one, judgement=replace(one.judgement, probability=sure))


class Statements:
    """Inverted index of the statements of one owner, by words and names."""

    def __init__(self, memories: Iterable[Memory] = ()) -> None:
        self._memories: dict[str, Memory] = {}
        self._postings: dict[str, list[str]] = {}
        for memory in memories:
            self.add(memory)

    def __len__(self) -> int:
        return len(self._memories)

    def add(self, memory: Memory) -> None:
        """Add a memory for which `is_statement` is true."""
        self._memories[memory.id] = memory
        for word in words_of(memory):
            self._postings.setdefault(word, []).append(memory.id)

    def near(self, memory: Memory, most: int = CANDIDATES) -> list[Memory]:
        """Return at most `limit` statements about the same, most similar first."""
        scores: dict[str, float] = {}
        count = max(len(self._memories), 1)
        for word in sorted(words_of(memory), key=lambda one: len(self._postings.get(one, ()))):
            postings = self._postings.get(word, ())
            if len(postings) > COMMON and scores:
                break
            weight = math.log(1 + count / max(len(postings), 1))
            for identifier in postings[-COMMON:]:
                scores[identifier] = scores.get(identifier, 0.0) + weight
        scores.pop(memory.id, None)
        best = sorted(scores.items(), key=lambda one: (-one[1], one[0]))[:most]
        return [self._memories[identifier] for identifier, _ in best]


def words_of(memory: Memory) -> frozenset[str]:
    """Return the stems, classes and key that index a statement."""
    found: set[str] = set()
    for clause in clauses_of(statement(memory)):
        found |= clause.stems | {f"kind {kind}" for kind, _ in clause.chosen}
    if memory.key:
        found |= {f"key {normal_key(memory.key)}"}
    return frozenset(found)


def question_for(memory: Memory) -> str:
    """Return the search query that finds memories which may contradict this one."""
    return " ".join(re.findall(r"[\w./@-]+", f"{memory.key or ''} {statement(memory)}")[:40])


def contradictions(
    memories: Mapping[str, Memory],
    now: datetime,
    *,
    since_run: datetime | None = None,
    readings: Readings | None = None,
    denied: Callable[[Memory, Memory], bool] | None = None,
) -> Iterator[Planned]:
    """Plan records of new contradictions, and close those that no longer apply.

    A pair that was recorded before is not recorded again. With `since_run`, only pairs with a memory changed after it
    are compared. With a `cache`, a pair that the rules leave open is judged by its cached probability, or queued for
    reading. Freely worded pairs for which `is_denied` is true are skipped.
    """
    for record in [memory for memory in memories.values() if memory.kind is Kind.CONTRADICTION]:
        if (closed := ended(record, dict(memories), now)) is not None:
            why = str(closed.source["note"])
            what = f"close a contradiction: {record.content[:160]}"
            yield Planned(Step.CONTRADICTIONS, "contradictions_closed", what, why, (record,), (closed,))
    stating = [memory for memory in memories.values() if states(memory)]
    known = Statements(stating)
    asked = {memory.id for memory in memories.values() if memory.kind is Kind.CONTRADICTION}
    for memory in stating:
        if since_run is not None and memory.updated <= since_run:
            continue
        look = held_against(memory, known.near(memory))
        if denied is not None:
            look = look.without(denied)
        said = _read_before(look, readings) if readings is not None else {}
        waiting = {names for names, probability in said.items() if probability is None}
        found = look.as_read({names: one for names, one in said.items() if one is not None})
        for one in found:
            record = one.record(now)
            if record.id not in asked and one.sides not in waiting:
                asked.add(record.id)
                yield planned(record)


def _read_before(look: Look, readings: Readings) -> dict[tuple[str, str], float | None]:
    """Return the cached probabilities by the ids of both sides.

    None: to be read now.
    """
    return {(a.id, b.id): readings.of(a, b, statement(a), statement(b)) for a, b in look.open[:MOST_READ]}


def newly_read(
    readings: Readings, said: Mapping[str, float | None], memories: Mapping[str, Memory], now: datetime
) -> Iterator[Planned]:
    """Plan a record for each pair that was read and contradicts.

    `probabilities` maps pair names to probabilities; None: it could not be read, then the rules decide.
    """
    opened: Counter[str] = Counter()
    pairs = ((readings.take(name, probability), probability) for name, probability in said.items())
    found = [one for pair, probability in pairs if pair is not None and (one := read(*pair, probability)) is not None]
    for one in sorted(found, key=_surest_first):
        record = one.record(now)
        if record.id not in memories and max(opened[one.a.id], opened[one.b.id]) < MOST_OF_ONE:
            opened.update((one.a.id, one.b.id))
            yield planned(record)


def planned(record: Memory) -> Planned:
    """Return the planned change that opens a contradiction."""
    what = f"open a contradiction: {record.content[:160]}"
    return Planned(Step.CONTRADICTIONS, "contradictions_found", what, str(record.source["reason"]), (), (record,))


def in_order(one: Memory, other: Memory) -> tuple[Memory, Memory]:
    """Return both memories, the older one first."""
    older, newer = sorted((one, other), key=lambda memory: (since(memory), memory.created, memory.id))
    return older, newer


def _overlap(one: Memory, other: Memory) -> bool:
    ends, others_end = one.valid_to, other.valid_to
    return (ends is None or ends > since(other)) and (others_end is None or others_end > since(one))


def _linked(one: Memory, other: Memory) -> bool:
    """Return True if one replaced the other or is linked to it."""
    names = {one.supersedes, one.superseded_by, *(link.get("ref") for link in one.links)}
    others = {other.supersedes, other.superseded_by, *(link.get("ref") for link in other.links)}
    return other.id in names or one.id in others
