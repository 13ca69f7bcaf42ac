"""Synonyms and abbreviations in what developers write about their work."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from hunchd.text.stemming import stem_statement

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
# Phrase → one word that means the same.
PHRASE_SYNONYMS: Final[Mapping[str, str]] = {
    phrase: word
    for line in """
    before: prior to|ahead of|in advance of
    should: ought to
    ensure: make sure|makes sure|made sure|making sure
    like: such as
    also: as well|in addition
    remove: get rid of|gets rid of|got rid of|getting rid of
    because: due to|because of|owing to|on account of
    instead: rather than|in place of|in lieu of|in favor of|in favour of
    test: test case|testcase
    tests: test cases|testcases
    handle: take care of|takes care of|took care of|deal with|deals with|dealt with
    currently: at the moment|for now|at present|right now|for the time being
    several: a number of|a couple of|a few|a lot of|lots of
    find: find out|finds out|found out
    about: with respect to|with regard to|in regard to|regarding|concerning
    despite: in spite of
    e.g: for example|for instance
    """.strip().splitlines()
    for word, _, phrases in [line.strip().partition(": ")]
    for phrase in phrases.split("|")
}
_SYNONYM_LINES: Final = """
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
authorization authorise authorisation
limit restrict
speed performance
instead rather
huge
"""
_AMERICAN: Final = re.compile(r"(?<=[a-z]{2}[iy])z(?=(?:e|ed|es|er|ers|ing|ation|ations)$)")
_BRITISH: Final = re.compile(r"^(behavi|col|fav|hon|neighb|flav|lab|endeav)our")
_DOUBLED_CONSONANT: Final = re.compile(
    r"^(cancel|channel|label|level|marshal|model|signal|total|travel|tunnel)l(?=ed|ing|er)"
)


def _stem_word(word: str) -> str:
    """Return the stem that all inflections and spellings of a word share."""
    word_stem = stem_statement(_BRITISH.sub(r"\1or", _DOUBLED_CONSONANT.sub(r"\1", word)))
    return (
        stem_statement(word_stem) if word_stem.endswith("ment") else word_stem
    )  # a stem such as "implement" is stemmed again


def _parse_synonyms(lines: str) -> dict[str, str]:
    """Map each word in `lines` to the first word of its line.

    The result contains stems, not words. If a word is in several lines, the first of these lines counts.
    """
    synonyms: dict[str, str] = {}
    for line in lines.strip().splitlines():
        first, *_ = words = line.split()
        for word in words:
            synonyms.setdefault(_stem_word(word), _stem_word(first))
    return synonyms


_SYNONYMS: Final[Mapping[str, str]] = _parse_synonyms(_SYNONYM_LINES)


def normalize_word(word: str) -> str:
    """Return the stem that a word and all its synonyms share."""
    for spelling in (word, _AMERICAN.sub("s", word)):
        root_stem = _stem_word(spelling)
        if root_stem in _SYNONYMS:
            break
    return _SYNONYMS.get(root_stem, root_stem)


# Fillers: adding or omitting them does not change the meaning.
FILLER_WORDS: Final = frozenset(
    _stem_word(word)
    for word in """
    change make get set do new also some properly correctly now instead ensure allow handle code
    little minor small bit thing way case work support when because several automatically currently quickly first
    simply just basically following team we our this decide note
    """.split()  # noqa: SIM905 - one word after the other reads best
)
# Actions and repetition: if only one of two texts has them, the texts are about two pieces of work.
DISTINGUISHING_WORDS: Final = frozenset(
    normalize_word(word) for word in ("add", "remove", "test", "use", "update", "fix", "more", "another", "again")
)
