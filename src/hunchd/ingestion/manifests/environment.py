"""Parsers for a project's environment: services, pinned toolchains and git hooks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from hunchd.ingestion.manifests.tools import (
    FORMATTERS,
    LINTERS,
    TYPE_CHECKERS,
    Statement,
    mentions,
    split_names,
    state_version,
)

# Container images by purpose, given by the last part of their names; other images say little about the code.
_SERVICES = (
    ("database", split_names(
        "postgres, postgresql, postgis, pgvector, timescaledb, mysql, mariadb, mongo, mongodb, cockroach, clickhouse, "
        "cassandra, neo4j, couchdb, mssql"
    )),
    ("cache", split_names("redis, valkey, memcached, dragonfly, keydb")),
    ("queue", split_names("rabbitmq, kafka, redpanda, nats, pulsar, activemq")),
    ("search", split_names("elasticsearch, opensearch, meilisearch, typesense, solr, qdrant, weaviate, milvus")),
    ("object storage", split_names("minio, localstack, azurite")),
)  # fmt: skip
_IMAGE = re.compile(
    r"^[ \t]+image:[ \t]*[\"']?([\w./-]+?)(?::([\w.-]+))?(?:@sha256:\w+)?[\"']?[ \t]*(?:#.*)?$", re.MULTILINE
)
_RELEASE = re.compile(r"v?(\d+(?:\.\d+)*)")
_LANGUAGE_BY_TOOL = {"nodejs": "node", "golang": "go"}
_LANGUAGES = split_names("node, python, ruby, go, java, rust, elixir, erlang, php, deno, bun, zig, dart, terraform")
_PIN = re.compile(
    r"^[ \t]*[\"']?([a-z]+)[\"']?(?:[ \t]+|[ \t]*=[ \t]*[\"'])(?:[a-z]+-)?v?(\d[\w.]*)[\"']?[ \t]*(?:#.*)?$",
    re.MULTILINE,
)
_PRE_COMMIT_TOOLS = (
    *split_names("lint-staged, commitlint, gitleaks, vitest, jest, pytest, cargo, go"),
    *LINTERS,
    *FORMATTERS,
    *TYPE_CHECKERS,
)


def read_compose(text: str) -> Iterator[Statement]:
    """Yield the services that developers run for the project, with their versions."""
    images = {name.rpartition("/")[2].lower(): tag or "" for name, tag in _IMAGE.findall(text)}
    for key, service_names in _SERVICES:
        services = []
        for name in service_names:
            if name in images:
                release = _RELEASE.match(images[name])
                services.append(f"{name} {release[1]}" if release else name)
        if services:
            yield Statement(key, ", ".join(services[:3]), 0.7)


def read_pins(text: str) -> Iterator[Statement]:
    """Yield the version of each language pinned in `.tool-versions` or `mise.toml`."""
    for name, version in _PIN.findall(text):
        if (language := _LANGUAGE_BY_TOOL.get(name, name)) in _LANGUAGES:
            yield from _pinned_statement(language, version)


def _pinned_statement(key: str, version: str | None) -> Iterator[Statement]:
    yield from (Statement(key, one.value, 0.6) for one in state_version(key, version))


def make_git_hook_reader(program: str) -> Callable[[str], Iterator[Statement]]:
    """Return a parser that finds the known tools that run before a commit.

    `program` is the hook manager. Hooks are scripts, so the parser only searches them for the names of tools.
    """

    def read(text: str) -> Iterator[Statement]:
        hook_text = text
        if program == "lefthook":
            section = re.search(r"^pre-commit:\s*\n((?:[ \t]+.*\n?|\n)*)", text, re.MULTILINE)
            hook_text = section[1] if section else ""
        code = "\n".join(line for line in hook_text.splitlines() if not line.lstrip().startswith("#"))
        tools = [name for name in dict.fromkeys(_PRE_COMMIT_TOOLS) if mentions(code, name)]
        if tools:
            yield Statement("before a commit", f"{program}: {', '.join(tools[:6])}", 0.8)

    return read
