"""The words by which statements about a project are compared: what says nothing, what says the same, what is opposed.

All tables are of everyday developer language. A stem is what `stem` leaves of a word; the tables are given in plain
words and stemmed once, when the module is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from hunchd.ingestion.subjects import is_ordinary, subject_of

_ENDINGS: Final = (
    ("ations", "at"), ("ation", "at"), ("ically", "ic"), ("ities", "ity"), ("iness", "y"), ("ments", ""), ("ment", ""),
    ("ingly", ""), ("edly", ""), ("ings", ""), ("ing", ""), ("ies", "y"), ("ied", "y"), ("sses", "ss"), ("shes", "sh"),
    ("ches", "ch"), ("xes", "x"), ("ed", ""), ("es", ""), ("ly", ""), ("s", ""),
)  # fmt: skip
_KEPT: Final = frozenset(
    """
    is was has this his us as yes thus always news less bus gas class process access address pass redis
    kubernetes postgres https css js dns aws ios macos tls os canvas axios gpus alias status cors ses keys rails
    nats express during string thing nothing everything spring sibling ceiling king ring bring sing wing red need
    seed speed feed embed shed bed only early apply reply supply family assembly fly july
    """.split()  # noqa: SIM905 - one word after the other reads best
)


def stem(word: str) -> str:
    """What is left of a word without its ending: `migrations`, `migrating` and `migrate` are one."""
    if "-" in word and word.replace("-", "").isalpha():
        before, _, last = word.rpartition("-")
        return f"{before}-{stem(last)}"
    if word in _KEPT or len(word) < 4 or not word.isalpha():
        return word
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) + len(instead) >= 3:
            if ending == "s" and word.endswith(("ss", "us", "is")):
                break
            word = word.removesuffix(ending) + instead
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] in "bdgmnprt":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


# They shape a sentence and name nothing.
STOP: Final = frozenset(
    """
    a an the this that these those it its itself we our ours us you your yours they them their i me my he she his her
    is are was were be been being am do does did done doing have has had having will would shall should must may might
    can could of in on at to from by with within as into onto over under up out about than then there here where when
    while which who whom whose what how and or but if so for per via both each every all any some such very really just
    please now currently still already always ever never not no nor none neither cannot without also too only even more
    most much many other others another own same again simply actually generally usually normally typically currently
    today everywhere whole entire entirely throughout through across get gets got make makes made let lets want wants
    feel free avoid newer older later earlier higher lower above below least upward upwards onward
    onwards around roughly approximately ca circa exactly namely i.e e.g etc note decision decided agreed
    """.split()  # noqa: SIM905 - one word after the other reads best
)
# They say that something is so and not what: two statements may use different ones of them for the same.
PALE: Final = frozenset(
    """
    use run go live keep set store put take give need require have support handle work provide allow do make come hold
    contain include write call define configure specify apply follow happen perform execute serve host locate say
    stay remain be get see show know start base pin depend prefer choose pick want build generate create
    setting config configuration value option number count size limit threshold level default version requirement
    dependency strategy way thing place code codebase project repo repository team file name current system
    application app component part feature kind type mode style format policy rule convention standard main primary
    package lib library tool software product tag rev maximum minimum max min length time duration
    maintain own belong responsible please remember sure must side case based using instead rather write
    stand sit turn switch sent written kept held made built done told chosen given shown taken found meant known gone
    send receive describe enough read upgrade
    """.split()  # noqa: SIM905 - one word after the other reads best
)

# One word for what is said in several; the first is kept.
_SAME: Final = """
postgresql postgres psql pg
on enable enabled activate activated
kubernetes k8s
javascript js
typescript ts
python py
config configuration configure
repository repo
database db datastore
directory folder dir
authentication auth authenticate authenticated login
authorization authz authorize authorized
environment env
production prod
development dev
documentation docs doc document documented
dependency dependencies deps dep
application app
parameter param argument arg
maximum max highest upper
minimum min lowest lower oldest least
function func method
allow permit permitted allowed ok okay fine acceptable free
require mandatory required necessary obligatory compulsory needed need must requires requirement
delete remove erase drop deletion removal
create add introduce
begin start launch boot startup
stop halt end finish
error exception failure
fix repair
use utilize employ usage
fast quick
request call
timeout timeouts
commit commits
pr prs pull-request
language languages
license licence licensed licensing
indent indentation indented indenting
log logging logged logger
test tests testing tested
expire expiry expiration expires expired lifetime ttl valid
hour hours
sort order sorted ordered sorting
retry retries retried
encrypt encryption encrypted
compress compression compressed gzip
publish published publishing
big large huge
target goal aim
small tiny short little
automatic automatically auto
manual manually hand
own owner owned maintain maintainer maintainers maintained owns
approve approval approved approvals
review reviewed reviewer reviews
squash squashed squashing
format formatter formatted formatting
lint linter linting linted
deploy deployment deployed deploys rollout
build built builds
migrate migration migrations
generate generated generation
message msg
string str
integer int
boolean bool
sequential sequentially serial serially
parallel parallelised parallelized concurrently concurrent
synchronous sync synchronously
asynchronous async asynchronously
"""
_SYNONYMS: Final[Mapping[str, str]] = {
    stem(word): stem(line.split()[0]) for line in _SAME.strip().splitlines() for word in line.split()
}

# Each word on the right denies the one on the left, also where that one is not said: "forbidden" is "not allowed".
_DENYING_WORDS: Final = """
on: off disable disabled deactivate deactivated inactive
allow: forbid forbidden prohibit prohibited disallow disallowed ban banned deny denied refuse refused
require: optional unnecessary needless superfluous voluntary
support: unsupported deprecated deprecate abandon abandoned
public: private
include: exclude omit omitted
accept: reject rejected
respect: ignore ignored
show: hide hidden
present: absent missing
persist: lose lost
survive: gone
keep: discard strip stripped purge purged delete deleted remove removed
recommend: discouraged discourage obsolete
possible: impossible
state: stateless
log-in: anonymous
"""
# Each word on the right is opposed to the one on the left, where both are said of the same.
_OPPOSED: Final = """
synchronous: asynchronous
mutable: immutable
parallel: sequential
ascend: descend descending
asc: desc
singular: plural
share: separate own private isolated isolate dedicated
case-sensitive: case-insensitive
sensitive: insensitive
online: offline
automatic: manual hand-written handwritten
generate: manual hand-written handwritten
immediately: delayed later deferred midnight
stable: unstable experimental
opt-in: opt-out
static: dynamic
strict: loose lenient relaxed
increase: decrease reduce
grow: shrink
accurate: inaccurate
safe: unsafe
blocking: non-blocking nonblocking
eager: lazy
lazy: upfront
open: shut closed
order: unordered
persistent: transient ephemeral
big: small
first: last
before: after
prepend: append
top: bottom
left: right
local: remote hosted
relative: absolute
valid: invalid
typed: untyped
signed: unsigned
encrypt: plaintext unencrypted cleartext
compress: uncompressed
strong: weak
commit: gitignored
idempotent: non-idempotent
reversible: irreversible
nullable: non-null
reentrant: non-reentrant
flat: nested
eventual: immediate immediately
dark: light
optimistic: pessimistic
several: single exactly-one
warm: cold
hot: cold
early: late
loud: silent quiet
fail: succeed
wide: narrow
verbose: terse
forever: temporary temporarily
keep: rotate
monolith: microservices
inside: outside
internal: external
upper: lower
push: pull
horizontal: vertical
central: decentral distributed
binary: textual
tracked: untracked
pinned: floating
full: partial incremental
"""
_ON_SIGHT: Final[Mapping[str, str]] = {"blocked": "allow"}  # of "to block" only this form denies


def _opposites(table: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in table.strip().splitlines():
        left, _, right = line.partition(":")
        for word in right.split():
            found.setdefault(canonical(stem(word)), canonical(stem(left)))
    return found


def canonical(stemmed: str) -> str:
    """The one stem for words that say the same."""
    return _SYNONYMS.get(stemmed, stemmed)


DENYING: Final[Mapping[str, str]] = _opposites(_DENYING_WORDS)
OPPOSITES: Final[Mapping[str, str]] = _opposites(_OPPOSED)
_NEGATIVE: Final = re.compile(r"(?:un|non-?|in|im|ir|dis)(?=[a-z]{4})")
_NOT_DENYING: Final = frozenset(
    """
    under until unit union unique universal unix understand unless uniform index install input include increase
    instance internal interface integer inside insert inherit inline indent info initial inject inspect instead
    intend interpret into invoke invite incident income indicate individual industry infer inform ingest inform
    infra inner innodb image implement import improve important impact imply imperative impose display discover
    discuss dispatch distribute disk discord distinct distribution distance discard dismiss dispose district
    intern international interval interactive intel intermediate integrat irregular undo update upload undefined
    unable outside unordered nonce none nonetheless inheritance indentation index ingress invoice inventory
    information
    """.split()  # noqa: SIM905 - one word after the other reads best
)

# Values of which one is chosen where several are known, besides the tools that `ingestion.subjects` knows.
_CLASSES: Final = """
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
linter: flake8 pylint eslint tslint standard rubocop golangci-lint clippy oxlint
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
errors: exceptions result-types return-codes values
"""
_CLASS_OF: Final[Mapping[str, str]] = {
    word: name
    for line in reversed(_CLASSES.strip().splitlines())
    for name, _, words in [line.partition(": ")]
    for word in words.split()
}
# Where something holds: two of one group are two places.
_PLACES: Final = """
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
PLACE_OF: Final[Mapping[str, int]] = {
    canonical(stem(word)): number
    for number, line in reversed(list(enumerate(_PLACES.strip().splitlines())))
    for word in line.split()
}
# Words that are said apart or in another way.
PHRASES: Final[Mapping[str, str]] = {
    "out of order": "unordered",
    "time out": "timeout",
    "times out": "timeout",
    "timed out": "timeout",
    "sign in": "login",
    "sign-in": "login",
    "signed in": "login",
    "set up": "setup",
    "check in": "commit",
    "checked in": "commit",
    "checks in": "commit",
    "by hand": "manually",
    "thread safe": "thread-safe",
    "line length": "line-length",
    "data store": "database",
    "in parallel": "parallel",
    "in memory": "in-memory",
    "up to date": "up-to-date",
    "open source": "open-source",
    "end to end": "e2e",
    "end-to-end": "e2e",
    "one after the other": "sequentially",
    "one by one": "sequentially",
    "at the same time": "parallel",
    "local time": "local-time",
    "case sensitive": "case-sensitive",
    "case insensitive": "case-insensitive",
}
NUMBER_WORDS: Final[Mapping[str, int]] = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split()  # noqa: SIM905
    )
} | {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90, "hundred": 100}  # fmt: skip

