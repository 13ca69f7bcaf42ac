"""Commits as memories: verbatim in full, informative in short, and untrusted."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from hunchd.domain.history import PathChange, Unit
from hunchd.domain.memory import Trust
from hunchd.ingestion.episodes import build_episode, extract_reason, make_episode_id
from hunchd.protocol.memories import memory_from_json, memory_to_json

NOW = datetime(2026, 1, 2, tzinfo=UTC)
UNIT = Unit(
    sha="a" * 40,
    parents=("b" * 40,),
    author="Ada",
    email="ada@example.org",
    at=1_700_000_000,
    subject="Create the provider before blueprints (#4688)",
    body="Extensions read `app.json` while they are registered. Create it early, because they failed otherwise.\n\n"
    "Fixes #12\n\nCo-authored-by: Bob <bob@example.org>",
    changes=(
        PathChange("M", "CHANGES.rst"),
        PathChange("M", "src/app.py"),
        PathChange("R", "src/json/provider.py", "src/json.py"),
    ),
    tags=("2.2.0",),
)


def test_full_text_is_message_and_files() -> None:
    content = build_episode(UNIT, "p", now=NOW).content
    assert content.startswith(f"{UNIT.subject}\n\n{UNIT.body}")
    assert "R src/json.py → src/json/provider.py" in content


def test_summary_has_title_reason_and_paths() -> None:
    assert build_episode(UNIT, "p", now=NOW).levels.summary == (
        "Create the provider before blueprints. Create it early, because they failed otherwise. "
        "In CHANGES.rst, src/app.py, src/json/provider.py"
    )


def test_short_levels_name_sources_before_documents() -> None:
    levels = build_episode(UNIT, "p", now=NOW).levels
    assert levels.compressed == "2023-11 Create the provider before blueprints (app.py, provider.py +1)"
    assert levels.index == "Create the provider before blueprints"
    assert len(levels.summary) > len(levels.compressed) > len(levels.index)


def test_files_of_same_name_are_distinguished() -> None:
    twice = replace(
        UNIT, changes=(PathChange("M", "src/app.py"), PathChange("M", "src/sansio/app.py"), PathChange("M", "cli.py"))
    )
    assert build_episode(twice, "p", now=NOW).levels.compressed.endswith("(src/app.py, sansio/app.py +1)")


def test_artifacts_have_commit_request_tag_and_files() -> None:
    found = {(artifact.type, artifact.ref) for artifact in build_episode(UNIT, "p", now=NOW).artifacts}
    assert {("commit", "a" * 40), ("pr", "4688"), ("tag", "2.2.0"), ("file", "src/app.py")} <= found


def test_commit_message_is_untrusted() -> None:
    assert build_episode(UNIT, "p", now=NOW).trust is Trust.UNTRUSTED


def test_id_depends_on_project_and_commit() -> None:
    edited = replace(UNIT, subject="other")
    assert (
        build_episode(edited, "p", now=NOW).id == build_episode(UNIT, "p", now=NOW).id == make_episode_id("p", "a" * 40)
    )
    assert make_episode_id("q", "a" * 40) != make_episode_id("p", "a" * 40)
    assert build_episode(UNIT, "p", now=NOW).ref == f"commit:{'a' * 40}"


def test_episode_survives_json_round_trip() -> None:
    memory = build_episode(UNIT, "p", now=NOW)
    assert memory_from_json(memory_to_json(memory)) == memory


def test_secrets_are_redacted_in_every_level() -> None:
    token = "ghp_" + "x9Kq2LmB7vTzR4wYc8NdPs1FgHjE0aUo3iQ5"
    memory = build_episode(replace(UNIT, subject=f"Use {token}", body=f"The old one was {token}."), "p", now=NOW)
    assert token not in repr(memory)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("", ""),
        ("Signed-off-by: A <a@b.c>\nChange-Id: I123", ""),
        ("- first thing\n- second thing", "first thing. second thing"),
        ("Closes #4\n\nIt was slow.", "It was slow."),
        ("It reads a file.\nWe cache it so that it is fast.", "We cache it so that it is fast."),
        ("The file is read twice.\n\nNow keep it to avoid this.", "The file is read twice. Now keep it to avoid this."),
        ("Improve the cache\n\n* Read ahead\n\n* Write behind", "Read ahead. Write behind"),
        ("It was slow. The numbers are these:\n\nhttps://example.org", "It was slow."),
    ],
)
def test_reason_is_extracted_from_body(body: str, reason: str) -> None:
    assert extract_reason(body, "perf: Improve the cache") == reason


def test_bot_and_bump_commits_rank_lowest() -> None:
    bot = replace(UNIT, author="dependabot[bot]", subject="Bump x from 1 to 2", body="", tags=())
    assert build_episode(bot, "p", now=NOW).importance < build_episode(UNIT, "p", now=NOW).importance
    assert "bot" in build_episode(bot, "p", now=NOW).tags


@pytest.mark.parametrize("at", [-1, 0, 2**33, 2**62])
def test_invalid_commit_time_is_tolerated(at: int) -> None:
    memory = build_episode(replace(UNIT, at=at), "p", now=NOW)
    assert memory_from_json(memory_to_json(memory)) == memory


def test_mass_change_names_folders_only() -> None:
    many = replace(UNIT, changes=tuple(PathChange("M", f"src/part{n % 2}/f{n}.py") for n in range(500)))
    memory = build_episode(many, "p", now=NOW)
    assert memory.levels.summary.endswith("In src/part0 (250), src/part1 (250): 500 files")
    assert not [artifact for artifact in memory.artifacts if artifact.type == "file"]
    assert "and 300 more files" in memory.content
