"""Purposes of tools: pnpm is a package manager, pytest runs tests.

The purposes have the same names as the keys of statements in manifests.
"""

from __future__ import annotations

import re
from typing import Final

from hunchd.ingestion.manifests.tools import TOOLS_BY_PURPOSE

_NAMES_BY_PURPOSE: Final = {
    "package manager": (
        "npm, pnpm, yarn, bun, pip, uv, poetry, pdm, pipenv, conda, mamba, pixi, pip-tools, bundler, "
        "composer, nuget, vcpkg, conan, rye"
    ),
    "database": (
        "postgresql, postgres, mysql, mariadb, sqlite, mongodb, mongo, dynamodb, cassandra, duckdb, "
        "clickhouse, cockroachdb, oracle, sql server, firestore, couchdb, neo4j, lancedb, leveldb, rocksdb"
    ),
    "cache": "redis, memcached, valkey",
    "queue": "rabbitmq, kafka, celery, sqs, nats, sidekiq, rq, dramatiq, pulsar, beanstalkd",
    "indent": "tabs, spaces, 2 spaces, 4 spaces, two spaces, four spaces, hard tabs",
    "quotes": "single quotes, double quotes",
    "build tool": (
        "webpack, vite, rollup, esbuild, parcel, turbopack, gradle, maven, ant, bazel, cmake, meson, scons, "
        "rspack, rolldown, tsup, babel, swc, autotools, gulp, grunt, browserify"
    ),
    "build backend": (
        "setuptools, hatchling, flit, flit_core, flit-core, poetry-core, distutils, maturin, pdm-backend"
    ),
    "task runner": "make, just, tox, nox, invoke, taskfile, rake, turborepo, nx, lerna",
    "ci": (
        "github actions, gitlab ci, travis, travis ci, travis-ci, circleci, circle ci, jenkins, azure "
        "pipelines, appveyor, drone, buildkite, cirrus ci, cirrus"
    ),
    "http client": (
        "requests, httpx, urllib, urllib2, urllib3, axios, fetch, got, ky, reqwest, okhttp, retrofit, superagent"
    ),
    "logging": "loguru, structlog, slog, zap, logrus, log4j, slf4j, winston, pino, logback, zerolog",
    "web framework": (
        "flask, django, fastapi, express, fastify, koa, hono, rails, spring, gin, fiber, actix, axum, rocket, "
        "starlette, tornado, bottle, sinatra, laravel, symfony, nextjs, next.js, nuxt"
    ),
    "ui framework": "react, vue, svelte, angular, solidjs, preact, jquery, ember, backbone",
    "state management": "redux, zustand, mobx, vuex, pinia, jotai, recoil",
    "styles": "tailwind, tailwindcss, bootstrap, sass, less, styled-components, emotion, css modules",
    "orm": "sqlalchemy, prisma, drizzle, typeorm, sequelize, gorm, diesel, hibernate, peewee, sqlx, mongoose",
    "dates": "moment, moment.js, dayjs, date-fns, luxon, pendulum, arrow, pytz, dateutil, zoneinfo",
    "containers": "docker, podman, containerd",
    "documentation": "sphinx, mkdocs, docusaurus, mdbook, vitepress, vuepress, jekyll, hugo, gitbook",
    "language": (
        "typescript, javascript, coffeescript, flow, kotlin, java, scala, groovy, rust, go, python, ruby, c++"
    ),
    "commit messages": "conventional commits, gitmoji",
    "merging": "squash merges, merge commits, rebase, rebasing, squash, fast-forward merges, merges",
    "configuration": "yaml, toml, json, json5, ini, xml",
    "api": "rest, graphql, grpc, trpc, soap, json-rpc",
    "assertions": "power-assert, chai, assertj, hamcrest, should.js, expect.js",
    "mocks": "sinon, mockito, unittest.mock, mock, testdouble, easymock, gomock, mockery",
    "dependency updates": "dependabot, renovate, pyup, greenkeeper",
    "versioning": (
        "semver, semantic versioning, calver, calendar versioning, setuptools_scm, setuptools-scm, "
        "bumpversion, bump2version, versioneer, hatch-vcs"
    ),
    "changelog": "towncrier, changesets, release-please, semantic-release, commitizen",
    "coverage": "coveralls, codecov, nyc, istanbul, c8, jacoco, cobertura",
    "sessions": "signed cookies, server-side sessions, jwt, cookies, session cookies",
}
_PURPOSE_BY_NAME: Final = {name: subject for subject, names in TOOLS_BY_PURPOSE for name in names} | {
    name.strip(): subject for subject, names in _NAMES_BY_PURPOSE.items() for name in names.split(",")
}
# Tool names that are also everyday words, and prove nothing by themselves.
_ORDINARY_WORDS: Final = frozenset(
    """
    requests fetch got make just spring express rocket echo fiber gin arrow moment emotion less java rest go flow rust
    mock mocks merges rebase squash nose ant parcel cookies cypress oracle drone black tap pest ava json xml ini
    distutils urllib rq nats cirrus travis python ruby scala expect.js hugo solid fastify
    """.split()  # noqa: SIM905 - one word after the other reads best
)
_ARTICLE: Final = re.compile(r"^(?:the|a|an|our|plain|pure|bare)\s+", re.IGNORECASE)


def find_purpose(name: str) -> str:
    """Return the purpose of a tool, such as "package manager".

    Returns "" if the tool is unknown.
    """
    normalized_name = _ARTICLE.sub("", name.strip().strip("`'\"")).casefold()
    return _PURPOSE_BY_NAME.get(normalized_name, "") or _PURPOSE_BY_NAME.get(normalized_name.removesuffix(".js"), "")


def list_purposes() -> frozenset[str]:
    """Return all purposes that a known tool can have."""
    return frozenset(_PURPOSE_BY_NAME.values())


def is_ordinary_word(name: str) -> bool:
    """Return True if the name of a tool is also an everyday word."""
    return name.strip().strip("`'\"").casefold() in _ORDINARY_WORDS
