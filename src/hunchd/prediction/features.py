"""Features of candidates: one row for each file, one column for each feature.

All rankers use the same features. A seed is a file that the query starts from, such as an open file.
"""

from __future__ import annotations

import numpy as np

from hunchd.prediction.candidates import QueryEvidence
from hunchd.prediction.evidence import SeedCoChange
from hunchd.prediction.file_table import CODE, DOCUMENT, GENERATED_FILE, TEST
from hunchd.prediction.packed_arrays import Array, Scores, mask_members
from hunchd.prediction.state import PredictorState

FEATURES = (
    # changed together with the seeds
    "together_long",  # P(file | seed), half-life 2,000 units, mean over seeds
    "together_short",  # the same, half-life 100
    "together_confidence",  # times together / times the seed changed (ROSE)
    "together_reverse",  # times together / times the file changed
    "together_count",  # log of times together
    "together_age",  # 1 / log2(2 + units since last together)
    "together_lift",  # log of the observed over the expected number of times together
    "together_rank",  # 1 / rank by together_long
    "together_best",  # highest P over seeds
    "second_step",
    "folders_together",
    "lately",  # decayed by the units that touched the seed
    "lately_author",
    "beside",  # in the units just before and after the seed's
    "siblings",  # changes together with other files in the seed's folder
    # structure
    "same_folder",
    "shared_prefix",  # share of leading path parts in common
    "path_likeness",  # Jaccard of path words
    "same_stem",
    "same_suffix",
    "imports",
    "importers",
    "defines",
    "uses",
    "likeness",  # cosine of heaviest words
    # text
    "voted",  # nearest past units
    "voted_raw",
    "voted_rank",
    "voted_softly",
    "voted_with_seeds",
    "message_words",
    "path_words",
    "path_words_raw",
    "content_words",
    "content_words_raw",
    "name_words",
    "stem_in_text",
    "mentioned",
    "pointed_at",  # all word sources combined
    "pointed_at_rank",
    "with_leads",  # changes together with the leads, the files with the highest pointed_at
    "with_lead",  # the same, for the lead with which it changes most often
    "past_alike",  # in past units of the seeds, weighted by similarity to the text
    # habit
    "recency",
    "popularity_long",
    "popularity_short",
    "changes",  # log of times changed
    "days",  # 1 / log2(2 + days since the file changed)
    "author",
    "author_last",
    "interest",
    "opened_next",
    "traced",
    # kind
    "is_test",
    "is_document",
    "is_generated",
    "is_code",
    "depth",
    "size",  # log of the number of words in the file
    "seed_is_test",
    "seed_is_code",
    # the query itself: equal for all its candidates
    "seed_changes",
    "seeds",
    "words",
    "units_log",
    "files_log",
    "nearest_similarity",
)
# With this many times more scores than candidates, a lookup by candidate is faster than spreading all scores.
SPREAD_LIMIT = 4
FEATURE_INDEX = {name: index for index, name in enumerate(FEATURES)}


def compute_features(state: PredictorState, query_evidence: QueryEvidence) -> Array:
    """Return the candidates' feature matrix as float32."""
    files = query_evidence.files
    by_feature = np.zeros((len(FEATURES), len(files)), "<f4")
    if not len(files):
        return by_feature.T
    lookup = _ScoreLookup(len(state.files), files)
    columns: dict[str, Array | float] = {}
    if query_evidence.together:
        columns.update(_compute_cochange(state, query_evidence, lookup))
        columns.update(_compute_structure(state, query_evidence, lookup))
    columns.update(_compute_text(state, query_evidence, lookup))
    columns.update(_compute_habit(state, query_evidence, lookup))
    columns.update(_compute_kind(state, query_evidence))
    for name, values in columns.items():
        by_feature[FEATURE_INDEX[name]] = values
    return by_feature.T


class _ScoreLookup:
    """Lookup of sparse scores for the candidates.

    Scores are copied to a dense scratch array. If there are many scores, they are found by bisection instead, and
    must be sorted by file.
    """

    def __init__(self, size: int, files: Array) -> None:
        self._scratch = np.zeros(size, "<f4")
        self._places = np.zeros(size, "<i4")
        self._files = files

    def __call__(self, files: Array, values: Array) -> Array:
        self._scratch[files] = values
        values_by_candidate: Array = self._scratch[self._files]
        self._scratch[files] = 0.0
        return values_by_candidate

    def lookup_rows(self, files: Array, values: list[Array]) -> Array:
        """Look up several kinds of values for the same files.

        Returns one row for each kind.
        """
        padded_rows = np.zeros((len(values), len(files) + 1), "<f4")
        padded_rows[:, 1:] = values
        self._places[files] = np.arange(1, len(files) + 1)
        rows: Array = padded_rows[:, self._places[self._files]]
        self._places[files] = 0
        return rows

    def lookup_scores(self, scores: Scores | None) -> Array | float:
        if scores is None or not len(scores[0]):
            return 0.0
        files, values = scores
        if len(files) <= SPREAD_LIMIT * len(self._files):
            return self(files, values)
        at = files.searchsorted(self._files)
        found_values: Array = values.take(at, mode="clip") * (files.take(at, mode="clip") == self._files)
        return found_values


