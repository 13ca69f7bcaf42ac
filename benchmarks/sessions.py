"""Benchmark of long sessions with compiled prompts: cost, and what is still known at the end.

    python benchmarks/sessions.py long REPOSITORY        300 turns with tool results: budget, prefix, cost, decisions
    python benchmarks/sessions.py condensed REPOSITORY   100 turns: episodes, facts, tokens, what is still answerable

The session is made from the repository's own history (see session_material.py) and played against a real daemon on a
temporary home, one compiled prompt for each request that an agent would make. The cache is simulated as Anthropic
documents it: an entry at each mark, found again when the bytes before it are the same, searched up to 20 blocks back;
five minutes, never missed; prompts below the minimum cacheable length are not cached.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

sys.path.insert(0, str(Path(__file__).parent))
from daemon import add, daemon, open_session
from session_material import ASKED, Decision, Material, list_tools, make_messages

from hunchd.assembly.token_counter import count_tokens

# Claude Sonnet 4.x, US dollars a million input tokens, as published: plain, five-minute cache write, cache read.
PLAIN, WRITE, READ = 3.00, 3.75, 0.30
MIN_CACHED = 1_024  # tokens
LOOKBACK = 20  # blocks
WINDOW = 200_000  # maximum tokens of the model's context
INSTRUCTIONS = 24_000  # characters of the client's own system text: about 6,000 tokens

Block = tuple[str, int, bool]  # role and text, tokens, marked


@dataclass
class Cache:
    """Simulation of the provider's prompt cache and its prices."""

    entries: set[str] = field(default_factory=set)

    def charge(self, blocks: Sequence[Block]) -> dict[str, int]:
        """Return the tokens of a request by price: read, written, plain."""
        digests, lengths = [], []
        digest, length = hashlib.sha256(), 0
        for text, tokens, _ in blocks:
            digest.update(text.encode() + b"\0")
            length += tokens
            digests.append(digest.hexdigest())
            lengths.append(length)
        marks = [index for index, block in enumerate(blocks) if block[2]]
        read = 0
        for mark in marks:
            for index in range(mark, max(-1, mark - LOOKBACK), -1):
                if digests[index] in self.entries and lengths[index] >= MIN_CACHED:
                    read = max(read, lengths[index])
                    break
        written_tokens = max((lengths[mark] for mark in marks if lengths[mark] >= MIN_CACHED), default=0)
        self.entries.update(digests[mark] for mark in marks)
        return {"read": read, "written": max(0, written_tokens - read), "plain": length - max(written_tokens, read)}


def compute_cost(charged: dict[str, int]) -> float:
    return (charged["plain"] * PLAIN + charged["written"] * WRITE + charged["read"] * READ) / 1e6


def split_blocks(prompt: dict[str, Any]) -> list[Block]:
    """Return the prompt as a provider sees it: tools, then all blocks, without cache marks."""
    described = json.dumps(prompt.get("tools", []), sort_keys=True)
    blocks: list[Block] = [(described, count_tokens(described), False)]
    for message in prompt["messages"]:
        for block in message["content"]:
            text = f"{message['role']}\0{block['text']}"
            blocks.append((text, count_tokens(block["text"]) + 4, "cache_control" in block))
    return blocks


def count_common_prefix(blocks: Sequence[Block], before: Sequence[Block]) -> int:
    """Return the tokens of leading blocks that equal those of the previous request."""
    same = 0
    for one, other in zip(blocks, before, strict=False):
        if one[0] != other[0]:
            break
        same += one[1]
    return same


@dataclass
class Ledger:
    """Totals over the requests of a session."""

    tokens: list[int] = field(default_factory=list)
    same: list[int] = field(default_factory=list)
    history: list[int] = field(default_factory=list)
    over: int = 0
    took: list[float] = field(default_factory=list)
    posted: list[float] = field(default_factory=list)
    spent: float = 0.0
    resent: float = 0.0
    resent_cached: float = 0.0
    beyond_window: int = 0
    pruned: int = 0


async def post(client: aiohttp.ClientSession, path: str, body: dict[str, Any]) -> Any:
    async with client.post(path, json=body) as response:
        answer = await response.json()
        if response.status >= 300:
            raise SystemExit(f"{path}: {response.status} {answer}")
        return answer


