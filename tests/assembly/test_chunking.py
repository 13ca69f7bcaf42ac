"""Chunks join to the text, do not overlap, and respect the limit."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from hunchd.assembly.chunking import MAX_CHUNK_TOKENS, split_chunks
from hunchd.assembly.token_counter import count_tokens

PARTS = st.sampled_from(
    ["# Heading\n", "## Below it\n", "word " * 40, "a sentence. " * 30, "\n", "\n\n", "x" * 300, "é", " "]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(PARTS, max_size=40).map("".join), st.integers(20, 200))
def test_chunks_join_to_text_within_limit(text: str, most: int) -> None:
    chunks = split_chunks(text, max_tokens=most)

    assert "".join(chunk.text for chunk in chunks) == text
    assert all(count_tokens(chunk.text) <= most for chunk in chunks)


def test_chunks_are_never_blank() -> None:
    text = "\n\n".join(f"## Part {n}\n" + "The cedar speaks about cedars " * 200 for n in range(3))
    assert all(chunk.text.strip() for chunk in split_chunks(text))


def test_chunk_has_heading_path() -> None:
    text = "# Store\n\nIntro.\n\n## Journal\n\n" + "Durable. " * 300 + "\n\n# Doors\n\nThin.\n"
    chunks = split_chunks(text)

    assert (chunks[0].heading, chunks[-1].heading) == ("Store", "Doors")
    assert {chunk.heading for chunk in chunks[1:-1]} == {"Store › Journal"}


def test_short_text_is_one_chunk() -> None:
    assert [chunk.text for chunk in split_chunks("Short.\n\nAnd sweet.\n")] == ["Short.\n\nAnd sweet.\n"]
    assert count_tokens("word " * MAX_CHUNK_TOKENS) >= MAX_CHUNK_TOKENS
