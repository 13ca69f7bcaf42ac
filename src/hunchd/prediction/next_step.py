"""Prediction of the next step from a mixture of contexts.

A view is one kind of context: the last step, the last two, the last three, the last informative steps, a step a
little while ago, the branch, the hour, or what failed. Each view yields a distribution. Its weight depends on how
often the context was seen before and on how well the view has predicted so far, which is learned with every step (a
mixture of experts with multiplicative weights, as in context mixing). A routine is therefore recognised even if other
steps occur in between, where a chain that knows only the last step would fail; and if nothing is known, common steps
are predicted with low confidence.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

MAX_RECENT_STEPS: Final = 12  # steps that a view may look back
MAX_CONTEXTS: Final = 60_000  # in all views together, 5 MB; above this, the oldest half is dropped
# Recent behaviour predicts better than older behaviour.
HALF_LIFE: Final = 400.0  # steps
LEARNING_RATE: Final = 0.15  # learning rate of the weights of views
COUNT_BUCKETS: Final = (0.5, 1.5, 3.0, 6.0, 12.0)  # bounds of the buckets for the count of a context
# Initial weight of each view for each bucket of its context's count: learned on synthetic streams
# (benchmarks/workflows.py, seeds 0-3), rounded.
INITIAL_WEIGHTS: Final[dict[str, tuple[float, ...]]] = {
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
    "near": (0.2, 0.4, 0.7, 1.0, 1.5, 2.0),
    "begin": (0.3, 0.4, 0.8, 1.0, 1.0, 1.0),
}
NEAR_STEPS: Final = 3  # informative steps, each of which predicts what follows it with some other steps in between
MIN_PROBABILITY: Final = 1e-4  # lower bound of a probability
# Below this, a step is not informative: the steps that follow it are those that follow any step.
MIN_INFORMATION: Final = 0.35  # nats, plus a penalty for rarely seen steps

Context = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class StepContext:
    """Circumstances of a step, other than the steps before it."""

    branch: str = ""  # its kind: "release/*"
    hour: int = -1
    weekday: int = -1
    saved_file_kind: str = ""  # the kind of the file saved last


@dataclass(frozen=True, slots=True)
class PredictedStep:
    """Predicted step with its probability and the counts that support it."""

    step: str
    probability: float
    view: str  # view that contributes most
    context_count: float = 0.0  # how often that view had this context
    step_count: float = 0.0  # how often this step followed in it


@dataclass(slots=True)
class _ContextCounts:
    """Decayed counts of the steps that followed one context."""

    counts: dict[int, float] = field(default_factory=dict)
    total: float = 0.0
    last_step: int = 0  # number of the step at which the counts last changed

    def add_symbol(self, symbol: int, now: int) -> None:
        if now > self.last_step and self.total:
            fade = 0.5 ** ((now - self.last_step) / HALF_LIFE)
            self.total *= fade
            for other_symbol in self.counts:
                self.counts[other_symbol] *= fade
        self.last_step = now
        self.counts[symbol] = self.counts.get(symbol, 0.0) + 1.0
        self.total += 1.0


class NextStepPredictor:
    """Predictor of the next step that learns online, step by step.

    It learns with `learn_step` and predicts with `predict_steps`.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._counts_by_context: dict[Context, _ContextCounts] = {}
        self._recent: deque[tuple[int, bool]] = deque(maxlen=MAX_RECENT_STEPS)
        self._view_weights: dict[tuple[str, int], float] = {}
        self._information: dict[int, float] = {}
        self._step_count = 0

    def __len__(self) -> int:
        return self._step_count

    def clear_recent(self) -> None:
        """Forget the recent steps.

        Call this method when unrelated work begins.
        """
        self._recent.clear()

    def learn_step(self, step: str, *, has_failed: bool = False, step_context: StepContext | None = None) -> None:
        """Learn from a step that was done."""
        step_context = step_context or StepContext()
        symbol = self._intern_step(step)
        views = list(self._iterate_contexts(step_context))
        self._update_weights(views, symbol)
        self._step_count += 1
        for _, context in views:
            row = self._counts_by_context.get(context)
            if row is None:
                row = self._counts_by_context[context] = _ContextCounts(last_step=self._step_count)
            row.add_symbol(symbol, self._step_count)
        if self._step_count % 50 == 0:
            self._update_information()
        if len(self._counts_by_context) > MAX_CONTEXTS:
            oldest = sorted(self._counts_by_context, key=lambda context: self._counts_by_context[context].last_step)
            for context in oldest[: MAX_CONTEXTS // 2]:
                del self._counts_by_context[context]
        self._recent.append((symbol, has_failed))

    def predict_steps(self, k: int = 3, *, step_context: StepContext | None = None) -> list[PredictedStep]:
        """Return the `k` most probable next steps, best first."""
        probability_by_symbol: dict[int, float] = {}
        best_view: dict[int, tuple[float, str, _ContextCounts]] = {}
        views = [
            (name, row)
            for name, context in self._iterate_contexts(step_context or StepContext())
            if (row := self._counts_by_context.get(context))
        ]
        weights = self._normalised_weights(views)
        for (name, row), weight in zip(views, weights, strict=True):
            for symbol, probability in _iterate_probabilities(row):
                part = weight * probability
                probability_by_symbol[symbol] = probability_by_symbol.get(symbol, 0.0) + part
                if part > best_view.get(symbol, (0.0,))[0]:
                    best_view[symbol] = (part, name, row)
        best = sorted(probability_by_symbol.items(), key=lambda one: (-one[1], self._names[one[0]]))[:k]
        return [
            PredictedStep(
                self._names[symbol],
                min(probability, 1.0),
                best_view[symbol][1],
                best_view[symbol][2].total,
                best_view[symbol][2].counts.get(symbol, 0.0),
            )
            for symbol, probability in best
        ]

    def _iterate_contexts(self, step_context: StepContext) -> Iterator[tuple[str, Context]]:
        """Yield each view's name and current context, the most general view first."""
        recent = list(self._recent)
        last = [symbol for symbol, _ in recent]
        yield "always", ("always",)
        if step_context.hour >= 0:
            yield "hour", ("hour", step_context.hour // 2, step_context.weekday >= 5)
        if step_context.branch:
            yield "branch", ("branch", step_context.branch, *last[-1:])
        if step_context.saved_file_kind:
            yield "files", ("files", step_context.saved_file_kind, *last[-1:])
        if not last:
            yield "begin", ("begin", step_context.hour // 3, step_context.weekday)
            return
        yield "last", ("last", last[-1], recent[-1][1])
        for size in (2, 3):
            if len(last) >= size:
                yield f"last {size}", (f"last {size}", *last[-size:])
        for back in (2, 3):
            if len(last) >= back:
                yield f"{back} back", (f"{back} back", last[-back])
        informative = [symbol for symbol in last if self._information.get(symbol, 1.0) > 0.0]
        if informative:
            yield "telling", ("telling", informative[-1], len(last) - 1 - _find_last_index(last, informative[-1]))
            yield "telling 2", ("telling 2", *informative[-2:])
            yield "telling 3", ("telling 3", *informative[-3:])
        for symbol in dict.fromkeys(informative[-NEAR_STEPS:]):
            yield "near", ("near", symbol)

    def _normalised_weights(self, views: Sequence[tuple[str, _ContextCounts]]) -> list[float]:
        raw = [self._get_weight(name, row) for name, row in views]
        total = sum(raw)
        return [one / total for one in raw] if total else []

    def _update_weights(self, views: Sequence[tuple[str, Context]], symbol: int) -> None:
        """Increase the weights of the views that predicted this step."""
        known_views = [(name, row) for name, context in views if (row := self._counts_by_context.get(context))]
        if not known_views:
            return
        weights = self._normalised_weights(known_views)
        probabilities = [
            max(row.counts.get(symbol, 0.0) / (row.total + _compute_escape(row)), MIN_PROBABILITY)
            for _, row in known_views
        ]
        mixed_probability = sum(
            weight * probability for weight, probability in zip(weights, probabilities, strict=True)
        )
        for (name, row), probability in zip(known_views, probabilities, strict=True):
            # Exponentiated gradient of the logarithmic score.
            step = self._get_weight(name, row) * math.exp(
                LEARNING_RATE * (probability / mixed_probability - 1.0) / len(known_views) ** 0.5
            )
            self._view_weights[name, _find_bucket(row.total)] = min(max(step, 0.01), 100.0)

    def _get_weight(self, name: str, row: _ContextCounts) -> float:
        bucket = _find_bucket(row.total)
        return self._view_weights.get((name, bucket), INITIAL_WEIGHTS[name][bucket])

    def _update_information(self) -> None:
        """Measure how much information each step gives about the next one.

        The measure is the divergence between two distributions: that of the steps that follow it, and that of all
        steps.
        """
        overall_counts = self._counts_by_context.get(("always",))
        if overall_counts is None:
            return
        for symbol in range(len(self._names)):
            following = Counter[int]()
            for has_failed in (False, True):
                if (row := self._counts_by_context.get(("last", symbol, has_failed))) is not None:
                    following.update(row.counts)
            following_count = sum(following.values())
            if following_count < 4:
                continue
            divergence = sum(
                count
                / following_count
                * math.log(
                    (count / following_count) / max(overall_counts.counts.get(after, 0.5) / overall_counts.total, 1e-6)
                )
                for after, count in following.items()
            )
            # Bias of the estimate for few successors: about (distinct successors - 1) / 2n nats.
            chance = (len(following) - 1) / (2 * following_count) + MIN_INFORMATION
            self._information[symbol] = divergence - chance

    def _intern_step(self, step: str) -> int:
        number = self._numbers.get(step)
        if number is None:
            number = self._numbers[step] = len(self._names)
            self._names.append(step)
        return number


def _iterate_probabilities(row: _ContextCounts) -> Iterator[tuple[int, float]]:
    total = row.total + _compute_escape(row)
    return ((symbol, count / total) for symbol, count in row.counts.items())


def _compute_escape(row: _ContextCounts) -> float:
    """Return the weight given to steps not seen in this context.

    The weight grows with the number of distinct steps seen in it (Witten and Bell).
    """
    return float(len(row.counts)) * 0.5


def _find_bucket(total: float) -> int:
    return sum(total > upper_bound for upper_bound in COUNT_BUCKETS)


def _find_last_index(symbols: Sequence[int], symbol: int) -> int:
    return len(symbols) - 1 - list(reversed(symbols)).index(symbol)