async def play(
    client: aiohttp.ClientSession, material: Material, repository: Path, turns: int, budget: int
) -> tuple[Ledger, list[Decision], int]:
    """Play the session; return its totals, its decisions, and the tokens of its log."""
    ledger, decisions, cache, before = Ledger(), list[Decision](), Cache(), list[Block]()
    system, described = material.instructions(INSTRUCTIONS), list(list_tools())
    logged, fixed = 0, count_tokens(system) + count_tokens(json.dumps(described))
    cached_before = 0
    for number, exchange in enumerate(material.exchanges(turns)):
        if exchange.decision is not None:
            decisions.append(exchange.decision)
        for step, group in enumerate(make_messages(exchange, number)):
            message = exchange.user if step == 0 else ""
            began = time.perf_counter()
            asked = {"session": "long", "message": message, "budget": budget, "system": system, "tools": described}
            prompt = await post(client, "/context/compile", asked)
            ledger.took.append(time.perf_counter() - began)
            blocks = split_blocks(prompt)
            tokens = sum(block[1] for block in blocks)
            ledger.tokens.append(tokens)
            ledger.same.append(count_common_prefix(blocks, before))
            ledger.history.append(prompt["sections"]["history"])
            ledger.over += prompt["token_count"] > budget
            ledger.pruned += bool(prompt["pruned"])
            ledger.spent += compute_cost(cache.charge(blocks))
            whole = fixed + logged + count_tokens(message)
            ledger.resent += whole * PLAIN / 1e6
            ledger.resent_cached += (cached_before * READ + (whole - cached_before) * WRITE) / 1e6
            ledger.beyond_window += whole > WINDOW
            cached_before, before = whole, blocks
            body = {"messages": group, "project": str(repository)}
            began = time.perf_counter()
            await post(client, "/sessions/long/messages", body)
            ledger.posted.append(time.perf_counter() - began)
            logged += sum(count_tokens(one.get("content") or json.dumps(one["event_data"])) for one in group)
    return ledger, decisions, logged


async def measure_recall(
    client: aiohttp.ClientSession, repository: Path, decisions: Sequence[Decision], budget: int
) -> dict[str, Any]:
    """Return for each decision if search finds it and a prompt about it contains it.

    Both are asked after all embeddings are done.
    """
    while any((await (await client.get("/status")).json())["queues"].values()):
        await asyncio.sleep(0.5)
    by_search = in_prompt = in_history = retrieved = 0
    missed, unfound = [], []
    for number, decision in enumerate(decisions):
        question = ASKED[number % len(ASKED)].format(topic=decision.topic)
        body = {"query": question, "session": "long", "project": str(repository), "k": 5}
        results = (await post(client, "/search", body))["results"]
        if any(decision.chosen in one["snippet"] for one in results):
            by_search += 1
        else:
            unfound.append({"asked": question, "said": decision.said, "found": [one["title"] for one in results]})
        prompt = await post(client, "/context/compile", {"session": "long", "message": question, "budget": budget})
        texts = [block["text"] for message in prompt["messages"][1:] for block in message["content"]]
        holds = any(decision.chosen in text for text in texts)
        in_prompt += holds
        in_history += any(decision.chosen in text for text in texts[:-2])
        retrieved += any(decision.chosen in text for text in texts[-2:-1])
        if not holds:
            missed.append(f"turn {decision.turn}: {decision.said}")
    return {
        "stated": len(decisions),
        "found by search": by_search,
        "not found by search": unfound,
        "in the prompt that asks": in_prompt,
        "of these in the history anyway": in_history,
        "of these retrieved for the question": retrieved,
        "missed": missed,
    }


async def measure_long_session(repository: Path, turns: int, budget: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="hunchd-sessions-") as home, daemon(Path(home)) as (rendezvous, _):
        async with open_session(rendezvous) as client:
            await add(client, repository)
            ledger, decisions, logged = await play(client, Material(repository), repository, turns, budget)
            again = await measure_recall(client, repository, decisions, budget)
            log = await (await client.get("/sessions/long")).json()
    total = sum(ledger.tokens)
    return {
        "requests": len(ledger.tokens),
        "messages in the log": log["messages"],
        "tokens in the log": logged,
        "budget": budget,
        "requests over budget": ledger.over,
        "requests that were pruned": ledger.pruned,
        "history, tokens": {"median": statistics.median(ledger.history), "most": max(ledger.history)},
        "history's share": int(budget * 10 / 32),
        "prompt, tokens": {"median": statistics.median(ledger.tokens), "most": max(ledger.tokens)},
        "input tokens in a prefix that is byte-identical": round(sum(ledger.same) / total, 4),
        "dollars": round(ledger.spent, 3),
        "dollars, everything resent": round(ledger.resent, 3),
        "cost falls by": round(1 - ledger.spent / ledger.resent, 4),
        "dollars, everything resent and cached": round(ledger.resent_cached, 3),
        "cost falls against that by": round(1 - ledger.spent / ledger.resent_cached, 4),
        "requests that would not fit the window": ledger.beyond_window,
        "compile, ms": _milliseconds(ledger.took),
        "post, ms": _milliseconds(ledger.posted),
        "decisions": again,
    }


