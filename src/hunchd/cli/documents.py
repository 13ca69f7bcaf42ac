"""Documents on the command line.

An argument that begins with "/" is a path of the knowledge base.
"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from hunchd.cli.client import Client
from hunchd.cli.errors import Refused
from hunchd.cli.launching import connect
from hunchd.cli.output import ago, clean, line, note, print_json, size, table
from hunchd.cli.targets import items

# Template of a new document, because an empty editor is unhelpful.
_BLANK = "# {title}\n\n- \n"


def is_document(identity: str) -> bool:
    return identity.startswith("/")


def address_of(path: str) -> str:
    return f"/documents/{quote(os.fsencode(path.strip('/')))}"


def show_document(client: Client, arguments: Namespace) -> int:
    page = client.get(address_of(arguments.id))
    if arguments.json:
        print_json(page)
    else:
        print(clean(page["content"]).rstrip("\n"))
    return 0


def edit_document(client: Client, arguments: Namespace, changes: dict[str, Any], edited: Callable[[str], str]) -> int:
    """Store what the options state, or the editor's result.

    Create a document that does not exist yet.
    """
    try:
        page = client.get(address_of(arguments.id))
    except Refused as refusal:
        if refusal.status != 404:
            raise
        page = {"content": _BLANK.format(title=arguments.id.rpartition("/")[2]), "tags": [], "metadata": {}}
    content = changes.get("content") if changes else edited(page["content"])
    if not changes and content == page["content"]:
        note("nothing changed.")
        return 0
    body = {
        "content": content if content is not None else page["content"],
        "tags": changes.get("tags", page["tags"]),
        "metadata": page["metadata"],
    }
    kept = client.put(address_of(arguments.id), body)
    if arguments.json:
        print_json(kept)
    else:
        print(f"{clean(kept['path'])}: saved.")
    return 0


def documents(arguments: Namespace) -> int:
    """List the documents below a path."""
    client = connect(start=not arguments.no_start)
    answer = client.get("/documents", prefix=arguments.prefix, limit=1000)
    if arguments.json:
        print_json(answer)
        return 0
    rows = [
        (clean(page["path"]), line(page["title"], 50), size(page["size"]), ago(page["updated_at"]))
        for page in items(answer)
    ]
    if rows:
        print(table(("path", "title", "size", "changed"), rows, right=(2,)))
    else:
        note(f"no documents below {clean(arguments.prefix)}. Create one: hunch edit /profile/preferences")
    return 0
