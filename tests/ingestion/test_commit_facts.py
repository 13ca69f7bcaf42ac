"""Facts of commit messages: rename facts last as long as the code agrees."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hunchd.domain.history import Unit
from hunchd.ingestion.commit_facts import extract_commit_facts, is_obsolete_rename

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def unit(subject: str) -> Unit:
    return Unit(
        sha="a" * 40,
        parents=(),
        at=1_700_000_000,
        author="Ada",
        email="ada@example.org",
        subject=subject,
        changes=(),
    )


@pytest.mark.parametrize(
    ("names", "outlived"),
    [
        ({"AccountStore"}, False),
        ({"AccountStore", "UserStore"}, True),  # both exist: they are different things now
        ({"UserStore"}, True),  # renamed back
        (set(), True),
    ],
)
def test_rename_fact_is_current_while_name_exists(names: set[str], outlived: bool) -> None:
    (fact,) = extract_commit_facts(unit("Rename shop.UserStore to shop.AccountStore"), "p", now=NOW)
    assert is_obsolete_rename(fact, names) is outlived


def test_rename_fact_is_obsolete_when_type_removed() -> None:
    (fact,) = extract_commit_facts(unit("Rename Shop::open_all to Shop::serve"), "p", now=NOW)
    assert not is_obsolete_rename(fact, {"Shop", "serve"})
    assert is_obsolete_rename(fact, {"serve"})


def test_other_facts_do_not_depend_on_names() -> None:
    facts = extract_commit_facts(unit("Use pytest instead of unittest"), "p", now=NOW)
    assert [is_obsolete_rename(fact, set()) for fact in facts] == [False]
