"""`hunch sessions`: lists, shows, ends and deletes agents' sessions, and compiles prompts from them."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from hunchd.cli.client import Client, quote_segment
from hunchd.cli.daemon_control import connect
from hunchd.cli.errors import WrongUsage
from hunchd.cli.output import (
    BOLD,
    DIM,
    colourize,
    format_age,
    format_line,
    format_number,
    format_table,
    print_json,
    print_note,
    require_confirmation,
    strip_controls,
)
from hunchd.cli.targets import find_registered_project, get_items

PAGE_SIZE = 500  # messages in one request


def sessions(arguments: Namespace) -> int:
    if arguments.action != "list" and not arguments.id:
        raise WrongUsage(
            f"{arguments.action} needs the ID of a session.", hint="Run `hunch sessions list` to list them."
        )
    client = connect(start=not arguments.no_start)
    actions = {
        "list": _list_sessions,
        "show": _show_session,
        "end": _end_session,
        "delete": _delete_session,
        "compile": _compile_prompt,
    }
    return actions[arguments.action](client, arguments)


def _list_sessions(client: Client, arguments: Namespace) -> int:
    project = find_registered_project(client, arguments.project)["id"] if arguments.project else None
    answer = client.get("/sessions", project=project, limit=arguments.limit)
    if arguments.json:
        print_json(answer)
        return 0
    rows = [
        (
            strip_controls(one["id"]),
            "open" if one["state"] == "open" else strip_controls(one["outcome"] or "ended"),
            format_number(one["messages"]),
            format_age(one["last"] or one["began"]),
            format_line(one["title"], 60),
        )
        for one in get_items(answer)
    ]
    if not rows:
        print_note("no sessions yet; run `hunch import-transcripts` to import earlier ones.")
        return 0
    print(format_table(("session", "state", "messages", "last", "about"), rows, right=(2,)))
    if answer["total"] > len(rows):
        print_note(f"{format_number(answer['total'] - len(rows))} more; use --limit to list them.")
    return 0


def _show_session(client: Client, arguments: Namespace) -> int:
    path = f"/sessions/{quote_segment(arguments.id)}"
    head, messages = client.get(path), _request_messages(client, path)
    if arguments.json:
        print_json(head | {"items": messages})
        return 0
    print(colourize(format_line(head["title"]), BOLD))
    print(
        colourize(
            f"{head['state']}, {format_number(head['messages'])} messages, began {format_age(head['began'])}", DIM
        )
    )
    for one in messages:
        speaker = one.get("name") or one["role"]
        text = strip_controls(one["content"]) if arguments.full else format_line(one["content"], 100)
        print(f"{one['number']:>5}  {colourize(strip_controls(speaker), BOLD)}  {text}")
    return 0


def _request_messages(client: Client, path: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = client.get(f"{path}/messages", limit=PAGE_SIZE, cursor=cursor)
        messages += page["items"]
        cursor = page["next"]
        if cursor is None:
            return messages


def _end_session(client: Client, arguments: Namespace) -> int:
    answer = client.post(f"/sessions/{quote_segment(arguments.id)}/end", {})
    if arguments.json:
        print_json(answer)
        return 0
    stored_counts = f"{format_number(len(answer['episodes']))} episodes, {format_number(len(answer['facts']))} facts"
    print(f"{strip_controls(answer['id'])}: {strip_controls(answer['outcome'])}; stored {stored_counts}")
    if answer["summary"]:
        print(strip_controls(answer["summary"]))
    return 0


def _delete_session(client: Client, arguments: Namespace) -> int:
    path = f"/sessions/{quote_segment(arguments.id)}"
    head = client.get(path)
    title = format_line(head["title"], 60)
    question = f"Erase the {format_number(head['messages'])} messages in “{title}” and everything derived from them?"
    require_confirmation(question, is_confirmed=arguments.yes, otherwise="nothing was erased.")
    answer = client.delete(path)
    if arguments.json:
        print_json(answer)
    else:
        print(f"{format_number(answer['memories'])} memories erased.")
    return 0


def _compile_prompt(client: Client, arguments: Namespace) -> int:
    body = {"session": arguments.id, "message": arguments.message, "budget": arguments.budget}
    prompt = client.post("/context/compile", body)
    if arguments.json:
        print_json(prompt)
        return 0
    for message in prompt["messages"]:
        print(colourize(f"── {message['role']}", BOLD))
        for block in message["content"]:
            print(strip_controls(block["text"]) + (colourize("  ⏚ cache", DIM) if "cache_control" in block else ""))
    sections = ", ".join(f"{name} {format_number(tokens)}" for name, tokens in prompt["sections"].items() if tokens)
    print_note(f"{format_number(prompt['token_count'])} of {format_number(arguments.budget)} tokens: {sections}")
    return 0