def _milliseconds(took: Sequence[float]) -> dict[str, float]:
    ordered = sorted(took)
    return {
        "median": round(1_000 * statistics.median(ordered), 1),
        "p95": round(1_000 * ordered[int(0.95 * (len(ordered) - 1))], 1),
        "most": round(1_000 * ordered[-1], 1),
    }


async def measure_condensed_session(repository: Path, turns: int) -> dict[str, Any]:
    """End a session and measure the rest: counts, tokens, and answerable questions."""
    material = Material(repository, seed=11)
    with tempfile.TemporaryDirectory(prefix="hunchd-sessions-") as home, daemon(Path(home)) as (rendezvous, _):
        async with open_session(rendezvous) as client:
            await add(client, repository)
            decisions, actions, logged = list[Decision](), list[str](), 0
            spoken_tokens = 0
            for number, exchange in enumerate(material.exchanges(turns)):
                decisions += [exchange.decision] if exchange.decision is not None else []
                actions.append(exchange.user.split("\n")[0].removesuffix("."))
                for group in make_messages(exchange, number):
                    await post(client, "/sessions/long/messages", {"messages": group, "project": str(repository)})
                    logged += sum(count_tokens(one.get("content") or json.dumps(one["event_data"])) for one in group)
                    spoken_tokens += sum(
                        count_tokens(one["content"]) for one in group if one["role"] != "tool" and "content" in one
                    )
            ended = await post(client, "/sessions/long/end", {})
            facts = [await (await client.get(f"/memories/{one}")).json() for one in ended["facts"]]
            episodes = [await (await client.get(f"/memories/{one}")).json() for one in ended["episodes"]]
            again = await measure_recall(client, repository, decisions, 32_000)
    told_facts = "\n".join(f"{fact['category']}: {fact['content']}" for fact in facts)
    told_episodes = "\n".join(episode["levels"]["summary"] for episode in episodes)
    remaining_tokens = count_tokens(told_facts) + count_tokens(told_episodes)
    everything = told_facts + told_episodes
    probes = {
        "decisions, by a fact": _share(decision.chosen in told_facts for decision in decisions),
        "decisions, by fact or episode": _share(decision.chosen in everything for decision in decisions),
        "decisions, by search in what was said": again["found by search"] / max(1, again["stated"]),
        "decisions, in the prompt that asks": again["in the prompt that asks"] / max(1, again["stated"]),
        "what was done, by an episode": _share(action.lower()[:50] in told_episodes.lower() for action in actions),
    }
    return {
        "messages' tokens": logged,
        "tokens without what tools printed": spoken_tokens,
        "episodes": len(episodes),
        "their turns": [episode["source"]["turns"] for episode in episodes],
        "outcomes": [episode["source"]["outcome"] for episode in episodes],
        "facts": len(facts),
        "tokens left": remaining_tokens,
        "ratio": round(logged / remaining_tokens, 1),
        "ratio to what was spoken": round(spoken_tokens / remaining_tokens, 1),
        "decisions stated": len(decisions),
        "still answerable": {name: round(share, 3) for name, share in probes.items()},
    }


def _share(flags: Iterator[bool] | Any) -> float:
    listed = list(flags)
    return sum(listed) / max(1, len(listed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("long", "condensed"))
    parser.add_argument("repository", type=Path)
    parser.add_argument("--turns", type=int, default=0, help="default 300, or 100 to condense")
    parser.add_argument("--budget", type=int, default=32_000)
    options = parser.parse_args()
    repository = options.repository.resolve()
    if options.what == "long":
        result = asyncio.run(measure_long_session(repository, options.turns or 300, options.budget))
    else:
        result = asyncio.run(measure_condensed_session(repository, options.turns or 100))
    print(json.dumps(result, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
