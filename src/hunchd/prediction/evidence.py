"""What speaks for which file: each source answers a query with files and how strongly it speaks for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hunchd.prediction.messages import Nearest
from hunchd.prediction.packed import Array
from hunchd.prediction.query import Query
from hunchd.prediction.state import State

Scores = tuple[Array, Array]  # file numbers, once each, and a value for each

DEFINED_ONCE = 5  # files: a name that more of them define is a habit, not a symbol
USED_RARELY = 60  # files: a name that more of them use ties nothing together
NEWEST_OF_AUTHOR = 12  # units
RECENT_UNITS = 60
PRIOR = 0.7  # weight added to a file's own past before shares are taken: a single change proves little


def nothing() -> Scores:
    return np.empty(0, "<i4"), np.empty(0, "<f4")


def summed(files: Array, values: Array) -> Scores:
    """The same files once each, their values added."""
    if not len(files):
        return nothing()
    unique, inverse = np.unique(files, return_inverse=True)
    return unique.astype("<i4"), np.bincount(inverse, weights=values).astype("<f4")


@dataclass(frozen=True, slots=True)
class Together:
    """Co-change of one seed: its row, the row's decayed weights, and the seed's own."""

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
        return self.short / (self.own_short + PRIOR)


def together(state: State, seed: int) -> Together:
    row, long, short = state.together.neighbours(seed, state.now)
    own_long, own_short = state.files.faded(np.array([seed]), state.now)
    return Together(seed, row, long, short, float(own_long[0]), float(own_short[0]))


def second_step(state: State, first: Together, most: int = 12) -> Scores:
    """Neighbours of the strongest neighbours: sum over them of P(neighbour | seed) P(file | neighbour)."""
    if not len(first.row):
        return nothing()
    shares = first.shares
    order = np.argsort(-shares, kind="stable")[:most]
    files, values = [], []
    for place in order.tolist():
        step = together(state, int(first.row["file"][place]))
        files.append(step.row["file"])
        values.append(step.shares * shares[place])
    return summed(np.concatenate(files), np.concatenate(values))


def imported(state: State, seed: int) -> Scores:
    """Files that the seed imports; the name it wrote most fully counts most."""
    contents = state.contents
    found = [contents.modules.holders(int(key))[0] for key in contents.imports.keys_of(seed)]
    values = [np.full(len(files), 1.0 / len(files), "<f4") for files in found if len(files)]
    found = [files for files in found if len(files)]
    return _strongest(found, values)


def importers(state: State, seed: int) -> Scores:
    contents = state.contents
    found = [contents.imports.holders(int(key))[0] for key in contents.modules.keys_of(seed)]
    found = [files for files in found if len(files)]
    return _strongest(found, [np.full(len(files), 1.0 / np.log2(1 + len(files)), "<f4") for files in found])


def _strongest(found: list[Array], values: list[Array]) -> Scores:
    if not found:
        return nothing()
    files, weights = np.concatenate(found), np.concatenate(values)
    order = np.argsort(-weights, kind="stable")
    unique, first = np.unique(files[order], return_index=True)
    return unique, weights[order][first]


def defining(state: State, seed: int) -> Scores:
    """Files that define what the seed uses, rarer names counting more."""
    contents = state.contents
    files, values = [], []
    for key in contents.uses.keys_of(seed).tolist():
        definers, _ = contents.definitions.holders(key)
        if 0 < len(definers) <= DEFINED_ONCE:
            users = contents.uses.holder_count(key)
            files.append(definers)
            values.append(np.full(len(definers), 1.0 / (len(definers) * np.log2(2 + users)), "<f4"))
    return summed(np.concatenate(files), np.concatenate(values)) if files else nothing()


def using(state: State, seed: int) -> Scores:
    """Files that use what the seed defines; names defined or used in many files are left out."""
    contents = state.contents
    files, values = [], []
    for key in contents.definitions.keys_of(seed).tolist():
        definers = contents.definitions.holder_count(key)
        users, _ = contents.uses.holders(key)
        if definers <= DEFINED_ONCE and 0 < len(users) <= USED_RARELY:
            files.append(users)
            values.append(np.full(len(users), 1.0 / (definers * np.log2(2 + len(users))), "<f4"))
    return summed(np.concatenate(files), np.concatenate(values)) if files else nothing()


def voted(state: State, nearest: Nearest) -> Scores:
    """Files of the nearest past units: squared similarity, shared among a unit's files."""
    if not len(nearest.units):
        return nothing()
    files, which = state.messages.flattened(nearest.units)
    votes = nearest.similarity**2 / np.sqrt(state.messages.size_of(nearest.units))
    return summed(files, votes[which])


def voted_with_seeds(state: State, nearest: Nearest, seeds: tuple[int, ...]) -> Scores:
    """As `voted`, but only units that touched a seed too."""
    if not len(nearest.units) or not seeds:
        return nothing()
    files, which = state.messages.flattened(nearest.units)
    touching = np.zeros(len(nearest.units), "?")
    touching[which[np.isin(files, seeds)]] = True
    kept = touching[which]
    votes = nearest.similarity / np.sqrt(state.messages.size_of(nearest.units))
    return summed(files[kept], votes[which[kept]])


def of_author(state: State, author: int) -> Scores:
    """What this author touched in their last units, the newest counting most."""
    if not author:
        return nothing()
    units = state.messages.units_of_author(author, NEWEST_OF_AUTHOR)
    if not len(units):
        return nothing()
    files, which = state.messages.flattened(units)
    return summed(files, 1.0 / (1.0 + which))


def recent(state: State) -> Scores:
    """What anybody touched in the last units."""
    files = state.messages.files_since(state.now - RECENT_UNITS)
    unique = np.unique(files)
    return unique, 1.0 / np.log2(2.0 + state.now - state.files.last.view[unique])


def interesting(state: State) -> Scores:
    interest = state.session.interest()
    return np.array(list(interest), "<i4"), np.array(list(interest.values()), "<f4")


def opened_next(state: State, query: Query, now: int) -> Scores:
    rows = [state.session.followers(seed, now) for seed in query.seeds[-3:]]
    files = np.array([file for row in rows for file in row], "<i4")
    return summed(files, np.array([value for row in rows for value in row.values()], "<f4"))
