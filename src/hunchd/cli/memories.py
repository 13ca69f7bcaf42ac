"""`hunch remember`, `search`, `show`, `edit`, `forget`, `why`, `expand`: commands on memories."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from hunchd.cli.answers import bundle_for, known_first
from hunchd.cli.client import Client, part
from hunchd.cli.documents import address_of, edit_document, is_document, show_document
from hunchd.cli.errors import CommandError, Refused, WrongUsage
from hunchd.cli.launching import connect
from hunchd.cli.output import BOLD, DIM, ago, clean, coloured, line, note, number, print_json, table
from hunchd.cli.targets import items, root_of, root_or_none, text_file

_NEAR = 2  # similar statements shown after storing one
# Properties of a memory besides its text, in display order.
_DETAILS = (
    "kind",
    "category",
    "key",
    "value",
    "tags",
    "branch",
    "scope",
    "trust",
    "status",
    "confidence",
    "importance",
)


def remember(arguments: Namespace) -> int:
    content = _text(arguments.text)
    if not content.strip():
        raise WrongUsage("nothing to remember: TEXT is empty.")
    if arguments.value is not None and not arguments.key:
        raise WrongUsage("--value belongs to a --key.")
    draft = {
        "kind": arguments.kind,
        "content": content,
        "title": arguments.title,
        "category": arguments.category,
        "key": arguments.key,
        "value": arguments.value if arguments.value is not None or not arguments.key else content,
        "tags": arguments.tag or None,
        "importance": arguments.importance,
        "branch": arguments.branch,
        "ref": arguments.ref,
        "project": None if arguments.everywhere else root_or_none(arguments.project),
        "scope": "user-private" if arguments.everywhere else None,
    }
    body = {name: value for name, value in draft.items() if value is not None}
    client = connect(start=not arguments.no_start)
    answer = _in_project(client, body.get("project"), lambda: client.post("/memories", body))
    if arguments.json:
        print_json(answer)
    else:
        print(answer["ids"][0])
        for understood in answer.get("understood", ()):
            note(_understood(understood))
            if secrets := understood.get("redacted"):
                note(f"removed secrets: {clean(', '.join(secrets))}. Secrets are never stored.")
            _show_near(client, understood)
    return 0


def _show_near(client: Client, understood: Mapping[str, Any]) -> None:
    """Print similar statements.

    Only the user can judge whether all of them hold.
    """
    if understood.get("verdict") not in ("new", "replaced") or "contradiction" in understood:
        return
    identifier, near = understood["id"], []
    with suppress(Refused):  # the statement is stored all the same
        near = client.get(f"{_address(identifier)}/near", limit=_NEAR)["items"]
    for known in near:
        note(f"already known: {line(known['content'], 120)} ({ago(known['at'])}, {clean(known['id'])})")
    if near:
        which = clean(near[0]["id"]) if len(near) == 1 else "ID"
        note(f"If they contradict each other: hunch contradictions open {clean(identifier)} {which}")


def _understood(told: dict[str, Any]) -> str:
    """Describe how a statement was interpreted.

    The user can then correct it.
    """
    if "key" not in told and told.get("verdict") == "same":
        return "already known"
    if "key" not in told:
        return "stored verbatim; no key and value were recognised (--key sets one)"
    other = f" (not {told['instead_of']})" if told.get("instead_of") else ""
    because = f", because {told['reason']}" if told.get("reason") else ""
    category = f"{told['category']}, " if told.get("category") else ""
    says = clean(f"understood as {category}{told['key']}: {told.get('value', '')}{other}{because}")
    match told.get("verdict"):
        case "same":
            says += "; already known"
        case "replaced":
            says += f"; replaces {clean(told['replaced']['value'])}"
        case "rejected":
            says += f"; rejected: {clean(told['rejected_for']['value'])} is more certain"
    if "contradiction" in told:
        says += f"; contradicts another source (hunch contradictions resolve {clean(told['contradiction'])})"
    return f"{says}. Wrong? hunch edit {clean(told['id'])} --key … --value …, or hunch undo {clean(told['id'])}"


def search(arguments: Namespace) -> int:
    root = root_or_none(arguments.project)
    question = {
        "project": root,
        "query": _text(" ".join(arguments.query)),
        "depth": arguments.depth,
        "kinds": arguments.kind or None,
        "tags": arguments.tag or None,
        "path_prefix": arguments.path,
        "roles": arguments.role or None,
        "languages": arguments.language or None,
        "as_of": arguments.as_of,
        "k": arguments.k,
    }
    body = {name: value for name, value in question.items() if value is not None}
    client = connect(start=not arguments.no_start)
    answer = _in_project(client, root, lambda: client.post("/search", body))
    if arguments.json:
        print_json(answer)
        return 0
    for result in answer["results"]:
        print("\n".join(_found_code(result) if result["kind"] == "code" else _found(result)))
    for missing in answer.get("degraded", ()):
        note(f"incomplete: {clean(missing)}")
    if not answer["results"]:
        note("nothing found.")
    return 0


def _found(result: Mapping[str, Any]) -> list[str]:
    """Format a memory that was found."""
    when = f" · {clean(result['at'][:10])}" if result.get("at") else ""
    lines = [f"{coloured(line(result['title'], 90), BOLD)}  {result['kind']}{when} · {clean(result['id'])}"]
    if result.get("snippet") and result["snippet"] != result["title"]:  # many a fact is its own title
        lines.append(f"    {line(result['snippet'], 200)}")
    return [*lines, *_reasons(result)]


def _found_code(result: Mapping[str, Any]) -> list[str]:
    """Format code that was found: where it is, so that an editor or terminal can open it, its signature, its lines."""
    source = result["source"]
    place = f"{clean(source['path'])}:{source['start_line']}-{source['end_line']}"
    title = "" if result["title"] == source["path"] else f"  {line(result['title'], 110)}"
    lines = [f"{coloured(place, BOLD)}{title}"]
    lines += [f"    {clean(shown)}" for shown in result["snippet"].splitlines()]
    return [*lines, *_reasons(result)]


def _reasons(result: Mapping[str, Any]) -> list[str]:
    return [coloured(f"    {line(' · '.join(result['reasons']))}", DIM)] if result.get("reasons") else []


def show(arguments: Namespace) -> int:
    client = connect(start=not arguments.no_start)
    if is_document(arguments.id):
        return show_document(client, arguments)
    memory = client.get(_address(arguments.id))
    if arguments.json:
        print_json(memory)
    else:
        print(_described(memory))
    return 0


def edit(arguments: Namespace) -> int:
    wanted = ("content", "title", "category", "key", "value", "branch", "importance")
    changes = {name: getattr(arguments, name) for name in wanted if getattr(arguments, name) is not None}
    if arguments.tag is not None:
        changes["tags"] = arguments.tag
    if "content" in changes:
        changes["content"] = _text(changes["content"])
    client = connect(start=not arguments.no_start)
    if is_document(arguments.id):
        return edit_document(client, arguments, changes, edited)
    if not changes:
        before = client.get(_address(arguments.id))["content"]
        after = edited(before)
        if after == before:
            note("nothing changed.")
            return 0
        changes = {"content": after}
    memory = client.patch(_address(arguments.id), changes)
    if arguments.json:
        print_json(memory)
    else:
        moved = f" and is {clean(memory['id'])} now" if memory.get("id") not in (None, arguments.id) else ""
        print(f"{clean(arguments.id)}: changed{moved}.")
    return 0


def forget(arguments: Namespace) -> int:
    forgotten = []
    client = connect(start=not arguments.no_start)
    for identity in arguments.ids:
        client.delete(address_of(identity) if is_document(identity) else _address(identity))
        forgotten.append(identity)
        if not arguments.json:
            print(f"{clean(identity)}: forgotten.")
    if arguments.json:
        print_json({"forgotten": forgotten})
    return 0


def why(arguments: Namespace) -> int:
    if Path(arguments.subject).exists():
        return _why_file(arguments)
    client = connect(start=not arguments.no_start)
    try:
        identity = arguments.subject
        if is_document(identity):
            identity = str(client.get(address_of(identity))["id"])
        address = _address(identity)
        memory = client.get(address)
    except Refused as refusal:
        if refusal.status != 404:
            raise
        raise WrongUsage(
            f"{arguments.subject!r} is neither a file, nor a document, nor the id of a memory."
        ) from refusal
    history = items(client.get(f"{address}/history"))
    used = client.get(f"{address}/usage")
    if arguments.json:
        print_json({"memory": memory, "history": history, **used})
        return 0
    print(_described(memory))
    for name, said in (("superseded_by", "superseded by"), ("supersedes", "supersedes")):
        if "." not in (memory.get(name) or "."):  # its own versions are listed below
            print(f"{said} {clean(memory[name])}")
    for name, value in (memory.get("source") or {}).items():
        if isinstance(value, dict | list):  # data for undo
            continue
        if name != "goes_after":
            print(f"source {clean(name)}: {line(value)}")
        elif memory.get("status") == "archived":
            back = f"unless hunch undo {clean(memory['id'])} restores it"
            print(f"erased for good after {line(str(value)[:10])}, {back}")
    usage = memory.get("usage") or {}
    counts = [f"{name} {_times(count)}" for name, count in usage.items() if name != "last"]
    print(", ".join([*counts, *([f"last {ago(usage['last'])}"] if usage.get("last") else [])]))
    for event in used["events"]:
        print(f"{ago(event['at'])}: {line(event['what'])}")
    for change in used["changes"]:
        why = line(change["why"], 60)
        undone = ", undone" if change.get("undone") else ""
        print(f"{clean(change['step'])} in run {clean(change['run'])}{undone}: {line(change['what'], 70)} ({why})")
    for version in history:
        print(
            f"{ago(version.get('valid_from') or version.get('at'))}: {line(version.get('value') or version['content'])}"
        )
    return 0


def _times(count: int) -> str:
    return "once" if count == 1 else f"{number(count)} times"


def _why_file(arguments: Namespace) -> int:
    path = text_file(arguments.subject)
    client = connect(start=not arguments.no_start)
    root = root_of(path, client)
    bundle = bundle_for(client, root, {"project": root, "file": path}, wait=8.0)
    if arguments.json:
        print_json(bundle["items"])
        return 0
    rows = [
        (
            str(item["tier"]),
            clean(item["kind"]),
            line(item.get("title") or item["source"].get("path") or item["id"], 50),
            number(item["tokens"]),
            f"{item['score']:.2f}",
            item["trust"],
            clean(item["id"]) if item["id"] != f"file:{item['source'].get('path')}" else "",
            line(" · ".join(item["reasons"]), 90),
        )
        for item in bundle["items"]
    ]
    if rows:
        print(table(("tier", "kind", "what", "tokens", "score", "trust", "id", "why"), rows, right=(3, 4)))
    else:
        note(f"nothing would be shown for {arguments.subject}.")
    return 0


def expand(arguments: Namespace) -> int:
    root = root_or_none(arguments.project)
    client = connect(start=not arguments.no_start)
    answer = _in_project(client, root, lambda: _expanded(client, arguments.subject, arguments.level, root))
    if arguments.json:
        print_json(answer)
        return 0
    text = answer.get("text") or answer.get("content") or ""
    if text.strip():
        print(clean(text).rstrip("\n"))
    else:
        note(f"no text found for {arguments.subject!r}.")
    return 0


def _expanded(client: Client, subject: str, level: str, root: str | None) -> Any:
    """Return the text behind an id, or behind a topic."""
    common = {"level": level} | ({"project": root} if root else {})
    try:
        return client.post("/expand", {"id": subject, **common})
    except Refused as refusal:
        if refusal.status not in (400, 404):
            raise
    return client.post("/expand", {"topic": subject, **common})


def _in_project(client: Client, root: str | None, ask: Any) -> Any:
    return ask() if root is None else known_first(client, root, ask)


def _address(identity: str) -> str:
    return f"/memories/{part(identity)}"


def _described(memory: dict[str, Any]) -> str:
    details = []
    for name in _DETAILS:
        value = memory.get(name)
        if value not in (None, "", []):
            details.append(f"{name} {clean(', '.join(value) if isinstance(value, list) else value)}")
    heading = coloured(line(memory.get("title") or memory["id"]), BOLD)
    return "\n".join(
        (heading, coloured(" · ".join((*details, ago(memory.get("at")))), DIM), "", clean(memory["content"]))
    )


def _text(argument: str) -> str:
    return sys.stdin.read() if argument == "-" else argument


def edited(text: str) -> str:
    """Let the user edit a text. Raises CommandError if the editor fails."""
    # Imported here because no other command needs these.
    import shlex
    import subprocess
    import tempfile

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise WrongUsage("nothing to change.", hint="Use an option  (--content, --title, …) or set $EDITOR.")
    descriptor, name = tempfile.mkstemp(prefix="hunch-", suffix=".md")
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        code = subprocess.run([*shlex.split(editor), name], check=False).returncode
        if code != 0:
            raise CommandError(f"{editor} ended with code {code}; nothing was changed.")
        return draft.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise CommandError(f"the editor {editor!r} was not found.", hint="Set $VISUAL or $EDITOR.") from error
    finally:
        draft.unlink(missing_ok=True)
