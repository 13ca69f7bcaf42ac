"""Search for memories that contradict each other.

Memories that share words are candidates. Pairs of version requirements are compared exactly; all other pairs are
left for a model to judge. Until the model has judged a pair, the pair is called unread. All functions in this
module are pure.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import permutations
from typing import Final

from hunchd.consolidation.contradiction_records import (
    close_if_outdated,
    create_contradiction,
    needs_no_question,
    parse_sides,
)
from hunchd.consolidation.contradictions.entailment_cache import EntailmentCache, describe_difference
from hunchd.consolidation.contradictions.requirements import compare_requirements
from hunchd.consolidation.contradictions.statements import (
    extract_statement,
    extract_words,
    is_eligible_pair,
    is_statement,
    nearly_repeats,
    repeats,
    score_relatedness,
    sort_by_age,
)
from hunchd.consolidation.plan import ConsolidationStep, PlannedChange
from hunchd.domain.memory import Kind, Memory, Status, Trust

MAX_CANDIDATES: Final = 20  # maximum candidates for one memory
# Minimum probability to open a contradiction. A needless question costs a person's time. Of 204 contradictions in
# thirteen projects and the ninth set, 156 are rated so and 9 others; from .55 on, 160 and 13.
MIN_PROBABILITY: Final = 0.65
MIN_FURTHER_PROBABILITY: Final = (
    0.97  # for a memory's second and third contradiction: a memory usually ends only one statement
)
# Two files of one project seldom contradict each other: none of 3,037 pairs of statements in fourteen projects did.
MIN_PROBABILITY_OF_FILES: Final = 0.97
MIN_PROBABILITY_OF_FILE: Final = 0.85  # of a statement and a file, whose commands and lists are easily misread
MIN_CONFIRMED_PROBABILITY: Final = 0.8  # minimum probability of a contradiction that a language model confirms
MAX_READ_PAIRS: Final = 4  # pairs that the model judges for one memory, most related first; 8 ms each
MAX_PER_MEMORY: Final = 3  # contradictions opened for one memory; with more, the memory was probably misread
MAX_DOCUMENT_FREQUENCY: Final = 400  # memories; a word in more of them finds no candidates
_REASONS: Final[Mapping[str, str]] = {
    "versions": "they name versions that exclude each other",
    "meaning": "a language model says that they cannot both hold",
}


@dataclass(frozen=True, slots=True)
class ContradictingPair:
    """Pair of memories that cannot both hold; `b` is the newer one.

    `kind` states how the contradiction was found: by exact comparison ("versions"), by the entailment model on this
    machine ("wording"), or by a language model ("meaning").
    """

    a: Memory
    b: Memory
    probability: float
    kind: str

    @property
    def ids(self) -> tuple[str, str]:
        """Return the ids of both memories."""
        return self.a.id, self.b.id

    def get_other(self, memory: Memory) -> Memory:
        """Return the memory of the pair that is not `memory`."""
        return self.a if self.b.id == memory.id else self.b

    def make_record(self, now: datetime) -> Memory:
        """Return the contradiction's record as a memory to store."""
        reason = _REASONS.get(self.kind) or describe_difference(extract_statement(self.a), extract_statement(self.b))
        return create_contradiction(self.a, self.b, now, reason=reason, confidence=round(self.probability, 3))


@dataclass(frozen=True, slots=True)
class PairComparison:
    """Result of comparing one memory with its candidates.

    `exact` are contradictions between version requirements, found without a model. `unread` are the remaining pairs,
    which a model has yet to judge, most closely related first; in each pair, the older memory comes first.
    """

    exact: tuple[ContradictingPair, ...] = ()
    unread: tuple[tuple[Memory, Memory], ...] = ()

    def apply_probabilities(self, probabilities: Mapping[tuple[str, str], float]) -> list[ContradictingPair]:
        """Return the contradictions, most probable first.

        `probabilities` maps the ids of both memories to the probability that they contradict each other. Unread pairs
        without a probability are left out.
        """
        read = [judge_pair(a, b, probabilities[a.id, b.id]) for a, b in self.unread if (a.id, b.id) in probabilities]
        return sorted([*self.exact, *(one for one in read if one is not None)], key=_probability_sort_key)

    def select_contradictions(self, probabilities: Mapping[tuple[str, str], float]) -> list[ContradictingPair]:
        """Return at most MAX_PER_MEMORY contradictions, most probable first.

        `probabilities` has the same form as for `apply_probabilities`.
        """
        return select_most_probable(self.apply_probabilities(probabilities))

    def select_for_language_model(self, contradicting: Iterable[ContradictingPair]) -> list[ContradictingPair]:
        """Return the pairs to ask a language model about, the `contradicting` ones first.

        The remaining unread pairs follow. A pair is left out if neither memory is the user's own and the two have
        no word in common, because asking about such a pair is not worth the cost.
        """
        freely_worded = [one for one in contradicting if one.kind != "versions"]
        known_ids = {one.ids for one in freely_worded}
        others = [
            ContradictingPair(a, b, MIN_CONFIRMED_PROBABILITY, "meaning")
            for a, b in self.unread
            if (a.id, b.id) not in known_ids
            and (Trust.USER in (a.trust, b.trust) or extract_words(a) & extract_words(b))
        ]
        return [*freely_worded, *others]

    def exclude_denied(self, is_denied: Callable[[Memory, Memory], bool]) -> PairComparison:
        """Return a copy without the pairs that a language model has judged compatible.

        `is_denied` returns True for such a pair.
        """
        return replace(self, unread=tuple((a, b) for a, b in self.unread if not is_denied(a, b)))


