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

from hunchd.consolidation.contradiction_records import close_if_inactive, create_contradiction
from hunchd.consolidation.contradictions.classification import Judgement, combine_with_model, judge_statements
from hunchd.consolidation.contradictions.entailment_cache import EntailmentCache, describe_difference
from hunchd.consolidation.contradictions.statement_parser import parse_clauses
from hunchd.consolidation.plan import ConsolidationStep, PlannedChange
from hunchd.domain.facts import get_source_name, get_valid_from, normalize_key, slot_of
from hunchd.domain.kinds import describe
from hunchd.domain.memory import Kind, Memory, Status, Trust
from hunchd.ingestion.conventions import get_globs, get_part

MAX_CANDIDATES: Final = 20  # candidates of one memory
MIN_MODEL_PROBABILITY: Final = 0.8  # minimum probability of a language model's verdict
# Pairs of one memory that an entailment model reads, first those that the rules oppose. Comparing a new memory with
# 100,000 stays below 50 ms; and of more pairs that merely share a subject, more are misread.
MAX_READ_PAIRS: Final = 2
LIKELY_COMPATIBLE_FACTOR: Final = 0.5  # factor for the priority of a pair that probably agrees
MAX_PER_MEMORY: Final = 3  # contradictions opened for one memory; more are misread
MAX_STATEMENT_CHARACTERS: Final = 500  # characters of a memory that are read as a statement
MIN_STATEMENT_CHARACTERS: Final = 6  # characters
MAX_DOCUMENT_FREQUENCY: Final = 400  # memories: a more frequent word finds no candidates
# Recorded automatically about one moment: does not claim to hold now.
_HISTORY_SOURCES: Final = frozenset({"git", "commit", "signal", "session", "consolidation"})
# Keys read from files that enumerate options and decide nothing.
_LIST_KEYS: Final = frozenset({"run everything", "before a commit", "commands", "ci systems"})
_DIGITS: Final = re.compile(r"\d+")
# Two files of one project seldom contradict each other: of 3,037 pairs of statements in files of fourteen projects none
# did, but nine were reported without this threshold.
MIN_PROBABILITY_OF_FILES: Final = 0.85
_REASONS: Final[Mapping[str, str]] = {
    "versions": "they name versions that exclude each other",
    "value": "they give another value to the same",
    "choice": "they choose something else for the same",
    "order": "one has the order of the other turned around",
    "negation": "one denies what the other says",
    "meaning": "a language model says that they cannot both hold",
}


@dataclass(frozen=True, slots=True)
class ContradictingPair:
    """Pair of memories that cannot both hold; `b` is the newer one."""

    a: Memory
    b: Memory
    judgement: Judgement

    @property
    def ids(self) -> tuple[str, str]:
        """Return the ids of both memories."""
        return self.a.id, self.b.id

    def get_other(self, memory: Memory) -> Memory:
        """Return the other side of the pair."""
        return self.a if self.b.id == memory.id else self.b

    def make_record(self, now: datetime) -> Memory:
        """Return the contradiction as a memory to store."""
        kind = self.judgement.kind
        if kind == "wording":
            reason = describe_difference(extract_statement(self.a), extract_statement(self.b))
        else:
            reason = _REASONS.get(kind, "they cannot both hold")
        return create_contradiction(self.a, self.b, now, reason=reason, confidence=round(self.judgement.probability, 3))


