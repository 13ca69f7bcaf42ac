"""Which memories contradict each other: candidates by the words and names they share, judged pair by pair. Pure.

What has one place and one value is no matter for this: there the newer claim takes the place of the older one. Here two
memories of different places, or of none, say what cannot both hold.
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

CANDIDATES: Final = 20  # of one memory
SAID_BY_MODEL: Final = 0.8  # how sure we are of what a language model says, at least
# Pairs of one memory that a model reads, those first that the rules oppose. A look at a new memory among 100,000 stays
# below 50 ms; and the more pairs are read that only speak of the same, the more are misread.
MOST_READ: Final = 2
LIKELY_BOTH: Final = 0.5  # how much less likely such a pair is worth reading as one that is as alike
MOST_OF_ONE: Final = 3  # contradictions opened for one memory: what opposes more is misread
STATEMENT: Final = 500  # characters of a memory that are read as a statement
SHORTEST: Final = 6  # characters
COMMON: Final = 400  # memories: a word of more of them finds nothing
# Told by a machine about one moment: what it says is not said to hold now.
_OF_HISTORY: Final = frozenset({"git", "commit", "signal", "session", "consolidation"})
_KINDS: Final = frozenset({Kind.FACT, Kind.EPISODE})
# Entries read in files that list what else there is, and decide nothing.
_LISTS: Final = frozenset({"run everything", "before a commit", "commands", "ci systems"})
_DIGITS: Final = re.compile(r"\d+")
# Two files of one project seldom oppose each other: of 3,037 pairs of what those of fourteen projects state, not one
# did, and nine were called opposed before.
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
    """A pair that cannot both hold; `b` is the newer one."""

    a: Memory
    b: Memory
    judgement: Judgement

    @property
    def sides(self) -> tuple[str, str]:
        """The ids of both."""
        return self.a.id, self.b.id

    def beside(self, memory: Memory) -> Memory:
        """The other side."""
        return self.a if self.b.id == memory.id else self.b

    def record(self, now: datetime) -> Memory:
        """The contradiction as it is kept."""
        kind = self.judgement.kind
        if kind == "wording":
            reason = differing(statement(self.a), statement(self.b))
        else:
            reason = _REASONS.get(kind, "they cannot both hold")
        return conflict_of(self.a, self.b, now, reason=reason, confidence=round(self.judgement.probability, 3))


@dataclass(frozen=True, slots=True)
class Look:
    """What a memory contradicts by the rules, and the pairs about which a model is heard as well, older side first:
    those that the rules oppose, the surest first, then the likest. `told_outright` are sentences that oppose each other
    so plainly that this model is not heard. `doubtful` is what a language model may say beyond that, pairs with a word
    in common first, as it stands if it says so."""

    opposed: tuple[Opposition, ...]
    open: tuple[tuple[Memory, Memory], ...]
    doubtful: tuple[Opposition, ...] = ()
    told_outright: tuple[tuple[Memory, Memory], ...] = ()

    @property
    def free(self) -> frozenset[tuple[str, str]]:
        """What is worded freely, by the ids of both sides: a language model's verdict on it decides."""
        return frozenset((a.id, b.id) for a, b in (*self.open, *self.told_outright))

    def told(self, said: Mapping[tuple[str, str], float]) -> list[Opposition]:
        """What is contradicted when `said`, by the ids of both sides, was read; the surest first."""
        by_rules = [one for one in self.opposed if one.sides not in said]
        pairs = [(a, b) for a, b in self.open if (a.id, b.id) in said]
        as_read = (one for a, b in pairs if (one := read(a, b, said[a.id, b.id])) is not None)
        return sorted([*by_rules, *as_read], key=_surest_first)

    def as_read(self, said: Mapping[tuple[str, str], float]) -> list[Opposition]:
        """The same, and not more than are likely to be read rightly."""
        return surest(self.told(said))

    def for_judge(self, told: Iterable[Opposition]) -> list[Opposition]:
        """What a language model decides about, of what is `told` first: whatever is worded freely."""
        opened = [one for one in told if one.sides in self.free]
        sides = {one.sides for one in opened}
        return [*opened, *(one for one in self.doubtful if one.sides not in sides)]

    def without(self, denied: Callable[[Memory, Memory], bool]) -> Look:
        """The same but for what is worded freely and `denied`."""
        gone = {(a.id, b.id) for a, b in (*self.open, *self.told_outright) if denied(a, b)}
        return replace(
            self,
            opposed=tuple(one for one in self.opposed if one.sides not in gone),
            open=tuple((a, b) for a, b in self.open if (a.id, b.id) not in gone),
        )


def states(memory: Memory) -> bool:
    """Whether a memory says that something holds now."""
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
    """What a memory says, as far as it is read."""
    text = memory.content[:STATEMENT]
    if memory.category == "instruction":  # whose key is made up
        return text
    if memory.key and memory.value and normal_key(memory.key) not in text.casefold():
        return f"{memory.key}: {memory.value}"
    return text


