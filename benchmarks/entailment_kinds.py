"""Generator of statement pairs from tables: order, owners, rights, rhythms, dates, versions, places, quantifiers.

Each kind generates contradictions and pairs that only look like them: a paraphrase, another subject, another scope or
time, a stated exception, a history, a statement that the other leaves open.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from entailment_templates import LONG, PLACES, SAME, Made, Pairs

TABLES = Path(__file__).with_name("data") / "contradiction_kinds.json"

IN_DAYS = {"min": 1 / 1440, "h": 1 / 24, "d": 1.0, "y": 365.0}


class Kinds(Pairs):
    """Generator from tables of words and their meanings."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self._tables: dict[str, Any] = json.loads(TABLES.read_text("utf-8"))
        self._told: dict[str, list[str]] = self._tables["said"]
        self._sorts = (
            self._order, self._owner, self._right, self._rhythm, self._moment, self._version, self._version,
            self._place, self._quantifier, self._quantifier, self._kept, self._sibling, self._sibling, self._sibling,
        )  # fmt: skip

    def _say(self, how: str, **words: str) -> str:
        capitals = {key[:1].upper() + key[1:]: _capital(value) for key, value in words.items()}
        found = str(self._pick(self._told[how])).format(**{**capitals, **words})
        return _capital(found) if self._chance.random() < 0.9 else found.rstrip(".")

    def _beside(self, a: Callable[[], str], b: Callable[[], str]) -> Made:
        """Return contradictory statements about two places or times: no contradiction."""
        how = self._chance.random()
        if how < 0.5:
            here, there = self._chance.sample(self._pick(PLACES), 2)
            return Made(*(f"{say().rstrip('.')} {where}." for say, where in ((a, here), (b, there))), 0, "scope")
        say = b().rstrip(".")
        return Made(a(), self._say("past" if how < 0.8 else "maybe", p=say[:1].lower() + say[1:]), 0, "time")

    def _order(self) -> Made:
        if self._chance.random() < 0.2:
            x, y = self._chance.sample(self._pick(self._tables["layers"]), 2)
            wins = lambda one, two: self._say("wins", x=one, y=two)  # noqa: E731
            if self._chance.random() < 0.55:
                return Made(wins(x, y), wins(y, x), 1, "order")
            return Made(wins(x, y), wins(x, y), 0, "paraphrase")
        x, y, z = self._chance.sample(self._pick(self._tables["steps"]), 3)

        def say(one: list[str], two: list[str], how: str = "first") -> str:
            names = {"do": 0, "doing": 1}
            steps = {"x": one, "y": two}
            more = {f"{key}_{letter}": steps[letter][at] for letter in steps for key, at in names.items()}
            return self._say(how, x=one[2], y=two[2], **more)

        sort = self._chance.random()
        if sort < 0.42:
            return Made(say(x, y), say(y, x), 1, "order")
        if sort < 0.47:
            return Made(say(x, y), say(x, y, "at_once"), 1, "order")
        if sort < 0.67:
            return Made(say(x, y), say(x, y), 0, "paraphrase")
        if sort < 0.87:
            others = ((say(x, y), say(y, z)), (say(x, y), say(x, z)), (say(x, z), say(y, z)))
            return Made(*self._pick(others), 0, "attribute")
        return self._beside(lambda: say(x, y), lambda: say(y, x))

    def _owner(self) -> Made:
        (noun, do, does), other = self._chance.sample(self._tables["duties"], 2)
        p, q = self._chance.sample(self._pick((self._tables["people"], self._tables["teams"])), 2)
        words: dict[str, str] = {"d": noun, "do": do, "does": does}
        theirs: dict[str, str] = dict(zip(("d", "do", "does"), other, strict=True))
        owns = lambda who: self._say("owns", p=who, **words)  # noqa: E731
        sort = self._chance.random()
        if sort < 0.36:
            return Made(owns(p), owns(q), 1, "owner")
        if sort < 0.42:
            return Made(owns(p), self._say("taken_over", p=p, q=q, **words), 1, "owner")
        if sort < 0.45:
            return Made(owns(p), self._say("not_done", **words), 1, "owner")
        if sort < 0.57:
            return Made(owns(p), owns(p), 0, "paraphrase")
        if sort < 0.63:
            return Made(owns(q), self._say("taken_over", p=p, q=q, **words), 0, "paraphrase")
        if sort < 0.78:
            return Made(owns(p), self._say("owns", p=self._pick((p, q)), **theirs), 0, "attribute")
        if sort < 0.92:
            return Made(owns(q), self._say("owned_not_now", p=p, q=q, **words), 0, "time")
        return self._beside(lambda: owns(p), lambda: owns(q))

    def _right(self) -> Made:
        (do, does, doing), other = self._chance.sample(self._tables["rights"], 2)
        (rs, r), (qs, q), (zs, z) = self._chance.sample(self._tables["roles_of_people"], 3)
        words = {"do": do, "does": does, "doing": doing}
        theirs = dict(zip(("do", "does", "doing"), other, strict=True))
        one, two = {"rs": rs, "r": r, **words}, {"rs": qs, "r": q, **words}
        pairs: tuple[tuple[float, str, dict[str, str], str, dict[str, str], int], ...] = (
            (0.13, "only", one, "anybody", words, 1),
            (0.11, "only", one, "may", two, 1),
            (0.10, "may", one, "may_not", one, 1),
            (0.07, "anybody", words, "may_not", one, 1),
            (0.05, "only", one, "only", two, 1),
            (0.04, "only", one, "may_not", one, 1),
            (0.09, "only", one, "may_not", two, 0),
            (0.09, "only", one, "may", one, 0),
            (0.08, "may", one, "may_not", two, 0),
            (0.05, "only", one, "only", one, 0),
            (0.06, "anybody", words, "may", one, 0),
            (0.05, "only", one, "anybody", theirs, 0),
            (0.04, "only", one, "may", {"rs": zs, "r": z, **theirs}, 0),
            (0.04, "may", one, "may_not", {"rs": rs, "r": r, **theirs}, 0),
        )
        chosen = self._chance.choices(pairs, [row[0] for row in pairs])[0]
        a, b = self._say(chosen[1], **chosen[2]), self._say(chosen[3], **chosen[4])
        return Made(a, b, chosen[5], "right")

    def _rhythm(self) -> Made:
        (event, clause), (other, theirs) = self._chance.sample(self._tables["events"], 2)
        mine, another = self._chance.sample(self._tables["rhythms"], 2)
        say = lambda rhythm: self._say("often", e=event, c=clause, f=self._pick(rhythm))  # noqa: E731
        sort = self._chance.random()
        if sort < 0.45:
            return Made(say(mine), say(another), 1, "time")
        if sort < 0.6:
            same = [one for one in mine if "Monday" not in one and "Tuesday" not in one]
            return Made(say(same), say(same), 0, "paraphrase")
        if sort < 0.75:
            return Made(say(mine), self._say("often", e=other, c=theirs, f=self._pick(another)), 0, "attribute")
        if sort < 0.85:
            moment = {"e": event, "c": clause, "t": self._pick(self._tables["clock"])}
            daily_to_monthly = self._tables["rhythms"][self._pick((1, 2, 3, 4))]
            return Made(say(daily_to_monthly), self._say("at", **moment), 0, "refinement")
        return self._beside(lambda: say(mine), lambda: say(another))

    def _moment(self) -> Made:
        if self._chance.random() < 0.35:
            rows = [{"e": event, "does": does} for event, does in self._chance.sample(self._tables["dated"], 2)]
            year, month = self._pick(range(2023, 2028)), self._pick(self._tables["months"])
            later = self._pick((f"{month} {year + self._pick((-1, 1))}", f"{self._month(month)} {year}"))
            dates = [f"{month} {year}", later]
            how = "on_date"
        else:
            rows = [{"e": event, "c": clause} for event, clause in self._chance.sample(self._tables["events"], 2)]
            how = self._pick(("at", "on_day"))
            dates = self._chance.sample(self._tables["clock" if how == "at" else "weekdays"], 2)
        say = lambda row, at: self._say(how, **rows[row], t=dates[at])  # noqa: E731
        sort = self._chance.random()
        if sort < 0.48:
            return Made(say(0, 0), say(0, 1), 1, "time")
        if sort < 0.62:
            return Made(say(0, 0), say(0, 0), 0, "paraphrase")
        if sort < 0.8:
            return Made(say(0, 0), say(1, self._pick((0, 1))), 0, "attribute")
        return self._beside(lambda: say(0, 0), lambda: say(0, 1))

    def _month(self, month: str) -> str:
        return str(self._pick([one for one in self._tables["months"] if one != month]))

    def _version(self) -> Made:
        (name, row), (other, theirs) = self._chance.sample(self._tables["versions"], 2)
        versions = row.split()
        low, high = sorted(self._chance.sample(range(len(versions)), 2))
        w, v, u = versions[low], versions[high], self._pick(versions[high:])
        say = lambda how, n=name, v=v, w=w: self._say(how, n=n, v=v, w=w, u=u)  # noqa: E731
        of_other = self._chance.sample(theirs.split(), 2)
        sort = self._chance.random()
        if sort < 0.34:
            return Made(say("oldest"), say("older_works"), 1, "version")
        if sort < 0.40:
            return Made(say("older_works"), say("gone"), 1, "version")
        if sort < 0.47:
            return Made(say("only_version"), say("only_version", v=w), 1, "version")
        if sort < 0.51:
            return Made(say("only_version", v=w), say("oldest"), 1, "version")
        if sort < 0.61:
            return Made(say("oldest"), say("oldest"), 0, "paraphrase")
        if sort < 0.69:
            return Made(say("oldest"), say("gone"), 0, "refinement")
        if sort < 0.78:
            return Made(say("oldest"), say("newer_works"), 0, "refinement")
        if sort < 0.89:
            return Made(say("oldest"), say("older_works", n=other, w=of_other[0]), 0, "attribute")
        return self._beside(lambda: say("oldest"), lambda: say("older_works"))

    def _place(self) -> Made:
        (thing, *places), (other, *theirs) = self._chance.sample(self._tables["places"], 2)
        p, q = self._chance.sample(places, 2)
        say = lambda how, t=thing, at=p: self._say(how, t=t, p=at, q=q)  # noqa: E731
        sort = self._chance.random()
        if sort < 0.34:
            return Made(say("lies"), say("lies", at=q), 1, "place")
        if sort < 0.41:
            return Made(say("lies"), say("not_there"), 1, "place")
        if sort < 0.48:
            return Made(say("lies"), say("moved"), 1, "place")
        if sort < 0.56:
            return Made(say("lies", at=q), say("moved"), 0, "paraphrase")
        if sort < 0.68:
            return Made(say("lies"), say("lies"), 0, "paraphrase")
        if sort < 0.73:
            return Made(say("lies", at=q), say("not_there"), 0, "refinement")
        if sort < 0.87:
            return Made(say("lies"), say("lies", t=other, at=self._pick((p, q, self._pick(theirs)))), 0, "attribute")
        return self._beside(lambda: say("lies"), lambda: say("lies", at=q))

    def _quantifier(self) -> Made:
        cs, members, positive, negative = self._pick(self._tables["classes"])
        others = self._pick(self._tables["classes"])
        if self._chance.random() < 0.35:
            positive, negative = negative, positive
        m, n = self._chance.sample(members, 2)
        words = _make_wording(cs[0], m, positive, negative)
        other_member = {**words, "m": n}
        theirs = _make_wording(others[0][0], others[1][0], others[2], others[3])
        pairs: tuple[tuple[float, str, str, dict[str, str], int], ...] = (
            (0.26, "all", "some_not", words, 1),
            (0.10, "all", "none", words, 1),
            (0.08, "none", "some", words, 1),
            (0.06, "all_but_named", "member_not", other_member, 1),
            (0.12, "all_but", "member_not", words, 0),
            (0.08, "all", "some", words, 0),
            (0.07, "all", "all", words, 0),
            (0.05, "some", "some_only", words, 0),
            (0.05, "none", "some_not", words, 0),
            (0.08, "all", "some_not", theirs, 0),
        )
        chosen = self._chance.choices(pairs, [row[0] for row in pairs])[0]
        if chosen[4] and self._chance.random() < 0.12:
            return self._beside(lambda: self._say(chosen[1], **words), lambda: self._say(chosen[2], **words))
        if chosen[3] is theirs and others[0][0] == cs[0]:
            return Made(self._say("all", **words), self._say("some", **words), 0, "quantifier")
        return Made(self._say(chosen[1], **words), self._say(chosen[2], **chosen[3]), chosen[4], "quantifier")

    def _sibling(self) -> Made:
        """Return a statement about another kind of things, about all, or about only one."""
        first, second, whole, positive, negative = self._pick(self._tables["siblings"])
        one, other = (first, second) if self._chance.random() < 0.5 else (second, first)
        if one != first:
            positive, negative = negative, positive
        agree, oppose = (lambda: self._pick(positive)), (lambda: self._pick(negative))

        def of(who: str, what: str) -> str:
            return _capital(f"{who} {_agree_in_number(who, what)}.")

        def only(what: str) -> str:
            does = _agree_in_number(one, what)
            return _capital(self._pick((f"only {one} {does}.", f"{one}, and no other {whole}, {does}.")))

        def every(what: str) -> str:
            return str(self._pick((f"All {whole} {_plural(what)}.", f"Without exception, {whole} {_plural(what)}.")))

        def but(what: str) -> str:
            do = _plural(what)
            return str(self._pick((f"All {whole} except {other} {do}.", f"Apart from {other}, {whole} {do}.")))

        cases: tuple[tuple[float, Callable[[], str], Callable[[], str], int], ...] = (
            (0.30, lambda: of(one, agree()), lambda: of(other, oppose()), 0),
            (0.16, lambda: of(one, agree()), lambda: of(one, oppose()), 1),
            (0.14, lambda: every(agree()), lambda: of(other, oppose()), 1),
            (0.06, lambda: every(agree()), lambda: every(oppose()), 1),
            (0.08, lambda: only(agree()), lambda: of(other, oppose()), 0),
            (0.07, lambda: only(agree()), lambda: of(other, agree()), 1),
            (0.07, lambda: but(agree()), lambda: of(other, oppose()), 0),
            (0.05, lambda: but(agree()), lambda: of(one, oppose()), 1),
            (0.07, lambda: of(one, agree()), lambda: of(one, agree()), 0),
        )
        _, a, b, contradiction = self._chance.choices(cases, [row[0] for row in cases])[0]
        return Made(a(), b(), contradiction, "quantifier" if contradiction else "sibling")

    def _kept(self) -> Made:
        (name, _, row), (other, _, theirs) = self._chance.sample(self._tables["attributes"], 2)
        values = [one.strip() for one in row.split("|")]
        v, w = self._chance.sample(values, 2)
        less, more = sorted((v, w), key=_days)
        say = lambda how, value, a=name: self._say(how, a=a, v=self._long(value))  # noqa: E731
        sort = self._chance.random()
        if sort < 0.32:
            return Made(say("kept", v), say("kept", w), 1, "value")
        if sort < 0.38:
            return Made(say("kept", v), say("for_ever", v), 1, "value")
        if sort < 0.46:
            beyond = (say("kept", less), say("at_least", more)), (say("kept", more), say("at_most", less))
            return Made(*self._pick(beyond), 1, "value")
        if sort < 0.54:
            within = (say("kept", more), say("at_least", less)), (say("kept", less), say("at_most", more))
            return Made(*self._pick(within), 0, "range")
        if sort < 0.7:
            return Made(say("kept", v), say("kept", v), 0, "paraphrase")
        if sort < 0.86:
            value = self._pick([one.strip() for one in theirs.split("|")])
            return Made(say("kept", v), say("kept", value, a=other), 0, "attribute")
        return self._beside(lambda: say("kept", v), lambda: say("kept", w))

    def _long(self, value: str) -> str:
        if value in SAME and self._chance.random() < 0.4:
            return SAME[value]
        number, _, unit = value.partition(" ")
        found = {**LONG, "y": "years"}.get(unit, unit)
        return f"{number} {found}"


