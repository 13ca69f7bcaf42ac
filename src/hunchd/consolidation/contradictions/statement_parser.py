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
from hunchd.consolidation.contradictions.alternatives import KNOWN_COMPOUNDS, SCOPE_GROUPS, find_class, find_series
from hunchd.consolidation.contradictions.antonyms import find_antonym, find_denied
from hunchd.consolidation.contradictions.lexicon import (
    LOW_INFORMATION_WORDS,
    NUMBER_WORDS,
    PHRASE_SYNONYMS,
    UNITS,
    canonical_stem,
)
from hunchd.consolidation.contradictions.values import Value, parse_values
from hunchd.ingestion.tool_purposes import find_purpose
from hunchd.text.sentences import split_statements
from hunchd.text.words import STATEMENT_STOP_WORDS

MAX_CHARACTERS: Final = 600  # characters of a statement that are parsed
MAX_CLAUSES: Final = 4
CACHE_SIZE: Final = 4_096  # cached results


@dataclass(frozen=True, slots=True)
class Clause:
    """Parsed clause. `subject` and `predicate` are its stems.

    Stems that are one of several known alternatives are also in `choices`, with their class.
    """

    subject: frozenset[str]
    predicate: frozenset[str]
    low_information: frozenset[str]  # low-information words, distinctive in the keys of a manifest only
    low_information_predicate: frozenset[str]  # those of them in the predicate: written, started
    choices: tuple[tuple[str, str], ...]  # (class, name)
    values: tuple[Value, ...]
    is_denied: bool
    antonyms: frozenset[str]  # stems replaced by their antonym
    subject_antonyms: frozenset[str]  # those of them in the subject: "small files"
    subject_choices: frozenset[str]
    prepositions: frozenset[str]  # prepositions after the verb: "by", "with", "in"
    rejected_stems: frozenset[str]  # rejected alternatives: "instead of these"
    scopes: frozenset[str]
    files: frozenset[str]
    is_pair: bool  # K: V
    has_inherited_subject: bool  # its subject is that of the clause before
    is_open: bool  # one of several: supports, can be, also
    is_strict: bool  # must, always, all
    is_addition: bool
    is_only: bool
    is_universal: bool  # every, always
    restricts_subject: bool  # "only" restricts its subject
    is_pin: bool  # a requirement in the form of a manifest
    qualifiers: frozenset[str]  # stems of place or purpose: "in the shop", "for guests"
    proper_names: frozenset[str]  # stems written with a capital letter
    is_past: bool
    is_future: bool
    time_marks: frozenset[str]  # years and versions used as times

    @property
    def core_stems(self) -> frozenset[str]:
        return self.subject | self.predicate

    @property
    def stems(self) -> frozenset[str]:
        return self.subject | self.predicate | self.low_information


@dataclass(slots=True)
class _WordRoles:
    """Words of a text by role, collected while it is parsed."""

    stems: list[str] = field(default_factory=list)
    choices: list[tuple[str, str]] = field(default_factory=list)
    antonyms: list[str] = field(default_factory=list)
    denials: list[str] = field(default_factory=list)
    low_information: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    proper_names: list[str] = field(default_factory=list)


@lru_cache(maxsize=CACHE_SIZE)
def parse_clauses(text: str) -> tuple[Clause, ...]:
    """Parse `text` into clauses; reasons ("because …") are left out."""
    normalized_text = normalize_text(text[:MAX_CHARACTERS])
    clauses: list[Clause] = []
    for sentence in split_statements(normalized_text):
        time = _TimeReference.parse(sentence)
        for part in _split_clauses(sentence):
            clause = _parse_clause(part, clauses[0].subject if clauses else frozenset(), time)
            if clause.stems and not _is_time_frame(part):
                clauses.append(clause)
    return tuple(clauses[:MAX_CLAUSES])


def _is_time_frame(part: str) -> bool:
    """Return True if a part only says when: "until last year: …"."""
    return len(part.split()) <= 4 and (patterns.PAST.search(part) or patterns.FUTURE.search(part)) is not None


