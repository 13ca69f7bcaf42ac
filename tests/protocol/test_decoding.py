from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunchd.protocol.decoding import MAX_DEPTH, MalformedRequest, decode_json, nests_deeper_than, reject_unstorable

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_decoded_json_round_trip(value: Any) -> None:
    assert decode_json(json.dumps(value).encode("utf-8", "surrogatepass")) == value


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b'{"a":1,"a":2}', "'a' appears twice"),
        (b"[NaN]", "NaN is not JSON"),
        (b"[-Infinity]", "-Infinity is not JSON"),
        (b"[1e999]", "too large"),
        (b"[1180591620717411303424]", "exceeds 64 bits"),
        (b"[" + b"9" * 5000 + b"]", "exceeds 64 bits"),
        (b"\xff\xfe{}", "not UTF-8"),
        (b'"\xed\xa0\x80"', "not UTF-8"),
        (b"", "the body is empty"),
        (b"{'a':1}", "line 1, column 2"),
        (b'{"a":"\x00"}', "not JSON"),
        (b"[" * 10_000 + b"]" * 10_000, "deeper than 64"),
        (b'{"a":' * 100_000, "deeper than 64"),
    ],
)
def test_decoded_ambiguous_json_is_rejected(raw: bytes, says: str) -> None:
    with pytest.raises(MalformedRequest, match=says):
        decode_json(raw)


def test_nesting_depth_ignores_brackets_in_strings() -> None:
    in_strings = json.dumps(["[" * 500, '{"\\"[' * 500]).encode()

    assert decode_json(in_strings)[0] == "[" * 500
    assert not nests_deeper_than(in_strings, MAX_DEPTH)


@pytest.mark.parametrize(("depth", "too_deep"), [(64, False), (65, True)])
def test_nesting_depth_limit_is_exact(depth: int, too_deep: bool) -> None:
    # The flat list beside it has more brackets than the limit, so that they are really matched.
    raw = b"[" * (depth - 1) + b"[]," * 100 + b"[]" + b"]" * (depth - 1)

    assert nests_deeper_than(raw, MAX_DEPTH) is too_deep


def test_nesting_depth_of_8_mb_is_found() -> None:
    assert nests_deeper_than(b"[" * 4_000_000 + b'"' + b"\\" * 4_000_000, MAX_DEPTH)


@pytest.mark.parametrize(
    ("value", "field"),
    [({"a": ["x", "\ud800"]}, "a[1]"), ({"a": {"b": "nul\0"}}, "a.b"), ({"k\0": 1}, None), ("é\udfff", None)],
)
def test_unstorable_text_is_rejected_with_field_name(value: Any, field: str | None) -> None:
    with pytest.raises(MalformedRequest, match="NUL or an unpaired surrogate") as refused:
        reject_unstorable(value, "")

    assert refused.value.field == field


@given(st.binary(max_size=200))
def test_decoded_any_bytes_returns_value_or_malformed(raw: bytes) -> None:
    try:
        decode_json(raw)
    except MalformedRequest as refused:
        refused.message.encode()
