"""Updates to memories and the predictor after git rewrote commits.

A rewritten commit gets a new id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.state.project import Project
from hunchd.domain.facts import MemoryChange
from hunchd.domain.memory import Memory, Usage
from hunchd.ingestion.episodes import make_episode_id
from hunchd.ingestion.fixes import fix_to_memory
from hunchd.prediction.predictor import Predictor


def rename_commits(predictor: Predictor, moved_commits: Sequence[tuple[str, str]]) -> None:
    """Replace the ids of rewritten commits in the predictor.

    The predictor would otherwise learn the same changes twice. `moved_commits` contains pairs of the old and the
    new id.
    """
    for old, new in moved_commits:
        if not predictor.has_unit(new):
            predictor.rewrite_unit_id(old, new)


async def move_episodes(memories: MemoryService, project: str, moved_commits: Sequence[tuple[str, str]]) -> list[str]:
    """Merge the episodes of rewritten commits into the episodes of the new commits.

    Each merge is atomic. Returns the ids of the removed episodes. If the new commit has no episode, the old episode
    is kept.
    """
    target = {make_episode_id(project, old): make_episode_id(project, new) for old, new in moved_commits}
    if not target:
        return []
    async with memories.change_lock:
        earlier = await memories.find(list(target), project)
        later = await memories.find(list(dict.fromkeys(target[one] for one in earlier)), project)
        heirs: dict[str, list[Memory]] = {}
        for memory in earlier.values():
            if target[memory.id] in later:
                heirs.setdefault(target[memory.id], []).append(memory)
        await memories.commit(
            [
                MemoryChange(
                    (merge_episodes(later[heir], old_episodes),), tuple(memory.id for memory in old_episodes), project
                )
                for heir, old_episodes in heirs.items()
            ]
        )
        return [memory.id for old_episodes in heirs.values() for memory in old_episodes]


async def drop_episodes(memories: MemoryService, project: str, shas: Sequence[str]) -> list[str]:
    """Delete the episodes of commits that no longer belong to any history.

    Returns the ids of the deleted episodes.
    """
    if not shas:
        return []
    async with memories.lock_changes([make_episode_id(project, sha) for sha in shas], project) as episodes:
        episode_ids = list(episodes)
        await memories.commit([MemoryChange(deletions=tuple(episode_ids), project=project)] if episode_ids else [])
        return episode_ids


async def move_fixes(memories: MemoryService, project: Project, moved_commits: Sequence[tuple[str, str]]) -> None:
    """Replace old commit ids in fixes with the new ids.

    The old commits are no longer part of any history.
    """
    newer = dict(moved_commits)
    stale = [(fix, newer[fix.commit]) for fix in project.fixes.iter_all() if fix.commit in newer]
    if not stale:
        return
    episodes = [make_episode_id(project.id, sha) for _, sha in stale]
    ids = [*(fix.id for fix, _ in stale), *dict.fromkeys(episodes)]
    async with memories.lock_changes(ids, project.id) as memories_by_id:
        updated_fixes = []
        for (fix, sha), episode in zip(stale, episodes, strict=True):
            if fix.id in memories_by_id:
                subject = memories_by_id[episode].title if episode in memories_by_id else fix.subject
                moved_fix = replace(fix, commit=sha, subject=subject)
                updated_fixes.append(fix_to_memory(moved_fix, project.id, memories.now(), memories_by_id[fix.id]))
        if updated_fixes:
            await memories.commit([MemoryChange(tuple(updated_fixes), project=project.id)])


def merge_episodes(heir: Memory, old_episodes: Sequence[Memory]) -> Memory:
    """Merge old episodes into the new episode.

    Usage, importance, links and tags are combined.
    """
    every = (heir, *old_episodes)
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
