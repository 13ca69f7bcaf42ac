"""The official MCP client against POST /mcp, in both eras of the protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from opened_doors import TOKEN, Daemon

mcp = pytest.importorskip("mcp", reason="the official client is not installed")

ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25"}


@asynccontextmanager
async def over_http(daemon: Daemon, mode: str) -> AsyncIterator[Any]:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as http,
        mcp.Client(streamable_http_client(daemon.url + "/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.mark.parametrize("mode", ERAS)
async def test_official_client_over_http(daemon: Daemon, mode: str) -> None:
    await daemon.post("/projects", {"path": "/p"})

    async with over_http(daemon, mode) as client:
        assert client.protocol_version == ERAS[mode]
        assert len((await client.list_tools()).tools) == 7
        bundle = await client.call_tool("context", {"file": "a.py"})
        assert bundle.content[0].text.startswith("# a.py")
        kept = await client.call_tool("remember", {"text": "cookies stay signed"})
        found = await client.call_tool("search", {"query": "signed"})
        assert "cookies stay signed" in found.content[0].text
        assert kept.content[0].text.removeprefix("Stored as ").rstrip(".") in found.content[0].text
        refused = await client.call_tool("predict", {})
        assert refused.is_error
        assert "'file' or 'query' is required" in refused.content[0].text
        [resource] = (await client.list_resources()).resources
        assert (await client.read_resource(resource.uri)).contents[0].text
        prompt = await client.get_prompt("debug", {"error": "KeyError: 7"})
        assert "KeyError: 7" in prompt.messages[0].content.text
        with pytest.raises(mcp.MCPError, match="no resource"):
            await client.read_resource("hunch://nothing")
