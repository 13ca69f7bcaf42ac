"""Three hundred secrets are planted wherever text comes from; none may be in a file of hunchd or in a response."""

from __future__ import annotations

import asyncio
import base64
import http.client
import json
import sqlite3
import threading
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlencode, urlsplit

from hunchd.prediction import array_file
from hunchd.store.database.lance import Database, create_session
from tests.daemon.running import RunningDaemon
from tests.repositories import commit, git
from tests.security import planting
from tests.security.planting import Planted, pieces_of

ORDINARY = (
    'def connect(token: str = "", key: bytes = b"", *, password_hash: str | None = None) -> None:\n'
    '    """Compare e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 with the digest."""\n'
)
SUBJECT = "Revert 9fceb02d0ae598e95dc970b74767f19372d61af8 for 6ba7b810-9dad-11d1-80b4-00c04fd430c8"


class Answers:
    """Record of everything the daemon returned, to be searched afterwards."""

    def __init__(self, daemon: RunningDaemon) -> None:
        self.daemon = daemon
        self.record_feedback: list[str] = []

    def ask(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        status, answer = self.daemon.request(method, path, body, query=query)
        assert status < 500, (path, status, answer)
        self.record_feedback.append(answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))
        return answer

    @contextmanager
    def list_events(self) -> Iterator[None]:
        """Record /events for the duration of the block."""
        assert self.daemon.told is not None
        connection = http.client.HTTPConnection(urlsplit(self.daemon.told.url).netloc, timeout=60)
        connection.request("GET", "/events", headers={"Authorization": f"Bearer {self.daemon.told.token}"})
        response = connection.getresponse()

        def listen() -> None:
            while line := response.readline():
                self.record_feedback.append(line.decode())

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        try:
            yield
        finally:
            self.daemon.stop()  # ends the stream
            listener.join(10)
            response.close()
            connection.close()


def test_planted_secrets_are_never_stored_or_returned(daemon: RunningDaemon, tmp_path: Path) -> None:
    planted = Planted(Random(28))
    repository = tmp_path / "shop"
    repository.mkdir()
    git(repository, "init", "-q", "-b", "main")
    commit(repository, SUBJECT, {"src/ordinary.py": ORDINARY, "src/part1.py": "def part1() -> None:\n    pass\n"})
    planting.in_history(planted, repository)
    planting.in_files(planted, repository)
    answers = Answers(daemon)

    with answers.list_events():
        daemon.add(repository)
        tell(planted, answers, repository)
        ask(planted, answers, repository)
        daemon.wait_until(lambda: not any(daemon.get("/status")["queues"].values()), within=30, what="store it all")
        answers.ask("GET", "/export")
        answers.ask("GET", "/status")
        answers.ask("GET", "/metrics")

    told = "\n".join(answers.record_feedback)
    kept = {str(path): text_of(path) for path in daemon.home.rglob("*") if path.is_file()}
    unpacked = "\n".join([*code_of(daemon.home), *models_of(daemon.home), *asyncio.run(rows_of(daemon.home))])

    assert sum(map(len, planted.secrets.values())) >= 300
    assert found(planted, told) == []
    assert found(planted, unpacked) == []
    for name, content in kept.items():
        assert found(planted, content) == [], name
    # Questions are kept to check a consolidation by them, without their secrets; every word is asked for above.
    on_disk = unpacked + "".join(content for name, content in kept.items() if not name.endswith("state/usage.json"))
    reached = {place for place, words in planted.words.items() if any(word in on_disk for word in words)}
    assert reached == set(planted.words) - {"secret files", "remotes", "paths", "queries", "feedback"}
    assert 'def connect(token: str = "", key: bytes = b"", *, password_hash: str | None = None) -> None' in unpacked
    assert SUBJECT in told


