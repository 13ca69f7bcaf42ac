"""Word tables for comparing statements.

The tables are synonyms, phrases and units. All tables are of everyday developer language. They are given in plain words
and stemmed once, when the module loads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hunchd.text.stemming import stem_statement

# Low-information words: two statements may use different ones with the same meaning.
LOW_INFORMATION_WORDS: Final = frozenset(
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

# Synonyms, one group a line; the first word stands for all.
_SYNONYM_LINES: Final = """
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
pr prs pull-request mr mrs merge-request merge-requests pull-requests
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
several multiple
person people persons
width wide
height tall
email emails e-mail e-mails mail mails
modal modals dialog dialogs dialogue popup popups pop-up
timestamp timestamps datetime datetimes
validate check verify
attempt attempts try tries tried
guarantee guaranteed ensure
ticket tickets issue issues
keep kept stay stays live lives lived store stored reside resides
write written
paginate pagination paginated paging
compile compiles compiled compilation
normalise normalised normalize normalized normalisation normalization
serialise serialised serialize serialized serialisation serialization
localise localised localize localized localisation localization
cache cached caching caches
host hosted hosting
render rendered rendering renders
style styles styling stylesheet stylesheets
comment comments commenting commented
secret secrets credential credentials
folder directories
spec specification specs
"""
_SYNONYMS: Final[Mapping[str, str]] = {
    stem_statement(word): stem_statement(line.split()[0])
    for line in _SYNONYM_LINES.strip().splitlines()
    for word in line.split()
}


def resolve_synonym(word_stem: str) -> str:
    """Return the one stem that stands for all synonyms of a stem."""
    return _SYNONYMS.get(word_stem, word_stem)


def canonical_stem(word: str) -> str:
    """Return the one stem that stands for a word and its synonyms."""
    return resolve_synonym(stem_statement(word))


# Phrases with a synonym in one word.
PHRASE_SYNONYMS: Final[Mapping[str, str]] = {
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
    "pull request": "pull-request",
    "pull requests": "pull-requests",
    "merge request": "merge-request",
    "merge requests": "merge-requests",
    "lock file": "lockfile",
    "build time": "build-time",
    "compile time": "build-time",
    "compile-time": "build-time",
    "run time": "runtime",
    "in the same": "in a shared",
    "opt in": "opt-in",
    "opt out": "opt-out",
    "opts in": "opt-in",
    "opts out": "opt-out",
    "not null": "non-null",
    "exactly one": "single",
    "only one": "single",
    "just one": "single",
    "at most one": "single",
    "more than one": "several",
    "its own": "dedicated",
    "their own": "dedicated",
    "msrv": "minimum rust version",
    "minsdk": "minimum sdk version",
    "sourcecompatibility": "java",
    "targetcompatibility": "java",
    "in the background": "asynchronously",
    "on demand": "lazily",
    "straight away": "immediately",
    "right away": "immediately",
    "at once": "immediately",
    "without exception": "always",
    "left alone": "not touched",
    "leave alone": "not touch",
    "as little as possible": "minimal",
}
NUMBER_WORDS: Final[Mapping[str, int]] = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split()  # noqa: SIM905
    )
} | {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90, "hundred": 100}  # fmt: skip

_KB, _MINUTE = 1024, 60
# Unit → quantity, and its factor to the base unit.
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
