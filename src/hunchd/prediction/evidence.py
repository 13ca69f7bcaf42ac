"""Sources of evidence; each returns files and scores for a query.

A seed is a file from which the query starts, such as an open file; a unit is a unit of work.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hunchd.prediction.field_index import FieldIndex
from hunchd.prediction.messages import MAX_VOTERS, SimilarUnits, WordUnits
from hunchd.prediction.packed_arrays import (
    Array,
    Scores,
    create_empty_scores,
    mask_members,
    max_by_number,
    sort_distinct,
    sum_by_number,
    sum_each_by_number,
)
from hunchd.prediction.query import PredictionQuery
from hunchd.prediction.state import PredictorState
from hunchd.prediction.words import hash_word
from hunchd.text.bm25 import LARGEST_GAIN, LENGTH_WEIGHT, SATURATION
from hunchd.text.identifiers import COMMON_NAMES

MAX_DEFINERS = 5  # files: a name that more of them define is a convention, not a symbol
MAX_USERS = 60  # files: a name that more of them use does not link any two
# Languages whose files import each name or module that they use: without an import, an equal name is a coincidence.
EXPLICIT_IMPORTS = (".py", ".pyi", ".ts", ".tsx", ".mts", ".js", ".jsx", ".mjs", ".vue", ".svelte")
MAX_LINKED_USERS = 8  # files: a name that more of them use links a file to its definer only with an import
MAX_AUTHOR_UNITS = 12  # units
RECENT_UNITS = 60
MAX_SEED_UNITS = 30  # units
NEIGHBOUR_OFFSETS = np.array([[-2], [-1], [1], [2]], "<i4")  # offsets from a unit to its neighbours
UNIT_DECAY = 0.85  # decay for each newer unit that touched the seed
MAX_STEPS = 12  # neighbours whose neighbours are visited
MAX_SIBLINGS = 6
MAX_LINKS = 32  # names through which the links of a file are followed
MEAN_CHANGES = 12.0  # changes of an average file, for the BM25 length normalisation
_COMMON_KEYS = np.sort(np.array([hash_word(name) for name in COMMON_NAMES], "<u4"))
PRIOR = 0.7  # smoothing weight added to the weight of a file's own changes: a single change proves little


@dataclass(frozen=True, slots=True)
class SeedCoChange:
    """Co-change of one seed.

    `row` contains the seed's neighbours, and `long` and `short` contain their decayed weights. `own_long` and
    `own_short` are the weights of the seed itself.
    """

    seed: int
    row: Array
    long: Array
    short: Array
    own_long: float
    own_short: float

    @property
    def shares(self) -> Array:
        """Smoothed P(file | seed)."""
        return self.long / (self.own_long + PRIOR)

    @property
    def recent_shares(self) -> Array:
        """Smoothed P(file | seed), computed from the short-lived weights."""
        return self.short / (self.own_short + PRIOR)


def load_cochange(state: PredictorState, seed: int) -> SeedCoChange:
    """Load the co-change of one seed, as of the newest unit."""
    row, long, short = state.together.load_neighbours(seed, state.unit_count)
    own_long, own_short = state.files.decayed_weights_of_file(seed, state.unit_count)
    return SeedCoChange(seed, row, long, short, own_long, own_short)


def score_second_steps(state: PredictorState, first: SeedCoChange, siblings: Array) -> tuple[Scores, Scores]:
    """Score the files related to the seed through a third file.

    The first result contains files that change together with the strongest neighbours of the seed; a score is the
    sum of P(neighbour | seed) P(file | neighbour) over these neighbours. The second result contains files that
    change together with `siblings`, other files in the folder of the seed. For a new file, the siblings are the
    only evidence.
    """
    shares = first.shares
    strongest = (-shares).argsort(kind="stable")[:MAX_STEPS]
    through = np.concatenate((first.row["file"][strongest], siblings[:MAX_SIBLINGS]))
    files, values, which = state.together.load_shares(through, state.files, state.unit_count, PRIOR)
    near = which >= len(strongest)
    step = ~near
    second, beside = sum_each_by_number(
        [
            (files[step], values[step] * shares[strongest][which[step]]),
            (files[near], values[near] / max(len(through) - len(strongest), 1)),
        ]
    )
    return second, beside


def score_imported(state: PredictorState, seed: int) -> Scores:
    """Score the files that the seed imports.

    The fewer files an import may refer to, the higher the score.
    """
    contents = state.contents
    files, _, which = contents.modules.find_holders_of_keys(contents.imports.get_keys(seed))
    return max_by_number(files, 1.0 / np.bincount(which)[which])


def score_importers(state: PredictorState, seed: int) -> Scores:
    """Score the files that import the seed."""
    contents = state.contents
    files, _, which = contents.imports.find_holders_of_keys(contents.modules.get_keys(seed))
    return max_by_number(files, 1.0 / np.log2(1 + np.bincount(which))[which])


def score_definers(state: PredictorState, seed: int) -> Scores:
    """Score the files that define names used in the seed.

    Rare names count more.
    """
    contents = state.contents
    keys = contents.uses.get_keys(seed)
    definers, users = contents.definitions.get_frequencies(keys), contents.uses.get_frequencies(keys)
    is_specific = (definers > 0) & (definers <= MAX_DEFINERS)
    weights = 1.0 / (np.maximum(definers, 1) * np.log2(2.0 + users))
    return _sum_weights(contents.definitions, keys[is_specific], weights[is_specific])


def score_users(state: PredictorState, seed: int) -> Scores:
    """Score the files that use names defined in the seed.

    Names that are defined or used in many files are skipped.
    """
    contents = state.contents
    keys = contents.definitions.get_keys(seed)
    definers, users = contents.definitions.get_frequencies(keys), contents.uses.get_frequencies(keys)
    is_specific = (definers <= MAX_DEFINERS) & (users > 0) & (users <= MAX_USERS)
    weights = 1.0 / (np.maximum(definers, 1) * np.log2(2.0 + users))
    return _sum_weights(contents.uses, keys[is_specific], weights[is_specific])


def imports_file(state: PredictorState, user: int, imported: int) -> bool:
    """Return True if `user` imports `imported` and the module name is unambiguous.

    The name is ambiguous if a file in a different folder has the same module name.
    """
    modules = state.contents.modules.get_keys(imported)
    if not mask_members(modules, np.sort(state.contents.imports.get_keys(user))).any():
        return False
    holders, _, _ = state.contents.modules.find_holders_of_keys(modules)
    return bool((state.files.folder.view[holders] == state.files.folder.view[imported]).all())


def find_linking_names(state: PredictorState, user: int, definer: int) -> Array:
    """Return the keys of the names that `user` uses from `definer`.

    A name that other files define as well, or that many files use, counts only if `user` imports `definer`. In
    languages with explicit imports, no name counts without the import.
    """
    contents = state.contents
    keys = contents.uses.get_keys(user)
    keys = keys[mask_members(keys, np.sort(contents.definitions.get_keys(definer)))]
    if not len(keys):
        return keys
    definers, users = contents.definitions.get_frequencies(keys), contents.uses.get_frequencies(keys)
    is_alone = (definers == 1) & (users <= MAX_LINKED_USERS) & ~mask_members(keys, _COMMON_KEYS)
    if imports_file(state, user, definer):
        is_proven = definers <= MAX_DEFINERS
    elif state.files.paths[user].endswith(EXPLICIT_IMPORTS):
        is_proven = np.zeros(len(keys), bool)
    else:
        is_proven = is_alone
    linking: Array = keys[is_proven]
    return linking


def _sum_weights(field: FieldIndex, keys: Array, weights: Array) -> Scores:
    """Add up, for each file, the weights of its keys.

    Only the MAX_LINKS keys with the highest weights are used.
    """
    if not len(keys):
        return create_empty_scores()
    order = (-weights).argsort(kind="stable")[:MAX_LINKS]
    files, _, which = field.find_holders_of_keys(keys[order])
    return sum_by_number(files, weights[order][which])


def score_recent_units(state: PredictorState, seed: int, author: int) -> tuple[Scores, Scores, Scores]:
    """Return three scores computed from the newest units that touched the seed.

    The first contains the files recently changed together with the seed; the scores decay with the number of units
    that touched the seed, not with all units in the project. The second is the same for the author's own units
    only, without decay. The third contains the files of other units that the same author made just before or after:
    the next step in a piece of work is often a separate commit.
    """
    units = state.messages.list_units_of_file(seed, MAX_SEED_UNITS)
    if not len(units):
        return create_empty_scores(), create_empty_scores(), create_empty_scores()
    files, sizes = state.messages.flatten_files(units)
    fading = (UNIT_DECAY ** np.arange(len(units))).repeat(sizes)
    total = (1 - UNIT_DECAY ** len(units)) / (1 - UNIT_DECAY)
    said_by = np.log2(1.0 + sizes).repeat(sizes)
    authors = state.messages.author.view
    by = authors[units]
    around, by_around = (units + NEIGHBOUR_OFFSETS).ravel(), np.tile(by, len(NEIGHBOUR_OFFSETS))
    inside = (around >= 0) & (around < state.unit_count)
    around = around[inside]
    around = sort_distinct(around[authors[around] == by_around[inside]])
    around = around[~mask_members(around, units[::-1])]
    beside, around_sizes = state.messages.flatten_files(around)
    share = 1.0 / (np.log2(1.0 + np.maximum(around_sizes, 1)) * (1.0 + len(units)))
    own = (by == author).repeat(sizes)
    touched_scores, author_scores, adjacent_scores = sum_each_by_number(
        [
            (files, fading / (said_by * (total + PRIOR))),
            (files[own], 1.0 / said_by[own]) if author else create_empty_scores(),
            (beside, share.repeat(around_sizes)),
        ]
    )
    return touched_scores, author_scores, adjacent_scores


def score_message_words(state: PredictorState, word_units: WordUnits) -> Scores:
    """Score files with BM25 by the words in commit messages.

    The messages of all units that touched a file are taken as one document.
    """
    messages = state.messages
    if not len(word_units.units):
        return create_empty_scores()
    files, sizes = messages.flatten_files(word_units.units)
    ends = np.concatenate(([0], sizes.cumsum()))[word_units.sizes.cumsum()]  # by word, in `files`
    shares = (1.0 / np.sqrt(np.maximum(sizes, 1))).repeat(sizes)
    counts = np.bincount(state.group_equal_files(files, ends), weights=shares)
    pairs = (counts != 0).nonzero()[0]
    counts, files = counts[pairs].astype("<f4"), files[pairs]
    until = pairs.searchsorted(ends)
    until[1:] -= until[:-1]
    rarity = word_units.rarity.repeat(until)
    changes = np.maximum(state.files.count.view.take(files), 1)
    norms = SATURATION * (1 - LENGTH_WEIGHT + (LENGTH_WEIGHT / MEAN_CHANGES) * changes)
    return sum_by_number(files, rarity * counts * LARGEST_GAIN / (counts + norms))


def score_votes(nearest: SimilarUnits) -> tuple[Scores, Scores]:
    """Return two scores from the past units most similar to the text.

    In the first, the MAX_VOTERS most similar units vote for their files with the square of the similarity. In the
    second, all units vote with the similarity itself. A vote is divided by the square root of the number of files
    in the unit.
    """
    few = nearest.take_first(MAX_VOTERS)
    hard, soft = sum_each_by_number(
        [
            (few.files, (few.similarity * few.similarity / few.roots)[few.which]),
            (nearest.files, (nearest.similarity / nearest.roots)[nearest.which]),
        ]
    )
    return hard, soft


def score_votes_with_seeds(nearest: SimilarUnits, seeds: tuple[int, ...]) -> Scores:
    """Return the second score of `score_votes`, with fewer voters.

    Only units that touched a seed vote.
    """
    touching = np.zeros(len(nearest.units), "?")
    for seed in seeds:
        touching[nearest.which[nearest.files == seed]] = True
    is_touching = touching[nearest.which]
    return sum_by_number(nearest.files[is_touching], (nearest.similarity / nearest.roots)[nearest.which[is_touching]])


def score_author_files(state: PredictorState, author: int) -> Scores:
    """Score the files in this author's most recent units.

    The newest unit counts most.
    """
    if not author:
        return create_empty_scores()
    units = state.messages.list_units_of_author(author, MAX_AUTHOR_UNITS)
    if not len(units):
        return create_empty_scores()
    files, sizes = state.messages.flatten_files(units)
    return sum_by_number(files, (1.0 / (1.0 + np.arange(len(units)))).repeat(sizes))


def score_recent_files(state: PredictorState) -> Scores:
    """Score the files that any author touched in the most recent units."""
    files = state.messages.list_files_since(state.unit_count - RECENT_UNITS)
    once = sort_distinct(files)
    return once, 1.0 / np.log2(2.0 + state.unit_count - state.files.last.view[once])


def score_session_interest(state: PredictorState) -> Scores:
    """Return the session's files with their degree of interest as scores."""
    interest = state.session.compute_interest()
    if not interest:
        return create_empty_scores()
    return np.array(list(interest), "<i4"), np.array(list(interest.values()), "<f4")


def score_opened_next(state: PredictorState, query: PredictionQuery, now: int) -> Scores:
    """Score the files that are often opened after the newest seeds."""
    rows = [state.session.compute_followers(seed, now) for seed in query.seeds[-3:]]
    if not any(rows):
        return create_empty_scores()
    files = np.array([file for row in rows for file in row], "<i4")
    return sum_by_number(files, np.array([value for row in rows for value in row.values()], "<f4"))