@dataclass(frozen=True, slots=True)
class PairComparison:
    """Result of comparing one memory with its candidates.

    Each pair has the older side first. `contradicting` are contradictions by the rules. `unsettled` are pairs for an
    entailment model: first those that the rules oppose, the most probable first, then the most similar. `explicit` are
    sentences that contradict each other so explicitly that this model is not consulted. `doubtful` is what a language
    model may confirm beyond that, pairs with a word in common first.
    """

    contradicting: tuple[ContradictingPair, ...]
    unsettled_pairs: tuple[tuple[Memory, Memory], ...]
    doubtful: tuple[ContradictingPair, ...] = ()
    explicit: tuple[tuple[Memory, Memory], ...] = ()

    @property
    def freely_worded(self) -> frozenset[tuple[str, str]]:
        """Return the ids of freely worded pairs.

        A language model decides about them.
        """
        return frozenset((a.id, b.id) for a, b in (*self.unsettled_pairs, *self.explicit))

    def apply_probabilities(self, probabilities: Mapping[tuple[str, str], float]) -> list[ContradictingPair]:
        """Return the contradictions given the probabilities, most probable first.

        `probabilities` maps the ids of both sides to what the entailment model has read.
        """
        by_rules = [one for one in self.contradicting if one.ids not in probabilities]
        pairs = [(a, b) for a, b in self.unsettled_pairs if (a.id, b.id) in probabilities]
        by_model = (one for a, b in pairs if (one := judge_with_model(a, b, probabilities[a.id, b.id])) is not None)
        return sorted([*by_rules, *by_model], key=_probability_sort_key)

    def select_contradictions(self, probabilities: Mapping[tuple[str, str], float]) -> list[ContradictingPair]:
        """Return the most probable contradictions by `probabilities`, at most MAX_PER_MEMORY."""
        return select_most_probable(self.apply_probabilities(probabilities))

    def select_for_language_model(self, contradicting: Iterable[ContradictingPair]) -> list[ContradictingPair]:
        """Return the pairs for a language model.

        First freely worded `contradicting` ones, then doubtful ones.
        """
        freely_worded = [one for one in contradicting if one.ids in self.freely_worded]
        sides = {one.ids for one in freely_worded}
        return [*freely_worded, *(one for one in self.doubtful if one.ids not in sides)]

    def exclude_denied(self, is_denied: Callable[[Memory, Memory], bool]) -> PairComparison:
        """Return a copy without freely worded pairs that are denied."""
        excluded_ids = {(a.id, b.id) for a, b in (*self.unsettled_pairs, *self.explicit) if is_denied(a, b)}
        return replace(
            self,
            contradicting=tuple(one for one in self.contradicting if one.ids not in excluded_ids),
            unsettled_pairs=tuple((a, b) for a, b in self.unsettled_pairs if (a.id, b.id) not in excluded_ids),
        )


def is_statement(memory: Memory) -> bool:
    """Return True if a memory states that something holds now."""
    if not describe(memory.kind).states_claims or memory.status is not Status.ACTIVE or "." in memory.id:
        return False
    if memory.key in _LIST_KEYS and memory.trust is not Trust.USER:
        return False
    if memory.kind is Kind.EPISODE and (
        memory.trust is not Trust.USER
        or str(memory.source.get("type")) in _HISTORY_SOURCES
        or any(artifact.type in ("commit", "pr") for artifact in memory.artifacts)
    ):
        return False
    return len(extract_statement(memory)) >= MIN_STATEMENT_CHARACTERS


def extract_statement(memory: Memory) -> str:
    """Return the text of a memory that is compared, at most MAX_STATEMENT_CHARACTERS."""
    text = memory.content[:MAX_STATEMENT_CHARACTERS]
    if memory.category == "instruction":  # their keys are generated
        return text
    if memory.key and memory.value and normalize_key(memory.key) not in text.casefold():
        return f"{memory.key}: {memory.value}"
    return text


def _is_entry(memory: Memory) -> bool:
    """Return True if a memory is only a key with a value."""
    return bool(memory.key) and extract_statement(memory).casefold().startswith(f"{memory.key}:".casefold())


def _are_entries_of_two_keys(one: Memory, other: Memory) -> bool:
    """Return True if both come from files under different keys.

    Example: "java: 8" and "ci java: 17, 21".
    """
    return (
        Trust.USER not in (one.trust, other.trust)
        and _is_entry(one)
        and _is_entry(other)
        and normalize_key(one.key or "") != normalize_key(other.key or "")
    )


def _differ_in_number_only(one: Memory, other: Memory) -> bool:
    """Return True if the keys differ in a number only.

    Example: "port of worker 1", "port of worker 2".
    """
    mine, others = normalize_key(one.key or ""), normalize_key(other.key or "")
    return mine != others and _DIGITS.sub("#", mine) == _DIGITS.sub("#", others)


def _apply_to_different_files(one: Memory, other: Memory) -> bool:
    """Return True if both are instructions for different files.

    The narrower one is the exception to the other.
    """
    if not one.category == other.category == "instruction":
        return False
    return (get_part(one), get_globs(one)) != (get_part(other), get_globs(other))


