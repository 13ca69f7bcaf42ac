"""Transcripts of editors and daemon, as recorded in `editor-plugins/transcripts`.

A transcript is `{"about", "given", "exchanges": [{"request", "answer", "keep"?}]}`. Its texts contain names in braces:
`{project}` is the project's folder, `{event_id}` and `{at}` are chosen by the client. What `keep` takes from an answer
(`{"decision": "items.0.id"}`) has that name in later requests. "if_none_match" and "token" of a request stand for its
headers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "editor-plugins" / "transcripts"

_NAME = re.compile(r"\{([a-z_]+)\}")
# Chosen by each client.
_ANYTHING = ("event_id", "at")


@dataclass(frozen=True)
class Exchange:
    method: str
    path: str
    status: int
    answer: Any = None
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    token: str | None = None  # instead of the daemon's token
    if_none_match: str | None = None
    keep: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Transcript:
    name: str
    description: str
    given: str  # state of the project: "ready", "unknown", "plain" or "missing"
    exchanges: tuple[Exchange, ...]


@cache
def transcript(name: str) -> Transcript:
    told = json.loads((FOLDER / f"{name}.json").read_text())
    exchanges = tuple(
        Exchange(
            **each["request"],
            status=each["answer"]["status"],
            answer=each["answer"].get("body"),
            keep=each.get("keep", {}),
        )
        for each in told["exchanges"]
    )
    return Transcript(name, told["about"], told["given"], exchanges)


def make_context_exchange(file: str, name: str = "open") -> Exchange:
    """Return the first context exchange of a transcript, rewritten for `file`."""
    shown = next(each for each in transcript(name).exchanges if (each.path, each.status) == ("/context", 200))
    return replace(shown, query={**shown.query, "file": file})


def names() -> list[str]:
    return sorted(file.stem for file in FOLDER.glob("*.json"))


def fill_template(template: Any, values: Mapping[str, str]) -> Any:
    """Replace the names in `template` that `values` knows."""
    match template:
        case str():
            return _NAME.sub(lambda name: values.get(name[1], name[0]), template)
        case Mapping():
            return {key: fill_template(value, values) for key, value in template.items()}
        case list():
            return [fill_template(value, values) for value in template]
    return template


def matches(given: Any, template: Any) -> bool:
    """Return True if a client's request matches the recorded one.

    Values that a client chooses for itself may be anything or absent.
    """
    match template:
        case str() if (name := _NAME.fullmatch(template)) and name[1] in _ANYTHING:
            return isinstance(given, str) and bool(given)
        case Mapping():
            free = {key for key, value in template.items() if value in ("{event_id}", "{at}")}
            return (
                isinstance(given, Mapping)
                and given.keys() | free == template.keys() | free
                and all(matches(given[key], value) for key, value in template.items() if key in given)
            )
        case list():
            return (
                isinstance(given, list)
                and len(given) == len(template)
                and all(matches(one, other) for one, other in zip(given, template, strict=True))
            )
    return bool(given == template)


def find_differences(given: Any, recorded: Any, place: str = "answer") -> list[str]:
    """Return the places where `given` lacks keys or types of the recorded answer.

    Additional keys are allowed; lists are compared by the keys that all of their entries have.
    """
    if isinstance(recorded, bool) or isinstance(given, bool) or recorded is None or given is None:
        same = type(given) is type(recorded)
    else:
        numbers = (int, float)
        same = isinstance(given, type(recorded)) or (isinstance(given, numbers) and isinstance(recorded, numbers))
    if not same:
        return [f"{place}: {type(given).__name__} instead of {type(recorded).__name__}"]
    if isinstance(recorded, dict):
        missing = [f"{place}.{key} is missing" for key in recorded if key not in given]
        return missing + [
            found
            for key, value in recorded.items()
            if key in given
            for found in find_differences(given[key], value, f"{place}.{key}")
        ]
    if isinstance(recorded, list) and recorded:
        if not given:
            return [f"{place} is empty"]
        common = _common(recorded)
        return [
            found for index, each in enumerate(given) for found in find_differences(each, common, f"{place}[{index}]")
        ]
    return []


def _common(entries: list[Any]) -> Any:
    """Return the part that all entries of a list share."""
    first = entries[0]
    if not isinstance(first, dict):
        return first
    shared = set.intersection(*(set(each) for each in entries))
    alike = {key for key in shared if len({type(each[key]) for each in entries}) == 1}
    return {key: _common([each[key] for each in entries]) for key in first if key in alike}


def get_value(answer: Any, place: str) -> str:
    """Return the value at a path such as "items.0.id"."""
    for step in place.split("."):
        answer = answer[int(step)] if isinstance(answer, list) else answer[step]
    return str(answer)
