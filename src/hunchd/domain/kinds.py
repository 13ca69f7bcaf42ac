"""Properties of each kind of memory, in one table.

All decisions that depend on the kind read this table. To add a kind, add a member to `Kind` and a row to `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from hunchd.domain.memory import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class KindDescriptor:
    """Properties of one kind of memory; the defaults suit most kinds."""

    # In requests
    is_detected_only: bool = False  # clients cannot add one, and neither usage nor age changes it
    can_be_superseded: bool = True  # superseded by a memory that a client adds
    # In memory and in contexts
    is_preloaded: bool = False  # the newest are cached from the start
    answers_queries: bool = False  # is shown in a context if the question contains its words
    min_title_words: int | None = None  # title words that the question must contain; None: any part of the text counts
    is_abridged: bool = False  # contexts leave out its full text, which can be requested
    # In search
    is_dated: bool = False  # was said or done at a certain time; other kinds only have the time of their last reading
    is_found_from_projects: bool = False  # the user's own memories of this kind answer questions in projects too
    embeds_summary: bool = False  # its vector is that of its summary
    # In consolidation
    is_consolidated: bool = True  # takes part in it; False if condensed elsewhere, or the user's own text
    is_forgettable: bool = False  # is archived when nobody uses it, and erased later
    is_shortened: bool = False  # as it ages, is shown as a summary, then as one line
    merges_duplicates: bool = False
    rests_on_code: bool = False  # is linked to the code that it names, and becomes suspect when that code changes
    states_claims: bool = False  # two of them may contradict each other
    # Sharing between people
    is_shared: bool = False  # with colleagues, through files in the repository
    shared_folder: str | None = None  # subfolder of these files; None: one for each category


KINDS: Final[Mapping[Kind, KindDescriptor]] = {
    Kind.FACT: KindDescriptor(
        is_preloaded=True,
        is_dated=True,
        is_found_from_projects=True,
        merges_duplicates=True,
        rests_on_code=True,
        states_claims=True,
        is_shared=True,
    ),
    Kind.EPISODE: KindDescriptor(
        answers_queries=True,
        is_dated=True,
        embeds_summary=True,
        is_forgettable=True,
        is_shortened=True,
        merges_duplicates=True,
        states_claims=True,
    ),
    Kind.ERROR: KindDescriptor(is_preloaded=True, is_dated=True, is_forgettable=True),
    Kind.PATTERN: KindDescriptor(
        is_preloaded=True,
        answers_queries=True,
        min_title_words=2,
        is_abridged=True,
        is_forgettable=True,
        rests_on_code=True,
    ),
    Kind.WORKFLOW: KindDescriptor(
        is_preloaded=True,
        answers_queries=True,
        min_title_words=1,
        is_forgettable=True,
        merges_duplicates=True,
        rests_on_code=True,
        is_shared=True,
        shared_folder="workflows",
    ),
    Kind.DOCUMENT: KindDescriptor(
        is_preloaded=True,
        answers_queries=True,
        is_dated=True,
        is_found_from_projects=True,
        is_consolidated=False,
    ),
    Kind.MESSAGE: KindDescriptor(can_be_superseded=False, is_dated=True, is_consolidated=False),
    Kind.CONTRADICTION: KindDescriptor(is_detected_only=True, can_be_superseded=False, is_preloaded=True),
}


def describe(kind: Kind) -> KindDescriptor:
    """Return the properties of a kind."""
    return KINDS[kind]


def select_kinds(condition: Callable[[KindDescriptor], bool]) -> tuple[Kind, ...]:
    """Return the kinds that meet `condition`, in the order of the table."""
    return tuple(kind for kind, descriptor in KINDS.items() if condition(descriptor))
