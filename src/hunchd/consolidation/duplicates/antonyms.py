"""Antonyms in statements about software projects, stored as stems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hunchd.consolidation.lexicon import canonical_stem

# Each word on the right is an antonym of the one on the left, if both describe the same thing.
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


def _parse_table(table: str) -> dict[str, str]:
    stems: dict[str, str] = {}
    for line in table.strip().splitlines():
        denied_word, _, denying_words = line.partition(":")
        for word in denying_words.split():
            stems.setdefault(canonical_stem(word), canonical_stem(denied_word))
    return stems


ANTONYMS: Final[Mapping[str, str]] = _parse_table(_ANTONYM_LINES)
