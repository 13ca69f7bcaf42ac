"""Benchmark of the contradictions shown to whoever stores a new statement.

    python benchmarks/contradictions_near.py show --pairs FILE [--repository CLONE] [--out REPLIES] [--most 4]
    python benchmarks/contradictions_near.py judge --pairs FILE --replies REPLIES --verdicts VERDICTS

`show` stores the older statement of each pair in a real daemon, as an agent does, waits until all have vectors, and
then
stores the newer ones over the Model Context Protocol, one after the other. It counts how often the older one is opened
as a contradiction at once or is in the reply, and how many others are. Each pair has `a`, `b`, `kind` and `label`
(1: both cannot hold). `judge` reads what an agent did with each reply: lines of `id` and `contradicts`, a list of ids.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
from daemon import add, daemon, open_session, wait_until_idle

_SHOWN = re.compile(r"^- «.*» \(id (?P<id>m[0-9a-f]+)\)$", re.MULTILINE)
_STORED = re.compile(r"^Kept as (?P<id>\w+)\.")
HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


async def remember(client: aiohttp.ClientSession, text: str, project: Path) -> str:
    """Store a statement and return the reply of the tool `remember`."""
    call = {"name": "remember", "arguments": {"text": text, "project": str(project)}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    async with client.post("/mcp", json=body, headers=HEADERS) as response:
        answer = await response.json()
    return str(answer["result"]["content"][0]["text"])


async def collect_replies(pairs: list[dict[str, Any]], project: Path, home: Path) -> list[dict[str, Any]]:
    """Return the reply to the newer statement of each pair.

    With it come the ids shown in it and those of contradictions opened by then; `older` is the id of the other side.
    """
    rows: list[dict[str, Any]] = []
    with daemon(home) as (where, _):
        async with open_session(where) as client:
            await add(client, project)
            await wait_until_idle(client)
            reply_texts = [await remember(client, pair["a"], project) for pair in pairs]
            await wait_until_idle(client)
            for pair, before in zip(pairs, reply_texts, strict=True):
                reply = await remember(client, pair["b"], project)
                rows.append(
                    {
                        "id": pair["id"],
                        "text": pair["b"],
                        "reply": reply,
                        "older": _find_id(_STORED, before),
                        "newer": _find_id(_STORED, reply),
                        "shown": [found["id"] for found in _SHOWN.finditer(reply)],
                    }
                )
            await asyncio.sleep(30)  # background comparisons are done
            async with client.get("/contradictions", params={"status": "all", "limit": "1000"}) as response:
                opened = (await response.json())["items"]
    sides = [{one["a"]["id"], one["b"]["id"]} for one in opened]
    for one in rows:
        one["opened"] = sorted(other for pair in sides if one["newer"] in pair for other in pair - {one["newer"]})
        one["ruled"] = "It replaces" in one["reply"] or "is better founded" in one["reply"]
    return rows


def _find_id(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found["id"] if found else ""


def show(pairs: list[dict[str, Any]], rows: list[dict[str, Any]], most: int) -> None:
    """Print how often the other side is shown, by label, and how many others are."""
    by_id = {one["id"]: one for one in rows}
    for label in (1, 0):
        concerned = [by_id[pair["id"]] for pair in pairs if pair["label"] == label]
        among = [sum(one["older"] in one["shown"][:k] for one in concerned) for k in range(1, most + 1)]
        ruled = sum(one["ruled"] and one["older"] not in one["shown"][:most] for one in concerned)
        opened = sum(one["older"] in one["opened"] for one in concerned)
        print(f"label {label}: {len(concerned)} pairs; shown among the first 1..{most}: {among}; ", end="")
        print(f"settled by the rule of one key: {ruled}; opened by rules and reader: {opened}")
    others = [len([other for other in one["shown"] if other != one["older"]]) for one in rows]
    print(f"other statements in a reply: {sum(others) / len(others):.2f}; none in {others.count(0)} of {len(others)}")


def judge(pairs: list[dict[str, Any]], rows: list[dict[str, Any]], verdicts: list[dict[str, Any]]) -> None:
    """Print precision and recall of the agent, of the daemon, and of both."""
    by_id = {one["id"]: one for one in rows}
    claims = {one["id"]: set(one["contradicts"]) for one in verdicts}
    found: Counter[str] = Counter()
    kinds: dict[str, Counter[str]] = {}
    for pair in pairs:
        one = by_id[pair["id"]]
        for who, holds in (
            ("agent", one["older"] in claims.get(pair["id"], ())),
            ("daemon", one["older"] in one["opened"] or one["ruled"]),
        ):
            found[f"{who} {'right' if holds == bool(pair['label']) else 'wrong'} {pair['label']}"] += 1
        either = one["older"] in claims.get(pair["id"], ()) or one["older"] in one["opened"] or one["ruled"]
        kinds.setdefault(pair["kind"], Counter())[f"{int(either)}{pair['label']}"] += 1
        found[f"either {'right' if either == bool(pair['label']) else 'wrong'} {pair['label']}"] += 1
    for who in ("agent", "daemon", "either"):
        right, missed, false = (found[f"{who} {name}"] for name in ("right 1", "wrong 1", "wrong 0"))
        precision, recall = right / max(right + false, 1), right / max(right + missed, 1)
        print(f"{who}: precision {precision:.3f}, recall {recall:.3f}")
    for kind, counts in sorted(kinds.items()):
        right, missed, false = counts["11"], counts["01"], counts["10"]
        print(f"  {kind}: found {right} of {right + missed}, called opposed {false} of {false + counts['00']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("show", "judge"))
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--repository", type=Path, help="a clone whose history is indexed too (default: an empty one)")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--replies", type=Path)
    parser.add_argument("--verdicts", type=Path)
    parser.add_argument("--most", type=int, default=4)
    options = parser.parse_args()
    pairs = read_lines(options.pairs)
    if options.what == "judge":
        judge(pairs, read_lines(options.replies), read_lines(options.verdicts))
        return
    with tempfile.TemporaryDirectory(prefix="near") as folder:
        project = options.repository or Path(folder, "project")
        if options.repository is None:
            subprocess.run(["git", "init", "-q", str(project)], check=True)
        rows = asyncio.run(collect_replies(pairs, project, Path(folder, "home")))
    if options.out is not None:
        options.out.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows), "utf-8")
    show(pairs, rows, options.most)


if __name__ == "__main__":
    main()