_KB, _MINUTE = 1024, 60
# Unit → what it measures, and how many of the basic unit it is.
UNITS: Final[Mapping[str, tuple[str, float]]] = {
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), ("time", 0.001)),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), ("time", 1.0)),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), ("time", _MINUTE)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), ("time", 60.0 * _MINUTE)),
    **dict.fromkeys(("d", "day", "days"), ("time", 24 * 60.0 * _MINUTE)),
    **dict.fromkeys(("week", "weeks"), ("time", 7 * 24 * 60.0 * _MINUTE)),
    **dict.fromkeys(("month", "months"), ("time", 30 * 24 * 60.0 * _MINUTE)),
    **dict.fromkeys(("year", "years"), ("time", 365 * 24 * 60.0 * _MINUTE)),
    **dict.fromkeys(("b", "byte", "bytes"), ("bytes", 1.0)),
    **dict.fromkeys(("kb", "kib", "k", "kilobyte", "kilobytes"), ("bytes", _KB)),
    **dict.fromkeys(("mb", "mib", "megabyte", "megabytes"), ("bytes", _KB**2)),
    **dict.fromkeys(("gb", "gib", "gigabyte", "gigabytes"), ("bytes", _KB**3)),
    **dict.fromkeys(("tb", "tib"), ("bytes", _KB**4)),
    **dict.fromkeys(("%", "percent", "pct"), ("percent", 1.0)),
    **dict.fromkeys(("px", "pixel", "pixels"), ("pixels", 1.0)),
    **dict.fromkeys(("character", "characters", "chars", "char", "column", "columns"), ("characters", 1.0)),
}


