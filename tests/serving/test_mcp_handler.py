"""POST /mcp: both eras of the protocol, headers and statuses, and the server's access checks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from opened_doors import Daemon

from hunchd.assembly.token_counter import count_tokens
from hunchd.domain.errors import Unavailable
from hunchd.protocol.mcp.catalogue import INSTRUCTIONS, PROMPTS, TOOLS
from hunchd.protocol.mcp.tool_arguments import tool_definitions

VERSION = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": VERSION, "io.modelcontextprotocol/clientCapabilities": {}}


async def send_handshake_request(
    daemon: Daemon, method: str, params: dict[str, Any] | None = None, *, headers: dict[str, str] | None = None
) -> tuple[int, Any]:
    """Return status and message of a request in the handshake era."""
    message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params or {}}
    async with daemon.client.post(daemon.url + "/mcp", json=message, headers=headers or {}) as answer:
        return answer.status, await answer.json()


async def stateless(daemon: Daemon, method: str, /, meta: Any = META, **more: Any) -> tuple[int, Any]:
    """Return status and message of a request in the stateless era; `headers` in `more` override some."""
    headers = {"MCP-Protocol-Version": VERSION, "Mcp-Method": method, **more.pop("headers", {})}
    named = more.get("name") or more.get("uri")
    headers |= {"Mcp-Name": named} if named and "Mcp-Name" not in headers else {}
    return await send_handshake_request(
        daemon, method, more | ({"_meta": meta} if meta else {}), headers={k: v for k, v in headers.items() if v}
    )


def test_tool_definitions_follow_structs() -> None:
    assert list(TOOLS) == tool_definitions(), "run ./dev fix"


def test_tool_definitions_stay_below_500_tokens() -> None:
    sent = json.dumps(TOOLS, separators=(",", ":"))

    assert len(TOOLS) <= 7
    assert count_tokens(sent) < 500
    assert count_tokens(INSTRUCTIONS) < 100
    for tool in TOOLS:
        assert tool["inputSchema"]["type"] == "object"
        assert all(schema["type"] in ("string", "integer") for schema in tool["inputSchema"]["properties"].values())
    assert {tool["name"] for tool in TOOLS if tool["annotations"].get("readOnlyHint")} == {
        "context", "search", "expand", "predict", "review",
    }  # fmt: skip
    assert {prompt["name"] for prompt in PROMPTS} == {"debug", "start_feature"}


@pytest.mark.parametrize(
    ("wanted", "agreed"), [("2024-11-05", "2024-11-05"), ("2025-11-25", "2025-11-25"), ("1999-01-01", "2025-11-25")]
)
async def test_initialize_negotiates_revision(daemon: Daemon, wanted: str, agreed: str) -> None:
    status, answer = await send_handshake_request(daemon, "initialize", {"protocolVersion": wanted})

    assert status == 200
    assert answer["result"]["protocolVersion"] == agreed
    assert answer["result"]["serverInfo"]["name"] == "hunchd"


async def test_discover_replaces_handshake(daemon: Daemon) -> None:
    status, answer = await stateless(daemon, "server/discover")

    assert status == 200
    assert answer["result"]["supportedVersions"] == [VERSION]
    assert answer["result"]["resultType"] == "complete"
    assert answer["result"]["ttlMs"] > 0
    assert answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "hunchd"


async def test_tool_call_queries_engine(daemon: Daemon) -> None:
    await daemon.post("/projects", {"path": "/p"})

    called = {"name": "context", "arguments": {"file": "a.py", "budget": 300, "project": "/p"}}
    _, answer = await send_handshake_request(daemon, "tools/call", called)
    assert answer["result"]["content"][0]["text"].startswith("# a.py")
    assert (daemon.engine.asked[-1].file, daemon.engine.asked[-1].budget) == (
        "a.py",
        300,
    )

    _, answer = await stateless(daemon, "tools/call", name="remember", arguments={"text": "x is y"})
    assert answer["result"]["content"][0]["text"].startswith("Stored as ")
    [kept] = daemon.engine.known.values()
    assert (kept.content, kept.trust, kept.project) == ("x is y", "derived", "/p")


async def test_remember_reports_similar_and_contradicting(daemon: Daemon) -> None:
    await daemon.post("/projects", {"path": "/p"})
    await stateless(daemon, "tools/call", name="remember", arguments={"text": "x is y"})
    [known] = daemon.engine.known

    _, answer = await stateless(daemon, "tools/call", name="remember", arguments={"text": "x is z"})
    assert f"- «x is y» (id {known})" in answer["result"]["content"][0]["text"].splitlines()

    again = {"text": "x is z", "contradicts": known}
    _, answer = await stateless(daemon, "tools/call", name="remember", arguments=again)
    assert "It contradicts «x is y»" in answer["result"]["content"][0]["text"]


async def test_engine_error_becomes_tool_result(daemon: Daemon) -> None:
    daemon.engine.trouble = Unavailable("the store is starting", hint="try again in a moment")

    status, answer = await send_handshake_request(
        daemon, "tools/call", {"name": "search", "arguments": {"query": "x", "project": "/p"}}
    )

    assert status == 200
    assert answer["result"]["isError"]
    assert answer["result"]["content"][0]["text"] == "The store is starting. Try again in a moment."


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"meta": None}, -32602),
        ({"meta": {"io.modelcontextprotocol/protocolVersion": VERSION}}, -32602),
        ({"headers": {"MCP-Protocol-Version": "2027-01-01"}}, -32020),
        ({"headers": {"Mcp-Method": "tools/call"}}, -32020),
        ({"headers": {"Mcp-Method": ""}}, -32020),
        (
            {
                "headers": {"MCP-Protocol-Version": "2027-01-01"},
                "meta": META | {"io.modelcontextprotocol/protocolVersion": "2027-01-01"},
            },
            -32022,
        ),
    ],
)
async def test_stateless_header_mismatch_is_rejected(daemon: Daemon, more: Any, code: int) -> None:
    status, answer = await stateless(daemon, "tools/list", **more)

    assert status == 400
    assert answer["error"]["code"] == code
    assert answer["id"] == 7


async def test_stateless_name_header_must_match_body(daemon: Daemon) -> None:
    status, answer = await stateless(daemon, "tools/call", name="search", headers={"Mcp-Name": "remember"})
    assert (status, answer["error"]["code"]) == (400, -32020)

    encoded = {"Mcp-Name": "=?base64?ZmVlZGJhY2s=?="}  # feedback
    status, answer = await stateless(daemon, "tools/call", name="feedback", arguments={}, headers=encoded)
    assert (status, answer["result"]["isError"]) == (200, True)


@pytest.mark.parametrize("method", ["initialize", "ping", "logging/setLevel", "no/such"])
async def test_stateless_unknown_method_returns_404(daemon: Daemon, method: str) -> None:
    status, answer = await stateless(daemon, method)

    assert (status, answer["error"]["code"]) == (404, -32601)


async def test_unknown_resource_error_names_it(daemon: Daemon) -> None:
    status, answer = await stateless(daemon, "resources/read", uri="test://nothing")
    assert (status, answer["error"]["code"], answer["error"]["data"]) == (400, -32602, {"uri": "test://nothing"})

    status, answer = await send_handshake_request(daemon, "resources/read", {"uri": "test://nothing"})
    assert (status, answer["error"]["code"]) == (200, -32002)


async def test_resources_list_has_bundle_per_project(daemon: Daemon) -> None:
    for path in ("/p", "/q q"):
        await daemon.post("/projects", {"path": path})

    _, answer = await send_handshake_request(daemon, "resources/list")

    assert [each["uri"] for each in answer["result"]["resources"]] == ["hunch://bundle//p", "hunch://bundle//q%20q"]
    _, answer = await send_handshake_request(daemon, "resources/read", {"uri": "hunch://bundle//q%20q"})
    assert answer["result"]["contents"][0]["text"].startswith("# None")
    assert daemon.engine.asked[-1].project == "/q q"


async def test_notifications_return_202(daemon: Daemon) -> None:
    for message in (
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
    ):
        async with daemon.client.post(daemon.url + "/mcp", json=message) as answer:
            assert (answer.status, await answer.read()) == (202, b"")


@pytest.mark.parametrize("body", [b"[]", b"{}", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', b"{", b'{"id":1}', b"7"])
async def test_invalid_message_is_rejected(daemon: Daemon, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    async with daemon.client.post(daemon.url + "/mcp", data=body, headers=headers) as answer:
        assert answer.status == 400
        assert (await answer.json())["error"]["code"] in (-32700, -32600)


async def test_streams_and_sessions_are_unsupported(daemon: Daemon) -> None:
    for method in ("GET", "DELETE"):
        async with daemon.client.request(method, daemon.url + "/mcp") as answer:
            assert (answer.status, answer.headers["Allow"]) == (405, "POST")
    async with daemon.client.post(daemon.url + "/mcp", json={}, headers={"Accept": "text/html"}) as answer:
        assert answer.status == 406
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    async with daemon.client.post(daemon.url + "/mcp", json=message) as answer:
        assert "Mcp-Session-Id" not in answer.headers


async def test_agent_cannot_register_arbitrary_folder(daemon: Daemon) -> None:
    for project in ("/", "/no/such/folder", "else"):
        _, answer = await send_handshake_request(
            daemon, "tools/call", {"name": "search", "arguments": {"query": "x", "project": project}}
        )
        assert answer["result"]["isError"]
        assert project in answer["result"]["content"][0]["text"]

    assert daemon.engine.project_ids == {}


async def test_project_resolves_by_id_and_name(daemon: Daemon) -> None:
    project = await (await daemon.post("/projects", {"path": "/code/shop"})).json()

    for name in (project["id"], "shop", "/code/shop/src"):
        await send_handshake_request(
            daemon, "tools/call", {"name": "search", "arguments": {"query": "x", "project": name}}
        )
        assert daemon.engine.asked[-1].project == "/code/shop"


async def test_documents_are_listed_as_resources(daemon: Daemon) -> None:
    async with daemon.client.put(daemon.url + "/documents/profile/about me", json={"content": "I am Ada."}) as answer:
        assert answer.status in (200, 201)

    _, answer = await send_handshake_request(daemon, "resources/list")
    assert [each["uri"] for each in answer["result"]["resources"]] == ["hunch://documents/profile/about%20me"]
    _, answer = await send_handshake_request(daemon, "resources/read", {"uri": "hunch://documents/profile/about%20me"})
    assert answer["result"]["contents"][0]["text"] == "I am Ada."
    _, answer = await send_handshake_request(daemon, "resources/read", {"uri": "hunch://documents/profile/nothing"})
    assert answer["error"]["code"] == -32002
