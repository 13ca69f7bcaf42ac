"""Tables of denying words and of antonyms in statements about software projects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from hunchd.consolidation.contradictions.lexicon import canonical_stem

# Each word on the right denies the one on the left even alone: "forbidden" means "not allowed".
_DENIAL_LINES: Final = """
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
encourage: discourage
reuse: single-use one-time
guard: unguarded
"""
# Each word on the right is an antonym of the one on the left, if both are said of the same thing.
_ANTONYM_LINES: Final = """
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
inclusive: exclusive
implicit: explicit
nullable: non-null
deterministic: random nondeterministic
long: short
deep: shallow
dense: sparse
coarse: fine-grained
active: passive
visible: hidden invisible
present: absent
lock: unlock
grant: revoke
merge: split
attach: detach
connect: disconnect
all: none
cheap: expensive
slow: fast
hard-code: configurable
fix: variable configurable
mandatory: voluntary
draft: final
raw: process
poll: push
simple: complex
full: empty
clean: dirty
global: local
bundle: separate
inline: separate
embed: standalone
overwrite: preserve
truncate: preserve
replace: append
batch: stream
unique: duplicate
single-thread: multi-thread
client-side: server-side
forward: backward
mutable: append-only
success: failure
pass: fail
unlimited: limit
infinite: finite
individual: bulk
trust: distrust untrusted
shallow: full
clear-text: encrypt
incremental: from-scratch
"""
ANTONYM_TABLES: Final = _DENIAL_LINES + _ANTONYM_LINES
_DENYING_FORMS: Final[Mapping[str, str]] = {"blocked": "allow"}  # of "to block" only this form denies


def _parse_table(table: str) -> dict[str, str]:
    stems: dict[str, str] = {}
    for line in table.strip().splitlines():
        denied_word, _, denying_words = line.partition(":")
        for word in denying_words.split():
            stems.setdefault(canonical_stem(word), canonical_stem(denied_word))
    return stems


DENIALS: Final[Mapping[str, str]] = _parse_table(_DENIAL_LINES)
ANTONYMS: Final[Mapping[str, str]] = _parse_table(_ANTONYM_LINES)
_NEGATIVE_PREFIX: Final = re.compile(r"(?:un|non-?|in|im|ir|dis)(?=[a-z]{4})")
_NOT_NEGATIVE: Final = frozenset(
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


def find_denied(word_stem: str, word: str) -> str | None:
    """Return the stem that this word denies by itself, or None.

    "forbidden" denies "allow" wherever it stands.
    """
    return _DENYING_FORMS.get(word) or DENIALS.get(word_stem)


def find_antonym(word_stem: str, word: str) -> str | None:
    """Return the stem of the antonym, or None.

    It is `enabl` for `disabled`.
    """
    if (antonym := find_denied(word_stem, word) or ANTONYMS.get(word_stem)) is not None:
        return antonym
    match = _NEGATIVE_PREFIX.match(word)
    if match is None or any(word.startswith(one) for one in _NOT_NEGATIVE):
        return None
    rest = word[match.end() :].removeprefix("-")
    if rest.endswith(("ed", "able", "ible", "ive", "ent", "ant", "al", "ful", "ing", "ary", "safe")):
        return canonical_stem(rest)
    return None
