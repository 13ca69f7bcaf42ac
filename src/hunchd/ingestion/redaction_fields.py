"""Secrets recognised by another field: a column, the first argument of a call, the user in a pair.

This module does no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hunchd.ingestion.redaction_rules import NAMED_VALUE, find_announced_kind
from hunchd.ingestion.redaction_values import is_numbered, is_stand_in, looks_secret

_INSERT: Final = re.compile(
    r"\b(?:into\s{1,4}[\w.\"`\[\]]{1,120}|insert)\s{0,4}\((?P<columns>[\w\s,\"`\[\]]{3,1000})\)\s{0,8}values\s{0,8}",
    re.IGNORECASE,
)
_CELL: Final = (
    r"(?:[ENX]?'(?:[^'\n]|''){0,2000}+'|\"[^\"\n]{0,2000}\""
    r"|[^\s,()'\"]{1,200}+(?:\((?:[^()\n]|\([^()\n]{0,100}\)){0,300}+\))?)"
)
_ROW: Final = re.compile(rf"\s{{0,8}},?\s{{0,8}}\(\s{{0,8}}(?P<cells>(?:{_CELL}\s{{0,8}},?\s{{0,8}}){{1,60}}+)\)")
_EACH_CELL: Final = re.compile(_CELL)
_LITERAL: Final = re.compile(r"['\"]([^'\"\n]{1,2000})['\"]")
_MOST_ROWS: Final = 1000
# A user and a password as neighbouring strings, given to something that logs in.
_PAIR: Final = re.compile(
    r"(?:\bauth(?:entication)?[\"']?\s{0,2}[:=]\s{0,2}[(\[{]|(?:basic_?|digest_?|ntlm_?)auth\w{0,12}\(|(?:credentials?|\bcreds?)\s?=?\s?\(|\blog_?in\w{0,6}\()"
    r"\s{0,4}[bfru]?[\"'](?P<user>[^\"'\s]{1,80})[\"']\s{0,2},\s{0,4}(?:Some\()?[bfru]?[\"'](?P<value>[^\"'\s]{5,80})[\"']",
    re.IGNORECASE,
)
# A text typed into a field, on a line that names the field.
_TYPED_TEXT: Final = re.compile(
    r"(?:pass(?:word|wd|phrase|code)?|\bpwd)[\"'\])}]{0,6}[^\n]{0,60}?\.?\b(?:send_?keys|fill|type|input|enter|set_?value|set_?text)"
    r"\(\s?[\"'`](?P<value>[^\"'`\n]{5,80})[\"'`]",
    re.IGNORECASE,
)
_PAIR_STEMS: Final = ("auth", "cred", "login", "log_in")


def find_in_fields(text: str, lower: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, kind) of secrets whose name is a column, a field or an argument.

    `lower` is `text` in lower case.
    """
    if "insert" in lower:
        yield from _find_in_rows(text)
    if any(stem in lower for stem in _PAIR_STEMS):
        for match in _PAIR.finditer(text):
            if _is_password(match["value"], match["user"]):
                yield (*match.span("value"), "password")
    if ("pass" in lower or "pwd" in lower) and "(" in text:
        for match in _TYPED_TEXT.finditer(text):
            if looks_secret(match["value"], "password", is_quoted=True):
                yield (*match.span("value"), "password")
    if "value" in lower:
        for match in NAMED_VALUE.finditer(text):
            kind = find_announced_kind(match["name"]) or "secret" * ("cookie" in lower)
            if kind and looks_secret(match["value"], kind, is_quoted=True):
                yield (*match.span("value"), kind)


def _is_password(value: str, user: str) -> bool:
    return not is_stand_in(value, user) and (is_numbered(value) or looks_secret(value, "password", is_quoted=False))


def _find_in_rows(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the values of an INSERT statement that stand for columns with secrets."""
    for insert in _INSERT.finditer(text):
        kinds = [find_announced_kind(column) for column in insert["columns"].split(",")]
        if not any(kinds):
            continue
        end = insert.end()
        for _ in range(_MOST_ROWS):
            if (row := _ROW.match(text, end)) is None:
                break
            end = row.end()
            for kind, cell in zip(kinds, _EACH_CELL.finditer(text, *row.span("cells")), strict=False):
                literal = _LITERAL.search(text, *cell.span()) if kind else None
                if literal and looks_secret(literal[1], kind, is_quoted=True):
                    yield (*literal.span(1), kind)
