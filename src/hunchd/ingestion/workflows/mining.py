"""Mining of recurring sequential patterns with gaps.

Patterns grow symbol by symbol from the places where they end (prefix growth, as in PrefixSpan and BIDE), with at
most `GAP` foreign symbols between two of their own. A symbol is added only if it follows too often for chance: what
occurs everywhere (`ls`, `cd`) follows nothing in particular and drops out by itself. Of the rest those are selected
that explain most of the stream, each place once: a part of a longer pattern explains nothing more. (Closed patterns
have the same aim, but with noise there are far too many of them.)
"""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hunchd.ingestion.workflows.triggers import tail

GAP: Final = 3  # foreign symbols between two of a pattern, at most
LEAST_SUPPORT: Final = 3  # twice may be chance
LONGEST: Final = 10  # symbols
MOST_GROWN: Final = 20_000  # patterns looked at
SECONDS: Final = 5.0
# Minimum share of one symbol's occurrences that are linked to the other symbol.
LEAST_BOND: Final = 0.5
# All pairs of symbols are tested as links: this many of the accepted links may be due to chance.
CHANCE: Final = 0.2
SUREST: Final = 0.01  # per link, however few pairs there are; also for each added step
# A part of longer patterns must occur more often outside of them; otherwise it is only their truncated runs.
OWN_PLACES: Final = 1.5
# Of patterns that are about equally frequent, longer ones are preferred.
LENGTH: Final = 1.3
LEAST_COHESION: Final = 0.4
LEAST_WEIGHT: Final = 2.4  # runs times cohesion: three runs suffice if they have hardly any gaps

# Adjacent steps that are sometimes omitted still belong to the pattern.
WIDENED: Final = 0.5  # minimum share of the places that have the step
MISSING: Final = -1  # position of an omitted symbol

Place = tuple[int, tuple[int, ...]]  # session and positions in it


@dataclass(frozen=True, slots=True)
class Pattern:
    """Recurring sequence of symbols with its occurrences.

    `places` do not overlap; a symbol may be `MISSING` in some of them. `cohesion` is the share of the pattern's own
    symbols in the stretches that it covers.
    """

    symbols: tuple[int, ...]
    places: tuple[Place, ...]
    cohesion: float

    @property
    def support(self) -> int:
        return len(self.places)


def patterns(sessions: Sequence[Sequence[int]], *, least: int = LEAST_SUPPORT, most: int = 40) -> list[Pattern]:
    """Return the patterns that explain most of the sessions, best first."""
    usual = _usual(sessions, least)
    return _chosen(_grown(sessions, usual, least), sessions, usual, least, most)


@dataclass(frozen=True, slots=True)
class _Found:
    symbols: tuple[int, ...]
    places: tuple[Place, ...]  # one per end, with the latest start; they may overlap


@dataclass(frozen=True, slots=True)
class _Usual:
    """Base rates: occurrences of each symbol and the accepted probability of chance."""

    counts: Counter[int]
    total: int
    chance: float

    def is_chance(self, symbol: int, distances: Sequence[int], tried: int, *, surest: float = 0.0) -> bool:
        """Return True if the distances may be due to chance.

        The symbol occurs as often and as near to `tried` places anyway. The nearest distance makes the strongest
        case; testing several distances is paid for by a correction factor.
        """
        apart = 1 - self.counts[symbol] / self.total
        for limit in range(1, GAP + 2):
            near = sum(distance <= limit for distance in distances)
            if near and (GAP + 1) * tail(near, tried, 1 - apart**limit) <= max(self.chance, surest):
                return False
        return True


def _usual(sessions: Sequence[Sequence[int]], least: int) -> _Usual:
    counts = Counter(symbol for session in sessions for symbol in session)
    kinds = sum(count >= least for count in counts.values())
    return _Usual(counts, sum(counts.values()), min(SUREST, CHANCE / max(kinds, 1) ** 2))


def _grown(sessions: Sequence[Sequence[int]], usual: _Usual, least: int) -> list[_Found]:
    """Return every pattern of two symbols or more whose links are significant."""
    starts: dict[int, list[Place]] = defaultdict(list)
    for number, session in enumerate(sessions):
        for position, symbol in enumerate(session):
            starts[symbol].append((number, (position,)))
    deadline = time.monotonic() + SECONDS
    waiting = [_Found((symbol,), tuple(places)) for symbol, places in sorted(starts.items()) if len(places) >= least]
    found: list[_Found] = []
    while waiting and len(found) < MOST_GROWN and time.monotonic() < deadline:
        grown = waiting.pop(0)
        if len(grown.symbols) > 1:
            found.append(grown)
        if len(grown.symbols) < LONGEST:
            waiting += _extended(grown, sessions, usual, least)
    return found


def _extended(known: _Found, sessions: Sequence[Sequence[int]], usual: _Usual, least: int) -> list[_Found]:
    """Extend a pattern by each symbol that follows significantly often."""
    longer: dict[int, dict[tuple[int, int], Place]] = defaultdict(dict)
    for number, positions in known.places:
        session, end = sessions[number], positions[-1]
        seen: set[int] = set()
        for position in range(end + 1, min(len(session), end + GAP + 2)):
            symbol = session[position]
            # A pattern that starts again is a second occurrence.
            if symbol == known.symbols[0] or symbol in seen:
                continue
            seen.add(symbol)
            place = longer[symbol].get((number, position))
            if place is None or place[1] < positions:  # the latest start: the tightest
                longer[symbol][number, position] = (number, (*positions, position))
    tried = len(_apart(known.places))
    result = []
    for symbol, places in sorted(longer.items()):
        if len(places) < least:
            continue
        apart = _apart(tuple(places.values()))
        followed = len(apart)
        forward, backward = followed / tried, followed / usual.counts[symbol]
        if followed < least or max(forward, backward) < LEAST_BOND:
            continue
        if not usual.is_chance(symbol, [positions[-1] - positions[-2] for _, positions in apart], tried):
            result.append(_Found((*known.symbols, symbol), tuple(places.values())))
    return result