def _make_wording(things: str, member: str, positive: list[str], negative: list[str]) -> dict[str, str]:
    """Return the wording for a kind of things, and for one of them."""
    wording = {"cs": things, "m": member, "pos": positive[0], "bare": positive[0], "one": positive[1]}
    return wording | {"neg": negative[0], "neg_one": negative[1]}


SINGULAR = re.compile(
    r"^(?:is|has|needs|uses|writes|goes|stays|runs|comes|arrives|prints|gets|computes|speaks|stops|reports|shows|takes|"
    r"ends|does|logs|accepts|refuses|allocates|happens|repeats|answers|returns|imports|triggers|waits|carries)\b"
)
PLURAL = {"is": "are", "has": "have", "goes": "go", "does": "do", "carries": "carry"}
SINGULAR_OF = {plural: singular for singular, plural in PLURAL.items()}


def _is_plural(who: str) -> bool:
    return who.split(" of ")[0].split(" below ")[0].split(" in ")[0].split(" added")[0].rstrip().endswith(
        "s"
    ) or who in ("staff", "media")


def _plural(what: str) -> str:
    first, _, rest = what.partition(" ")
    return f"{PLURAL.get(first, first.removesuffix('s'))} {rest}" if SINGULAR.match(what) else what


def _agree_in_number(who: str, what: str) -> str:
    first, _, rest = what.partition(" ")
    if _is_plural(who):
        return _plural(what)
    if SINGULAR.match(what) or first in ("may", "can", "cannot", "must", "never"):
        return what
    return f"{SINGULAR_OF.get(first, f'{first}s')} {rest}"


def _days(value: str) -> float:
    number, _, unit = value.partition(" ")
    return float(number) * IN_DAYS.get(unit, 1.0)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
