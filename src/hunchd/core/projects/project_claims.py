"""Facts stated in files and commit messages.

The main line is the project's default branch. A fact learned on a side branch is stored with the branch name and
the commit at which it was learned, and is valid on that branch only. It becomes valid on the main line once the
main line contains that commit, or the later tip of the branch, according to git. Facts from files need no such
proof, because the files of the main line are read again whenever it is checked out.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from hunchd.core.memory.fact_parsing import claims_from_merged
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.state.project import Project
from hunchd.domain.errors import HunchError
from hunchd.domain.facts import MemoryChange, get_source_name, get_valid_from, is_same_value, slot_of, withdraw_fact
from hunchd.domain.memory import Kind, Memory, Status
from hunchd.ingestion.conventions import SCOPE_FIELDS
from hunchd.protocol.child import HelperProcess
from hunchd.protocol.indexing_messages import IndexRequest
from hunchd.repository.layout import find_default_branch, resolve_ref

logger = logging.getLogger(__name__)

CLAIM_BATCH_SIZE: Final = 100  # facts; yields to the event loop in between
FILE_SOURCE: Final = "convention"  # source type


class ProjectClaims:
    """Service that updates the facts stated in files and commit messages."""

    def __init__(self, memories: MemoryService, indexer: HelperProcess) -> None:
        self._memories = memories
        self._indexer = indexer

    async def update_from_files(self, project: Project, file_facts: Sequence[Memory]) -> None:
        """Update the facts that files state.

        A new value replaces the old one, and a fact that no file states any more ends. If a file repeats a
        statement that has been overruled, nothing changes.
        """
        line = get_side_branch(project)
        facts = [restrict_to_branch(fact, line) for fact in file_facts]
        slots = [fact.id for fact in facts] + [fact.id for fact in file_facts]
        claims, changes, stated_ids = list[Memory](), list[MemoryChange](), set[str]()
        # Later statements come after it.
        async with self._memories.lock_changes(list(dict.fromkeys(slots)), project.id) as heads:
            for fact, elsewhere in zip(facts, file_facts, strict=True):
                head = heads.get(fact.id)
                if fact.status is not Status.ACTIVE:  # a withdrawn decision
                    changes += _withdraw_decision(fact, head)
                elif line is not None and _is_on_main_line(fact, heads.get(elsewhere.id)):
                    continue  # same as on the main line
                elif head is not None and _is_moved_statement(fact, head):
                    changes.append(
                        MemoryChange((_update_source(fact, head, self._memories.now()),), project=project.id)
                    )
                elif head is None or not await is_overruled(self._memories, fact, head):
                    claims.append(fact)
                stated_ids.add(fact.id)
            changes += await self._withdraw_missing(project, stated_ids, line)
            await self._memories.commit(changes)
        await self._claim_in_batches(claims)

    async def store_from_commits(self, project: Project, commit_facts: Sequence[Memory]) -> None:
        """Store the facts stated in the messages of new commits.

        A fact from a commit that is not merged yet is valid on its branch only.
        """
        line = get_side_branch(project)
        if line is not None:
            merged_shas = await self._find_merged_commits(project, [str(fact.source["sha"]) for fact in commit_facts])
            commit_facts = [
                fact if fact.source["sha"] in merged_shas else restrict_to_branch(fact, line) for fact in commit_facts
            ]
        await self._claim_in_batches(commit_facts)

    async def merge_branch_facts(self, project: Project) -> None:
        """Make merged branches' facts valid on the main line."""
        branch_facts = [fact for fact in project.facts.values() if fact.branch and fact.status is Status.ACTIVE]
        if not branch_facts:
            return
        tips = {fact.id: resolve_ref(project.main.layout, f"refs/heads/{fact.branch}") for fact in branch_facts}
        proofs = {fact.id: _get_proof_commit(fact) for fact in branch_facts}
        try:
            merged_shas = await self._find_merged_commits(
                project, [sha for sha in {*tips.values(), *proofs.values()} if sha]
            )
        except HunchError as error:  # retried with the next commit
            logger.warning("%s: could not determine which branches are merged: %s", project.name, error.message)
            return
        # Changes made meanwhile stay; the next commit handles them.
        async with self._memories.lock_changes([fact.id for fact in branch_facts], project.id) as heads:
            facts = [heads[fact.id] for fact in branch_facts if _is_unchanged(fact, heads.get(fact.id))]
            # Record the tip of a branch that is ahead of the main line: it will prove the merge.
            ahead = [
                replace(fact, source={**fact.source, "tip": tip})
                for fact in facts
                if "sha" not in fact.source and (tip := tips[fact.id]) is not None and tip not in merged_shas
            ]
            await self._memories.store([fact for fact in ahead if fact.source != heads[fact.id].source])
            await self._move_to_main_line([fact for fact in facts if proofs[fact.id] in merged_shas], project)

    async def _move_to_main_line(self, merged_memories: Sequence[Memory], project: Project) -> None:
        """Move facts from branches to the main line.

        The caller must hold `change_lock`.
        """
        now = self._memories.now()
        claims = claims_from_merged(merged_memories, now, sha=find_default_branch(project.main.layout) or "")
        rulings = await self._memories.claim_locked(claims)
        moved_memories = [
            replace(fact, status=Status.SUPERSEDED, superseded_by=ruling.memory.id, valid_to=now, updated=now)
            for fact, ruling in zip(merged_memories, rulings, strict=True)
        ]
        await self._memories.store(moved_memories)

    async def _withdraw_missing(self, project: Project, stated_ids: set[str], line: str | None) -> list[MemoryChange]:
        """Return changes that end the facts no longer stated on a branch.

        `stated_ids` are the ids of the facts that files on that branch state.
        """
        before = [
            fact.id
            for fact in project.facts.values()
            if fact.source.get("type") == FILE_SOURCE and fact.branch == line and fact.id not in stated_ids
        ]
        heads = await self._memories.find(before, project.id) if before else {}
        now = self._memories.now()
        unstated_heads = (
            head for head in heads.values() if _is_active(head) and head.source.get("type") == FILE_SOURCE
        )
        return [withdraw_fact(head, now) for head in unstated_heads]

    async def _claim_in_batches(self, claims: Sequence[Memory]) -> None:
        for begin in range(0, len(claims), CLAIM_BATCH_SIZE):
            await self._memories.claim(claims[begin : begin + CLAIM_BATCH_SIZE])

    async def _find_merged_commits(self, project: Project, shas: Sequence[str]) -> frozenset[str]:
        """Return the commits in `shas` that the main line contains.

        Returns all of them if the repository has no default branch.
        """
        into = find_default_branch(project.main.layout)
        if into is None or not shas:
            return frozenset(shas)
        scope = IndexRequest(folder=str(project.root), project=project.id, cache_file=str(project.cache))
        params = {"scope": scope, "into": into, "shas": list(dict.fromkeys(shas))}
        return frozenset(await self._indexer.call("reached", params, list[str], timeout=60))


