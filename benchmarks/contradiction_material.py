"""Generator of statement pairs that train the contradiction classifier.

A frame is something that projects state, in several wordings: a choice with its values, a yes or no, a rule, a
version.
From each frame come pairs that contradict each other and pairs that only look like it: another scope, another project,
another time, a refinement, a paraphrase, compatible statements. All sentences are our own.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# Pairs written by hand, as developers write them.
WRITTEN = Path(__file__).with_name("data") / "contradictions_written.jsonl"


class Pair(NamedTuple):
    a: str
    b: str
    contradiction: int
    kind: str
    group: str  # pairs of one group share their wording; they are held out together


# Wordings of one thing with `{}` for its value; values; affirmations and denials; places and times.
FRAMES = json.loads(Path(__file__).with_name("data").joinpath("contradiction_frames.json").read_text("utf-8"))
FOR_AND_AGAINST = (*FRAMES["yes and no"], *FRAMES["rules"])
# Two statements about versions of one tool: wording and version of each, and True if both cannot hold.
VERSIONS = (
    ("least versions", "mid", "exact versions", "low", 1, "versions"),
    ("least versions", "mid", "exact versions", "high", 0, "refinement"),
    ("exact versions", "mid", "exact versions", "high", 1, "versions"),
    ("most versions", "low", "least versions", "high", 1, "versions"),
    ("most versions", "high", "least versions", "low", 0, "refinement"),
)


def generate_pairs(seed: int = 7) -> list[Pair]:
    """Generate the pairs; equal seeds give equal pairs."""
    rng = random.Random(seed)
    pairs = [
        *_choices(rng),
        *_quantities(rng),
        *_yes_no(rng),
        *_rules(rng),
        *_versions(rng),
        *_pins(rng),
        *_generate_unrelated(rng),
        *_generate_compatible(rng),
        *_properties(rng),
    ]
    rows = [json.loads(line) for line in WRITTEN.read_text("utf-8").splitlines()]
    written_pairs = [
        Pair(row["a"], row["b"], row["label"], row["kind"], f"written {number}") for number, row in enumerate(rows)
    ]
    return list(dict.fromkeys((*pairs, *written_pairs)))


def _choices(rng: random.Random) -> Iterator[Pair]:
    for number, (wordings, values) in enumerate((*FRAMES["choices"], *FRAMES["texts"])):
        group = f"choice {number}"
        for _ in range(8):
            (first, second), (one, other) = _pick_wordings(rng, wordings), rng.sample(values, 2)
            yield Pair(first.format(one), second.format(other), 1, "other value", group)
        yield from _generate_lookalikes(rng, wordings, values, group)


def _quantities(rng: random.Random) -> Iterator[Pair]:
    for number, (wordings, values) in enumerate(FRAMES["quantities"]):
        group = f"quantity {number}"
        for _ in range(8):
            (first, second), (one, other) = _pick_wordings(rng, wordings), rng.sample(values, 2)
            yield Pair(first.format(one), second.format(other), 1, "other value", group)
        yield from _generate_lookalikes(rng, wordings, values, group)
    for (mine, values), (others, more) in itertools.combinations(FRAMES["quantities"], 2):
        if rng.random() < 0.6:
            yield Pair(
                rng.choice(mine).format(rng.choice(values)),
                rng.choice(others).format(rng.choice(more)),
                0,
                "other attribute",
                "quantities",
            )


def _generate_lookalikes(
    rng: random.Random, wordings: tuple[str, ...], values: tuple[str, ...], group: str
) -> Iterator[Pair]:
    for _ in range(3):
        first, second = _pick_wordings(rng, wordings)
        value = rng.choice(values)
        if first != second:
            yield Pair(first.format(value), second.format(value), 0, "paraphrase", group)
        one, other = rng.sample(values, 2)
        here, there = rng.sample(rng.choice(FRAMES["scopes"]), 2)
        yield Pair(f"{first.format(one)} {here}", f"{second.format(other)} {there}", 0, "other scope", group)
        yield Pair(_lower(rng.choice(FRAMES["past"]), first.format(one)), second.format(other), 0, "other time", group)
        yield Pair(first.format(value), second.format(value) + rng.choice(FRAMES["more"]), 0, "refinement", group)
    one, other = rng.sample(values, 2)
    first, second = _pick_wordings(rng, wordings)
    here, there = rng.sample(FRAMES["projects"], 2)
    yield Pair(f"In {here}: {first.format(one)}", f"In {there}: {second.format(other)}", 0, "other project", group)
    yield Pair(
        f"{first.format(one)}", _lower(rng.choice(FRAMES["future"]), second.format(other)), 0, "other time", group
    )


def _yes_no(rng: random.Random) -> Iterator[Pair]:
    for number, (yes, no) in enumerate(FRAMES["yes and no"]):
        yield from _for_and_against(rng, yes, no, "negation", f"yes {number}")


def _rules(rng: random.Random) -> Iterator[Pair]:
    for number, (yes, no) in enumerate(FRAMES["rules"]):
        yield from _for_and_against(rng, yes, no, "always never", f"rule {number}")


def _for_and_against(
    rng: random.Random, yes: tuple[str, ...], no: tuple[str, ...], kind: str, group: str
) -> Iterator[Pair]:
    for _ in range(8):
        one, other = rng.choice(yes), rng.choice(no)
        if rng.random() < 0.5:
            one, other = other, one
        if rng.random() < 0.2:
            other += rng.choice(FRAMES["more"])
        yield Pair(one, other, 1, kind, group)
    for side in (yes, no):
        for one, other in itertools.combinations(side, 2):
            yield Pair(one, other, 0, "paraphrase", group)
        one = rng.choice(side)
        yield Pair(one, rng.choice(side) + rng.choice(FRAMES["more"]), 0, "refinement", group)
    for _ in range(4):
        one, other = rng.sample([rng.choice(yes), rng.choice(no)], 2)
        here, there = rng.sample(rng.choice(FRAMES["scopes"]), 2)
        yield Pair(f"{one} {here}", f"{other} {there}", 0, "other scope", group)
    one, other = rng.sample([rng.choice(yes), rng.choice(no)], 2)
    yield Pair(_lower(rng.choice(FRAMES["past"]), one), other, 0, "other time", group)


def _versions(rng: random.Random) -> Iterator[Pair]:
    for tool in FRAMES["tools"]:
        group = f"version {tool}"
        low, mid, high = sorted(rng.sample(range(2, 30), 3))
        dot = "" if rng.random() < 0.5 else f".{rng.randint(1, 9)}"
        number = {"low": f"{low}{dot}", "mid": f"{mid}{dot}", "high": f"{high}{dot}"}
        for _ in range(4):
            first, second = (wording.format for wording in rng.sample(FRAMES["least versions"], 2))
            yield Pair(first(tool, number["low"]), second(tool, number["mid"]), 1, "versions", group)
            yield Pair(first(tool, number["mid"]), second(tool, number["mid"]), 0, "paraphrase", group)
        for mine, version, others, other, label, kind in VERSIONS:
            a = rng.choice(FRAMES[mine]).format(tool, number[version])
            yield Pair(a, rng.choice(FRAMES[others]).format(tool, number[other]), label, kind, group)
        yield from _versions_side_by_side(rng, tool, (low, mid, high), dot)
        yield Pair(f"{tool} {mid} is supported", f"Support for {tool} {mid} was dropped", 1, "negation", group)


def _versions_side_by_side(rng: random.Random, tool: str, numbers: tuple[int, int, int], dot: str) -> Iterator[Pair]:
    group = f"version {tool}"
    low, mid, high = numbers
    least, exact = FRAMES["least versions"], FRAMES["exact versions"]
    a, b = rng.choice(exact).format(tool, mid), rng.choice(exact).format(tool, f"{mid}.{rng.randint(1, 9)}")
    yield Pair(a, b, 0, "refinement", group)
    other = rng.choice([one for one in FRAMES["tools"] if one != tool])
    a, b = rng.choice(least).format(tool, f"{mid}{dot}"), rng.choice(least).format(other, high)
    yield Pair(a, b, 0, "other attribute", group)
    here, there = rng.sample(rng.choice(FRAMES["scopes"]), 2)
    a, b = f"{rng.choice(exact).format(tool, mid)} {here}", f"{rng.choice(exact).format(tool, high)} {there}"
    yield Pair(a, b, 0, "other scope", group)
    yield Pair(f"Version 1 needed {tool} {low}", f"Version 4 needs {tool} {high}", 0, "other time", group)
    yield Pair(f"{tool} {low} is tested in CI", f"{tool} {high} is tested in CI too", 0, "both valid", group)


def _pins(rng: random.Random) -> Iterator[Pair]:
    for _ in range(260):
        package, other = rng.sample(FRAMES["packages"], 2)
        project, elsewhere = rng.sample(FRAMES["projects"], 2)
        file = rng.choice(FRAMES["files"])
        operator = rng.choice(("==", "^", ">=", "", "~="))
        numbers = [rng.randint(0, 9), rng.randint(0, 30), rng.randint(0, 9)][: rng.randint(2, 3)]
        newer = list(numbers)
        newer[rng.randrange(len(newer))] += rng.randint(1, 4)
        old, new = (operator + ".".join(map(str, one)) for one in (numbers, newer))

        def said(key: str, value: str, of: str, file: str = file) -> str:
            return rng.choice(FRAMES["pins"]).format(f=file, p=of, k=key, v=value)

        yield Pair(said(package, old, project), said(package, new, project), 1, "versions", "pins")
        if rng.random() < 0.5:
            yield Pair(said(package, old, project), said(package, old, project), 0, "paraphrase", "pins")
            yield Pair(said(package, old, project), said(other, new, project), 0, "other attribute", "pins")
            yield Pair(said(package, old, project), said(package, new, elsewhere), 0, "other project", "pins")


def _generate_unrelated(rng: random.Random) -> Iterator[Pair]:
    """Yield statements about different things."""
    valued = (*FRAMES["choices"], *FRAMES["quantities"])
    sentences = [rng.choice(wordings).format(rng.choice(values)) for wordings, values in valued]
    sentences += [rng.choice(side) for frame in FOR_AND_AGAINST for side in frame]
    for _ in range(300):
        one, other = rng.sample(sentences, 2)
        if not any(one in (*yes, *no) and other in (*yes, *no) for yes, no in FOR_AND_AGAINST):
            yield Pair(one, other, 0, "other attribute", "strangers")


def _generate_compatible(rng: random.Random) -> Iterator[Pair]:
    """Yield statements about things of which there may be several."""
    for wordings, things, times in (("side by side", "things side by side", 5), ("supported", "things supported", 6)):
        for wording in FRAMES[wordings]:
            for _ in range(times):
                one, other = rng.sample(FRAMES[things], 2)
                yield Pair(wording.format(one), wording.format(other), 0, "both valid", f"list {wording}")


def _properties(rng: random.Random) -> Iterator[Pair]:
    """Yield several properties of one thing, and of several things."""
    nouns = FRAMES["nouns"]
    for _ in range(160):
        noun = rng.choice(nouns)
        one, other = rng.sample(FRAMES["adjectives"], 2)
        group = f"adjectives {noun}"
        elsewhere = rng.choice([name for name in nouns if name != noun])
        yield Pair(f"{noun} is {one}", f"{noun} is {other}", 0, "other attribute", group)
        yield Pair(f"{noun} is {one}", f"{elsewhere} is {other}", 0, "other attribute", group)
    denied = FRAMES["denied predicates"]
    for _ in range(150):
        subject, elsewhere = rng.sample(FRAMES["subjects"], 2)
        one, other = rng.sample(FRAMES["predicates"], 2)
        group = f"subject {subject}"
        memory = f"{subject} needs {rng.randint(2, 9)}00 MB of memory"
        yield Pair(f"{subject} {one}", f"{subject} {other}", 0, "other attribute", group)
        yield Pair(memory, f"{elsewhere} needs 1 GB of memory", 0, "other scope", group)
        if one in denied:
            yield Pair(f"{subject} {one}", f"{elsewhere} {denied[one]}", 0, "other scope", group)
            yield Pair(f"{subject} {one}", f"{subject} {denied[one]}", 1, "negation", group)


def _pick_wordings(rng: random.Random, wordings: tuple[str, ...]) -> tuple[str, str]:
    """Return two wordings, sometimes the same twice."""
    return (rng.choice(wordings),) * 2 if rng.random() < 0.25 else tuple(rng.sample(wordings, 2))  # type: ignore[return-value]


def _lower(frame: str, sentence: str) -> str:
    lowered = sentence if sentence[1:2].isupper() else sentence[:1].lower() + sentence[1:]
    return frame.format(lowered)