def may_contradict(one: Memory, other: Memory) -> bool:
    """Return True if two memories overlap but differ in key.

    They overlap in scope and time. Memories of one key are settled by the rule of one value for a key.
    """
    if one.id == other.id or one.project != other.project or one.scope is not other.scope:
        return False
    if one.branch != other.branch or not _overlap_in_time(one, other):
        return False
    place = slot_of(one)
    if place is not None and place == slot_of(other):
        return False
    return not (_have_one_source(one, other) or _apply_to_different_files(one, other) or _are_linked(one, other))


def _have_one_source(one: Memory, other: Memory) -> bool:
    """Return True if both come from one file, session or history.

    These do not contradict themselves. Statements that people and agents made in spring may exclude today's.
    """
    if one.trust is Trust.USER or get_source_name(one) != get_source_name(other):
        return False
    if one.source.get("path"):
        return True
    said_by = one.source.get("type") or "client"
    return said_by != "client" and not (said_by == "session" and one.source["session"] != other.source["session"])


def is_eligible_pair(memory: Memory, other: Memory) -> bool:
    """Return True if a language model may be asked whether both hold.

    Pairs that the rules exclude are left out.
    """
    if not is_statement(other) or not may_contradict(memory, other):
        return False
    return not _are_entries_of_two_keys(memory, other) and not _differ_in_number_only(memory, other)


def score_relatedness(one: Memory, other: Memory, similarity: float | None) -> float:
    """Return a score for how likely two statements are about the same.

    It is the cosine of their vectors plus half the share of common words. If `similarity` is None (no vector), it is
    estimated from the share of common words.
    """
    words, others = extract_index_terms(one), extract_index_terms(other)
    common_share = len(words & others) / max(len(words | others), 1)
    return (0.25 + 0.9 * common_share if similarity is None else similarity) + 0.5 * common_share


def compare_with_candidates(memory: Memory, candidates: Iterable[Memory]) -> PairComparison:
    """Compare a memory with each of `candidates` by the rules."""
    contradicting: list[ContradictingPair] = []
    unsettled_pairs: list[_UnsettledPair] = []
    explicit: list[tuple[Memory, Memory]] = []
    words = extract_index_terms(memory)
    for other in candidates:
        if not is_eligible_pair(memory, other):
            continue
        a, b = sort_by_age(memory, other)
        judgement = judge_statements(extract_statement(a), extract_statement(b))
        if judgement.kind == "negation" and not words & extract_index_terms(
            other
        ):  # the denial is about something else
            continue
        if _is_contradiction(a, b, judgement):
            contradicting.append(ContradictingPair(a, b, judgement))
            if not judgement.is_open and judgement.kind != "versions" and not (_is_entry(a) or _is_entry(b)):
                explicit.append((a, b))
        if judgement.is_open:
            others = extract_index_terms(other)
            unsettled_pairs.append(_UnsettledPair(a, b, judgement, len(words & others) / max(len(words | others), 1)))
    freely_worded = sorted((one for one in unsettled_pairs if one.is_freely_worded), key=_UnsettledPair.sort_key)
    doubtful = sorted((one for one in unsettled_pairs if one.is_doubtful), key=lambda one: not one.common_share)
    return PairComparison(
        tuple(contradicting),
        tuple((one.a, one.b) for one in freely_worded),
        tuple(make_model_contradiction(one.a, one.b) for one in doubtful),
        tuple(explicit),
    )


@dataclass(frozen=True, slots=True)
class _UnsettledPair:
    """Pair that the rules do not settle."""

    a: Memory
    b: Memory
    judgement: Judgement
    common_share: float  # share of words in common

    @property
    def is_freely_worded(self) -> bool:
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
        if not self.common_share:
            return self.is_freely_worded and Trust.USER in (self.a.trust, self.b.trust)
        return self.is_freely_worded or not self.judgement.contradicts

    def sort_key(self) -> tuple[float, float, str, str]:
        """Return the sort key of the pair in the reading order."""
        rule_probability = self.judgement.probability if self.judgement.contradicts else 0.0
        similarity = self.common_share * (LIKELY_COMPATIBLE_FACTOR if self.judgement.likely_compatible else 1.0)
        return -rule_probability, -similarity, self.a.id, self.b.id