def _is_entry(memory: Memory) -> bool:
    """Whether a memory says a key and its value, and no sentence about it."""
    return bool(memory.key) and statement(memory).casefold().startswith(f"{memory.key}:".casefold())


def _are_entries_of_two_keys(one: Memory, other: Memory) -> bool:
    """Whether both were read in files under keys that are not the same: "java: 8" and "ci java: 17, 21"."""
    return (
        Trust.USER not in (one.trust, other.trust)
        and _is_entry(one)
        and _is_entry(other)
        and normal_key(one.key or "") != normal_key(other.key or "")
    )


def _are_two_of_a_number(one: Memory, other: Memory) -> bool:
    """Whether their keys name two of many things, "port of worker 1" and "port of worker 2"."""
    mine, others = normal_key(one.key or ""), normal_key(other.key or "")
    return mine != others and _DIGITS.sub("#", mine) == _DIGITS.sub("#", others)


def _are_for_other_files(one: Memory, other: Memory) -> bool:
    """Whether both are instructions that files give, each for other files: the narrower one is the exception."""
    if not one.category == other.category == "instruction":
        return False
    return (part_of(one), globs_of(one)) != (part_of(other), globs_of(other))


def may_oppose(one: Memory, other: Memory) -> bool:
    """Whether two memories speak of the same scope and time, and are not settled by the rule of one value a key."""
    if one.id == other.id or one.project != other.project or one.scope is not other.scope:
        return False
    if one.branch != other.branch or not _overlap(one, other):
        return False
    place = place_of(one)
    if place is not None and place == place_of(other):
        return False
    return not (_are_of_one_piece(one, other) or _are_for_other_files(one, other) or _linked(one, other))


def _are_of_one_piece(one: Memory, other: Memory) -> bool:
    """Whether both stand in one file, were said in one session, or are the history: these do not contradict themselves.
    What people and agents said in spring may exclude what they say today."""
    if one.trust is Trust.USER or voice_of(one) != voice_of(other):
        return False
    if one.source.get("path"):
        return True
    said_by = one.source.get("type") or "client"
    return said_by != "client" and not (said_by == "session" and one.source["session"] != other.source["session"])


def may_be_asked(memory: Memory, other: Memory) -> bool:
    """Whether somebody who understands both may be asked if both hold: what the rules rule out is not left out."""
    if not states(other) or not may_oppose(memory, other):
        return False
    return not _are_entries_of_two_keys(memory, other) and not _are_two_of_a_number(memory, other)


def nearness(one: Memory, other: Memory, similarity: float | None) -> float:
    """How likely two statements speak of the same: the cosine of what they mean, and by half their words. Where no
    vector is known, what is usual for as many words in common stands in for it."""
    words, others = words_of(one), words_of(other)
    alike = len(words & others) / max(len(words | others), 1)
    return (0.25 + 0.9 * alike if similarity is None else similarity) + 0.5 * alike


def held_against(memory: Memory, candidates: Iterable[Memory]) -> Look:
    """What the rules say of a memory beside each of `candidates`."""
    opposed: list[Opposition] = []
    open_ones: list[_Open] = []
    told_outright: list[tuple[Memory, Memory]] = []
    words = words_of(memory)
    for other in candidates:
        if not may_be_asked(memory, other):
            continue
        a, b = in_order(memory, other)
        judgement = judged(statement(a), statement(b))
        if judgement.kind == "negation" and not words & words_of(other):  # what is denied is not what is said
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
    """A pair that the rules do not settle."""

    a: Memory
    b: Memory
    judgement: Judgement
    alike: float  # the share of their words that both have

    @property
    def is_free(self) -> bool:
        """Whether both are sentences. What stands in a manifest, "tests: pytest", is none: a model that reads sentences
        sees things in it."""
        return not (_is_entry(self.a) or _is_entry(self.b))

    @property
    def is_doubtful(self) -> bool:
        """Whether a language model may see more in it. Who says something may have other words for the same; what two
        files say without a word in common is not worth the price of a question."""
        if not self.alike:
            return self.is_free and Trust.USER in (self.a.trust, self.b.trust)
        return self.is_free or not self.judgement.contradicts

    def place(self) -> tuple[float, float, str, str]:
        """Where it stands among those to be read."""
        sure = self.judgement.probability if self.judgement.contradicts else 0.0
        alike = self.alike * (LIKELY_BOTH if self.judgement.likely_both else 1.0)
        return -sure, -alike, self.a.id, self.b.id


def _oppose(a: Memory, b: Memory, judgement: Judgement) -> bool:
    of_files = all(one.trust in (Trust.PROJECT, Trust.UNTRUSTED) for one in (a, b))
    return judgement.contradicts and (not of_files or judgement.probability >= SURE_OF_FILES)


def surest(found: Iterable[Opposition]) -> list[Opposition]:
    """The surest first; not more of one memory than are likely to be read rightly."""
    return sorted(found, key=_surest_first)[:MOST_OF_ONE]


def _surest_first(one: Opposition) -> tuple[float, str, str]:
    return -one.judgement.probability, one.a.id, one.b.id


