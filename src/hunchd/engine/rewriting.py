"""Work that has a new commit id keeps its memory: what is known of the old commit moves to the new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hunchd.domain.memory import Memory, Usage
from hunchd.ingestion.episodes import episode_id
from hunchd.prediction.predictor import Predictor
from hunchd.store.client import StoreClient


def rename(predictor: Predictor, moved: Sequence[tuple[str, str]]) -> None:
    """The predictor knows the work under its new ids, so that it is not learnt twice."""
    for old, new in moved:
        if not predictor.knows(new):
            predictor.rewrite(old, new)


async def move_episodes(store: StoreClient, project: str, moved: Sequence[tuple[str, str]]) -> list[str]:
    """Give the episodes of the new commits what the old ones' have earned, and remove those; their ids. An old episode
    without a new one stays."""
    target = {episode_id(project, old): episode_id(project, new) for old, new in moved}
    if not target:
        return []
    later = {memory.id: memory for memory in await store.get(list(dict.fromkeys(target.values())), project)}
    gone = [memory for memory in await store.get(list(target), project) if target[memory.id] in later]
    if not gone:
        return []
    changed = inherited(later, gone, target)
    await store.put(changed)
    await store.delete([memory.id for memory in gone], project)
    return [memory.id for memory in gone]


def inherited(later: Mapping[str, Memory], gone: Sequence[Memory], target: Mapping[str, str]) -> list[Memory]:
    """The later memories with what became of the earlier ones: use, weight, links and the words people put on them."""
    heirs = dict(later)
    for memory in gone:
        heir = heirs[target[memory.id]]
        heirs[heir.id] = replace(
            heir,
            created=min(heir.created, memory.created),
            importance=max(heir.importance, memory.importance),
            tags=tuple(dict.fromkeys((*heir.tags, *memory.tags))),
            links=(*heir.links, *(link for link in memory.links if link not in heir.links)),
            usage=Usage(
                heir.usage.retrieved + memory.usage.retrieved,
                heir.usage.cited + memory.usage.cited,
                heir.usage.ignored + memory.usage.ignored,
            ),
        )
    return [heirs[identifier] for identifier in dict.fromkeys(target[memory.id] for memory in gone)]
