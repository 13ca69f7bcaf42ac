"""Training data of the entailment model: public sentence pairs, and our own about software projects."""

from __future__ import annotations

import csv
import itertools
import json
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

DATA = Path(__file__).with_name("data")
# Pairs by several writers in the style of developers; blind sets of earlier rounds are no longer blind.
WRITTEN = {
    "written": DATA / "contradictions_written.jsonl",
    "pairs": DATA / "contradictions_pairs.jsonl",
    "blind": DATA / "contradictions_blind.jsonl",
    "second": DATA / "contradictions_blind_second.jsonl",
    "third": DATA / "contradictions_blind_third.jsonl",
    "free": DATA / "contradictions_free.jsonl",
    "fifth": DATA / "contradictions_blind_fifth.jsonl",
    "sixth": DATA / "contradictions_blind_sixth.jsonl",
    "seventh": DATA / "contradictions_blind_seventh.jsonl",
    "eighth": DATA / "contradictions_blind_eighth.jsonl",
}
# Never trained on: they measure the model.
UNSEEN = {name: DATA / f"contradictions_blind_{name}.jsonl" for name in ("ninth", "tenth", "eleventh", "twelfth")}
# For each subject: states that exclude each other, each in several wordings, and sentences that are compatible with
# all of them, or with the first.
SUBJECTS = DATA / "contradiction_subjects.json"
CLASSES = {"entailment": 0, "neutral": 1, "contradiction": 2}
LONGEST = 230  # characters of both sentences of a public pair
MOST_OF_TABLE = 11_000
# Columns of known tables: first sentence, second sentence, class.
COLUMNS = (
    ("premise", "hypothesis", "label"),
    ("Premise", "Hypothesis", "Label"),
    ("sentence_A", "sentence_B", "entailment_judgment"),
    ("sentence1", "sentence2", "gold_label"),
)
FRAMES = json.loads((DATA / "contradiction_frames.json").read_text("utf-8"))
APART, TOGETHER, LONG_AGO, STRANGERS = 3_000, 2_000, 1_500, 2_500  # generated pairs
RARE = 60  # statements: a more frequent word makes no neighbours
STEM = 6  # characters
COMMON = frozenset(
    re.findall(
        r"\w+",
        "the a an is are in of to and for with on by be as at from not no it we that this all only every each one use "
        "uses used our are was were has have do does must may can than or if into",
    )
)


class Example(NamedTuple):
    a: str
    b: str
    contradiction: int  # 0 or 1; one of CLASSES where there are three
    kind: str
    three_classes: bool = False


def load_general_pairs(tables: Iterable[Path], chance: random.Random) -> list[Example]:
    """Return public pairs in random order, limited for each source."""
    found: list[Example] = []
    for path in tables:
        short = [one for one in dict.fromkeys(_table(path)) if len(one.a) + len(one.b) <= LONGEST]
        found += chance.sample(short, min(len(short), MOST_OF_TABLE))
    chance.shuffle(found)
    return found


def _table(path: Path) -> Iterator[Example]:
    text = path.read_text("utf-8-sig")
    if path.suffix == ".jsonl":
        rows: Iterable[dict[str, str]] = map(json.loads, text.splitlines())
    elif path.suffix == ".csv":
        rows = csv.DictReader(text.splitlines())
    else:
        rows = csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    for row in rows:
        for first, second, label in COLUMNS:
            label_text = str(row.get(label, "")).lower()
            if label_text in CLASSES:
                yield Example(row[first], row[second], CLASSES[label_text], path.stem, three_classes=True)


def load_written_pairs() -> dict[str, list[Example]]:
    found: dict[str, list[Example]] = {}
    for name, path in (WRITTEN | UNSEEN).items():
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        found[name] = [Example(row["a"], row["b"], row["label"], row["kind"]) for row in rows]
    return found


class Subject(NamedTuple):
    pairs: list[Example]  # all of its sentences
    writer: str = ""  # by writers who have seen nothing of the project


def load_subjects(without_writers: Iterable[str] = ()) -> dict[str, Subject]:
    """Return subjects by name, except those of `without_writers`."""
    found = json.loads(SUBJECTS.read_text("utf-8"))
    return {
        f"{one['subject']} {one.get('writer', '')}": Subject(list(_parse_subject(one)), one.get("writer", ""))
        for one in found
        if one.get("writer", "") not in set(without_writers)
    }


