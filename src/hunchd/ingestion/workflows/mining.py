"""Mining of recurring sequential patterns with gaps.

Patterns grow symbol by symbol from the places where they end (prefix growth, as in PrefixSpan and BIDE), with at most
`MAX_GAP` foreign symbols between two symbols of the pattern. A symbol is added only if it follows too often for chance:
a symbol that occurs everywhere (`ls`, `cd`) follows nothing in particular and is thus excluded without a special rule.
Of the resulting patterns, those are selected that explain most of the stream, with each place counted once: a part of a
longer pattern explains nothing more. (Closed patterns have the same aim, but with noise there are far too many of
them.)
"""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hunchd.ingestion.workflows.triggers import binomial_tail

MAX_GAP: Final = 3  # foreign symbols between two of a pattern, at most
MIN_SUPPORT: Final = 3  # twice may be chance
MAX_LENGTH: Final = 10  # symbols
MAX_CANDIDATES: Final = 20_000  # patterns looked at
MAX_SECONDS: Final = 5.0
# Minimum share of one symbol's occurrences that are linked to the other symbol.
MIN_BOND: Final = 0.5
# All pairs of symbols are tested as links: this many of the accepted links may be due to chance.
MAX_FALSE_LINKS: Final = 0.2
MAX_LINK_CHANCE: Final = 0.01  # per link, however few pairs there are; also for each added step
# A part of longer patterns must occur more often outside of them; otherwise it is only their truncated runs.
MIN_OWN_PLACES: Final = 1.5
# Of patterns that are about equally frequent, longer ones are preferred.
LENGTH_EXPONENT: Final = 1.3
MIN_COHESION: Final = 0.4
MIN_WEIGHT: Final = 2.4  # runs times cohesion: three runs suffice if they have hardly any gaps

# Adjacent steps that are sometimes omitted still belong to the pattern.
MIN_WIDENED_SHARE: Final = 0.5  # minimum share of the places that have the step
MISSING: Final = -1  # position of an omitted symbol

Occurrence = tuple[int, tuple[int, ...]]  # session and positions in it


@dataclass(frozen=True, slots=True)
class SequencePattern:
    """Recurring sequence of symbols with its occurrences.

    `occurrences` do not overlap; a symbol may be `MISSING` in some of them. `cohesion` is the pattern's share of the
    symbols in the stretches that it covers.
    """

    symbols: tuple[int, ...]
    occurrences: tuple[Occurrence, ...]
    cohesion: float

    @property
    def support(self) -> int:
        return len(self.occurrences)


def mine_patterns(
    sessions: Sequence[Sequence[int]], *, min_support: int = MIN_SUPPORT, max_patterns: int = 40
) -> list[SequencePattern]:
    """Return the patterns that explain most of the sessions, best first."""
    base_rates = _count_base_rates(sessions, min_support)
    return _choose_patterns(
        _grow_patterns(sessions, base_rates, min_support), sessions, base_rates, min_support, max_patterns
    )


@dataclass(frozen=True, slots=True)
class _Candidate:
    symbols: tuple[int, ...]
    occurrences: tuple[Occurrence, ...]  # one per end, with the latest start; they may overlap


@dataclass(frozen=True, slots=True)
class _BaseRates:
    """Frequency of each symbol, and the probability of chance that is accepted."""

    counts: Counter[int]
    total: int
    max_chance: float

    def is_chance(self, symbol: int, distances: Sequence[int], trials: int, *, min_chance: float = 0.0) -> bool:
        """Return True if the observed distances may be due to chance.

        By chance, the symbol would occur as often and as near to `trials` places. Each limit of distance is tested, and
        the most significant one decides; a correction factor accounts for testing several of them.
        """
        absence = 1 - self.counts[symbol] / self.total
        for limit in range(1, MAX_GAP + 2):
            near = sum(distance <= limit for distance in distances)
            if near and (MAX_GAP + 1) * binomial_tail(near, trials, 1 - absence**limit) <= max(
                self.max_chance, min_chance
            ):
                return False
        return True


def _count_base_rates(sessions: Sequence[Sequence[int]], min_support: int) -> _BaseRates:
    counts = Counter(symbol for session in sessions for symbol in session)
    kinds = sum(count >= min_support for count in counts.values())
    return _BaseRates(counts, sum(counts.values()), min(MAX_LINK_CHANCE, MAX_FALSE_LINKS / max(kinds, 1) ** 2))