@lru_cache(maxsize=1_024)
def normalize_text(text: str) -> str:
    """Remove markup and normalise contractions, denials and periods."""
    text = text.replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"').replace("`", "")
    text = patterns.MARKUP.sub(lambda match: match[1] or "", text)
    text = patterns.ONLY_COMPOUND.sub(r"only \1", text)
    text = patterns.FREQUENCY.sub(lambda match: f"every {patterns.PERIODS[match[1].lower()]}", text)
    text = patterns.EVERY.sub(lambda match: f"every {'0.5' if match[1] else '1'} {match[2]}", text)
    text = patterns.HALF.sub(lambda match: f"0.5 {match[1]}s", text)
    text = patterns.HUNDREDS.sub(_convert_hundreds, text)
    text = patterns.ONE_UNIT.sub(lambda match: f"{match[1]} 1 {match[2]}", text)
    text = re.sub(r"\bcan not\b", "cannot", text, flags=re.IGNORECASE)
    if "'" in text:
        text = re.sub(r"\bcan't\b", "cannot", text, flags=re.IGNORECASE)
        text = re.sub(r"\bwon't\b", "will not", text, flags=re.IGNORECASE)
        text = re.sub(r"n't\b", " not", text, flags=re.IGNORECASE)
    text = re.sub(r"\bno longer\b", "not", text, flags=re.IGNORECASE)
    text = re.sub(r"\s*\bany ?more\b", "", text, flags=re.IGNORECASE)
    text = re.sub(r"\bpy(\d)(\d{1,2})\b", r"python \1.\2", text)
    text = patterns.PHRASE_WORDS.sub(lambda match: PHRASE_SYNONYMS[match[0].lower()], text)
    return re.sub(r"[ \t]+", " ", text).strip()


def _convert_hundreds(match: re.Match[str]) -> str:
    return str(NUMBER_WORDS.get(match[1].strip().lower(), 1) * patterns.MULTIPLIERS[match[2].lower()])


def _split_clauses(text: str) -> Iterator[str]:
    if not patterns.TEMPLATE.search(text):
        text = patterns.CONDITION.sub(lambda match: f"{match[2]} {match[1]}", text.strip())
    for part in patterns.CLAUSES.split(text):
        part = patterns.PREFIX.sub("", patterns.REASON.sub("", patterns.PREFIX.sub("", part or ""))).strip(" .,;!")
        if len(part) > 1:
            yield part


@dataclass(frozen=True, slots=True)
class _TimeReference:
    """Times to which a sentence refers."""

    is_past: bool
    is_future: bool
    time_marks: frozenset[str]  # years and versions used as times

    @classmethod
    def parse(cls, sentence: str) -> _TimeReference:
        time_marks = {
            *patterns.YEARS.findall(sentence),
            *(match.lower() for match in patterns.VERSION_AS_TIME.findall(sentence)),
        }
        past_match = patterns.PAST.search(sentence) or (
            patterns.VERSION_AS_TIME.search(sentence) and patterns.WAS.search(sentence)
        )
        return cls(past_match is not None, patterns.FUTURE.search(sentence) is not None, frozenset(time_marks))


def _parse_clause(text: str, inherited_subject: frozenset[str], time: _TimeReference) -> Clause:
    asserted_text, rejected_text = _split_alternative(text)
    values = parse_values(asserted_text)
    masked_text = _mask_values(asserted_text, values)
    subject_text, predicate_text = _split_subject(masked_text)
    is_pin = patterns.TEMPLATE.search(asserted_text) is not None
    subject = _collect_words(subject_text, is_pin=is_pin, first=True)
    predicate = _collect_words(predicate_text, is_pin=is_pin, first=text.startswith(predicate_text[:20]))
    if is_pin:
        _mark_repetitions(subject, predicate)
    else:
        _promote_scope_words(subject)
    stems = frozenset(subject.stems) or inherited_subject
    denials = len(patterns.DENIAL.findall(patterns.NOT_A_DENIAL.sub(" ", asserted_text)))
    subject_words = subject.stems or subject.low_information
    only_denied = subject_words == subject.denials or not (
        predicate.stems or predicate.denials or predicate.low_information
    )
    denials += len(predicate.denials) + (len(subject.denials) if only_denied else 0)
    all_stems = stems | frozenset((*predicate.stems, *subject.low_information, *predicate.low_information))
    return Clause(
        subject=stems,
        predicate=frozenset(predicate.stems),
        low_information=frozenset((*subject.low_information, *predicate.low_information)),
        low_information_predicate=frozenset(predicate.low_information),
        choices=() if is_pin else tuple(dict.fromkeys(_iter_choices(subject, predicate, values))),
        values=tuple(values),
        is_denied=denials % 2 == 1,
        antonyms=frozenset(predicate.antonyms),
        subject_antonyms=frozenset((*subject.antonyms, *subject.denials)),
        subject_choices=frozenset(name for _, name in subject.choices),
        prepositions=frozenset(patterns.LINK.findall(f" {predicate_text} ".lower())),
        rejected_stems=frozenset(_collect_words(rejected_text).stems),
        scopes=frozenset(one for one in all_stems if one in SCOPE_GROUPS),
        files=frozenset((*subject.files, *predicate.files)),
        is_pair=patterns.PAIR.match(asserted_text) is not None,
        has_inherited_subject=not subject.stems and bool(inherited_subject),
        is_open=patterns.OPEN.search(asserted_text) is not None,
        is_strict=patterns.MODAL.search(asserted_text) is not None,
        is_addition=patterns.ADDITION.search(asserted_text) is not None,
        is_universal=patterns.ALL.search(asserted_text) is not None,
        is_only=patterns.ONLY.search(asserted_text) is not None,
        restricts_subject=bool(subject.stems) and patterns.ONLY.match(asserted_text) is not None,
        is_pin=is_pin,
        qualifiers=frozenset(_iter_qualifiers(masked_text)),
        proper_names=frozenset((*subject.proper_names, *predicate.proper_names)),
        is_past=time.is_past and not patterns.NOW.search(asserted_text),
        is_future=time.is_future,
        time_marks=time.time_marks,
    )


def _split_alternative(text: str) -> tuple[str, str]:
    """Split off the rejected alternative.

    Examples: "use X instead of Y", "replaced Y by X", "prefer X over Y". Returns the asserted text and the rejected
    one.
    """
    for pattern in (patterns.CHANGED_VALUE, patterns.REPLACED_VALUE):
        if match := pattern.search(text):
            return f"{text[: match.start()]} {match['new']} {text[match.end() :]}", match["old"]
    match = patterns.ALTERNATIVE.search(text)
    if match is None or not text[: match.start()].strip():
        return text, ""
    tail = re.split(r"\s+(?=(?:in|for|on|when|at)\b)|[,;]", text[match.end() :], maxsplit=1)
    asserted_text = f"{text[: match.start()]} {tail[1] if len(tail) > 1 else ''}"
    if "favo" in match[0].lower():  # "dropped Y in favour of X"
        return tail[0], text[: match.start()]
    return asserted_text, tail[0]


def _mask_values(text: str, values: list[Value]) -> str:
    pieces, at = [], 0
    for value in sorted(values, key=lambda one: one.start):
        if value.start >= at:
            pieces.append(text[at : value.start])
            at = value.end
    return " ".join((*pieces, text[at:]))


def _split_subject(text: str) -> tuple[str, str]:
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


def _collect_words(text: str, *, is_pin: bool = False, first: bool = True) -> _WordRoles:
    roles = _WordRoles()
    if not is_pin:
        text = _extract_phrases(text, roles)
    for match in patterns.WORD.finditer(text):
        word = match[0].rstrip(".:")
        lower = word.lower()
        is_name = word[:1].isupper() and not (first and not text[: match.start()].strip())
        if lower in ("on", "off") and _is_switch(text, match):
            pass
        elif _is_skipped(word, lower, is_pin):
            continue
        if patterns.FILE.match(lower):
            roles.files.append(lower)
            continue
        for part in (word,) if is_pin else _split_compound(word):
            _add_word(part, roles, text[: match.start()], is_pin=is_pin, is_name=is_name)
    return roles


def _add_word(word: str, roles: _WordRoles, before: str, *, is_pin: bool, is_name: bool) -> None:
    """Record the class, antonym and stem of one word."""
    lower = word.lower()
    word_stem = canonical_stem(lower)
    choice = find_class(lower) or find_series(lower)
    if choice or (choice := find_purpose(lower) if is_name or patterns.OBJECT.search(before) else ""):
        roles.choices.append((choice, word_stem))
    elif not is_pin and (antonym := find_antonym(word_stem, lower)) is not None:
        (roles.denials if find_denied(word_stem, lower) else roles.antonyms).append(antonym)
        word_stem = antonym
    if is_name:
        roles.proper_names.append(word_stem)
    (roles.low_information if word_stem in LOW_INFORMATION_STEMS else roles.stems).append(word_stem)


def _split_compound(word: str) -> tuple[str, ...]:
    """Split a compound that no table knows: "lazy-loaded" equals "lazily loaded"."""
    lower = word.lower()
    if "-" not in word or lower in KNOWN_COMPOUNDS or not word.replace("-", "").isalpha() or find_class(lower):
        return (word,)
    if find_antonym(canonical_stem(lower), lower) is not None:
        return (word,)
    return tuple(part for part in word.split("-") if part.lower() not in STATEMENT_STOP_WORDS) or (word,)


def _iter_choices(subject: _WordRoles, predicate: _WordRoles, values: list[Value]) -> Iterator[tuple[str, str]]:
    """Yield the chosen alternatives.

    A language or runtime with a version is left out: the version says what is required of it.
    """
    has_version = any(value.is_version for value in values)
    return (
        (kind, name)
        for kind, name in (*subject.choices, *predicate.choices)
        if not (has_version and kind in ("language", "runtime"))
    )


def _mark_repetitions(subject: _WordRoles, predicate: _WordRoles) -> None:
    """Mark the second occurrence of a stem as another word.

    A project that requires a package of its own name says that name twice.
    """
    earlier: set[str] = set()
    for stems in (subject.stems, subject.low_information, predicate.stems, predicate.low_information):
        for index, one in enumerate(stems):
            stems[index] = f"{one} again" if one in earlier else one
            earlier.add(one)


def _promote_scope_words(subject: _WordRoles) -> None:
    """Treat low-information words as distinctive in a subject: the read timeout."""
    for one in [one for one in subject.low_information if one in SCOPE_GROUPS]:
        subject.low_information.remove(one)
        subject.stems.append(one)


def _is_skipped(word: str, lower: str, is_pin: bool) -> bool:
    """Return True for words that name nothing.

    Two capitals are a name: US.
    """
    if is_pin:
        return lower in MANIFEST_WORDS
    return (
        (lower in STATEMENT_STOP_WORDS and not (word.isupper() and len(word) > 1))
        or lower in NUMBER_WORDS
        or lower in UNITS
    )


def _iter_qualifiers(text: str) -> Iterator[str]:
    for match in patterns.QUALIFIER.finditer(text):
        for word in match[1].split():
            if word.lower() not in STATEMENT_STOP_WORDS:
                yield canonical_stem(word.lower().rstrip(".:"))


def _extract_phrases(text: str, roles: _WordRoles) -> str:
    """Move word pairs that name one tool to `roles`."""
    for match in list(patterns.PHRASE.finditer(text)):
        lower = f"{match[1]} {match[2]}".lower()
        if match[1].lower() not in STATEMENT_STOP_WORDS and (choice := find_class(lower)):
            roles.choices.append((choice, lower))
            roles.stems.append(lower)
            text = text[: match.start()] + " " * len(lower) + text[match.start() + len(lower) :]
    return text


def _is_switch(text: str, match: re.Match[str]) -> bool:
    """Return True if "on" or "off" states that something is switched."""
    after = text[match.end() :].lower().strip(" .,;)")
    if match[0].lower() == "off":
        return not after.startswith("of ")
    return not after or after.startswith(("by default", "in ", "for ", "at "))


LOW_INFORMATION_STEMS: Final = frozenset(canonical_stem(word) for word in LOW_INFORMATION_WORDS)
MANIFEST_WORDS: Final = frozenset(
    """
    a an the of in on at to for is are be was it depends depend requires require requirement requirements pins
    pin pinned sets set by with dependency dependencies
    """.split()  # noqa: SIM905 - one word after the other reads best
)
