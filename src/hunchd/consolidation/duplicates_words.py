"""Words that say the same in what developers write of their work: abbreviations, and different words for one thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hunchd.consolidation.contradictions_words import canonical, stem

ABBREVIATIONS: Final[Mapping[str, str]] = {
    short: long
    for line in """
    config cfg conf: configuration
    repo: repository
    db: database
    auth authn: authentication
    authz: authorization
    env: environment
    docs doc: documentation
    deps dep: dependency
    app: application
    arg args: argument
    param params: parameter
    impl: implementation
    init: initialise
    info: information
    msg msgs: message
    func fn: function
    dev: development
    prod: production
    dir dirs: directory
    ref refs: reference
    perf: performance
    temp tmp: temporary
    var vars: variable
    val vals: value
    attr attrs: attribute
    attrib: attribute
    prop props: property
    char chars: character
    num: number
    max: maximum
    min: minimum
    avg: average
    err errs: error
    req reqs: request
    resp res: response
    spec specs: specification
    pkg pkgs: package
    lib libs: library
    ver: version
    dest dst: destination
    src: source
    cmd cmds: command
    ctx: context
    conn: connection
    sync: synchronous
    async: asynchronous
    admin: administrator
    gen: generate
    exec: execute
    expr: expression
    stmt: statement
    decl: declaration
    def: definition
    obj: object
    elem elems: element
    desc: description
    id ids: identifier
    btn: button
    nav: navigation
    i18n: internationalisation
    l10n: localisation
    k8s: kubernetes
    js: javascript
    ts: typescript
    py: python
    pg: postgresql
    postgres: postgresql
    pr prs: pull-request
    w/: with
    w/o: without
    tests: test
    mgmt: management
    mgr: manager
    svc: service
    acct: account
    addr: address
    alloc: allocation
    buf: buffer
    calc: calculate
    cert certs: certificate
    cols col: column
    cond: condition
    const: constant
    coord coords: coordinate
    curr cur: current
    diff: difference
    ext: extension
    fmt: format
    freq: frequency
    hist: history
    idx: index
    img imgs: image
    int: integer
    iter: iterator
    len: length
    misc: miscellaneous
    mod: module
    notif: notification
    opt opts: option
    orig: original
    pos: position
    prev: previous
    proc procs: process
    proto: protocol
    pwd: password
    regex: expression
    str: string
    stat stats: statistic
    struct: structure
    sys: system
    tbl: table
    tx: transaction
    upd: update
    usr: user
    util utils: utility
    """.strip().splitlines()
    for shorts, _, long in [line.strip().partition(": ")]
    for short in shorts.split()
}
_SAME_LINES: Final = """
fix repair resolve correct solve address patch bugfix hotfix
add introduce implement create provide insert append
remove delete drop erase strip eliminate
update change modify adjust alter revise amend
improve enhance better refine polish
use employ utilize utilise leverage apply
refactor restructure reorganise reorganize rework rewrite clean cleanup tidy simplify
avoid prevent stop forbid
allow permit enable support let
ensure guarantee assure
show display present render print
check verify validate confirm
raise throw
handle treat process
begin start launch initiate
finish end complete conclude
function method routine procedure
parameter argument
directory folder
error exception failure fault
bug defect issue problem
big large huge
small tiny little
quick fast rapid speedy
slow sluggish
wrong incorrect erroneous false invalid
right proper properly correctly
missing absent lacking
call invoke
return yield
convert transform translate
split separate divide
join merge combine unify
move relocate transfer
copy duplicate clone
rename renaming
send transmit
receive get obtain fetch retrieve acquire
save store persist keep
load read
write
build compile
need require necessary
set assign
make
when whenever if
because since as
new
old outdated obsolete stale legacy
several multiple many various
user customer client
choose select pick
crash abort
cause lead
happen occur
replace substitute swap exchange
increase raise grow
decrease reduce lower shrink
test testing
document describe explain
want wish
also additionally
automatically auto automatic
currently presently now
quickly
first initially
find discover detect
warn warning
deploy release ship publish
decide agree
log record
limit restrict
speed performance
instead rather
huge
"""


def _first_of_each(lines: str) -> dict[str, str]:
    """Word → the first word of its line, as stems; a word of several lines belongs to the first of them."""
    found: dict[str, str] = {}
    for line in lines.strip().splitlines():
        first, *_ = words = line.split()
        for word in words:
            for stemmed in (stem(word), canonical(stem(word))):
                found.setdefault(stemmed, canonical(stem(first)))
    return found


SAME: Final[Mapping[str, str]] = _first_of_each(_SAME_LINES)
# They are put in and left out without another meaning.
WEAK: Final = frozenset(
    canonical(stem(word))
    for word in """
    change make get set do new also some properly correctly now instead ensure allow handle code
    little minor small bit thing way case work support when because several automatically currently quickly first
    simply just basically following team we our this decide note
    """.split()  # noqa: SIM905 - one word after the other reads best
)
# What was done, and that it was done once more: where only one side says it, two things were done.
TELLING: Final = frozenset(
    SAME.get(stem(word), canonical(stem(word)))
    for word in ("add", "remove", "test", "use", "update", "fix", "more", "another", "again")
)
