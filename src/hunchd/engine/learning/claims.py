"""Facts that files and commit messages state.

A fact learned on a branch carries its name and the commit it was learned at, and holds there only. It becomes valid on
the main line when git says that the main line contains that commit, or the tip that the branch had after it. Files
need no such proof: what the files of the main line say is read again whenever it is checked out.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from hunchd.domain.errors import HunchError
from hunchd.domain.facts import Change, place_of, same_value, since, voice_of, withdrawn
from hunchd.domain.memory import Kind, Memory, Status
from hunchd.engine.keeping.filing import merged_into
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.state.project import Project
from hunchd.ingestion.conventions import WHERE
from hunchd.protocol.child import Child
from hunchd.repository.layout import default_branch, resolve

logger = logging.getLogger(__name__)

CLAIMED_AT_ONCE: Final = 100  # facts; yields to the event loop in between
BY_FILES: Final = "convention"  # source type


class Claims:
    """Updater of the facts that are based on files and commits."""

    def __init__(self, memories: Memories, indexer: Child) -> None:
        self._memories = memories
        self._indexer = indexer

    async def said_by_files(self, project: Project, said: Sequence[Memory]) -> None:
        """Update the facts that are based on files.

        A new value replaces the old one, a fact that no file states any more ends, and a file that repeats an
        overruled
        statement changes nothing.
        """
        line = side_line(project)
        facts = [on_line(fact, line) for fact in said]
        places = [fact.id for fact in facts] + [fact.id for fact in said]
        claims, changes, stated = list[Memory](), list[Change](), set[str]()
        async with self._memories.changing:  # later statements come after it
            heads = await self._memories.known(list(dict.fromkeys(places)), project.id)
            for fact, elsewhere in zip(facts, said, strict=True):
                head = heads.get(fact.id)
                if fact.status is not Status.ACTIVE:  # a withdrawn decision
                    changes += _laid_down(fact, head)
                elif line is not None and _is_said_there(fact, heads.get(elsewhere.id)):
                    continue  # same as on the main line
                elif head is not None and _says_it_elsewhere(fact, head):
                    changes.append(Change((_said_elsewhere(fact, head, self._memories.now()),), project=project.id))
                elif head is None or not await is_no_news(self._memories, fact, head):
                    claims.append(fact)
                stated.add(fact.id)
            changes += await self._gone(project, stated, line)
            await self._memories.commit(changes)
        await self._claim(claims)

    async def said_by_commits(self, project: Project, said: Sequence[Memory]) -> None:
        """Store the facts in messages of new commits.

        On a branch until it is merged.
        """
        line = side_line(project)
        if line is not None:
            reached = await self._reached(project, [str(fact.source["sha"]) for fact in said])
            said = [fact if fact.source["sha"] in reached else on_line(fact, line) for fact in said]
        await self._claim(said)

    async def merge(self, project: Project) -> None:
        """Make facts of merged branches valid on the main line."""
        bound = [fact for fact in project.facts.values() if fact.branch and fact.status is Status.ACTIVE]
        if not bound:
            return
        tips = {fact.id: resolve(project.main.layout, f"refs/heads/{fact.branch}") for fact in bound}
        proofs = {fact.id: _proof(fact) for fact in bound}
        try:
            reached = await self._reached(project, [sha for sha in {*tips.values(), *proofs.values()} if sha])
        except HunchError as error:  # retried with the next commit
            logger.warning("%s: merged branches could not be determined: %s", project.name, error.message)
            return
        async with self._memories.changing:  # changes made meanwhile stay; the next commit handles them
            heads = await self._memories.known([fact.id for fact in bound], project.id)
            facts = [heads[fact.id] for fact in bound if _is_still(fact, heads.get(fact.id))]
            # Record the tip of a branch that is ahead of the main line: it will prove the merge.
            ahead = [
                replace(fact, source={**fact.source, "tip": tip})
                for fact in facts
                if "sha" not in fact.source and (tip := tips[fact.id]) is not None and tip not in reached
            ]
            await self._memories.keep([fact for fact in ahead if fact.source != heads[fact.id].source])
            await self._move([fact for fact in facts if proofs[fact.id] in reached], project)

    async def _move(self, merged: Sequence[Memory], project: Project) -> None:
        """Move facts of branches to the main line; the caller holds `change_lock`."""
        now = self._memories.now()
        claims = merged_into(merged, now, sha=default_branch(project.main.layout) or "")
        rulings = await self._memories.claimed(claims)
        done = [
            replace(fact, status=Status.SUPERSEDED, superseded_by=ruling.memory.id, valid_to=now, updated=now)
            for fact, ruling in zip(merged, rulings, strict=True)
        ]
        await self._memories.keep(done)

    async def _gone(self, project: Project, kept: set[str], line: str | None) -> list[Change]:
        """Return changes that end facts which no file of this line states any more."""
        before = [
            fact.id
            for fact in project.facts.values()
            if fact.source.get("type") == BY_FILES and fact.branch == line and fact.id not in kept
        ]
        heads = await self._memories.known(before, project.id) if before else {}
        now = self._memories.now()
        stated = (head for head in heads.values() if _holds(head) and head.source.get("type") == BY_FILES)
        return [withdrawn(head, now) for head in stated]

    async def _claim(self, claims: Sequence[Memory]) -> None:
        for begin in range(0, len(claims), CLAIMED_AT_ONCE):
            await self._memories.claim(claims[begin : begin + CLAIMED_AT_ONCE])

    async def _reached(self, project: Project, shas: Sequence[str]) -> frozenset[str]:
        """Return the commits that the main line contains."""
        into = default_branch(project.main.layout)
        if into is None or not shas:
            return frozenset(shas)
        asked: dict[str, Any] = {
            "root": str(project.root),
            "project": project.id,
            "code_cache": str(project.cache),
            "into": into,
            "shas": list(dict.fromkeys(shas)),
        }
        answer = await self._indexer.call("reached", asked, timeout=60)
        return frozenset(answer["reached"])


async def is_no_news(memories: Memories, fact: Memory, head: Memory) -> bool:
    """Return True if `fact` repeats a statement that `head` overruled."""
    if head.status is Status.SUPERSEDED and head.superseded_by is not None:  # it was superseded by another memory
        return same_value(fact, head) and voice_of(fact) == voice_of(head)
    if head.status is not Status.ACTIVE or same_value(fact, head) or voice_of(fact) == voice_of(head):
        return False
    family = await memories.family(fact.id, fact.project)
    said = [one for one in family if one.kind is Kind.FACT and voice_of(one) == voice_of(fact)]
    latest = max(said, key=lambda one: (since(one), one.updated), default=None)
    return latest is not None and same_value(latest, fact)


def side_line(project: Project) -> str | None:
    """Return the checked-out branch if it is not the main line, else None."""
    branch, shared = project.main.branch, project.main.trunk
    return branch if branch and shared and branch != shared else None


def on_line(fact: Memory, line: str | None) -> Memory:
    """Return the fact restricted to a branch."""
    if line is None:
        return fact
    bound = replace(fact, branch=line, ref=None)
    return replace(bound, id=place_of(bound) or bound.id)


def _proof(fact: Memory) -> str:
    """Return the commit whose merge makes a branch's fact valid on the main line."""
    return str(fact.source.get("sha") or fact.source.get("tip") or "")


