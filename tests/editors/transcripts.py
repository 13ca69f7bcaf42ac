"""What editors ask and what the daemon answers, as recorded in `editor-plugins/transcripts`.

A transcript is `{"about", "given", "exchanges": [{"request", "answer", "keep"?}]}`. Its texts hold names in braces:
`{project}` is the project's folder, `{event_id}` and `{at}` are the client's own, whatever `keep` takes from an answer
(`{"decision": "items.0.id"}`) has that name in later requests, and "if_none_match" and "token" of a request stand for
its headers.
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
# What every client chooses for itself.
_ANYTHING = ("event_id", "at")


@dataclass(frozen=True)
class Exchange:
    method: str
    path: str
    status: int
    answer: Any = None
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    token: str | None = None  # another than the daemon's
    if_none_match: str | None = None
    keep: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Transcript:
    name: str
    about: str
    given: str  # "ready", "unknown", "plain" or "missing": what the daemon knows of the project
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


def context_of(file: str, name: str = "open") -> Exchange:
    """The first exchange of a transcript that shows a context, as if it were that of `file`."""
    shown = next(each for each in transcript(name).exchanges if (each.path, each.status) == ("/context", 200))
    return replace(shown, query={**shown.query, "file": file})


def names() -> list[str]:
    return sorted(file.stem for file in FOLDER.glob("*.json"))


def filled(template: Any, values: Mapping[str, str]) -> Any:
    """`template` with the names that `values` knows put in."""
    match template:
        case str():
            return _NAME.sub(lambda name: values.get(name[1], name[0]), template)
        case Mapping():
            return {key: filled(value, values) for key, value in template.items()}
        case list():
            return [filled(value, values) for value in template]
    return template


def agrees(given: Any, template: Any) -> bool:
    """Whether a client's request is the recorded one; what a client chooses for itself may be anything or left out."""
    match template:
        case str() if (name := _NAME.fullmatch(template)) and name[1] in _ANYTHING:
            return isinstance(given, str) and bool(given)
        case Mapping():
            free = {key for key, value in template.items() if value in ("{event_id}", "{at}")}
            return (
                isinstance(given, Mapping)
                and given.keys() | free == template.keys() | free
                and all(agrees(given[key], value) for key, value in template.items() if key in given)
            )
        case list():
            return (
                isinstance(given, list)
                and len(given) == len(template)
                and all(agrees(one, other) for one, other in zip(given, template, strict=True))
            )
    return bool(given == template)


def differences(given: Any, recorded: Any, place: str = "answer") -> list[str]:
    """Where `given` lacks what clients rely on in the recorded answer: its keys and the types of its values.

    More keys are welcome; lists are compared by what all of their entries have.
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
            for found in differences(given[key], value, f"{place}.{key}")
        ]
    if isinstance(recorded, list) and recorded:
        if not given:
            return [f"{place} is empty"]
        common = _common(recorded)
        return [found for index, each in enumerate(given) for found in differences(each, common, f"{place}[{index}]")]
    return []


def _common(entries: list[Any]) -> Any:
    """Of a list's entries the part that all of them share."""
    first = entries[0]
    if not isinstance(first, dict):
        return first
    shared = set.intersection(*(set(each) for each in entries))
    alike = {key for key in shared if len({type(each[key]) for each in entries}) == 1}
    return {key: _common([each[key] for each in entries]) for key in first if key in alike}


def value_at(answer: Any, place: str) -> str:
    """What stands at "items.0.id"."""
    for step in place.split("."):
        answer = answer[int(step)] if isinstance(answer, list) else answer[step]
    return str(answer)
