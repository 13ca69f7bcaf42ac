"""Are unlike errors told apart, and is one known again behind other lines, paths and prefixes?

    python benchmarks/error_pairs.py OUTPUTS.jsonl [--pairs 300] [--recurrences 150] [--show 10]

A line of OUTPUTS is one output of a tool that failed: {"tool", "text"}, best from the golden files of the tools' own
tests. Two outputs of one tool are unlike if, without numbers and paths, neither contains the other: their fingerprints
have to differ. A recurrence is an output as it would come back: its lines shifted, its tree elsewhere, behind the
prefix of a log collector, with CRLF, behind other lines; its fingerprint has to stay. `--pairs` and `--recurrences`
draw a sample, as many of each tool as of every other; 0 takes all.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hunchd.ingestion.errors import ParsedError, parse_error
from hunchd.ingestion.terminal_output import strip_output_prefixes

PREFIXES: dict[str, Callable[[int], str]] = {
    "GitHub": lambda n: f"2026-03-04T05:06:{n % 60:02}.8901234Z ",
    "gh run view": lambda n: f"build\tCompile\t2026-03-04T05:06:{n % 60:02}.8901234Z ",
    "GitLab": lambda n: f"2026-03-04T05:06:{n % 60:02}.890123Z 01O ",
    "Jenkins": lambda n: f"[2026-03-04T05:06:{n % 60:02}.890Z] ",
    "syslog": lambda n: f"Mar  4 05:06:{n % 60:02} build7 worker[812]: ",
    "Kubernetes (CRI)": lambda n: f"2026-03-04T05:06:07.8901234{n % 60:02}Z stderr F ",
    "Heroku": lambda n: f"2026-03-04T05:06:{n % 60:02}.890123+00:00 app[web.1]: ",
    "compose": lambda n: "web-1  | ",
    "foreman": lambda n: f"05:06:{n % 60:02} web.1  | ",
    "pm2": lambda n: "0|api  | ",
    "concurrently": lambda n: "[api] ",
    "turbo": lambda n: "web:test: ",
    "lerna": lambda n: "@depot/web: ",
    "pnpm": lambda n: "packages/web test: ",
}
_FILE = re.compile(r"(?:[\w.@+-]*/)*[\w.@+-]+\.\w{1,6}\b")
_FOLDER = re.compile(r"(?<![\w/.@])(?:/?(?:[\w@+-]+/)+)(?=[\w.@+-]+\.\w{1,6}[:(\" ])")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outputs", type=Path)
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--recurrences", type=int, default=150)
    parser.add_argument("--show", type=int, default=0, help="mistakes shown of each kind (0)")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    drawn = random.Random(asked.seed)
    outputs = [json.loads(line) for line in asked.outputs.read_text(encoding="utf-8").splitlines()]
    read = [read_output(one["text"]) for one in outputs]
    tools: dict[str, list[int]] = defaultdict(list)
    for number, one in enumerate(outputs):
        tools[one["tool"]].append(number)
    measure_pairs(outputs, read, tools, asked, drawn)
    measure_recurrences(outputs, read, tools, asked, drawn)
    return 0


def measure_pairs(
    outputs: Sequence[Any], read: Sequence[ParsedError], tools: dict[str, list[int]], asked: argparse.Namespace,
    drawn: random.Random,
) -> None:  # fmt: skip
    """Print how many unlike outputs of one tool have one fingerprint."""
    unlike = [list(_unlike(outputs, numbers)) for numbers in tools.values()]
    chosen = sample(unlike, asked.pairs, drawn)
    wrong = [(a, b) for a, b in chosen if read[a].fingerprint == read[b].fingerprint]
    of = sum(1 for pairs in unlike if pairs)
    print(f"pairs of unlike errors of one tool: {len(chosen)} of {of} tools, taken for one: {len(wrong)}")
    for a, b in wrong[: asked.show]:
        print(
            f"--- {outputs[a]['tool']}: {read[a].headline}",
            outputs[a]["text"][:600],
            "--- and",
            outputs[b]["text"][:600],
            sep="\n",
        )


def measure_recurrences(
    outputs: Sequence[Any], read: Sequence[ParsedError], tools: dict[str, list[int]], asked: argparse.Namespace,
    drawn: random.Random,
) -> None:  # fmt: skip
    """Print how many outputs are known again, by the way in which they come back."""
    again = [[(n, *one) for n in numbers for one in variants(outputs[n]["text"], drawn)] for numbers in tools.values()]
    chosen = sample(again, asked.recurrences, drawn)
    kept: Counter[str] = Counter()
    lost = []
    for number, name, text in chosen:
        is_known = read_output(text).fingerprint == read[number].fingerprint
        kept[name] += is_known
        lost += [] if is_known else [(name, number, text)]
    times = Counter(name for _, name, _ in chosen)
    print(f"recurrences: {len(chosen)}, known again: {len(chosen) - len(lost)}")
    print("  " + ", ".join(f"{name} {kept[name]}/{times[name]}" for name in times))
    for name, number, text in lost[: asked.show]:
        print(
            f"--- {name}, {outputs[number]['tool']}: {read[number].headline} → {read_output(text).headline}",
            text[:600],
            sep="\n",
        )


def read_output(text: str) -> ParsedError:
    return parse_error(strip_output_prefixes(text))


def sample(groups: Sequence[Sequence[Any]], most: int, drawn: random.Random) -> list[Any]:
    """Draw `most` members, one of each group in turn; all of them if it is 0."""
    mixed = [drawn.sample(list(group), len(group)) for group in groups]
    turns = [one for turn in itertools.zip_longest(*mixed) for one in turn if one is not None]
    return turns[:most] if most else turns


def variants(text: str, drawn: random.Random) -> Iterator[tuple[str, str]]:
    """The same output as it might come back; kinds that would change nothing in it are left out."""
    found = {
        "shifted": _shift(text, drawn.randint(1, 9)),
        "elsewhere": _FOLDER.sub(lambda folder: "/builds/team/" + folder[0].lstrip("/"), text),
        "CRLF": text.replace("\n", "\r\n"),
        "behind other lines": f"Installing dependencies\n  added 12 packages in 3s\n\n{text}",
    }
    lines = text.rstrip("\n").split("\n")
    for name, prefix in PREFIXES.items():
        found[name] = "".join(f"{prefix(number)}{line}\n" for number, line in enumerate(lines))
    yield from ((name, changed) for name, changed in found.items() if changed != text)


def _shift(text: str, step: int) -> str:
    """Move all line numbers, in the gutter too; columns stay."""
    text = re.sub(r"(\.\w{1,6}[:(]|\bline )(\d+)", lambda found: f"{found[1]}{int(found[2]) + step}", text)
    gutter = re.compile(r"^([ >]*)(\d+)( *[|│])", re.MULTILINE)
    return gutter.sub(lambda found: f"{found[1]}{int(found[2]) + step}{found[3]}", text)


def _unlike(outputs: Sequence[Any], numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    plain = {number: _without_places(outputs[number]["text"]) for number in numbers}
    for a, b in itertools.combinations(numbers, 2):
        if plain[a] not in plain[b] and plain[b] not in plain[a]:
            yield a, b


def _without_places(text: str) -> str:
    """What of an output tells it from others: no paths, numbers, rulers, spaces."""
    text = _FILE.sub("F", re.sub(r"\x1b\[[0-9;]*m", "", text))
    return re.sub(r"[-─━=_^~]+", "-", re.sub(r"\d+", "0", re.sub(r"\s+", " ", text)))


if __name__ == "__main__":
    raise SystemExit(main())
