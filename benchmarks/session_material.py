"""Generator of a long session of a coding agent from a repository's history.

Users ask for what was committed; tools print its diffs, files, searches and test names. Deterministic; nothing of
it is
kept in this repository.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Decisions: topic, choice, rejected alternative, reason.
CHOICES = (
    ("the cache backend", "Valkey", "Memcached", "we need sorted sets"),
    ("the archive format", "zstandard", "gzip", "cold files are read often"),
    ("date handling", "pendulum", "arrow", "time zone arithmetic was wrong twice"),
    ("the task queue", "Dramatiq", "Celery", "its retries are simpler to reason about"),
    ("the HTTP client", "niquests", "urllib3", "HTTP/3 comes for free"),
    ("configuration files", "TOML", "YAML", "indentation mistakes cost us a release"),
    ("the log format", "logfmt", "plain JSON lines", "people read them in a terminal"),
    ("template rendering", "Mako", "Chameleon", "inheritance is easier to follow"),
    ("password hashing", "argon2id", "bcrypt", "the audit asked for memory hardness"),
    ("the message broker", "NATS", "Kafka", "one binary is enough for our load"),
    ("schema migrations", "yoyo", "alembic", "we write plain SQL"),
    ("the rate limiter", "a token bucket", "a fixed window", "bursts at the edges hurt"),
    ("identifier generation", "ULIDs", "random UUIDs", "the index stays compact"),
    ("the search index", "Tantivy", "Elasticsearch", "it runs inside the process"),
    ("documentation", "MkDocs", "Sphinx", "contributors know Markdown"),
    ("the admin pages", "htmx", "React", "there are only eleven forms"),
    ("file uploads", "tus", "multipart forms", "mobile connections break"),
    ("dependency pinning", "hash-checked lock files", "version ranges", "a yanked wheel broke the build"),
    ("test data", "factories", "fixture files", "nobody could tell which field mattered"),
    ("the release branch", "trunk only", "git flow", "merging back took a day"),
    ("pagination", "keyset cursors", "offsets", "page 900 took four seconds"),
    ("time in tests", "a frozen clock", "sleeping", "the suite was flaky"),
    ("the container base image", "distroless", "Alpine", "musl broke two wheels"),
    ("error reporting", "GlitchTip", "Rollbar", "it can be hosted by us"),
    ("the metrics names", "OpenMetrics units", "bare counters", "dashboards mixed seconds and milliseconds"),
    ("feature switches", "a table in the database", "environment variables", "support changes them at night"),
    ("image resizing", "libvips", "ImageMagick", "memory stays flat"),
    ("session storage", "signed cookies", "server side rows", "operations asked for no new state"),
    ("retry policy", "decorrelated jitter", "fixed back-off", "the thundering herd came back"),
    ("the type checker", "pyright", "pytype", "the editor shows the same errors"),
    ("commit messages", "plain sentences", "conventional prefixes", "nobody generated a changelog from them"),
    ("the wire format", "CBOR", "MessagePack", "the standard has tags"),
    ("locking", "advisory locks", "a lock file", "the file survived a crash"),
    ("the load test", "k6", "Locust", "one laptop must suffice"),
    ("money amounts", "integer minor units", "floats", "a cent was missing in March"),
    ("browser support", "evergreen browsers", "Internet Explorer 11", "usage is below one in a thousand"),
    ("static assets", "content hashes in names", "query strings", "a proxy ignored them"),
    ("vulnerability scanning", "osv-scanner", "Snyk", "it works without an account"),
    ("the queue of mails", "an outbox table", "sending inline", "a rollback had sent them already"),
    ("the code formatter", "ruff format", "yapf", "one tool less"),
)  # fmt: skip
STATED = (
    "For {topic} we use {chosen} instead of {other}, because {why}.",
    "Let's go with {chosen} for {topic}; {why}.",
    "Decision: {topic} is done with {chosen} rather than {other}, since {why}.",
    "We'll use {chosen} for {topic}. {other} is rejected because {why}.",
    "We decided on {chosen} for {topic}, not {other}: {why}.",
)
ASKED = (
    "What did we decide about {topic}?",
    "Which one did we choose for {topic}, and why?",
    "Remind me: what do we use for {topic}?",
)
PREFERENCES = (
    "I prefer small commits with one reason each.",
    "Please don't write docstrings that repeat the name.",
    "Always run the tests of the touched module before you say it is done.",
    "Never edit the changelog by hand.",
    "I'd rather see a failing test first.",
)
ANSWERED = (
    "I've made the change: {subject}.",
    "Done: {subject}.",
    "Implemented as you asked: {subject}.",
    "I fixed it and checked the callers. {subject}.",
)
DEFINITION = re.compile(r"^(?:async )?(?:def|func|fn|it|test)\b.{0,6}?([A-Za-z_]\w{3,60})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Decision:
    turn: int
    topic: str
    chosen: str
    other: str
    said: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """A user's message with the agent's calls, their results, and its answer."""

    user: str
    steps: tuple[tuple[dict[str, Any], dict[str, Any]], ...]
    answer: str
    decision: Decision | None = None


@dataclass
class Material:
    """The newest commits of a repository and their content."""

    repository: Path
    seed: int = 7
    _git: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        log = self.git("log", "--no-merges", "-n", "400", "--format=%H%x1f%s%x1f%b%x1e")
        rows = [row.strip().split("\x1f") for row in log.split("\x1e") if row.strip()]
        self.commits = [row for row in rows if len(row) == 3 and len(row[1]) > 12]
        self.files = [name for name in self.git("ls-files").split("\n") if name.endswith((".py", ".go", ".rs", ".ts"))]

    def git(self, *arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=self.repository, capture_output=True, check=True)
        return done.stdout.decode(errors="replace")

    def instructions(self, characters: int) -> str:
        """Return the system text that a client might send: the project's documents."""
        names = [name for name in self.git("ls-files").split("\n") if name.endswith((".md", ".rst"))]
        text = "\n\n".join((self.repository / name).read_text(errors="replace") for name in sorted(names)[:20])
        return text[:characters]

    def exchanges(self, turns: int) -> Iterator[Exchange]:
        """Yield about `turns` turns: a user's message, sometimes two tool steps, an answer."""
        choices = self.random.sample(CHOICES, len(CHOICES))
        turn, number = 1, 0
        every = 2  # one in two exchanges contains a decision: about forty in three hundred turns
        while turn <= turns:
            sha, subject, body = self.commits[number % len(self.commits)]
            decision = None
            request = f"{subject}.\n{body.strip()[:600]}".strip()
            if number % every == 0 and choices:
                topic, chosen, other, why = choices.pop()
                statement = STATED[number % len(STATED)].format(topic=topic, chosen=chosen, other=other, why=why)
                statement = statement[0].upper() + statement[1:]
                decision = Decision(turn, topic, chosen, other, statement)
                request += f"\n{statement}"
            if number % 17 == 5:
                request += f"\n{PREFERENCES[number // 17 % len(PREFERENCES)]}"
            steps = tuple(self._step(sha, number, index) for index in range(2 if turn % 2 else 1))
            stat = self.git("show", "--stat", "--format=", sha).strip().split("\n")[-1].strip()
            answer = f"{ANSWERED[number % len(ANSWERED)].format(subject=subject)} {stat}. All tests pass."
            yield Exchange(request, steps, answer, decision)
            turn += 2 + len(steps)
            number += 1

    def _step(self, sha: str, number: int, index: int) -> tuple[dict[str, Any], dict[str, Any]]:
        match (number + index) % 4:
            case 0:
                called, output = {"command": f"git show {sha[:10]}"}, self.git("show", sha)
                tool = "bash"
            case 1:
                name = self.files[self.random.randrange(len(self.files))]
                called, tool = {"file_path": name}, "read_file"
                output = (self.repository / name).read_text(errors="replace")
            case 2:
                tests = [name for name in self.files if "test" in name]
                name = tests[self.random.randrange(len(tests))]
                called, tool, output = {"command": f"pytest -v {name}"}, "bash", self._test_run(name)
            case _:
                word = re.sub(r"\W", "", self.commits[number % len(self.commits)][1].split()[-1]) or "def"
                called, tool = {"pattern": word}, "grep"
                output = self.git("log", "-n", "60", "--oneline", "--stat", "--", self.files[number % len(self.files)])
        call = {"role": "assistant", "event_type": "tool_call", "name": tool, "event_data": {"input": called}}
        result = {"role": "tool", "event_type": "tool_result", "name": tool, "content": output[:40_000] or "(nothing)"}
        return call, result

    def _test_run(self, name: str) -> str:
        """Return the output of a verbose test run with the names in a test file."""
        found = DEFINITION.findall((self.repository / name).read_text(errors="replace"))[:120] or ["test_it"]
        lines = [f"{name}::{test} PASSED [{100 * n // len(found):3d}%]" for n, test in enumerate(found, 1)]
        head = "============================= test session starts ============================="
        return "\n".join(
            [head, f"collected {len(found)} items", "", *lines, "", f"=== {len(found)} passed in 1.3s ==="]
        )


def make_messages(exchange: Exchange, number: int) -> list[list[dict[str, Any]]]:
    """Return the messages sent to the log before each request to the model."""
    groups: list[list[dict[str, Any]]] = []
    before: list[dict[str, Any]] = [{"role": "user", "content": exchange.user}]
    for call, result in exchange.steps:
        groups.append([*before, call, result])
        before = []
    groups.append([*before, {"role": "assistant", "content": exchange.answer}])
    for step, group in enumerate(groups):
        for place, message in enumerate(group):
            message["ref"] = f"{number}.{step}.{place}"
    return groups


def list_tools() -> Sequence[dict[str, Any]]:
    """Return tool definitions as agents send them."""
    described = {"bash": "command", "read_file": "file_path", "grep": "pattern", "write_file": "content", "web": "url"}
    return [
        {
            "name": name,
            "description": f"{name}: works on the project's folder; takes {argument}. Output is text, cut at 40 kB.",
            "input_schema": {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]},
        }
        for name, argument in described.items()
    ]
