"""Discovery of links between memories, and from memories to code.

Two memories are linked if they belong to the same commit or pull request, if they close the same issue, or if one
reverts or fixes the other. A memory about the present state is also linked to the files and symbols that its text
names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from hunchd.consolidation.code_presence import CodePresence
from hunchd.consolidation.plan import ConsolidationStep, PlannedChange
from hunchd.consolidation.revert_detection import find_reverted_commits
from hunchd.domain.filters import paths_of
from hunchd.domain.kinds import describe
from hunchd.domain.memory import Kind, Memory, Status
from hunchd.text.stemming import stem_statement
from hunchd.text.words import STATEMENT_STOP_WORDS

ABOUT: Final = "about"  # type of a link to a file, given by its path
ABOUT_SYMBOL: Final = "about_symbol"  # type of a link to a symbol, given as `path#name`
REVERTS, REVERTED_BY = "reverts", "reverted_by"
FIXES, FIXED_BY = "fixes", "fixed_by"
SAME_WORK: Final = "same_work"  # type of a link between two memories of one commit or pull request

MAX_LINKS: Final = 40  # links of one memory; with more, it would be about everything
MAX_PEERS: Final = (
    12  # memories of one commit, pull request or issue that are linked to each other; with more, none are
)
MAX_SYMBOLS: Final = 8  # symbols to which one memory is linked
MIN_COMMON_WORDS: Final = 2  # content words that two memories of one commit must share to be linked
MAX_COMPARED_CHARACTERS: Final = 600  # characters of a text that are compared
MIN_SHA_LENGTH: Final = 7
MAX_DEFINITIONS: Final = 3  # files that may define a name; with more, the name is ambiguous

_FIX_REFERENCE = re.compile(
    r"\b(?:[Ff]ix(?:es|ed)?|[Rr]egression (?:in|from|since)|[Ii]ntroduced (?:in|by)|[Bb]roken (?:in|by|since)|"
    r"[Ff]ollow-?up (?:to|of)|[Cc]aused by)[:\s]+(?:commit )?`?([0-9a-f]{7,40})\b"
)
_ISSUE = re.compile(r"\b(?:fix(?:es|ed)?|close[sd]?|resolve[sd]?)\b[:\s]+(?:[\w./-]+)?#(\d+)\b", re.IGNORECASE)
_QUOTED_NAME = re.compile(r"`([A-Za-z_]\w{2,}(?:(?:\.|::)\w+)*)(?:\(\))?`")
_IDENTIFIER = re.compile(r"\b([A-Za-z_]\w*_\w+|[a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w+)\b")
_PATH = re.compile(r"(?<![\w/.-])((?:[\w.-]+/)+[\w.-]+\.\w{1,8}|[\w-]+\.\w{1,5})(?![\w/])")


@dataclass(frozen=True, slots=True)
class _LinkPair:
    one: str
    other: str
    types: tuple[str, str]  # from one to the other, and back
    why: str


def plan_links(memories: Mapping[str, Memory], code: CodePresence) -> Iterator[PlannedChange]:
    """Plan new links.

    There is one change for each pair of memories, and one for all links from a memory to code.
    """
    current = {memory.id: memory for memory in memories.values() if memory.status in (Status.ACTIVE, Status.SUPERSEDED)}
    for pair in _find_pairs(current):
        one, other = current[pair.one], current[pair.other]
        after = _add_link(one, pair.types[0], other.id), _add_link(other, pair.types[1], one.id)
        before = tuple(memory for memory, new in zip((one, other), after, strict=True) if memory is not new)
        changed_memories = tuple(new for memory, new in zip((one, other), after, strict=True) if memory is not new)
        if changed_memories:
            current |= {memory.id: memory for memory in changed_memories}
            yield PlannedChange(
                ConsolidationStep.LINKS,
                "linked",
                f"{one.title!r} {pair.types[0]} {other.title!r}",
                pair.why,
                before,
                changed_memories,
            )
    if code.is_complete:
        yield from _plan_code_links(list(current.values()), code)


def _find_pairs(memories: Mapping[str, Memory]) -> Iterator[_LinkPair]:
    commits: dict[str, str] = {}
    ids_by_artifact: dict[tuple[str, str], list[str]] = defaultdict(list)
    for memory in memories.values():
        for artifact in memory.artifacts:
            if artifact.type in ("commit", "pr"):
                ids_by_artifact[artifact.type, artifact.ref].append(memory.id)
            if artifact.type == "commit" and memory.kind is Kind.EPISODE and memory.category != "history":
                commits[artifact.ref] = memory.id
    commits_by_prefix = {sha[:MIN_SHA_LENGTH]: (sha, identifier) for sha, identifier in commits.items()}
    ids_by_issue: dict[str, list[str]] = defaultdict(list)
    for memory in memories.values():
        if memory.kind is not Kind.EPISODE:
            continue
        for shas, types, verb in (
            (find_reverted_commits(memory.content), (REVERTS, REVERTED_BY), "reverts"),
            (_FIX_REFERENCE.findall(memory.content), (FIXES, FIXED_BY), "fixes"),
        ):
            for sha in shas:
                full, other = commits_by_prefix.get(sha[:MIN_SHA_LENGTH], ("", ""))
                if full.startswith(sha) and other != memory.id:
                    yield _LinkPair(memory.id, other, types, f"it says that it {verb} {sha[:10]}")
        for issue in _ISSUE.findall(memory.content):
            ids_by_issue[issue].append(memory.id)
    for (kind, ref), ids in ids_by_artifact.items():
        for pair in _pair_all(ids, f"both belong to {kind} {ref[:10]}"):
            if _share_subject(memories[pair.one], memories[pair.other]):
                yield pair
    for issue, ids in ids_by_issue.items():
        yield from _pair_all(ids, f"both close #{issue}")


def _share_subject(one: Memory, other: Memory) -> bool:
    """Return True if two memories have at least MIN_COMMON_WORDS content words in common.

    Belonging to the same commit is not enough, because a commit may be about many things.
    """
    return len(_extract_words(one) & _extract_words(other)) >= MIN_COMMON_WORDS


def _extract_words(memory: Memory) -> frozenset[str]:
    words = re.findall(r"[a-z][\w-]+", f"{memory.title}\n{memory.content[:MAX_COMPARED_CHARACTERS]}".casefold())
    return frozenset(stem_statement(word) for word in words if word not in STATEMENT_STOP_WORDS)


def _pair_all(ids: Sequence[str], why: str) -> Iterator[_LinkPair]:
    if len(ids) <= MAX_PEERS:
        ordered_ids = sorted(set(ids))
        for at, one in enumerate(ordered_ids):
            for other in ordered_ids[at + 1 :]:
                yield _LinkPair(one, other, (SAME_WORK, SAME_WORK), why)


def _plan_code_links(memories: Sequence[Memory], code: CodePresence) -> Iterator[PlannedChange]:
    """Plan links from memories about the present state to the code that they name.

    If the code disappears later, the memory becomes suspect.
    """
    for memory in memories:
        if not describe(memory.kind).rests_on_code or memory.status is not Status.ACTIVE or "." in memory.id:
            continue
        refs = list(_iter_files(memory, code)) + list(_iter_symbols(memory, code))
        after = memory
        for type_, ref in refs:
            after = _add_link(after, type_, ref)
        if after is not memory:
            new = [link["ref"] for link in after.links[len(memory.links) :]]
            what = f"link {memory.title!r} to {', '.join(new[:3])}{f' and {len(new) - 3} more' if len(new) > 3 else ''}"
            yield PlannedChange(
                ConsolidationStep.LINKS, "linked", what, "it names code that exists", (memory,), (after,)
            )


def _iter_files(memory: Memory, code: CodePresence) -> Iterator[tuple[str, str]]:
    paths = (*paths_of(memory), *_PATH.findall(memory.content))
    yield from ((ABOUT, path) for path in dict.fromkeys(paths) if code.has_path(path))


def _iter_symbols(memory: Memory, code: CodePresence) -> Iterator[tuple[str, str]]:
    text = f"{memory.title}\n{memory.content}"
    names = [re.split(r"\.|::", name)[-1] for name in _QUOTED_NAME.findall(text)] + _IDENTIFIER.findall(text)
    count = 0
    for name in dict.fromkeys(names):
        places = code.find_definitions(name)
        if 0 < len(places) <= MAX_DEFINITIONS:
            yield ABOUT_SYMBOL, f"{places[0]}#{name}"
            count += 1
        if count == MAX_SYMBOLS:
            return


def _add_link(memory: Memory, type_: str, ref: str) -> Memory:
    """Return the memory with one more link.

    Returns the memory unchanged if it already has this link, or if it already has MAX_LINKS links.
    """
    if len(memory.links) >= MAX_LINKS or any(
        link.get("type") == type_ and link.get("ref") == ref for link in memory.links
    ):
        return memory
    return replace(memory, links=(*memory.links, {"type": type_, "ref": ref}))
