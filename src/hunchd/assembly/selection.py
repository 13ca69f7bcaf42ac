"""Greedy selection of context candidates ("pieces") by value per token.

A piece has several forms of different lengths. If one does not fit, a shorter form is used.
"""

from __future__ import annotations

import heapq
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from hunchd.domain.context import ContextCandidate, Level, Tier
from hunchd.domain.memory import Trust

# Less useful lines cost more trust than they are worth: fewer than one reader in twenty would use them.
MINIMUM_VALUE = 0.05
# Share of the full text's usefulness that each form keeps.
WORTH_BY_LEVEL: Mapping[Level, float] = {"full": 1.0, "summary": 0.85, "compressed": 0.6, "index": 0.35}
# Minimum usefulness per token: 250 more tokens for a file's skeleton pay off from a probability of .17. Of the
# functions that 44 changes of four histories modified in other files, .51 were shown with 3e-4 (1,096 tokens on
# average), .71 with 1e-4 (1,535), .80 with 5e-5 (1,802) and .80 with 2e-5 (2,265).
MINIMUM_GAIN = 1e-4
# Two texts that share four words in five are duplicates.
MIN_SAME_WORDS = 0.8
# … and two texts of one kind about the same paths if they share one word in two.
MIN_SAME_WORDS_SAME_PATHS = 0.5
# Kinds of which a bundle contains at most one piece for each path.
ONE_PER_PATH_KINDS = frozenset({"file", "skeleton", "test"})
# Maximum share of one source, so that one commit message or page cannot crowd out the rest.
MAX_SOURCE_SHARE = 0.3
# With fewer sources, a third for each does not crowd out the others; the limit then applies only to untrusted ones.
MIN_SOURCES_FOR_CAP = 4
# Text up to this length never crowds out the rest, however small the context: the eight lines of a trace, in any
# script. Tokens would not do: the same sentence costs two to three times as many in Russian or Korean.
HARMLESS_LENGTH = 512  # characters
# The only text of a source in its shortest form stays up to this size: it may be the current error.
HARMLESS_ALONE_TOKENS = 400  # tokens


@dataclass(frozen=True, slots=True)
class FormOption:
    """Form of a piece, rendered as a block.

    `worth` is the value of the piece times the share of it that this form keeps.
    """

    level: Level
    block: str
    tokens: int
    worth: float


@dataclass(slots=True)
class Choice:
    """Piece with its useful forms and the index of the chosen form.

    The forms are sorted shortest first; the index is -1 if no form is chosen.
    """

    piece: ContextCandidate
    options: tuple[FormOption, ...]
    chosen_index: int = -1

    @property
    def option(self) -> FormOption:
        return self.options[self.chosen_index]

    @property
    def tokens(self) -> int:
        return self.options[self.chosen_index].tokens if self.chosen_index >= 0 else 0

    @property
    def worth(self) -> float:
        return self.options[self.chosen_index].worth if self.chosen_index >= 0 else 0.0


Render = Callable[[ContextCandidate, Level, str], str]
CountTokens = Callable[[str], int]


def make_choices(pieces: Iterable[ContextCandidate], render: Render, count: CountTokens) -> list[Choice]:
    """Return the pieces that are valuable enough to show, without duplicates.

    Their order depends only on the pieces.
    """
    return [
        Choice(piece, options)
        for piece in drop_repeats(piece for piece in pieces if piece.value >= MINIMUM_VALUE)
        if (options := make_options(piece, render, count))
    ]


def make_options(piece: ContextCandidate, render: Render, count: CountTokens) -> tuple[FormOption, ...]:
    """Return the useful forms of a piece, shortest first.

    A form is useful if it is worth more than every shorter form.
    """
    options: list[FormOption] = []
    for level, text in sorted(piece.forms, key=lambda form: WORTH_BY_LEVEL[form[0]]):
        if not text.strip():
            continue
        block = render(piece, level, text)
        options.append(FormOption(level, block, count(block), piece.value * WORTH_BY_LEVEL[level]))
    options.sort(key=lambda option: (option.tokens, -option.worth))
    useful_options: list[FormOption] = []
    for option in options:
        if not useful_options or option.worth > useful_options[-1].worth:
            useful_options.append(option)
    return tuple(useful_options)


def raise_forms(candidates: Sequence[Choice], capacity: int) -> int:
    """Switch the candidates to longer forms, as long as these fit and add value.

    A candidate for which no form is chosen yet counts as having no tokens and no worth. Returns the number of
    tokens used, which is at most `capacity`.
    """
    remaining = capacity
    queue = [step for index, choice in enumerate(candidates) if (step := _find_best_step(choice, index, remaining))]
    heapq.heapify(queue)
    while queue:
        _, _, _, index, target = heapq.heappop(queue)
        choice = candidates[index]
        cost = choice.options[target].tokens - choice.tokens
        if cost <= remaining:
            choice.chosen_index = target
            remaining -= cost
        if step := _find_best_step(choice, index, remaining):
            heapq.heappush(queue, step)
    return capacity - remaining


def _find_best_step(choice: Choice, index: int, remaining: int) -> tuple[float, float, str, int, int] | None:
    """Return the switch to a longer form that gains the most value per token.

    Only forms that fit into `remaining` are considered; returns None if none of them gains enough. The tuple sorts
    by gain, then value, then id.
    """
    best: tuple[float, int] | None = None
    for target in range(choice.chosen_index + 1, len(choice.options)):
        option = choice.options[target]
        cost = max(option.tokens - choice.tokens, 1)
        gain = (option.worth - choice.worth) / cost
        if cost <= remaining and gain >= MINIMUM_GAIN and (best is None or gain > best[0]):
            best = (gain, target)
    if best is None:
        return None
    return (-best[0], -choice.piece.value, choice.piece.id, index, best[1])