def _is_contradiction(a: Memory, b: Memory, judgement: Judgement) -> bool:
    from_files = all(one.trust in (Trust.PROJECT, Trust.UNTRUSTED) for one in (a, b))
    return judgement.contradicts and (not from_files or judgement.probability >= MIN_PROBABILITY_OF_FILES)


def select_most_probable(pairs: Iterable[ContradictingPair]) -> list[ContradictingPair]:
    """Return the MAX_PER_MEMORY most probable pairs, most probable first.

    More contradictions of one memory are probably misread.
    """
    return sorted(pairs, key=_probability_sort_key)[:MAX_PER_MEMORY]


def _probability_sort_key(one: ContradictingPair) -> tuple[float, str, str]:
    return -one.judgement.probability, one.a.id, one.b.id


def judge_with_model(a: Memory, b: Memory, probability: float | None) -> ContradictingPair | None:
    """Judge a pair by the rules and an entailment model.

    Returns None if there is no contradiction. `b` is the newer one; a `probability` of None: no model has read the
    pair.
    """
    judgement = combine_with_model(judge_statements(extract_statement(a), extract_statement(b)), probability)
    return ContradictingPair(a, b, judgement) if _is_contradiction(a, b, judgement) else None


def make_model_contradiction(a: Memory, b: Memory) -> ContradictingPair:
    """Return a pair that a language model calls contradictory.

    `b` is the newer one.
    """
    return ContradictingPair(a, b, Judgement(MIN_MODEL_PROBABILITY, "meaning"))


def apply_verdicts(
    contradicting: Iterable[ContradictingPair],
    freely_worded: Sequence[ContradictingPair],
    verdict: Callable[[Memory, Memory], bool | None],
) -> list[ContradictingPair]:
    """Apply the verdicts of a language model about the `freely_worded` pairs.

    A `verdict` of None means that the model has none: then the pair stays as in `contradicting`. Pairs that it denies
    are dropped.
    """
    verdicts = {one.ids: verdict(one.a, one.b) for one in freely_worded}
    undecided_pairs = [one for one in contradicting if verdicts.get(one.ids) is None]
    return [*select_most_probable(undecided_pairs), *(_confirm(one) for one in freely_worded if verdicts[one.ids])]


def _confirm(one: ContradictingPair) -> ContradictingPair:
    """Return the pair with a probability of at least MIN_MODEL_PROBABILITY.

    Its reason stays.
    """
    probability = max(one.judgement.probability, MIN_MODEL_PROBABILITY)
    return replace(one, judgement=replace(one.judgement, probability=probability))


class StatementIndex:
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
        for word in extract_index_terms(memory):
            self._postings.setdefault(word, []).append(memory.id)

    def find_candidates(self, memory: Memory, limit: int = MAX_CANDIDATES) -> list[Memory]:
        """Return at most `limit` statements about the same, most similar first."""
        scores: dict[str, float] = {}
        count = max(len(self._memories), 1)
        for word in sorted(extract_index_terms(memory), key=lambda one: len(self._postings.get(one, ()))):
            postings = self._postings.get(word, ())
            if len(postings) > MAX_DOCUMENT_FREQUENCY and scores:
                break
            weight = math.log(1 + count / max(len(postings), 1))
            for identifier in postings[-MAX_DOCUMENT_FREQUENCY:]:
                scores[identifier] = scores.get(identifier, 0.0) + weight
        scores.pop(memory.id, None)
        best = sorted(scores.items(), key=lambda one: (-one[1], one[0]))[:limit]
        return [self._memories[identifier] for identifier, _ in best]


def extract_index_terms(memory: Memory) -> frozenset[str]:
    """Return the stems, classes and key that index a statement."""
    index_terms: set[str] = set()
    for clause in parse_clauses(extract_statement(memory)):
        index_terms |= clause.stems | {f"kind {kind}" for kind, _ in clause.choices}
    if memory.key:
        index_terms |= {f"key {normalize_key(memory.key)}"}
    return frozenset(index_terms)


def make_search_query(memory: Memory) -> str:
    """Return the search query that finds memories which may contradict this one."""
    return " ".join(re.findall(r"[\w./@-]+", f"{memory.key or ''} {extract_statement(memory)}")[:40])


