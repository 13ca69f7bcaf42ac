"""Tables of known alternatives, of scopes, and of single-valued attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from hunchd.consolidation.contradictions.antonyms import ANTONYM_TABLES
from hunchd.consolidation.contradictions.lexicon import PHRASE_SYNONYMS, canonical_stem
from hunchd.ingestion.tool_purposes import find_purpose, is_ordinary_word

# Alternatives of which a project usually chooses one, besides the tools that `ingestion.subjects` knows.
_CLASS_LINES: Final = """
weekday: monday tuesday wednesday thursday friday saturday sunday
month: january february march april june july august september october november december
licence: mit apache-2.0 apache gpl gplv2 gplv3 gpl-3.0 lgpl agpl agplv3 agpl-3.0 bsd bsd-2-clause bsd-3-clause mpl-2.0
licence: mpl isc unlicense cc0 epl proprietary bsl
case of names: camelcase snake_case kebab-case pascalcase screaming_snake_case uppercase lowercase titlecase
case of names: camel-case snake-case
key kind: uuid uuids uuidv4 uuidv7 ulid auto-increment autoincrement serial nanoid snowflake
zone: utc gmt cet pst est local-time
hashing: bcrypt argon2 argon2id scrypt pbkdf2 sha256 sha-256 sha1 sha-1 md5 sha512 blake2 blake3
cipher: aes aes-256 aes-128 chacha20 3des rsa ed25519
protocol: rest grpc graphql soap websocket websockets sse http/1.1 http/2 http/3 mqtt amqp
schedule: hourly daily nightly weekly biweekly fortnightly monthly quarterly yearly annually
language of people: english german french spanish portuguese japanese chinese italian dutch polish russian
number kind: integer float decimal double bigint numeric
encoding: utf-8 utf8 latin-1 iso-8859-1 utf-16 ascii cp1252
line ends: lf crlf
severity: debug info warning warn critical fatal trace
storage: s3 gcs minio disk filesystem azure-blob hdfs nfs
cloud: aws gcp azure heroku hetzner digitalocean fly.io vercel netlify cloudflare on-premises
region: us-east-1 us-east-2 us-west-1 us-west-2 eu-west-1 eu-west-2 eu-central-1 eu-north-1 ap-southeast-1
region: ap-northeast-1
orchestration: kubernetes nomad ecs swarm docker-compose fargate mesos
deployment: helm kustomize argo flux ansible terraform pulumi chef puppet capistrano cloudformation
branching: trunk-based gitflow git-flow github-flow
default branch: main master trunk develop
monitoring: prometheus datadog newrelic grafana zabbix nagios influxdb graphite
error tracking: sentry rollbar bugsnag airbrake
search engine: elasticsearch opensearch solr meilisearch typesense algolia
chat: slack teams discord mattermost zulip irc
issue tracker: jira linear trello asana youtrack bugzilla redmine
serialisation: protobuf avro thrift msgpack messagepack cbor pickle json
image: png jpeg jpg webp avif gif svg
server: nginx apache caddy traefik haproxy envoy gunicorn uvicorn hypercorn uwsgi puma unicorn
shell: bash zsh fish powershell
shape of tests: jest vitest mocha ava jasmine pytest unittest nose nose2 rspec minitest junit testng
browser tests: cypress playwright selenium puppeteer webdriverio
formatter: black ruff autopep8 yapf prettier gofmt rustfmt clang-format biome dprint
linter: flake8 pylint eslint tslint standardjs rubocop golangci-lint clippy oxlint
type checker: mypy pyright pyre pytype
monorepo: turborepo nx lerna bazel pants rush
templates: jinja jinja2 mako handlebars mustache ejs liquid pug
paradigm: oop functional procedural
isolation: serializable read-committed repeatable-read
consistency: eventual strong
tokens: jwt opaque cookie cookies
runtime: node deno bun
font: serif sans-serif monospace
colour: red green blue yellow orange purple
approach: composition inheritance
moment: build-time runtime startup install-time
direction of writing: ltr rtl
shape of text: plain-text markdown html asciidoc restructuredtext
errors: exceptions result-types return-codes
"""
_CLASS_OF: Final[Mapping[str, str]] = {
    word: name
    for line in reversed(_CLASS_LINES.strip().splitlines())
    for name, _, words in [line.partition(": ")]
    for word in words.split()
}
# Scopes in which a statement holds: two words of one group are two scopes.
_SCOPE_LINES: Final = """
production staging development ci qa sandbox preview demo canary
windows linux macos ubuntu debian fedora alpine freebsd mac
web mobile desktop ios android cli tv browser
frontend backend
server client
debug release
free paid enterprise premium trial pro
read write
get post put patch
upload download
unit integration e2e end-to-end smoke
request response
input output
source target
producer consumer publisher subscriber
primary replica secondary standby
admin public internal guest anonymous external
inbound outbound incoming outgoing
importer exporter import export
encoder decoder serializer deserializer
sender receiver
nightly weekly monthly hourly daily yearly
library application script notebook example
connect idle
cpu memory gpu ram disk
x86 arm arm64 amd64 x86_64
read-only writable
request-id password
minor major
"""
SCOPE_GROUPS: Final[Mapping[str, int]] = {
    canonical_stem(word): number
    for number, line in reversed(list(enumerate(_SCOPE_LINES.strip().splitlines())))
    for word in line.split()
}
# Single-valued attributes: a default, a format, an owner.
_SINGLE_VALUED: Final = """
default format theme owner name language host strategy policy provider backend engine framework client runner manager
server store storage database encoding order style mode approach base root parent target goal source location path
folder directory prefix suffix branch colour color protocol currency zone schedule lead leader maintainer licence
broker queue tracker compiler bundler interpreter shell editor cluster region cloud runtime driver scheme algorithm hash
renderer template proxy gateway registry domain address port size limit timeout length level rate interval version
edition board channel day hour date month cadence convention separator delimiter quote indentation width depth height
naming contact responsible lead captain vendor supplier plan tier
"""
SINGLE_VALUED_STEMS: Final = frozenset(canonical_stem(word) for word in _SINGLE_VALUED.split())


# Names that end in a number but have no alternatives: nobody chooses between S3 and S4.
_SERIES: Final = re.compile(r"([a-z][a-z+#]{1,14})[-:/]?v?\d+(?:\.\d+)*$")
_NOT_SERIES: Final = frozenset(
    "md sha utf base log oauth neo web http ec i18n l10n mp p v x h s k pep rfc issue pr bug".split()  # noqa: SIM905
)
# Hyphenated words in the tables: these are not split.
KNOWN_COMPOUNDS: Final = frozenset(
    word.strip(":") for table in (_CLASS_LINES, _SCOPE_LINES, ANTONYM_TABLES) for word in table.split() if "-" in word
) | frozenset(word for word in (*PHRASE_SYNONYMS, *PHRASE_SYNONYMS.values()) if "-" in word and " " not in word)


@lru_cache(maxsize=8_192)
def find_class(word: str) -> str:
    """Return the class of alternatives that contains `word`, or "".

    `word` is in lower case; "mit" is in the class "licence".
    """
    for form in (word, word.removesuffix("s"), word.removesuffix("ly")):
        if class_name := _CLASS_OF.get(form):
            return class_name
    return "" if is_ordinary_word(word) else find_purpose(word)


def find_series(word: str) -> str:
    """Return the numbered series that a name belongs to, or "".

    "es2020" is in "series es", "net6.0" in "series net". Names whose number selects nothing (S3, UTF-8) have no series.
    """
    match = _SERIES.match(word)
    return f"series {match[1]}" if match and match[1] not in _NOT_SERIES else ""
