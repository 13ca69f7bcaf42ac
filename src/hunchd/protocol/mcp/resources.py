"""MCP resources: documents, and context bundles for projects and files."""

from __future__ import annotations

import os
from urllib.parse import quote, unquote

from hunchd.domain.errors import HunchError, NotFound
from hunchd.domain.json_values import JsonObject
from hunchd.protocol.mcp.catalogue import BUNDLE_URI_PREFIX, DOCUMENT_URI_PREFIX, MARKDOWN_TYPE
from hunchd.protocol.mcp.project_resolver import ProjectResolver
from hunchd.protocol.mcp.tools import render_context

# More would only fill a client's list; the others are reachable by the template.
_MAX_LISTED_DOCUMENTS = 100  # documents


async def list_resources(focus: ProjectResolver) -> list[JsonObject]:
    """List the context bundles of projects, and the documents.

    If the server was started in a repository, only the bundle of that project is listed; otherwise the bundle of every
    known project is listed.
    """
    project_records = [] if focus.home is not None else (await focus.list_projects())
    roots = [focus.home] if focus.home is not None else [str(each["path"]) for each in project_records]
    entries: list[JsonObject] = [
        {
            "uri": BUNDLE_URI_PREFIX + quote(root),
            "name": os.path.basename(root) or root,  # noqa: PTH119 - words of a protocol, no file system
            "title": f"Context of {os.path.basename(root) or root}",  # noqa: PTH119
            "mimeType": MARKDOWN_TYPE,
        }
        for root in roots
    ]
    try:
        documents = (await focus.get(f"/documents?limit={_MAX_LISTED_DOCUMENTS}"))["items"]
    except HunchError:  # store starting or broken: list what is available without it
        documents = []
    entries += [
        {
            "uri": DOCUMENT_URI_PREFIX + quote(document["path"].lstrip("/")),
            "name": document["path"],
            "mimeType": MARKDOWN_TYPE,
        }
        for document in documents
    ]
    return entries


async def read_resource(uri: str, focus: ProjectResolver) -> str:
    """Return the text of a resource.

    Raises NotFound if no such resource exists.
    """
    if uri.startswith(BUNDLE_URI_PREFIX):
        return await _read_bundle(unquote(uri[len(BUNDLE_URI_PREFIX) :]), focus)
    if uri.startswith(DOCUMENT_URI_PREFIX) and uri != DOCUMENT_URI_PREFIX:
        document = await focus.get("/documents/" + quote(unquote(uri[len(DOCUMENT_URI_PREFIX) :])))
        return str(document["content"])
    raise NotFound(f"there is no resource {uri}", hint=f"{BUNDLE_URI_PREFIX}FILE is the context of a file")


async def _read_bundle(path: str, focus: ProjectResolver) -> str:
    root = await focus.resolve_root(None, path or None)
    is_root = path.rstrip("/") in ("", root.rstrip("/"))
    return await render_context(root, {} if is_root else {"file": path}, focus)