def _compute_cochange(
    state: PredictorState, query_evidence: QueryEvidence, lookup: _ScoreLookup
) -> dict[str, Array | float]:
    by_seed = [
        lookup.lookup_rows(first.row["file"], _compute_seed_features(state, first)) for first in query_evidence.together
    ]
    total = sum(by_seed[1:], by_seed[0])
    columns: dict[str, Array | float] = dict(zip(_SEED_FEATURES, total / len(by_seed), strict=True))
    columns["together_rank"] = _compute_inverse_rank(total[0])
    columns["together_best"] = np.max([values[0] for values in by_seed], axis=0)
    columns["second_step"] = lookup.lookup_scores(query_evidence.sparse.get("second_step"))
    columns["folders_together"] = _compute_folder_cochange(state, query_evidence)
    for name in ("lately", "lately_author", "beside", "siblings"):
        columns[name] = lookup.lookup_scores(query_evidence.sparse.get(name))
    return columns


_SEED_FEATURES = (
    "together_long",
    "together_short",
    "together_confidence",
    "together_reverse",
    "together_count",
    "together_age",
    "together_lift",
)


def _compute_seed_features(state: PredictorState, first: SeedCoChange) -> list[Array]:
    """Compute the features in _SEED_FEATURES for the neighbours of a seed."""
    files, count = first.row["file"], first.row["count"].astype("<f4")
    changes = state.files.count.view
    own, theirs = float(max(changes[first.seed], 1)), np.maximum(changes[files], 1)
    return [
        first.shares,
        first.recent_shares,
        count / (own + 1.0),
        count / (theirs + 1.0),
        np.log1p(count),
        1.0 / np.log2(2.0 + state.unit_count - first.row["last"]),
        np.log1p(count * state.unit_count / (own * theirs)),
    ]


def _compute_folder_cochange(state: PredictorState, query_evidence: QueryEvidence) -> Array:
    """Return the share of each candidate's folder in the seeds' co-change."""
    numbers = state.folder_of.view
    scratch = np.zeros(len(state.folder_numbers), "<f4")
    for seed in query_evidence.query.seeds:
        row, long, _ = state.folders.load_neighbours(int(numbers[seed]), state.unit_count)
        if len(row):
            scratch[row["file"]] += long / (long.sum() + 1.0)
    shares: Array = scratch[numbers[query_evidence.files]] / max(len(query_evidence.query.seeds), 1)
    return shares


def _compute_structure(
    state: PredictorState, query_evidence: QueryEvidence, lookup: _ScoreLookup
) -> dict[str, Array | float]:
    table, files, folder_of = state.files, query_evidence.files, state.folder_of.view
    newest = query_evidence.query.seeds[-1]
    columns: dict[str, Array | float] = {
        "same_folder": (table.folder.view[files] == table.folder.view[newest]).astype("<f4"),
        "same_suffix": (table.suffix.view[files] == table.suffix.view[newest]).astype("<f4"),
        "same_stem": _mask_any_of(table.stem.view[files], table.stem.view[list(query_evidence.query.seeds)]),
        "shared_prefix": state.folder_paths.compute_common_prefix(int(folder_of[newest]), folder_of[files]),
        "path_likeness": _compute_path_similarity(state, newest, files),
        "likeness": _mean_columns(
            [state.contents.compute_similarity(seed, files) for seed in query_evidence.query.seeds[-3:]]
        ),
    }
    for name in ("imports", "importers", "defines", "uses"):
        columns[name] = np.log1p(lookup.lookup_scores(query_evidence.sparse.get(name)))
    return columns


def _mean_columns(columns: list[Array]) -> Array:
    mean: Array = columns[0] if len(columns) == 1 else np.mean(columns, axis=0)
    return mean


def _mask_any_of(values: Array, few: Array) -> Array:
    """Return 1 for values that are among `few`, and 0 otherwise."""
    hits = np.zeros(len(values), "<f4")
    for one in few.tolist():
        hits[values == one] = 1.0
    return hits


def _compute_path_similarity(state: PredictorState, seed: int, files: Array) -> Array:
    field = state.contents.paths
    own = field.get_keys(seed)
    keys, which = field.get_keys_of_files(files)
    sizes = np.bincount(which, minlength=len(files))
    common = np.bincount(which, weights=_mask_any_of(keys, own), minlength=len(files))
    similarity: Array = common / np.maximum(len(own) + sizes - common, 1.0)
    return similarity


