"""Client library for the daemon, for agents and tools written in Python.

    from hunchd.client import Client

    with Client().open_session("review-42", project=".") as session:
        prompt = session.compile_prompt("Which archive format did we decide on?")

`AsyncClient` has the same methods as coroutines. Both connect to the daemon's Unix socket and start the daemon if
it is not running. The OpenAPI document (GET /openapi.json) describes the fields of the responses.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, Self, TypeVar

from hunchd.cli.client import Client as Connection
from hunchd.cli.client import quote_segment
from hunchd.cli.daemon_control import connect
from hunchd.cli.errors import CommandError, NoDaemon, RequestRejected
from hunchd.domain.json_values import JsonObject

__all__ = ["AsyncClient", "AsyncSession", "Client", "CommandError", "NoDaemon", "Prompt", "RequestRejected", "Session"]

Role = Literal["user", "assistant", "tool", "system"]
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Prompt:
    """Prompt compiled for the next turn of a session."""

    answer: JsonObject = field(repr=False)  # response of POST /context/compile

    @property
    def token_count(self) -> int:
        return int(self.answer["token_count"])

    @property
    def pruned_sections(self) -> list[str]:
        """Names of the sections that were shortened or dropped to fit the budget."""
        return list(self.answer["pruned"])

    def to_anthropic(self) -> JsonObject:
        """Return `system`, `messages` and `tools` for Anthropic's Messages API.

        The blocks that a cache should keep are marked.
        """
        first, *rest = self.answer["messages"]
        tools = {"tools": self.answer["tools"]} if self.answer.get("tools") else {}
        return {"system": first["content"], "messages": rest, **tools}

    def to_openai(self) -> list[JsonObject]:
        """Return the messages for OpenAI's chat completions API and compatible servers.

        The caches of these servers need no marks; the blocks in each message are joined into one text.
        """
        return [
            {"role": message["role"], "content": "\n\n".join(block["text"] for block in message["content"])}
            for message in self.answer["messages"]
        ]


class Client:
    """Synchronous client for the running daemon.

    Every method raises NoDaemon if the daemon cannot be reached, and RequestRejected if the daemon rejects the
    request; the message of RequestRejected names the field and states what is allowed.
    """

    def __init__(self, *, start: bool = True) -> None:
        """Connect to the daemon.

        If no daemon is running, one is started, or NoDaemon is raised if `start` is False.
        """
        self._connection: Connection = connect(start=start)

    def get_context(
        self,
        file: str | Path | None = None,
        *,
        project: str | Path = ".",
        budget: int | None = None,
        activity: str | None = None,
        query: str | None = None,
    ) -> JsonObject:
        """Return the context for a file, or for the uncommitted change (GET /context).

        The result never exceeds `budget` tokens. `activity` is coding, debugging, new_feature or reviewing; `query`
        says in words what you are looking for.
        """
        name = None if file is None else str(file)
        answer: JsonObject = self._connection.get(
            "/context", project=_resolve_project(project), file=name, budget=budget, activity=activity, query=query
        )
        return answer

    def search(
        self,
        query: str,
        *,
        project: str | Path | None = None,
        kinds: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[JsonObject]:
        """Return the best results for a question in words (POST /search).

        At most `limit` results are returned, best first. If no project is given, the user's own memories are
        searched. `kinds` restricts the kinds of results, for example to `code`.
        """
        fields = {"query": query, "project": _resolve_project(project), "kinds": kinds, "k": limit}
        return list(self._connection.post("/search", _drop_none(fields))["results"])

    def remember(
        self,
        text: str,
        *,
        project: str | Path | None = None,
        tags: Sequence[str] | None = None,
        ref: str | None = None,
    ) -> str:
        """Store a fact and return its id (POST /memories).

        `text` states the fact in the user's own words. `ref` is a key of the caller's choice: a fact with the same
        `ref` is not stored twice.
        """
        fields = {"kind": "fact", "content": text, "project": _resolve_project(project), "tags": tags, "ref": ref}
        return str(self._connection.post("/memories", {"memories": [_drop_none(fields)]})["ids"][0])

    def forget(self, memory_id: str) -> None:
        """Erase a memory (DELETE /memories/{id})."""
        path = f"/memories/{quote_segment(memory_id)}"
        self._connection.delete(path)

    def add_project(self, folder: str | Path) -> JsonObject:
        """Register a git repository, which is then indexed in the background (POST /projects)."""
        answer: JsonObject = self._connection.post("/projects", {"path": _resolve_project(folder)})
        return answer

    def send_signal(self, kind: str, /, *, project: str | Path = ".", **fields: Any) -> None:
        """Report an event to the daemon (POST /signals).

        For example: `send_signal("file_opened", path="src/app.py")`.
        """
        signal = {"kind": kind, "project": _resolve_project(project), **fields}
        self._connection.post("/signals", {"signals": [signal]})

    def open_session(self, id_: str, *, project: str | Path | None = None) -> Session:
        """Return the session with this id.

        The daemon creates the session when its first message is added.
        """
        return Session(self._connection, id_, _resolve_project(project))


class Session:
    """Conversation between an agent and a person.

    If the session is used as a context manager, it ends when the `with` block is left.
    """

    def __init__(self, connection: Connection, id_: str, project: str | None) -> None:
        self.id = id_
        self._connection = connection
        self._project = project
        self._path = f"/sessions/{quote_segment(id_)}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def add_message(self, role: Role, content: str, *, ref: str | None = None) -> str:
        """Append a message to the session; return its id.

        `ref` is a key of the caller's choice: a message with the same `ref` is not stored twice.
        """
        [id_] = self.add_messages([_drop_none({"role": role, "content": content, "ref": ref})])
        return id_

    def add_messages(self, messages: Sequence[JsonObject]) -> list[str]:
        """Append messages and return their ids.

        The messages have the fields that POST /sessions/{id}/messages takes.
        """
        body = _drop_none({"messages": list(messages), "project": self._project})
        return list(self._connection.post(f"{self._path}/messages", body)["ids"])

    def compile_prompt(
        self,
        message: str,
        *,
        system: str = "",
        tools: Sequence[JsonObject] = (),
        task: str = "",
        budget: int | None = None,
    ) -> Prompt:
        """Compile the prompt for the user's new message, which is not added to the session.

        `system` and `tools` are the agent's own. The prompt never exceeds `budget` tokens.
        """
        fields = {"message": message, "system": system, "tools": list(tools), "task": task, "budget": budget}
        body = _drop_none({"session": self.id, "project": self._project, **fields})
        return Prompt(self._connection.post("/context/compile", body))

    def end(self, outcome: Literal["", "success", "partial", "interrupted"] = "") -> JsonObject:
        """End the session.

        Returns the episodes, the facts and the summary that were extracted from the session.
        """
        answer: JsonObject = self._connection.post(f"{self._path}/end", {"outcome": outcome})
        return answer


def _run_in_thread(
    method: Callable[Concatenate[Any, Parameters], Result],
) -> Callable[Concatenate[Any, Parameters], Awaitable[Result]]:
    """Convert a method to a coroutine that runs it in a thread.

    The method is called on `self.wrapped`.
    """

    @functools.wraps(method)
    async def run(self: Any, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        return await asyncio.to_thread(method, self.wrapped, *args, **kwargs)

    return run


class AsyncSession:
    """Session whose methods are coroutines; `AsyncClient.open_session` returns one."""

    def __init__(self, session: Session) -> None:
        self.wrapped = session
        self.id = session.id

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()

    add_message = _run_in_thread(Session.add_message)
    add_messages = _run_in_thread(Session.add_messages)
    compile_prompt = _run_in_thread(Session.compile_prompt)
    end = _run_in_thread(Session.end)


class AsyncClient:
    """Client whose methods are coroutines; `await AsyncClient.connect()` creates one."""

    def __init__(self, client: Client) -> None:
        self.wrapped = client

    @classmethod
    async def connect(cls, *, start: bool = True) -> Self:
        """Connect to the daemon.

        If no daemon is running, one is started, or NoDaemon is raised if `start` is False.
        """
        return cls(await asyncio.to_thread(Client, start=start))

    get_context = _run_in_thread(Client.get_context)
    search = _run_in_thread(Client.search)
    remember = _run_in_thread(Client.remember)
    forget = _run_in_thread(Client.forget)
    add_project = _run_in_thread(Client.add_project)
    send_signal = _run_in_thread(Client.send_signal)

    def open_session(self, id_: str, *, project: str | Path | None = None) -> AsyncSession:
        """Return the session with this id.

        The daemon creates the session when its first message is added.
        """
        return AsyncSession(self.wrapped.open_session(id_, project=project))


def _resolve_project(project: str | Path | None) -> str | None:
    """Return a project's id unchanged, and a folder as an absolute path.

    Text that does not name an existing folder is taken to be an id.
    """
    if project is None or (isinstance(project, str) and not Path(project).exists()):
        return project
    return str(Path(project).resolve())


def _drop_none(fields: JsonObject) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not None}