def compare_with_candidates(
    memory: Memory, candidates: Iterable[Memory], similarities: Mapping[str, float | None] | None = None
) -> PairComparison:
    """Compare a memory with its `candidates`.

    `similarities` maps the ids of the candidates to cosine similarities. A statement that repeats an older one opens
    no contradiction, because the older one has already been compared. Among candidates that repeat each other, only
    the most closely related one is compared.
    """
    similarities = similarities or {}
    eligible = [one for one in candidates if is_eligible_pair(memory, one)]
    if any(sort_by_age(memory, one)[1] is memory and repeats(memory, one) for one in eligible):
        return PairComparison()
    eligible.sort(key=lambda one: (-score_relatedness(memory, one, similarities.get(one.id)), one.id))
    distinct: list[Memory] = []
    for one in eligible:
        if not any(repeats(one, other) or nearly_repeats(one, other) for other in distinct):
            distinct.append(one)
    exact: list[ContradictingPair] = []
    unread: list[tuple[Memory, Memory]] = []
    for other in distinct:
        a, b = sort_by_age(memory, other)
        match compare_requirements(extract_statement(a), extract_statement(b)):
            case True:
                exact.append(ContradictingPair(a, b, 1.0, "versions"))
            case None:
                unread.append((a, b))
    return PairComparison(tuple(exact), tuple(unread))


def judge_pair(a: Memory, b: Memory, probability: float) -> ContradictingPair | None:
    """Return the pair as a contradiction if it is probable enough, otherwise None.

    `b` is the newer memory, and `probability` is the entailment model's estimate. For each memory from a file, a higher
    probability is needed.
    """
    from_files = sum(one.trust in (Trust.PROJECT, Trust.UNTRUSTED) for one in (a, b))
    if probability < (MIN_PROBABILITY, MIN_PROBABILITY_OF_FILE, MIN_PROBABILITY_OF_FILES)[from_files]:
        return None
    return ContradictingPair(a, b, probability, "wording")


def select_most_probable(pairs: Iterable[ContradictingPair]) -> list[ContradictingPair]:
    """Select the most probable pair, and further pairs that are nearly certain.

    Returns at most MAX_PER_MEMORY pairs. If one memory seems to contradict more than that, the model probably
    misread it.
    """
    candidates = sorted(pairs, key=_probability_sort_key)[:MAX_PER_MEMORY]
    return candidates[:1] + [one for one in candidates[1:] if one.probability >= MIN_FURTHER_PROBABILITY]


def repeats_recorded(pair: ContradictingPair, records: Iterable[Memory]) -> bool:
    """Return True if a recorded contradiction has one memory of the pair, and says nearly the same as the other.

    A contradiction that was resolved in favour of one side is news if the other is stated again.
    """
    for record in records:
        if record.status is not Status.ACTIVE and record.source.get("resolution") != "both_valid":
            continue
        for one, other in permutations(parse_sides(record)):
            if one.id in pair.ids and nearly_repeats(other, pair.get_other(one)):
                return True
    return False


def _probability_sort_key(one: ContradictingPair) -> tuple[float, str, str]:
    return -one.probability, one.a.id, one.b.id


def apply_verdicts(
    contradicting: Iterable[ContradictingPair],
    freely_worded: Sequence[ContradictingPair],
    verdict: Callable[[Memory, Memory], bool | None],
) -> list[ContradictingPair]:
    """Return `contradicting`, corrected by a language model's verdicts on the `freely_worded` pairs.

    A pair that `verdict` confirms is included, and a pair that it rejects is left out. If `verdict` returns None,
    the model has no verdict; the pair is then included only if it is in `contradicting` and `select_most_probable`
    selects it.
    """
    verdicts = {one.ids: verdict(one.a, one.b) for one in freely_worded}
    undecided_pairs = [one for one in contradicting if verdicts.get(one.ids) is None]
    return [*select_most_probable(undecided_pairs), *(_confirm(one) for one in freely_worded if verdicts[one.ids])]


def _confirm(one: ContradictingPair) -> ContradictingPair:
    """Return the pair with its probability raised to at least MIN_CONFIRMED_PROBABILITY."""
    return replace(one, probability=max(one.probability, MIN_CONFIRMED_PROBABILITY))


