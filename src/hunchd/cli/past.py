"""`hunch history`, `undo`, `contradictions`: earlier versions, undo, and conflicting memories."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from hunchd.cli.client import Client, part
from hunchd.cli.documents import address_of, is_document
from hunchd.cli.errors import Refused, WrongUsage
from hunchd.cli.launching import connect
from hunchd.cli.output import BOLD, DIM, ago, clean, coloured, line, note, print_json
from hunchd.cli.targets import items, root_or_none

RESOLUTIONS = {"a": "a_wins", "b": "b_wins", "both": "both_valid", "merged": "merged"}


def undo(arguments: Namespace) -> int:
    """Undo the last change of a memory or a document.

    Reopens a contradiction if that was resolved.
    """
    client = connect(start=not arguments.no_start)
    identity = _identity(client, arguments.id)
    memory = client.post(f"/memories/{part(identity)}/undo", {})
    if arguments.json:
        print_json(memory)
    else:
        said = memory.get("title") if is_document(arguments.id) else memory.get("content")
        gone = "removed" if memory.get("status") == "archived" else line(said)
        print(f"{clean(arguments.id)}: restored: {gone}")
    return 0


def history(arguments: Namespace) -> int:
    """Print the changes of a key, or versions of a memory."""
    client = connect(start=not arguments.no_start)
    question = {"key": arguments.subject, "project": None if arguments.everywhere else root_or_none(arguments.project)}
    try:
        told = client.get("/facts", **{name: value for name, value in question.items() if value is not None})
    except Refused as refusal:
        if refusal.status != 404:
            raise
        return _versions(client, arguments)
    if arguments.json:
        print_json(told)
        return 0
    for change in told["changes"]:
        before, after = change["from"] or "–", change["to"] or "–"
        print(
            f"{clean(change['at'][:10])}  {clean(before)} → {coloured(clean(after), BOLD)}  {_origin(change['source'])}"
        )
    for claim in told["rejected"]:
        print(coloured(f"rejected: {line(claim['value'])}  {_origin(claim['source'])}", DIM))
    return 0


def _versions(client: Client, arguments: Namespace) -> int:
    try:
        identity = _identity(client, arguments.subject)
        versions = items(client.get(f"/memories/{part(identity)}/history"))
    except Refused as refusal:
        if refusal.status != 404:
            raise
        raise WrongUsage(f"{arguments.subject!r} is neither a key, a memory nor a document.") from refusal
    if arguments.json:
        print_json(versions)
        return 0
    for version in versions:
        print(f"{ago(version.get('valid_from') or version['at'])}: {line(version.get('value') or version['content'])}")
    return 0


def contradictions(arguments: Namespace) -> int:
    """List contradictions, report one, or resolve one."""
    client = connect(start=not arguments.no_start)
    match arguments.action:
        case "resolve":
            return _resolve(client, arguments)
        case "open":
            return _open(client, arguments)
    status = "all" if arguments.all else "open"
    answer = client.get("/contradictions", status=status)
    if arguments.json:
        print_json(answer)
        return 0
    projects = {project["id"]: project["name"] for project in items(client.get("/projects"))}
    for found in items(answer):
        owner = projects.get(found["a"].get("project"))
        where = f" · {clean(owner)}" if owner and len(projects) > 1 else ""
        settled = f" · {found['resolution']}" if found.get("resolution") else ""
        print(coloured(f"{clean(found['id'])}  {line(found['reason'])}{where}{settled}", BOLD))
        for name in ("a", "b"):
            side = found[name]
            print(f"    {name}: {line(side.get('title'))}  {_origin(side.get('source', {}))}, {ago(side.get('at'))}")
    if not answer["items"]:
        note("no open contradictions." if status == "open" else "no contradictions.")
    return 0


def _resolve(client: Client, arguments: Namespace) -> int:
    if not arguments.id or not arguments.other:
        raise WrongUsage("which is right? hunch contradictions resolve ID a|b|both|merged")
    resolution = RESOLUTIONS.get(arguments.other, arguments.other)
    if resolution not in RESOLUTIONS.values():
        raise WrongUsage(f"the resolution must be a, b, both or merged; got {arguments.other!r}.")
    body = {"resolution": resolution, "note": arguments.note, "value": arguments.value}
    address = f"/contradictions/{part(arguments.id)}/resolve"
    settled = client.post(address, {name: value for name, value in body.items() if value})
    if arguments.json:
        print_json(settled)
    else:
        print(f"{clean(arguments.id)}: resolved. hunch undo {clean(arguments.id)} reopens it.")
    return 0


def _open(client: Client, arguments: Namespace) -> int:
    if not arguments.id or not arguments.other:
        raise WrongUsage("which two? hunch contradictions open ID ID")
    told = client.post("/contradictions", {"a": arguments.id, "b": arguments.other, "note": arguments.note or ""})
    if arguments.json:
        print_json(told)
    elif told["status"] == "open":
        print(
            f"{clean(told['id'])}: open. hunch contradictions resolve {clean(told['id'])} a|b|both|merged resolves it."
        )
    else:
        print(f"{clean(told['id'])}: already resolved ({clean(told['resolution'])}).")
    return 0


def _identity(client: Client, subject: str) -> str:
    """Return the id of a memory, or of the document at a path."""
    return str(client.get(address_of(subject))["id"]) if is_document(subject) else subject


def _origin(source: dict[str, Any]) -> str:
    asked = "an agent" if source.get("client") == "mcp" else "you"
    said = asked if source.get("type") == "client" else source.get("type")
    told = source.get("path") or (f"commit {str(source['sha'])[:8]}" if source.get("sha") else said)
    return coloured(f"({clean(told)})", DIM) if told else ""