def _grow_patterns(sessions: Sequence[Sequence[int]], base_rates: _BaseRates, min_support: int) -> list[_Candidate]:
    """Return every pattern of two or more symbols with significant links."""
    starts: dict[int, list[Occurrence]] = defaultdict(list)
    for number, session in enumerate(sessions):
        for position, symbol in enumerate(session):
            starts[symbol].append((number, (position,)))
    deadline = time.monotonic() + MAX_SECONDS
    pending = [
        _Candidate((symbol,), tuple(places)) for symbol, places in sorted(starts.items()) if len(places) >= min_support
    ]
    accepted_candidates: list[_Candidate] = []
    while pending and len(accepted_candidates) < MAX_CANDIDATES and time.monotonic() < deadline:
        candidate = pending.pop(0)
        if len(candidate.symbols) > 1:
            accepted_candidates.append(candidate)
        if len(candidate.symbols) < MAX_LENGTH:
            pending += _extend(candidate, sessions, base_rates, min_support)
    return accepted_candidates


def _extend(
    base: _Candidate, sessions: Sequence[Sequence[int]], base_rates: _BaseRates, min_support: int
) -> list[_Candidate]:
    """Extend a pattern by each symbol that follows significantly often."""
    longer: dict[int, dict[tuple[int, int], Occurrence]] = defaultdict(dict)
    for number, positions in base.occurrences:
        session, end = sessions[number], positions[-1]
        met_symbols: set[int] = set()
        for position in range(end + 1, min(len(session), end + MAX_GAP + 2)):
            symbol = session[position]
            # A pattern that starts again is a second occurrence.
            if symbol == base.symbols[0] or symbol in met_symbols:
                continue
            met_symbols.add(symbol)
            place = longer[symbol].get((number, position))
            if place is None or place[1] < positions:  # the latest start: the tightest
                longer[symbol][number, position] = (number, (*positions, position))
    trials = len(_select_disjoint(base.occurrences))
    result = []
    for symbol, places in sorted(longer.items()):
        if len(places) < min_support:
            continue
        disjoint = _select_disjoint(tuple(places.values()))
        follow_count = len(disjoint)
        forward, backward = follow_count / trials, follow_count / base_rates.counts[symbol]
        if follow_count < min_support or max(forward, backward) < MIN_BOND:
            continue
        if not base_rates.is_chance(symbol, [positions[-1] - positions[-2] for _, positions in disjoint], trials):
            result.append(_Candidate((*base.symbols, symbol), tuple(places.values())))
    return result


def _select_disjoint(places: Sequence[Occurrence]) -> list[Occurrence]:
    """Select a maximum set of disjoint places.

    This is the greedy algorithm that always takes the place that ends first.
    """
    disjoint: list[Occurrence] = []
    session, end = -1, -1
    for place in sorted(places, key=lambda place: (place[0], place[1][-1], -place[1][0])):
        if place[0] != session or place[1][0] > end:
            disjoint.append(place)
            session, end = place[0], place[1][-1]
    return disjoint


def _choose_patterns(
    candidates: Sequence[_Candidate],
    sessions: Sequence[Sequence[int]],
    base_rates: _BaseRates,
    min_support: int,
    max_patterns: int,
) -> list[SequencePattern]:
    """Select patterns greedily, each explaining most of what is still unexplained."""
    eligible = [one for one in candidates if len(one.symbols) > 1]
    used_positions: set[tuple[int, int]] = set()
    chosen_patterns: list[SequencePattern] = []
    # The worth of a pattern only shrinks, so an old value is an upper bound and most need no update.
    bounds = sorted(
        ((_measure_worth(one, _select_disjoint(one.occurrences)), index) for index, one in enumerate(eligible)),
        reverse=True,
    )
    while bounds and len(chosen_patterns) < max_patterns:
        best: tuple[float, int, list[Occurrence]] | None = None
        updated_bounds: list[tuple[float, int]] = []
        for upper_bound, index in bounds:
            if best is not None and upper_bound <= best[0]:
                updated_bounds.append((upper_bound, index))
                continue
            places = _free_occurrences(eligible[index], used_positions)
            current_worth = (
                _measure_worth(eligible[index], places)
                if _has_enough_left(eligible[index], places, chosen_patterns, min_support)
                else 0.0
            )
            if current_worth > 0:
                updated_bounds.append((current_worth, index))
                if best is None or current_worth > best[0]:
                    best = (current_worth, index, places)
        if best is None:
            break
        _, winner, places = best
        pattern = _widen(
            SequencePattern(eligible[winner].symbols, tuple(places), _measure_cohesion(places)),
            sessions,
            base_rates,
            min_support,
        )
        if pattern.cohesion >= MIN_COHESION and pattern.support * pattern.cohesion >= MIN_WEIGHT:
            chosen_patterns.append(pattern)
            used_positions |= {
                (number, position) for number, positions in pattern.occurrences for position in positions
            }
        bounds = sorted((one for one in updated_bounds if one[1] != winner), reverse=True)
    return chosen_patterns


