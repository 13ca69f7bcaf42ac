"""Topic of a text: its strongest files and their co-change.

All sources of words contribute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hunchd.prediction.evidence import PRIOR
from hunchd.prediction.messages import Saying
from hunchd.prediction.packed import Array, Scores, distinct, nothing, strongest, summed
from hunchd.prediction.state import State

SOURCES = ("paths", "words", "voted", "message_words")
LEADS = 8  # files
PAST = 64  # units of an open file
LATELY = 0.97  # decay by unit of the file
ANYWAY = 0.05  # weight of a unit that shares no word with the text
DOUBT = 0.1  # smoothing weight added to a file's own changes


@dataclass(frozen=True, slots=True)
class Topic:
    """Files that a text points to, the strongest as leads.

    `with_leads` is co-change with the leads in the mean over them, `with_lead` with the one of them that a file
    changes with most.
    """

    leads: Array
    strength: Array  # by file
    strongest: float
    with_leads: Scores
    with_lead: Scores

    def pointed_at(self, files: Array) -> Array:
        """Return how strongly the text points to these files.

        1 is the strongest.
        """
        pointed_at: Array = self.strength[files] / self.strongest
        return pointed_at


def topic(
    state: State, said: Mapping[str, Scores], likely: Array, seeds: tuple[int, ...], usable: Array
) -> Topic | None:
    """Combine the scores of all sources of words.

    Open and unusable files are left out. `likely` are files that contain the strongest few: the best of each source.
    """
    strength = np.zeros(len(usable), "<f4")
    for files, values in (said[name] for name in SOURCES):
        if len(files):
            strength[files] += values / max(float(values.max()), 1e-9)
    strength *= usable
    strength[list(seeds)] = 0.0
    reached = np.sort(strength[distinct(likely)])[-LEADS:]
    leads = (strength >= max(float(reached[0]), 1e-9)).nonzero()[0] if len(reached) else likely
    leads = leads[np.argsort(-strength[leads], kind="stable")][:LEADS].astype("<i4")
    if not len(leads):
        return None
    weights = strength[leads]
    others, shares, which = state.together.shares_of(leads, state.files, state.now, PRIOR)
    return Topic(
        leads,
        strength,
        weights[0],
        summed(others, shares * (weights / weights.sum())[which]),
        strongest(others, shares * (weights / weights[0])[which]),
    )


def past_alike(state: State, said: Saying, seeds: tuple[int, ...]) -> Scores:
    """Return files of the seeds' past units, by similarity.

    Units that share words with the text count most.
    """
    units, likeness = said.shared
    whole = float((said.rarity * said.rarity).sum()) or 1.0
    parts = [_alike(state, seed, units, likeness / whole) for seed in seeds]
    files, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return summed(files, values / len(seeds))


def _alike(state: State, seed: int, units: Array, likeness: Array) -> Scores:
    past = state.messages.units_of_file(seed, PAST)
    if not len(past):
        return nothing()
    weights = np.full(len(past), ANYWAY)
    if len(units):
        at = np.minimum(units.searchsorted(past), len(units) - 1)
        weights += np.where(units[at] == past, likeness[at], 0.0)
    weights *= LATELY ** np.arange(len(past))
    files, sizes = state.messages.flattened(past)
    return files, (weights / (np.log2(1.0 + sizes) * (weights.sum() + DOUBT))).repeat(sizes)
