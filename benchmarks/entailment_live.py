"""Generator of statement pairs as a team makes them over months: what is said later seldom repeats the words.

Each table of `contradiction_live.json` has frames for a value of a thing, in words that differ much from each other,
and values that exclude each other. Beside contradictions come paraphrases, other things with other values, the same
value with a reason, plans, and other places or times.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

from entailment_templates import PLACES, Made

TABLES = Path(__file__).with_name("data") / "contradiction_live.json"
CONTRADICTIONS, PARAPHRASES, OTHER_THINGS, OTHER_PLACES, PLANS = 0.48, 0.62, 0.84, 0.9, 0.96  # cumulative shares
MINIMUM_VERSIONS, SAME_THING = 0.08, 0.1  # shares


class LiveStatements:
    """Generator from frames, things and values."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._tables: dict[str, Any] = json.loads(TABLES.read_text("utf-8"))
        self._uses: dict[str, list[tuple[dict[str, Any], dict[str, Any], int]]] = defaultdict(list)
        for kind in self._tables["kinds"]:
            for group in () if kind.get("tools") else kind["groups"]:
                for at, thing in enumerate(group["things"]):
                    self._uses[thing[0] if isinstance(thing, list) else thing].append((kind, group, at))
        self._shared = [
            name for name, uses in self._uses.items() if len({id(kind) for kind, *_ in uses}) == len(uses) > 1
        ]

    def generate(self, count: int) -> list[Made]:
        """Return `count` pairs of all kinds."""
        return [self._generate_pair() for _ in range(count)]

    def _generate_pair(self) -> Made:
        share = self._chance.random()
        if share < MINIMUM_VERSIONS:
            return self._compare_minimums(*self._chance.choice(self._tables["minimum"]))
        if share < MINIMUM_VERSIONS + SAME_THING:
            return self._compare_attributes()
        return self._compare_values(self._chance.choice(self._tables["kinds"]))

    def _compare_minimums(self, required: list[str], older: list[str], beside: list[str]) -> Made:
        """Compare a minimum version with an older one that still works, or with something that goes with both."""
        pick, share = self._chance.choice, self._chance.random()
        if share < 0.5:
            return Made(*self._shuffle(pick(required), pick(older)), 1, "version")
        if share < 0.75:
            return Made(*self._chance.sample(pick((required, older)), 2), 0, "paraphrase")
        return Made(*self._shuffle(pick((*required, *older)), pick(beside)), 0, "attribute")

    def _compare_attributes(self) -> Made:
        """Return two properties of one thing: both hold."""
        name = self._chance.choice(self._shared)
        said = [self._say(kind, group["things"][at], *self._chance.sample(group["values"], 2))
                for kind, group, at in self._chance.sample(self._uses[name], 2)]  # fmt: skip
        return Made(said[0], said[1], 0, "attribute")

    def _compare_values(self, kind: dict[str, Any]) -> Made:
        pick = self._chance.choice
        group = pick(kind["groups"])
        thing, other = self._chance.sample(group["things"], 2)
        one, two = self._chance.sample(group["values"], 2)
        share = self._chance.random()
        if share < CONTRADICTIONS:
            return Made(*self._shuffle(self._say(kind, thing, one, two), self._say(kind, thing, two, one)), 1, "value")
        if share < PARAPHRASES:
            return Made(self._say(kind, thing, one, two), self._say(kind, thing, one, two), 0, "paraphrase")
        if share < OTHER_THINGS:
            return Made(
                self._say(kind, thing, one, two),
                self._say(kind, other, *pick(((one, two), (two, one), (two, one)))),
                0,
                "attribute",
            )
        a, b = self._say(kind, thing, one, two), self._say(kind, thing, two, one)
        if share < OTHER_PLACES:
            here, there = self._chance.sample(pick(PLACES), 2)
            return Made(f"{a.rstrip('.')} {here}.", f"{b.rstrip('.')} {there}.", 0, "scope")
        if share < PLANS:
            return Made(a, pick(self._tables["plans"]).format(_lower(b.rstrip("."))), 0, "time")
        return Made(pick(self._tables["past"]).format(_lower(b.rstrip("."))), a, 0, "time")

    def _shuffle(self, a: str, b: str) -> tuple[str, str]:
        return (a, b) if self._chance.random() < 0.5 else (b, a)

    def _say(self, kind: dict[str, Any], thing: Any, value: Any, other: Any) -> str:
        """Return a sentence that gives the thing this value; it may name the other value as given up."""
        pick = self._chance.choice
        words = thing if isinstance(thing, list) else [thing]
        spelt = value if isinstance(value, list) else [value]
        given_up = other if isinstance(other, list) else [other]
        later = kind.get("later", ())
        frame = pick(later if later and self._chance.random() < 0.2 else kind["frames"])
        found = frame.format(t=pick(words), v=pick(spelt), o=pick(given_up))
        found = found[:1].upper() + found[1:]
        if self._chance.random() < 0.12 and found.endswith(".") and " now" not in found:
            found = found[:-1] + pick(self._tables["since"]) + "."
        return found


def _lower(sentence: str) -> str:
    return sentence if sentence[1:2].isupper() else sentence[:1].lower() + sentence[1:]
