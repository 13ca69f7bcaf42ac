"""Background search for contradictions in new and changed memories.

Every memory that is new, or whose statement has changed, is compared with the known memories that may be about the
same subject. The nightly run compares all memories.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeAlias

from hunchd.consolidation.contradiction_records import close_if_outdated, create_contradiction, needs_no_question
from hunchd.consolidation.contradictions.candidate_search import (
    MAX_CANDIDATES,
    MAX_READ_PAIRS,
    ContradictingPair,
    PairComparison,
    compare_with_candidates,
    make_search_query,
    repeats_recorded,
)
from hunchd.consolidation.contradictions.entailment_cache import make_pair_key
from hunchd.consolidation.contradictions.statements import (
    extract_statement,
    is_eligible_pair,
    is_statement,
    score_relatedness,
)
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.state.dependencies import TaskSupervisor
from hunchd.core.state.feature import Feature, StatusFields
from hunchd.core.state.project import Project
from hunchd.domain.errors import HunchError
from hunchd.domain.facts import MemoryChange
from hunchd.domain.filters import Filters, matches
from hunchd.domain.kinds import select_kinds
from hunchd.domain.memory import Memory
from hunchd.features.contradictions.contradiction_judge import ContradictionJudge
from hunchd.protocol.status_answers import ContradictionSearchAnswer
from hunchd.store.memory_cache import MemoryCache
from hunchd.store.port import MemoryStore, Mode, StoreQuery, TextModels

logger = logging.getLogger(__name__)

MAX_QUEUE: Final = 20_000  # queued memories, of some kilobytes each; the nightly run handles the rest
PAUSE_SECONDS: Final = 0.1  # seconds between two memories, each of which takes 20 ms
# A longer queue comes from an import. Its memories are compared only by exact rules, and only with the nearest few,
# without embedding each. Every pause is as long as the comparison before it: 10 ms instead of 120. The nightly run
# compares them with all memories.
BACKLOG: Final = 100  # queued memories
BACKLOG_CANDIDATES: Final = 5
# Until imported memories have their vectors, the processor is needed to compute these.
EMBEDDING_BACKLOG: Final = 100  # memories without a vector
# Search requests have priority: while they keep coming, memories are compared only this often.
QUIET_SECONDS: Final = 0.25  # seconds without a search request
MAX_WAIT_SECONDS: Final = 3.0  # seconds
EMBEDDING_TIMEOUT_SECONDS: Final = (
    0.5  # seconds to wait for an embedding, because two tools of one kind may share no word
)
SEARCH_TIMEOUT_SECONDS: Final = 3.0  # seconds that a client waits for similar statements: the store may be starting
CLIENT_EMBEDDING_TIMEOUT_SECONDS: Final = (
    1.0  # seconds to wait for an embedding if a client asks, to find other wordings
)
MAX_CACHED_PAIRS: Final = (
    2_000  # cached pairs, so that unrelated changes to a memory do not cause its pairs to be judged again
)
# Minimum similarity of a statement that is reported: of 540 statements that contradict another, 94 % are among the four
# nearest above it (six development sets of pairs).
MIN_SIMILARITY: Final = 0.35
CLAIM_KINDS: Final = select_kinds(lambda one: one.states_claims)

Candidate: TypeAlias = tuple[Memory, float | None]  # memory and cosine similarity, if known


class ContradictionSearch(Feature):
    """Background task that compares memories and stores the contradictions it finds."""

    def __init__(
        self,
        memories: MemoryService,
        memory_cache: MemoryCache,
        store: MemoryStore,
        models: TextModels,
        *,
        now: Callable[[], datetime],
        judge: ContradictionJudge | None = None,
        uses_model: bool = False,
    ) -> None:
        self._memories = memories
        self._memory_cache = memory_cache
        self._store = store
        self._models = models
        self._now = now
        self._judge = judge
        self._uses_model = uses_model  # True if the model on this machine may judge pairs
        self._pair_scores: OrderedDict[str, float] = OrderedDict()
        self._queue: dict[str, Memory] = {}
        self._changed_ids: dict[str | None, set[str]] = {}  # by project: ids of changed memories
        self._work = asyncio.Event()

    def start(self, tasks: TaskSupervisor) -> None:
        tasks.start("contradictions", self.run)

    def on_memory_changed(self, change: MemoryChange, project: Project | None) -> None:
        """Queue new and changed memories for comparison, and for closing the contradictions about them."""
        for identifier in change.deletions:
            self._queue.pop(identifier, None)
        for memory in change.memories:
            if memory.kind in CLAIM_KINDS and (memory.project is None or (project is not None and project.conflicts)):
                self._changed_ids.setdefault(memory.project, set()).add(memory.id)
                self._work.set()
            if is_statement(memory) and len(self._queue) < MAX_QUEUE:
                self._queue[memory.id] = memory
                self._work.set()

    async def run(self) -> None:
        """Compare the queued memories one at a time, until cancelled."""
        while True:
            await self._work.wait()
            self._work.clear()
            while self._queue or self._changed_ids:
                await self._close_outdated()
                if not self._queue:
                    break
                in_backlog = len(self._queue) > BACKLOG
                memory = self._queue.pop(next(iter(self._queue)))
                began = time.monotonic()
                try:
                    await self.search(memory, in_backlog=in_backlog)
                except HunchError as error:  # the nightly run retries
                    logger.warning("could not compare memory %s with the others: %s", memory.id, error.message)
                await asyncio.sleep(min(time.monotonic() - began, PAUSE_SECONDS) if in_backlog else PAUSE_SECONDS)
                await self._wait_until_quiet()

    async def _close_outdated(self) -> None:
        """Close the open contradictions of which a side has ended or says something else by now."""
        while self._changed_ids:
            owner, ids_of_owner = self._changed_ids.popitem()
            with suppress(HunchError):  # the nightly run closes them
                for record in await self._memories.list_conflicts_about(ids_of_owner, owner):
                    ids = [record.id, *(str(link["ref"]) for link in record.links)]
                    async with self._memories.lock_changes(ids, owner) as present:
                        if closed_record := close_if_outdated(present.get(record.id, record), present, self._now()):
                            await self._memories.store([closed_record])

    async def _wait_until_quiet(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(MAX_WAIT_SECONDS):
                while (quiet := self._models.seconds_since_query) < QUIET_SECONDS:
                    await asyncio.sleep(QUIET_SECONDS - quiet)
                while self._store.pending_embeddings > EMBEDDING_BACKLOG:
                    await asyncio.sleep(QUIET_SECONDS)

    def status(self) -> StatusFields:
        """Return the number of memories that are waiting to be compared."""
        return {"contradictions": ContradictionSearchAnswer(waiting=len(self._queue))}

    async def search(self, memory: Memory, *, in_backlog: bool = False) -> list[Memory]:
        """Find the contradictions of one memory and store the new ones as open.

        Returns the contradictions that were stored. With `in_backlog`, fewer candidates are compared, and the local
        model is not used.
        """
        candidates = await self._find_candidates(memory, in_backlog=in_backlog)
        similarities = {one.id: similarity for one, similarity in candidates}
        others = [one for one, _ in candidates]
        look = await asyncio.to_thread(compare_with_candidates, memory, others, similarities)
        scores = await self._score_pairs(look) if not in_backlog else {}
        if self._judge is None:
            oppositions = look.select_contradictions(scores)
        else:
            oppositions = await self._judge.judge(memory, look, look.apply_probabilities(scores))
        sides = {side for one in oppositions for side in one.ids}
        records = await self._memories.list_conflicts_about(sides, memory.project) if sides else []
        new = [one for one in oppositions if not repeats_recorded(one, records)]
        return [record for one in new if (record := await self._open_contradiction(one)) is not None]

    async def find_similar(self, memory: Memory, limit: int) -> tuple[list[Memory], str]:
        """Return similar statements, nearest first, for a client to judge.

        Statements already reported as contradicting `memory` are left out. The second value is the reason why the
        search was incomplete, or "". The client that stores a memory can judge better than any rule whether two
        statements contradict each other.
        """
        if not is_statement(memory):
            return [], ""
        similar_candidates, missing = await self._find_with_embedding(memory)
        closeness = {
            one.id: score_relatedness(memory, one, like)
            for one, like in similar_candidates
            if is_eligible_pair(memory, one)
        }
        near = [one for one, _ in similar_candidates if closeness.get(one.id, 0.0) >= MIN_SIMILARITY]
        near.sort(key=lambda one: -closeness[one.id])
        records = {one.id: create_contradiction(memory, one, self._now()).id for one in near}
        reported_ids = await self._memories.find(list(records.values()), memory.project)
        return [one for one in near if records[one.id] not in reported_ids][:limit], missing

    async def _find_with_embedding(self, memory: Memory) -> tuple[list[Candidate], str]:
        """Return candidates found by word and by meaning.

        The second value is the reason why the candidates are incomplete, or "".
        """
        try:
            async with asyncio.timeout(SEARCH_TIMEOUT_SECONDS):
                return await self._search_candidates(memory, patience=CLIENT_EMBEDDING_TIMEOUT_SECONDS), ""
        except TimeoutError:
            missing = "the store is still starting"
        except HunchError as error:
            missing = error.message
        return self._merge_cached(memory, {}), f"only recent memories were compared: {missing}"

    async def _find_candidates(self, memory: Memory, *, in_backlog: bool) -> list[Candidate]:
        """Return the memories that may be about the same subject as `memory`."""
        return await self._search_candidates(
            memory,
            patience=0.0 if in_backlog else EMBEDDING_TIMEOUT_SECONDS,
            mode="lexical" if in_backlog else "hybrid",
            limit=BACKLOG_CANDIDATES if in_backlog else MAX_CANDIDATES,
            is_background=True,
        )

    async def _search_candidates(
        self,
        memory: Memory,
        *,
        patience: float,
        mode: Mode = "hybrid",
        limit: int = MAX_CANDIDATES,
        is_background: bool = False,
    ) -> list[Candidate]:
        """Search the store and the cache for candidates.

        The store is searched as `mode` says, by default by word and by meaning; the cache is searched by word.
        """
        query, candidates = make_search_query(memory), dict[str, Candidate]()
        for kind in CLAIM_KINDS:  # one by one: a project has a hundred times as many episodes as facts
            filters = replace(_build_filters(memory), kinds=(kind,))
            answer = await self._store.search(
                StoreQuery(query, filters, limit, mode=mode, embedding_wait=patience, is_background=is_background)
            )
            candidates |= {
                hit.memory.id: (hit.memory, hit.similarity)
                for hit in answer.hits
                if not self._memory_cache.is_tombstoned(hit.memory.id)
            }
        return self._merge_cached(memory, candidates, limit)

    def _merge_cached(
        self, memory: Memory, stored_candidates: Mapping[str, Candidate], limit: int = MAX_CANDIDATES
    ) -> list[Candidate]:
        """Merge the stored candidates with those found in the cache.

        If both have a version of a memory, the cached one, which is newer, is used.
        """
        filters, candidates_by_id = _build_filters(memory), dict(stored_candidates)
        for hit in self._memory_cache.search(make_search_query(memory), filters, limit):
            if (cached_memory := self._memory_cache.get(hit.memory_id)) is not None:
                candidates_by_id.setdefault(cached_memory.id, (cached_memory, None))
        newest = [((self._memory_cache.get(name) or one), like) for name, (one, like) in candidates_by_id.items()]
        return [(one, like) for one, like in newest if one.id != memory.id and matches(one, filters)]

    async def _score_pairs(self, look: PairComparison) -> dict[tuple[str, str], float]:
        """Return the probability of a contradiction for each undecided pair.

        The probabilities come from the local model and are keyed by the ids of both memories. Pairs that the model
        could not judge are left out.
        """
        if not self._uses_model:
            return {}
        pairs = {
            make_pair_key(extract_statement(a), extract_statement(b)): (a, b) for a, b in look.unread[:MAX_READ_PAIRS]
        }
        new = {
            name: (extract_statement(a), extract_statement(b))
            for name, (a, b) in pairs.items()
            if name not in self._pair_scores
        }
        try:
            new_scores = await self._models.rate_pairs(list(new.values())) if new else None
        except HunchError as error:  # contradictions between manifests are stored anyway
            logger.warning("could not judge pairs of statements: %s", error.message)
            new_scores = None
        if new_scores is not None:
            self._pair_scores.update(zip(new, new_scores, strict=True))
        scores = {(a.id, b.id): self._pair_scores[name] for name, (a, b) in pairs.items() if name in self._pair_scores}
        while len(self._pair_scores) > MAX_CACHED_PAIRS:
            self._pair_scores.popitem(last=False)
        return scores

    async def _open_contradiction(self, opposition: ContradictingPair) -> Memory | None:
        """Store a contradiction as open, and return its record.

        Returns None if one of the two memories has changed since, or if the contradiction was reported before.
        """
        record = opposition.make_record(self._now())
        ids = (opposition.a.id, opposition.b.id, record.id)
        async with self._memories.lock_changes(ids, record.project) as memories:
            earlier_records = [one for one in (memories.get(record.id),) if one is not None and needs_no_question(one)]
            if earlier_records or any(_is_changed(side, memories) for side in (opposition.a, opposition.b)):
                return None
            await self._memories.commit([MemoryChange((record,), project=record.project)])
        logger.info("found contradiction %s", record.id)
        return record


def _build_filters(memory: Memory) -> Filters:
    return Filters(project=memory.project, kinds=CLAIM_KINDS)


def _is_changed(side: Memory, memories: dict[str, Memory]) -> bool:
    now = memories.get(side.id)
    return now is None or (now.status, now.content, now.value) != (side.status, side.content, side.value)
