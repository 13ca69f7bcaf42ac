"""Migration of memories from rewritten commits to their new ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hunchd.domain.facts import Change
from hunchd.domain.memory import Memory, Usage
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.state.project import Project
from hunchd.ingestion.episodes import episode_id
from hunchd.ingestion.fixes import memory_of
from hunchd.prediction.predictor import Predictor


def rename(predictor: Predictor, moved: Sequence[tuple[str, str]]) -> None:
    """Rename rewritten commits in the predictor, so that the work is not learned twice."""
    for old, new in moved:
        if not predictor.knows(new):
            predictor.rewrite(old, new)


async def move_episodes(memories: Memories, project: str, moved: Sequence[tuple[str, str]]) -> list[str]:
    """Merge the old commits' episodes into the new ones.

    Returns the ids removed. Each pair changes atomically. An old episode without a new one stays.
    """
    target = {episode_id(project, old): episode_id(project, new) for old, new in moved}
    if not target:
        return []
    async with memories.changing:
        earlier = await memories.known(list(target), project)
        later = await memories.known(list(dict.fromkeys(target[one] for one in earlier)), project)
        heirs: dict[str, list[Memory]] = {}
        for memory in earlier.values():
            if target[memory.id] in later:
                heirs.setdefault(target[memory.id], []).append(memory)
        await memories.commit(
            [
                Change((inheriting(later[heir], gone),), tuple(memory.id for memory in gone), project)
                for heir, gone in heirs.items()
            ]
        )
        return [memory.id for gone in heirs.values() for memory in gone]


async def drop_episodes(memories: Memories, project: str, shas: Sequence[str]) -> list[str]:
    """Delete the episodes of commits that are in no history any more.

    Returns their ids.
    """
    if not shas:
        return []
    async with memories.changing:
        gone = list(await memories.known([episode_id(project, sha) for sha in shas], project))
        await memories.commit([Change(deletions=tuple(gone), project=project)] if gone else [])
        return gone


async def move_fixes(memories: Memories, project: Project, moved: Sequence[tuple[str, str]]) -> None:
    """Update fixes to the new commit ids.

    The old ones are in nobody's history.
    """
    newer = dict(moved)
    stale = [(fix, newer[fix.commit]) for fix in project.fixes.all() if fix.commit in newer]
    if not stale:
        return
    async with memories.changing:
        episodes = [episode_id(project.id, sha) for _, sha in stale]
        known = await memories.known([*(fix.id for fix, _ in stale), *dict.fromkeys(episodes)], project.id)
        kept = []
        for (fix, sha), episode in zip(stale, episodes, strict=True):
            if fix.id in known:
                subject = known[episode].title if episode in known else fix.subject
                renamed = replace(fix, commit=sha, subject=subject)
                kept.append(memory_of(renamed, project.id, memories.now(), known[fix.id]))
        if kept:
            await memories.commit([Change(tuple(kept), project=project.id)])


def inheriting(heir: Memory, gone: Sequence[Memory]) -> Memory:
    """Merge usage, importance, links and tags of the old episodes into the new one."""
    every = (heir, *gone)
    return replace(
        heir,
        created=min(memory.created for memory in every),
        importance=max(memory.importance for memory in every),
        tags=tuple(dict.fromkeys(tag for memory in every for tag in memory.tags)),
        links=tuple({tuple(sorted(link.items())): link for memory in every for link in memory.links}.values()),
        usage=Usage(
            sum(memory.usage.retrieved for memory in every),
            sum(memory.usage.cited for memory in every),
            sum(memory.usage.ignored for memory in every),
        ),
    )
