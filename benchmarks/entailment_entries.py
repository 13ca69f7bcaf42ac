"""Generator of pairs of what files state, in sentences, and what people say: tools, versions, indentation, lines."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from entailment_templates import Made

TABLES: dict[str, Any] = json.loads(
    (Path(__file__).with_name("data") / "contradiction_entries.json").read_text("utf-8")
)
SPELLED_OUT = {"two spaces": "2 spaces", "four spaces": "4 spaces"}


def generate_entry_pairs(chance: random.Random, count: int) -> Iterator[Made]:
    """Yield pairs; six in ten are about tools, two about versions."""
    sorts = (_make_tool_pair, _make_version_pair, _make_indent_pair, _make_line_pair)
    for make in chance.choices(sorts, weights=(60, 22, 9, 9), k=count):
        yield make(chance)


def _make_tool_pair(chance: random.Random) -> Made:
    role, other_role = (TABLES["roles"][name] for name in chance.sample(list(TABLES["roles"]), 2))
    v, o = chance.sample(role["values"], 2)
    a = role["sentence"].format(v=v) if chance.random() < 0.75 else _say(chance, "same", role, v, o)
    table = chance.choices(("against", "another", "same", "beside", ""), weights=(27, 18, 18, 25, 12))[0]
    if table:
        kind = "paraphrase" if table == "same" else table
        return Made(a, _say(chance, table, role, v, o), int(table in ("against", "another")), kind)
    x, y = chance.sample(other_role["values"], 2)
    if v in (x, y):
        return Made(a, _say(chance, "beside", role, v, o), 0, "beside")
    return Made(a, _say(chance, chance.choice(("against", "another", "same")), other_role, x, y), 0, "beside")


def _make_version_pair(chance: random.Random) -> Made:
    name = chance.choice(list(TABLES["versions"]))
    v, w = (chance.choice(TABLES["versions"][name]) for _ in range(2))
    a = chance.choice(TABLES["minimum"]).format(r=name, v=v)
    table = chance.choices(("minimum", "works", "dropped", "tested"), weights=(35, 25, 15, 25))[0]
    b = chance.choice(TABLES[table]).format(r=name, v=w)
    older = [int(one) for one in w.split(".")] < [int(one) for one in v.split(".")]
    excludes = {"minimum": v != w, "works": older, "dropped": not older, "tested": False}[table]
    return Made(a, b, int(excludes), "paraphrase" if table == "minimum" and v == w else "version")


def _make_indent_pair(chance: random.Random) -> Made:
    v, w = (chance.choice(TABLES["indents"]) for _ in range(2))
    is_same = SPELLED_OUT.get(v, v) == SPELLED_OUT.get(w, w)
    return _compare_values(chance, "indent", v, w, is_same=is_same)


def _make_line_pair(chance: random.Random) -> Made:
    v, w = (chance.choice(TABLES["lines"]) for _ in range(2))
    return _compare_values(chance, "line", v, w, is_same=v == w)


def _compare_values(chance: random.Random, table: str, v: object, w: object, *, is_same: bool) -> Made:
    a = chance.choice(TABLES[table]).format(v=v)
    if chance.random() < 0.25:
        return Made(a, chance.choice(TABLES[f"{table} beside"]).format(w=w), 0, "beside")
    return Made(a, chance.choice(TABLES[table]).format(v=w), int(not is_same), "paraphrase" if is_same else "value")


def _say(chance: random.Random, table: str, role: dict[str, Any], v: str, o: str) -> str:
    words = {"v": v, "o": o, "n": chance.choice(role["nouns"]), "d": chance.choice(role["verbs"])}
    capitals = {"V": v[:1].upper() + v[1:], "O": o[:1].upper() + o[1:]}
    said = str(chance.choice(TABLES[table])).format(**words, **capitals)
    return said[:1].upper() + said[1:]
