"""Synonyms in the language of developers, stored as word stems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hunchd.text.stemming import stem_statement

# Synonyms, one group in each line; the first word stands for all.
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
    """Return the stem that stands for `word_stem` and all its synonyms.

    Returns `word_stem` itself if it has none.
    """
    return _SYNONYMS.get(word_stem, word_stem)


def canonical_stem(word: str) -> str:
    """Return the stem that stands for a word and all its synonyms."""
    return resolve_synonym(stem_statement(word))