def read(a: Memory, b: Memory, probability: float | None) -> Opposition | None:
    """A pair by the rules and by a model that has read it, None: it has not; `b` is the newer one."""
    judgement = with_reading(judged(statement(a), statement(b)), probability)
    return Opposition(a, b, judgement) if _oppose(a, b, judgement) else None


def told_by_model(a: Memory, b: Memory) -> Opposition:
    """A pair of which a language model says that both cannot hold; `b` is the newer one."""
    return Opposition(a, b, Judgement(SAID_BY_MODEL, "meaning"))


def as_judged(
    told: Iterable[Opposition], free: Sequence[Opposition], verdict: Callable[[Memory, Memory], bool | None]
) -> list[Opposition]:
    """What is contradicted, when a language model has a `verdict` about pairs that are `free`, None: it has none. Of
    what is `told`, what it denies is none; what it has not decided about is as told."""
    said = {one.sides: verdict(one.a, one.b) for one in free}
    undecided = [one for one in told if said.get(one.sides) is None]
    return [*surest(undecided), *(_confirmed(one) for one in free if said[one.sides])]


def _confirmed(one: Opposition) -> Opposition:
    """The same for the same reason, and at least as sure as what a language model alone says."""
    sure = max(one.judgement.probability, SAID_BY_MODEL)
    return replace(one, judgement=replace(one.judgement, probability=sure))


class Statements:
    """The statements of one owner, found by the words and names that they share."""

    def __init__(self, memories: Iterable[Memory] = ()) -> None:
        self._memories: dict[str, Memory] = {}
        self._postings: dict[str, list[str]] = {}
        for memory in memories:
            self.add(memory)

    def __len__(self) -> int:
        return len(self._memories)

    def add(self, memory: Memory) -> None:
        """Take in a memory that `states` something."""
        self._memories[memory.id] = memory
        for word in words_of(memory):
            self._postings.setdefault(word, []).append(memory.id)

    def near(self, memory: Memory, most: int = CANDIDATES) -> list[Memory]:
        """What says something about the same, the nearest first."""
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
    """The stems by which a statement is looked for: of what it speaks of and what it chooses, and its key."""
    found: set[str] = set()
    for clause in clauses_of(statement(memory)):
        found |= clause.stems | {f"kind {kind}" for kind, _ in clause.chosen}
    if memory.key:
        found |= {f"key {normal_key(memory.key)}"}
    return frozenset(found)


def question_for(memory: Memory) -> str:
    """The words by which a search finds what may contradict a memory."""
    return " ".join(re.findall(r"[\w./@-]+", f"{memory.key or ''} {statement(memory)}")[:40])


def contradictions(
    memories: Mapping[str, Memory],
    now: datetime,
    *,
    since_run: datetime | None = None,
    readings: Readings | None = None,
    denied: Callable[[Memory, Memory], bool] | None = None,
) -> Iterator[Planned]:
    """A record for each pair that contradicts each other and was never asked about; with `since_run`, of pairs of which
    one was changed after it. What was open and is no question any more is closed. With `readings` a pair that the rules
    leave open is what was read of it, or is noted there to be read. What is worded freely and `denied` is neither."""
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
    """What was read in other nights, by the ids of both sides; None: it is to be read in this one."""
    return {(a.id, b.id): readings.of(a, b, statement(a), statement(b)) for a, b in look.open[:MOST_READ]}


def newly_read(
    readings: Readings, said: Mapping[str, float | None], memories: Mapping[str, Memory], now: datetime
) -> Iterator[Planned]:
    """A record for each pair that was read as one that cannot hold, or that could not be read (None) and is opposed by
    the rules. `said` is by the names of pairs to be read."""
    opened: Counter[str] = Counter()
    pairs = ((readings.take(name, probability), probability) for name, probability in said.items())
    found = [one for pair, probability in pairs if pair is not None and (one := read(*pair, probability)) is not None]
    for one in sorted(found, key=_surest_first):
        record = one.record(now)
        if record.id not in memories and max(opened[one.a.id], opened[one.b.id]) < MOST_OF_ONE:
            opened.update((one.a.id, one.b.id))
            yield planned(record)


def planned(record: Memory) -> Planned:
    """The opening of a contradiction, as a run makes it."""
    what = f"open a contradiction: {record.content[:160]}"
    return Planned(Step.CONTRADICTIONS, "contradictions_found", what, str(record.source["reason"]), (), (record,))


def in_order(one: Memory, other: Memory) -> tuple[Memory, Memory]:
    older, newer = sorted((one, other), key=lambda memory: (since(memory), memory.created, memory.id))
    return older, newer


def _overlap(one: Memory, other: Memory) -> bool:
    ends, others_end = one.valid_to, other.valid_to
    return (ends is None or ends > since(other)) and (others_end is None or others_end > since(one))


def _linked(one: Memory, other: Memory) -> bool:
    """Whether one took the place of the other, or is a part of it."""
    names = {one.supersedes, one.superseded_by, *(link.get("ref") for link in one.links)}
    others = {other.supersedes, other.superseded_by, *(link.get("ref") for link in other.links)}
    return other.id in names or one.id in others
