"""Benchmark of duplicate search: plants near-duplicates among real memories.

    python benchmarks/duplicates.py --seed 1 --memories 20000 --planted 500 REPOSITORY…

The memories are the commits of the repositories' histories (messages as they are, without their hashes, so that only
the text can distinguish two of them) and facts about what their manifests required over time, of which many differ in
one version only. A planted one is a copy in other words, in another order, with abbreviations, in other case,
punctuation and markup, or with a sentence more or less. Texts that are the same but for case, white space and the list
of conflicts that git adds are kept once beforehand: they are duplicates that nobody planted. Other matches that
were not
planted are printed for a reader to judge.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from hunchd.consolidation.duplicates.duplicate_search import group_duplicates
from hunchd.domain.memory import Kind, Memory, Trust

MANIFESTS = (
    "*requirements*.txt",
    "*requirements*.in",
    "package.json",
    "Cargo.toml",
    "pyproject.toml",
    "setup.py",
    "go.mod",
)
REQUIRED = re.compile(
    r"(?m)^\+\s*[\"']?([A-Za-z@][\w./@-]+)[\"']?\s*[=:]?\s*[\"']?([<>=~^!]{0,2}\s?v?\d+[\w.,<>=~^ *-]*?)[\"']?,?$"
)
CONFLICTS = re.compile(r"(?mi)^#? ?conflicts:[ \t]*\n(?:#?[ \t]+\S.*(?:\n|\Z)|\s*\n)*")
SHORTEST, LONGEST = 40, 1_500  # characters of a message that gets a planted duplicate
SYNONYMS = {
    "fix": ("resolve", "repair", "correct"),
    "fixes": ("resolves", "repairs"),
    "fixed": ("resolved", "repaired"),
    "add": ("introduce", "implement"),
    "adds": ("introduces",),
    "added": ("introduced", "implemented"),
    "remove": ("drop", "delete"),
    "removes": ("drops", "deletes"),
    "removed": ("dropped", "deleted"),
    "update": ("change", "adjust"),
    "updated": ("changed", "adjusted"),
    "improve": ("enhance",),
    "improved": ("enhanced",),
    "use": ("employ", "utilize"),
    "uses": ("employs", "utilizes"),
    "avoid": ("prevent",),
    "allow": ("permit",),
    "allows": ("permits",),
    "ensure": ("make sure",),
    "show": ("display",),
    "check": ("verify",),
    "checks": ("verifies",),
    "raise": ("throw",),
    "function": ("method",),
    "parameter": ("argument",),
    "directory": ("folder",),
    "error": ("failure",),
    "bug": ("defect", "issue"),
    "large": ("big",),
    "small": ("little",),
    "fast": ("quick",),
    "wrong": ("incorrect",),
    "missing": ("absent",),
    "call": ("invoke",),
    "calls": ("invokes",),
    "convert": ("transform",),
    "move": ("relocate",),
    "moved": ("relocated",),
    "send": ("transmit",),
    "save": ("store",),
    "build": ("compile",),
    "need": ("require",),
    "needs": ("requires",),
    "when": ("whenever", "if"),
    "because": ("since", "as"),
    "old": ("outdated",),
    "multiple": ("several",),
    "replace": ("substitute",),
    "start": ("begin",),
    "now": ("currently",),
    "also": ("additionally",),
    "instead": ("rather",),
    "make": ("let",),
    "only": ("just",),
    "users": ("customers",),
    "must": ("has to",),
    "should": ("ought to",),
    "before": ("prior to",),
    "must be": ("has to be",),
    "like": ("such as",),
    "get": ("retrieve",),
    "handle": ("treat",),
    "crash": ("abort",),
    "choose": ("select",),
    "return": ("give back",),
    "problem": ("issue",),
    "tests": ("test cases",),
    "documentation": ("docs",),
    "support": ("handle",),
    "find": ("discover",),
}
SHORT = {
    "configuration": "config",
    "repository": "repo",
    "database": "DB",
    "authentication": "auth",
    "environment": "env",
    "documentation": "docs",
    "dependencies": "deps",
    "dependency": "dep",
    "application": "app",
    "arguments": "args",
    "argument": "arg",
    "parameters": "params",
    "parameter": "param",
    "implementation": "impl",
    "information": "info",
    "message": "msg",
    "messages": "msgs",
    "function": "func",
    "functions": "funcs",
    "development": "dev",
    "production": "prod",
    "directory": "dir",
    "directories": "dirs",
    "reference": "ref",
    "references": "refs",
    "performance": "perf",
    "temporary": "temp",
    "variable": "var",
    "variables": "vars",
    "attribute": "attr",
    "attributes": "attrs",
    "maximum": "max",
    "minimum": "min",
    "specification": "spec",
    "package": "pkg",
    "packages": "pkgs",
    "library": "lib",
    "version": "ver",
    "command": "cmd",
    "commands": "cmds",
    "context": "ctx",
    "connection": "conn",
    "string": "str",
    "integer": "int",
    "number": "num",
    "request": "req",
    "response": "resp",
    "administrator": "admin",
    "initialize": "init",
    "error": "err",
    "property": "prop",
    "properties": "props",
    "value": "val",
    "character": "char",
    "option": "opt",
    "options": "opts",
    "with": "w/",
    "without": "w/o",
    "previous": "prev",
    "original": "orig",
    "current": "cur",
    "module": "mod",
}
EXTRA_SENTENCES = (
    "See the discussion for details.",
    "This came up in review.",
    "Nothing else changes.",
    "A test covers it.",
    "Reported by a user.",
    "The old behaviour was surprising.",
    "It was agreed in the weekly meeting.",
    "Follow-up work is planned.",
    "The changelog mentions it.",
)


def replace_words(text: str, rng: random.Random) -> str:
    """Replace one to four words by synonyms."""
    found = [
        match
        for match in re.finditer(r"(?<![\w./:`_(-])[A-Za-z]+(?![\w./:`(_-])", text)
        if match[0].lower() in SYNONYMS
    ]
    for match in sorted(rng.sample(found, min(len(found), 4)), key=lambda one: -one.start()):
        other = rng.choice(SYNONYMS[match[0].lower()])
        other = other.capitalize() if match[0][0].isupper() else other
        text = text[: match.start()] + other + text[match.end() :]
    return text


def reorder(text: str, rng: random.Random) -> str:
    """Reorder the sentences, or the parts of a single one."""
    parts = [part for part in re.split(r"(?<=[.!?])\s+|\n+", text) if part.strip()]
    if len(parts) > 1:
        return "\n".join(parts[1:] + parts[:1])
    for mark in (" when ", " for ", " in ", " to ", " with ", " from "):
        before, found, after = text.partition(mark)
        if found and len(before.split()) > 1 and len(after.split()) > 1:
            return f"{mark.strip().capitalize()} {after.rstrip('.')}, {before[:1].lower()}{before[1:]}"
    words = text.split()
    half = len(words) // 2
    return " ".join(words[half:] + words[:half])


def abbreviate(text: str, rng: random.Random) -> str:
    """Abbreviate long words and expand short ones."""
    long = {short.lower(): word for word, short in SHORT.items()}
    return re.sub(
        r"(?<![\w./:`_-])[A-Za-z]+(?![\w./:`(_-])",
        lambda match: SHORT.get(match[0].lower()) or long.get(match[0].lower()) or match[0],
        text,
    )


def restyle(text: str, rng: random.Random) -> str:
    """Change case, punctuation and markup."""
    match rng.randrange(4):
        case 0:
            return f"- **{text.splitlines()[0].rstrip('.')}**\n" + "\n".join(text.splitlines()[1:])
        case 1:
            return re.sub(r"[.,](?=\s|$)", "", text).replace("'", "’") + "!"
        case 2:
            first, _, rest = text.partition("\n")
            title = (word.capitalize() if word.isalpha() and word.islower() else word for word in first.split())
            return f"{' '.join(title)}.\n{rest}"
        case _:
            return "> " + text.replace("\n\n", "\n> ").rstrip(".") + " …"


def change_length(text: str, rng: random.Random) -> str:
    """Add a sentence or, where there are several, remove one."""
    parts = [part for part in re.split(r"(?<=[.!?])\s+|\n\n+", text) if part.strip()]
    if len(parts) > 2 and rng.random() < 0.5:
        return "\n\n".join(parts[:-1])
    return (
        f"{text.rstrip()}\n\n{rng.choice(EXTRA_SENTENCES)}"
        if text.rstrip().endswith(".")
        else f"{text.rstrip()}. {rng.choice(EXTRA_SENTENCES)}"
    )


KINDS: dict[str, Callable[[str, random.Random], str]] = {
    "reworded": replace_words,
    "reordered": reorder,
    "abbreviations": abbreviate,
    "case, punctuation, markup": restyle,
    "sentence added or removed": change_length,
}


def _git(repository: str, *asked: str) -> str:
    command = ["git", "-C", repository, "log", *asked]
    return subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8", "replace")


def read_messages(repository: str, most: int) -> list[str]:
    """Return the newest commit messages of a history, without trailers."""
    log = _git(repository, "--no-merges", f"-{most}", "--format=%B%x00")
    return [
        re.sub(r"(?m)^(?:[\w-]+-by: |\(cherry picked from ).*$", "", one).strip()
        for one in log.split("\0")
        if one.strip()
    ]


def read_requirements(repository: str) -> list[str]:
    """Return the requirements in a history's manifests, one statement for each line ever added."""
    name = repository.rstrip("/").removesuffix("/repo").rpartition("+")[2]
    log = _git(repository, "-400", "--no-merges", "-p", "-U0", "--format=", "--", *MANIFESTS)
    found = dict.fromkeys((match[1], match[2]) for match in REQUIRED.finditer(log))
    return [f"{name} requires {package} {version} in its manifest." for package, version in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("repositories", nargs="+")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--memories", type=int, default=20_000)
    parser.add_argument("--planted", type=int, default=500)
    parser.add_argument("--show", type=int, default=10)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    stated = [text for repository in options.repositories for text in read_requirements(repository)]
    texts = [(Kind.FACT, text) for text in rng.sample(stated, min(len(stated), options.memories // 8))]
    each = (options.memories - len(texts)) // len(options.repositories) * 2
    pool = [(Kind.EPISODE, text) for repository in options.repositories for text in read_messages(repository, each)]
    rng.shuffle(pool)
    by_id: dict[str, tuple[Kind, str]] = {}
    for kind, text in texts + pool:
        by_id.setdefault(" ".join(re.findall(r"\w+", CONFLICTS.sub("", text + "\n").casefold())), (kind, text))
    base = list(by_id.values())[: options.memories]
    now = datetime(2026, 6, 1, tzinfo=UTC)
    memories = {}
    for number, (kind, text) in enumerate(base):
        memories[f"m{number:06}"] = _memory(f"m{number:06}", kind, text, now - timedelta(minutes=number))
    planted: dict[str, tuple[str, str]] = {}
    able = [one for one in memories.values() if SHORTEST <= len(one.content) <= LONGEST]
    for number, original in enumerate(rng.sample(able, len(able))):
        name = list(KINDS)[len(planted) % len(KINDS)]
        text = KINDS[name](original.content, rng)
        if text == original.content or original.id in {source for source, _ in planted.values()}:
            continue
        identifier = f"d{number:06}"
        memories[identifier] = _memory(identifier, original.kind, text, now)
        planted[identifier] = (original.id, name)
        if len(planted) == options.planted:
            break
    began = time.process_time()
    groups = group_duplicates(memories)
    took = time.process_time() - began
    report(memories, planted, groups, took, options.show)


def report(
    memories: dict[str, Memory], planted: dict[str, tuple[str, str]], groups: list[list[str]], took: float, show: int
) -> None:
    of = {identifier: number for number, group in enumerate(groups) for identifier in group}
    found = {one for one, (source, _) in planted.items() if one in of and of[one] == of.get(source)}
    pairs = [(one, other) for group in groups for index, one in enumerate(group) for other in group[index + 1 :]]
    false = [
        pair for pair in pairs if not any(planted.get(one, ("", ""))[0] == other for one, other in (pair, pair[::-1]))
    ]
    print(f"{len(memories):,} memories, {len(planted)} planted, {took:.1f} s of processor time")
    print(
        f"precision {1 - len(false) / max(len(pairs), 1):.4f} ({len(false)} of {len(pairs)} pairs were not planted), "
        f"recall {len(found) / len(planted):.4f}"
    )
    for name in KINDS:
        mine = [one for one, (_, kind) in planted.items() if kind == name]
        print(f"  {name:28} recall {sum(one in found for one in mine) / max(len(mine), 1):.3f} of {len(mine)}")
    for one, other in false[:show]:
        print(f"  not planted: {memories[one].content[:300]!r}\n               {memories[other].content[:300]!r}")
    for one in [one for one in planted if one not in found][:show]:
        print(
            f"  missed ({planted[one][1]}): {memories[planted[one][0]].content[:300]!r}\n"
            f"               {memories[one].content[:300]!r}"
        )


def _memory(identifier: str, kind: Kind, text: str, at: datetime) -> Memory:
    title = text.splitlines()[0][:120]
    return Memory(
        id=identifier,
        kind=kind,
        title=title,
        content=text,
        at=at,
        created=at,
        updated=at,
        project="p",
        trust=Trust.PROJECT,
    )


if __name__ == "__main__":
    main()
