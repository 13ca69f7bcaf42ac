"""Decoding of what other programs wrote."""

from __future__ import annotations

import pytest

from hunchd.text.encodings import decode_text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_decode_text_finds_encoding(encoding: str) -> None:
    text = "Rules for größe\r\n- never edit gen/\r\n"
    assert decode_text(text.encode(encoding)) == text


@pytest.mark.parametrize("content", [b"", b"a", b"\0", b"a\0b", b"PK\x03\x04\0\0\0\0\x08\0", b"caf\xe9 \xed\xa0\x80"])
def test_decode_text_never_fails(content: bytes) -> None:
    decode_text(content).encode("utf-8")
