"""Tests of contradictions between nearly identical statements."""

from __future__ import annotations

import pytest

from hunchd.consolidation.contradictions.classification import judge_statements
from hunchd.consolidation.contradictions.near_identical import find_opposition

EXCLUDE = (
    ("Settings aren't reloaded on SIGUSR1, restart the server.", "Settings are reloaded on SIGUSR1.", "negation"),
    (
        "Offline mode is not supported in the client and not planned.",
        "Offline mode is supported in the client.",
        "negation",
    ),
    ("Lock files are never committed.", "Lock files are committed to the repository.", "negation"),
    ("Sign the archive before uploading the manifest.", "Upload the manifest before signing the archive.", "order"),
    ("Tests run after linting.", "Linting is done after the tests have run.", "order"),
    ("The flag file overrides command line flags.", "Command line flags override the flag file.", "order"),
    ("Pack first and sign afterwards.", "The archive is signed before it is packed.", "order"),
    ("Each tick reads the sensors, then moves the arm.", "The arm is moved before the sensors are read.", "order"),
    ("In the pipeline, docs come last, after the image is pushed.", "The docs are built before the image.", "order"),
    ("Support for the old dialect ends in March 2027.", "Support for the old dialect ends in May 2026.", "value"),
    ("All credentials are kept in Vault.", "All credentials are kept in Doppler.", "value"),
    ("Tokens are valid for two hours.", "Tokens are valid for 24 hours.", "value"),
    ("The proxy listens on port 9000.", "The proxy listens on port 8081.", "value"),
    ("The budget is 33 ms, that is 30 fps.", "The budget is 16 ms, that is 60 fps.", "value"),
    ("The freeze starts on December 10th.", "The freeze starts on December 20th.", "value"),
    ("Mira alone decides on releases of the library.", "Jonas alone decides on releases of the library.", "value"),
)
AGREE = (
    ("The index is not rebuilt on startup.", "The index is rebuilt every night."),
    ("Offline mode is not supported on Windows.", "Offline mode is supported on Linux."),
    ("If the cache is cold, answers are slow.", "If the cache is warm, answers are not slow."),
    ("Changes are not merged without a review.", "Changes are merged on Fridays."),
    ("Migrations run before the new pods are rolled out.", "Smoke tests run after the new pods are rolled out."),
    ("Lint before testing.", "Lint before pushing."),
    ("On staging, pack first and then sign.", "In production the archive is signed before it is packed."),
    ("Somebody asked whether we sign before we pack.", "Pack first and sign afterwards."),
    ("Drafts may not be deleted before ten years are over.", "Drafts are deleted after ten years."),
    ("The app runs on Windows.", "The app runs on Linux."),
    ("The cookie is HttpOnly.", "The cookie is Secure."),
    ("The window opens in March 2027.", "The window opens in May 2026."),
    ("All credentials are kept in Vault.", "All credentials are kept in Vault."),
    ("Mira decides on releases.", "Jonas decides on releases."),
    ("CI tests Python 3.11.", "CI tests Python 3.13."),
    ("tokio was bumped to 1.38.", "tokio was bumped to 1.39."),
    ("We run Redis 20.", "We run Redis 20.9."),
    ("Plugins are not loaded lazily for customers.", "Plugins are loaded lazily for guests."),
    ("The window is 5 minutes or 10 retries.", "The window is 5 minutes or 20 retries."),
    ("Node 3 is the leader.", "Node 3 is the leader."),
)


@pytest.mark.parametrize(("one", "other", "kind"), EXCLUDE)
def test_near_identical_pair_contradicts(one: str, other: str, kind: str) -> None:
    assert find_opposition(one, other) == find_opposition(other, one) == kind
    judgement = judge_statements(one, other)
    assert judgement.contradicts
    assert judgement.kind == kind


@pytest.mark.parametrize(("one", "other"), AGREE)
def test_near_identical_pair_with_multivalued_slot_compatible(one: str, other: str) -> None:
    assert find_opposition(one, other) == find_opposition(other, one) == ""
