"""Mapping of unknown words to known ones.

`errorpages` is two words, `werkzerg` a typo.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase

import numpy as np

from hunchd.prediction import words
from hunchd.prediction.packed import Array
from hunchd.prediction.state import State
from hunchd.text.stemming import stem_light
from hunchd.text.words import CODE_STOP_WORDS

SHORTEST_JOINED, SHORTEST_PART = 6, 3  # letters
SHORTEST_MISSPELT, LONGEST_MISSPELT = 5, 16
MOST = 2  # unknown words that are resolved, 1 to 2 ms each; a longer text has other words
FILES_TO_BE_A_WORD = 2  # files that must contain a word if no path does


def understood(text: str, state: State) -> list[int]:
    """Return the keys of known words behind unknown words."""
    parts = [part for part in words.parts(text) if len(part) >= SHORTEST_MISSPELT]
    if not parts or not state.now:
        return []
    met = _met(state, _keys(parts))
    found: dict[int, None] = {}
    for part in [part for part, times in zip(parts, met.tolist(), strict=True) if not times][:MOST]:
        found.update(dict.fromkeys(_keys(_split(part, state) or _spelt(part, state))))
    return list(found)


def _keys(parts: Sequence[str]) -> list[int]:
    return [words.key(stem_light(part)) for part in parts]


def _met(state: State, keys: list[int]) -> Array:
    """Return how often each key occurs in contents, names, paths and messages."""
    contents, wanted = state.contents, np.array(keys, "<u4")
    met: Array = state.messages.met(wanted)
    for field in (contents.words, contents.names, contents.paths):
        met = met + field.met(wanted)
    return met


def _split(word: str, state: State) -> list[str]:
    """Return the two known words it consists of.

    The most even split is preferred. Stop words count as known, and are dropped.
    """
    if len(word) < SHORTEST_JOINED:
        return []
    places = sorted(range(SHORTEST_PART, len(word) - SHORTEST_PART + 1), key=lambda place: abs(place - len(word) / 2))
    halves = [(word[:place], word[place:]) for place in places]
    keys = np.array([_keys(half) for half in halves], "<u4").ravel()
    in_words = np.bincount(state.contents.words.holders_of(keys)[2], minlength=len(keys))
    in_paths = np.bincount(state.contents.paths.holders_of(keys)[2], minlength=len(keys))
    known = ((in_words >= FILES_TO_BE_A_WORD) | (in_paths > 0)).reshape(-1, 2)
    for half, (first, second) in zip(halves, known.tolist(), strict=True):
        if (first or half[0] in CODE_STOP_WORDS) and (second or half[1] in CODE_STOP_WORDS):
            return [part for part in half if part not in CODE_STOP_WORDS]
    return []


def _spelt(word: str, state: State) -> list[str]:
    """Return the most frequent known word at one edit.

    An edit is a letter changed, missing, extra or swapped.
    """
    if len(word) > LONGEST_MISSPELT or not word.isascii():
        return []
    near = list(_one_letter_away(word))
    met = _met(state, _keys(near))
    best = int(met.argmax())
    return [near[best]] if met[best] else []


def _one_letter_away(word: str) -> dict[str, None]:
    """Return all words at one edit, distinct and in a fixed order."""
    cuts = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    return dict.fromkeys(
        [
            *(left + right[1:] for left, right in cuts if right),
            *(left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1),
            *(left + letter + right[1:] for left, right in cuts if right for letter in ascii_lowercase),
            *(left + letter + right for left, right in cuts for letter in ascii_lowercase),
        ]
    )
