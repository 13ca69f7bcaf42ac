"""Discovery of links between memories.

Links join the same commit or pull request, reverts, fixes, and the code that a text rests on.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from hunchd.consolidation.ground import Ground
from hunchd.consolidation.plan import Planned, Step
from hunchd.consolidation.reverting import reverted_commits
from hunchd.domain.filters import paths_of
from hunchd.domain.memory import Kind, Memory, Status

ABOUT: Final = "about"  # a file, by its path
ABOUT_SYMBOL: Final = "about_symbol"  # a symbol, as `path#name`
RESTS_ON: Final = "rests_on"  # another memory
REVERTS, REVERTED_BY = "reverts", "reverted_by"
FIXES, FIXED_BY = "fixes", "fixed_by"
SAME_WORK: Final = "same_work"  # two memories of one commit or pull request
# Kinds that describe the present rest on what they name; records of the past do not.
RESTING: Final = frozenset({Kind.FACT, Kind.PATTERN, Kind.WORKFLOW})

MOST_LINKS: Final = 40  # of one memory: with more it is about everything
MOST_TOGETHER: Final = 12  # memories with a common artifact that are linked to each other; with more it is a folder
MOST_SYMBOLS: Final = 8  # of one text
SHORTEST_SHA: Final = 7
UNIQUE: Final = 3  # files that may define a name; with more it is ambiguous

_MENDS = re.compile(
    r"\b(?:[Ff]ix(?:es|ed)?|[Rr]egression (?:in|from|since)|[Ii]ntroduced (?:in|by)|[Bb]roken (?:in|by|since)|"
    r"[Ff]ollow-?up (?:to|of)|[Cc]aused by)[:\s]+(?:commit )?`?([0-9a-f]{7,40})\b"
)
_ISSUE = re.compile(r"\b(?:fix(?:es|ed)?|close[sd]?|resolve[sd]?)\b[:\s]+(?:[\w./-]+)?#(\d+)\b", re.IGNORECASE)
_QUOTED = re.compile(r"`([A-Za-z_]\w{2,}(?:(?:\.|::)\w+)*)(?:\(\))?`")
_CALLED = re.compile(r"\b([A-Za-z_]\w*_\w+|[a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w+)\b")
_PATH = re.compile(r"(?<![\w/.-])((?:[\w.-]+/)+[\w.-]+\.\w{1,8}|[\w-]+\.\w{1,5})(?![\w/])")


@dataclass(frozen=True, slots=True)
class _Found:
    one: str
    other: str
    types: tuple[str, str]  # from one to the other, and back
    why: str


def linked(memories: Mapping[str, Memory], ground: Ground) -> Iterator[Planned]:
    """Plan new links.

    One change for each pair, and one for the code of each memory.
    """
    held = {memory.id: memory for memory in memories.values() if memory.status in (Status.ACTIVE, Status.SUPERSEDED)}
    for found in _pairs(held):
        one, other = held[found.one], held[found.other]
        after = _with(one, found.types[0], other.id), _with(other, found.types[1], one.id)
        before = tuple(memory for memory, new in zip((one, other), after, strict=True) if memory is not new)
        changed = tuple(new for memory, new in zip((one, other), after, strict=True) if memory is not new)
        if changed:
            held |= {memory.id: memory for memory in changed}
            yield Planned(
                Step.LINKS, "linked", f"{one.title!r} {found.types[0]} {other.title!r}", found.why, before, changed
            )
    if ground.known:
        yield from _grounded(list(held.values()), ground)


def _pairs(memories: Mapping[str, Memory]) -> Iterator[_Found]:
    commits: dict[str, str] = {}
    together: dict[tuple[str, str], list[str]] = defaultdict(list)
    for memory in memories.values():
        for artifact in memory.artifacts:
            if artifact.type in ("commit", "pr"):
                together[artifact.type, artifact.ref].append(memory.id)
            if artifact.type == "commit" and memory.kind is Kind.EPISODE and memory.category != "history":
                commits[artifact.ref] = memory.id
    shorts = {sha[:SHORTEST_SHA]: (sha, identifier) for sha, identifier in commits.items()}
    closes: dict[str, list[str]] = defaultdict(list)
    for memory in memories.values():
        if memory.kind is not Kind.EPISODE:
            continue
        for named, types, said in (
            (reverted_commits(memory.content), (REVERTS, REVERTED_BY), "reverts"),
            (_MENDS.findall(memory.content), (FIXES, FIXED_BY), "fixes"),
        ):
            for sha in named:
                full, other = shorts.get(sha[:SHORTEST_SHA], ("", ""))
                if full.startswith(sha) and other != memory.id:
                    yield _Found(memory.id, other, types, f"it says that it {said} {sha[:10]}")
        for issue in _ISSUE.findall(memory.content):
            closes[issue].append(memory.id)
    for (kind, ref), ids in together.items():
        yield from _all_of(ids, f"both are of {kind} {ref[:10]}")
    for issue, ids in closes.items():
        yield from _all_of(ids, f"both close #{issue}")


def _all_of(ids: Sequence[str], why: str) -> Iterator[_Found]:
    if len(ids) <= MOST_TOGETHER:
        ordered = sorted(set(ids))
        for at, one in enumerate(ordered):
            for other in ordered[at + 1 :]:
                yield _Found(one, other, (SAME_WORK, SAME_WORK), why)


def _grounded(memories: Sequence[Memory], ground: Ground) -> Iterator[Planned]:
    """Plan links from present-state memories to the code they name.

    If one of these disappears, the memory becomes suspect.
    """
    for memory in memories:
        if memory.kind not in RESTING or memory.status is not Status.ACTIVE or "." in memory.id:
            continue
        refs = list(_files(memory, ground)) + list(_symbols(memory, ground))
        after = memory
        for type_, ref in refs:
            after = _with(after, type_, ref)
        if after is not memory:
            new = [link["ref"] for link in after.links[len(memory.links) :]]
            what = (
                f"{memory.title!r} rests on {', '.join(new[:3])}{f' and {len(new) - 3} more' if len(new) > 3 else ''}"
            )
            yield Planned(Step.LINKS, "linked", what, "it names what is there", (memory,), (after,))


def _files(memory: Memory, ground: Ground) -> Iterator[tuple[str, str]]:
    named = (*paths_of(memory), *_PATH.findall(memory.content))
    yield from ((ABOUT, path) for path in dict.fromkeys(named) if ground.has_file(path))


def _symbols(memory: Memory, ground: Ground) -> Iterator[tuple[str, str]]:
    text = f"{memory.title}\n{memory.content}"
    names = [re.split(r"\.|::", name)[-1] for name in _QUOTED.findall(text)] + _CALLED.findall(text)
    found = 0
    for name in dict.fromkeys(names):
        places = ground.defined_in(name)
        if 0 < len(places) <= UNIQUE:
            yield ABOUT_SYMBOL, f"{places[0]}#{name}"
            found += 1
        if found == MOST_SYMBOLS:
            return


def _with(memory: Memory, type_: str, ref: str) -> Memory:
    """Return the memory with one more link.

    Returns it unchanged if it has that link or MAX_LINKS. Itself if it has that link or MAX_LINKS.
    """
    if len(memory.links) >= MOST_LINKS or any(
        link.get("type") == type_ and link.get("ref") == ref for link in memory.links
    ):
        return memory
    return replace(memory, links=(*memory.links, {"type": type_, "ref": ref}))
