"""Which files are worth ranking: a bounded union of what each source names, and the sources' answers for reuse."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hunchd.prediction import evidence
from hunchd.prediction.evidence import Scores, Together
from hunchd.prediction.messages import FURTHER, NEAREST, Nearest
from hunchd.prediction.packed import Array
from hunchd.prediction.query import Query
from hunchd.prediction.state import State

# How many of each source are ranked. Their union holds about nine in ten of the files a change goes on to touch.
MOST_TOGETHER = 110
MOST_TOGETHER_RECENTLY = 30
MOST_SECOND_STEP = 30
MOST_SIBLINGS = 40
MOST_LINKED = 30  # each of imports, importers, definitions, uses
MOST_RECENT = 50
MOST_OF_AUTHOR = 30
MOST_VOTED = 60
MOST_BY_WORDS = 50  # each of paths, contents, definitions


@dataclass(slots=True)
class Evidence:
    """What each source said about one query. Dense arrays are by file number, the rest are (files, values)."""

    query: Query
    now: int  # seconds since the epoch
    files: Array  # the candidates
    together: list[Together]
    nearest: Nearest
    sparse: dict[str, Scores] = field(default_factory=dict)
    dense: dict[str, Array] = field(default_factory=dict)


def gather(state: State, query: Query, now: int) -> Evidence:
    """Ask every source, and take the best of each as candidates."""
    found = Evidence(
        query,
        now,
        np.empty(0, "<i4"),
        [evidence.together(state, seed) for seed in query.seeds],
        state.messages.nearest(query.keys, FURTHER) if query.keys else Nearest(np.empty(0, "<i8"), np.empty(0, "<f4")),
    )
    pools: list[Array] = [np.array([*query.traced, *query.mentioned], "<i4")]
    _by_seeds(state, found, pools)
    _by_text(state, found, pools)
    _by_habit(state, found, pools, now)
    files = np.unique(np.concatenate(pools)).astype("<i4")
    usable = state.files.alive.view & ~state.hubs()
    usable[list(query.seeds)] = False
    found.files = files[usable[files]]
    return found


def _by_seeds(state: State, found: Evidence, pools: list[Array]) -> None:
    for first in found.together:
        pools.append(best(first.row["file"], first.long, MOST_TOGETHER))
        pools.append(best(first.row["file"], first.short, MOST_TOGETHER_RECENTLY))
    seeds = found.query.seeds
    if not seeds:
        return
    newest = found.together[-1]
    found.sparse["second_step"] = evidence.second_step(state, newest)
    pools.append(best(*found.sparse["second_step"], MOST_SECOND_STEP))
    for name, source in _LINKS.items():
        found.sparse[name] = merged([source(state, seed) for seed in seeds[-3:]])
        pools.append(best(*found.sparse[name], MOST_LINKED))
    readings = [evidence.lately(state, seed, found.query.author) for seed in seeds[-3:]]
    for place, name in enumerate(("lately", "lately_author", "beside")):
        found.sparse[name] = merged([reading[place] for reading in readings])
        pools.append(best(*found.sparse[name], MOST_LINKED))
    near = siblings(state, newest.seed)
    found.sparse["siblings"] = evidence.siblings_together(state, near[near != newest.seed])
    pools.append(best(*found.sparse["siblings"], MOST_LINKED))
    for seed in seeds[-3:]:
        pools.append(siblings(state, seed))
        stem = state.files.stem.view
        pools.append(np.flatnonzero(stem == stem[seed])[:MOST_LINKED].astype("<i4"))


_LINKS = {
    "imports": evidence.imported,
    "importers": evidence.importers,
    "defines": evidence.defining,
    "uses": evidence.using,
}


def _by_text(state: State, found: Evidence, pools: list[Array]) -> None:
    if not found.query.keys:
        return
    size = len(state.files)
    found.sparse["voted"] = evidence.voted(state, found.nearest.first(NEAREST))
    found.sparse["voted_softly"] = evidence.voted(state, found.nearest, 1.0)
    found.sparse["message_words"] = evidence.message_words(state, found.query.keys)
    pools.append(best(*found.sparse["message_words"], MOST_LINKED))
    found.sparse["voted_with_seeds"] = evidence.voted_with_seeds(state, found.nearest, found.query.seeds)
    pools.append(best(*found.sparse["voted"], MOST_VOTED))
    for name in ("paths", "words", "names"):
        scores = getattr(state.contents, name).search(found.query.keys, size)
        found.dense[name] = scores
        hits = np.flatnonzero(scores)
        pools.append(best(hits.astype("<i4"), scores[hits], MOST_BY_WORDS))


def _by_habit(state: State, found: Evidence, pools: list[Array], now: int) -> None:
    sources = {
        "author": (evidence.of_author(state, found.query.author), MOST_OF_AUTHOR),
        "recent": (evidence.recent(state), MOST_RECENT),
        "interest": (evidence.interesting(state), MOST_RECENT),
        "opened_next": (evidence.opened_next(state, found.query, now), MOST_LINKED),
    }
    for name, (scores, most) in sources.items():
        found.sparse[name] = scores
        pools.append(best(*scores, most))


def siblings(state: State, seed: int) -> Array:
    """Files of the same folder, the most recently changed first."""
    folder = state.folder_of.view
    same = np.flatnonzero(folder == folder[seed])
    same = same[state.files.alive.view[same]]
    newest_first: Array = same[np.argsort(-state.files.last.view[same], kind="stable")]
    return newest_first[:MOST_SIBLINGS].astype("<i4")


def best(files: Array, values: Array, most: int) -> Array:
    """The files of the highest values."""
    if len(files) <= most:
        return files
    return files[np.argpartition(-values, most)[:most]]


def merged(scores: list[Scores]) -> Scores:
    """Several answers added up."""
    if len(scores) == 1:
        return scores[0]
    return evidence.summed(
        np.concatenate([files for files, _ in scores]), np.concatenate([values for _, values in scores])
    )
