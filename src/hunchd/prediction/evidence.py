"""Evidence sources: each answers a query with files and scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hunchd.prediction.fields import Field
from hunchd.prediction.messages import NEAREST, Nearest, Saying
from hunchd.prediction.packed import Array, Scores, among, distinct, nothing, strongest, summed, summed_each
from hunchd.prediction.query import Query
from hunchd.prediction.state import State
from hunchd.text.bm25 import LARGEST_GAIN, LENGTH_WEIGHT, SATURATION

DEFINED_ONCE = 5  # files: a name that more of them define is a convention, not a symbol
USED_RARELY = 60  # files: a name that more of them use links nothing
NEWEST_OF_AUTHOR = 12  # units
RECENT_UNITS = 60
NEWEST_OF_SEED = 30  # units
STEPS = np.array([[-2], [-1], [1], [2]], "<i4")  # offsets from a unit to its neighbours
LATELY = 0.85  # decay by unit of the seed
MOST_STEPS = 12  # neighbours whose neighbours are visited
MOST_SIBLINGS = 6
MOST_LINKS = 32  # names by which links of a file are followed
MEAN_CHANGES = 12.0  # changes of an average file, for the BM25 length normalisation
PRIOR = 0.7  # smoothing weight added to a file's own changes: a single change proves little


@dataclass(frozen=True, slots=True)
class Together:
    """Co-change of one seed.

    It consists of its row, the row's decayed weights, and the seed's own weights.
    """

    seed: int
    row: Array
    long: Array
    short: Array
    own_long: float
    own_short: float

    @property
    def shares(self) -> Array:
        """P(file | seed), smoothed."""
        return self.long / (self.own_long + PRIOR)

    @property
    def recent_shares(self) -> Array:
        """P(file | seed) by the short-lived weights, smoothed."""
        return self.short / (self.own_short + PRIOR)


def together(state: State, seed: int) -> Together:
    """Return the co-change of one seed."""
    row, long, short = state.together.neighbours(seed, state.now)
    own_long, own_short = state.files.faded_of(seed, state.now)
    return Together(seed, row, long, short, own_long, own_short)


def further(state: State, first: Together, siblings: Array) -> tuple[Scores, Scores]:
    """Return scores of files that change together with others than the seed.

    First, neighbours of the strongest neighbours: the sum over them of P(neighbour | seed) P(file | neighbour).
    Second, files that change together with the seed's neighbours in the folder, which is all the evidence for a new
    file.
    """
    shares = first.shares
    strongest = (-shares).argsort(kind="stable")[:MOST_STEPS]
    through = np.concatenate((first.row["file"][strongest], siblings[:MOST_SIBLINGS]))
    files, values, which = state.together.shares_of(through, state.files, state.now, PRIOR)
    near = which >= len(strongest)
    step = ~near
    second, beside = summed_each(
        [
            (files[step], values[step] * shares[strongest][which[step]]),
            (files[near], values[near] / max(len(through) - len(strongest), 1)),
        ]
    )
    return second, beside


def imported(state: State, seed: int) -> Scores:
    """Return the files that the seed imports.

    The most specific name counts most.
    """
    contents = state.contents
    files, _, which = contents.modules.holders_of(contents.imports.keys_of(seed))
    return strongest(files, 1.0 / np.bincount(which)[which])


def importers(state: State, seed: int) -> Scores:
    """Return the files that import the seed."""
    contents = state.contents
    files, _, which = contents.imports.holders_of(contents.modules.keys_of(seed))
    return strongest(files, 1.0 / np.log2(1 + np.bincount(which))[which])


def defining(state: State, seed: int) -> Scores:
    """Return the files that define what the seed uses.

    Rare names count more.
    """
    contents = state.contents
    keys = contents.uses.keys_of(seed)
    definers, users = contents.definitions.frequencies(keys), contents.uses.frequencies(keys)
    kept = (definers > 0) & (definers <= DEFINED_ONCE)
    weights = 1.0 / (np.maximum(definers, 1) * np.log2(2.0 + users))
    return _held(contents.definitions, keys[kept], weights[kept])


def using(state: State, seed: int) -> Scores:
    """Return the files that use what the seed defines.

    Names that are defined or used in many files are left out.
    """
    contents = state.contents
    keys = contents.definitions.keys_of(seed)
    definers, users = contents.definitions.frequencies(keys), contents.uses.frequencies(keys)
    kept = (definers <= DEFINED_ONCE) & (users > 0) & (users <= USED_RARELY)
    weights = 1.0 / (np.maximum(definers, 1) * np.log2(2.0 + users))
    return _held(contents.uses, keys[kept], weights[kept])


def _held(field: Field, keys: Array, weights: Array) -> Scores:
    """Sum the weights of the keys that each file contains."""
    if not len(keys):
        return nothing()
    order = (-weights).argsort(kind="stable")[:MOST_LINKS]
    files, _, which = field.holders_of(keys[order])
    return summed(files, weights[order][which])


def lately(state: State, seed: int, author: int) -> tuple[Scores, Scores, Scores]:
    """Return three scores from the seed's newest units.

    The files touched with it lately, decayed by the seed's own units rather than the project's; the same in units
    of this author; and files of the units just before and after by the same author: the next step of a piece of
    work is often a commit of its own.
    """
    units = state.messages.units_of_file(seed, NEWEST_OF_SEED)
    if not len(units):
        return nothing(), nothing(), nothing()
    files, sizes = state.messages.flattened(units)
    fading = (LATELY ** np.arange(len(units))).repeat(sizes)
    total = (1 - LATELY ** len(units)) / (1 - LATELY)
    said_by = np.log2(1.0 + sizes).repeat(sizes)
    authors = state.messages.author.view
    by = authors[units]
    around, by_around = (units + STEPS).ravel(), np.tile(by, len(STEPS))
    inside = (around >= 0) & (around < state.now)
    around = around[inside]
    around = distinct(around[authors[around] == by_around[inside]])
    around = around[~among(around, units[::-1])]
    beside, around_sizes = state.messages.flattened(around)
    share = 1.0 / (np.log2(1.0 + np.maximum(around_sizes, 1)) * (1.0 + len(units)))
    own = (by == author).repeat(sizes)
    touched, by_author, around_it = summed_each(
        [
            (files, fading / (said_by * (total + PRIOR))),
            (files[own], 1.0 / said_by[own]) if author else nothing(),
            (beside, share.repeat(around_sizes)),
        ]
    )
    return touched, by_author, around_it


def message_words(state: State, said: Saying) -> Scores:
    """Return BM25 over all messages of a file's units as one document."""
    messages = state.messages
    if not len(said.units):
        return nothing()
    files, sizes = messages.flattened(said.units)
    ends = np.concatenate(([0], sizes.cumsum()))[said.sizes.cumsum()]  # by word, in `files`
    shares = (1.0 / np.sqrt(np.maximum(sizes, 1))).repeat(sizes)
    counts = np.bincount(state.places_of(files, ends), weights=shares)
    pairs = (counts != 0).nonzero()[0]
    counts, files = counts[pairs].astype("<f4"), files[pairs]
    until = pairs.searchsorted(ends)
    until[1:] -= until[:-1]
    rarity = said.rarity.repeat(until)
    changes = np.maximum(state.files.count.view.take(files), 1)
    norms = SATURATION * (1 - LENGTH_WEIGHT + (LENGTH_WEIGHT / MEAN_CHANGES) * changes)
    return summed(files, rarity * counts * LARGEST_GAIN / (counts + norms))


