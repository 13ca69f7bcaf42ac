"""Redaction of secrets before text is stored, logged, embedded or sent.

Secrets are replaced by `[redacted:kind]`. A secret is recognised by its own format (from a table of formats), by a
word that announces it (`password = …`), by its position (`scheme://user:password@host`, an Authorization header, a
key block), or by any of these inside base64. Ordinary hashes, UUIDs, lock files and digests match none of these and
are kept.
"""

from __future__ import annotations

import base64
import binascii
import bisect
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hunchd.ingestion import redaction_rules as rules
from hunchd.ingestion import redaction_values as values
from hunchd.ingestion.redaction_commands import find_in_commands
from hunchd.ingestion.redaction_fields import find_in_fields
from hunchd.ingestion.redaction_prose import STEMS, find_in_prose, find_named_in_prose
from hunchd.ingestion.redaction_words import compile_any


@dataclass(frozen=True, slots=True)
class RedactedText:
    """Text without its secrets.

    `kinds` lists the kind of each secret that was removed, in order of removal.
    """

    text: str
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True, order=True)
class _Span:
    start: int
    end: int
    kind: str


# No secret with a known format is shorter than this; most lines have no such run and need no further checks.
_LONG_RUN = re.compile(r"[A-Za-z0-9+/_=.~$:-]{16}")
_DIGIT = re.compile(r"\d")
# Without one of these in it, a line of ASCII has no name of a secret.
_ANY_STEM = compile_any((*STEMS, *rules.ANNOUNCER_STEMS, *rules.OTHER_STEMS))
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{20,65536}={0,2}")
_WRAPPED_BASE64 = re.compile(
    r"(?:^[ \t+]{0,12}[A-Za-z0-9+/]{56,76}\r?$\n){1,2000}[ \t+]{0,12}[A-Za-z0-9+/]{1,76}={0,2}", re.MULTILINE
)
_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_MARK = "[redacted:"
_PLACEHOLDER_KIND = re.compile(r"\[redacted:([a-z0-9-]+)\]")
# A private key block ends at its end mark, a truncated block with the last line that looks like a key.
_MAX_KEY = 20_000  # characters: an RSA key of 16,384 bits has 13,000
_KEY_END = re.compile(
    r"-----END[ A-Z0-9]{0,40}(?:PRIVATE KEY(?: BLOCK)?|Static key V\d)-----|Private-MAC: [0-9a-f]{20,80}"
)
_KEY_LINE = re.compile(r"(?:\\n|[\s+>|\"'-]){0,80}+[A-Za-z0-9+/=]{16,200}")
_LONGEST_NAME = 200  # characters
_MAX_PASSES = 4
_MAX_DEPTH = 100  # levels of lists and objects in one value


def redact(text: str) -> RedactedText:
    """Replace the secrets in `text` with placeholders.

    The function is idempotent and takes time linear in the length of the text.
    """
    kinds: tuple[str, ...] = ()
    for _ in range(_MAX_PASSES):  # a secret may be recognizable only after its neighbour is redacted
        redaction = _redact_once(text)
        if not redaction.kinds:
            break
        text, kinds = redaction.text, (*kinds, *redaction.kinds)
    return RedactedText(text, kinds)


def _redact_once(text: str) -> RedactedText:
    spans = _merge_spans(list(_find_spans(text)))
    if not spans:
        return RedactedText(text, ())
    parts: list[str] = []
    end = 0
    for span in spans:
        parts += (text[end : span.start], f"{_MARK}{span.kind}]")
        end = span.end
    return RedactedText("".join((*parts, text[end:])), tuple(span.kind for span in spans))


def find_new_redactions(before: str, after: str) -> tuple[str, ...]:
    """Return the kinds of secrets that are redacted in `after` but not in `before`.

    `before` is the text as the client sent it, which may already contain placeholders.
    """
    new_counts = Counter(_PLACEHOLDER_KIND.findall(after)) - Counter(_PLACEHOLDER_KIND.findall(before))
    return tuple(new_counts)


@lru_cache(maxsize=1 << 14)
def redact_name(name: str) -> str:
    """Redact a recurring name, such as that of a person or branch.

    Results are cached.
    """
    return redact(name).text


def redact_values(value: Any) -> tuple[Any, tuple[str, ...]]:
    """Redact the strings and keys in a JSON value.

    Returns the new value and the kinds of secrets removed. A string under a key such as "password" is checked
    together with its key.
    """
    kinds: list[str] = []
    return _redact_value(value, "", kinds, 0), tuple(kinds)


