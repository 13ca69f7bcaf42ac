"""Tests of revert detection in commit messages."""

from __future__ import annotations

from hunchd.consolidation.revert_detection import find_reverted_commits

SHA = "4f2a9c1d7e6b5a4938271605f4e3d2c1b0a99887"


def test_revert_message_names_commits() -> None:
    assert find_reverted_commits(f'Revert "Use a pool"\n\nThis reverts commit {SHA}.') == [SHA]
    assert find_reverted_commits("Reverts 4f2a9c1, which broke Windows") == ["4f2a9c1"]
    assert find_reverted_commits("Revert to the old colours") == []
    assert find_reverted_commits("Explain how a user reverts changes") == []