def drop_repeats(pieces: Iterable[ContextCandidate]) -> list[ContextCandidate]:
    """Drop duplicates among the pieces.

    From each group of duplicates, only the piece in the most critical tier is kept or, if several are in that tier,
    the most valuable of them.
    """
    distinct: list[ContextCandidate] = []
    ids: set[str] = set()
    paths: set[str] = set()
    fingerprints: list[_Fingerprint] = []
    for piece in sorted(pieces, key=lambda piece: (piece.tier, -piece.value, piece.id)):
        path = piece.paths[0] if piece.kind in ONE_PER_PATH_KINDS and piece.paths else None
        if piece.id in ids or (path is not None and path in paths):
            continue
        if path is not None:
            paths.add(path)
        else:
            fingerprint = _make_fingerprint(piece)
            if any(_is_same(fingerprint, other) for other in _find_near(fingerprint, fingerprints)):
                continue
            fingerprints.append(fingerprint)
        distinct.append(piece)
        ids.add(piece.id)
    return distinct


@dataclass(frozen=True, slots=True)
class _Fingerprint:
    subject: tuple[str, ...]  # kind and paths
    words: frozenset[str]
    sketch: int  # 256-bit word sketch for quick rejection


_WORD = re.compile(r"\w+")


def _make_fingerprint(piece: ContextCandidate) -> _Fingerprint:
    words, sketch = _split_words(piece.forms[0][1] if piece.forms else "")
    return _Fingerprint((piece.kind, *sorted(piece.paths)), words, sketch)


@lru_cache(maxsize=2048)
def _split_words(text: str) -> tuple[frozenset[str], int]:
    words = frozenset(_WORD.findall(text[:4000].casefold()))
    sketch = 0
    for word in words:
        sketch |= 1 << (zlib.crc32(word.encode("utf-8", "replace")) & 255)
    return words, sketch


def _find_near(one: _Fingerprint, fingerprints: Sequence[_Fingerprint]) -> list[_Fingerprint]:
    """Return the fingerprints that may share half of their words with `one`.

    Such fingerprints have at least a third of their sketch bits in common with `one`. This quick check rejects most
    pairs.
    """
    sketch = one.sketch
    return [
        other
        for other in fingerprints
        if 3 * (sketch & other.sketch).bit_count() >= (sketch | other.sketch).bit_count()
    ]


def _is_same(one: _Fingerprint, other: _Fingerprint) -> bool:
    min_share = MIN_SAME_WORDS_SAME_PATHS if len(one.subject) > 1 and one.subject == other.subject else MIN_SAME_WORDS
    common_word_count = len(one.words & other.words)
    return common_word_count >= min_share * (len(one.words) + len(other.words) - common_word_count)


def get_source_key(piece: ContextCandidate) -> str:
    """Return a key for the source of a piece.

    All pieces from the same commit, file, page or command have the same key.
    """
    for name in ("origin", "sha", "path", "url", "command", "ref"):
        if piece.source.get(name):
            return f"{name}:{piece.source[name]}"
    return f"id:{piece.id}"


def limit_source_shares(choices: Sequence[Choice], overhead: int) -> None:
    """Shorten or drop pieces from sources that take up too much of the bundle."""
    while True:
        served_choices = [choice for choice in choices if choice.chosen_index >= 0]
        by_source: dict[str, list[Choice]] = {}
        for choice in served_choices:
            if choice.piece.source.get("type") == "files":
                continue  # a list of names has as many sources as names
            by_source.setdefault(get_source_key(choice.piece), []).append(choice)
        if len(by_source) < 2:
            return
        total = overhead + sum(choice.tokens for choice in served_choices)
        strict = len(by_source) >= MIN_SOURCES_FOR_CAP
        floods = [
            victim
            for source, source_choices in by_source.items()
            if sum(choice.tokens for choice in source_choices) > MAX_SOURCE_SHARE * total
            and sum(len(choice.options[choice.chosen_index].block) for choice in source_choices) > HARMLESS_LENGTH
            and (victim := _find_victim(source_choices, strict=strict))
        ]
        if not floods:
            return
        largest = max(floods, key=lambda choice: (choice.tokens, choice.piece.id))
        largest.chosen_index -= 1


def _find_victim(source_choices: Sequence[Choice], *, strict: bool) -> Choice | None:
    """Return the longest piece from a source that allows shortening.

    The user's own words are never shortened. Returns None if no piece may be shortened.
    """
    candidates = [
        choice
        for choice in source_choices
        if choice.piece.trust is not Trust.USER
        and (strict or choice.piece.trust in (Trust.UNTRUSTED, Trust.TEAM))
        and (choice.chosen_index > 0 or len(source_choices) > 1 or choice.tokens > HARMLESS_ALONE_TOKENS)
    ]
    return max(candidates, key=lambda choice: (choice.tokens, -choice.piece.value, choice.piece.id), default=None)


def group_by_tier(candidates: Sequence[Choice]) -> dict[Tier, list[Choice]]:
    tiers: dict[Tier, list[Choice]] = {1: [], 2: [], 3: [], 4: []}
    for choice in candidates:
        tiers[choice.piece.tier].append(choice)
    return tiers
