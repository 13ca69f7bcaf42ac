"""Typed filters as SQL conditions; the only module that writes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from hunchd.domain.filters import Filters
from hunchd.store.database.tables import to_microseconds

NAME_COLUMNS: Final = ("id", "ref", "key")


def build_condition(filters: Filters) -> str:
    """Return the condition for `filters`, by the rules of `domain.filters.matches`."""
    conditions = [
        "project IS NULL" if filters.project is None else f"project = {quote_text(filters.project)}",
        _match_one_of("kind", [kind.value for kind in filters.kinds]),
        _match_one_of("scope", [scope.value for scope in filters.scopes]),
        _match_one_of("status", [status.value for status in filters.statuses]),
        "" if filters.branch is None else f"(branch IS NULL OR branch = {quote_text(filters.branch)})",
        f"array_has_all(tags, [{_quote_list(filters.tags)}])" if filters.tags else "",
        "" if filters.category is None else f"category = {quote_text(filters.category)}",
        "" if filters.key is None else f"key = {quote_text(filters.key)}",
        _match_path_prefix(filters.path_prefix),
        "" if filters.since is None else f"at >= {to_microseconds(filters.since)}",
        "" if filters.until is None else f"at <= {to_microseconds(filters.until)}",
        _match_family(filters.family),
    ]
    if filters.as_of is not None:
        now = to_microseconds(filters.as_of)
        conditions.append(f"coalesce(valid_from, at) <= {now} AND (valid_to IS NULL OR {now} < valid_to)")
    return " AND ".join(condition for condition in conditions if condition)


def match_ids(ids: Iterable[str]) -> str:
    """Return the condition for rows with one of these ids."""
    return _match_one_of("id", ids) or "false"


def match_addresses(addresses: Iterable[int]) -> str:
    """Return the condition for rows at these addresses in the current version."""
    address_list = ", ".join(str(int(address)) for address in addresses)
    return f"_rowid IN ({address_list})" if address_list else "false"


def match_older_than(before: int) -> str:
    """Return the condition for rows older than `before`, in microseconds."""
    return f"at < {before}"


def match_text_digests(digests: Iterable[bytes]) -> str:
    """Return the condition for rows with a vector of these texts."""
    literals = ", ".join(f"X'{digest.hex()}'" for digest in digests)
    return f"embedded AND text_digest IN ({literals})" if literals else "false"


def match_model(model: str) -> str:
    """Return the condition for rows whose vector this model computed.

    Only those can be compared with its queries.
    """
    return f"model = {quote_text(model)}"


def join_conditions(*conditions: str) -> str:
    """Join conditions by AND; empty ones are ignored."""
    return " AND ".join(f"({condition})" for condition in conditions if condition)


def quote_text(text: str) -> str:
    """Quote `text` as a literal; only the single quote needs escaping."""
    sanitized_text = text.encode("utf-8", "replace").decode("utf-8")
    return "'" + sanitized_text.replace("'", "''") + "'"


def _match_one_of(column: str, values: Iterable[str]) -> str:
    literals = _quote_list(values)
    return f"{column} IN ({literals})" if literals else ""


def _quote_list(values: Iterable[str]) -> str:
    return ", ".join(quote_text(value) for value in values)


def _match_family(identifier: str | None) -> str:
    """Return a range condition on ids.

    The index serves it: "/" follows ".".
    """
    if identifier is None:
        return ""
    first, end = quote_text(identifier + "."), quote_text(identifier + "/")
    return f"(id = {quote_text(identifier)} OR (id >= {first} AND id < {end}))"


def _match_path_prefix(prefix: str | None) -> str:
    if prefix is None:
        return ""
    # An empty prefix passes only rows that have a path, as in Python.
    return f"strpos(paths, {quote_text(chr(10) + prefix)}) > 0"
