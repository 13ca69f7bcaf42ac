"""Decoder that converts untrusted bytes to plain JSON values.

Hostile input is rejected before it can consume much time or memory.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final, NoReturn

from hunchd.domain.errors import InvalidInput
from hunchd.domain.json_values import JsonObject

# More than any of our messages has (7), far below the interpreter's recursion limit.
MAX_DEPTH: Final = 64
# The range of the store's integers: a signed 64-bit column.
MAX_INTEGER: Final = 2**63 - 1

_BRACES_AS_BRACKETS = bytes.maketrans(b"{}", b"[]")
_ALL_BUT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class MalformedRequest(InvalidInput):
    """Raised for a request that is not JSON, or is ambiguous JSON.

    Ambiguous JSON, such as an object with a duplicate key, is read differently by different parsers.
    """

    code = "malformed"


def unknown_cursor() -> InvalidInput:
    """Return the error for a pagination cursor that the daemon did not issue."""
    return InvalidInput("unknown cursor; start again without a cursor", field="cursor")


def decode_json(raw: bytes) -> Any:
    """Decode the JSON value in `raw`.

    Raises MalformedRequest if `raw` is empty, is not UTF-8 or not JSON, or contains duplicate keys, NaN, infinity,
    integers beyond 64 bits, or nesting deeper than MAX_DEPTH. Never raises RecursionError.
    """
    if not raw.strip():
        raise MalformedRequest("the body is empty; send JSON")
    if nests_deeper_than(raw, MAX_DEPTH):
        raise MalformedRequest(f"the JSON nests deeper than {MAX_DEPTH} levels, or its brackets do not match")
    try:
        return _DECODER.decode(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise MalformedRequest(f"the body is not UTF-8 (byte {error.start})") from error
    except json.JSONDecodeError as error:
        raise MalformedRequest(
            f"the body is not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        ) from error


def nests_deeper_than(raw: bytes, depth: int) -> bool:
    """Return True if brackets do not match or nest deeper than `depth`.

    Brackets inside strings do not count. Takes linear time, without recursion. Text with at most `depth` opening
    brackets is accepted without a closer look.
    """
    if raw.count(b"[") + raw.count(b"{") <= depth:
        return False
    # Without escapes each quotation mark opens or closes: every second part lies outside strings.
    outside = raw.replace(rb"\\", b"").replace(rb"\"", b"").replace(b'""', b"").split(b'"')[::2]
    brackets = b"".join(outside).translate(_BRACES_AS_BRACKETS, _ALL_BUT_BRACKETS)
    for _ in range(depth):
        outer = brackets.replace(b"[]", b"")  # without its innermost level
        if len(outer) in (0, len(brackets)):
            return bool(outer)
        brackets = outer
    return True


def reject_unstorable(value: Any, field: str) -> None:
    """Raise MalformedRequest if `value` contains NUL or an unpaired surrogate.

    Both keys and values are checked, at all depths. `field` is the name by which error messages refer to the value.
    """
    match value:
        case str():
            _reject_unstorable_text(value, field)
        case dict():
            for key, inner in value.items():
                _reject_unstorable_text(key, field)
                reject_unstorable(inner, f"{field}.{key}" if field else key)
        case list():
            for index, inner in enumerate(value):
                reject_unstorable(inner, f"{field}[{index}]")


def without_lone_surrogates(value: Any) -> Any:
    """Return the JSON value with each lone surrogate replaced by U+FFFD.

    A lone surrogate is one half of a character. It results from an escape sequence that was cut off in the middle.
    """
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [without_lone_surrogates(each) for each in value]
    if isinstance(value, dict):
        return {without_lone_surrogates(name): without_lone_surrogates(each) for name, each in value.items()}
    return value


def _reject_unstorable_text(text: str, field: str) -> None:
    if text.isascii():
        unstorable = "\0" in text
    else:
        unstorable = "\0" in text or any("\ud800" <= character <= "\udfff" for character in text)
    if unstorable:
        printable_field = field.encode("ascii", "backslashreplace").decode()[:80]
        raise MalformedRequest(
            "the string contains NUL or an unpaired surrogate; send valid Unicode",
            field=printable_field or None,
        )


def _build_object(pairs: list[tuple[str, Any]]) -> JsonObject:
    result = dict(pairs)
    if len(result) != len(pairs):
        keys = [key for key, _ in pairs]
        duplicate = next(key for key in keys if keys.count(key) > 1)
        raise MalformedRequest(f"the key {duplicate[:40]!a} appears twice in the same object")
    return result


def _parse_integer(digits: str) -> int:
    if len(digits) > 20 or abs(number := int(digits)) > MAX_INTEGER:
        raise MalformedRequest("an integer exceeds 64 bits")
    return number


def _parse_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise MalformedRequest("a number is too large to be represented")
    return number


def _reject_constant(name: str) -> NoReturn:
    raise MalformedRequest(f"{name} is not JSON; numbers must be finite")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_build_object, parse_int=_parse_integer, parse_float=_parse_float, parse_constant=_reject_constant
)
