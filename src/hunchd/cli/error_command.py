"""`hunch error`: explains a pasted error.

It prints where the error occurred, how it was fixed earlier, and which files to look at.
"""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from pathlib import Path
from typing import Any, Final

from hunchd.cli.client import Client
from hunchd.cli.context import request_in_project
from hunchd.cli.daemon_control import connect
from hunchd.cli.errors import CommandError, WrongUsage
from hunchd.cli.output import BOLD, DIM, colourize, format_line, print_json, print_note, strip_controls
from hunchd.cli.running.spool_message import to_screen_text
from hunchd.cli.targets import find_project_root, resolve_folder
from hunchd.text.encodings import decode_text

_MAX_CHARACTERS: Final = 48 * 1024  # characters at the end of the text that are sent: a long trace
_MAX_DIFF_LINES: Final = 14
_HISTORY_WAIT_SECONDS: Final = 1.0  # seconds that the daemon usually needs to search the history
_POLL_INTERVAL_SECONDS: Final = 0.1  # seconds between two checks


def error(arguments: Namespace) -> int:
    """Report a pasted error; print what is known about it."""
    text = _read_error_text(arguments.file)
    client = connect(start=not arguments.no_start)
    root = find_project_root(resolve_folder(arguments.project or "."), client)
    signal = {"kind": "error", "project": root, "text": text, "source": "pasted"}
    predict_body = {"project": root, "error": text, "k": 5}
    prediction = request_in_project(client, root, lambda: client.post("/context/predict", predict_body))
    answer = client.post("/signals", {"signals": [signal]})
    if answer["rejected"]:
        raise CommandError(str(answer["rejected"][0]["error"]["message"]))
    report = _request_report(client, root) | {"files": prediction["predicted_files"]}
    if arguments.json:
        print_json(report)
    else:
        _print_report(report)
    return 0


def _read_error_text(file: str | None) -> str:
    if file in (None, "-"):
        if sys.stdin.isatty():
            print_note("paste the error text, then press Ctrl-D")
        content = sys.stdin.buffer.read()
    else:
        try:
            content = Path(str(file)).read_bytes()
        except OSError as os_error:
            raise WrongUsage(f"{file!r} cannot be read: {os_error.strerror}.") from os_error
    text = to_screen_text(decode_text(content).encode())[-_MAX_CHARACTERS:]
    if not text.strip():
        raise WrongUsage(
            "the error text is empty.", hint="Run `hunch error FILE`, or paste the error text and press Ctrl-D."
        )
    return text


def _request_report(client: Client, root: str) -> dict[str, Any]:
    """Return the error just stored, with its fix if one is known.

    Waits briefly for the fix, because the daemon may still be searching the history for it.
    """
    deadline = time.monotonic() + _HISTORY_WAIT_SECONDS
    while not (newest := _find_newest_error(client, root))["source"].get("fix") and time.monotonic() < deadline:
        time.sleep(_POLL_INTERVAL_SECONDS)
    fix = newest["source"].get("fix")
    return {
        "error": client.get(f"/memories/{newest['id']}"),
        "source": newest["source"],
        "fixed": newest["reasons"][0] if fix else None,
        "fix": client.get(f"/memories/{fix}") if fix else None,
    }


def _find_newest_error(client: Client, root: str) -> dict[str, Any]:
    bundle = client.get("/context", project=root)
    errors = [item for item in bundle["items"] if item["kind"] == "error"]
    if not errors:
        raise CommandError("the daemon did not store the error.", hint="Run `hunch doctor` to find the cause.")
    return dict(max(errors, key=lambda item: str(item["source"].get("last", ""))))


def _print_report(report: dict[str, Any]) -> None:
    source = report["source"]
    place = f" ({source['path']}:{source['line']})" if source.get("path") and source.get("line") else ""
    print(colourize(strip_controls(report["error"]["title"]), BOLD) + strip_controls(place))
    if report["fixed"]:
        print(f"  {strip_controls(report['fixed'])}")
        fix = report["fix"] or {}
        if subject := (fix.get("source") or {}).get("subject"):
            print(f"  {format_line(subject)}")
        change = str(fix.get("content", "")).partition("\n\n")[2].splitlines()
        for part in change[:_MAX_DIFF_LINES]:
            print(f"    {format_line(part)}")
    elif source.get("candidates"):
        print("  the last line matches several errors:")
        for candidate in source["candidates"]:
            print(f"    {format_line(candidate)}")
    else:
        print(colourize("  no earlier fix is known", DIM))
    for file in report["files"]:
        print(f"{file['confidence']:6.0%}  {strip_controls(file['path'])}")
