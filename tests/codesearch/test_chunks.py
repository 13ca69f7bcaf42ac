"""Files are cut by definition, with comments, and their terms are counted by field."""

from __future__ import annotations

from hunchd.codesearch import records
from hunchd.codesearch.chunks import TEST, Chunk, build_chunks
from hunchd.codesearch.terms import extract_identifier_terms, hash_name
from hunchd.ingestion.parsing import parse_outline

PYTHON = '''"""Signs cookies."""
import hmac

LIMIT = 4

class Signer:
    """Signs values with a key."""

    salt = b"x"

    def sign(self, value):
        """Return `value` with its signature."""
        digest = hmac.new(self.key, value)
        return value + digest


# Loads the key ring.
# From the environment.
def load_keys():
    names = LIMIT
    return names
'''

ELIXIR = '''defmodule Shop.Basket do
  @moduledoc """
  Keeps what a customer wants.
  """

  @doc """
  Adds an item.

  Twice is once.
  """
  def add(basket, item) do
    [item | basket]
  end

  def empty do
    []
  end
end
'''


def cut(path: str, text: str) -> dict[str, Chunk]:
    return {chunk.name: chunk for chunk in build_chunks(parse_outline(path, text.encode()), text)}


def test_chunks_definition_has_lines_and_signature() -> None:
    chunks = cut("signing.py", PYTHON)

    assert (chunks["sign"].start, chunks["sign"].end) == (11, 14)
    assert chunks["sign"].title.startswith("def sign(")
    assert chunks["sign"].container == "Signer"


def test_chunks_comment_above_belongs_to_definition() -> None:
    chunk = cut("signing.py", PYTHON)["load_keys"]

    assert (chunk.start, chunk.line, chunk.end) == (17, 19, 21)
    assert extract_identifier_terms("environment")[0] in chunk.terms


def test_chunks_small_definition_is_found_in_container() -> None:
    chunks = cut("signing.py", PYTHON)

    assert "salt" not in chunks
    assert hash_name("salt") in chunks["Signer"].terms


def test_chunks_adjacent_constants_share_a_chunk() -> None:
    text = "package log\n\n// Levels, most severe first.\nconst (\n\tPanic = iota\n\n\tError\n)\n\nvar std = 1\n"
    chunks = cut("level.go", text)

    assert (chunks["Panic"].start, chunks["Panic"].end) == (3, 7)
    assert chunks["Panic"].title == "Panic, Error"
    assert hash_name("Error") in chunks["Panic"].terms
    assert chunks["std"].start == 10


def test_chunks_without_grammar_extend_to_next() -> None:
    chunks = cut("lib/basket.ex", ELIXIR)

    assert (chunks["add"].start, chunks["add"].line, chunks["add"].end) == (6, 11, 14)
    assert extract_identifier_terms("customer")[0] in chunks["Shop.Basket"].terms


def test_chunks_prose_is_cut_by_heading() -> None:
    chunks = cut("docs/run.md", "# Running\n\nStart it.\n\n## Tests\n\nCall pytest.\n")

    assert extract_identifier_terms("pytest")[0] in chunks["Tests"].terms
    assert extract_identifier_terms("pytest")[0] not in chunks["Running"].terms


def test_chunks_file_without_symbols_is_cut_in_windows() -> None:
    text = "\n".join(f"value {number}" for number in range(130))

    assert [(one.start, one.end) for one in build_chunks(parse_outline("a.txt", text.encode()), text)] == [
        (1, 60),
        (61, 120),
        (121, 130),
    ]


def test_records_pack_then_unpack_is_same() -> None:
    chunks = build_chunks(parse_outline("signing.py", PYTHON.encode()), PYTHON)

    record = records.unpack(records.pack(chunks))

    assert [text[0] for text in record.texts] == [chunk.name for chunk in chunks]
    assert record.lines.tolist() == [[chunk.start, chunk.end, chunk.line] for chunk in chunks]
    for at, chunk in enumerate(chunks):
        assert tuple(record.terms[record.begins[at] : record.begins[at + 1]].tolist()) == chunk.terms


def test_chunks_rust_test_is_marked() -> None:
    text = "fn add() {\n    let a = 1;\n}\n\n"
    text += "#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        add();\n    }\n}\n"
    chunks = cut("src/lib.rs", text)

    assert chunks["adds"].kind == TEST
    assert chunks["add"].kind == "function"


def test_chunks_licence_above_is_left_out() -> None:
    text = "// Copyright 2020 Ada\n// Licensed under MIT\n\npackage shop\n\nfunc Add() {\n\tx()\n}\n"
    head = cut("shop.go", text)[""]

    assert extract_identifier_terms("licensed")[0] not in head.terms
    assert extract_identifier_terms("package")[0] in head.terms
