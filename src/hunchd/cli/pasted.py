"""`hunch error`: explains a pasted error.

Prints what it is, its earlier fix, and where to look.
"""

from __future__ import annotations

import codecs
import sys
import time
from argparse import Namespace
from pathlib import Path
from typing import Any, Final

from hunchd.cli.answers import known_first
from hunchd.cli.client import Client
from hunchd.cli.errors import CommandError, WrongUsage
from hunchd.cli.launching import connect
from hunchd.cli.output import BOLD, DIM, clean, coloured, line, note, print_json
from hunchd.cli.running.letter import readable
from hunchd.cli.targets import folder, root_of

_LONGEST: Final = 48 * 1024  # characters, from the end: a long trace
_DIFF_LINES: Final = 14
_HISTORY: Final = 1.0  # seconds that the search of the history usually takes
_AGAIN: Final = 0.1  # seconds between two checks


def error(arguments: Namespace) -> int:
    """Store the pasted error as a signal, and print what is known about it."""
    text = _text(arguments.file)
    client = connect(start=not arguments.no_start)
    root = root_of(folder(arguments.project or "."), client)
    signal = {"kind": "error", "project": root, "text": text, "source": "pasted"}
    asked = {"project": root, "error": text, "k": 5}
    predicted = known_first(client, root, lambda: client.post("/context/predict", asked))
    answer = client.post("/signals", {"signals": [signal]})
    if answer["rejected"]:
        raise CommandError(str(answer["rejected"][0]["error"]["message"]))
    told = _told(client, root) | {"files": predicted["predicted_files"]}
    if arguments.json:
        print_json(told)
    else:
        _print(told)
    return 0


def _text(file: str | None) -> str:
    if file in (None, "-"):
        if sys.stdin.isatty():
            note("paste the error, then Ctrl-D")
        given = sys.stdin.buffer.read()
    else:
        try:
            given = Path(str(file)).read_bytes()
        except OSError as trouble:
            raise WrongUsage(f"{file!r} cannot be read: {trouble.strerror}.") from trouble
    text = readable(_in_utf8(given))[-_LONGEST:]
    if not text.strip():
        raise WrongUsage("the error text is empty.", hint="hunch error FILE, or paste it, then Ctrl-D")
    return text


def _in_utf8(given: bytes) -> bytes:
    """Return `given` in UTF-8, without a byte order mark. PowerShell writes UTF-16."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if given.startswith(mark):
            return given[len(mark) :].decode(encoding, "replace").encode()
    if len(given) > 3 and given[1::2].count(0) > len(given) // 4:  # every other byte of Latin letters
        return given.decode("utf-16-le", "replace").encode()
    return given


def _told(client: Client, root: str) -> dict[str, Any]:
    """Return the newest error with its fix, if any.

    Wait briefly, because the history is searched meanwhile.
    """
    patience = time.monotonic() + _HISTORY
    while not (newest := _newest(client, root))["source"].get("fix") and time.monotonic() < patience:
        time.sleep(_AGAIN)
    fix = newest["source"].get("fix")
    return {
        "error": client.get(f"/memories/{newest['id']}"),
        "source": newest["source"],
        "fixed": newest["reasons"][0] if fix else None,
        "fix": client.get(f"/memories/{fix}") if fix else None,
    }


def _newest(client: Client, root: str) -> dict[str, Any]:
    bundle = client.get("/context", project=root)
    seen = [item for item in bundle["items"] if item["kind"] == "error"]
    if not seen:
        raise CommandError("the daemon did not store the error.", hint="hunch doctor looks for the cause.")
    return dict(max(seen, key=lambda item: str(item["source"].get("last", ""))))


def _print(told: dict[str, Any]) -> None:
    source = told["source"]
    place = f" ({source['path']}:{source['line']})" if source.get("path") and source.get("line") else ""
    print(coloured(clean(told["error"]["title"]), BOLD) + clean(place))
    if told["fixed"]:
        print(f"  {clean(told['fixed'])}")
        fix = told["fix"] or {}
        if subject := (fix.get("source") or {}).get("subject"):
            print(f"  {line(subject)}")
        change = str(fix.get("content", "")).partition("\n\n")[2].splitlines()
        for part in change[:_DIFF_LINES]:
            print(f"    {line(part)}")
    elif source.get("candidates"):
        print("  its last line matches several errors:")
        for candidate in source["candidates"]:
            print(f"    {line(candidate)}")
    else:
        print(coloured("  no earlier fix is known", DIM))
    for file in told["files"]:
        print(f"{file['confidence']:6.0%}  {clean(file['path'])}")
