"""Benchmark of what stays of labelled sessions: facts, withdrawn values, jokes, secrets, questions, noise.

    python benchmarks/session_extraction.py SESSIONS.jsonl [--language en] [--show]

Every session is posted turn by turn to a real daemon on a temporary home and ended. A record of the file is a session,
a turn, a statement to keep (`holds` at the end), one that must not be kept (`never`) or may be (`fine`), a private
value, a question with its answer, or a message that needs no memory (`noise`). A fact counts as right if it matches a
statement to keep or one that may be kept. `{{kind}}` in a message stands for a secret that is made at run time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import secrets
import string
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

sys.path.insert(0, str(Path(__file__).parent))
from daemon import add, daemon, open_session, wait_until_idle

Record = dict[str, Any]
FIRST = 3  # results of a search that a reader looks at
BUDGET = 8_000  # tokens of a compiled prompt


@dataclass
class Score:
    """Counts of a session or a language."""

    keep: int = 0
    kept: int = 0
    facts: int = 0
    right: int = 0
    never: int = 0
    leaked: int = 0
    withdrawn: int = 0
    in_force: int = 0
    private: int = 0
    found_private: int = 0
    questions: int = 0
    in_search: int = 0
    in_prompt: int = 0
    notes: list[str] = field(default_factory=list)

    def add(self, other: Score) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def line(self, name: str) -> str:
        return (
            f"{name:<14}{_share(self.kept, self.keep):>14}{_share(self.right, self.facts):>14}"
            f"{self.leaked:>5}/{self.never:<4}{self.in_force:>5}/{self.withdrawn:<4}"
            f"{self.found_private:>5}/{self.private:<4}"
            f"{_share(self.in_search, self.questions):>14}{_share(self.in_prompt, self.questions):>14}"
        )


HEADING = (
    f"{'':<14}{'recall':>14}{'precision':>14}{'never':>10}{'in force':>10}{'private':>10}{'search@3':>14}{'prompt':>14}"
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sessions", type=Path)
    parser.add_argument("--language", help="only the sessions of this language")
    parser.add_argument("--show", action="store_true", help="print what was missed and what is wrong")
    options = parser.parse_args()
    records = [json.loads(line) for line in options.sessions.read_text("utf-8").splitlines()]
    with tempfile.TemporaryDirectory(prefix="hd-") as folder, daemon(Path(folder) / "home") as (told, _):
        asyncio.run(play(Path(folder), told, records, options))
    return 0


async def play(folder: Path, told: Any, records: Sequence[Record], options: argparse.Namespace) -> None:
    of_session: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record["type"] != "noise":
            of_session[record["session"]].append(record)
    print(HEADING)
    languages: dict[str, Score] = defaultdict(Score)
    first = next((record["project"] for record in records if record.get("project")), None)
    async with open_session(told) as client:
        for name, own in of_session.items():
            session = next(record for record in own if record["type"] == "session")
            if options.language in (None, session["language"]):
                score = await play_session(client, folder, session, own)
                languages[session["language"]].add(score)
                print(score.line(name))
                if options.show:
                    print("\n".join(score.notes))
        for language, score in languages.items():
            print(score.line(f"all {language}"))
        if options.language is None:
            print(await measure_noise(client, records, project=str(folder / first) if first else None))


async def play_session(client: aiohttp.ClientSession, folder: Path, session: Record, own: Sequence[Record]) -> Score:
    """Post the turns, end the session, and compare what stays with the labels."""
    name, project = session["session"], None
    if session.get("project"):
        path = folder / session["project"]
        path.mkdir()
        project = await add(client, path)
    made: dict[str, str] = {}
    for turn in (record for record in own if record["type"] == "turn"):
        body = {"messages": json.loads(_with_secrets(json.dumps(turn["messages"]), made))}
        await post(client, f"/sessions/{name}/messages", body | ({"project": project} if project else {}))
    ended = await post(client, f"/sessions/{name}/end", {})
    facts = [await get(client, f"/memories/{one}") for one in ended["facts"]]
    texts = [_text(fact) for fact in facts if fact.get("status", "active") == "active"]
    score = score_facts(own, texts)
    episodes = [_text(await get(client, f"/memories/{one}")) for one in ended["episodes"]]
    log = json.dumps((await get(client, f"/sessions/{name}/messages?limit=200"))["items"], ensure_ascii=False)
    for record in (one for one in own if one["type"] == "private"):
        value = _with_secrets(record["value"], made)
        places = "\n".join([*texts, *episodes]) if record["kind"] == "personal" else "\n".join([*texts, *episodes, log])
        score.private += 1
        if value in places:
            score.found_private += 1
            score.notes.append(f"  PRIVATE {record['kind']} turn {record['turn']}")
    await wait_until_idle(client)
    await ask(client, [one for one in own if one["type"] == "question"], name, project, score)
    return score


def score_facts(own: Sequence[Record], texts: Sequence[str]) -> Score:
    score = Score(facts=len(texts))
    for record in own:
        if record["type"] == "keep" and record["holds"]:
            hit = any(matches(record, text) for text in texts)
            score.keep, score.kept = score.keep + 1, score.kept + hit
            if not hit:
                score.notes.append(f"  MISSED  turn {record['turn']}: {record['text']}")
        elif record["type"] == "keep":
            hit = any(matches(record, text) for text in texts)
            score.withdrawn, score.in_force = score.withdrawn + 1, score.in_force + hit
            score.notes += [f"  IN FORCE turn {record['turn']}: {record['text']}"] * hit
        elif record["type"] == "never":
            hit = any(matches(record, text) for text in texts)
            score.never, score.leaked = score.never + 1, score.leaked + hit
            score.notes += [f"  NEVER   turn {record['turn']}: {record['text']}"] * hit
    good = [record for record in own if record["type"] in ("keep", "fine")]
    bad = [record for record in own if record["type"] == "never"]
    for text in texts:
        if any(matches(one, text) for one in good) and not any(matches(one, text) for one in bad):
            score.right += 1
        else:
            score.notes.append(f"  WRONG   {text[:150]!r}")
    return score


def matches(record: Record, text: str) -> bool:
    unless = record.get("unless")
    return all(re.search(one, text, re.IGNORECASE) for one in record["match"]) and not (
        unless and re.search(unless, text, re.IGNORECASE)
    )


async def ask(
    client: aiohttp.ClientSession, questions: Sequence[Record], name: str, project: str | None, score: Score
) -> None:
    """Ask each question in a search and in the prompt of a new session."""
    for number, record in enumerate(questions):
        own = {"project": project} if project else {}
        found = (await post(client, "/search", {"query": record["text"], "k": FIRST, **own}))["results"]
        shown = "\n".join(f"{one['title']} {one['snippet']} {one.get('content', '')}" for one in found)
        fresh = {"session": f"{name}-question-{number}", "message": record["text"], "budget": BUDGET, **own}
        prompt = json.dumps((await post(client, "/context/compile", fresh))["messages"], ensure_ascii=False)
        in_search, in_prompt = (bool(re.search(record["answer"], one, re.IGNORECASE)) for one in (shown, prompt))
        score.questions += 1
        score.in_search += in_search
        score.in_prompt += in_prompt
        if not (in_search and in_prompt):
            places = " ".join(["search"] * (not in_search) + ["prompt"] * (not in_prompt))
            score.notes.append(f"  UNANSWERED ({places}) {record['text']}")


async def measure_noise(client: aiohttp.ClientSession, records: Sequence[Record], project: str | None) -> str:
    """Compile a prompt for each message that needs no memory, in new sessions of the first project."""
    injected, tokens = [], 0
    noise = [record["text"] for record in records if record["type"] == "noise"]
    for number, text in enumerate(noise):
        fresh = {"session": f"noise-{number}", "message": text, "budget": BUDGET}
        prompt = await post(client, "/context/compile", fresh | ({"project": project} if project else {}))
        tokens += prompt["sections"]["retrieved"]
        injected += [text] if prompt["retrieved"] else []
    mean = tokens / max(1, len(noise))
    return f"noise: injected into {len(injected)} of {len(noise)}, mean {mean:.1f} tokens: {', '.join(injected)}"


async def post(client: aiohttp.ClientSession, path: str, body: Record) -> Record:
    async with client.post(path, json=body) as response:
        answer: Record = await response.json()
    if "error" in answer:
        raise SystemExit(f"{path}: {answer['error']['message']}")
    return answer


async def get(client: aiohttp.ClientSession, path: str) -> Record:
    async with client.get(path) as response:
        answer: Record = await response.json()
    return answer


def _text(memory: Record) -> str:
    parts = (memory.get("title"), memory.get("content"), memory.get("key"), memory.get("value"))
    return " · ".join(dict.fromkeys(part for part in parts if part))


def _with_secrets(text: str, made: dict[str, str]) -> str:
    return re.sub(r"\{\{([\w-]+)\}\}", lambda found: made.setdefault(found[0], make_secret(found[1])), text)


def make_secret(kind: str) -> str:
    """Return a value of the shape that secrets of this kind have."""
    letters = string.ascii_letters + string.digits
    drawn = "".join(secrets.choice(letters) for _ in range(36))
    upper = "".join(secrets.choice(string.ascii_uppercase + string.digits) for _ in range(16))
    shapes = {
        "password": f"{drawn[:5]}-{drawn[5:9]}{secrets.randbelow(90) + 10}",
        "url-password": f"https://admin:{drawn[:12]}@host.example",
        "github-token": f"ghp_{drawn}",
        "aws-key": f"AKIA{upper}",
        "slack-token": f"xoxb-{secrets.randbelow(10**11):011d}-{drawn[:24]}",
        "stripe-key": f"sk_live_{drawn[:24]}",
        "card": "4111 1111 1111 1111",
    }
    return shapes.get(kind, drawn)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2f} {part}/{whole}" if whole else "-"


if __name__ == "__main__":
    sys.exit(main())
