"""Client library of the daemon, for agents and tools written in Python.

    from hunchd.client import Client

    with Client().open_session("review-42", project=".") as session:
        prompt = session.compile_prompt("Which archive format did we decide on?")

`AsyncClient` has the same methods as coroutines. Both connect to the daemon's Unix socket and start the daemon if none
is running. The OpenAPI document (GET /openapi.json) describes the fields of the answers.
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
    """Compiled prompt of a session's next turn."""

    answer: JsonObject = field(repr=False)  # of POST /context/compile

    @property
    def token_count(self) -> int:
        return int(self.answer["token_count"])

    @property
    def pruned_sections(self) -> list[str]:
        """Names of the sections that were shortened or dropped to fit the budget."""
        return list(self.answer["pruned"])

    def to_anthropic(self) -> JsonObject:
        """Return the arguments `system`, `messages` and `tools` of Anthropic's Messages API, with cache marks."""
        first, *rest = self.answer["messages"]
        tools = {"tools": self.answer["tools"]} if self.answer.get("tools") else {}
        return {"system": first["content"], "messages": rest, **tools}

    def to_openai(self) -> list[JsonObject]:
        """Return the messages for OpenAI's chat completions API and servers compatible with it.

        Their caches need no marks; the blocks of a message become one text.
        """
        return [
            {"role": message["role"], "content": "\n\n".join(block["text"] for block in message["content"])}
            for message in self.answer["messages"]
        ]


class Client:
    """Synchronous client of the running daemon.

    Every method raises NoDaemon if the daemon cannot be reached and RequestRejected if it rejects the request; the
    message names the field and what is allowed.
    """

    def __init__(self, *, start: bool = True) -> None:
        """Connect to the daemon; start one if none is running, unless `start` is False."""
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
        """Return the context of a file, or of the uncommitted change (GET /context).

        `budget` is in tokens and never exceeded. `activity` is coding, debugging, new_feature or reviewing; `query` is
        what you are looking for, in words.
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
        """Return at most `limit` results for a question in words, the best first (POST /search).

        Without a project, the user's own memories are searched. `kinds` restricts the results, for example to `code`.
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
        """Store a fact in the user's words and return its id (POST /memories).

        A fact sent again with the same `ref`, which is the caller's own key, is not stored twice.
        """
        fields = {"kind": "fact", "content": text, "project": _resolve_project(project), "tags": tags, "ref": ref}
        return str(self._connection.post("/memories", {"memories": [_drop_none(fields)]})["ids"][0])

    def forget(self, memory_id: str) -> None:
        """Erase a memory (DELETE /memories/{id})."""
        self._connection.delete(f"/memories/{quote_segment(memory_id)}")

    def add_project(self, folder: str | Path) -> JsonObject:
        """Add a Git repository; it is indexed in the background (POST /projects)."""
        answer: JsonObject = self._connection.post("/projects", {"path": _resolve_project(folder)})
        return answer

    def send_signal(self, kind: str, /, *, project: str | Path = ".", **fields: Any) -> None:
        """Report what happened, for example `send_signal("file_opened", path="src/app.py")` (POST /signals)."""
        signal = {"kind": kind, "project": _resolve_project(project), **fields}
        self._connection.post("/signals", {"signals": [signal]})

    def open_session(self, id_: str, *, project: str | Path | None = None) -> Session:
        """Return the session with this id, which is created by its first message."""
        return Session(self._connection, id_, _resolve_project(project))


class Session:
    """Conversation of an agent with a person; as a context manager it is ended on leaving."""

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
        """Append what was said and return the id of the message.

        A message sent again with the same `ref`, which is the caller's own key, is not stored twice.
        """
        [id_] = self.add_messages([_drop_none({"role": role, "content": content, "ref": ref})])
        return id_

    def add_messages(self, messages: Sequence[JsonObject]) -> list[str]:
        """Append messages in the form of POST /sessions/{id}/messages and return their ids."""
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
        """Compile the prompt for a new message of the user, which is not added to the log.

        `system` and `tools` are the agent's own; `budget` is in tokens and never exceeded.
        """
        fields = {"message": message, "system": system, "tools": list(tools), "task": task, "budget": budget}
        body = _drop_none({"session": self.id, "project": self._project, **fields})
        return Prompt(self._connection.post("/context/compile", body))

    def end(self, outcome: Literal["", "success", "partial", "interrupted"] = "") -> JsonObject:
        """End the session; return what remains of it: episodes, facts and a summary."""
        answer: JsonObject = self._connection.post(f"{self._path}/end", {"outcome": outcome})
        return answer


def _run_in_thread(
    method: Callable[Concatenate[Any, Parameters], Result],
) -> Callable[Concatenate[Any, Parameters], Awaitable[Result]]:
    """Make a coroutine of a method of the wrapped object."""

    @functools.wraps(method)
    async def run(self: Any, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        return await asyncio.to_thread(method, self.wrapped, *args, **kwargs)

    return run


class AsyncSession:
    """Session whose methods are coroutines."""

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
    """Client whose methods are coroutines. `await AsyncClient.connect()` creates one."""

    def __init__(self, client: Client) -> None:
        self.wrapped = client

    @classmethod
    async def connect(cls, *, start: bool = True) -> Self:
        """Connect to the daemon; start one if none is running, unless `start` is False."""
        return cls(await asyncio.to_thread(Client, start=start))

    get_context = _run_in_thread(Client.get_context)
    search = _run_in_thread(Client.search)
    remember = _run_in_thread(Client.remember)
    forget = _run_in_thread(Client.forget)
    add_project = _run_in_thread(Client.add_project)
    send_signal = _run_in_thread(Client.send_signal)

    def open_session(self, id_: str, *, project: str | Path | None = None) -> AsyncSession:
        """Return the session with this id, which is created by its first message."""
        return AsyncSession(self.wrapped.open_session(id_, project=project))


def _resolve_project(project: str | Path | None) -> str | None:
    """Return the id of a project as it is, and a folder as an absolute path."""
    if project is None or (isinstance(project, str) and not Path(project).exists()):
        return project
    return str(Path(project).resolve())


def _drop_none(fields: JsonObject) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not None}