def _holds(head: Memory | None) -> bool:
    return head is not None and head.status is Status.ACTIVE


def _is_said_there(fact: Memory, main: Memory | None) -> bool:
    """Return True if the main line states it too, for the same files."""
    if main is None or not _holds(main) or not same_value(main, fact):
        return False
    return all(main.source.get(name) == fact.source.get(name) for name in WHERE if name != "path")


def _is_still(fact: Memory, head: Memory | None) -> bool:
    """Return True if `fact` is still valid with the same value and proof."""
    return head is not None and _holds(head) and same_value(head, fact) and _proof(head) == _proof(fact)


def _says_it_elsewhere(fact: Memory, head: Memory) -> bool:
    """Return True if the statement moved to another file, or to other globs."""
    if not fact.source.get("type") == head.source.get("type") == BY_FILES or not same_value(fact, head):
        return False
    moved = fact.tags != head.tags or any(fact.source.get(name) != head.source.get(name) for name in WHERE)
    alike = fact.confidence == head.confidence or fact.category == "instruction"
    return moved and alike and _holds(head)


def _said_elsewhere(fact: Memory, head: Memory, now: datetime) -> Memory:
    told = {name: said for name, said in head.source.items() if name not in WHERE}
    return replace(
        head,
        source={**told, **fact.source},
        artifacts=fact.artifacts,
        tags=fact.tags,
        confidence=fact.confidence,
        importance=fact.importance,
        updated=now,
    )


def _laid_down(fact: Memory, head: Memory | None) -> list[Change]:
    if head is None:
        return [Change((fact,), project=fact.project)]
    if head.status is not Status.ACTIVE:
        return []
    gone = withdrawn(head, fact.created).memories[0]
    told = replace(gone, title=fact.title, content=fact.content, levels=fact.levels, tags=fact.tags)
    return [Change((told,), project=fact.project)]
