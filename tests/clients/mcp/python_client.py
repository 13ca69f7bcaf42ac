"""Test of `hunch mcp` and /mcp with the official Python client, in both protocol eras.

    python python_client.py PYTHON RENDEZVOUS PROJECT

PYTHON runs hunch; RENDEZVOUS is the daemon's file, PROJECT a repository that it knows. Prints a line for each pair.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

TIMES = 30  # timed calls


async def main(python: str, rendezvous: str, project: str) -> None:
    told = json.loads(Path(rendezvous).read_text())
    for transport in ("stdio", "http"):
        for mode in ("auto", "legacy"):
            async with AsyncExitStack() as stack:
                server: Any
                if transport == "stdio":
                    kept = {name: os.environ[name] for name in ("HUNCHD_HOME", "PYTHONPATH") if name in os.environ}
                    server = StdioServerParameters(
                        command=python, args=["-m", "hunchd.cli", "mcp"], cwd=project, env=kept
                    )
                else:
                    knows = {"Authorization": f"Bearer {told['token']}"}
                    http = await stack.enter_async_context(httpx2.AsyncClient(headers=knows))
                    server = streamable_http_client(told["url"] + "/mcp", http_client=http)
                began = time.perf_counter()
                client = await stack.enter_async_context(Client(server, mode=mode))
                connected = time.perf_counter() - began
                took = await check_all(client, project)
                print(
                    f"python mcp  {transport:5} {client.protocol_version}  ok  "
                    f"connected in {connected * 1000:.0f} ms, a predict {took * 1000:.1f} ms",
                    flush=True,
                )


async def check_all(client: Client, project: str) -> float:
    """Use each tool, resource and prompt once; return the median of a call in seconds."""
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == ["context", "search", "remember", "expand", "predict", "feedback"]
    assert tools[0].annotations is not None
    assert tools[0].annotations.read_only_hint
    file = next(path for path in ("src/flask/sessions.py", "src/cart.py") if (Path(project) / path).exists())

    async def call(name: str, **arguments: Any) -> str:
        result = await client.call_tool(name, {**arguments, "project": project})
        assert not result.is_error, result
        return str(result.content[0].text)  # type: ignore[union-attr]

    assert file in await call("context", file=file, budget=1500)
    assert await call("predict", file=file)
    assert (await call("remember", text="sessions stay signed cookies", category="decision")).startswith("Stored as")
    assert "signed cookies" in await call("search", query="signed cookies")
    assert await call("expand", topic=file)
    assert await call("feedback", id=file, outcome="cited") == "Noted."
    refused = await client.call_tool("context", {"path": file})
    assert refused.is_error
    assert "allowed arguments: file" in refused.content[0].text.lower()  # type: ignore[union-attr]
    resources = (await client.list_resources()).resources
    read = await client.read_resource(resources[0].uri)
    assert read.contents[0].mime_type == "text/markdown"
    assert len((await client.list_resource_templates()).resource_templates) == 2
    assert {prompt.name for prompt in (await client.list_prompts()).prompts} == {"debug", "start_feature"}
    prompt = await client.get_prompt("start_feature", {"feature": "rotate keys", "file": f"{project}/{file}"})
    assert "rotate keys" in prompt.messages[0].content.text  # type: ignore[union-attr]
    times = []
    for _ in range(TIMES):
        began = time.perf_counter()
        await call("predict", file=file)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
