"""`hunch error`: an error that somebody pasted; what it is, what mended it before, and where to look."""

from __future__ import annotations

import sys
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

_LONGEST: Final = 48 * 1024  # characters at the end of the text: a long trace
_DIFF_LINES: Final = 14


def error(arguments: Namespace) -> int:
    """Keep the error as one that was seen, and print what is known of it."""
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
    text = readable(given)[-_LONGEST:]
    if not text.strip():
        raise WrongUsage("there is no error: the text is empty.", hint="hunch error FILE, or paste it, then Ctrl-D")
    return text


def _told(client: Client, root: str) -> dict[str, Any]:
    """The error that was seen last, with its fix if it has one."""
    bundle = client.get("/context", project=root)
    seen = [item for item in bundle["items"] if item["kind"] == "error"]
    if not seen:
        raise CommandError("the daemon did not keep the error.", hint="hunch doctor looks into it.")
    newest = max(seen, key=lambda item: str(item["source"].get("last", "")))
    memory = client.get(f"/memories/{newest['id']}")
    fixed = next((reason for reason in newest["reasons"] if reason.startswith("fixed")), None)
    links = [link["ref"] for link in memory["links"] if link.get("type") == "fixed_by"] if fixed else []
    fixes = [client.get(f"/memories/{link}") for link in links]
    shown = (fix for fix in fixes if _paths(fix) == newest["source"].get("fixed_in"))
    return {"error": memory, "source": newest["source"], "fixed": fixed, "fix": next(shown, None)}


def _paths(fix: dict[str, Any]) -> list[str]:
    return [artifact["ref"] for artifact in fix["artifacts"] if artifact["type"] == "file"]


def _print(told: dict[str, Any]) -> None:
    source = told["source"]
    place = f" ({source['path']}:{source['line']})" if source.get("path") and source.get("line") else ""
    print(coloured(clean(told["error"]["title"]), BOLD) + clean(place))
    if told["fixed"]:
        print(f"  {clean(told['fixed'])}")
        change = str((told["fix"] or {}).get("content", "")).partition("\n\n")[2].splitlines()
        for part in change[:_DIFF_LINES]:
            print(f"    {line(part)}")
    else:
        print(coloured("  not mended before, as far as is known", DIM))
    for file in told["files"]:
        print(f"{file['confidence']:6.0%}  {clean(file['path'])}")
