"""Topic of a text: the files that it points to most strongly, and their co-change.

All evidence sources that match words contribute to the topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hunchd.prediction.evidence import PRIOR
from hunchd.prediction.messages import WordUnits
from hunchd.prediction.packed_arrays import (
    Array,
    Scores,
    create_empty_scores,
    max_by_number,
    sort_distinct,
    sum_by_number,
)
from hunchd.prediction.state import PredictorState

SOURCES = ("paths", "words", "voted", "message_words")
MAX_LEADS = 8  # files
MAX_PAST_UNITS = 64  # units of an open file
UNIT_DECAY = 0.97  # decay for each newer unit that touched the file
BASE_UNIT_WEIGHT = 0.05  # weight of a unit that shares no word with the text
SHARE_PRIOR = 0.1  # smoothing weight added to the weight of a file's own changes


@dataclass(frozen=True, slots=True)
class QueryTopic:
    """Files that a text points to.

    The files with the highest strength are called leads. `with_leads` scores files by their weighted mean co-change
    with all leads, and `with_lead` by their co-change with the one lead with which they change most often.
    """

    leads: Array
    strength: Array  # by file
    strongest: float
    with_leads: Scores
    with_lead: Scores

    def compute_strength(self, files: Array) -> Array:
        """Return how strongly the text points to each file.

        A strength is between 0 and 1.
        """
        relative_strength: Array = self.strength[files] / self.strongest
        return relative_strength


def build_topic(
    state: PredictorState,
    scores_by_source: Mapping[str, Scores],
    likely_files: Array,
    seeds: tuple[int, ...],
    usable: Array,
) -> QueryTopic | None:
    """Build a topic from the scores of all sources that match words.

    Open and unusable files are left out. `likely_files` are the best files from each source, which include the
    strongest files overall. Returns None if the text does not point to any file.
    """
    strength = np.zeros(len(usable), "<f4")
    for files, values in (scores_by_source[name] for name in SOURCES):
        if len(files):
            strength[files] += values / max(float(values.max()), 1e-9)
    strength *= usable
    strength[list(seeds)] = 0.0
    top_strengths = np.sort(strength[sort_distinct(likely_files)])[-MAX_LEADS:]
    leads = (strength >= max(float(top_strengths[0]), 1e-9)).nonzero()[0] if len(top_strengths) else likely_files
    leads = leads[np.argsort(-strength[leads], kind="stable")][:MAX_LEADS].astype("<i4")
    if not len(leads):
        return None
    weights = strength[leads]
    others, shares, which = state.together.load_shares(leads, state.files, state.unit_count, PRIOR)
    return QueryTopic(
        leads,
        strength,
        weights[0],
        sum_by_number(others, shares * (weights / weights.sum())[which]),
        max_by_number(others, shares * (weights / weights[0])[which]),
    )


def score_similar_past(state: PredictorState, word_units: WordUnits, seeds: tuple[int, ...]) -> Scores:
    """Score the files in past units of work that touched the seeds.

    Units that share words with the text count most.
    """
    units, likeness = word_units.unit_scores
    whole = float((word_units.rarity * word_units.rarity).sum()) or 1.0
    parts = [_score_seed_past(state, seed, units, likeness / whole) for seed in seeds]
    files, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return sum_by_number(files, values / len(seeds))


def _score_seed_past(state: PredictorState, seed: int, units: Array, likeness: Array) -> Scores:
    past = state.messages.list_units_of_file(seed, MAX_PAST_UNITS)
    if not len(past):
        return create_empty_scores()
    weights = np.full(len(past), BASE_UNIT_WEIGHT)
    if len(units):
        at = np.minimum(units.searchsorted(past), len(units) - 1)
        weights += np.where(units[at] == past, likeness[at], 0.0)
    weights *= UNIT_DECAY ** np.arange(len(past))
    files, sizes = state.messages.flatten_files(past)
    return files, (weights / (np.log2(1.0 + sizes) * (weights.sum() + SHARE_PRIOR))).repeat(sizes)
