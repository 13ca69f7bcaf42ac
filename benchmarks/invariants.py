"""Check what must hold of prompts and searches whatever is kept: at first, after many messages, a restart and rest.

    python benchmarks/invariants.py --messages 20000 --rest 600

A profile, facts, pages and a session with a decision that was changed are stored, and twenty remarks that ask
nothing are compiled. Then many messages follow in other sessions; the daemon is started again, and left alone for
`--rest` seconds (the store process ends after a minute). Each time the same statements are checked.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import aiohttp

sys.path.insert(0, str(Path(__file__).parent))
from bulk import make_texts
from daemon import add, daemon, open_session
from session_extraction import BUDGET, FIRST, get, post

BATCH: Final = 200  # messages in one request
PER_SESSION: Final = 1_000
SMALL: Final = 3_000  # tokens, of which the long page does not fit
SECTIONS: Final = 40  # of the long page
REMARKS: Final = (
    "ok", "thanks", "go on", "great!", "hm", "danke", "weiter", "alles klar", "merci", "continue", "gracias", "vale",
    "谢谢", "继续", "好的", "obrigado", "ありがとう", "спасибо", "yes please", "looks good",
)  # fmt: skip
SAID: Final = (
    "My name is Orla Fenwick and I'm the registrar of a small museum.",
    "We keep the loans in Redis.",
    "Answers in short sentences, please, I read them on the phone.",
    "Scratch that, no Redis: the loans go to SQLite, because nobody here can run a server.",
)


async def prepare(client: aiohttp.ClientSession, project: str, folder: Path) -> None:
    """Store a profile, pages, and two sessions, one of which belongs to no project."""
    sections = "\n\n".join(
        f"## Section {number:02}\n{'Loans need two signatures. ' * 20}" for number in range(SECTIONS)
    )
    pages = {
        "/profile/identity": "Orla Fenwick, registrar",
        "/profile/rules": sections,
        "/reference/labels": "Labels are printed on zebrawood paper.",
        "/insights/damp": "Damp comes through the quokka wall.",
    }
    for path, content in pages.items():
        async with client.put(f"/documents{path}", json={"content": content}) as response:
            assert response.status < 300, await response.text()
    await post(client, "/memories", {"memories": [{"kind": "fact", "category": "identity", "key": "time zone",
        "value": "Europe/Dublin", "content": "My time zone is Europe/Dublin"}]})  # fmt: skip
    for text in SAID:
        await post(
            client, "/sessions/said/messages", {"messages": [{"role": "user", "content": text}], "project": project}
        )
    await post(client, "/sessions/said/end", {})
    alone = {"messages": [{"role": "user", "content": "The wombat festival is in May."}]}
    await post(client, "/sessions/alone/messages", alone)


async def check(client: aiohttp.ClientSession, project: str) -> Iterator[tuple[str, bool]]:
    """Return each statement with True if it holds."""
    fresh = f"check-{time.time_ns()}"
    asked = {"session": fresh, "message": "Where do the loans go?", "budget": 4 * BUDGET, "project": project}
    whole, small = [
        await post(client, "/context/compile", asked | {"budget": budget}) for budget in (4 * BUDGET, SMALL)
    ]
    prompt, cut = (json.dumps(one["messages"], ensure_ascii=False) for one in (whole, small))
    order = [prompt.find(f"Section {number:02}") for number in range(SECTIONS)]

    async def search(query: str, **fields: Any) -> list[dict[str, Any]]:
        return (await post(client, "/search", {"query": query, "k": FIRST, **fields}))["results"]

    def shows(results: list[dict[str, Any]], text: str) -> bool:
        return any(text in f"{one['title']} {one['snippet']}" for one in results)

    decided = await search("Where are the loans kept?", project=project)
    return iter([
        ("identity, name, zone are in the prompt", all(one in prompt for one in ("registrar", "Orla", "Dublin"))),
        ("preference is in the prompt", "short sentences" in prompt),
        ("a long page stands once, in order", -1 not in order and order == sorted(set(order))),
        ("a small budget cuts it and says so", "profile" in small["pruned"] and f"Section {SECTIONS - 1}" not in cut),
        ("a cut profile keeps the identity", "registrar" in cut and small["token_count"] <= SMALL),
        ("the current decision is in the prompt", "SQLite" in prompt),
        ("the current decision is found first", bool(decided) and "SQLite" in decided[0]["snippet"]),
        ("a question about the user is answered", shows(await search("What is my job?", project=project), "registrar")),
        ("/reference is found in the project", shows(await search("zebrawood labels", project=project), "zebrawood")),
        ("/insights is found in the project", shows(await search("quokka wall", project=project), "quokka")),
        ("a session without project is not", not shows(await search("wombat festival", project=project), "wombat")),
        ("it is found without a project", shows(await search("wombat festival"), "wombat")),
    ])  # fmt: skip


async def report(client: aiohttp.ClientSession, project: str, stage: str) -> None:
    began = time.perf_counter()
    results = list(await check(client, project))
    seconds = time.perf_counter() - began
    broken = [name for name, holds in results if not holds]
    print(
        f"{stage}: {len(results) - len(broken)} of {len(results)} hold, {seconds:.1f} s; broken: {broken or 'none'}",
        flush=True,
    )


async def compile_remarks(client: aiohttp.ClientSession, project: str) -> None:
    prompts = []
    for number, text in enumerate(REMARKS):
        body = {"session": f"remark-{number}-{time.time_ns()}", "message": text, "budget": BUDGET, "project": project}
        prompts.append(await post(client, "/context/compile", body))
    injected = [text for text, one in zip(REMARKS, prompts, strict=True) if one["retrieved"]]
    mean = sum(one["sections"]["retrieved"] for one in prompts) / len(prompts)
    print(f"  remarks: injected into {len(injected)} of {len(REMARKS)}, mean {mean:.1f} tokens {injected}", flush=True)


async def fill(client: aiohttp.ClientSession, project: str, count: int) -> None:
    began, took = time.perf_counter(), []
    texts = list(make_texts(count, 20, seed=3))
    for start in range(0, count, BATCH):
        batch = [
            {"role": ("user", "assistant")[at % 2], "content": text}
            for at, text in enumerate(texts[start : start + BATCH])
        ]
        posted = time.perf_counter()
        await post(client, f"/sessions/fill-{start // PER_SESSION}/messages", {"messages": batch, "project": project})
        took.append(time.perf_counter() - posted)
    print(
        f"  {count} messages in {time.perf_counter() - began:.1f} s, slowest batch {max(took, default=0):.2f} s",
        flush=True,
    )


async def delete_many(client: aiohttp.ClientSession, count: int = 150) -> None:
    drafts = [{"kind": "fact", "content": f"The harbour {number} is shallow."} for number in range(count)]
    ids = [
        one
        for at in range(0, count, 50)
        for one in (await post(client, "/memories", {"memories": drafts[at : at + 50]}))["ids"]
    ]
    began = time.perf_counter()
    statuses = await asyncio.gather(*(_delete(client, one) for one in ids))
    print(
        f"  {count} deleted in {time.perf_counter() - began:.2f} s, {sum(one >= 300 for one in statuses)} refused",
        flush=True,
    )


async def _delete(client: aiohttp.ClientSession, identifier: str) -> int:
    async with client.delete(f"/memories/{identifier}") as response:
        return response.status


async def play(folder: Path, options: argparse.Namespace) -> None:
    (path := folder / "museum").mkdir()
    home = folder / "home"
    with daemon(home) as (rendezvous, _):
        async with open_session(rendezvous) as client:
            project = await add(client, path)
            await prepare(client, project, folder)
            await report(client, project, "at first")
            await compile_remarks(client, project)
            await fill(client, project, options.messages)
            await report(client, project, "after the messages")
    with daemon(home) as (rendezvous, _):
        async with open_session(rendezvous) as client:
            await report(client, project, "at once after a restart")
            await compile_remarks(client, project)
            await asyncio.sleep(options.rest)
            await report(client, project, f"after {options.rest} s of rest")
            await compile_remarks(client, project)
            await delete_many(client)
            assert (await get(client, "/health"))["status"] == "ok"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--rest", type=int, default=600, help="seconds without a request")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hd-") as folder:
        asyncio.run(play(Path(folder), options))
    return 0


if __name__ == "__main__":
    sys.exit(main())
