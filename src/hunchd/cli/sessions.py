"""`hunch sessions`: lists, shows, ends, deletes and compiles sessions of agents."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from hunchd.cli.client import Client, part
from hunchd.cli.errors import WrongUsage
from hunchd.cli.launching import connect
from hunchd.cli.output import BOLD, DIM, ago, clean, coloured, confirm, line, note, number, print_json, table
from hunchd.cli.targets import items, known_project

PAGE = 500  # messages asked for at once


def sessions(arguments: Namespace) -> int:
    if arguments.action != "list" and not arguments.id:
        raise WrongUsage(f"{arguments.action} needs the ID of a session.", hint="hunch sessions list shows them.")
    client = connect(start=not arguments.no_start)
    does = {"list": _list, "show": _show, "end": _end, "delete": _delete, "compile": _compile}
    return does[arguments.action](client, arguments)


def _list(client: Client, arguments: Namespace) -> int:
    project = known_project(client, arguments.project)["id"] if arguments.project else None
    answer = client.get("/sessions", project=project, limit=arguments.limit)
    if arguments.json:
        print_json(answer)
        return 0
    rows = [
        (
            clean(one["id"]),
            "open" if one["state"] == "open" else clean(one["outcome"] or "ended"),
            number(one["messages"]),
            ago(one["last"] or one["began"]),
            line(one["title"], 60),
        )
        for one in items(answer)
    ]
    if not rows:
        note("no sessions yet; hunch import-transcripts imports earlier ones.")
        return 0
    print(table(("session", "state", "messages", "last", "about"), rows, right=(2,)))
    if answer["total"] > len(rows):
        note(f"{number(answer['total'] - len(rows))} more; --limit shows them")
    return 0


def _show(client: Client, arguments: Namespace) -> int:
    path = f"/sessions/{part(arguments.id)}"
    head, messages = client.get(path), _messages(client, path)
    if arguments.json:
        print_json(head | {"items": messages})
        return 0
    print(coloured(line(head["title"]), BOLD))
    print(coloured(f"{head['state']}, {number(head['messages'])} messages, began {ago(head['began'])}", DIM))
    for one in messages:
        speaker = one.get("name") or one["role"]
        text = clean(one["content"]) if arguments.full else line(one["content"], 100)
        print(f"{one['number']:>5}  {coloured(clean(speaker), BOLD)}  {text}")
    return 0


def _messages(client: Client, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = client.get(f"{path}/messages", limit=PAGE, cursor=cursor)
        found += page["items"]
        cursor = page["next"]
        if cursor is None:
            return found


def _end(client: Client, arguments: Namespace) -> int:
    answer = client.post(f"/sessions/{part(arguments.id)}/end", {})
    if arguments.json:
        print_json(answer)
        return 0
    kept = f"{number(len(answer['episodes']))} episodes, {number(len(answer['facts']))} facts"
    print(f"{clean(answer['id'])}: {clean(answer['outcome'])}; stored {kept}")
    if answer["summary"]:
        print(clean(answer["summary"]))
    return 0


def _delete(client: Client, arguments: Namespace) -> int:
    path = f"/sessions/{part(arguments.id)}"
    head = client.get(path)
    question = (
        f"Erase {number(head['messages'])} messages of “{line(head['title'], 60)}” and everything derived from them?"
    )
    confirm(question, yes=arguments.yes, otherwise="nothing was erased.")
    answer = client.delete(path)
    if arguments.json:
        print_json(answer)
    else:
        print(f"{number(answer['memories'])} memories erased.")
    return 0


def _compile(client: Client, arguments: Namespace) -> int:
    body = {"session": arguments.id, "message": arguments.message, "budget": arguments.budget}
    prompt = client.post("/context/compile", body)
    if arguments.json:
        print_json(prompt)
        return 0
    for message in prompt["messages"]:
        print(coloured(f"── {message['role']}", BOLD))
        for block in message["content"]:
            print(clean(block["text"]) + (coloured("  ⏚ cache", DIM) if "cache_control" in block else ""))
    sections = ", ".join(f"{name} {number(tokens)}" for name, tokens in prompt["sections"].items() if tokens)
    note(f"{number(prompt['token_count'])} of {number(arguments.budget)} tokens: {sections}")
    return 0
