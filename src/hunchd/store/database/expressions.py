"""Typed filters as SQL conditions; the only module that writes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from hunchd.domain.filters import Filters
from hunchd.store.database.tables import microseconds

NAMES: Final = ("id", "ref", "key")


def expression(filters: Filters) -> str:
    """Return the condition for `filters`, by the rules of `domain.filters.matches`."""
    conditions = [
        "project IS NULL" if filters.project is None else f"project = {quoted(filters.project)}",
        _one_of("kind", [kind.value for kind in filters.kinds]),
        _one_of("scope", [scope.value for scope in filters.scopes]),
        _one_of("status", [status.value for status in filters.statuses]),
        "" if filters.branch is None else f"(branch IS NULL OR branch = {quoted(filters.branch)})",
        f"array_has_all(tags, [{_listed(filters.tags)}])" if filters.tags else "",
        "" if filters.category is None else f"category = {quoted(filters.category)}",
        "" if filters.key is None else f"key = {quoted(filters.key)}",
        _under(filters.path_prefix),
        "" if filters.since is None else f"at >= {microseconds(filters.since)}",
        "" if filters.until is None else f"at <= {microseconds(filters.until)}",
        _family(filters.family),
    ]
    if filters.as_of is not None:
        now = microseconds(filters.as_of)
        conditions.append(f"coalesce(valid_from, at) <= {now} AND (valid_to IS NULL OR {now} < valid_to)")
    return " AND ".join(condition for condition in conditions if condition)


def ids_among(ids: Iterable[str]) -> str:
    """Return the condition for rows with one of these ids."""
    return _one_of("id", ids) or "false"


def addresses_among(addresses: Iterable[int]) -> str:
    """Return the condition for rows at these addresses in the current version."""
    listed = ", ".join(str(int(address)) for address in addresses)
    return f"_rowid IN ({listed})" if listed else "false"


def older(before: int) -> str:
    """Return the condition for rows older than `before`, in microseconds."""
    return f"at < {before}"


def digests_among(digests: Iterable[bytes]) -> str:
    """Return the condition for rows with a vector of these texts."""
    listed = ", ".join(f"X'{digest.hex()}'" for digest in digests)
    return f"embedded AND text_digest IN ({listed})" if listed else "false"


def embedded_by(model: str) -> str:
    """Return the condition for rows whose vector this model computed.

    Only those can be compared with its queries.
    """
    return f"model = {quoted(model)}"


def both(*conditions: str) -> str:
    """Join conditions by AND; empty ones are ignored."""
    return " AND ".join(f"({condition})" for condition in conditions if condition)


def quoted(text: str) -> str:
    """Quote `text` as a literal; only the single quote needs escaping."""
    plain = text.encode("utf-8", "replace").decode("utf-8")
    return "'" + plain.replace("'", "''") + "'"


def _one_of(column: str, values: Iterable[str]) -> str:
    listed = _listed(values)
    return f"{column} IN ({listed})" if listed else ""


def _listed(values: Iterable[str]) -> str:
    return ", ".join(quoted(value) for value in values)


def _family(identifier: str | None) -> str:
    """Return a range condition on ids.

    The index serves it: "/" follows ".".
    """
    if identifier is None:
        return ""
    return f"(id = {quoted(identifier)} OR (id >= {quoted(identifier + '.')} AND id < {quoted(identifier + '/')}))"


def _under(prefix: str | None) -> str:
    if prefix is None:
        return ""
    # An empty prefix passes only rows that have a path, as in Python.
    return f"strpos(paths, {quoted(chr(10) + prefix)}) > 0"
