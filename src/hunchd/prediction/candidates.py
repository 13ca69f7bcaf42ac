"""Candidate generation from the best files of each source.

The answers of the sources are kept for the features.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from hunchd.prediction import blame, evidence
from hunchd.prediction.evidence import Together
from hunchd.prediction.messages import FURTHER, Nearest, Saying
from hunchd.prediction.packed import Array, Scores, highest, summed
from hunchd.prediction.query import Query
from hunchd.prediction.state import State
from hunchd.prediction.topic import Topic, past_alike, topic

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
    """Answers of all evidence sources to one query."""

    query: Query
    now: int  # seconds since the epoch
    files: Array  # the candidates
    together: list[Together]
    nearest: Nearest
    topic: Topic | None = None
    said: list[OneSeed] = field(default_factory=list)  # by the newest seeds
    sparse: dict[str, Scores] = field(default_factory=dict)


def gather(state: State, query: Query, now: int) -> Evidence:
    """Query every source and take the best files of each as candidates.

    Answers about a file, an author or a text are cached until something is learned: one open file is queried again
    and again, and a branch keeps its name.
    """
    found = Evidence(
        query,
        now,
        np.empty(0, "<i4"),
        [state.once(("together", seed), partial(evidence.together, state, seed)) for seed in query.seeds],
        Nearest.nothing(),
    )
    usable = state.once(("usable",), lambda: state.files.alive.view & ~state.hubs())
    pools: list[Array] = [np.array(query.mentioned, "<i4")]
    if query.trace:
        pools.append(blame.candidates(state, query.trace))
    _by_seeds(state, found, pools)
    _by_text(state, found, pools, usable)
    _by_habit(state, found, pools, now)
    named = np.zeros(len(usable), "?")
    named[np.concatenate(pools)] = True
    named &= usable
    if query.again:  # hubs are not informative, but a file visited before may be revisited
        visited = found.sparse["interest"][0]
        named[visited] = state.files.alive.view[visited]
    named[list(query.shown)] = False
    found.files = named.nonzero()[0]
    return found


def _by_seeds(state: State, found: Evidence, pools: list[Array]) -> None:
    for first in found.together:
        pools.append(best(first.row["file"], first.long, MOST_TOGETHER))
        pools.append(best(first.row["file"], first.short, MOST_TOGETHER_RECENTLY))
    seeds = found.query.seeds
    if not seeds:
        return
    newest, author = found.together[-1], found.query.author
    said = [state.once(("seed", seed, author), partial(_one_seed, state, seed, author)) for seed in seeds[-3:]]
    found.said = said
    for name in _OF_SEED:
        found.sparse[name] = merged([one.sparse[name] for one in said])
        pools.append(best(*found.sparse[name], MOST_LINKED))
    near = said[-1].folder
    found.sparse["second_step"], found.sparse["siblings"] = state.once(
        ("further", newest.seed), lambda: evidence.further(state, newest, near[near != newest.seed])
    )
    pools.append(best(*found.sparse["second_step"], MOST_SECOND_STEP))
    pools.append(best(*found.sparse["siblings"], MOST_LINKED))
    for one in said:
        pools += [one.folder, one.namesakes]


@dataclass(frozen=True, slots=True)
class OneSeed:
    """Files linked to one seed, by folder, stem or reference."""

    seed: int
    sparse: dict[str, Scores]
    folder: Array
    namesakes: Array


def _one_seed(state: State, seed: int, author: int) -> OneSeed:
    answers = (*(source(state, seed) for source in _LINKS.values()), *evidence.lately(state, seed, author))
    stem = state.files.stem.view
    namesakes = (stem == stem[seed]).nonzero()[0][:MOST_LINKED].astype("<i4")
    return OneSeed(seed, dict(zip(_OF_SEED, answers, strict=True)), siblings(state, seed), namesakes)


_LINKS = {
    "imports": evidence.imported,
    "importers": evidence.importers,
    "defines": evidence.defining,
    "uses": evidence.using,
}
_OF_SEED = (*_LINKS, "lately", "lately_author", "beside")


def _by_text(state: State, found: Evidence, pools: list[Array], usable: Array) -> None:
    keys, seeds = found.query.keys, found.query.seeds
    if not keys:
        return
    said = state.once(("said", keys), partial(state.messages.saying, keys))
    found.nearest = state.once(("nearest", keys), partial(state.messages.nearest, said, FURTHER))
    found.sparse |= state.once(("text", keys), partial(_of_text, state, keys, said, found.nearest))
    if seeds:
        lately = seeds[-3:]
        found.sparse["past_alike"] = state.once(("alike", keys, lately), partial(past_alike, state, said, lately))
    found.sparse["voted_with_seeds"] = evidence.voted_with_seeds(found.nearest, seeds)
    most = {"message_words": MOST_LINKED, "voted": MOST_VOTED, **dict.fromkeys(_FIELDS, MOST_BY_WORDS)}
    pointed_at = [best(*found.sparse[name], most[name]) for name in most]
    pools += pointed_at
    found.topic = state.once(
        ("topic", keys, seeds), lambda: topic(state, found.sparse, np.concatenate(pointed_at), seeds, usable)
    )


def _of_text(state: State, keys: tuple[int, ...], said: Saying, nearest: Nearest) -> dict[str, Scores]:
    voted, voted_softly = evidence.voted(nearest)
    return {
        "voted": voted,
        "voted_softly": voted_softly,
        "message_words": evidence.message_words(state, said),
        **{name: getattr(state.contents, name).search(keys) for name in _FIELDS},
    }


_FIELDS = ("paths", "words", "names")


def _by_habit(state: State, found: Evidence, pools: list[Array], now: int) -> None:
    author = found.query.author
    sources = {
        "author": (state.once(("author", author), partial(evidence.of_author, state, author)), MOST_OF_AUTHOR),
        "recent": (state.once(("recent",), partial(evidence.recent, state)), MOST_RECENT),
        "interest": (evidence.interesting(state), MOST_RECENT),
        "opened_next": (evidence.opened_next(state, found.query, now), MOST_LINKED),
    }
    for name, (scores, most) in sources.items():
        found.sparse[name] = scores
        pools.append(best(*scores, most))


def siblings(state: State, seed: int) -> Array:
    """Return files of the same folder, the most recently changed first."""
    folder = state.folder_of.view
    same = (folder == folder[seed]).nonzero()[0]
    same = same[state.files.alive.view[same]]
    newest_first: Array = same[np.argsort(-state.files.last.view[same], kind="stable")]
    return newest_first[:MOST_SIBLINGS].astype("<i4")


def best(files: Array, values: Array, most: int) -> Array:
    """Return the `most` files with the highest values."""
    if len(files) <= most:
        return files
    return files[highest(values, most)]


def merged(scores: list[Scores]) -> Scores:
    """Add up several answers."""
    if len(scores) == 1:
        return scores[0]
    return summed(np.concatenate([files for files, _ in scores]), np.concatenate([values for _, values in scores]))