async def is_overruled(memories: MemoryService, fact: Memory, head: Memory) -> bool:
    """Return True if `fact` repeats a statement that was overruled.

    `head` is the current memory, which overruled that statement.
    """
    if head.status is Status.SUPERSEDED and head.superseded_by is not None:  # it was superseded by another memory
        return is_same_value(fact, head) and get_source_name(fact) == get_source_name(head)
    if head.status is not Status.ACTIVE or is_same_value(fact, head) or get_source_name(fact) == get_source_name(head):
        return False
    family = await memories.list_family(fact.id, fact.project)
    earlier_statements = [
        one for one in family if one.kind is Kind.FACT and get_source_name(one) == get_source_name(fact)
    ]
    latest = max(earlier_statements, key=lambda one: (get_valid_from(one), one.updated), default=None)
    return latest is not None and is_same_value(latest, fact)


def get_side_branch(project: Project) -> str | None:
    """Return the checked-out branch if it is a side branch.

    Returns None if the main line is checked out, or if the branch or the main line is unknown.
    """
    branch, main_line = project.main.branch, project.main.trunk
    return branch if branch and main_line and branch != main_line else None


def restrict_to_branch(fact: Memory, line: str | None) -> Memory:
    """Return the fact restricted to a branch.

    If `line` is None, the fact is returned unchanged.
    """
    if line is None:
        return fact
    branch_fact = replace(fact, branch=line, ref=None)
    return replace(branch_fact, id=slot_of(branch_fact) or branch_fact.id)


def _get_proof_commit(fact: Memory) -> str:
    """Return the commit whose merge makes a fact valid on the main line.

    Returns an empty string if no such commit is recorded.
    """
    return str(fact.source.get("sha") or fact.source.get("tip") or "")


def _is_active(head: Memory | None) -> bool:
    return head is not None and head.status is Status.ACTIVE


def _is_on_main_line(fact: Memory, main: Memory | None) -> bool:
    """Return True if the same fact is valid on the main line, for the same files."""
    if main is None or not _is_active(main) or not is_same_value(main, fact):
        return False
    return all(main.source.get(name) == fact.source.get(name) for name in SCOPE_FIELDS if name != "path")


def _is_unchanged(fact: Memory, head: Memory | None) -> bool:
    """Return True if a fact has kept its value and proof commit.

    `head` is the stored version of `fact`.
    """
    return (
        head is not None
        and _is_active(head)
        and is_same_value(head, fact)
        and _get_proof_commit(head) == _get_proof_commit(fact)
    )


def _is_moved_statement(fact: Memory, head: Memory) -> bool:
    """Return True if only the file or globs of a statement changed."""
    if not fact.source.get("type") == head.source.get("type") == FILE_SOURCE or not is_same_value(fact, head):
        return False
    has_moved = fact.tags != head.tags or any(fact.source.get(name) != head.source.get(name) for name in SCOPE_FIELDS)
    alike = fact.confidence == head.confidence or fact.category == "instruction"
    return has_moved and alike and _is_active(head)


def _update_source(fact: Memory, head: Memory, now: datetime) -> Memory:
    source = {name: field_value for name, field_value in head.source.items() if name not in SCOPE_FIELDS}
    return replace(
        head,
        source={**source, **fact.source},
        artifacts=fact.artifacts,
        tags=fact.tags,
        confidence=fact.confidence,
        importance=fact.importance,
        updated=now,
    )


def _withdraw_decision(fact: Memory, head: Memory | None) -> list[MemoryChange]:
    if head is None:
        return [MemoryChange((fact,), project=fact.project)]
    if head.status is not Status.ACTIVE:
        return []
    withdrawn_memory = withdraw_fact(head, fact.created).memories[0]
    reworded_memory = replace(
        withdrawn_memory, title=fact.title, content=fact.content, levels=fact.levels, tags=fact.tags
    )
    return [MemoryChange((reworded_memory,), project=fact.project)]
