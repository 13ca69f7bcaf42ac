"""The client library, and the example agent with it, on the real daemon."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hunchd.client import AsyncClient, Client, NoDaemon, RequestRejected
from tests.daemon.running import RunningDaemon
from tests.repositories import make_shop

EXAMPLE = Path(__file__).parents[2] / "examples" / "agent.py"
pytestmark = pytest.mark.daemon("shared")


@pytest.fixture
def client(daemon: RunningDaemon, monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setenv("HUNCHD_HOME", str(daemon.home))
    return Client(start=False)


class ModelServer(ThreadingHTTPServer):
    """Loopback server that answers with the user's message and keeps the prompts it received."""

    prompts: list[Any]


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer

    def do_POST(self) -> None:
        prompt = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
        self.server.prompts.append(prompt)
        answer = json.dumps({"choices": [{"message": {"content": f"Noted ({len(prompt)} messages)."}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def model() -> Iterator[ModelServer]:
    server = ModelServer(("127.0.0.1", 0), _Handler)
    server.prompts = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_session_compiles_what_was_said(client: Client) -> None:
    with client.open_session("lib-1") as session:
        session.add_message("user", "From now on answer in Latin, please.")
        prompt = session.compile_prompt("Which language?", system="Be brief.", budget=4_000)

    arguments = prompt.to_anthropic()
    texts = [message["content"] for message in prompt.to_openai()]
    assert "Be brief." in arguments["system"][0]["text"]
    assert "answer in Latin" in "".join(texts)
    assert "Which language?" in texts[-1]
    assert 0 < prompt.token_count <= 4_000


def test_facts_and_context_of_project(client: Client, daemon: RunningDaemon, tmp_path: Path) -> None:
    shop = make_shop(tmp_path / "shop")
    project = client.add_project(shop)["id"]
    daemon.wait_until(lambda: client.search("cart", project=project, kinds=["code"]), within=60, what="index")

    id_ = client.remember("Invoices in src/shop/cart.py are rounded half up.", project=shop)
    shown = client.get_context("src/shop/cart.py", project=shop)
    found = client.search("how are invoices rounded", project=project, kinds=["fact"])
    client.forget(id_)

    assert found[0]["id"] == id_
    assert "rounded half up" in json.dumps(shown["items"])
    assert id_ not in [each["id"] for each in client.search("invoices rounded", project=project, kinds=["fact"])]


async def test_async_client_mirrors_sync(client: Client) -> None:
    asynchronous = await AsyncClient.connect(start=False)

    async with asynchronous.open_session("lib-2") as session:
        await session.add_message("user", "Call me Ada.")
        prompt = await session.compile_prompt("Who am I?")

    assert "Call me Ada." in json.dumps(prompt.to_openai())
    public = {name for name in vars(Client) if not name.startswith("_")}
    assert public <= set(vars(AsyncClient))


def test_rejection_names_field(client: Client) -> None:
    with pytest.raises(RequestRejected, match="budget"):
        client.open_session("lib-3").compile_prompt("hello", budget=1)


def test_no_daemon_is_an_error(hunchd_home: Path) -> None:
    with pytest.raises(NoDaemon):
        Client(start=False)


def test_example_agent_remembers_across_sessions(client: Client, daemon: RunningDaemon, model: ModelServer) -> None:
    def converse(text: str) -> str:
        command = [sys.executable, str(EXAMPLE), "--url", f"http://127.0.0.1:{model.server_port}/v1", "--model", "m"]
        return subprocess.run(command, input=text, text=True, capture_output=True, check=True).stdout

    first = converse("My name is Ottilie and I always want type hints.\n")
    second = converse("What do you know about me?\n")

    assert [each.startswith("Noted") for each in (first, second)] == [True, True]
    assert "Ottilie" in json.dumps(model.prompts[-1])
