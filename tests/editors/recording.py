"""Recorder of the transcripts from a real daemon: `python -m tests.editors.recording`.

To change what editors may ask, change `CONVERSATIONS`, record, and read the difference in the answers.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from tests.daemon.running import RunningDaemon, running_daemon
from tests.editors.transcripts import FOLDER, Exchange, fill_template, get_value
from tests.repositories import make_shop

BASKET, CHECKOUT = "shop/basket.py", "shop/checkout.py"
DECISION = "prices are whole cents, never floats"
DIAGNOSTIC = 'error: "Basket" has no attribute "items" (pyright)'


def _signal(kind: str, **fields: Any) -> dict[str, Any]:
    own = {"event_id": "{event_id}", "at": "{at}", "source": "editor"}
    return {"kind": kind, "project": "{project}", **fields, **own}


def _signals(*signals: dict[str, Any]) -> Exchange:
    return Exchange("POST", "/signals", 202, body={"signals": list(signals)})


def _context(file: str, *, status: int = 200, **more: Any) -> Exchange:
    return Exchange("GET", "/context", status, query={"project": "{project}", "file": file}, **more)


def _error(text: str, file: str, line: int) -> dict[str, Any]:
    return _signal("error", text=text, command="editor diagnostics", file=file, line=line)


_OPENED = _signal("file_opened", path=BASKET)
_FIRST_ID = {"decision": "items.0.id", "etag": "etag"}

# name: (about, given, exchanges)
CONVERSATIONS: Mapping[str, tuple[str, str, tuple[Exchange, ...]]] = {
    "health": (
        "Health check; the only route without a token.",
        "ready",
        (Exchange("GET", "/health", 200),),
    ),
    "open": (
        "A file of a known project is opened and its context shown; the second request returns 304.",
        "ready",
        (
            _signals(_OPENED),
            _context(BASKET, keep=_FIRST_ID),
            _context(BASKET, status=304, if_none_match='"{etag}"'),
        ),
    ),
    "open-unknown": (
        "A file of an unknown project is opened: the project is added and the signal sent again.",
        "unknown",
        (
            _signals(_OPENED),
            Exchange("POST", "/projects", 200, body={"path": "{project}"}),
            _signals(_OPENED),
        ),
    ),
    "unknown": (
        "The context of an unknown project is rejected with 404, and answered once the project is added.",
        "unknown",
        (
            _context(BASKET, status=404),
            Exchange("POST", "/projects", 200, body={"path": "{project}"}),
            _context(BASKET),
        ),
    ),
    "edit": (
        "A file is saved, another one opened, the first one closed.",
        "ready",
        (
            _signals(_OPENED),
            _signals(_signal("file_saved", path=BASKET)),
            _signals(_signal("file_opened", path=CHECKOUT)),
            _signals(_signal("file_closed", path=BASKET)),
        ),
    ),
    "diagnostics": (
        "Editor diagnostics are sent as errors; when they disappear, this editor's errors of the file are cleared.",
        "ready",
        (
            _signals(_OPENED),
            _signals(_error(DIAGNOSTIC, BASKET, 3)),
            _context(BASKET),
            _signals(_signal("error_cleared", command="editor diagnostics", file=BASKET)),
        ),
    ),
    "related": (
        "Related files are listed; the chosen one is reported as used, then as opened.",
        "ready",
        (
            _signals(_OPENED),
            Exchange("POST", "/context/predict", 200, body={"project": "{project}", "file_opened": BASKET, "k": 10}),
            _signals(_signal("used", path=CHECKOUT), _signal("file_opened", path=CHECKOUT)),
        ),
    ),
    "feedback": (
        "Thumbs up for a file, thumbs down for a memory.",
        "ready",
        (
            _signals(_OPENED),
            _context(BASKET, keep=_FIRST_ID),
            _feedback := Exchange(
                "POST",
                "/feedback",
                202,
                body={"items": [{"id": f"file:{CHECKOUT}", "outcome": "cited", "project": "{project}"}]},
            ),
            replace(_feedback, body={"items": [{"id": "{decision}", "outcome": "wrong", "project": "{project}"}]}),
        ),
    ),
    "forget": (
        "A memory is shown, deleted, and no longer part of the context.",
        "ready",
        (
            _signals(_OPENED),
            _context(BASKET, keep=_FIRST_ID),
            Exchange("GET", "/memories/{decision}", 200),
            Exchange("DELETE", "/memories/{decision}", 200),
            _context(BASKET),
            Exchange("GET", "/memories/{decision}", 404),
        ),
    ),
    "expand": (
        'A topic under "Ask for more" is expanded.',
        "ready",
        (Exchange("POST", "/expand", 200, body={"project": "{project}", "topic": "basket"}),),
    ),
    "empty": ("Nothing relevant is known: an empty bundle, not an error.", "plain", (_context("note.txt"),)),
    "degraded": ("A degraded bundle: the answer says which part is missing.", "missing", (_context(BASKET),)),
    "stale-token": (
        "The token of an earlier daemon is rejected; the rendezvous file has the new one.",
        "ready",
        (_context(BASKET, status=401, token="of an earlier daemon"), _context(BASKET)),
    ),
}

_numbers = count()


@dataclass
class Stage:
    """Daemon on which transcripts are played.

    While recording, each transcript has a project of its own. As that takes long, a test shares one project among all
    "ready" transcripts.
    """

    daemon: RunningDaemon
    folder: Path
    is_shared: Path | None = None

    def play(self, given: str, exchanges: tuple[Exchange, ...]) -> list[tuple[int, Any, dict[str, str]]]:
        """Return status, answer and the values known at that time, for each exchange."""
        values = {"project": str(self._project(given))}
        answers = []
        for exchange in exchanges:
            values |= {"event_id": f"e{next(_numbers)}", "at": datetime.now(UTC).isoformat()}
            status, answer = self._ask(exchange, values)
            values |= {name: get_value(answer, place) for name, place in exchange.keep.items()}
            answers.append((status, answer, dict(values)))
        return answers

    def _project(self, given: str) -> Path:
        if given == "ready" and self.is_shared is not None:
            self._store_decision(self.is_shared)
            return self.is_shared
        project = self.folder / f"{given}{next(_numbers)}" / "shop"
        if given == "plain":
            project.mkdir(parents=True)
            (project / "note.txt").write_text("hello")
            self.daemon.add(project)
            return project
        shutil.copytree(self._shop(), project)
        if given == "unknown":
            return project
        self.daemon.add(project)
        self._store_decision(project)
        if given == "missing":
            shutil.move(project, project.with_name("elsewhere"))
            self.daemon.wait_until(
                lambda: any(one["state"] == "missing" for one in self.daemon.get("/projects")["items"]),
                within=60,
                what="notice that the folder is gone",
            )
        return project

    def _store_decision(self, project: Path) -> None:
        """Store the decision anew, because another conversation may have deleted it."""
        fact = {"kind": "fact", "project": str(project), "category": "decision", "content": DECISION}
        self.daemon.post("/memories", fact)

    def _shop(self) -> Path:
        made = self.folder / "shop"
        return made if made.exists() else make_shop(made)

    def _ask(self, exchange: Exchange, values: Mapping[str, str]) -> tuple[int, Any]:
        headers = {}
        if exchange.if_none_match:
            headers["If-None-Match"] = fill_template(exchange.if_none_match, values)
        if exchange.token:
            headers["Authorization"] = f"Bearer {exchange.token}"
        return self.daemon.request(
            exchange.method,
            fill_template(exchange.path, values),
            fill_template(exchange.body, values),
            query=fill_template(exchange.query, values),
            headers=headers,
        )


def _request_json(exchange: Exchange) -> dict[str, Any]:
    told = {name: getattr(exchange, name) for name in ("method", "path", "query", "body", "token", "if_none_match")}
    return {name: value for name, value in told.items() if value}


def _replace_values(answer: Any, values: Mapping[str, str]) -> Any:
    """Replace what differs from run to run by its name in braces."""
    text = json.dumps(answer)
    for name in sorted(values.keys() - {"event_id", "at"}):
        text = text.replace(values[name], f"{{{name}}}")
    return json.loads(text)


def record(stage: Stage) -> None:
    for name, (about, given, exchanges) in CONVERSATIONS.items():
        played = stage.play(given, exchanges)
        recorded: list[dict[str, Any]] = []
        for exchange, (status, answer, values) in zip(exchanges, played, strict=True):
            told: dict[str, Any] = {"status": status} | ({"body": _replace_values(answer, values)} if answer else {})
            assert status == exchange.status, (name, exchange, answer)
            kept = {"keep": dict(exchange.keep)} if exchange.keep else {}
            recorded.append({"request": _request_json(exchange), "answer": told, **kept})
        told = {"about": about, "given": given, "exchanges": recorded}
        (FOLDER / f"{name}.json").write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n")


def main() -> int:
    for role in ("AUTHOR", "COMMITTER"):
        os.environ |= {f"GIT_{role}_NAME": "Ada", f"GIT_{role}_EMAIL": "ada@example.org"}
    os.environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hd-") as folder, running_daemon(Path(folder) / "home") as daemon:
        record(Stage(daemon, Path(folder) / "projects"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
