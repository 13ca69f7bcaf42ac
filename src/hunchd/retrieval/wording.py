"""Words of questions and their occurrences in texts. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate
from typing import Final

from hunchd.text.identifiers import SUBWORD, starts_subword
from hunchd.text.scripts import WORD, has_special_words, normalize
from hunchd.text.stemming import stem_prefix
from hunchd.text.words import QUESTION_STOP_WORDS, terms

SNIPPET: Final = 200  # characters
# Pasted material around a question.
_FENCED = re.compile(r"^(```|~~~).*?^\1`*\s*$", re.MULTILINE | re.DOTALL)
_PASTED = re.compile(r"<!--[\s\S]*?-->|^\s*>.*$|^\s*[-*] \[[ xX]\].*$|https?://\S+", re.MULTILINE)


def cleaned(question: str) -> str:
    """Strip pasted material from a question: fences, quoted lines, check lists, URLs.

    Returns the question unchanged if little would be left.
    """
    own = " ".join(_PASTED.sub(" ", _FENCED.sub(" ", question)).split())
    return own if own == question or len(terms(own)) > 1 else question


def counted(stems: Collection[str], texts: Sequence[str]) -> list[tuple[dict[str, int], int]]:
    """Count stems and content words of each text.

    A stem counts in any form. Some forty texts are searched while a caller waits: each stem is searched for in all
    of them together, instead of splitting every text into words.
    """
    lows = [text.lower() for text in texts]
    found: list[tuple[dict[str, int], int]] = []
    together: list[int] = []
    for at, (text, low) in enumerate(zip(texts, lows, strict=True)):
        words = low.split()
        length = len(words) - sum(map(QUESTION_STOP_WORDS.__contains__, words))
        said: dict[str, int] = {}
        if text.isascii() or (len(low) == len(text) and text == normalize(text) and not has_special_words(text)):
            together.append(at)
        else:
            every = [stem_prefix(word) for word in terms(text)]
            said = {root: every.count(root) for root in stems if root in every}
            length = max(length, len(every))
        found.append((said, length))
    whole, low = ("\n".join([some[at] for at in together]) for some in (texts, lows))
    ends = list(accumulate(len(texts[at]) + 1 for at in together))
    for root in stems:
        for at in _places(root, whole, low):
            said = found[together[bisect_right(ends, at)]][0]
            said[root] = said.get(root, 0) + 1
    return found


def _places(root: str, text: str, low: str) -> list[int]:
    """Return where words, or parts of words, with this stem begin."""
    found: list[int] = []
    at, size = low.find(root), len(root)
    is_own_stem = stem_prefix(root) == root
    while at >= 0:
        if at == 0 or not text[at - 1].isalnum() or starts_subword(text, at):
            # Usually the word itself; otherwise it must be checked.
            found += (
                [at] if is_own_stem and not low[at + size : at + size + 1].isalnum() else _begun(root, text, low, at)
            )
        at = low.find(root, at + size)
    return found


def _begun(root: str, text: str, low: str, at: int) -> Sequence[int]:
    """Return this place if a word of the stem begins here.

    Parts of words count as well.
    """
    whole = WORD.match(text, at)
    end = whole.end() if whole is not None else at
    if end > at and stem_prefix(low[at:end]) == root:
        return (at,)
    part = SUBWORD.match(text, at)
    return (at,) if part is not None and part.end() != end and stem_prefix(low[at : part.end()]) == root else ()


def said(asked: Iterable[str], text: str) -> list[str]:
    """Return the terms that `text` says, in any form."""
    there = {stem_prefix(word) for word in terms(text)}
    return [word for word in asked if stem_prefix(word) in there]


def snippet(text: str, asked: Iterable[str], *, length: int = SNIPPET) -> str:
    """Return the part of `text` with the most terms.

    It is on one line. It has at most `length` characters.
    """
    line = " ".join(text.split())
    if len(line) <= length:
        return line
    places = _saying({stem_prefix(word) for word in asked}, line)
    if not places:
        return line[: length - 1].rstrip() + "…"
    ends = (bisect_left(places, at + length * 3 // 4, index) for index, at in enumerate(places))
    different = [len({line[p : p + 12] for p in places[index:end]}) for index, end in enumerate(ends)]
    begin = places[different.index(max(different))]
    begin = max(0, min(begin - length // 8, len(line) - length + 1))
    if begin:  # at a word's beginning, if one is near
        begin = line.find(" ", begin, begin + 20) + 1 or begin
    cut = line[begin : begin + length - 2]
    return ("…" if begin else "") + cut.strip() + ("…" if begin + len(cut) < len(line) else "")


def _saying(wanted: Collection[str], line: str) -> list[int]:
    """Return where words with one of these stems begin."""
    low = line.lower()
    if len(low) != len(line):
        return [match.start() for match in WORD.finditer(line) if stem_prefix(match.group().lower()) in wanted]
    places: list[int] = []
    for root in wanted:
        at = low.find(root)
        while at >= 0:
            if at == 0 or not line[at - 1].isalnum():
                word = WORD.match(line, at)
                if word is not None and stem_prefix(low[at : word.end()]) == root:
                    places.append(at)
            at = low.find(root, at + len(root))
    return sorted(places)


def expansion(question: str, texts: Iterable[str], *, most: int = 8) -> list[str]:
    """Return words that the best answers share and the question lacks.

    They are often the project's own name for the subject.
    """
    asked = {stem_prefix(word) for word in terms(question)}
    counted: Counter[str] = Counter()
    for text in texts:
        counted.update({word for word in terms(text) if stem_prefix(word) not in asked and not word.isdigit()})
    shared = [(-times, word) for word, times in counted.items() if times > 1]
    return [word for _, word in sorted(shared)[:most]]
