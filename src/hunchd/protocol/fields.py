"""Reader for the fields of a JSON object or query string.

Each error names the field and the allowed values.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Self, TypeVar
from urllib.parse import parse_qsl

from hunchd.domain.errors import InvalidInput, NotFound
from hunchd.domain.json_values import JsonObject
from hunchd.protocol.decoding import MAX_INTEGER, MalformedRequest, reject_unstorable
from hunchd.protocol.responses import Rejection, make_rejection

# A longer text is a file, not a memory. Traces and commands are shortened to this limit; contents are rejected.
MAX_TEXT_BYTES: Final = 64 * 1024  # bytes of UTF-8
MAX_NAME_CHARACTERS: Final = 1024  # characters of a title, branch, key, query word, …
MAX_LIST_ENTRIES: Final = 200  # entries of tags, open files, links, …

# Clocks without a battery say 1970, before any repository existed.
MIN_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)
MAX_TIME: Final = datetime(2100, 1, 1, tzinfo=UTC)

# Unknown fields may be ignored, because newer clients send them. One this similar to a missing field is rejected.
_MISSPELLING_CUTOFF: Final = 0.8


ParsedT = TypeVar("ParsedT")
ProjectLookup = Callable[[str], object]  # raises NotFound for an unknown project


class Fields:
    """Fields of one JSON object or query string.

    `field_names` are the known fields; a null value counts as an omitted field. `prefix` precedes the field names in
    errors ("memories[2]."). `textual` is True for a query string, in which all values are text. With `strict`, all
    unknown fields are rejected; otherwise only those whose name resembles a known field that is missing.
    """

    def __init__(
        self, raw: Any, field_names: Sequence[str], *, prefix: str = "", textual: bool = False, strict: bool = False
    ) -> None:
        if not isinstance(raw, dict):
            raise InvalidInput(
                f"expected a JSON object with {', '.join(field_names)}; got {describe_json_type(raw)}",
                field=prefix.rstrip(".") or None,
            )
        self._prefix = prefix
        self._textual = textual
        self._noun = "parameter" if textual else "field"
        reject_unstorable(raw, prefix.rstrip("."))
        self._values: Mapping[str, Any] = {key: value for key, value in raw.items() if value is not None}
        self._reject_misspellings(field_names, strict=strict)

    @classmethod
    def from_query(cls, query: str, field_names: Sequence[str], *, strict: bool = False) -> Self:
        """Parse a query string.

        Numbers are written as digits, lists are separated by commas, and an empty value counts as omitted.
        """
        try:
            pairs = parse_qsl(query, errors="strict", max_num_fields=100)
        except UnicodeDecodeError as error:
            raise MalformedRequest(
                "the query string is not UTF-8; file names that are not UTF-8 are not supported"
            ) from error
        except ValueError as error:
            raise MalformedRequest(
                "the query string is not valid: broken percent-encoding, or more than 100 fields"
            ) from error
        duplicates = {name for name, _ in pairs if sum(name == other for other, _ in pairs) > 1}
        if duplicates:
            raise MalformedRequest(
                f"the query string contains {min(duplicates)[:40]!a} twice", field=ascii(min(duplicates)[:40])[1:-1]
            )
        return cls(dict(pairs), field_names, textual=True, strict=strict)

    def has(self, name: str) -> bool:
        return name in self._values

    def get_required_text(self, name: str, *, limit: int = MAX_NAME_CHARACTERS) -> str:
        text = self.get_text(name, limit=limit)
        if text is None or not text.strip():
            reason = "is missing; it must be a non-empty string" if text is None else "must be a non-empty string"
            raise self.error(name, reason)
        return text

    def get_text(self, name: str, *, limit: int = MAX_NAME_CHARACTERS) -> str | None:
        """Return the string, or None if the field is omitted.

        `limit` is in bytes of UTF-8.
        """
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.error(name, f"must be a string; got {describe_json_type(value)}")
        if len(value) * 4 > limit and len(value.encode()) > limit:
            raise self.error(name, f"is longer than {limit:,} bytes")
        return value

    def named_text(self, name: str, *, limit: int) -> str | None:
        """Return the non-empty string, or None if the field is omitted.

        Raises InvalidInput if the string is empty.
        """
        value = self.get_text(name, limit=limit)
        if value is not None and not value.strip():
            instruction = "name a project" if name == "project" else "send a non-empty string"
            raise self.error(name, f"is empty; {instruction} or leave it out")
        return value

    def get_shortened_text(self, name: str, *, limit: int = MAX_TEXT_BYTES) -> str | None:
        """Return the string, or None if the field is omitted.

        Unlike in `get_text`, a string that is too long is shortened in the middle instead of being rejected.
        """
        value = self.get_text(name, limit=2**62)
        return None if value is None else shorten_middle(value, limit)

    def get_integer(self, name: str, default: int, *, low: int, high: int) -> int:
        value = self.get_optional_integer(name, low=low, high=high)
        return default if value is None else value

    def get_optional_integer(self, name: str, *, low: int = -MAX_INTEGER, high: int = MAX_INTEGER) -> int | None:
        value = self._values.get(name)
        if value is None:
            return None
        if self._textual and isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,18}", value):
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # from clients whose only number type is a float
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.error(name, f"must be an integer from {low:,} to {high:,}; got {format_rejected_value(value)}")
        return value

    def get_fraction(self, name: str, default: float) -> float:
        value = self._values.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise self.error(name, f"must be a number from 0 to 1; got {format_rejected_value(value)}")
        return float(value)

    def get_choice(self, name: str, choices: Sequence[str], default: str | None = None) -> str:
        value = self._values.get(name, default)
        if value is None:
            raise self.error(name, f"is missing; allowed: {', '.join(choices)}")
        return self._check_choice(name, value, choices)

    def get_choices(self, name: str, choices: Sequence[str]) -> tuple[str, ...]:
        return tuple(self._check_choice(name, value, choices) for value in self.get_texts(name))

    def get_texts(
        self, name: str, *, limit: int = MAX_NAME_CHARACTERS, max_entries: int = MAX_LIST_ENTRIES
    ) -> tuple[str, ...]:
        """Return a list of strings, leaving out the empty ones.

        Returns () if the field is omitted. `limit` is the maximum number of characters in each string.
        """
        value = self._values.get(name, [])
        if self._textual and isinstance(value, str):
            value = [part.strip() for part in value.split(",")]
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.error(name, f"must be a list of strings; got {describe_json_type(value)}")
        if len(value) > max_entries or any(len(each) > limit for each in value):
            raise self.error(name, f"may contain at most {max_entries} strings of at most {limit:,} characters")
        return tuple(each for each in value if each.strip())

    def get_objects(self, name: str, *, max_entries: int) -> list[Any]:
        """Return the unchecked entries of a list, or [] if it is omitted."""
        value = self._values.get(name, [])
        if not isinstance(value, list):
            raise self.error(name, f"must be a list; got {describe_json_type(value)}")
        if len(value) > max_entries:
            raise self.error(name, f"may contain at most {max_entries:,} entries; got {len(value):,}")
        return value

    def flag(self, name: str) -> bool | None:
        value = self._values.get(name)
        if value is not None and not isinstance(value, bool):
            raise self.error(name, "must be true or false")
        return value

    def value(self, name: str) -> Any:
        """Return the unchecked value, or None if the field is omitted."""
        return self._values.get(name)

    def get_mapping(self, name: str, *, limit: int = MAX_TEXT_BYTES) -> JsonObject:
        """Return a JSON object without checking its fields.

        Returns {} if the field is omitted. `limit` is the maximum number of characters in the `repr` of the object.
        """
        value = self._values.get(name, {})
        if not isinstance(value, dict) or len(repr(value)) > limit:
            raise self.error(name, f"must be an object of at most {limit:,} characters")
        return value

    def get_time(self, name: str) -> datetime | None:
        """Return a timezone-aware time, or None if the field is omitted.

        The time is in UTC. A time without a timezone is interpreted as UTC.
        """
        value = self._values.get(name)
        if value is None:
            return None
        moment = _parse_time(value)
        if moment is None:
            raise self.error(
                name, f"must be an ISO 8601 time like 2025-01-31T12:00:00Z; got {format_rejected_value(value)}"
            )
        if not MIN_TIME <= moment <= MAX_TIME:
            raise self.error(name, f"must be between 1970 and 2100; got {format_rejected_value(value)}")
        return moment

    def qualified_name(self, name: str) -> str:
        """Return the full name of a field, as used in errors."""
        return f"{self._prefix}{name}"

    def error(self, name: str, reason: str, *, hint: str | None = None) -> InvalidInput:
        """Build the error for a field.

        `reason` completes a sentence that starts with the name of the field.
        """
        field = self.qualified_name(name)
        return InvalidInput(f"'{field}' {reason}", field=field, hint=hint)

    def _check_choice(self, name: str, value: Any, choices: Sequence[str]) -> str:
        if isinstance(value, str) and value in choices:
            return value
        raise self.error(
            name,
            f"is {format_rejected_value(value)}; allowed: {', '.join(each or '(empty)' for each in choices)}",
            hint=suggest_similar(value, choices),
        )

    def _reject_misspellings(self, field_names: Sequence[str], *, strict: bool) -> None:
        missing = [name for name in field_names if name not in self._values]
        for name in self._values:
            if name in field_names:
                continue
            matches = difflib.get_close_matches(name[:80], missing, n=1, cutoff=_MISSPELLING_CUTOFF)
            if matches or strict:
                hint = f"did you mean '{matches[0]}'?" if matches else None
                shown_name = name if matches else ascii(name[:40])[1:-1]
                known = f"allowed: {', '.join(field_names)}" if field_names else f"no {self._noun}s are allowed"
                raise self.error(shown_name, f"is not a known {self._noun}; {known}", hint=hint)


def refuse_unknown_project(project: str, known_projects: ProjectLookup, *, field: str) -> None:
    """Raise NotFound, naming the field, if the project is unknown."""
    try:
        known_projects(project)
    except NotFound as error:
        raise NotFound(error.message, field=field, hint=error.hint) from error


def get_batch(raw: Any, name: str, *, max_entries: int) -> list[Any]:
    """Return the unchecked entries of a JSON object of the form {name: […]}.

    Because the entries are not checked yet, the caller can reject single ones.
    """
    entries = raw.get(name) if isinstance(raw, dict) else None
    if not isinstance(entries, list):
        raise InvalidInput(f'expected {{"{name}": […]}}', field=name)
    if len(entries) > max_entries:
        raise InvalidInput(f"'{name}' may contain at most {max_entries:,} entries; got {len(entries):,}", field=name)
    return entries


def parse_each(entries: Sequence[Any], parse: Callable[[Any, int], ParsedT]) -> tuple[list[ParsedT], list[Rejection]]:
    """Parse the entries of a batch one by one.

    Returns the parsed entries, and the rejected ones with their index. If every entry is rejected, the first error is
    raised.
    """
    parsed_values: list[ParsedT] = []
    rejections: list[Rejection] = []
    first: InvalidInput | NotFound | None = None
    for index, entry in enumerate(entries):
        try:
            parsed_values.append(parse(entry, index))
        except (InvalidInput, NotFound) as error:
            first = first or error
            rejections.append(make_rejection(index, error))
    if first is not None and not parsed_values:
        raise first
    return parsed_values, rejections


def suggest_similar(value: Any, choices: Sequence[str]) -> str | None:
    """Return "did you mean …?" with a choice that resembles `value`.

    Returns None if no choice is similar.
    """
    normalized_text = str(value)[:80].lower().replace("-", "_").replace(" ", "_")
    matches = difflib.get_close_matches(normalized_text, choices, n=1, cutoff=0.6)
    return f"did you mean '{matches[0]}'?" if matches else None


def shorten_middle(text: str, limit: int = MAX_TEXT_BYTES) -> str:
    """Replace the middle of `text` with a marker if it exceeds `limit` bytes.

    The beginning and the end are kept, because an error report says at its beginning where the error happened and at
    its end what happened.
    """
    raw = text.encode()
    if len(raw) <= limit:
        return text
    marker = f"\n… [{len(raw) - limit:,} bytes left out] …\n"
    half = (limit - len(marker.encode())) // 2
    return raw[:half].decode(errors="ignore") + marker + raw[-half:].decode(errors="ignore")


def describe_json_type(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "an object"


def format_rejected_value(value: Any) -> str:
    """Format a rejected value as short, printable ASCII text."""
    return ascii(value[:60]) if isinstance(value, str) else ascii(value)[:60]


def _parse_time(value: Any) -> datetime | None:
    if not isinstance(value, str) or len(value) > 64:
        return None
    try:
        time = datetime.fromisoformat(value.strip())
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