def _widen(
    pattern: SequencePattern, sessions: Sequence[Sequence[int]], base_rates: _BaseRates, min_support: int
) -> SequencePattern:
    """Extend the pattern by symbols that mostly precede or follow it.

    A symbol may be missing in some occurrences, since people sometimes omit steps.
    """
    for direction in (-1, 1):
        while len(pattern.symbols) < MAX_LENGTH:
            wider = _widen_once(pattern, sessions, base_rates, min_support, direction)
            if wider is None:
                break
            pattern = wider
    return pattern


def _widen_once(
    pattern: SequencePattern,
    sessions: Sequence[Sequence[int]],
    base_rates: _BaseRates,
    min_support: int,
    direction: int,
) -> SequencePattern | None:
    """Extend the pattern by one symbol in the given direction.

    Returns None unless most places have the same symbol there.
    """
    near: dict[int, dict[int, int]] = defaultdict(dict)  # symbol → number of the place → position
    for index, (number, positions) in enumerate(pattern.occurrences):
        session, present_positions = sessions[number], [position for position in positions if position != MISSING]
        edge = present_positions[0] if direction < 0 else present_positions[-1]
        for step in range(1, MAX_GAP + 2):
            position = edge + direction * step
            if 0 <= position < len(session) and session[position] not in pattern.symbols:
                near[session[position]].setdefault(index, position)
    occurrence_count = len(pattern.occurrences)
    for symbol, position_by_occurrence in sorted(near.items(), key=lambda one: (-len(one[1]), one[0])):
        if len(position_by_occurrence) < max(min_support, MIN_WIDENED_SHARE * occurrence_count):
            return None
        edges = ([at for at in pattern.occurrences[index][1] if at != MISSING] for index in position_by_occurrence)
        distances = [
            abs(position - (edge[0] if direction < 0 else edge[-1]))
            for edge, position in zip(edges, position_by_occurrence.values(), strict=True)
        ]
        if base_rates.is_chance(symbol, distances, occurrence_count, min_chance=MAX_LINK_CHANCE):
            continue
        places = []
        for index, (number, positions) in enumerate(pattern.occurrences):
            more = (position_by_occurrence.get(index, MISSING),)
            places.append((number, more + positions if direction < 0 else positions + more))
        symbols = (symbol, *pattern.symbols) if direction < 0 else (*pattern.symbols, symbol)
        return SequencePattern(symbols, tuple(places), _measure_cohesion(places))
    return None


def _free_occurrences(candidate: _Candidate, used_positions: set[tuple[int, int]]) -> list[Occurrence]:
    return _select_disjoint(
        [
            place
            for place in candidate.occurrences
            if not any((place[0], position) in used_positions for position in place[1])
        ]
    )


def _has_enough_left(
    candidate: _Candidate, places: Sequence[Occurrence], chosen_patterns: Sequence[SequencePattern], min_support: int
) -> bool:
    """Return True if enough places of a pattern are still free.

    `chosen_patterns` are the patterns selected so far.
    """
    if len(places) < min_support:
        return False
    containing_support = sum(
        other.support for other in chosen_patterns if _is_subsequence(candidate.symbols, other.symbols)
    )
    return len(places) >= MIN_OWN_PLACES * containing_support


def _is_subsequence(short: Sequence[int], long: Sequence[int]) -> bool:
    """Return True if `short` is a subsequence of `long`."""
    rest = iter(long)
    return all(symbol in rest for symbol in short)


def _measure_cohesion(places: Sequence[Occurrence]) -> float:
    present_positions = [[position for position in positions if position != MISSING] for _, positions in places]
    own_length = sum(map(len, present_positions))
    stretch = sum(positions[-1] - positions[0] + 1 for positions in present_positions)
    return own_length / stretch if stretch else 1.0


def _measure_worth(candidate: _Candidate, places: Sequence[Occurrence]) -> float:
    """Return the description length saved: symbols explained minus symbols of the pattern."""
    return (
        (len(candidate.symbols) - 1) ** LENGTH_EXPONENT * len(places) * math.sqrt(_measure_cohesion(places))
        - len(candidate.symbols)
        if places
        else 0.0
    )
