"""Index that selects facts by their words, without looking at all of them."""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from hunchd.domain.memory import Memory, Trust

Rank = tuple[float, float, str]  # importance and time, both negated, and the id

MOST_NEAR = 24  # user's facts selected because they share a word with the current work
MOST_GENERAL = 8  # user's facts selected in any case: the most important, then the newest
MOST_HOLDERS = 400  # facts; a word that occurs in more of them is too common to select by


class FactIndex:
    """Index of facts that are stored elsewhere; `sync` brings it up to date.

    Only the user's statements are selected by words, because their number grows without limit. Conventions and
    decisions of the project, and facts that are valid on one branch only, are few and are always returned.
    """

    def __init__(self, words_of: Callable[[str], frozenset[str]]) -> None:
        self._words_of = words_of
        self._known_facts: dict[str, Memory] = {}
        self._always: dict[str, Memory] = {}
        self._holders: dict[str, set[str]] = defaultdict(set)
        self._ranks: list[Rank] = []

    def sync(self, facts: Mapping[str, Memory]) -> None:
        """Bring the index up to date with `facts`.

        Objects are compared by identity, which takes about 0.2 ms for 10,000 facts if none has changed.
        """
        known_facts = self._known_facts
        if known_facts == facts:
            return
        for identifier in [one for one in known_facts if one not in facts]:
            self._drop(identifier)
        for identifier, fact in facts.items():
            if known_facts.get(identifier) is not fact:
                self._drop(identifier)
                self._add(identifier, fact)

    def select_relevant(self, words: Iterable[str]) -> list[Memory]:
        """Return the facts that may concern the work that `words` describe."""
        scores: dict[str, float] = defaultdict(float)
        for word in words:
            holders = self._holders.get(word, ())
            if 0 < len(holders) <= MOST_HOLDERS:
                for identifier in holders:
                    scores[identifier] += 1.0 / len(holders)
        near = sorted(scores, key=lambda one: (-scores[one], one))[:MOST_NEAR]
        general = [identifier for *_, identifier in self._ranks[:MOST_GENERAL]]
        return [*self._always.values(), *(self._known_facts[one] for one in dict.fromkeys((*near, *general)))]

    def _add(self, identifier: str, fact: Memory) -> None:
        self._known_facts[identifier] = fact
        if fact.trust is not Trust.USER or fact.branch is not None:
            self._always[identifier] = fact
            return
        insort(self._ranks, _rank(fact))
        for word in self._extract_words(fact):
            self._holders[word].add(identifier)

    def _drop(self, identifier: str) -> None:
        fact = self._known_facts.pop(identifier, None)
        if fact is None or self._always.pop(identifier, None) is not None:
            return
        self._ranks.remove(_rank(fact))
        for word in self._extract_words(fact):
            self._holders[word].discard(identifier)
            if not self._holders[word]:
                del self._holders[word]

    def _extract_words(self, fact: Memory) -> frozenset[str]:
        return self._words_of(f"{fact.title} {fact.content}")


def _rank(fact: Memory) -> Rank:
    return -fact.importance, -fact.at.timestamp(), fact.id
