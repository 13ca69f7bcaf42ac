"""Words in questions, and where they occur in texts; without I/O."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate
from typing import Final

from hunchd.text.identifiers import SUBWORD, starts_subword
from hunchd.text.scripts import WORD, has_special_words, normalize_letters
from hunchd.text.stemming import stem_prefix
from hunchd.text.words import QUESTION_STOP_WORDS, extract_terms, is_foreign

SNIPPET_LENGTH: Final = 200  # characters
PREFIX_LETTERS: Final = 5  # of a word in a language without a stemmer here
# Pasted material around a question.
_FENCED_BLOCK = re.compile(r"^(```|~~~).*?^\1`*\s*$", re.MULTILINE | re.DOTALL)
_PASTED_MATERIAL = re.compile(r"<!--[\s\S]*?-->|^\s*>.*$|^\s*[-*] \[[ xX]\].*$|https?://\S+", re.MULTILINE)


def strip_pasted(question: str) -> str:
    """Strip pasted material from a question.

    Pasted material is fenced code, quoted lines, check lists and URLs. Returns the question unchanged if little
    would be left.
    """
    own_text = " ".join(_PASTED_MATERIAL.sub(" ", _FENCED_BLOCK.sub(" ", question)).split())
    return own_text if own_text == question or len(extract_terms(own_text)) > 1 else question


def stem_question(question: str) -> list[str]:
    """Return the stem of each content word of a question, in the order of `extract_terms`.

    The stemmer knows English only. In a different language, a long word is cut to PREFIX_LETTERS letters and a `*`,
    which stands for every word that begins with these letters: the word's inflected forms and compounds.
    """
    words, is_cut = extract_terms(question), is_foreign(question)

    def stem(word: str) -> str:
        is_long = len(word) >= PREFIX_LETTERS and not has_special_words(word)
        return f"{word[:PREFIX_LETTERS]}*" if is_cut and is_long else stem_prefix(word)

    return [stem(word) for word in words]


def count_stems(stems: Collection[str], texts: Sequence[str]) -> list[tuple[dict[str, int], int]]:
    """Count how often each stem occurs in each text.

    Returns, for each text, the counts by stem and the number of content words. A stem is counted in any inflected
    form. A caller is waiting while about forty texts are searched, so all texts are searched at once for each stem,
    instead of being split into words.
    """
    lower_texts = [text.lower() for text in texts]
    results: list[tuple[dict[str, int], int]] = []
    joined_indexes: list[int] = []
    for at, (text, joined_lower) in enumerate(zip(texts, lower_texts, strict=True)):
        words = joined_lower.split()
        length = len(words) - sum(map(QUESTION_STOP_WORDS.__contains__, words))
        count_by_stem: dict[str, int] = {}
        if text.isascii() or (
            len(joined_lower) == len(text) and text == normalize_letters(text) and not has_special_words(text)
        ):
            joined_indexes.append(at)
        else:
            all_stems = [stem_prefix(word) for word in extract_terms(text)]
            counts = {root: _count_words(root, all_stems) for root in stems}
            count_by_stem = {root: count for root, count in counts.items() if count}
            length = max(length, len(all_stems))
        results.append((count_by_stem, length))
    joined_text, joined_lower = ("\n".join([some[at] for at in joined_indexes]) for some in (texts, lower_texts))
    ends = list(accumulate(len(texts[at]) + 1 for at in joined_indexes))
    for root in stems:
        for at in _find_places(root, joined_text, joined_lower):
            count_by_stem = results[joined_indexes[bisect_right(ends, at)]][0]
            count_by_stem[root] = count_by_stem.get(root, 0) + 1
    return results


def _count_words(root: str, stems: Sequence[str]) -> int:
    if root.endswith("*"):
        return sum(one.startswith(root[:-1]) for one in stems)
    return stems.count(root)


def _find_places(root: str, text: str, lower: str) -> list[int]:
    """Return the start positions of words, or parts of words, with this stem."""
    positions: list[int] = []
    is_prefix, root = root.endswith("*"), root.removesuffix("*")
    at, size = lower.find(root), len(root)
    is_own_stem = stem_prefix(root) == root
    while at >= 0:
        if at == 0 or not text[at - 1].isalnum() or starts_subword(text, at):
            # Usually the word itself; otherwise it must be checked.
            positions += (
                [at]
                if is_prefix or (is_own_stem and not lower[at + size : at + size + 1].isalnum())
                else _check_place(root, text, lower, at)
            )
        at = lower.find(root, at + size)
    return positions


def _check_place(root: str, text: str, lower: str, at: int) -> Sequence[int]:
    """Return (`at`,) if a word or subword with the stem `root` begins at `at`.

    Otherwise, returns an empty sequence.
    """
    word_match = WORD.match(text, at)
    end = word_match.end() if word_match is not None else at
    if end > at and stem_prefix(lower[at:end]) == root:
        return (at,)
    part_match = SUBWORD.match(text, at)
    return (
        (at,)
        if part_match is not None and part_match.end() != end and stem_prefix(lower[at : part_match.end()]) == root
        else ()
    )


def filter_said(query_terms: Iterable[str], text: str) -> list[str]:
    """Return the terms that occur in `text` in any inflected form."""
    text_stems = {stem_prefix(word) for word in extract_terms(text)}
    return [word for word in query_terms if stem_prefix(word) in text_stems]


def make_snippet(text: str, query_terms: Iterable[str], *, length: int = SNIPPET_LENGTH) -> str:
    """Return the part of `text` with the most query terms, on one line.

    The snippet has at most `length` characters. If no term occurs in the text, the snippet is the beginning of the
    text.
    """
    line = " ".join(text.split())
    if len(line) <= length:
        return line
    places = _find_stems({stem_prefix(word) for word in query_terms}, line)
    if not places:
        return line[: length - 1].rstrip() + "…"
    window_ends = (bisect_left(places, at + length * 3 // 4, index) for index, at in enumerate(places))
    term_counts = [len({line[p : p + 12] for p in places[index:end]}) for index, end in enumerate(window_ends)]
    start = places[term_counts.index(max(term_counts))]
    start = max(0, min(start - length // 8, len(line) - length + 1))
    if start:  # start at the beginning of a word, if one is near
        start = line.find(" ", start, start + 20) + 1 or start
    excerpt = line[start : start + length - 2]
    return ("…" if start else "") + excerpt.strip() + ("…" if start + len(excerpt) < len(line) else "")


def _find_stems(stems: Collection[str], line: str) -> list[int]:
    """Return the start positions of words with one of these stems."""
    lower = line.lower()
    if len(lower) != len(line):
        return [match.start() for match in WORD.finditer(line) if stem_prefix(match.group().lower()) in stems]
    places: list[int] = []
    for root in stems:
        at = lower.find(root)
        while at >= 0:
            if at == 0 or not line[at - 1].isalnum():
                word = WORD.match(line, at)
                if word is not None and stem_prefix(lower[at : word.end()]) == root:
                    places.append(at)
            at = lower.find(root, at + len(root))
    return sorted(places)


def find_expansion_terms(question: str, texts: Iterable[str], *, limit: int = 8) -> list[str]:
    """Return words that several of the best answers contain but the question lacks.

    They are often the project's own names for the subject of the question. At most `limit` words are returned, the
    most frequent first.
    """
    question_stems = {stem_prefix(word) for word in extract_terms(question)}
    document_counts: Counter[str] = Counter()
    for text in texts:
        document_counts.update(
            {word for word in extract_terms(text) if stem_prefix(word) not in question_stems and not word.isdigit()}
        )
    shared_terms = [(-times, word) for word, times in document_counts.items() if times > 1]
    return [word for _, word in sorted(shared_terms)[:limit]]
