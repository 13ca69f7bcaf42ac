"""Rules for scripts: word boundaries, and equivalent forms of a letter.

Text in a script without spaces is split into pairs of characters, and a Latin word inside it is a word by itself.
Vowel signs belong to the word in which they stand. An emoji is a word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

# Written without spaces: kana, Han, Hangul; Thai, Lao; Burmese; Khmer; Han beyond the first plane.
_UNSPACED_SCRIPTS: Final = (
    r"\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    r"\U00020000-\U000323af"
)
# Signs that Python does not count as letters but that belong to a word: combining marks, points in Hebrew and Arabic,
# vowel signs in the scripts of India (whose two full stops are left out).
_SIGNS: Final = (
    r"\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    r"\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u0900-\u0963\u0966-\u0dff\u0f71-\u0f84\u135d-\u135f"
)
_EMOJI: Final = r"\U0001f000-\U0001faff\u2600-\u2712\u2719-\u27bf\u2b00-\u2b5f\u2300-\u23ff"

WORD: Final = re.compile(r"[^\W_]+")  # underscores separate words
_WORD: Final = re.compile(rf"[{_UNSPACED_SCRIPTS}]+|[{_EMOJI}]|(?:(?![{_UNSPACED_SCRIPTS}])(?:[^\W_]|[{_SIGNS}]))+")
_RUN: Final = re.compile(rf"[{_UNSPACED_SCRIPTS}]+")
# Everything that is neither Latin nor punctuation.
_SPECIAL: Final = re.compile(
    r"[\u0300-\u1dff\u1f00-\u1fff\u2300-\u27bf\u2b00-\u2b5f\u2c00-\u2c5f\u2c80-\u2fdf\u3005-\ud7ff\uf900-\ufdff"
    r"\ufe70-\ufeff\U00010000-\U000323af]"
)
_FEWEST_LETTERS: Final = 5  # letters of a word that can also be found by n-grams
_NGRAM: Final = 4  # letters in such an n-gram


def normalize_letters(text: str) -> str:
    """Return `text` in the Unicode form NFKC, which has one form of each letter.

    In this form letters are composed and of normal width.
    """
    if text.isascii() or unicodedata.is_normalized("NFKC", text):
        return text
    return unicodedata.normalize("NFKC", text)


def find_words(text: str) -> list[str]:
    """Return the words of a normalized text, in order."""
    return (WORD if text.isascii() or not _SPECIAL.search(text) else _WORD).findall(text)


def has_special_words(text: str) -> bool:
    """Return True if the simple word pattern may split `text` wrongly.

    That is possible if the text has a character that is neither Latin nor punctuation.
    """
    return not text.isascii() and _SPECIAL.search(text) is not None


def split_ngrams(word: str) -> Iterator[str]:
    """Yield the character n-grams that also find a non-Latin word.

    In a script without spaces, the n-grams are pairs of characters. In other scripts they are runs of four letters,
    because words carry prefixes and endings (Hebrew, Arabic, Georgian, Russian, …) for which no stemmer is available.
    """
    if word.isascii() or not _SPECIAL.search(word):
        return
    runs = _RUN.findall(word)
    for run in runs:
        yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))
    letters: list[str] = []  # each with the signs on it, which are characters of their own
    for character in () if runs else word.lower():
        if letters and unicodedata.category(character).startswith("M"):
            letters[-1] += character
        else:
            letters.append(character)
    if len(letters) >= _FEWEST_LETTERS:
        yield from ("".join(letters[at : at + _NGRAM]) for at in range(len(letters) - _NGRAM + 1))
