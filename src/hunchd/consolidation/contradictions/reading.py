"""Parser of statements into clauses: subject, predicate, polarity, scope and time.

Pure and without any model; a statement takes a few tenths of a millisecond. A comma, a semicolon or "but" separates
clauses; a clause without a subject takes that of the clause before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from hunchd.consolidation.contradictions import patterns as patterns
from hunchd.consolidation.contradictions.choices import COMPOUNDS, PLACE_OF, class_of, series_of
from hunchd.consolidation.contradictions.opposites import denied_by, opposite_of
from hunchd.consolidation.contradictions.values import Value, values_in
from hunchd.consolidation.contradictions.words import NUMBER_WORDS, PALE, PHRASES, UNITS, canonical_stem
from hunchd.ingestion.subjects import subject_of
from hunchd.text.sentences import split_statements
from hunchd.text.words import STATEMENT_STOP_WORDS

LONGEST: Final = 600  # characters of a statement that are parsed
MOST_CLAUSES: Final = 4
READ: Final = 4_096  # cached results


@dataclass(frozen=True, slots=True)
class Clause:
    """Parsed clause. `subject` and `predicate` are its stems.

    Stems that are one of several known alternatives are also in `choices`, with their class.
    """

    head: frozenset[str]
    rest: frozenset[str]
    pale: frozenset[str]  # low-information words, distinctive in the keys of a manifest only
    how: frozenset[str]  # those of them in the predicate: written, started
    chosen: tuple[tuple[str, str], ...]  # (class, name)
    values: tuple[Value, ...]
    denied: bool
    turned: frozenset[str]  # stems replaced by their antonym
    head_turned: frozenset[str]  # those of them in the subject: "small files"
    head_chosen: frozenset[str]
    linked: frozenset[str]  # prepositions after the verb: "by", "with", "in"
    rejected: frozenset[str]  # rejected alternatives: "instead of these"
    places: frozenset[str]
    files: frozenset[str]
    is_pair: bool  # K: V
    is_inherited: bool  # its subject is that of the clause before
    is_open: bool  # one of several: supports, can be, also
    is_strict: bool  # must, always, all
    is_also: bool
    is_only: bool
    is_all: bool  # every, always
    is_only_head: bool  # "only" restricts its subject
    is_pin: bool  # a requirement in the form of a manifest
    qualifiers: frozenset[str]  # stems of place or purpose: "in the shop", "for guests"
    names: frozenset[str]  # stems written with a capital letter
    past: bool
    future: bool
    marks: frozenset[str]  # years and versions used as times

    @property
    def all(self) -> frozenset[str]:
        return self.head | self.rest

    @property
    def stems(self) -> frozenset[str]:
        return self.head | self.rest | self.pale


@dataclass(slots=True)
class _Words:
    """Words of a text by role, collected while it is parsed."""

    stems: list[str] = field(default_factory=list)
    chosen: list[tuple[str, str]] = field(default_factory=list)
    turned: list[str] = field(default_factory=list)
    denying: list[str] = field(default_factory=list)
    pale: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)


@lru_cache(maxsize=READ)
def clauses_of(text: str) -> tuple[Clause, ...]:
    """Parse `text` into clauses; reasons ("because …") are left out."""
    plain = plain_text(text[:LONGEST])
    found: list[Clause] = []
    for sentence in split_statements(plain):
        when = _When.of(sentence)
        for part in _parts(sentence):
            clause = _clause(part, found[0].head if found else frozenset(), when)
            if clause.stems and not _is_frame(part):
                found.append(clause)
    return tuple(found[:MOST_CLAUSES])


def _is_frame(part: str) -> bool:
    """Return True if a part only says when: "until last year: …"."""
    return len(part.split()) <= 4 and (patterns.PAST.search(part) or patterns.FUTURE.search(part)) is not None


@lru_cache(maxsize=1_024)
def plain_text(text: str) -> str:
    """Remove markup and normalise contractions, denials and periods."""
    text = text.replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"').replace("`", "")
    text = patterns.MARKUP.sub(lambda match: match[1] or "", text)
    text = patterns.ONLY_OF_IT.sub(r"only \1", text)
    text = patterns.OFTEN.sub(lambda match: f"every {patterns.PERIODS[match[1].lower()]}", text)
    text = patterns.EVERY.sub(lambda match: f"every {'0.5' if match[1] else '1'} {match[2]}", text)
    text = patterns.HALF.sub(lambda match: f"0.5 {match[1]}s", text)
    text = patterns.HUNDREDS.sub(_counted, text)
    text = patterns.ONE.sub(lambda match: f"{match[1]} 1 {match[2]}", text)
    text = re.sub(r"\bcan not\b", "cannot", text, flags=re.IGNORECASE)
    if "'" in text:
        text = re.sub(r"\bcan't\b", "cannot", text, flags=re.IGNORECASE)
        text = re.sub(r"\bwon't\b", "will not", text, flags=re.IGNORECASE)
        text = re.sub(r"n't\b", " not", text, flags=re.IGNORECASE)
    text = re.sub(r"\bno longer\b", "not", text, flags=re.IGNORECASE)
    text = re.sub(r"\s*\bany ?more\b", "", text, flags=re.IGNORECASE)
    text = re.sub(r"\bpy(\d)(\d{1,2})\b", r"python \1.\2", text)
    text = patterns.SAID.sub(lambda match: PHRASES[match[0].lower()], text)
    return re.sub(r"[ \t]+", " ", text).strip()


def _counted(match: re.Match[str]) -> str:
    return str(NUMBER_WORDS.get(match[1].strip().lower(), 1) * patterns.TIMES[match[2].lower()])


def _parts(text: str) -> Iterator[str]:
    if not patterns.TEMPLATE.search(text):
        text = patterns.CONDITION.sub(lambda match: f"{match[2]} {match[1]}", text.strip())
    for part in patterns.CLAUSES.split(text):
        part = patterns.PREFIX.sub("", patterns.REASON.sub("", patterns.PREFIX.sub("", part or ""))).strip(" .,;!")
        if len(part) > 1:
            yield part


@dataclass(frozen=True, slots=True)
class _When:
    """Times to which a sentence refers."""

    past: bool
    future: bool
    marks: frozenset[str]  # years and versions used as times

    @classmethod
    def of(cls, sentence: str) -> _When:
        marks = {*patterns.YEARS.findall(sentence), *(match.lower() for match in patterns.ERA.findall(sentence))}
        past = patterns.PAST.search(sentence) or (patterns.ERA.search(sentence) and patterns.WAS.search(sentence))
        return cls(past is not None, patterns.FUTURE.search(sentence) is not None, frozenset(marks))


def _clause(text: str, inherited: frozenset[str], when: _When) -> Clause:
    said, other = _without_else(text)
    values = values_in(said)
    masked = _masked(said, values)
    head_text, rest_text = _divided(masked)
    is_pin = patterns.TEMPLATE.search(said) is not None
    head = _words(head_text, is_pin=is_pin, first=True)
    rest = _words(rest_text, is_pin=is_pin, first=text.startswith(rest_text[:20]))
    if is_pin:
        _told_apart(head, rest)
    else:
        _tell_places(head)
    stems = frozenset(head.stems) or inherited
    denials = len(patterns.DENIAL.findall(patterns.NOT_DENIED.sub(" ", said)))
    told = head.stems or head.pale
    only_denied = told == head.denying or not (rest.stems or rest.denying or rest.pale)
    denials += len(rest.denying) + (len(head.denying) if only_denied else 0)
    everything = stems | frozenset((*rest.stems, *head.pale, *rest.pale))
    return Clause(
        head=stems,
        rest=frozenset(rest.stems),
        pale=frozenset((*head.pale, *rest.pale)),
        how=frozenset(rest.pale),
        chosen=() if is_pin else tuple(dict.fromkeys(_choices_of(head, rest, values))),
        values=tuple(values),
        denied=denials % 2 == 1,
        turned=frozenset(rest.turned),
        head_turned=frozenset((*head.turned, *head.denying)),
        head_chosen=frozenset(name for _, name in head.chosen),
        linked=frozenset(patterns.LINK.findall(f" {rest_text} ".lower())),
        rejected=frozenset(_words(other).stems),
        places=frozenset(one for one in everything if one in PLACE_OF),
        files=frozenset((*head.files, *rest.files)),
        is_pair=patterns.PAIR.match(said) is not None,
        is_inherited=not head.stems and bool(inherited),
        is_open=patterns.OPEN.search(said) is not None,
        is_strict=patterns.MODAL.search(said) is not None,
        is_also=patterns.ALSO.search(said) is not None,
        is_all=patterns.ALL.search(said) is not None,
        is_only=patterns.ONLY.search(said) is not None,
        is_only_head=bool(head.stems) and patterns.ONLY.match(said) is not None,
        is_pin=is_pin,
        qualifiers=frozenset(_qualifiers(masked)),
        names=frozenset((*head.names, *rest.names)),
        past=when.past and not patterns.NOW.search(said),
        future=when.future,
        marks=when.marks,
    )


def _without_else(text: str) -> tuple[str, str]:
    """Split off the rejected alternative.

    Examples: "use X instead of Y", "replaced Y by X", "prefer X over Y". Returns the asserted text and the rejected
    one.
    """
    for pattern in (patterns.CHANGED, patterns.REPLACED):
        if match := pattern.search(text):
            return f"{text[: match.start()]} {match['new']} {text[match.end() :]}", match["old"]
    match = patterns.ELSE.search(text)
    if match is None or not text[: match.start()].strip():
        return text, ""
    tail = re.split(r"\s+(?=(?:in|for|on|when|at)\b)|[,;]", text[match.end() :], maxsplit=1)
    kept = f"{text[: match.start()]} {tail[1] if len(tail) > 1 else ''}"
    if "favo" in match[0].lower():  # "dropped Y in favour of X"
        return tail[0], text[: match.start()]
    return kept, tail[0]


def _masked(text: str, values: list[Value]) -> str:
    pieces, at = [], 0
    for value in sorted(values, key=lambda one: one.at):
        if value.at >= at:
            pieces.append(text[at : value.at])
            at = value.end
    return " ".join((*pieces, text[at:]))


def _divided(text: str) -> tuple[str, str]:
    """Split a clause into subject and predicate.

    The subject of an imperative is what follows "for", if anything.
    """
    if patterns.IMPERATIVE.match(text) and not patterns.NOUN_FIRST.match(text):
        match = re.search(r"\bfor (?:the |all |our )?(.+)$", text, re.I)
        return (match[1], text[: match.start()]) if match else ("", text)
    match = patterns.VERB.search(f"{text} ") or patterns.PERHAPS_VERB.search(f"{text} ")
    if match is None or match.start() == 0:
        return "", text
    return text[: match.start()], text[match.start() :]


def _words(text: str, *, is_pin: bool = False, first: bool = True) -> _Words:
    found = _Words()
    if not is_pin:
        text = _without_phrases(text, found)
    for match in patterns.WORD.finditer(text):
        word = match[0].rstrip(".:")
        lower = word.lower()
        is_name = word[:1].isupper() and not (first and not text[: match.start()].strip())
        if lower in ("on", "off") and _is_switch(text, match):
            pass
        elif _passed_over(word, lower, is_pin):
            continue
        if patterns.FILE.match(lower):
            found.files.append(lower)
            continue
        for part in (word,) if is_pin else _told_parts(word):
            _take(part, found, text[: match.start()], is_pin=is_pin, is_name=is_name)
    return found


def _take(word: str, found: _Words, before: str, *, is_pin: bool, is_name: bool) -> None:
    """Record the class, antonym and stem of one word."""
    lower = word.lower()
    stemmed = canonical_stem(lower)
    choice = class_of(lower) or series_of(lower)
    if choice or (choice := subject_of(lower) if is_name or patterns.OBJECT.search(before) else ""):
        found.chosen.append((choice, stemmed))
    elif not is_pin and (opposite := opposite_of(stemmed, lower)) is not None:
        (found.denying if denied_by(stemmed, lower) else found.turned).append(opposite)
        stemmed = opposite
    if is_name:
        found.names.append(stemmed)
    (found.pale if stemmed in PALE_STEMS else found.stems).append(stemmed)


def _told_parts(word: str) -> tuple[str, ...]:
    """Split a compound that no table knows: "lazy-loaded" equals "lazily loaded"."""
    lower = word.lower()
    if "-" not in word or lower in COMPOUNDS or not word.replace("-", "").isalpha() or class_of(lower):
        return (word,)
    if opposite_of(canonical_stem(lower), lower) is not None:
        return (word,)
    return tuple(part for part in word.split("-") if part.lower() not in STATEMENT_STOP_WORDS) or (word,)


def _choices_of(head: _Words, rest: _Words, values: list[Value]) -> Iterator[tuple[str, str]]:
    """Yield the chosen alternatives.

    A language or runtime with a version is left out: the version says what is required of it.
    """
    versioned = any(value.is_version for value in values)
    return (
        (kind, name)
        for kind, name in (*head.chosen, *rest.chosen)
        if not (versioned and kind in ("language", "runtime"))
    )


def _told_apart(head: _Words, rest: _Words) -> None:
    """Mark the second occurrence of a stem as another word.

    A project that requires a package of its own name says that name twice.
    """
    seen: set[str] = set()
    for stems in (head.stems, head.pale, rest.stems, rest.pale):
        for index, one in enumerate(stems):
            stems[index] = f"{one} again" if one in seen else one
            seen.add(one)


def _tell_places(head: _Words) -> None:
    """Treat low-information words as distinctive in a subject: the read timeout."""
    for one in [one for one in head.pale if one in PLACE_OF]:
        head.pale.remove(one)
        head.stems.append(one)


def _passed_over(word: str, lower: str, is_pin: bool) -> bool:
    """Return True for words that name nothing.

    Two capitals are a name: US.
    """
    if is_pin:
        return lower in FRAME_WORDS
    return (
        (lower in STATEMENT_STOP_WORDS and not (word.isupper() and len(word) > 1))
        or lower in NUMBER_WORDS
        or lower in UNITS
    )


def _qualifiers(text: str) -> Iterator[str]:
    for match in patterns.QUALIFIER.finditer(text):
        for word in match[1].split():
            if word.lower() not in STATEMENT_STOP_WORDS:
                yield canonical_stem(word.lower().rstrip(".:"))


def _without_phrases(text: str, found: _Words) -> str:
    """Move word pairs that name one tool to `roles`."""
    for match in list(patterns.PHRASE.finditer(text)):
        lower = f"{match[1]} {match[2]}".lower()
        if match[1].lower() not in STATEMENT_STOP_WORDS and (choice := class_of(lower)):
            found.chosen.append((choice, lower))
            found.stems.append(lower)
            text = text[: match.start()] + " " * len(lower) + text[match.start() + len(lower) :]
    return text


def _is_switch(text: str, match: re.Match[str]) -> bool:
    """Return True if "on" or "off" states that something is switched."""
    after = text[match.end() :].lower().strip(" .,;)")
    if match[0].lower() == "off":
        return not after.startswith("of ")
    return not after or after.startswith(("by default", "in ", "for ", "at "))


PALE_STEMS: Final = frozenset(canonical_stem(word) for word in PALE)
FRAME_WORDS: Final = frozenset(
    """
    a an the of in on at to for is are be was it depends depend requires require requirement requirements pins
    pin pinned sets set by with dependency dependencies
    """.split()  # noqa: SIM905 - one word after the other reads best
)