def _parse_subject(one: dict[str, Any]) -> Iterator[Example]:
    states, beside, first_only = one["states"], one["beside"], one.get("beside the first", [])
    for state in states:
        yield from (Example(a, b, 0, "paraphrase") for a, b in itertools.combinations(state, 2))
        yield from (Example(a, b, 0, "both valid") for a in state for b in beside)
    for state, other in itertools.combinations(states, 2):
        yield from (Example(a, b, 1, "other value") for a in state for b in other)
    yield from (Example(a, b, 0, "both valid") for a in states[0] for b in first_only)
    yield from (Example(a, b, 0, "both valid") for a, b in itertools.combinations((*beside, *first_only), 2))


def load_development_pairs(path: Path | None) -> list[Example]:
    """Return pairs from histories of repositories."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path else []
    return [Example(row["a"], row["b"], row["contradiction"], row["relation"]) for row in rows]


class OwnPairs:
    """Our own pairs: written ones by file, and those of each subject."""

    def __init__(self, written: dict[str, list[Example]], subjects: dict[str, Subject]) -> None:
        self.written, self.subjects = written, subjects

    def made(self, chance: random.Random) -> Iterator[Example]:
        """Yield generated pairs: contradictions, those moved to other places or times, and unrelated ones."""
        opposed = [one for one in self._all() if one.contradiction and len(one.a) + len(one.b) < LONGEST]
        for one in chance.sample(opposed, min(len(opposed), APART)):
            here, there = chance.sample(chance.choice(FRAMES["scopes"]), 2)
            yield Example(f"{_normalize(one.a)} {here}", f"{_normalize(one.b)} {there}", 0, "other scope")
        for one in chance.sample(opposed, min(len(opposed), TOGETHER)):
            here = chance.choice(chance.choice(FRAMES["scopes"]))
            yield Example(f"{_normalize(one.a)} {here}", f"{_normalize(one.b)} {here}", 1, "same scope")
        for one in chance.sample(opposed, min(len(opposed), LONG_AGO)):
            a = _normalize(one.a)
            a = a if a[1:2].isupper() else a[:1].lower() + a[1:]
            yield Example(chance.choice(FRAMES["past"]).format(a), one.b, 0, "other time")
        sentences = [sentence for one in self._all() for sentence in (one.a, one.b)]
        for _ in range(STRANGERS):
            yield Example(*chance.sample(sentences, 2), 0, "strangers")

    def neighbours(self, chance: random.Random) -> list[Example]:
        """Return statements of different subjects that share rare words, but not most of their words."""
        groups = [[one.a, one.b] for some in self.written.values() for one in some]
        groups += [[text for one in some.pairs for text in (one.a, one.b)] for some in self.subjects.values()]
        statements = [
            (number, text, _stems(text)) for number, texts in enumerate(groups) for text in dict.fromkeys(texts)
        ]
        postings: dict[str, list[int]] = defaultdict(list)
        for at, (_, _, stems) in enumerate(statements):
            for stem in stems:
                postings[stem].append(at)
        found = []
        for group, text, stems in statements:
            scores: Counter[int] = Counter()
            for stem in stems:
                if len(postings[stem]) < RARE:
                    for at in postings[stem]:
                        scores[at] += math.log(len(statements) / len(postings[stem]))
            near = [
                at
                for at, _ in scores.most_common(8)
                if statements[at][0] != group
                and 2 * len(stems & statements[at][2]) <= min(len(stems), len(statements[at][2]))
            ]
            if near:
                found.append(Example(text, statements[chance.choice(near[:4])][1], 0, "neighbours"))
        return found

    def _all(self) -> list[Example]:
        return list(itertools.chain(*self.written.values(), *(some.pairs for some in self.subjects.values())))


def _normalize(sentence: str) -> str:
    return sentence.rstrip(".")


def _stems(sentence: str) -> frozenset[str]:
    return frozenset(word[:STEM] for word in re.findall(r"[a-z0-9]+", sentence.lower()) if word not in COMMON)
