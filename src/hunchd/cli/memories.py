"""`hunch remember`, `search`, `show`, `edit`, `forget`, `why` and `expand`: commands for memories."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from hunchd.cli.client import Client, quote_segment
from hunchd.cli.context import request_bundle, request_in_project
from hunchd.cli.daemon_control import connect
from hunchd.cli.documents import document_address, edit_document, is_document, show_document
from hunchd.cli.errors import CommandError, RequestRejected, WrongUsage
from hunchd.cli.output import (
    BOLD,
    DIM,
    colourize,
    format_age,
    format_line,
    format_number,
    print_json,
    print_note,
    strip_controls,
)
from hunchd.cli.targets import find_project_root, find_project_root_or_none, get_items, resolve_text_file
from hunchd.cli.team import describe_read_only
from hunchd.domain.json_values import JsonObject

_MAX_SIMILAR = 2  # similar statements shown after storing one
MAX_FORGOTTEN_AT_ONCE: Final = 500  # memories in one request
# Properties of a memory besides its text, in display order.
_DETAIL_FIELDS = (
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

_TIER_TITLES: Final = {1: "Now", 2: "Likely next", 3: "Background", 4: "Ask for more"}  # as in the text of the bundle


def remember(arguments: Namespace) -> int:
    content = _read_text(arguments.text)
    if not content.strip():
        raise WrongUsage("nothing to remember: TEXT is empty.")
    if arguments.value is not None and not arguments.key:
        raise WrongUsage("--value needs --key.")
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
        "project": None if arguments.everywhere else find_project_root_or_none(arguments.project),
        "scope": "user-private" if arguments.everywhere else None,
    }
    body = {name: value for name, value in draft.items() if value is not None}
    client = connect(start=not arguments.no_start)
    answer = _request_in_project(client, body.get("project"), lambda: client.post("/memories", body))
    if arguments.json:
        print_json(answer)
    else:
        print(answer["ids"][0])
        for understanding in answer.get("understood", ()):
            print_note(_describe_understanding(understanding))
            if secrets := understanding.get("redacted"):
                print_note(f"removed secrets ({strip_controls(', '.join(secrets))}); secrets are never stored.")
            _print_similar(client, understanding)
        if "project" in body and (warning := describe_read_only(client, str(body["project"]))) is not None:
            print_note(warning)
    return 0


def _print_similar(client: Client, understanding: Mapping[str, Any]) -> None:
    """Print existing statements that are similar to the one that was just stored.

    They may contradict it, which only the user can judge.
    """
    if understanding.get("verdict") not in ("new", "replaced") or "contradiction" in understanding:
        return
    identifier, similar = understanding["id"], []
    with suppress(RequestRejected):  # the statement has been stored in any case
        similar = client.get(f"{_memory_path(identifier)}/near", limit=_MAX_SIMILAR)["items"]
    for memory in similar:
        age = format_age(memory["at"])
        print_note(f"similar statement: {format_line(memory['content'], 120)} ({age}, {strip_controls(memory['id'])})")
    if similar:
        identifier_shown = strip_controls(similar[0]["id"]) if len(similar) == 1 else "ID"
        print_note(
            "if they contradict each other, "
            f"run `hunch contradictions open {strip_controls(identifier)} {identifier_shown}`."
        )


def _describe_understanding(understanding: dict[str, Any]) -> str:
    """Describe how a statement was interpreted, so that the user can correct it."""
    if "key" not in understanding and understanding.get("verdict") == "same":
        return "already known"
    if "key" not in understanding:
        return "stored verbatim; no key and value were recognised (--key sets one)"
    other = f" (not {understanding['instead_of']})" if understanding.get("instead_of") else ""
    because = f", because {understanding['reason']}" if understanding.get("reason") else ""
    category = f"{understanding['category']}, " if understanding.get("category") else ""
    key, value = understanding["key"], understanding.get("value", "")
    statement = f"{value} {key}" if value in ("always", "never") else f"{key}: {value}"
    sentence = strip_controls(f"understood as {category}{statement}{other}{because}")
    match understanding.get("verdict"):
        case "same":
            sentence += "; already known"
        case "replaced":
            sentence += f"; replaces {strip_controls(understanding['replaced']['value'])}"
        case "rejected":
            sentence += f"; rejected: {strip_controls(understanding['rejected_for']['value'])} is more certain"
    if "contradiction" in understanding:
        contradiction = strip_controls(understanding["contradiction"])
        sentence += f"; contradicts another source (run `hunch contradictions resolve {contradiction}`)"
    identifier = strip_controls(understanding["id"])
    return (
        f"{sentence}. If that is wrong, run `hunch edit {identifier} --key … --value …` or `hunch undo {identifier}`."
    )


def search(arguments: Namespace) -> int:
    question = {
        "query": _read_text(" ".join(arguments.query)),
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
    if arguments.all:
        answer = _search_all_projects(client, body)
    else:
        root = find_project_root_or_none(arguments.project)
        in_project = {"project": root, **body} if root is not None else body
        answer = _request_in_project(client, root, lambda: client.post("/search", in_project))
    if arguments.json:
        print_json(answer)
        return 0
    for result in answer["results"]:
        lines = _found_code(result) if result["kind"] == "code" else _format_results(result)
        if "project" in result:
            lines[0] = f"{colourize(strip_controls(result['project']), DIM)}  {lines[0]}"
        print("\n".join(lines))
    for problem in answer.get("degraded", ()):
        print_note(f"the results are incomplete: {strip_controls(problem)}")
    if not answer["results"]:
        print_note("nothing found.")
    return 0


def _search_all_projects(client: Client, body: Mapping[str, Any]) -> dict[str, Any]:
    """Search every watched project, one after another.

    Returns the best results of all projects, best first, each with the name of its project.
    """
    results: dict[str, dict[str, Any]] = {}
    degradations: list[str] = []
    for project in get_items(client.get("/projects")):
        answer = client.post("/search", {"project": project["path"], **body})
        for result in answer["results"]:  # the user's own memories are found in every project
            identity = result["id"] if result["kind"] != "code" else f"{project['path']} {result['id']}"
            results.setdefault(identity, {**result, "project": project["name"]})
        degradations += answer.get("degraded", ())
    ranked = sorted(results.values(), key=lambda result: -float(result["score"]))
    status = "degraded" if degradations else "ok" if ranked else "empty"
    return {"results": ranked[: body.get("k", 10)], "status": status, "degraded": list(dict.fromkeys(degradations))}


def _format_results(result: Mapping[str, Any]) -> list[str]:
    """Format one memory that a search has found, as lines of output."""
    path = result["source"].get("path") if result["kind"] == "fact" else None
    person = result["source"].get("by")
    details = [
        result["kind"],
        str(path or ""),
        f"said by {person}" if person else "",
        str(result.get("at") or "")[:10],
        result["id"],
    ]
    described = strip_controls(" · ".join(filter(None, details)))
    lines = [f"{colourize(format_line(result['title'], 90), BOLD)}  {described}"]
    if result.get("snippet") and result["snippet"] != result["title"]:  # often, the title of a fact is its whole text
        lines.append(f"    {format_line(result['snippet'], 200)}")
    return [*lines, *_reasons(result)]


def _found_code(result: Mapping[str, Any]) -> list[str]:
    """Format a piece of code found by a search, as lines of output.

    The location comes first, in a form that an editor or terminal can open, then the signature and the code.
    """
    source = result["source"]
    place = f"{strip_controls(source['path'])}:{source['start_line']}-{source['end_line']}"
    title = "" if result["title"] == source["path"] else f"  {format_line(result['title'], 110)}"
    lines = [f"{colourize(place, BOLD)}{title}"]
    lines += [f"    {strip_controls(snippet_line)}" for snippet_line in result["snippet"].splitlines()]
    return [*lines, *_reasons(result)]


def _reasons(result: Mapping[str, Any]) -> list[str]:
    return [colourize(f"    {format_line(' · '.join(result['reasons']))}", DIM)] if result.get("reasons") else []


def show(arguments: Namespace) -> int:
    client = connect(start=not arguments.no_start)
    if is_document(arguments.id):
        return show_document(client, arguments)
    memory = client.get(_memory_path(arguments.id))
    if arguments.json:
        print_json(memory)
    else:
        print(_format_memory(memory))
    return 0


def edit(arguments: Namespace) -> int:
    field_names = ("content", "title", "category", "key", "value", "branch", "importance")
    changes = {name: getattr(arguments, name) for name in field_names if getattr(arguments, name) is not None}
    if arguments.tag is not None:
        changes["tags"] = arguments.tag
    if "content" in changes:
        changes["content"] = _read_text(changes["content"])
    client = connect(start=not arguments.no_start)
    if is_document(arguments.id):
        return edit_document(client, arguments, changes, edit_in_editor)
    if not changes:
        before = client.get(_memory_path(arguments.id))["content"]
        edited_text = edit_in_editor(before)
        if edited_text == before:
            print_note("nothing changed.")
            return 0
        changes = {"content": edited_text}
    memory = client.patch(_memory_path(arguments.id), changes)
    if arguments.json:
        print_json(memory)
    else:
        new_id = (
            f"; its new id is {strip_controls(memory['id'])}" if memory.get("id") not in (None, arguments.id) else ""
        )
        print(f"{strip_controls(arguments.id)}: changed{new_id}.")
    return 0


def forget(arguments: Namespace) -> int:
    client = connect(start=not arguments.no_start)
    answers = [
        {"forgotten": path, **client.delete(document_address(path))} for path in arguments.ids if is_document(path)
    ]
    ids = [one for one in arguments.ids if not is_document(one)]
    if len(ids) == 1:
        answers.append({"forgotten": ids[0], **client.delete(_memory_path(ids[0]))})
    for start in range(0, len(ids) if len(ids) > 1 else 0, MAX_FORGOTTEN_AT_ONCE):
        answers += get_items(client.post("/memories/forget", {"ids": ids[start : start + MAX_FORGOTTEN_AT_ONCE]}))
    forgotten_ids = [str(answer["forgotten"]) for answer in answers]
    if arguments.json:
        print_json({"forgotten": forgotten_ids})
    else:
        for answer in answers:
            print(f"{strip_controls(answer['forgotten'])}: {_describe_forgotten(answer)}")
    missing = [one for one in ids if one not in forgotten_ids]
    for one in missing:
        print_note(f"there is no memory {strip_controls(one)}.")
    return 1 if missing else 0


def _describe_forgotten(answer: JsonObject) -> str:
    if answer.get("still_said_by") is None:
        return "forgotten."
    name = strip_controls(answer["still_said_by"])
    own = " What you said yourself is erased for all members." if answer.get("own_erased") else ""
    limits = f"hidden on this machine only, until {name} changes it"
    return f"{limits}. {name} said this and can forget it for all members.{own}"


def why(arguments: Namespace) -> int:
    if Path(arguments.subject).exists():
        return _explain_file(arguments)
    client = connect(start=not arguments.no_start)
    try:
        identity = arguments.subject
        if is_document(identity):
            identity = str(client.get(document_address(identity))["id"])
        address = _memory_path(identity)
        memory = client.get(address)
    except RequestRejected as refusal:
        if refusal.status != 404:
            raise
        raise WrongUsage(f"{arguments.subject!r} is not a file, a document or the id of a memory.") from refusal
    history = get_items(client.get(f"{address}/history"))
    usage_report = client.get(f"{address}/usage")
    if arguments.json:
        print_json({"memory": memory, "history": history, **usage_report})
        return 0
    print(_format_memory(memory))
    for name, label in (("superseded_by", "superseded by"), ("supersedes", "supersedes")):
        if "." not in (memory.get(name) or "."):  # the memory's own versions are listed below
            print(f"{label} {strip_controls(memory[name])}")
    for name, value in (memory.get("source") or {}).items():
        if isinstance(value, dict | list):  # data that undo needs
            continue
        if name != "goes_after":
            print(f"source {strip_controls(name)}: {format_line(value)}")
        elif memory.get("status") == "archived":
            undo_hint = f"unless you run `hunch undo {strip_controls(memory['id'])}` before"
            print(f"erased for good after {format_line(str(value)[:10])}, {undo_hint}")
    usage = memory.get("usage") or {}
    counts = [f"{name} {_count_times(count)}" for name, count in usage.items() if name != "last"]
    print(", ".join([*counts, *([f"last {format_age(usage['last'])}"] if usage.get("last") else [])]))
    for event in usage_report["events"]:
        print(f"{format_age(event['at'])}: {format_line(event['what'])}")
    for change in usage_report["changes"]:
        why = format_line(change["why"], 60)
        undone_note = ", undone" if change.get("undone") else ""
        step, run = strip_controls(change["step"]), strip_controls(change["run"])
        print(f"{step} in run {run}{undone_note}: {format_line(change['what'], 70)} ({why})")
    for version in history:
        age = format_age(version.get("valid_from") or version.get("at"))
        print(f"{age}: {format_line(version.get('value') or version['content'])}")
    return 0


def _count_times(count: int) -> str:
    return "once" if count == 1 else f"{format_number(count)} times"


def _explain_file(arguments: Namespace) -> int:
    path = resolve_text_file(arguments.subject)
    client = connect(start=not arguments.no_start)
    root = find_project_root(path, client)
    bundle = request_bundle(client, root, {"project": root, "file": path}, wait=8.0)
    if arguments.json:
        print_json(bundle["items"])
        return 0
    if not bundle["items"]:
        print_note(f"the context for {arguments.subject} is empty.")
    tier = 0
    for item in bundle["items"]:
        if item["tier"] != tier:
            tier = item["tier"]
            print(f"{_TIER_TITLES[tier]}:")
        print(_format_item(item))
    return 0


def _format_item(item: Mapping[str, Any]) -> str:
    """Format an item of a context bundle, with the reasons for it on the next line."""
    is_path = item["id"].startswith(("file:", "files:"))  # one file, or a list of them
    title = format_line(item.get("title") or item["source"].get("path") or item["id"], 80).rstrip(":")
    details = [
        item["kind"],
        f"{format_number(item['tokens'])} tokens",
        # Only of one file it is a probability, that the file is needed next; the ranking of the rest is no share.
        *([f"{item['score']:.0%} likely"] if item["id"].startswith("file:") else []),
        *(["others' words"] if item["trust"] == "untrusted" else []),
        *([] if is_path else [item["id"]]),
    ]
    lines = [f"  {colourize(title, BOLD)}  {strip_controls(' · '.join(details))}"]
    if item["reasons"] and item["reasons"] != [title]:
        lines.append(colourize(f"      {format_line(' · '.join(item['reasons']), 110)}", DIM))
    return "\n".join(lines)


def expand(arguments: Namespace) -> int:
    root = find_project_root_or_none(arguments.project)
    client = connect(start=not arguments.no_start)
    answer = _request_in_project(
        client, root, lambda: _request_expansion(client, arguments.subject, arguments.level, root)
    )
    if arguments.json:
        print_json(answer)
        return 0
    text = answer.get("text") or answer.get("content") or ""
    if text.strip():
        print(strip_controls(text).rstrip("\n"))
    else:
        print_note(f"no text found for {arguments.subject!r}.")
    return 0


def _request_expansion(client: Client, subject: str, level: str, root: str | None) -> Any:
    """Request the full text for `subject`, which is an id or a topic.

    It is sent as an id first; if the daemon finds no such id, it is sent as a topic.
    """
    common = {"level": level} | ({"project": root} if root else {})
    try:
        return client.post("/expand", {"id": subject, **common})
    except RequestRejected as refusal:
        if refusal.status not in (400, 404):
            raise
    return client.post("/expand", {"topic": subject, **common})


def _request_in_project(client: Client, root: str | None, request: Any) -> Any:
    return request() if root is None else request_in_project(client, root, request)


def _memory_path(identity: str) -> str:
    return f"/memories/{quote_segment(identity)}"


def _format_memory(memory: dict[str, Any]) -> str:
    details = []
    for name in _DETAIL_FIELDS:
        value = memory.get(name)
        if value not in (None, "", []):
            details.append(f"{name} {strip_controls(', '.join(value) if isinstance(value, list) else value)}")
    if person := (memory.get("source") or {}).get("by"):
        details.append(f"said by {strip_controls(person)}")
    heading = colourize(format_line(memory.get("title") or memory["id"]), BOLD)
    return "\n".join(
        (
            heading,
            colourize(" · ".join((*details, format_age(memory.get("at")))), DIM),
            "",
            strip_controls(memory["content"]),
        )
    )


def _read_text(argument: str) -> str:
    return sys.stdin.read() if argument == "-" else argument


def edit_in_editor(text: str) -> str:
    """Open `text` in the user's editor and return what the user saved.

    Raises WrongUsage if no editor is configured, and CommandError if the editor fails.
    """
    # Imported here because no other command needs these modules.
    import shlex
    import subprocess
    import tempfile

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise WrongUsage("nothing to change.", hint="Use an option (--content, --title, …) or set $EDITOR.")
    descriptor, name = tempfile.mkstemp(prefix="hunch-", suffix=".md")
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        code = subprocess.run([*shlex.split(editor), name], check=False).returncode
        if code != 0:
            raise CommandError(f"{editor} exited with code {code}; nothing was changed.")
        return draft.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise CommandError(f"the editor {editor!r} was not found.", hint="Set $VISUAL or $EDITOR.") from error
    finally:
        draft.unlink(missing_ok=True)
