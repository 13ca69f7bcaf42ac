"""SQL conditions; this is the only module that builds them."""

from __future__ import annotations

from collections.abc import Iterable


def match_ids(ids: Iterable[str]) -> str:
    """Return a condition for rows with one of these ids."""
    return _match_one_of("id", ids) or "false"


def match_addresses(addresses: Iterable[int]) -> str:
    """Return a condition for rows at these addresses in the current version."""
    address_list = ", ".join(str(int(address)) for address in addresses)
    return f"_rowid IN ({address_list})" if address_list else "false"


def match_older_than(before: int) -> str:
    """Return a condition for rows older than `before` (in microseconds since the epoch)."""
    return f"at < {before}"


def match_text_digests(digests: Iterable[bytes]) -> str:
    """Return a condition for rows with one of these texts that have a vector.

    The texts are identified by their digests.
    """
    literals = ", ".join(f"X'{digest.hex()}'" for digest in digests)
    return f"embedded AND text_digest IN ({literals})" if literals else "false"


def match_model(model: str) -> str:
    """Return a condition for rows whose vector was computed by `model`.

    Only those vectors can be compared with query vectors of the same model.
    """
    return f"model = {quote_text(model)}"


def match_value(column: str, value: str) -> str:
    """Return a condition for rows with this value in a column."""
    return f"{column} = {quote_text(value)}"


def match_below(column: str, value: str) -> str:
    """Return a condition for rows whose value in a column sorts before `value`."""
    return f"{column} < {quote_text(value)}"


def match_one_of(column: str, values: Iterable[str]) -> str:
    """Return a condition for rows with one of these values in a column. `values` must not be empty."""
    return f"{column} IN ({_quote_list(values)})"


def match_range(column: str, first: int, end: int) -> str:
    """Return a condition for rows with a number in a certain range.

    The number must be at least `first` and less than `end`.
    """
    return f"{column} >= {int(first)} AND {column} < {int(end)}"


def join_conditions(*conditions: str) -> str:
    """Join conditions with AND; empty conditions are ignored."""
    return " AND ".join(f"({condition})" for condition in conditions if condition)


def quote_text(text: str) -> str:
    """Quote `text` as a literal; only single quotes need escaping."""
    sanitized_text = text.encode("utf-8", "replace").decode("utf-8")
    return "'" + sanitized_text.replace("'", "''") + "'"


def _match_one_of(column: str, values: Iterable[str]) -> str:
    literals = _quote_list(values)
    return f"{column} IN ({literals})" if literals else ""


def _quote_list(values: Iterable[str]) -> str:
    return ", ".join(quote_text(value) for value in values)


def match_path_prefix(prefix: str) -> str:
    """Return a condition for rows that concern a path with this prefix."""
    # An empty prefix passes only rows that have a path, as in Python.
    return f"strpos(paths, {quote_text(chr(10) + prefix)}) > 0"
