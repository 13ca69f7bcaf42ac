"""Cards: short descriptions of files, which a model embeds."""

from __future__ import annotations

from typing import Final

from hunchd.domain.code import FileOutline
from hunchd.text.identifiers import split_code_words

LONGEST: Final = 600  # characters; the shipped model reads about this many
MOST_NAMES: Final = 40
MOST_DOCS: Final = 5
_MEMBERS: Final = frozenset({"field", "method", "key"})


def build_card(outline: FileOutline) -> str:
    """Build the card of a file: path, documentation and names."""
    names = dict.fromkeys(" ".join(split_code_words(symbol.name)) for symbol in outline.symbols)
    docs = [symbol.doc for symbol in outline.symbols if symbol.doc and symbol.kind not in _MEMBERS]
    path = " ".join(outline.path.replace("/", " ").replace("_", " ").replace(".", " ").split())
    card_text = f"{path}. {outline.doc} {', '.join(list(names)[:MOST_NAMES])}. {' '.join(docs[:MOST_DOCS])}"
    return card_text[:LONGEST]
