"""Data of one project is never in a response about another."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from hunchd.domain.filters import Filters
from hunchd.domain.memory import Artifact, Kind, Memory, Scope, Status
from hunchd.store.memory_cache import MemoryCache
from tests.daemon.running import RunningDaemon
from tests.repositories import commit, git

PROJECTS = ("alpha", "beta", "gamma")
WORDS = ("basket", "checkout", "voucher", "shared", "pay", "tests", "colours", "index", "login", "cache")
FILES = ("src/basket.py", "src/checkout.py", "docs/notes.md")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def some(random: Random, choices: tuple[Any, ...], most: int = 3) -> tuple[Any, ...]:
    return tuple(random.sample(choices, random.randrange(most)))


def memory(random: Random, number: int) -> Memory:
    at = NOW + timedelta(minutes=random.randrange(1_000))
    return Memory(
        id=f"m{number}",
        kind=random.choice(list(Kind)),
        title=" ".join(some(random, WORDS)),
        content=" ".join(some(random, WORDS, 6)),
        at=at,
        created=at,
        updated=at,
        project=random.choice((*PROJECTS, None)),
        ref=f"r{random.randrange(40)}",
        key=random.choice((None, *WORDS)),
        scope=random.choice(list(Scope)),
        status=random.choice(list(Status)),
        tags=some(random, WORDS),
        branch=random.choice((None, "main", "dev")),
        artifacts=tuple(Artifact("file", path) for path in some(random, FILES)),
    )


def filters(random: Random, project: str | None) -> Filters:
    return Filters(
        project=project,
        kinds=some(random, tuple(Kind)),
        statuses=some(random, tuple(Status)),
        scopes=some(random, tuple(Scope), 2),
        tags=some(random, WORDS, 2),
        branch=random.choice((None, None, "main")),
        key=random.choice((None, None, None, *WORDS)),
        path_prefix=random.choice((None, None, "", "src/", "docs")),
    )


def test_random_cache_queries_stay_in_project() -> None:
    random, tier = Random(32), MemoryCache()
    for number in range(600):
        tier.upsert(memory(random, number % 400))  # some change hands: the last word counts
    answered = 0
    for _ in range(10_000):
        project = random.choice((*PROJECTS, None))
        asked = filters(random, project) if random.random() < 0.7 else Filters(project=project, statuses=())
        hits = tier.search(" ".join(some(random, WORDS, 5)), asked, 20)
        found = [tier.get(hit.memory_id) for hit in hits]
        assert all(one is not None and one.project == project for one in found)
        answered += bool(found)
        if (known := tier.get_by_ref(project, f"r{random.randrange(40)}")) is not None:
            assert known.project == project
    assert answered > 2_000, "hardly anything was found: this proves little"
    for project in (*PROJECTS, None):
        assert {one.project for one in tier.list_memories(Filters(project=project, statuses=()))} == {project}


@pytest.fixture(scope="module")
def repositories(shared_daemon: RunningDaemon, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Three projects that differ only in the marker that each of their texts carries."""
    with pytest.MonkeyPatch.context() as environment:
        for role in ("AUTHOR", "COMMITTER"):
            environment.setenv(f"GIT_{role}_NAME", "Ada")
            environment.setenv(f"GIT_{role}_EMAIL", "ada@example.org")
        made = {name: tmp_path_factory.mktemp("work") / name for name in PROJECTS}
        for name, folder in made.items():
            folder.mkdir()
            git(folder, "init", "-q", "-b", "main")
            for number in range(4):
                body = f"def pay{number}({name}_mark: int) -> None:\n    '''{name}_mark of the checkout'''\n"
                commit(folder, f"Basket and checkout {number}: {name}_mark", dict.fromkeys(FILES, body))
    for name, folder in made.items():
        shared_daemon.add(folder)
        facts = [
            {
                "kind": "fact",
                "project": str(folder),
                "ref": f"r{n}",
                "content": f"{word} {name}_mark",
                "key": word,
                "tags": [word],
            }
            for n, word in enumerate(WORDS)
        ]
        shared_daemon.post("/memories", {"memories": facts})
        errors = [
            {"kind": "error", "project": str(folder), "text": f"KeyError: {word} {name}_mark"} for word in WORDS[:3]
        ]
        shared_daemon.post("/signals", {"signals": errors})
    shared_daemon.wait_until(
        lambda: not any(shared_daemon.get("/status")["queues"].values()), within=30, what="store it all"
    )
    return made


def question(random: Random, folder: Path, foreign: list[str]) -> tuple[str, str, Any, dict[str, str]]:
    """Return a random query about a project, perhaps naming a row of another one."""
    words = " ".join(random.sample(WORDS, random.randrange(1, 4)))
    words += random.choice(("", "", " beta_mark", " gamma_mark", f" {random.choice(foreign)}"))
    project, file = str(folder), random.choice(FILES)
    depth, word = random.choice(("shallow", "deep", "specific")), random.choice(WORDS)
    signals = {"current_file": file, "query": words}
    named = random.choice((f"file:{file}", random.choice(foreign)))
    narrowed: dict[str, str] = random.choice(({}, {"tag": word}, {"key": word}))
    return random.choice(
        (
            ("POST", "/search", {"project": project, "query": words, "depth": depth, "k": 50}, {}),
            ("POST", "/search", {"project": project, "query": words, "tags": [word]}, {}),
            ("GET", "/memories", None, {"project": project, "limit": "200", **narrowed}),
            ("GET", "/context", None, {"project": project, "file": file, "query": words}),
            ("POST", "/context/assemble", {"project": project, "signals": signals}, {}),
            ("POST", "/context/predict", {"project": project, "file_opened": file, "query": words, "k": 30}, {}),
            ("POST", "/expand", {"project": project, "topic": random.choice((words, word))}, {}),
            ("POST", "/expand", {"project": project, "id": named}, {}),
            ("GET", "/export", None, {"project": project}),
        )
    )


def test_queries_never_cross_projects(shared_daemon: RunningDaemon, repositories: dict[str, Path]) -> None:
    random = Random(33)
    rows = {
        name: shared_daemon.get("/memories", project=str(folder), limit=200)["items"]
        for name, folder in repositories.items()
    }
    marked = dict.fromkeys(PROJECTS, 0)
    for number in range(300):
        name = PROJECTS[number % len(PROJECTS)]
        others = [other for other in PROJECTS if other != name]
        foreign = [row["id"] for other in others for row in rows[other]]
        method, path, body, query = question(random, repositories[name], foreign)
        status, answer = shared_daemon.request(method, path, body, query=query)
        assert status in (200, 404), (path, body, query, answer)
        # What was asked may be said again (a topic, the words of a refusal); rows may not.
        told = (answer if isinstance(answer, str) else json.dumps(answer)) if status == 200 else ""
        told = told.replace(body["topic"], "") if body and "topic" in body else told
        for other in others:
            assert f"{other}_mark" not in told, (method, path, body, query)
            assert str(repositories[other]) not in told
        marked[name] += f"{name}_mark" in told
    assert min(marked.values()) > 40, marked
