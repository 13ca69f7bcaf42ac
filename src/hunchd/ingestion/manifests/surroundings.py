"""Parsers of a project's environment: services, pinned toolchains, git hooks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from hunchd.ingestion.manifests.tools import (
    CHECKERS,
    FORMATTERS,
    LINTERS,
    Statement,
    listed,
    mentions,
    version_of,
)

# Images by purpose, by the last part of their names; other images say little about the code.
_SERVICES = (
    ("database", listed(
        "postgres, postgresql, postgis, pgvector, timescaledb, mysql, mariadb, mongo, mongodb, cockroach, clickhouse, "
        "cassandra, neo4j, couchdb, mssql"
    )),
    ("cache", listed("redis, valkey, memcached, dragonfly, keydb")),
    ("queue", listed("rabbitmq, kafka, redpanda, nats, pulsar, activemq")),
    ("search", listed("elasticsearch, opensearch, meilisearch, typesense, solr, qdrant, weaviate, milvus")),
    ("object storage", listed("minio, localstack, azurite")),
)  # fmt: skip
_IMAGE = re.compile(
    r"^[ \t]+image:[ \t]*[\"']?([\w./-]+?)(?::([\w.-]+))?(?:@sha256:\w+)?[\"']?[ \t]*(?:#.*)?$", re.MULTILINE
)
_RELEASE = re.compile(r"v?(\d+(?:\.\d+)*)")
_PINNED = {"nodejs": "node", "golang": "go"}
_LANGUAGES = listed("node, python, ruby, go, java, rust, elixir, erlang, php, deno, bun, zig, dart, terraform")
_PIN = re.compile(
    r"^[ \t]*[\"']?([a-z]+)[\"']?(?:[ \t]+|[ \t]*=[ \t]*[\"'])(?:[a-z]+-)?v?(\d[\w.]*)[\"']?[ \t]*(?:#.*)?$",
    re.MULTILINE,
)
_CHANNEL = re.compile(r"^\s*(?:channel\s*=\s*[\"'])?((?:stable|beta|nightly|\d)[\w.-]{0,40})[\"']?\s*$", re.MULTILINE)
_BEFORE_A_COMMIT = (
    *listed("lint-staged, commitlint, gitleaks, vitest, jest, pytest, cargo, go"),
    *LINTERS,
    *FORMATTERS,
    *CHECKERS,
)


def read_compose(text: str) -> Iterator[Statement]:
    """Yield the services that developers run beside the project, with pinned versions."""
    images = {name.rpartition("/")[2].lower(): tag or "" for name, tag in _IMAGE.findall(text)}
    for key, known in _SERVICES:
        found = []
        for name in known:
            if name in images:
                release = _RELEASE.match(images[name])
                found.append(f"{name} {release[1]}" if release else name)
        if found:
            yield Statement(key, ", ".join(found[:3]), 0.7)


def pinned(key: str) -> Callable[[str], Iterator[Statement]]:
    """Return a parser of a file that pins one language's version.

    The confidence is low: manifests state better what is supported.
    """

    def read(text: str) -> Iterator[Statement]:
        found = re.match(r"\s*(?:[a-z]+-)?v?(\d[\w.]{0,20})\s*$", text.splitlines()[0] if text else "")
        yield from _pinned(key, found[1] if found else None)

    return read


def read_pins(text: str) -> Iterator[Statement]:
    """Parse `.tool-versions` and `mise.toml`: one line per language."""
    for name, version in _PIN.findall(text):
        if (language := _PINNED.get(name, name)) in _LANGUAGES:
            yield from _pinned(language, version)


def _pinned(key: str, version: str | None) -> Iterator[Statement]:
    yield from (Statement(key, one.value, 0.6) for one in version_of(key, version))


def read_rust_toolchain(text: str) -> Iterator[Statement]:
    """Parse the channel, with or without TOML around it."""
    found = _CHANNEL.search(text)
    if found:
        yield Statement("rust toolchain", found[1])


def read_git_hook(program: str) -> Callable[[str], Iterator[Statement]]:
    """Return a parser of the known tools that run before a commit.

    Hooks are scripts.
    """

    def read(text: str) -> Iterator[Statement]:
        before = text
        if program == "lefthook":
            section = re.search(r"^pre-commit:\s*\n((?:[ \t]+.*\n?|\n)*)", text, re.MULTILINE)
            before = section[1] if section else ""
        code = "\n".join(line for line in before.splitlines() if not line.lstrip().startswith("#"))
        tools = [name for name in dict.fromkeys(_BEFORE_A_COMMIT) if mentions(code, name)]
        if tools:
            yield Statement("before a commit", f"{program}: {', '.join(tools[:6])}", 0.8)

    return read