def plan_contradictions(
    memories: Mapping[str, Memory],
    now: datetime,
    *,
    since_run: datetime | None = None,
    cache: EntailmentCache | None = None,
    is_denied: Callable[[Memory, Memory], bool] | None = None,
) -> Iterator[PlannedChange]:
    """Plan records of new contradictions, and close those that no longer apply.

    A pair that was recorded before is not recorded again. With `since_run`, only pairs with a memory changed after it
    are compared. With a `cache`, a pair that the rules leave open is judged by its cached probability, or queued for
    reading. Freely worded pairs for which `is_denied` is true are skipped.
    """
    for record in [memory for memory in memories.values() if memory.kind is Kind.CONTRADICTION]:
        if (closed_record := close_if_inactive(record, dict(memories), now)) is not None:
            why = str(closed_record.source["note"])
            what = f"close a contradiction: {record.content[:160]}"
            yield PlannedChange(
                ConsolidationStep.CONTRADICTIONS, "contradictions_closed", what, why, (record,), (closed_record,)
            )
    statements = [memory for memory in memories.values() if is_statement(memory)]
    index = StatementIndex(statements)
    recorded_contradictions = {memory.id for memory in memories.values() if memory.kind is Kind.CONTRADICTION}
    for memory in statements:
        if since_run is not None and memory.updated <= since_run:
            continue
        comparison = compare_with_candidates(memory, index.find_candidates(memory))
        if is_denied is not None:
            comparison = comparison.exclude_denied(is_denied)
        probabilities = _look_up_probabilities(comparison, cache) if cache is not None else {}
        unread = {names for names, probability in probabilities.items() if probability is None}
        contradicting = comparison.select_contradictions(
            {names: one for names, one in probabilities.items() if one is not None}
        )
        for one in contradicting:
            record = one.make_record(now)
            if record.id not in recorded_contradictions and one.ids not in unread:
                recorded_contradictions.add(record.id)
                yield plan_opening(record)


def _look_up_probabilities(comparison: PairComparison, cache: EntailmentCache) -> dict[tuple[str, str], float | None]:
    """Return the cached probabilities by the ids of both sides.

    None: to be read now.
    """
    return {
        (a.id, b.id): cache.get(a, b, extract_statement(a), extract_statement(b))
        for a, b in comparison.unsettled_pairs[:MAX_READ_PAIRS]
    }


def plan_newly_read(
    cache: EntailmentCache, probabilities: Mapping[str, float | None], memories: Mapping[str, Memory], now: datetime
) -> Iterator[PlannedChange]:
    """Plan a record for each pair that was read and contradicts.

    `probabilities` maps pair names to probabilities; None: it could not be read, then the rules decide.
    """
    opened_counts: Counter[str] = Counter()
    pairs = ((cache.record(name, probability), probability) for name, probability in probabilities.items())
    contradicting = [
        one
        for pair, probability in pairs
        if pair is not None and (one := judge_with_model(*pair, probability)) is not None
    ]
    for one in sorted(contradicting, key=_probability_sort_key):
        record = one.make_record(now)
        if record.id not in memories and max(opened_counts[one.a.id], opened_counts[one.b.id]) < MAX_PER_MEMORY:
            opened_counts.update((one.a.id, one.b.id))
            yield plan_opening(record)


def plan_opening(record: Memory) -> PlannedChange:
    """Return the planned change that opens a contradiction."""
    what = f"open a contradiction: {record.content[:160]}"
    return PlannedChange(
        ConsolidationStep.CONTRADICTIONS, "contradictions_found", what, str(record.source["reason"]), (), (record,)
    )


def sort_by_age(one: Memory, other: Memory) -> tuple[Memory, Memory]:
    """Return both memories, the older one first."""
    older, newer = sorted((one, other), key=lambda memory: (get_valid_from(memory), memory.created, memory.id))
    return older, newer


def _overlap_in_time(one: Memory, other: Memory) -> bool:
    ends, others_end = one.valid_to, other.valid_to
    return (ends is None or ends > get_valid_from(other)) and (others_end is None or others_end > get_valid_from(one))


def _are_linked(one: Memory, other: Memory) -> bool:
    """Return True if one replaced the other or is linked to it."""
    names = {one.supersedes, one.superseded_by, *(link.get("ref") for link in one.links)}
    others = {other.supersedes, other.superseded_by, *(link.get("ref") for link in other.links)}
    return other.id in names or one.id in others
