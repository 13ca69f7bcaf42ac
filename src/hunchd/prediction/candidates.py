"""Generation of candidates: the best files from each evidence source.

A seed is a file that the query starts from, such as an open file. The scores from the sources are kept, because
features are computed from them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from hunchd.prediction import error_evidence, evidence
from hunchd.prediction.evidence import SeedCoChange
from hunchd.prediction.messages import MAX_SOFT_VOTERS, SimilarUnits, WordUnits
from hunchd.prediction.packed_arrays import Array, Scores, select_highest, sum_by_number
from hunchd.prediction.query import PredictionQuery
from hunchd.prediction.query_topic import QueryTopic, build_topic, score_similar_past
from hunchd.prediction.state import PredictorState

# Numbers of files ranked per source. Their union has about nine in ten of the files that a change goes on to touch.
MAX_TOGETHER = 110
MAX_TOGETHER_RECENTLY = 30
MAX_SECOND_STEP = 30
MAX_SIBLINGS = 40
MAX_LINKED = 30  # each of imports, importers, definitions, uses
MAX_RECENT = 50
MAX_OF_AUTHOR = 30
MAX_VOTED = 60
MAX_BY_WORDS = 50  # each of paths, contents, definitions


@dataclass(slots=True)
class QueryEvidence:
    """Scores from all evidence sources for one query."""

    query: PredictionQuery
    now: int  # seconds since the epoch
    files: Array  # the candidates
    together: list[SeedCoChange]
    nearest: SimilarUnits
    topic: QueryTopic | None = None
    seed_links: list[SeedLinks] = field(default_factory=list)  # by the newest seeds
    sparse: dict[str, Scores] = field(default_factory=dict)


def gather_candidates(state: PredictorState, query: PredictionQuery, now: int) -> QueryEvidence:
    """Query every source and take the best files from each as candidates.

    Results for a file, an author or a text are cached until something new is learned, because the same open file
    and the same branch name are queried again and again.
    """
    query_evidence = QueryEvidence(
        query,
        now,
        np.empty(0, "<i4"),
        [
            state.get_or_compute(("together", seed), partial(evidence.load_cochange, state, seed))
            for seed in query.seeds
        ],
        SimilarUnits.create_empty(),
    )
    usable = state.get_or_compute(("usable",), lambda: state.files.alive.view & ~state.mask_hubs())
    pools: list[Array] = [np.array(query.mentioned_files, "<i4")]
    if query.trace:
        pools.append(error_evidence.list_candidates(state, query.trace))
    _gather_by_seeds(state, query_evidence, pools)
    _gather_by_text(state, query_evidence, pools, usable)
    _gather_by_habit(state, query_evidence, pools, now)
    is_named = np.zeros(len(usable), "?")
    is_named[np.concatenate(pools)] = True
    is_named &= usable
    if query.allows_revisits:  # hubs are not informative, but a file visited before may be revisited
        visited_files = query_evidence.sparse["interest"][0]
        is_named[visited_files] = state.files.alive.view[visited_files]
    is_named[list(query.visible_files)] = False
    query_evidence.files = is_named.nonzero()[0]
    return query_evidence


def _gather_by_seeds(state: PredictorState, query_evidence: QueryEvidence, pools: list[Array]) -> None:
    for first in query_evidence.together:
        pools.append(select_best(first.row["file"], first.long, MAX_TOGETHER))
        pools.append(select_best(first.row["file"], first.short, MAX_TOGETHER_RECENTLY))
    seeds = query_evidence.query.seeds
    if not seeds:
        return
    newest, author = query_evidence.together[-1], query_evidence.query.author
    seed_links = [
        state.get_or_compute(("seed", seed, author), partial(_load_seed_links, state, seed, author))
        for seed in seeds[-3:]
    ]
    query_evidence.seed_links = seed_links
    for name in _SEED_SOURCES:
        query_evidence.sparse[name] = merge_scores([one.sparse[name] for one in seed_links])
        pools.append(select_best(*query_evidence.sparse[name], MAX_LINKED))
    near = seed_links[-1].folder
    query_evidence.sparse["second_step"], query_evidence.sparse["siblings"] = state.get_or_compute(
        ("further", newest.seed), lambda: evidence.score_second_steps(state, newest, near[near != newest.seed])
    )
    pools.append(select_best(*query_evidence.sparse["second_step"], MAX_SECOND_STEP))
    pools.append(select_best(*query_evidence.sparse["siblings"], MAX_LINKED))
    for one in seed_links:
        pools += [one.folder, one.namesakes]


@dataclass(frozen=True, slots=True)
class SeedLinks:
    """Files linked to a seed.

    A linked file is in the seed's folder or has the same file stem, or one of the two files refers to the other.
    """

    seed: int
    sparse: dict[str, Scores]
    folder: Array
    namesakes: Array


def _load_seed_links(state: PredictorState, seed: int, author: int) -> SeedLinks:
    answers = (*(source(state, seed) for source in _LINKS.values()), *evidence.score_recent_units(state, seed, author))
    stem = state.files.stem.view
    namesakes = (stem == stem[seed]).nonzero()[0][:MAX_LINKED].astype("<i4")
    return SeedLinks(seed, dict(zip(_SEED_SOURCES, answers, strict=True)), list_siblings(state, seed), namesakes)


_LINKS = {
    "imports": evidence.score_imported,
    "importers": evidence.score_importers,
    "defines": evidence.score_definers,
    "uses": evidence.score_users,
}
_SEED_SOURCES = (*_LINKS, "lately", "lately_author", "beside")


def _gather_by_text(state: PredictorState, query_evidence: QueryEvidence, pools: list[Array], usable: Array) -> None:
    keys, seeds = query_evidence.query.keys, query_evidence.query.seeds
    if not keys:
        return
    word_units = state.get_or_compute(("said", keys), partial(state.messages.find_units_by_words, keys))
    query_evidence.nearest = state.get_or_compute(
        ("nearest", keys), partial(state.messages.find_similar_units, word_units, MAX_SOFT_VOTERS)
    )
    query_evidence.sparse |= state.get_or_compute(
        ("text", keys), partial(_score_text_sources, state, keys, word_units, query_evidence.nearest)
    )
    if seeds:
        newest_seeds = seeds[-3:]
        query_evidence.sparse["past_alike"] = state.get_or_compute(
            ("alike", keys, newest_seeds), partial(score_similar_past, state, word_units, newest_seeds)
        )
    query_evidence.sparse["voted_with_seeds"] = evidence.score_votes_with_seeds(query_evidence.nearest, seeds)
    most = {"message_words": MAX_LINKED, "voted": MAX_VOTED, **dict.fromkeys(_FIELDS, MAX_BY_WORDS)}
    pointed_at = [select_best(*query_evidence.sparse[name], most[name]) for name in most]
    pools += pointed_at
    query_evidence.topic = state.get_or_compute(
        ("topic", keys, seeds),
        lambda: build_topic(state, query_evidence.sparse, np.concatenate(pointed_at), seeds, usable),
    )


def _score_text_sources(
    state: PredictorState, keys: tuple[int, ...], word_units: WordUnits, nearest: SimilarUnits
) -> dict[str, Scores]:
    vote_scores, voted_softly = evidence.score_votes(nearest)
    return {
        "voted": vote_scores,
        "voted_softly": voted_softly,
        "message_words": evidence.score_message_words(state, word_units),
        **{name: getattr(state.contents, name).search(keys) for name in _FIELDS},
    }


_FIELDS = ("paths", "words", "names")


def _gather_by_habit(state: PredictorState, query_evidence: QueryEvidence, pools: list[Array], now: int) -> None:
    author = query_evidence.query.author
    sources = {
        "author": (
            state.get_or_compute(("author", author), partial(evidence.score_author_files, state, author)),
            MAX_OF_AUTHOR,
        ),
        "recent": (state.get_or_compute(("recent",), partial(evidence.score_recent_files, state)), MAX_RECENT),
        "interest": (evidence.score_session_interest(state), MAX_RECENT),
        "opened_next": (evidence.score_opened_next(state, query_evidence.query, now), MAX_LINKED),
    }
    for name, (scores, most) in sources.items():
        query_evidence.sparse[name] = scores
        pools.append(select_best(*scores, most))


def list_siblings(state: PredictorState, seed: int) -> Array:
    """Return the files in the folder of `seed`, most recently changed first."""
    folder = state.folder_of.view
    same = (folder == folder[seed]).nonzero()[0]
    same = same[state.files.alive.view[same]]
    newest_first: Array = same[np.argsort(-state.files.last.view[same], kind="stable")]
    return newest_first[:MAX_SIBLINGS].astype("<i4")


def select_best(files: Array, values: Array, limit: int) -> Array:
    """Return the `limit` files with the highest values."""
    if len(files) <= limit:
        return files
    return files[select_highest(values, limit)]


def merge_scores(scores: list[Scores]) -> Scores:
    """Add up the scores from several sources, file by file."""
    if len(scores) == 1:
        return scores[0]
    return sum_by_number(
        np.concatenate([files for files, _ in scores]), np.concatenate([values for _, values in scores])
    )