def _redact_value(value: Any, key: str, kinds: list[str], depth: int) -> Any:
    if isinstance(value, str):
        return _redact_string(value, key, kinds)
    if depth >= _MAX_DEPTH and isinstance(value, (dict, list, tuple)):
        kinds.append("too-deep")
        return f"{_MARK}too-deep]"
    if isinstance(value, dict):
        return {
            _redact_string(str(name), "", kinds): _redact_value(item, str(name), kinds, depth + 1)
            for name, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_redact_value(item, key, kinds, depth + 1) for item in value]
    return value


def _redact_string(text: str, key: str, kinds: list[str]) -> str:
    if (
        key
        and "\n" not in text
        and (kind := rules.find_announced_kind(key))
        and values.looks_secret(text, kind, is_quoted=True)
    ):
        kinds.append(_placeholder_kind(kind))
        return f"{_MARK}{_placeholder_kind(kind)}]"
    redaction = redact(text)
    kinds += redaction.kinds
    return redaction.text


def _placeholder_kind(kind: str) -> str:
    """Return the kind to show in the placeholder for an announced secret."""
    return "secret" if kind == "key" else kind


def _find_spans(text: str, *, decode: bool = True) -> Iterator[_Span]:
    lower = text.lower()
    if len(lower) != len(text):  # a few capitals have longer lower-case forms, but positions in both texts must agree
        lower = text.translate(_ASCII_LOWER)
    if _LONG_RUN.search(text):
        yield from _find_by_format(text)
        yield from _find_key_blocks(text)
        if decode:
            yield from _find_in_base64(text)
    if "://" in text and "@" in text:
        yield from _find_in_urls(text)
    has_stem = not lower.isascii() or _ANY_STEM.search(lower) is not None
    for stem, pattern in rules.LOGINS if has_stem else ():
        if stem.search(lower):
            yield from (
                _Span(*match.span("secret"), "password")
                for match in pattern.finditer(text)
                if values.looks_secret(match["secret"], "password", is_quoted=False)
                or values.is_respelt(match["secret"])
                or values.is_numbered(match["secret"])
            )
    yield from (_Span(*span, "password") for span in find_in_prose(text, lower))
    if has_stem:
        yield from (_Span(*span, "password") for span in find_named_in_prose(text, lower))
    if "authorization" in lower or "bearer" in lower or "basic " in lower:
        yield from _find_in_headers(text)
    if has_stem:
        yield from _find_announced(text, lower)
    yield from (_Span(start, end, _placeholder_kind(kind)) for start, end, kind in find_in_fields(text, lower))
    yield from (_Span(start, end, kind) for start, end, kind in find_in_commands(text, lower))
    if _DIGIT.search(text):
        yield from _find_chosen(text, lower)
        if has_stem:
            yield from _find_in_prose_about_secrets(text, lower)


def _find_by_format(text: str) -> Iterator[_Span]:
    rows = rules.FORMATS_BY_LITERAL if rules.LONG_LITERAL.search(text) else rules.FORMATS_BY_SHORT_LITERAL
    for row in dict.fromkeys([row for literal, row in rows if literal in text]):
        for match in row.pattern.finditer(text):
            group = 1 if match.re.groups else 0
            secret = match.group(group)
            if row.kind == "prefixed-key" and not values.is_random(secret):
                continue
            if _MARK not in secret and not values.is_monotonous(secret) and not (group and values.is_words(secret)):
                yield _Span(*match.span(group), row.kind)


def _find_key_blocks(text: str) -> Iterator[_Span]:
    if "-----BEGIN" in text or "PuTTY-User-Key" in text:
        ends = [closing.end() for closing in _KEY_END.finditer(text)]
        end = 0
        for start_match in rules.PRIVATE_KEY.finditer(text):
            if start_match.start() >= end:
                end = _find_key_end(text, start_match.end(), ends)
                if end > start_match.end():
                    yield _Span(start_match.start(), end, "private-key")
    for match in rules.ENCODED_KEY.finditer(text):
        yield _Span(*match.span(), "private-key")


def _find_key_end(text: str, start: int, ends: list[int]) -> int:
    following = bisect.bisect_right(ends, start)
    if following < len(ends) and ends[following] - start <= _MAX_KEY:
        return ends[following]
    end = start
    while line := _KEY_LINE.match(text, end, start + _MAX_KEY):
        end = line.end()
    return end


def _find_in_urls(text: str) -> Iterator[_Span]:
    for match in rules.URL_PASSWORD.finditer(text):
        user, password = match[0].removeprefix("://").partition(":")[0], match[1]
        if not (values.is_placeholder(password) or values.is_stand_in(password, user) or password.isdigit()):
            yield _Span(*match.span(1), "url-password")
    for match in rules.URL_TOKEN.finditer(text):
        if values.is_random(match.group(1)):
            yield _Span(*match.span(1), "url-token")


