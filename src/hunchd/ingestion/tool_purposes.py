"""Purposes of tools: pnpm is a package manager, pytest runs tests.

The purposes have the same names as the keys of statements in manifests.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

from hunchd.ingestion.manifests.tools import TOOLS_BY_PURPOSE

_NAMES_BY_PURPOSE: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_PURPOSE_BY_NAME: Final = {name: subject for subject, names in TOOLS_BY_PURPOSE for name in names} | {
    name.strip(): subject for subject, names in _NAMES_BY_PURPOSE.items() for name in names.split(",")
}
# Tool names that are also everyday words, and prove nothing by themselves.
_ORDINARY_WORDS: Final = frozenset(
    """
    requests fetch got make just spring express rocket echo fiber gin arrow moment emotion less java rest go flow rust
    mock mocks merges rebase squash nose ant parcel cookies cypress oracle drone black tap pest ava json xml ini
    distutils urllib rq nats cirrus travis python ruby scala expect.js hugo solid fastify
    """.split()  # noqa: SIM905 - one word after the other reads best
)
_ARTICLE: Final = re.compile(r"^(?:the|a|an|our|plain|pure|bare)\s+", re.IGNORECASE)


def find_purpose(name: str) -> str:
    """Return the purpose of a tool, such as "package manager".

    Returns "" if the tool is unknown.
    """
    normalized_name = _ARTICLE.sub("", name.strip().strip("`'\"")).casefold()
    return _PURPOSE_BY_NAME.get(normalized_name, "") or _PURPOSE_BY_NAME.get(normalized_name.removesuffix(".js"), "")


def list_purposes() -> frozenset[str]:
    """Return all purposes that a known tool can have."""
    return frozenset(_PURPOSE_BY_NAME.values())


def is_ordinary_word(name: str) -> bool:
    """Return True if the name of a tool is also an everyday word."""
    return name.strip().strip("`'\"").casefold() in _ORDINARY_WORDS
