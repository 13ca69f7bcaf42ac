"""First-parent units: a merge counts once, with its own title and its renames."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from hunchd.domain.errors import RepositoryError
from hunchd.domain.history import LATEST, Unit
from hunchd.domain.unit_classification import (
    is_bot,
    is_bulk,
    is_forward_port,
    is_work,
    list_existing_paths,
    strip_issue_numbers,
)
from hunchd.ingestion.history import iter_units
from hunchd.repository.git import Git


class Project:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "-q", "-b", "main")

    def git(self, *args: str) -> str:
        done = subprocess.run(["git", *args], cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, message: str, **files: str | None) -> str:
        for name, content in files.items():
            path = self.folder / name.replace("__", "/").replace("_py", ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.unlink()
            else:
                path.write_text(content)
        self.git("add", "-A")
        self.git("commit", "-qm", message)
        return self.git("rev-parse", "HEAD")

    def units(self, **options: object) -> list[Unit]:
        return list(iter_units(Git(self.folder), **options))  # type: ignore[arg-type]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_units_are_oldest_first_with_blobs(project: Project) -> None:
    first = project.commit("first", a_py="a\n", b_py="b\n")
    second = project.commit("second", a_py="a2\n", b_py=None, c_py="c\n")

    one, two = project.units()

    assert (one.sha, two.sha) == (first, second)
    assert two.parents == (first,)
    assert [(change.status, change.path) for change in two.changes] == [("M", "a.py"), ("D", "b.py"), ("A", "c.py")]
    assert two.changes[0].old_blob == one.changes[0].new_blob
    assert two.changes[1].new_blob == ""
    assert list_existing_paths(two) == ("a.py", "b.py")


@pytest.mark.parametrize(("written", "read"), [(2**33, LATEST), (2**60, LATEST), (86_400, 86_400)])
def test_invalid_commit_time_is_capped_at_2100(project: Project, written: int, read: int) -> None:
    project.commit("Begin", a_py="x = 1\n")
    raw = re.sub(r"> \d+ ", f"> {written} ", project.git("cat-file", "commit", "HEAD")) + "\n"
    (project.folder / ".git/commit").write_text(raw)
    project.git("reset", "-q", project.git("hash-object", "-t", "commit", "-w", "--literally", ".git/commit"))
    assert [unit.at for unit in iter_units(Git(project.folder))] == [read]


def test_rename_is_followed(project: Project) -> None:
    project.commit("first", old_py="".join(f"line {n}\n" for n in range(50)))
    project.git("mv", "old.py", "new.py")
    project.commit("moved")

    (change,) = project.units()[1].changes

    assert (change.status, change.old_path, change.path) == ("R", "old.py", "new.py")


def test_merged_pull_request_has_title_and_branch(project: Project) -> None:
    project.commit("first", a_py="a\n")
    project.git("checkout", "-qb", "faster-reload")
    project.commit("wip", a_py="a2\n")
    project.commit("wip again", b_py="b\n")
    project.git("checkout", "-q", "main")
    project.git(
        "merge", "-q", "--no-ff", "faster-reload", "-m",
        "Merge pull request #12 from somebody/faster-reload\n\nReload faster\n\nBecause it was slow.",
    )  # fmt: skip

    unit = project.units()[-1]

    assert (unit.subject, unit.branch) == ("Reload faster (#12)", "faster-reload")
    assert unit.body == "Because it was slow."
    assert {change.path for change in unit.changes} == {"a.py", "b.py"}
    assert len(project.units()) == 2
    assert strip_issue_numbers(unit.subject) == "Reload faster"


def make_merge(project: Project, branch: str, message: str) -> Unit:
    """Return the unit of a branch that Bea wrote and the project's owner merged."""
    project.git("checkout", "-qb", branch)
    project.commit("wip", **{f"{branch.replace('.', '_')}_py": "b\n"})
    project.git("commit", "-q", "--amend", "--no-edit", "--author", "Bea <bea@example.org>")
    project.git("checkout", "-q", "main")
    project.git("merge", "-q", "--no-ff", branch, "-m", message)
    return project.units()[-1]


def test_merge_author_is_author_of_merged_commit(project: Project) -> None:
    project.commit("first", a_py="a\n")
    owner = project.units()[0].email
    unit = make_merge(project, "faster-reload", "Merge pull request #12 from bea/faster-reload\n\nReload faster")
    assert (unit.author, unit.email) == ("Bea", "bea@example.org")
    assert [one.email for one in project.units()] == [owner, "bea@example.org"]
    assert make_merge(project, "2.3.x", "Merge branch '2.3.x'").email == owner  # many authors in that branch


@pytest.mark.parametrize("others", [(), ("kept",)])
def test_merge_author_without_merged_commit_is_merger(project: Project, others: tuple[str, ...]) -> None:
    project.commit("first", a_py="a\n")
    owner = project.units()[0].email
    for branch in others:
        make_merge(project, branch, f"Merge branch '{branch}'")
    lost = make_merge(project, "lost", "Merge branch 'lost'").parents[1]
    (project.folder / ".git/objects" / lost[:2] / lost[2:]).unlink()
    assert [unit.email for unit in project.units()] == [owner, *("bea@example.org" for _ in others), owner]