class StatementIndex:
    """Inverted index that finds one owner's statements by their words.

    An owner is a project, or the user.
    """

    def __init__(self, memories: Iterable[Memory] = ()) -> None:
        self._memories: dict[str, Memory] = {}
        self._postings: dict[str, list[str]] = {}
        for memory in memories:
            self.add(memory)

    def __len__(self) -> int:
        return len(self._memories)

    def add(self, memory: Memory) -> None:
        """Add a memory, for which `is_statement` must be true."""
        self._memories[memory.id] = memory
        for word in extract_words(memory):
            self._postings.setdefault(word, []).append(memory.id)

    def find_candidates(self, memory: Memory, limit: int = MAX_CANDIDATES) -> list[Memory]:
        """Return at most `limit` statements that share words with `memory`, most similar first.

        Rare words count more than frequent ones.
        """
        scores: dict[str, float] = {}
        count = max(len(self._memories), 1)
        for word in sorted(extract_words(memory), key=lambda one: len(self._postings.get(one, ()))):
            postings = self._postings.get(word, ())
            if len(postings) > MAX_DOCUMENT_FREQUENCY and scores:
                break
            weight = math.log(1 + count / max(len(postings), 1))
            for identifier in postings[-MAX_DOCUMENT_FREQUENCY:]:
                scores[identifier] = scores.get(identifier, 0.0) + weight
        scores.pop(memory.id, None)
        best = sorted(scores.items(), key=lambda one: (-one[1], one[0]))[:limit]
        return [self._memories[identifier] for identifier, _ in best]


def make_search_query(memory: Memory) -> str:
    """Return a search query for memories that may contradict this one."""
    return " ".join(re.findall(r"[\w./@-]+", f"{memory.key or ''} {extract_statement(memory)}")[:40])


def plan_contradictions(
    memories: Mapping[str, Memory],
    now: datetime,
    *,
    since_run: datetime | None = None,
    cache: EntailmentCache | None = None,
    is_denied: Callable[[Memory, Memory], bool] | None = None,
) -> Iterator[PlannedChange]:
    """Plan to record new contradictions, and to close those that no longer apply.

    A pair that was recorded before is not recorded again. With `since_run`, a pair is compared only if one of its
    memories changed after that time. With a `cache`, pairs are judged by their cached probability; those without one
    are queued for the model. Pairs for which `is_denied` returns True are skipped.
    """
    for record in [memory for memory in memories.values() if memory.kind is Kind.CONTRADICTION]:
        if (closed_record := close_if_outdated(record, memories, now)) is not None:
            why = str(closed_record.source["note"])
            what = f"close a contradiction: {record.content[:160]}"
            yield PlannedChange(
                ConsolidationStep.CONTRADICTIONS, "contradictions_closed", what, why, (record,), (closed_record,)
            )
    statements = [memory for memory in memories.values() if is_statement(memory)]
    index = StatementIndex(statements)
    records = {
        memory.id: memory
        for memory in memories.values()
        if memory.kind is Kind.CONTRADICTION and needs_no_question(memory)
    }
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
            if one.ids not in unread and record.id not in records and not repeats_recorded(one, records.values()):
                records[record.id] = record
                yield plan_opening(record)


def _look_up_probabilities(comparison: PairComparison, cache: EntailmentCache) -> dict[tuple[str, str], float | None]:
    """Return the cached probabilities, keyed by the ids of both memories.

    A value of None means that the model has yet to judge the pair.
    """
    return {
        (a.id, b.id): cache.get(a, b, extract_statement(a), extract_statement(b))
        for a, b in comparison.unread[:MAX_READ_PAIRS]
    }


def plan_newly_read(
    cache: EntailmentCache, probabilities: Mapping[str, float | None], memories: Mapping[str, Memory], now: datetime
) -> Iterator[PlannedChange]:
    """Plan a record for each newly judged pair that is a contradiction.

    `probabilities` maps the cache keys of pairs to probabilities, or to None if the model could not judge the pair.
    """
    opened_counts: Counter[str] = Counter()
    pairs = ((cache.record(name, probability), probability) for name, probability in probabilities.items())
    contradicting = [
        one
        for pair, probability in pairs
        if pair is not None and probability is not None and (one := judge_pair(*pair, probability)) is not None
    ]
    records = [memory for memory in memories.values() if memory.kind is Kind.CONTRADICTION]
    for one in sorted(contradicting, key=_probability_sort_key):
        record = one.make_record(now)
        if record.id in memories or repeats_recorded(one, records):
            continue
        if max(opened_counts[one.a.id], opened_counts[one.b.id]) < MAX_PER_MEMORY:
            opened_counts.update((one.a.id, one.b.id))
            records.append(record)
            yield plan_opening(record)


def plan_opening(record: Memory) -> PlannedChange:
    """Plan the change that stores the record of a new contradiction."""
    what = f"open a contradiction: {record.content[:160]}"
    return PlannedChange(
        ConsolidationStep.CONTRADICTIONS, "contradictions_found", what, str(record.source["reason"]), (), (record,)
    )