def _find_in_headers(text: str) -> Iterator[_Span]:
    for pattern in (rules.AUTHORIZATION, rules.BEARER):
        for match in pattern.finditer(text):
            if not values.is_placeholder(match.group(1)) and values.is_random(match.group(1), shortest=12):
                yield _Span(*match.span(1), "authorization")


def _find_chosen(text: str, lower: str) -> Iterator[_Span]:
    """Yield words that look like chosen or generated passwords.

    Examples are `Summer2024!` and `k7#Vx!9q`. A word with special characters between letters and digits is enough
    by itself. For any other word, a second word that may announce a secret must be near it on the same line, or an
    option right before it.
    """
    for word in rules.CHOSEN_WORD.finditer(text):
        end = word.start() + len(word[0].rstrip(".:-"))
        starts = (word.start(), *(text.rfind(mark, word.start(), end) + 1 or end for mark in ":="))
        for start in starts:
            value = text[start:end]
            if value.startswith("SHA256:") or text.endswith("SHA256:", 0, start):
                break  # the fingerprint of a key
            has_shape = values.is_decorated_word(value) or values.is_scrambled(value)
            if values.is_mixed(value) or (has_shape and _is_announced_near(text, lower, start, end)):
                yield _Span(start, end, "password")
                break


def _is_announced_near(text: str, lower: str, start: int, end: int) -> bool:
    line_start = max(text.rfind("\n", 0, start) + 1, start - rules.CONTEXT_REACH)
    line_end = text.find("\n", end, end + rules.CONTEXT_REACH)
    line_end = line_end if line_end >= 0 else end + rules.CONTEXT_REACH
    return (
        rules.SECRET_CONTEXT.search(lower, line_start, start) is not None
        or rules.SECRET_CONTEXT.search(lower, end, line_end) is not None
        or rules.OPTION_BEFORE.search(text, line_start, start) is not None
    )


def _find_in_prose_about_secrets(text: str, lower: str) -> Iterator[_Span]:
    """Yield the values without readable words in sentences that name a secret and are no code."""
    end = 0
    for name in rules.SECRET_NAME.finditer(lower):
        if name.start() < end:
            continue
        start = max(end, name.start() - rules.SENTENCE_REACH)
        for boundary in rules.SENTENCE_END.finditer(text, start, name.start()):
            start = boundary.end()
        following = rules.SENTENCE_END.search(text, name.end(), name.end() + rules.SENTENCE_REACH)
        end = following.start() if following else name.end() + rules.SENTENCE_REACH
        if rules.CODE_MARK.search(text, start, end) or rules.OTHER_TOKEN.search(lower, start, end):
            continue
        for word in rules.SENTENCE_WORD.finditer(text, start, end):
            value = word[0].rstrip(".:?!=-")
            if "**" not in value and not word.start() < name.start() < word.end() and values.is_token(value):
                yield _Span(word.start(), word.start() + len(value), "secret")


def _find_announced(text: str, lower: str) -> Iterator[_Span]:
    for match in rules.VALUE_BEFORE_ANNOUNCER.finditer(text):
        if _is_given_first(match) and not values.is_placeholder(match[1]):
            yield _Span(*match.span(1), "secret")
    end = 0
    for word in rules.find_announcers(lower):
        if word.start() < end:
            continue
        if span := _find_announced_secret(text, word.end(), str(word.lastgroup)):
            yield span
            end = span.end


def _is_given_first(match: re.Match[str]) -> bool:
    value, start = match[1], match.start()
    if values.is_random(value) or values.is_generated(value):
        return True
    is_used = match["password"] is not None and rules.GIVEN_BY.search(match.string, max(0, start - 12), start)
    return bool(is_used) and (
        values.is_chosen(value)
        or values.is_decorated_word(value)
        or values.is_phrase(value)
        or values.is_short_phrase(value)
    )


def _find_announced_secret(text: str, position: int, kind: str) -> _Span | None:
    """Return the secret that the words before `position` announce.

    The secret follows in an assignment or a sentence. Returns None if no value there looks like a secret.
    """
    if match := rules.ASSIGNMENT.match(text, position):
        span = _find_assigned(match, kind)
        if span:
            return span
    for sentence in rules.SENTENCES if kind != "key" else ():
        if (match := sentence.match(text, position)) and (span := _find_in_sentence(match, kind)):
            return span
    return None


def _find_assigned(match: re.Match[str], kind: str) -> _Span | None:
    rest = match.group("rest")
    if rest and rules.OTHER_MEANING_SUFFIX.search(re.split(r"[_.-]", rest)[-1]):
        return None
    group = "quoted" if match.group("quoted") is not None else "bare"
    if group == "bare" and match.group("after") in ("(", "["):
        return None
    if group == "bare":
        return _find_unquoted(match, kind)
    if not values.looks_secret(match.group(group), kind, is_quoted=True):
        return None
    return _Span(*match.span(group), _placeholder_kind(kind))