def tell(planted: Planted, answers: Answers, repository: Path) -> None:
    """Send signals, memories, edits, imports, and make a commit on a branch."""
    accepted = answers.ask("POST", "/signals", {"signals": list(planting.signals(planted, repository))})
    assert accepted["rejected"] == []
    drafts = list(planting.memories(planted, repository))
    ids = answers.ask("POST", "/memories", {"memories": drafts})["ids"]
    for identifier, (word, name, secret) in zip(ids, planted.at("changes"), strict=False):
        answers.ask(
            "PATCH", f"/memories/{identifier}", {"key": f"{word} {name}", "content": f"{word}: {name} {secret}"}
        )
        answers.ask("GET", f"/memories/{identifier}/history")
    for identifier, (word, _, secret) in zip(ids, planted.at("feedback"), strict=False):
        note = f"{word} {secret}"
        answers.ask("POST", "/feedback", {"items": [{"id": identifier, "outcome": "cited", "note": note}]})
    line = json.loads(answers.ask("GET", "/export").splitlines()[0])
    for number, (word, _, secret) in enumerate(planted.at("imports")):
        data = {"id": f"imported{number}", "kind": "fact", "title": word, "content": f"{word} {secret}"}
        line["data"] = data | dict.fromkeys(("at", "created", "updated"), "2026-01-01T00:00:00Z")
        line["type"] = "memory"
        assert answers.ask("POST", "/import", line)["memories"] == 1
    [(word, _, secret), *_] = planted.at("live branches", identifier=True)
    git(repository, "checkout", "-q", "-b", f"{word}-{secret}")
    sha = commit(repository, f"On {word}: {secret}", {f"src/{word}.py": f"def f() -> None:\n    '''{secret}'''\n"})
    answers.ask("POST", "/signals", {"signals": [{"kind": "commit", "project": str(repository), "sha": sha}]})
    answers.daemon.wait_until(
        lambda: word in json.dumps(answers.ask("GET", "/projects")), within=60, what="see the branch"
    )


def ask(planted: Planted, answers: Answers, repository: Path) -> None:
    """Send every request, some with secrets, about every file."""
    project = str(repository)
    for file in sorted(path.relative_to(repository).as_posix() for path in repository.rglob("*.*") if path.is_file()):
        if not file.startswith(".git/") and file.endswith(("0.py", "1.py", "00.sh", "00.md", ".env", ".pem")):
            answers.ask("GET", "/context", project=project, file=file, format="markdown")
            answers.ask("POST", "/context/predict", {"project": project, "file_opened": file, "k": 50})
            answers.ask("POST", "/expand", {"project": project, "id": f"file:{file}"})
    for words in planted.words.values():
        for word in words[:3]:
            answers.ask("POST", "/search", {"project": project, "query": word, "k": 20})
            answers.ask("POST", "/expand", {"project": project, "topic": word})
    for word, name, secret in planted.at("queries"):
        query = f"{word} {name}={secret}"
        answers.ask("GET", "/context", project=project, file="src/part1.py", query=query, branch=query)
        answers.ask("POST", "/search", {"project": project, "query": query})
        answers.ask("POST", "/search", {"query": query, "depth": "deep"})
        answers.ask("POST", "/context/predict", {"project": project, "query": query, "error": query})
        told = {"recent_errors": [query], "query": query, "current_file": "src/part1.py"}
        answers.ask("POST", "/context/assemble", {"project": project, "signals": told})
        answers.ask("POST", "/expand", {"project": project, "topic": query})
    answers.ask("GET", "/memories", limit=200)
    answers.ask("GET", "/memories", project=project, limit=200)


def text_of(path: Path) -> str:
    """Return the bytes as characters, without the zeros of reserved space."""
    return path.read_bytes().replace(b"\0", b"").decode("latin-1")


def found(planted: Planted, text: str) -> list[tuple[str, str]]:
    """Return the secrets in `text`, plain, escaped or in base64."""
    return [
        (place, secret[:12])
        for place, secrets in planted.secrets.items()
        for secret in secrets
        for piece in (
            *pieces_of(secret),
            base64.b64encode(secret.encode()).decode()[:24],
            urlencode({"": secret})[1:25],
        )
        if piece in text and len(piece) > 7
    ]


def code_of(home: Path) -> Iterator[str]:
    """Return the content of the code caches, decompressed."""
    for path in home.rglob("code.sqlite"):
        with closing(sqlite3.connect(path)) as connection:
            for table in ("files", "symbols"):
                for row in connection.execute(f"SELECT * FROM {table}"):
                    yield " ".join(str(zlib.decompress(one) if isinstance(one, bytes) else one) for one in row)


def models_of(home: Path) -> Iterator[str]:
    for path in home.rglob("model.hunch"):
        yield from (array.tobytes().decode("latin-1") for array in array_file.read_arrays(path)[0].values())


async def rows_of(home: Path) -> list[str]:
    """Return every row of every table, as the store reads it, because its files are compressed."""
    rows = []
    for folder in {path.parent.parent for path in home.rglob("*.lance") if path.is_dir()}:
        for path in folder.glob("*/*.lance"):
            database = await Database.open(path.parent, create_session())
            rows += [str(row) for row in await (await database.open_table(path.stem)).select_rows()]
            database.close()
    assert rows, "no table was found"
    return rows
