"""Detection of secrets that are recognised only by their position.

Such positions are command options, variables, cookies, URL parameters and pipes. The tables of
commands are in secret_commands.toml. For most programs `-p` is a port, and for a few it is a password, so
nothing is inferred from an option without its command. This module does no I/O.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from hunchd.ingestion import redaction_values as values
from hunchd.ingestion.redaction_words import PATTERNS, compile_any

SecretSpan = tuple[int, int, str]  # start, end, kind

# One argument, with or without quotes; the group that matched is the value.
_VALUE: Final = (
    r"(?:'(?P<single>[^'\n]{1,200})'|\"(?P<double>[^\"\n]{1,200})\""
    r"|(?P<bare>[^\s'\"|;&<>()]{1,200}(?:'[^'\n]{1,200}')?))"
)
_ARGUMENTS: Final = r"(?:'[^'\n]{0,300}'|\"[^\"\n]{0,300}\"|\\\n|[^\n|;&'\"]){0,600}"


# A program that compares sums with those that it reads.
_CHECKSUM: Final = r"[ \t]*(?:\w*sum|openssl|gpg)\b[^\n|;]{0,60}?[ \t](?:-c|--check|--verify)(?![\w-])"


def _read_pattern(name: str) -> re.Pattern[str]:
    return re.compile(PATTERNS[name].replace("@VALUE@", _VALUE).replace("@CHECKSUM@", _CHECKSUM))


_TABLES: Final = tomllib.loads(Path(__file__).with_name("secret_commands.toml").read_text("utf-8"))
_PIPED_SECRET: Final = _read_pattern("piped_secret")
_PRINTED_SECRET: Final = _read_pattern("printed_secret")
_STRING: Final = re.compile(rf"<<<[ \t]*{_VALUE}")
_PROMPTED: Final = _read_pattern("prompted")
_HERE_STRING: Final = _read_pattern("here_string")

_COOKIE: Final = _read_pattern("cookie")
_COOKIE_PAIR: Final = _read_pattern("cookie_pair")
_SESSION_COOKIE: Final = _read_pattern("session_cookie")
_SESSION_NAME: Final = compile_any(("sess", "sid", "jwt", "remember", "csrf", "xsrf", "__"))
_SESSION: Final = _read_pattern("session")
_PARAMETER: Final = _read_pattern("parameter")
_LINK: Final = _read_pattern("link")
_VARIABLE: Final = _read_pattern("variable")
_FIELD: Final = _read_pattern("field")
_LONG_OPTION: Final = _read_pattern("long_option")
_OPTION: Final = compile_any(("pass", "pw", "secret", "token", "key", "credential", "otp", "pin"))
_VARIABLE_NAME: Final = compile_any((
    "PASS", "PWD", "PSWD", "SECRET", "TOKEN", "CRED", "AUTH", "KEY", "_PW", "_PAT", "_PIN", "_DSN", "SALT", "PEPPER",
    "COOKIE",
    "SESSION", "HMAC", "JWT", "_SIG",
))  # fmt: skip
_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]*")
_REFERENCE: Final = re.compile(r"^[$%@<{(`]|^\*+$|^-|^\.{1,2}/|^~?/[\w.]+/|^(?:file|env|fd|stdin|prompt):")
_ALL_CAPITALS: Final = re.compile(r"[A-Z][A-Z_-]*")
_PASS_WORD: Final = re.compile(r"(?i)^(?:your|my|the|some|a)?[-_ ]?(?:pass(?:word|wd|phrase)?|secret|token|pw|pwd)$")


def find_in_commands(text: str, lower: str) -> Iterator[SecretSpan]:
    """Yield the secrets at positions where commands, cookies or URLs hold one.

    `lower` is `text` in lower case.
    """
    yield from _find_in_calls(text)
    if "|" in text or "<(" in text:
        for match in _PIPED_SECRET.finditer(text):
            yield from _find_after_mark(match, ":" if "chpasswd" in match[0] else "", "password")
        yield from (
            (*_get_value_span(match), "secret")
            for match in _PRINTED_SECRET.finditer(text)
            if _looks_generated(_get_value(match))
        )
    if "send" in text:
        yield from ((*match.span("bare"), "password") for match in _PROMPTED.finditer(text))
    if "<<<" in text:
        yield from (
            (*_get_value_span(match), "secret")
            for match in _STRING.finditer(text)
            if _looks_generated(_get_value(match))
        )
        for match in _HERE_STRING.finditer(text):
            yield from _find_after_mark(match, ":" if "chpasswd" in match[0] else "", "password")
    if "://" in text:
        for match in _LINK.finditer(text):
            group = "path" if match["path"] else "value"
            if values.is_random(match[group]):
                yield (*match.span(group), "url-parameter")
    if _SESSION_NAME.search(lower) or "\tTRUE\t" in text:
        yield from (
            (*match.span(match.lastgroup or 0), "cookie")
            for match in _SESSION_COOKIE.finditer(text)
            if values.is_random(match[match.lastgroup or 0])
        )
    if "=" in text:
        yield from _find_in_assignments(text, lower)
    if "-" in text and _OPTION.search(lower):
        for match in _LONG_OPTION.finditer(text):
            value = _get_value(match)
            if _is_given(value) and (
                values.is_random(value, shortest=12)
                or ("pass" in match["name"] and (_has_digit(value) or values.is_phrase(value)))
            ):
                yield (*_get_value_span(match), "secret")


def _find_in_assignments(text: str, lower: str) -> Iterator[SecretSpan]:
    if "cookie" in lower or "-b " in text:
        yield from _find_in_cookies(text)
    if "?" in text or "&" in text:
        for match in _PARAMETER.finditer(text):
            if _is_parameter(match["name"], match["value"]):
                yield (*match.span("value"), "url-parameter")
    for match in _FIELD.finditer(text):
        if (
            not _NAME.fullmatch(_get_value(match))
            or values.is_short_phrase(_get_value(match))
            or values.is_letters(_get_value(match))
        ):
            yield (*_get_value_span(match), "password")
    if _VARIABLE_NAME.search(text):
        for match in _VARIABLE.finditer(text):
            if _is_assigned(match["name"], _get_value(match)):
                yield (*_get_value_span(match), "secret")


def _find_in_calls(text: str) -> Iterator[SecretSpan]:
    """Yield the secrets among the arguments of commands.

    A row of the tables is tried only if its command occurs as a word in the text; one pass over the text finds
    these rows.
    """
    words = _NAME.findall(text)
    if _COMMANDS.isdisjoint(words):
        return
    for row in dict.fromkeys(row for word in words for row in _ROWS.get(word, ())):
        for call in row.command.finditer(text):
            for match in row.option.finditer(text, call.start("arguments"), call.end("arguments")):
                mark = row.mark or ("pass:" if _get_value(match).startswith("pass:") else "")
                if mark in _get_value(match):
                    yield from _find_after_mark(match, mark, "basic-credentials" if row.mark else "password")
    for pattern in dict.fromkeys(pattern for word in words for pattern in _POSITIONS.get(word, ())):
        for match in _compile_pattern(pattern).finditer(text):
            yield from _find_after_mark(match, "", "password")


def _find_in_cookies(text: str) -> Iterator[SecretSpan]:
    for cookie in _COOKIE.finditer(text):
        for pair in _COOKIE_PAIR.finditer(text, cookie.start("pairs"), cookie.end("pairs")):
            value = pair["value"]
            is_session_cookie = (
                _SESSION.search(pair["name"]) is not None and _has_digit(value) and not values.is_words(value)
            )
            if _is_given(value) and (is_session_cookie or values.is_random(value)):
                yield (*pair.span("value"), "cookie")


def _find_after_mark(match: re.Match[str], mark: str, kind: str) -> Iterator[SecretSpan]:
    start, end = _get_value_span(match)
    value = match.string[start:end]
    if mark:
        before, found_mark, value = value.partition(mark)
        start += len(before) + len(found_mark)
    if _is_given(value):
        yield start, end, kind


def _get_value_span(match: re.Match[str]) -> tuple[int, int]:
    """Return the span of the value that _VALUE matched, without its quotes."""
    name = next(name for name, value in reversed(match.groupdict().items()) if value is not None and name != "name")
    return match.span(name)


def _get_value(match: re.Match[str]) -> str:
    start, end = _get_value_span(match)
    return match.string[start:end]


def _is_given(value: str) -> bool:
    """Return True if `value` is an actual value.

    A reference such as `$TOKEN`, a placeholder or another option is not.
    """
    return (
        len(value) >= 4
        and not _REFERENCE.search(value)
        and not _ALL_CAPITALS.fullmatch(value)
        and not _PASS_WORD.match(value)
        and not values.is_placeholder(value)
        and not (value.isdigit() and len(value) < 6)
    )


def _looks_generated(value: str) -> bool:
    return values.is_random(value) or values.is_generated(value) or values.is_scrambled(value)


def _has_digit(value: str) -> bool:
    return any(map(str.isdigit, value)) and not value.isdigit()


def _is_parameter(name: str, value: str) -> bool:
    lower = name.lower()
    if not _is_given(value):
        return False
    if lower.startswith("x-") or lower in ("sig", "signature", "code", "ticket", "hmac"):
        return len(value) >= 16 and _has_digit(value) and not values.is_words(value)
    if lower.startswith(("pass", "pwd")):
        return len(value) >= 6 and _has_digit(value) and not values.is_words(value)
    return values.is_random(value)


def _is_assigned(name: str, value: str) -> bool:
    if not _is_given(value):
        return False
    if re.search(r"PASS|PWD|PSWD|_PW", name):
        return len(value) >= 5 and _has_digit(value) and not values.is_words(value)
    return values.is_random(value)


_SEPARATORS: Final = {"*": r"[ \t]*", "!": ""}


def _build_pattern(options: str) -> str:
    names = []
    for option in options.split():
        names.append(re.escape(option.rstrip("*!")) + _SEPARATORS.get(option[-1], r"(?:[ \t]+|=)"))
    return rf"(?<![\w-])(?:{'|'.join(names)}){_VALUE}"


@dataclass(frozen=True, slots=True)
class _CommandRule:
    """Patterns for a command and for those of its options that take a secret.

    If `mark` is not empty, the secret is the part of the value after the mark, as in `user:password`.
    """

    command_names: str
    options: str
    mark: str = ""

    @property
    def command(self) -> re.Pattern[str]:
        return _compile_pattern(self.command_names)

    @property
    def option(self) -> re.Pattern[str]:
        return _compile_pattern(self.options)


@cache
def _compile_pattern(source: str) -> re.Pattern[str]:
    """Compile a pattern and cache it.

    It is compiled only when a text first needs it, because compiling all patterns at once would slow down every start.
    """
    return re.compile(source)


def _index_rows() -> dict[str, tuple[_CommandRule, ...]]:
    """Return the rows of _COMMANDS and _PAIRS, keyed by command name."""
    rows = [*_TABLES["options"], *((words, "", options, mark) for words, options, mark in _TABLES["pairs"])]
    rows_by_word: dict[str, list[_CommandRule]] = {}
    for words, subcommand, options, *mark in rows:
        names = "|".join(map(re.escape, words.split()))
        command_pattern = (
            rf"(?<![\w-])(?:{names})(?![\w-]){' ' * bool(subcommand)}{subcommand}(?P<arguments>{_ARGUMENTS})"
        )
        for word in words.split():
            rows_by_word.setdefault(word, []).append(_CommandRule(command_pattern, _build_pattern(options), *mark))
    return {word: tuple(each) for word, each in rows_by_word.items()}


def _index_positions() -> dict[str, tuple[str, ...]]:
    patterns_by_word: dict[str, list[str]] = {}
    for words, pattern in _TABLES["positions"]:
        for word in words.split():
            patterns_by_word.setdefault(word, []).append(rf"(?<![\w./-]){word}{pattern.replace('<value>', _VALUE)}")
    return {word: tuple(patterns) for word, patterns in patterns_by_word.items()}


_ROWS: Final = _index_rows()
_POSITIONS: Final = _index_positions()
_COMMANDS: Final = _ROWS.keys() | _POSITIONS.keys()