def _find_in_sentence(match: re.Match[str], kind: str) -> _Span | None:
    value = _cut_value(match, kind)
    if match.string.startswith(("(", "["), match.end("bare")):
        return None
    if match.group("sign") is None and not (
        values.is_random(value)
        or values.is_scrambled(value)
        or values.is_generated(value, density=0.3 if kind == "password" else 0.4)
        or (
            match.group("words") == ""
            and (values.is_respelt(value) or values.is_phrase(value) or values.is_chosen(value))
        )
        or (match.group("words") == "" and kind == "password" and values.is_short_scramble(value))
        or (kind == "password" and values.is_chosen(value) and rules.FOR_TARGET.fullmatch(match["words"]))
    ):
        return None
    is_verb = match["sign"] is not None and match["sign"].strip() not in (":", "：", "=")
    is_short = (
        values.is_respelt(value)
        or values.is_short_scramble(value)
        or values.is_short_phrase(value)
        or (is_verb and values.is_numbered(value))
    )
    if kind == "password" and is_short and not values.is_placeholder(value):
        return _Span(match.start("bare"), match.start("bare") + len(value), kind)
    return _find_unquoted(match, kind)


def _find_unquoted(match: re.Match[str], kind: str) -> _Span | None:
    value = _cut_value(match, kind)
    if not values.looks_secret(value, kind, is_quoted=False) and not (
        kind == "password"
        and (
            (_is_literal(match) and values.is_literal_password(value))
            or (values.is_numbered(value) and not rules.CODE_MARK.search(_get_line(match)))
        )
    ):
        return None
    end = match.start("bare") + len(value)
    if end == match.end("bare") and (rest := rules.VALUE_END.match(match.string, end)):
        end = rest.end()
    return _Span(match.start("bare"), end, _placeholder_kind(kind))


def _get_line(match: re.Match[str]) -> str:
    """Return the line of a match, or the nearest _LONGEST_NAME characters of it on each side."""
    first, last = max(0, match.start() - _LONGEST_NAME), match.end() + _LONGEST_NAME
    start, end = match.string.rfind("\n", first, match.start()), match.string.find("\n", match.end(), last)
    return match.string[max(start + 1, first) : end if end >= 0 else last]


def _is_literal(match: re.Match[str]) -> bool:
    """Return True if no code can stand at the place of the value of an assignment."""
    if match.string[match.start() : match.start("bare")] not in ("=", ">"):
        return False
    line_start = max(match.string.rfind("\n", 0, match.start()) + 1, match.start() - _LONGEST_NAME)
    return rules.LITERAL_NAME.search(match.string[line_start : match.start()]) is not None


def _cut_value(match: re.Match[str], kind: str) -> str:
    """Cut an unquoted value at its end.

    This is the punctuation at the end of a sentence, or words that follow without a space.
    """
    value = match.group("bare")
    if ascii_part := rules.ASCII_PART.match(value):
        value = ascii_part[0]
    return value.rstrip(".:" if kind == "password" else ".:!?")


def _find_in_base64(text: str) -> Iterator[_Span]:
    for match in _WRAPPED_BASE64.finditer(text):
        if kind := _find_encoded_kind(re.sub(r"[\s+]*\n[\s+]*", "", match.group().strip(" \t+"))):
            yield _Span(*match.span(), kind)
    for match in _BASE64.finditer(text):
        if kind := _find_encoded_kind(match.group()):
            yield _Span(*match.span(), kind)


def _find_encoded_kind(encoded_text: str) -> str:
    """Return the kind of the first secret inside base64 text.

    Returns "" if the text contains no secret or is not base64.
    """
    body = encoded_text.rstrip("=").translate({ord("-"): "+", ord("_"): "/"})
    try:
        decoded_bytes = base64.b64decode(body + "=" * (-len(body) % 4), validate=True)
    except (binascii.Error, ValueError):
        return ""
    if not decoded_bytes.isascii():
        return ""
    decoded_text = decoded_bytes.decode("ascii")
    if sum(character.isprintable() or character in "\t\r\n" for character in decoded_text) < len(decoded_text):
        return ""
    return next((span.kind for span in _find_spans(decoded_text, decode=False)), "")


def _merge_spans(spans: list[_Span]) -> list[_Span]:
    """Merge overlapping spans, and return all in order.

    The longer of two overlapping spans determines the kind.
    """
    merged_spans: list[_Span] = []
    for span in sorted(spans):
        last = merged_spans[-1] if merged_spans else None
        if last is None or span.start >= last.end:
            merged_spans.append(span)
            continue
        kind = last.kind if last.end - last.start >= span.end - span.start else span.kind
        merged_spans[-1] = _Span(last.start, max(last.end, span.end), kind)
    return merged_spans
