"""`hunch ui`: opens hunchd's page in the browser."""

from __future__ import annotations

import os
import time
from argparse import Namespace
from contextlib import suppress
from pathlib import Path
from typing import Final

from hunchd.cli.daemon_control import connect
from hunchd.cli.output import print_json
from hunchd.config.app_paths import ensure_private_folder, resolve_app_paths

_DRAFT_SECONDS: Final = 120.0  # seconds after which an earlier call's file is deleted; its code has expired by then
# Other users can see the arguments of a process, so the browser gets the address from a private file.
_REDIRECT: Final = (
    '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>hunchd</title>'
    '<script>location.replace("{url}")</script><p><a href="{url}">Open hunchd</a>'
)


def ui(arguments: Namespace) -> int:
    client = connect(start=not arguments.no_start)
    answer = client.post("/page/codes", {"read_only": arguments.read_only})
    base = client.daemon.url
    # After "#" a browser sends nothing, and the page removes it from its history at once.
    url = f"{base}{answer['path']}#code={answer['code']}"
    if arguments.json:
        print_json({"url": url, "seconds": answer["seconds"]})
        return 0
    if arguments.prints or not _open_browser(url):
        port = base.rpartition(":")[2]
        print(f"Open this address within {answer['seconds']:.0f} seconds; it works once:\n\n  {url}\n")
        print(f"On another machine, first run there:  ssh -L {port}:127.0.0.1:{port} HOST")
        return 0
    print("The page opens in your browser. If nothing opens, run:  hunch ui --print")
    return 0


def _open_browser(url: str) -> bool:
    """Open `url` in the browser, by way of a private file that redirects to it.

    Returns False if no browser is available.
    """
    import webbrowser  # only this command needs it

    file = _write_redirect(url)
    try:
        return webbrowser.open(file.as_uri())
    except webbrowser.Error:
        return False


def _write_redirect(url: str) -> Path:
    folder = ensure_private_folder(resolve_app_paths().runtime)
    for old in folder.glob("open-*.html"):
        with suppress(OSError):
            if time.time() - old.stat().st_mtime > _DRAFT_SECONDS:
                old.unlink()
    file = folder / f"open-{os.urandom(8).hex()}.html"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(_REDIRECT.format(url=url))
    return file