def _apart(places: Sequence[Place]) -> list[Place]:
    """Select a maximum set of disjoint places.

    Always takes the one that ends first.
    """
    apart: list[Place] = []
    session, end = -1, -1
    for place in sorted(places, key=lambda place: (place[0], place[1][-1], -place[1][0])):
        if place[0] != session or place[1][0] > end:
            apart.append(place)
            session, end = place[0], place[1][-1]
    return apart


def _chosen(
    found: Sequence[_Found], sessions: Sequence[Sequence[int]], usual: _Usual, least: int, most: int
) -> list[Pattern]:
    """Select greedily the pattern that explains most of what is still unexplained."""
    free = [one for one in found if len(one.symbols) > 1]
    taken: set[tuple[int, int]] = set()
    chosen: list[Pattern] = []
    # The worth of a pattern only shrinks, so an old value is an upper bound and most need no update.
    bounds = sorted(((_worth(one, _apart(one.places)), index) for index, one in enumerate(free)), reverse=True)
    while bounds and len(chosen) < most:
        best: tuple[float, int, list[Place]] | None = None
        renewed: list[tuple[float, int]] = []
        for bound, index in bounds:
            if best is not None and bound <= best[0]:
                renewed.append((bound, index))
                continue
            places = _untaken(free[index], taken)
            worth = _worth(free[index], places) if _counts(free[index], places, chosen, least) else 0.0
            if worth > 0:
                renewed.append((worth, index))
                if best is None or worth > best[0]:
                    best = (worth, index, places)
        if best is None:
            break
        _, winner, places = best
        pattern = _widened(Pattern(free[winner].symbols, tuple(places), _cohesion(places)), sessions, usual, least)
        if pattern.cohesion >= LEAST_COHESION and pattern.support * pattern.cohesion >= LEAST_WEIGHT:
            chosen.append(pattern)
            taken |= {(number, position) for number, positions in pattern.places for position in positions}
        bounds = sorted((one for one in renewed if one[1] != winner), reverse=True)
    return chosen


def _widened(pattern: Pattern, sessions: Sequence[Sequence[int]], usual: _Usual, least: int) -> Pattern:
    """Extend the pattern by symbols that mostly precede or follow it.

    Steps are sometimes omitted.
    """
    for direction in (-1, 1):
        while len(pattern.symbols) < LONGEST:
            wider = _wider(pattern, sessions, usual, least, direction)
            if wider is None:
                break
            pattern = wider
    return pattern


def _wider(
    pattern: Pattern, sessions: Sequence[Sequence[int]], usual: _Usual, least: int, direction: int
) -> Pattern | None:
    """Extend the pattern by one symbol in that direction.

    Returns None unless most places have it.
    """
    near: dict[int, dict[int, int]] = defaultdict(dict)  # symbol → number of the place → position
    for index, (number, positions) in enumerate(pattern.places):
        session, there = sessions[number], [position for position in positions if position != MISSING]
        edge = there[0] if direction < 0 else there[-1]
        for step in range(1, GAP + 2):
            position = edge + direction * step
            if 0 <= position < len(session) and session[position] not in pattern.symbols:
                near[session[position]].setdefault(index, position)
    many = len(pattern.places)
    for symbol, where in sorted(near.items(), key=lambda one: (-len(one[1]), one[0])):
        if len(where) < max(least, WIDENED * many):
            return None
        edges = ([at for at in pattern.places[index][1] if at != MISSING] for index in where)
        distances = [
            abs(position - (edge[0] if direction < 0 else edge[-1]))
            for edge, position in zip(edges, where.values(), strict=True)
        ]
        if usual.is_chance(symbol, distances, many, surest=SUREST):
            continue
        places = []
        for index, (number, positions) in enumerate(pattern.places):
            more = (where.get(index, MISSING),)
            places.append((number, more + positions if direction < 0 else positions + more))
        symbols = (symbol, *pattern.symbols) if direction < 0 else (*pattern.symbols, symbol)
        return Pattern(symbols, tuple(places), _cohesion(places))
    return None


def _untaken(one: _Found, taken: set[tuple[int, int]]) -> list[Place]:
    return _apart([place for place in one.places if not any((place[0], position) in taken for position in place[1])])


def _counts(one: _Found, places: Sequence[Place], chosen: Sequence[Pattern], least: int) -> bool:
    """Return True if enough free places of a pattern remain."""
    if len(places) < least:
        return False
    longer = sum(other.support for other in chosen if _is_part(one.symbols, other.symbols))
    return len(places) >= OWN_PLACES * longer


def _is_part(short: Sequence[int], long: Sequence[int]) -> bool:
    """Return True if `short` is a subsequence of `long`."""
    rest = iter(long)
    return all(symbol in rest for symbol in short)


def _cohesion(places: Sequence[Place]) -> float:
    there = [[position for position in positions if position != MISSING] for _, positions in places]
    own = sum(map(len, there))
    stretch = sum(positions[-1] - positions[0] + 1 for positions in there)
    return own / stretch if stretch else 1.0


def _worth(one: _Found, places: Sequence[Place]) -> float:
    """Return the description length saved: symbols explained minus symbols of the pattern."""
    return (
        (len(one.symbols) - 1) ** LENGTH * len(places) * math.sqrt(_cohesion(places)) - len(one.symbols)
        if places
        else 0.0
    )
