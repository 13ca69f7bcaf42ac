"""Subjects that say what was done, and merely formal ones."""

from __future__ import annotations

import pytest

from hunchd.domain.commit_subjects import is_descriptive


@pytest.mark.parametrize(
    ("subject", "descriptive"),
    [
        ("Release v5, no changes since RC", False),
        ("Release v5.0.0.rc", False),
        ("Prepare for release 3.17.0.", False),
        ("Bump version to 1.2", False),
        ("v1.2.3", False),
        ("chore(deps): bump github.com/quic-go/quic-go to v0.60.0 (#4713)", False),
        ("Bump golang.org/x/net from 0.54.0 to 0.55.0", False),
        ("Release the lock when done", True),
        ("Use proc to set password length", True),
        ("Read 3 versions of the header", True),
    ],
)
def test_release_subject_is_not_descriptive(subject: str, descriptive: bool) -> None:
    assert is_descriptive(subject) is descriptive
