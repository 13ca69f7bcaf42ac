"""Generator of statements about one file, library or option: unlike predicates of it both hold.

A team says that a file must not import a library, and where the tests of that library are: same names, nothing to
decide. `contradiction_aspects.json` has what may be said of a thing, each with values that exclude each other. Two
different aspects of the same names, a rule and a place, a default and a caveat, are no contradiction; two values of
one aspect are one, with or without a reason or another aspect in the same sentence.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

from entailment_templates import Made

TABLES = Path(__file__).with_name("data") / "contradiction_aspects.json"
UNLIKE, CONTRADICTIONS, OTHER_NAMES, PARAPHRASES = 0.5, 0.8, 0.9, 1.0  # cumulative shares
WITH_REASON, WITH_SECOND = 0.25, 0.25  # shares of the statements
_SLOT = re.compile(r"\{(\w)\}")
# Two aspects with one of these words may exclude each other, such as a place of tests and that there are none.
_TOPICS = ("cach", "test", "import", "log", "doc", "limit", "default", "export", "retr", "time", "run", "thread")


class Aspects:
    """Generator from aspects and names."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._tables: dict[str, Any] = json.loads(TABLES.read_text("utf-8"))
        self._aspects: list[list[list[str]]] = self._tables["aspects"]

    def generate(self, count: int) -> list[Made]:
        """Return `count` pairs of all kinds."""
        return [self._generate_pair() for _ in range(count)]

    def _generate_pair(self) -> Made:
        share, names = self._chance.random(), self._draw_names()
        if share < UNLIKE:
            one, other, third, fourth = self._draw_aspects(names)
            a, b = self._say(one, names), self._say(other, names)
            return Made(self._extend(a, third, names), self._extend(b, fourth, names), 0, "attribute")
        aspect = self._chance.choice(self._aspects)
        value, excluded = self._chance.sample(aspect, 2)
        second, third = self._chance.sample([one for one in self._aspects if not _are_near(one, aspect)], 2)
        if share < CONTRADICTIONS:
            a, b = self._say([value], names), self._say([excluded], names)
            return Made(self._extend(a, second, names), self._extend(b, third, names), 1, "value")
        if share < OTHER_NAMES:
            others = self._draw_names()
            return Made(self._say([value], names), self._say([excluded], others), 0, "attribute")
        a, b = self._say([value], names), self._say([value], names)
        return Made(a, self._add_reason(b), 0, "paraphrase")

    def _draw_aspects(self, names: dict[str, str]) -> list[list[list[str]]]:
        """Return four aspects; the first two share a name, as far as there is one."""
        found = self._chance.sample(self._aspects, 4)
        slots = set(_SLOT.findall(found[0][0][0]))
        near = [
            one
            for one in self._aspects
            if slots & set(_SLOT.findall(one[0][0])) and not any(_are_near(one, other) for other in found)
        ]
        return [found[0], self._chance.choice(near), *found[2:]] if near else found

    def _say(self, aspect: list[list[str]], names: dict[str, str]) -> str:
        text = self._chance.choice(self._chance.choice(aspect))
        return _SLOT.sub(lambda slot: names[slot[1]], text)

    def _extend(self, text: str, second: list[list[str]], names: dict[str, str]) -> str:
        """Add a second statement, a reason or nothing, and spell it as a sentence or as a note."""
        share = self._chance.random()
        if share < WITH_SECOND:
            text += self._chance.choice((": ", "; ", ", ", ". ", " and ")) + self._say(second, names)
        elif share < WITH_SECOND + WITH_REASON:
            text = self._add_reason(text)
        if self._chance.random() < 0.5:
            return text
        return f"{text[:1].upper()}{text[1:]}." if text.split()[0].isalpha() else f"{text}."

    def _add_reason(self, text: str) -> str:
        mark = self._chance.choice((": ", ", ", " because ", "; ", " - "))
        return text + mark + str(self._chance.choice(self._tables["reasons"]))

    def _draw_names(self) -> dict[str, str]:
        pick, tables = self._chance.choice, self._tables
        stems = self._chance.sample(tables["stems"], 6)
        extension, folder = pick(tables["exts"]), pick(tables["dirs"])
        paths = [one.format(stem) for one, stem in zip(self._chance.sample(tables["paths"], 2), stems[:2], strict=True)]
        low, high = self._chance.sample((2, 3, 5, 8, 10, 20, 30, 50, 60, 64, 88, 100, 120, 200, 500, 1000), 2)
        second = pick((f"{folder}{stems[1]}{extension}", pick(tables["docs"])))
        thing = pick(tables["things"])
        symbol = thing.format(stems[2].capitalize() if "class" in thing or "}{" in thing else stems[2], stems[3])
        return {
            "f": f"{folder}{stems[0]}{extension}", "g": second, "l": pick(tables["libs"]), "s": symbol,
            "p": paths[0], "q": paths[1], "k": pick(tables["kinds"]), "w": pick(tables["whos"]),
            "x": pick(tables["runs"]), "c": pick(tables["langs"]), "o": pick(tables["options"]),
            "n": str(low), "m": str(high),
        }  # fmt: skip


def _are_near(one: list[list[str]], other: list[list[str]]) -> bool:
    return one is other or any(topic in one[0][0] and topic in other[0][0] for topic in _TOPICS)