def _compute_text(
    state: PredictorState, query_evidence: QueryEvidence, lookup: _ScoreLookup
) -> dict[str, Array | float]:
    query, files = query_evidence.query, query_evidence.files
    if not query.keys and not query.mentioned_files:
        return {}
    columns: dict[str, Array | float] = {"words": float(np.log1p(len(query.keys)))}
    columns["mentioned"] = _mask_any_of(files, np.array(query.mentioned_files, "<i4"))
    columns["stem_in_text"] = mask_members(state.files.stem.view[files], np.sort(np.array(query.keys, "<u4")))
    for name, source in (("path_words", "paths"), ("content_words", "words"), ("name_words", "names")):
        raw = lookup.lookup_scores(query_evidence.sparse.get(source))
        if isinstance(raw, np.ndarray):
            columns[name] = _normalise(raw)
            if f"{name}_raw" in FEATURE_INDEX:
                columns[f"{name}_raw"] = raw / max(len(query.keys), 1)
    vote_scores = lookup.lookup_scores(query_evidence.sparse.get("voted"))
    if isinstance(vote_scores, np.ndarray):
        columns["voted"], columns["voted_raw"] = _normalise(vote_scores), vote_scores
        columns["voted_rank"] = _compute_inverse_rank(vote_scores)
        columns["nearest_similarity"] = float(query_evidence.nearest.similarity[0])
    for name in ("voted_softly", "message_words"):
        scores = lookup.lookup_scores(query_evidence.sparse.get(name))
        columns[name] = _normalise(scores) if isinstance(scores, np.ndarray) else scores
    for name in ("voted_with_seeds", "past_alike"):
        columns[name] = lookup.lookup_scores(query_evidence.sparse.get(name))
    if query_evidence.topic is not None:
        columns["pointed_at"] = pointed_at = query_evidence.topic.compute_strength(files)
        columns["pointed_at_rank"] = _compute_inverse_rank(pointed_at)
        columns["with_leads"] = lookup.lookup_scores(query_evidence.topic.with_leads)
        columns["with_lead"] = lookup.lookup_scores(query_evidence.topic.with_lead)
    return columns


def _compute_habit(
    state: PredictorState, query_evidence: QueryEvidence, lookup: _ScoreLookup
) -> dict[str, Array | float]:
    table, files, now = state.files, query_evidence.files, state.unit_count
    long, short = table.decayed_weights(files, now)
    last = table.last.view[files]
    author = lookup.lookup_scores(query_evidence.sparse.get("author"))
    return {
        "recency": np.where(last >= 0, 1.0 / np.log2(2.0 + now - last), 0.0),
        "popularity_long": np.log1p(long),
        "popularity_short": np.log1p(short),
        "changes": np.log1p(table.count.view[files]),
        "days": _compute_days(state, last, query_evidence.now),
        "author": author,
        "author_last": (author >= 1.0).astype("<f4") if isinstance(author, np.ndarray) else 0.0,
        "interest": np.log1p(lookup.lookup_scores(query_evidence.sparse.get("interest"))),
        "opened_next": lookup.lookup_scores(query_evidence.sparse.get("opened_next")),
        "traced": _compute_traced(query_evidence),
        "units_log": float(np.log1p(now)),
        "files_log": float(np.log1p(len(table))),
    }


def _compute_days(state: PredictorState, last: Array, now: int) -> Array:
    at = state.messages.at.view
    if not len(at):
        return np.zeros(len(last), "<f4")
    days = np.maximum(now - at[np.maximum(last, 0)], 0) / 86_400
    return np.where(last >= 0, 1.0 / np.log2(2.0 + days), 0.0)


def _compute_traced(query_evidence: QueryEvidence) -> Array | float:
    """Return 1 for the file that raised the error.

    Files of other stack frames get less. Returns 0 if the query has no traceback.
    """
    if not query_evidence.query.trace.files:
        return 0.0
    places = {file: 1.0 / (1 + place) for place, file in enumerate(query_evidence.query.trace.files)}
    return np.array([places.get(file, 0.0) for file in query_evidence.files.tolist()], "<f4")


def _compute_kind(state: PredictorState, query_evidence: QueryEvidence) -> dict[str, Array | float]:
    traits, files = state.files.traits.view, query_evidence.files
    own = traits[files]
    columns: dict[str, Array | float] = {
        "is_test": (own & TEST) > 0,
        "is_document": (own & DOCUMENT) > 0,
        "is_generated": (own & GENERATED_FILE) > 0,
        "is_code": (own & CODE) > 0,
        "depth": state.files.depth.view[files],
        "size": np.log1p(state.contents.words.get_lengths(files)),
        "seeds": float(len(query_evidence.query.seeds)),
    }
    if query_evidence.query.seeds:
        newest = query_evidence.query.seeds[-1]
        columns["seed_is_test"] = float(bool(traits[newest] & TEST))
        columns["seed_is_code"] = float(bool(traits[newest] & CODE))
        columns["seed_changes"] = float(np.log1p(state.files.count.view[newest]))
    return columns


def _normalise(values: Array) -> Array:
    """Divide the values by the highest one.

    How well words match differs from query to query, so the values can be compared only within one query.
    """
    highest = float(values.max()) if len(values) else 0.0
    return values / highest if highest > 0 else values


def _compute_inverse_rank(values: Array) -> Array:
    """Return 1 for the highest value, 1/2 for the next, and so on.

    Files without a value get 0.
    """
    ranks = np.zeros(len(values), "<f4")
    some = (values > 0).nonzero()[0]
    order = (-values[some]).argsort(kind="stable")
    ranks[some[order]] = 1.0 / np.arange(1, len(some) + 1)
    return ranks
