"""Prediction of the next step from a mixture of contexts.

A view is a context to condition on: the last step, the last two, the last three, the last informative ones, the
position in a known workflow, the branch, the hour, what failed. Each yields a distribution; its weight depends on
how often the context was seen before and on how well the view did, which is learned with every step (a mixture of
experts with multiplicative weights, as in context mixing). So a workflow with noise in it is followed where a chain
that only knows the last step is lost, and where nothing is known, common steps are predicted with little
confidence.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

MEMORY: Final = 12  # steps that a view may look back
MOST_CONTEXTS: Final = 60_000  # of all views, 5 MB; then the oldest half is dropped
# Recent behaviour predicts better than old.
HALF_LIFE: Final = 400.0  # steps
RATE: Final = 0.15  # learning rate of the weights of views
SEEN: Final = (0.5, 1.5, 3.0, 6.0, 12.0)  # bucket bounds of the count of a context
# Initial weight of each view by bucket of its context's count: learned on synthetic streams
# (benchmarks/workflows.py, seeds 0-3), rounded.
AT_FIRST: Final[dict[str, tuple[float, ...]]] = {
    "always": (0.5, 0.5, 0.7, 1.0, 1.0, 2.0),
    "hour": (0.1, 0.1, 0.2, 0.3, 0.2, 0.05),
    "last": (1.5, 2.2, 3.1, 3.0, 2.0, 4.0),
    "last 2": (0.3, 0.5, 0.9, 1.1, 1.3, 1.6),
    "last 3": (0.3, 0.6, 0.7, 1.0, 1.2, 1.4),
    "2 back": (0.2, 0.3, 0.4, 0.7, 0.9, 0.5),
    "3 back": (0.2, 0.3, 0.3, 0.2, 0.5, 0.1),
    "telling": (0.2, 0.3, 0.5, 0.6, 1.0, 3.0),
    "telling 2": (0.3, 0.4, 1.0, 1.9, 1.7, 2.3),
    "telling 3": (0.2, 0.3, 0.6, 1.1, 1.3, 1.4),
    "branch": (0.2, 0.3, 0.5, 0.8, 1.2, 1.5),
    "files": (0.2, 0.2, 0.3, 0.5, 0.8, 1.0),
    "workflow": (1.0, 2.0, 2.8, 3.2, 2.7, 2.0),
    "begin": (0.3, 0.4, 0.8, 1.0, 1.0, 1.0),
}
PRIOR: Final = 2.0  # pseudo-count of a workflow's next step before it was seen
LEAST: Final = 1e-4  # lower bound of a probability
# Below this a step is not informative: what follows it is what follows in general.
INFORMATION: Final = 0.35  # nats, plus a penalty for rarely seen steps

Context = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """Context of a step besides the steps before it."""

    branch: str = ""  # its kind: "release/*"
    hour: int = -1
    weekday: int = -1
    touched: str = ""  # the kind of the file saved last


@dataclass(frozen=True, slots=True)
class Expected:
    """Predicted step with its probability and supporting counts."""

    step: str
    probability: float
    because: str  # view that contributes most
    seen: float = 0.0  # how often that view had this context
    followed: float = 0.0  # how often this step followed in it


@dataclass(slots=True)
class _Row:
    """Decayed counts of what followed in one context."""

    counts: dict[int, float] = field(default_factory=dict)
    total: float = 0.0
    touched: int = 0  # number of the step of the last change

    def add(self, symbol: int, now: int) -> None:
        if now > self.touched and self.total:
            fade = 0.5 ** ((now - self.touched) / HALF_LIFE)
            self.total *= fade
            for known in self.counts:
                self.counts[known] *= fade
        self.touched = now
        self.counts[symbol] = self.counts.get(symbol, 0.0) + 1.0
        self.total += 1.0


class NextStep:
    """Online predictor of steps: learns by `note`, predicts by `expected`.

    Steps are strings.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._rows: dict[Context, _Row] = {}
        self._recent: deque[tuple[int, bool]] = deque(maxlen=MEMORY)
        self._paths: list[tuple[int, ...]] = []  # the steps of known workflows
        self._believed: dict[tuple[str, int], float] = {}
        self._information: dict[int, float] = {}
        self._steps = 0

    def __len__(self) -> int:
        return self._steps

    def knows(self, workflows: Iterable[Sequence[str]]) -> None:
        """Set the workflows whose positions are used as context."""
        self._paths = [tuple(map(self._number, steps)) for steps in workflows]

    def pause(self) -> None:
        """Clear the recent steps: something unrelated begins."""
        self._recent.clear()

    def note(self, step: str, *, failed: bool = False, moment: Moment | None = None) -> None:
        """Learn that a step was done."""
        moment = moment or Moment()
        symbol = self._number(step)
        views = list(self._views(moment))
        self._judge(views, symbol)
        self._steps += 1
        for _, context in views:
            row = self._rows.get(context)
            if row is None:
                row = self._rows[context] = self._row(context) or _Row(touched=self._steps)
            row.add(symbol, self._steps)
        if self._steps % 50 == 0:
            self._weigh()
        if len(self._rows) > MOST_CONTEXTS:
            oldest = sorted(self._rows, key=lambda context: self._rows[context].touched)
            for context in oldest[: MOST_CONTEXTS // 2]:
                del self._rows[context]
        self._recent.append((symbol, failed))

    def expected(self, k: int = 3, *, moment: Moment | None = None) -> list[Expected]:
        """Return the `k` most probable next steps, best first."""
        mixed: dict[int, float] = {}
        loudest: dict[int, tuple[float, str, _Row]] = {}
        views = [(name, row) for name, context in self._views(moment or Moment()) if (row := self._row(context))]
        weights = self._weights(views)
        for (name, row), weight in zip(views, weights, strict=True):
            for symbol, probability in _told(row):
                part = weight * probability
                mixed[symbol] = mixed.get(symbol, 0.0) + part
                if part > loudest.get(symbol, (0.0,))[0]:
                    loudest[symbol] = (part, name, row)
        best = sorted(mixed.items(), key=lambda one: (-one[1], self._names[one[0]]))[:k]
        return [
            Expected(
                self._names[symbol],
                min(probability, 1.0),
                loudest[symbol][1],
                loudest[symbol][2].total,
                loudest[symbol][2].counts.get(symbol, 0.0),
            )
            for symbol, probability in best
        ]

    def _views(self, moment: Moment) -> Iterator[tuple[str, Context]]:
        """Yield the current context of each view, the most general first."""
        recent = list(self._recent)
        last = [symbol for symbol, _ in recent]
        yield "always", ("always",)
        if moment.hour >= 0:
            yield "hour", ("hour", moment.hour // 2, moment.weekday >= 5)
        if moment.branch:
            yield "branch", ("branch", moment.branch, *last[-1:])
        if moment.touched:
            yield "files", ("files", moment.touched, *last[-1:])
        if not last:
            yield "begin", ("begin", moment.hour // 3, moment.weekday)
            return
        yield "last", ("last", last[-1], recent[-1][1])
        for size in (2, 3):
            if len(last) >= size:
                yield f"last {size}", (f"last {size}", *last[-size:])
        for back in (2, 3):
            if len(last) >= back:
                yield f"{back} back", (f"{back} back", last[-back])
        telling = [symbol for symbol in last if self._information.get(symbol, 1.0) > 0.0]
        if telling:
            yield "telling", ("telling", telling[-1], len(last) - 1 - _rindex(last, telling[-1]))
            yield "telling 2", ("telling 2", *telling[-2:])
            yield "telling 3", ("telling 3", *telling[-3:])
        if (place := self._place(last)) is not None:
            yield "workflow", ("workflow", *place)

    def _row(self, context: Context) -> _Row | None:
        """Return the counts of a context.

        An unseen position in a workflow predicts the workflow's next step.
        """
        row = self._rows.get(context)
        if row is None and context[0] == "workflow":
            _, path, position, _ = context
            if isinstance(path, tuple) and isinstance(position, int) and position + 1 < len(path):
                return _Row({path[position + 1]: PRIOR}, PRIOR, self._steps)
        return row

    def _place(self, last: Sequence[int]) -> tuple[tuple[int, ...], int, int] | None:
        """Return the position in the workflow that most recent steps belong to.

        The result is (workflow, index of its last step done, number of its steps done, at most 3).
        """
        best: tuple[float, tuple[int, ...], int, int] | None = None
        for path in self._paths:
            position, done, end = len(path) - 1, 0, -1
            # Backwards, so that the latest run counts instead of an earlier one.
            for start in range(len(path) - 1, -1, -1):
                found = _matched(path[: start + 1], last)
                if found is not None and found[0] > done:
                    done, end, position = found[0], found[1], start
            if done:
                score = done - 0.4 * (len(last) - 1 - end)
                if best is None or score > best[0]:
                    best = (score, path, position, min(done, 3))
        return None if best is None or best[0] <= 0 else best[1:]

    def _weights(self, views: Sequence[tuple[str, _Row]]) -> list[float]:
        raw = [self._belief(name, row) for name, row in views]
        total = sum(raw)
        return [one / total for one in raw] if total else []

    def _judge(self, views: Sequence[tuple[str, Context]], symbol: int) -> None:
        """Increase the weight of views that had predicted this step."""
        known = [(name, row) for name, context in views if (row := self._row(context))]
        if not known:
            return
        weights = self._weights(known)
        told = [max(row.counts.get(symbol, 0.0) / (row.total + _escape(row)), LEAST) for _, row in known]
        mixed = sum(weight * probability for weight, probability in zip(weights, told, strict=True))
        for (name, row), probability in zip(known, told, strict=True):
            # Exponentiated gradient of the logarithmic score.
            step = self._belief(name, row) * math.exp(RATE * (probability / mixed - 1.0) / len(known) ** 0.5)
            self._believed[name, _bucket(row.total)] = min(max(step, 0.01), 100.0)

    def _belief(self, name: str, row: _Row) -> float:
        bucket = _bucket(row.total)
        return self._believed.get((name, bucket), AT_FIRST[name][bucket])

    def _weigh(self) -> None:
        """Measure how informative each step is about the next.

        The measure is the divergence of what follows it from what follows in general.
        """
        always = self._rows.get(("always",))
        if always is None:
            return
        for symbol in range(len(self._names)):
            following = Counter[int]()
            for failed in (False, True):
                if (row := self._rows.get(("last", symbol, failed))) is not None:
                    following.update(row.counts)
            seen = sum(following.values())
            if seen < 4:
                continue
            divergence = sum(
                count / seen * math.log((count / seen) / max(always.counts.get(after, 0.5) / always.total, 1e-6))
                for after, count in following.items()
            )
            # Bias of the estimate for few successors: about (distinct successors - 1) / 2n nats.
            chance = (len(following) - 1) / (2 * seen) + INFORMATION
            self._information[symbol] = divergence - chance

    def _number(self, step: str) -> int:
        number = self._numbers.get(step)
        if number is None:
            number = self._numbers[step] = len(self._names)
            self._names.append(step)
        return number


def _matched(path: Sequence[int], last: Sequence[int]) -> tuple[int, int] | None:
    """Return how many steps of `path` were done, and where.

    They were done in order up to the last. Few other steps may lie in between. None if the last one was not done.
    """
    position, done, end = len(last) - 1, 0, -1
    for symbol in reversed(path):
        limit = max(position - (MEMORY if done == 0 else 4), -1)
        found = next((at for at in range(position, limit, -1) if last[at] == symbol), None)
        if found is None:
            if done == 0:
                return None
            continue
        end = max(end, found)
        position, done = found - 1, done + 1
    return done, end


def _told(row: _Row) -> Iterator[tuple[int, float]]:
    whole = row.total + _escape(row)
    return ((symbol, count / whole) for symbol, count in row.counts.items())


def _escape(row: _Row) -> float:
    """Return the weight of unseen steps.

    It grows with how often something new was seen (Witten and Bell).
    """
    return float(len(row.counts)) * 0.5


def _bucket(total: float) -> int:
    return sum(total > bound for bound in SEEN)


def _rindex(symbols: Sequence[int], wanted: int) -> int:
    return len(symbols) - 1 - list(reversed(symbols)).index(wanted)
