"""MCP resources: bundles of projects and files, and documents."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import quote, unquote

from hunchd.protocol.mcp.asking import Ask, Conversation, Trouble
from hunchd.protocol.mcp.catalogue import BUNDLES, DOCUMENTS, MARKDOWN
from hunchd.protocol.mcp.focus import Focus
from hunchd.protocol.mcp.tools import context_text

# More would only fill a client's list; the others are reachable by the template.
_LISTED = 100  # documents


def listing(focus: Focus) -> Conversation[list[dict[str, Any]]]:
    """List bundles of projects, and the documents.

    The project is the server's home; without a home, every known project is listed.
    """
    known = [] if focus.home is not None else (yield from focus.projects())
    roots = [focus.home] if focus.home is not None else [str(each["path"]) for each in known]
    found: list[dict[str, Any]] = [
        {
            "uri": BUNDLES + quote(root),
            "name": os.path.basename(root) or root,  # noqa: PTH119 - words of a protocol, no file system
            "title": f"Context of {os.path.basename(root) or root}",  # noqa: PTH119
            "mimeType": MARKDOWN,
        }
        for root in roots
    ]
    try:
        documents = (yield Ask(f"/documents?limit={_LISTED}"))["items"]
    except Trouble:  # store starting or broken: list what is available without it
        documents = []
    found += [
        {"uri": DOCUMENTS + quote(document["path"].lstrip("/")), "name": document["path"], "mimeType": MARKDOWN}
        for document in documents
    ]
    return found


def read(uri: str, focus: Focus) -> Conversation[str]:
    """Return the text of a resource.

    Raises Trouble 404 if it does not exist.
    """
    if uri.startswith(BUNDLES):
        return (yield from _bundle(unquote(uri[len(BUNDLES) :]), focus))
    if uri.startswith(DOCUMENTS) and uri != DOCUMENTS:
        document = yield Ask("/documents/" + quote(unquote(uri[len(DOCUMENTS) :])))
        return str(document["content"])
    raise Trouble(f"there is no resource {uri}", hint=f"{BUNDLES}FILE is the context of a file", status=404)


def _bundle(path: str, focus: Focus) -> Conversation[str]:
    root = yield from focus.root(None, path or None)
    if path.rstrip("/") in ("", root.rstrip("/")):
        return (yield from context_text(root, {}))
    return (yield from context_text(root, {"file": path}))
