"""Mapping of unknown words to known ones.

Examples are `errorpages`, which consists of two words, and `werkzerg`, which is a typo.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase

import numpy as np

from hunchd.prediction import words
from hunchd.prediction.packed_arrays import Array
from hunchd.prediction.state import PredictorState
from hunchd.text.stemming import stem_light
from hunchd.text.words import CODE_STOP_WORDS

SHORTEST_JOINED, SHORTEST_PART = 6, 3  # letters
SHORTEST_MISSPELT, LONGEST_MISSPELT = 5, 16
MAX_UNKNOWN_WORDS = 2  # unknown words that are resolved, 1 to 2 ms each; a longer text has other words to go by
MIN_FILES = 2  # files that must contain a word if no path does


def resolve_unknown_words(text: str, state: PredictorState) -> list[int]:
    """Return the keys of known words that unknown words stand for.

    `text` is searched for unknown words.
    """
    parts = [part for part in words.split_words(text) if len(part) >= SHORTEST_MISSPELT]
    if not parts or not state.unit_count:
        return []
    occurrences = _count_occurrences(state, _hash_words(parts))
    resolved_keys: dict[int, None] = {}
    for part in [part for part, times in zip(parts, occurrences.tolist(), strict=True) if not times][
        :MAX_UNKNOWN_WORDS
    ]:
        resolved_keys.update(dict.fromkeys(_hash_words(_split_compound(part, state) or _correct_spelling(part, state))))
    return list(resolved_keys)


def _hash_words(parts: Sequence[str]) -> list[int]:
    return [words.hash_word(stem_light(part)) for part in parts]


def _count_occurrences(state: PredictorState, keys: list[int]) -> Array:
    """Return how often each key occurs in files and messages.

    File contents, names and paths are counted.
    """
    contents, key_array = state.contents, np.array(keys, "<u4")
    occurrences: Array = state.messages.count_units(key_array)
    for field in (contents.words, contents.names, contents.paths):
        occurrences = occurrences + field.count_puts(key_array)
    return occurrences


def _split_compound(word: str, state: PredictorState) -> list[str]:
    """Return the two known words of a compound.

    Returns an empty list if the word cannot be split into known words. The most even split is preferred. Stop words
    count as known but are left out of the result.
    """
    if len(word) < SHORTEST_JOINED:
        return []
    places = sorted(range(SHORTEST_PART, len(word) - SHORTEST_PART + 1), key=lambda place: abs(place - len(word) / 2))
    halves = [(word[:place], word[place:]) for place in places]
    keys = np.array([_hash_words(half) for half in halves], "<u4").ravel()
    in_words = np.bincount(state.contents.words.find_holders_of_keys(keys)[2], minlength=len(keys))
    in_paths = np.bincount(state.contents.paths.find_holders_of_keys(keys)[2], minlength=len(keys))
    is_known = ((in_words >= MIN_FILES) | (in_paths > 0)).reshape(-1, 2)
    for half, (first, second) in zip(halves, is_known.tolist(), strict=True):
        if (first or half[0] in CODE_STOP_WORDS) and (second or half[1] in CODE_STOP_WORDS):
            return [part for part in half if part not in CODE_STOP_WORDS]
    return []


def _correct_spelling(word: str, state: PredictorState) -> list[str]:
    """Return the most frequent known word that is one edit away.

    Returns an empty list if there is no such word. An edit changes, removes or adds one letter, or swaps two
    neighbouring letters.
    """
    if len(word) > LONGEST_MISSPELT or not word.isascii():
        return []
    candidates = list(_generate_edits(word))
    occurrences = _count_occurrences(state, _hash_words(candidates))
    best = int(occurrences.argmax())
    return [candidates[best]] if occurrences[best] else []


def _generate_edits(word: str) -> dict[str, None]:
    """Return all distinct strings that are one edit away from `word`.

    The strings are in a fixed order.
    """
    cuts = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    return dict.fromkeys(
        [
            *(prefix + suffix[1:] for prefix, suffix in cuts if suffix),
            *(prefix + suffix[1] + suffix[0] + suffix[2:] for prefix, suffix in cuts if len(suffix) > 1),
            *(prefix + letter + suffix[1:] for prefix, suffix in cuts if suffix for letter in ascii_lowercase),
            *(prefix + letter + suffix for prefix, suffix in cuts for letter in ascii_lowercase),
        ]
    )