def test_private_fork_merge_uses_first_subject(project: Project) -> None:
    message = "Merge commit from fork\n\n* Mask tokens in the log\n\nThey were written out.\n\n* Mask long names too"
    project.commit(message, a_py="a\n")
    unit = project.units()[-1]
    assert (unit.subject, unit.body) == ("Mask tokens in the log", "They were written out.\n\n* Mask long names too")
    project.commit("Merge commit from fork", a_py="b\n")
    assert project.units()[-1].subject == "Merge commit from fork"


def test_units_have_tags_coauthors_and_limits(project: Project) -> None:
    first = project.commit("first", a_py="1\n")
    project.git("tag", "-a", "v1", "-m", "one")
    project.commit("second\n\nCo-authored-by: Bea <bea@example.org>", a_py="2\n")
    third = project.commit("third", a_py="3\n")

    assert project.units()[0].tags == ("v1",)
    assert project.units()[1].coauthors == ("Bea <bea@example.org>",)
    assert [unit.subject for unit in project.units(since=first)] == ["second", "third"]
    assert [unit.subject for unit in project.units(newest=2)] == ["second", "third"]
    assert [unit.sha for unit in project.units(newest=1, newest_first=True)] == [third]


def test_separators_in_messages_and_paths_are_kept(project: Project) -> None:
    (project.folder / ":100644 x").write_text("odd\n")
    (project.folder / "\x01deadbeef").write_text("odd\n")
    (project.folder / "\x1b[31mred").write_text("odd\n")
    project.commit("odd \x01\x1f names\n\n:100644 100644 a b M")
    project.commit("plain", a_py="a\n")

    odd, plain = project.units()

    assert {change.path for change in odd.changes} == {":100644 x"}  # the other name is not printable
    assert odd.subject == "odd \x01\x1f names"
    assert plain.subject == "plain"


def test_escaped_line_breaks_end_the_title(project: Project) -> None:
    project.commit(r"fix: quieter logs\n\n- debug, not error\n- nothing is lost", a_py="a")
    project.commit(r"split at \n, not at \r", a_py="b")

    assert [(unit.subject, unit.body) for unit in project.units()] == [
        ("fix: quieter logs", "- debug, not error\n- nothing is lost"),
        (r"split at \n, not at \r", ""),
    ]


def test_missing_contents_fall_back_to_exact_renames(project: Project) -> None:
    lines = "".join(f"line {n}\n" for n in range(50))
    project.commit("first", a_py=lines, b_py=lines + "more\n")
    project.git("mv", "a.py", "c.py")
    project.commit("moved")
    project.git("mv", "b.py", "d.py")
    project.commit("moved and changed", d_py=lines + "other\n")
    lost = project.git("rev-parse", "HEAD:d.py")
    (project.folder / ".git" / "objects" / lost[:2] / lost[2:]).unlink()

    found = project.units()

    assert [unit.subject for unit in found] == ["first", "moved", "moved and changed"]
    assert [change.status for change in found[1].changes] == ["R"]
    assert sorted(change.status for change in found[2].changes) == ["A", "D"]


def test_line_counts_are_optional(project: Project) -> None:
    project.commit("first", a_py="1\n2\n3\n", b_py="".join(f"line {n}\n" for n in range(50)))
    project.git("mv", "b.py", "c.py")
    (project.folder / "d.bin").write_bytes(b"\0\1")
    project.commit("second", a_py="1\n4\n")

    _, counted = project.units(lines=True)
    _, plain = project.units()

    found = {change.path: (change.status, change.added, change.deleted) for change in counted.changes}
    assert found == {"a.py": ("M", 1, 2), "c.py": ("R", 0, 0), "d.bin": ("A", 0, 0)}
    assert {change.added for change in plain.changes} == {0}


def test_empty_repository_and_unknown_revision(project: Project) -> None:
    assert project.units() == []
    with pytest.raises(RepositoryError, match="no commit 'nowhere'"):
        project.units(rev="nowhere")


def unit(subject: str, **more: str) -> Unit:
    return Unit(
        sha="",
        parents=(),
        author=more.get("author", "Ada"),
        email="",
        at=0,
        subject=subject,
        branch=more.get("branch", ""),
    )


@pytest.mark.parametrize(
    ("subject", "title"),
    [
        ("Fix reload (#12)", "Fix reload"),
        ("Fixes #12: reload twice", "reload twice"),
        ("gh-99: tidy", "tidy"),
        ("use C# style", "use C# style"),
        ("feat(ssr): stream (fix #3) (#4)", "feat(ssr): stream (fix #3)"),
    ],
)
def test_plain_title_strips_request_number(subject: str, title: str) -> None:
    assert strip_issue_numbers(subject) == title or strip_issue_numbers(subject).startswith(title.split(" (")[0])


def test_chores_are_distinguished_from_work() -> None:
    assert is_bot(unit("x", author="dependabot[bot]"))
    assert is_bot(unit("x", branch="renovate/all"))
    assert not is_bot(unit("x", author="Abbot Botham"))
    for subject in (
        "Bump pytest from 1 to 2",
        "release v3.1",
        "chore(deps): update all",
        "v1.2.3",
        "Update dependencies",
    ):
        assert is_bulk(unit(subject)), subject
    for subject in ("release the lock earlier on error"[8:], "fix: bumpy scrolling", "feat(deps-graph): draw"):
        assert not is_bulk(unit(subject)), subject
    assert is_forward_port(unit("Merge branch '2.3.x'"))
    assert is_forward_port(unit("Merge branch 'stable' into main"))
    assert not is_forward_port(unit("Merge branch 'faster-reload'"))
    assert not is_work(unit("real work, no file"))
