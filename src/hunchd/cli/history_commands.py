"""`hunch history`, `undo` and `contradictions`: earlier versions, undoing changes, and conflicting memories."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from hunchd.cli.client import Client, quote_segment
from hunchd.cli.daemon_control import connect
from hunchd.cli.documents import document_address, is_document
from hunchd.cli.errors import RequestRejected, WrongUsage
from hunchd.cli.output import BOLD, DIM, colourize, format_age, format_line, print_json, print_note, strip_controls
from hunchd.cli.targets import find_project_root_or_none, get_items

RESOLUTIONS = {"a": "a_wins", "b": "b_wins", "both": "both_valid", "merged": "merged"}


def undo(arguments: Namespace) -> int:
    """Undo the last change to a memory or document. A resolved contradiction is reopened."""
    client = connect(start=not arguments.no_start)
    identity = _resolve_id(client, arguments.id)
    memory = client.post(f"/memories/{quote_segment(identity)}/undo", {})
    if arguments.json:
        print_json(memory)
    else:
        text = memory.get("title") if is_document(arguments.id) else memory.get("content")
        result = "removed" if memory.get("status") == "archived" else format_line(text)
        print(f"{strip_controls(arguments.id)}: restored: {result}")
    return 0


def history(arguments: Namespace) -> int:
    """Print the values that a fact's key has had, or the versions of a memory."""
    client = connect(start=not arguments.no_start)
    question = {
        "key": arguments.subject,
        "project": None if arguments.everywhere else find_project_root_or_none(arguments.project),
    }
    try:
        fact = client.get("/facts", **{name: value for name, value in question.items() if value is not None})
    except RequestRejected as refusal:
        if refusal.status != 404:
            raise
        return _print_versions(client, arguments)
    if arguments.json:
        print_json(fact)
        return 0
    for change in fact["changes"]:
        before, after = change["from"] or "–", change["to"] or "–"
        day, origin = strip_controls(change["at"][:10]), _format_origin(change["source"])
        print(f"{day}  {strip_controls(before)} → {colourize(strip_controls(after), BOLD)}  {origin}")
    for claim in fact["rejected"]:
        print(colourize(f"rejected: {format_line(claim['value'])}  {_format_origin(claim['source'])}", DIM))
    return 0


def _print_versions(client: Client, arguments: Namespace) -> int:
    try:
        identity = _resolve_id(client, arguments.subject)
        versions = get_items(client.get(f"/memories/{quote_segment(identity)}/history"))
    except RequestRejected as refusal:
        if refusal.status != 404:
            raise
        hint = (
            f"For the history of a file, run `hunch search why was {arguments.subject} changed`."
            if "." in arguments.subject
            else None
        )
        raise WrongUsage(f"{arguments.subject!r} is not a key, a memory or a document.", hint=hint) from refusal
    if arguments.json:
        print_json(versions)
        return 0
    for version in versions:
        age = format_age(version.get("valid_from") or version["at"])
        print(f"{age}: {format_line(version.get('value') or version['content'])}")
    return 0


def contradictions(arguments: Namespace) -> int:
    """List the contradictions, report a new one, or resolve one."""
    client = connect(start=not arguments.no_start)
    match arguments.action:
        case "resolve":
            return _resolve_contradiction(client, arguments)
        case "open":
            return _report_contradiction(client, arguments)
    status = "all" if arguments.all else "open"
    answer = client.get("/contradictions", status=status)
    if arguments.json:
        print_json(answer)
        return 0
    projects = {project["id"]: project["name"] for project in get_items(client.get("/projects"))}
    for contradiction in get_items(answer):
        owner = projects.get(contradiction["a"].get("project"))
        project_note = f" · {strip_controls(owner)}" if owner and len(projects) > 1 else ""
        resolution = f" · {contradiction['resolution']}" if contradiction.get("resolution") else ""
        reason = format_line(contradiction["reason"])
        print(colourize(f"{strip_controls(contradiction['id'])}  {reason}{project_note}{resolution}", BOLD))
        for name in ("a", "b"):
            side = contradiction[name]
            origin = _format_origin(side.get("source", {}))
            print(f"    {name}: {format_line(side.get('title'))}  {origin}, {format_age(side.get('at'))}")
    if not answer["items"]:
        print_note("no open contradictions." if status == "open" else "no contradictions.")
    return 0


def _resolve_contradiction(client: Client, arguments: Namespace) -> int:
    if not arguments.id or not arguments.other:
        raise WrongUsage("say which side is right: run `hunch contradictions resolve ID a|b|both|merged`.")
    resolution = RESOLUTIONS.get(arguments.other, arguments.other)
    if resolution not in RESOLUTIONS.values():
        raise WrongUsage(f"the resolution must be a, b, both or merged; got {arguments.other!r}.")
    body = {"resolution": resolution, "note": arguments.note, "value": arguments.value}
    address = f"/contradictions/{quote_segment(arguments.id)}/resolve"
    answer = client.post(address, {name: value for name, value in body.items() if value})
    if arguments.json:
        print_json(answer)
    else:
        print(
            f"{strip_controls(arguments.id)}: resolved; run `hunch undo {strip_controls(arguments.id)}` to reopen it."
        )
    return 0


def _report_contradiction(client: Client, arguments: Namespace) -> int:
    if not arguments.id or not arguments.other:
        raise WrongUsage("name two memories: run `hunch contradictions open ID ID`.")
    contradiction = client.post(
        "/contradictions", {"a": arguments.id, "b": arguments.other, "note": arguments.note or ""}
    )
    if arguments.json:
        print_json(contradiction)
    elif contradiction["status"] == "open":
        identifier = strip_controls(contradiction["id"])
        print(f"{identifier}: open; run `hunch contradictions resolve {identifier} a|b|both|merged` to resolve it.")
    else:
        resolution = strip_controls(contradiction.get("resolution") or "no longer stated")
        print(f"{strip_controls(contradiction['id'])}: already resolved ({resolution}).")
    return 0


def _resolve_id(client: Client, subject: str) -> str:
    """Return the id of a memory, given its id or a document path."""
    return str(client.get(document_address(subject))["id"]) if is_document(subject) else subject


def _format_origin(source: dict[str, Any]) -> str:
    client_name = "an agent" if source.get("client") == "mcp" else "you"
    source_name = client_name if source.get("type") == "client" else source.get("type")
    description = source.get("path") or (f"commit {str(source['sha'])[:8]}" if source.get("sha") else source_name)
    return colourize(f"({strip_controls(description)})", DIM) if description else ""