def voted(nearest: Nearest) -> tuple[Scores, Scores]:
    """Return two votes of the nearest past units for their files.

    The first NEAREST vote with squared similarity, shared among a unit's files; all vote with plain similarity.
    """
    few = nearest.first(NEAREST)
    hard, soft = summed_each(
        [
            (few.files, (few.similarity * few.similarity / few.roots)[few.which]),
            (nearest.files, (nearest.similarity / nearest.roots)[nearest.which]),
        ]
    )
    return hard, soft


def voted_with_seeds(nearest: Nearest, seeds: tuple[int, ...]) -> Scores:
    """Return the plain votes of units that touched a seed."""
    touching = np.zeros(len(nearest.units), "?")
    for seed in seeds:
        touching[nearest.which[nearest.files == seed]] = True
    kept = touching[nearest.which]
    return summed(nearest.files[kept], (nearest.similarity / nearest.roots)[nearest.which[kept]])


def of_author(state: State, author: int) -> Scores:
    """Return what this author touched in their last units.

    The newest unit counts most.
    """
    if not author:
        return nothing()
    units = state.messages.units_of_author(author, NEWEST_OF_AUTHOR)
    if not len(units):
        return nothing()
    files, sizes = state.messages.flattened(units)
    return summed(files, (1.0 / (1.0 + np.arange(len(units)))).repeat(sizes))


def recent(state: State) -> Scores:
    """Return what anybody touched in the last units."""
    files = state.messages.files_since(state.now - RECENT_UNITS)
    once = distinct(files)
    return once, 1.0 / np.log2(2.0 + state.now - state.files.last.view[once])


def interesting(state: State) -> Scores:
    """Return the files of the session with their degree of interest."""
    interest = state.session.interest()
    if not interest:
        return nothing()
    return np.array(list(interest), "<i4"), np.array(list(interest.values()), "<f4")


def opened_next(state: State, query: Query, now: int) -> Scores:
    """Return the files often opened after the newest seeds."""
    rows = [state.session.followers(seed, now) for seed in query.seeds[-3:]]
    if not any(rows):
        return nothing()
    files = np.array([file for row in rows for file in row], "<i4")
    return summed(files, np.array([value for row in rows for value in row.values()], "<f4"))
