"""Commands for documents, the texts in the user's knowledge base.

A command-line argument that begins with "/" is the path of a document.
"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from hunchd.cli.client import Client
from hunchd.cli.daemon_control import connect
from hunchd.cli.errors import RequestRejected
from hunchd.cli.output import format_age, format_line, format_size, format_table, print_json, print_note, strip_controls
from hunchd.cli.targets import get_items

# Template for a new document, because an empty editor gives the user no hint.
_NEW_DOCUMENT = "# {title}\n\n- \n"


def is_document(identity: str) -> bool:
    return identity.startswith("/")


def document_address(path: str) -> str:
    return f"/documents/{quote(os.fsencode(path.strip('/')))}"


def show_document(client: Client, arguments: Namespace) -> int:
    page = client.get(document_address(arguments.id))
    if arguments.json:
        print_json(page)
    else:
        print(strip_controls(page["content"]).rstrip("\n"))
    return 0


def edit_document(
    client: Client, arguments: Namespace, changes: dict[str, Any], edit_text: Callable[[str], str]
) -> int:
    """Change a document as the options say, or in the user's editor.

    `edit_text` opens the editor and returns the new text. A document that does not exist is created.
    """
    try:
        page = client.get(document_address(arguments.id))
    except RequestRejected as refusal:
        if refusal.status != 404:
            raise
        page = {"content": _NEW_DOCUMENT.format(title=arguments.id.rpartition("/")[2]), "tags": [], "metadata": {}}
    content = changes.get("content") if changes else edit_text(page["content"])
    if not changes and content == page["content"]:
        print_note("nothing changed.")
        return 0
    body = {
        "content": content if content is not None else page["content"],
        "tags": changes.get("tags", page["tags"]),
        "metadata": page["metadata"],
    }
    saved_page = client.put(document_address(arguments.id), body)
    if arguments.json:
        print_json(saved_page)
    else:
        print(f"{strip_controls(saved_page['path'])}: saved.")
    return 0


def documents(arguments: Namespace) -> int:
    """List the documents whose path starts with a prefix."""
    client = connect(start=not arguments.no_start)
    answer = client.get("/documents", prefix=arguments.prefix, limit=1000)
    if arguments.json:
        print_json(answer)
        return 0
    rows = [
        (
            strip_controls(page["path"]),
            format_line(page["title"], 50),
            format_size(page["size"]),
            format_age(page["updated_at"]),
        )
        for page in get_items(answer)
    ]
    if rows:
        print(format_table(("path", "title", "size", "changed"), rows, right=(2,)))
    else:
        print_note(
            f"no documents below {strip_controls(arguments.prefix)}; "
            "run `hunch edit /profile/preferences` to create one."
        )
    return 0