def class_of(word: str) -> str:
    """What `word`, in lower case, is one of several choices for; "" for what we do not know."""
    if found := _CLASS_OF.get(word):
        return found
    return "" if is_ordinary(word) else subject_of(word)


def denied_by(stemmed: str, word: str) -> str | None:
    """The stem that this one denies wherever it stands; None when it denies nothing by itself."""
    return _ON_SIGHT.get(word) or DENYING.get(stemmed)


def opposite_of(stemmed: str, word: str) -> str | None:
    """The stem to which this one is opposed: `enabl` for `disabled`; None when there is none."""
    if (found := denied_by(stemmed, word) or OPPOSITES.get(stemmed)) is not None:
        return found
    match = _NEGATIVE.match(word)
    if match is None or any(word.startswith(one) for one in _NOT_DENYING):
        return None
    rest = word[match.end() :].removeprefix("-")
    if rest.endswith(("ed", "able", "ible", "ive", "ent", "ant", "al", "ful", "ing", "ary", "safe")):
        return canonical(stem(rest))
    return None


# What has one value: a default, a format, an owner.
_SINGLE: Final = """
default format theme owner name language host strategy policy provider backend engine framework client runner manager
server store storage database encoding order style mode approach base root parent target goal source location path
folder directory prefix suffix branch colour color protocol currency zone schedule lead leader maintainer licence
broker queue tracker compiler bundler interpreter shell editor cluster region cloud runtime driver scheme algorithm hash
renderer template proxy gateway registry domain address port size limit timeout length level rate interval version
edition board channel day hour date month cadence convention separator delimiter quote indentation width depth height
naming contact responsible lead captain vendor supplier plan tier
"""
SINGLE: Final = frozenset(canonical(stem(word)) for word in _SINGLE.split())
