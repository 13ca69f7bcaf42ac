"""Generator of statement pairs about software projects from templates.

They are about tools for a purpose, quantities, alternatives, and what is always or never done. Each template generates
contradictions and pairs that only look like them.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

TEMPLATES = Path(__file__).with_name("data") / "contradiction_templates.json"

USED = (
    "{R}: {x}.",
    "We use {x} for {r}.",
    "For {r} we rely on {x}.",
    "{x} is what we use for {r}.",
    "When it comes to {r}, stick to {x}.",
    "{x} was chosen for {r}.",
    "{x} takes care of {r}.",
    "{r} -> {x}",
    "The project has {x} for {r}.",
    "{R} = {x}, see the README.",
)
REPLACED = (
    "We moved {r} from {x} to {y}.",
    "{x} was replaced by {y} for {r}.",
    "We dropped {x} for {y}; nothing of it is left in {r}.",
    "Since the migration {r} means {y}, and {x} is shut down.",
    "{y} replaced {x} last sprint in {r}.",
    "After {x} was thrown out, {r} went to {y}.",
    "We left {x} and are on {y} now as to {r}.",
    "{R}: switched from {x} to {y} and deleted the old setup.",
)
GONE = (
    "{x} is gone from {r}.",
    "We do not use {x} for {r} any more.",
    "{R}: {x} was removed in v3.",
    "Nothing of {x} is left in {r}.",
    "{x} has been deleted, {r} no longer needs it.",
    "Never use {x} for {r}.",
)
ONCE_USED = (
    "Until 2022 we used {x} for {r}.",
    "Before the rewrite {r} meant {x}.",
    "{x} was used for {r} in the prototype.",
    "In v1, {r} was done with {x}.",
    "Originally, {x} took care of {r}.",
)
PLANNED = (
    "We may try {x} for {r} next year.",
    "There is a proposal to move {r} to {x}, nothing is decided.",
    "Should we take {x} for {r}?",
    "Somebody asked whether {x} would be better for {r}.",
    "Spike: how {r} would look with {x}.",
)
SUPPORTED = (
    "{x} is supported for {r}.",
    "{R}: {x} works too.",
    "{x} is one of the options for {r}.",
    "{R} can be done with {x}.",
)
ABOUT = (
    "{x} is pinned to a version in ops/versions.txt.",
    "Ask {name} about {x}.",
    "{x} was upgraded on 4 May.",
    "The configuration of {x} for {r} is under ops/.",
    "The upgrade of {x} broke {r} for two hours last week.",
    "{name} set up {x} for {r}.",
    "{x} costs us 300 euros a month.",
)
STILL = (
    "The old admin tool is the exception, there {r} still means {x}.",
    "Only the demo has {x} for {r}.",
    "The partner's installation, unlike ours, has {x} for {r}.",
)
IS = (
    "{A} is {v}.",
    "{A}: {v}.",
    "We set {a} to {v}.",
    "{v} is the value for {a}.",
    "{A} = {v}",
    "{A} is {v}, see the settings.",
)
CHANGED = (
    "{A} was changed from {v} to {w}.",
    "We went from {v} to {w} for {a}.",
    "{A}: now {w}, {v} did not work out.",
    "{A} is no longer {v} but {w}.",
)
WAS = ("Until 3.2 {a} was {v}.", "{A} used to be {v}.", "In the first release {a} was {v}.", "Last year: {a} {v}.")
WILL_BE = ("We want to set {a} to {v} in autumn.", "{A} may become {v} one day.", "Should {a} be {v}?")
ASIDE = (
    "{A} can be changed in the settings.",
    "{name} has chosen {a}.",
    "{A} is checked by a test.",
    "{A} is documented in the handbook.",
)
PAST = (
    "Until v2: {p}.",
    "In the old version, {p}.",
    "Before the rewrite it was so: {p}.",
    "Last year one could still say: {p}.",
    "In 2021, {p}.",
)
MAYBE = (
    "It was proposed, but not decided: {p}.",
    "Question of a newcomer: is it true that {p}?",
    "Idea for next year: {p}.",
    "An outdated blog post says: {p}.",
)
ALWAYS = (
    "Always {do}.",
    "You must {do}.",
    "{Doing} is mandatory.",
    "Please {do}: {for}.",
    "We {do}, because {for}.",
    "{Doing} is fine, {for}.",
    "Feel free to {do}.",
    "{Doing} is what we want here.",
    "One should {do}; {for}.",
    "We always {do}.",
)
NEVER = (
    "Never {do}.",
    "Do not {do}: {against}.",
    "{Doing} is forbidden.",
    "We do not {do}, {against}.",
    "{Doing} is not allowed.",
    "Nobody should {do}.",
    "{Doing} is banned since {against}.",
    "Don't {do}; {against}.",
    "We never {do}.",
    "No {doing}.",
    "Refrain from {doing}.",
)
UNLESS = (
    "{Except}: the one exception where we {do}.",
    "For {except} we do {do}, the rule stands for everything else.",
    "{Except} may {do}, that is agreed; elsewhere the rule holds.",
    "{Doing} is fine in one case only: {except}.",
    "{Except}: exempt from the rule about {doing}.",
)
PLACES = (
    ("on staging", "in production"),
    ("on Windows", "on Linux"),
    ("in CI", "on laptops"),
    ("in the mobile app", "in the web app"),
    ("for the free plan", "for the enterprise plan"),
    ("in the training code", "in the serving code"),
    ("in debug builds", "in release builds"),
    ("on the gateway", "on the sensor nodes"),
    ("in the EU region", "in the US region"),
    ("in the editor", "in the shipped game"),
    ("in the 2.x branch", "in the 3.x branch"),
    ("for the shop", "for the warehouse"),
    ("in the parser", "in the renderer"),
    ("for admins", "for guests"),
)
PEOPLE = ("Ines", "Tomasz", "Lena", "Yusuf", "Marta", "Kofi", "Priya", "Jonas")
NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
LONG = {
    "ms": "milliseconds",
    "s": "seconds",
    "min": "minutes",
    "h": "hours",
    "d": "days",
    "KB": "kilobytes",
    "MB": "megabytes",
    "GB": "gigabytes",
    "%": "percent",
}
SAME = {
    "60 s": "a minute",
    "60 min": "an hour",
    "24 h": "a day",
    "7 d": "a week",
    "14 d": "two weeks",
    "21 d": "three weeks",
    "30 d": "a month",
    "365 d": "a year",
    "2 min": "120 seconds",
    "30 min": "half an hour",
    "500 ms": "half a second",
    "2 d": "48 hours",
    "1 GB": "1024 MB",
    "50 %": "half",
}
AFTER_VERB = frozenset(
    """
    after every for within above below at port of on has holds takes lasts by to from than be uses cost costs shows
    needs before least weighs with says in CUDA Kubernetes TypeScript Postgres start Unity
    """.split()  # noqa: SIM905 - one word after the other reads best
)


class Made(NamedTuple):
    a: str
    b: str
    contradiction: int
    kind: str


class Pairs:
    """Endless generator of different pairs, each sort in turn and in either order."""

    _sorts: tuple[Callable[[], Made], ...]

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def made(self, count: int) -> Iterator[Made]:
        for number in range(count):
            one = self._sorts[number % len(self._sorts)]()
            yield one if self._chance.random() < 0.5 else Made(one.b, one.a, one.contradiction, one.kind)

    def _pick(self, some: Any) -> Any:
        return self._chance.choice(some)


class Templates(Pairs):
    """Generator from sentences with slots for names and amounts."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self._tables: dict[str, list[dict[str, Any]]] = json.loads(TEMPLATES.read_text("utf-8"))
        self._sorts = (self._used, self._amount, self._way, self._rule)

    def _said(self, templates: tuple[str, ...], **words: str) -> str:
        found = str(self._pick(templates)).format(**words, name=self._pick(PEOPLE))
        return found[:1].upper() + found[1:] if self._chance.random() < 0.9 else found.rstrip(".")

    def _placed(self, one: str, other: str) -> tuple[str, str]:
        places = list(self._pick(PLACES))
        self._chance.shuffle(places)
        return tuple(  # type: ignore[return-value]
            f"{place.capitalize()}: {text}" if self._chance.random() < 0.3 else f"{text.rstrip('.')} {place}."
            for text, place in zip((one, other), places, strict=True)
        )

    def _used(self) -> Made:
        of, another = self._chance.sample(self._tables["roles"], 2)
        x, y, z = (*self._chance.sample(of["choices"], 2), self._pick(of["choices"]))
        role: Callable[[], dict[str, str]] = lambda: _named("r", self._pick(of["role"]))  # noqa: E731
        use = lambda what: self._said(USED, x=what, **role())  # noqa: E731
        sort = self._chance.random()
        if sort < 0.24:
            return Made(use(x), use(y), 1, "value")
        if sort < 0.38:
            return Made(use(x), self._said(REPLACED, x=x, y=y, **role()), 1, "replaced")
        if sort < 0.46:
            return Made(use(x), self._said(GONE, x=x, **role()), 1, "replaced")
        if sort < 0.49 and z not in (x, y):
            return Made(use(z), self._said(REPLACED, x=x, y=y, **role()), 1, "value")
        if sort < 0.58:
            return Made(use(y), self._said(REPLACED, x=x, y=y, **role()), 0, "paraphrase")
        if sort < 0.66:
            return Made(use(x), use(x), 0, "paraphrase")
        if sort < 0.72:
            return Made(self._said(ONCE_USED, x=x, **role()), use(y), 0, "time")
        if sort < 0.76:
            return Made(use(x), self._said(PLANNED, x=y, **role()), 0, "time")
        if sort < 0.82:
            return Made(*self._placed(use(x), use(y)), 0, "scope")
        if sort < 0.88:
            theirs = _named("r", self._pick(another["role"]))
            return Made(use(x), self._said(USED, x=self._pick(another["choices"]), **theirs), 0, "attribute")
        if sort < 0.92:
            return Made(*(self._said(SUPPORTED, x=one, **role()) for one in (x, y)), 0, "list")
        if sort < 0.96:
            return Made(use(x), self._said(ABOUT, x=x, **role()), 0, "refinement")
        return Made(use(x), self._said(STILL, x=y, **role()), 0, "exception")

    def _amount(self) -> Made:
        of, another = self._chance.sample(self._tables["quantities"], 2)
        v, w = self._chance.sample(of["values"], 2)
        say = lambda value, one=of: self._is(self._pick(one["of"]), self._written(value, one["unit"]))  # noqa: E731
        noun = _named("a", self._pick([name for name in of["of"] if not _wants_value(name)] or of["of"]))
        short = {"v": self._written(v, of["unit"]), "w": self._written(w, of["unit"])}
        sort = self._chance.random()
        if sort < 0.38:
            return Made(say(v), say(w), 1, "value")
        if sort < 0.46:
            return Made(say(v), self._said(CHANGED, **short, **noun), 1, "replaced")
        if sort < 0.54:
            return Made(say(w), self._said(CHANGED, **short, **noun), 0, "paraphrase")
        if sort < 0.68:
            return Made(say(v), say(v), 0, "paraphrase")
        if sort < 0.74:
            return Made(self._said(WAS, **short, **noun), say(w), 0, "time")
        if sort < 0.78:
            return Made(say(w), self._said(WILL_BE, **short, **noun), 0, "time")
        if sort < 0.86:
            return Made(*self._placed(say(v), say(w)), 0, "scope")
        if sort < 0.95:
            return Made(say(v), say(self._pick(another["values"]), another), 0, "attribute")
        return Made(say(v), self._said(ASIDE, **noun), 0, "refinement")

    def _is(self, name: str, value: str) -> str:
        if _wants_value(name):
            return f"{name[:1].upper()}{name[1:]} {value}."
        return self._said(IS, v=value, **_named("a", name))

    def _written(self, value: str, unit: str) -> str:
        how = self._chance.random()
        if value in SAME and how < 0.3:
            return SAME[value]
        if unit in ("money", "cents"):
            return f"{value} {self._pick(('euros', 'EUR') if unit == 'money' else ('cents', 'ct'))}"
        if unit.startswith("version"):
            return f"{unit.split()[1]} {value}" if how < 0.5 else value
        if unit in ("fps", "hz", "khz", "baud") and how < 0.6:
            return f"{value} { {'hz': 'Hz', 'khz': 'kHz'}.get(unit, unit) }"
        number, _, rest = value.partition(" ")
        if number.isdigit() and int(number) < len(NUMBERS) and unit in ("time", "count") and how < 0.55:
            number = NUMBERS[int(number)]
        if rest in LONG and how < 0.65:
            rest = LONG[rest]
        elif rest:
            number = number if number.isdigit() else value.partition(" ")[0]
        return f"{number} {rest}".strip()

    def _way(self) -> Made:
        of = self._pick(self._tables["poles"])
        one, other = self._chance.sample((of["one"], of["other"]), 2)
        subject = self._pick(of["subjects"])
        say = lambda some, what=subject: _sentence(self._pick(some), what)  # noqa: E731
        sort = self._chance.random()
        if sort < 0.48:
            return Made(say(one), say(other), 1, "antonym")
        if sort < 0.68:
            return Made(say(one), say(one), 0, "paraphrase")
        if sort < 0.78 and len(of["subjects"]) > 1:
            there = self._pick([name for name in of["subjects"] if name != subject])
            return Made(say(one), say(other, there), 0, "attribute")
        if sort < 0.86:
            return Made(*self._placed(say(one), say(other)), 0, "scope")
        if sort < 0.94:
            return Made(self._said(PAST, p=_lower(say(one)).rstrip(".")), say(other), 0, "time")
        return Made(say(one), self._said(MAYBE, p=_lower(say(other)).rstrip(".")), 0, "time")

    def _rule(self) -> Made:
        of, another = self._chance.sample(self._tables["policies"], 2)
        say = lambda some, rule=of: self._said(some, **rule, **_capitals(rule))  # noqa: E731
        sort = self._chance.random()
        if sort < 0.46:
            return Made(say(ALWAYS), say(NEVER), 1, "always")
        if sort < 0.64:
            some = self._pick((ALWAYS, NEVER))
            return Made(say(some), say(some), 0, "paraphrase")
        if sort < 0.78:
            return Made(say(NEVER), say(UNLESS), 0, "exception")
        if sort < 0.86:
            return Made(say(NEVER), say(ALWAYS, another), 0, "attribute")
        if sort < 0.92:
            return Made(*self._placed(say(NEVER), say(ALWAYS)), 0, "scope")
        some, against = self._chance.sample((ALWAYS, NEVER), 2)
        clause = _lower(say(some)).rstrip(".")
        return Made(self._said(self._pick((PAST, MAYBE)), p=clause), say(against), 0, "time")


def _named(letter: str, name: str) -> dict[str, str]:
    return {letter: name, letter.upper(): name[:1].upper() + name[1:]}


def _capitals(rule: dict[str, str]) -> dict[str, str]:
    return {key.capitalize(): value[:1].upper() + value[1:] for key, value in rule.items()}


def _wants_value(name: str) -> bool:
    """Return True if a name ends where the value goes: "the API listens on port"."""
    return name.split()[-1] in AFTER_VERB and name != "the metrics port"


def _sentence(template: str, subject: str) -> str:
    inside = not template.startswith("{s}")
    found = template.format(s=_lower(subject) if inside else subject)
    found = re.sub(r"^(\w)", lambda first: first[1].upper(), found)
    return f"{found}."


def _lower(text: str) -> str:
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]
