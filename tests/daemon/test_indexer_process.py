"""The indexer process as the front sees it: a real process, a real repository."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hunchd.daemon.indexer_process import NICENESS, _lower_priority_after_model
from hunchd.daemon.parse_crash_guard import ParseCrashGuard
from hunchd.domain.errors import InvalidInput, RepositoryError
from hunchd.ingestion.episodes import make_episode_id
from hunchd.ingestion.parsing import blob_id
from hunchd.prediction.predictor import Predictor
from hunchd.protocol.child import HelperProcess
from hunchd.protocol.indexing_messages import (
    IndexRequest,
    IndexStep,
    NewUnits,
    ParsedFiles,
    StatedKnowledge,
)
from hunchd.store.code_cache import CodeCache

IOPRIO_GET = {"x86_64": 252, "aarch64": 31}  # the number of the system call, which the standard library does not know
IOPRIO_IDLE = 3


def git(root: Path, *args: str) -> str:
    return subprocess.run(["git", "-C", str(root), *args], check=True, capture_output=True, text=True).stdout.strip()


def commit(root: Path, subject: str, **files: str) -> str:
    for name, text in files.items():
        (root / f"{name}.py").write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-qm", subject)
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit(folder, "Begin", app="import db\ndef start(): pass\n", db="def connect(): pass\n")
    (folder / "pyproject.toml").write_text('[project]\nrequires-python = ">=3.11"\n')
    commit(folder, "Close connections because they leaked", db="def connect(): pass\ndef close(): pass\n")
    return folder


@pytest.fixture
async def indexer() -> AsyncIterator[HelperProcess]:
    child = HelperProcess([sys.executable, "-m", "hunchd.daemon.indexer_process"], name="indexer", env=dict(os.environ))
    yield child
    await child.stop()


def params(root: Path, **more: Any) -> dict[str, Any]:
    cache = root.parent / "cache"
    of_scope = {name: more.pop(name) for name in IndexRequest.__struct_fields__ if name in more}
    scope = {
        "folder": str(root),
        "cache_file": str(cache / "code.sqlite"),
        "model_file": str(cache / "model"),
        "project": "p",
        "max_file_bytes": 1_000_000,
    }
    return {"scope": IndexRequest(**scope | of_scope), **more}


async def index(child: HelperProcess, told: dict[str, Any]) -> list[IndexStep]:
    return [step async for step in child.stream("index", told, IndexStep)]


async def parse(child: HelperProcess, told: dict[str, Any]) -> list[ParsedFiles]:
    return [step async for step in child.stream("parse", {"paths": None, **told}, ParsedFiles)]


async def list_units(child: HelperProcess, root: Path, since: str) -> NewUnits:
    return await child.call("units", params(root, since=since, moved=[]), NewUnits)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a priority is that of the process")
async def test_background_index_keeps_priority_of_next_project(root: Path, indexer: HelperProcess) -> None:
    await index(indexer, params(root))
    nice = int(Path(f"/proc/{indexer.pid}/stat").read_text().rpartition(")")[2].split()[16])
    assert nice == os.nice(0)


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in IOPRIO_GET,
    reason="elsewhere threads have no class of their own",
)
def test_priority_is_lowered_after_first_model() -> None:
    def stepped_back() -> tuple[int, int]:
        for _ in _lower_priority_after_model(iter([IndexStep(stage="model"), IndexStep(stage="files")])):
            pass
        return os.nice(0), ctypes.CDLL(None).syscall(IOPRIO_GET[platform.machine()], 1, 0) >> 13

    with ThreadPoolExecutor(1) as thread:  # there is no way back
        nice, class_of_disk = thread.submit(stepped_back).result()
    assert nice == max(NICENESS, os.nice(0))
    assert class_of_disk != IOPRIO_IDLE


async def test_index_yields_model_files_episodes(root: Path, indexer: HelperProcess) -> None:
    told = await index(indexer, params(root))
    models = [step for step in told if step.stage == "model"]
    assert models[-1].learnt == git(root, "rev-parse", "HEAD")
    assert len(Predictor.load(Path(models[-1].model))) == 2
    [last] = [step for step in told if step.stage == "episodes"]
    assert [episode.title for episode in last.episodes] == ["Close connections because they leaked", "Begin"]
    assert last.episodes[0].id == make_episode_id("p", models[-1].learnt)
    with CodeCache(root.parent / "cache" / "code.sqlite") as cache:
        assert [path for path, _ in cache.find_symbol("close")] == ["db.py"]
        assert "close" in [line.name for line in cache.load_views(["db.py"])["db.py"].lines]


async def test_oversized_file_is_listed_without_outline(root: Path, indexer: HelperProcess) -> None:
    (root / "big.py").write_text("def enormous(): pass\n" + "# so it is\n" * 100)
    await index(indexer, params(root, max_file_bytes=1_024))
    with CodeCache(root.parent / "cache" / "code.sqlite") as cache:
        assert "big.py" in cache.load_blob_ids()
        assert not list(cache.find_symbol("enormous"))
        assert list(cache.find_symbol("close"))


async def test_first_model_precedes_files(root: Path, indexer: HelperProcess) -> None:
    stages = [step.stage for step in await index(indexer, params(root))]
    assert stages.index("model") < stages.index("files") < len(stages) - stages[::-1].index("model")


async def test_newest_history_is_learned_first(root: Path, indexer: HelperProcess) -> None:
    told = await index(indexer, params(root, newest_units=1))
    assert [(step.done, step.total) for step in told if step.stage == "history"] == [(1, 2), (2, 2)]
    assert len([step for step in told if step.stage == "model"]) == 4


def lose(root: Path, rev: str) -> None:
    """Delete an object from the repository, like a failing disk."""
    name = git(root, "rev-parse", rev)
    (root / ".git/objects" / name[:2] / name[2:]).unlink()


async def test_damaged_history_is_indexed_partially_and_reported(root: Path, indexer: HelperProcess) -> None:
    for number in range(4):
        commit(root, f"Change {number}", app=f"import db\nx = {number}\n", db=f"y = {number}\n")
    lose(root, "HEAD~4^{tree}")
    told = await index(indexer, params(root))
    titles = [episode.title for step in told if step.stage == "episodes" for episode in step.episodes]
    assert titles == ["Change 3", "Change 2"]  # git fails before it has told all of the one above
    assert [step.why.partition(":")[0] for step in told if step.stage == "unread"] == [
        "only the newest 2 of 6 commits could be read"
    ]
    with CodeCache(root.parent / "cache" / "code.sqlite") as cache:
        assert "app.py" in cache.load_blob_ids()


async def test_unreadable_history_is_not_reread(root: Path, indexer: HelperProcess) -> None:
    lose(root, "HEAD~1^{tree}")
    told = await index(indexer, params(root))
    assert told[-1].why.startswith("only the newest 0 of 2 commits could be read: git log failed")


def lost_commit(root: Path) -> None:
    lose(root, "HEAD")


def broken_config(root: Path) -> None:
    (root / ".git/config").write_text("[core")


@pytest.mark.parametrize("damage", [lost_commit, broken_config])
async def test_unreadable_git_still_indexes_files(
    root: Path, indexer: HelperProcess, damage: Callable[[Path], None]
) -> None:
    damage(root)
    with pytest.raises(RepositoryError, match=r"bad object HEAD|bad config"):
        await index(indexer, params(root))
    with CodeCache(root.parent / "cache" / "code.sqlite") as cache:
        assert "app.py" in cache.load_blob_ids()


async def test_episodes_resume_after_last_run(root: Path, indexer: HelperProcess) -> None:
    head = git(root, "rev-parse", "HEAD")
    told = await index(indexer, params(root, episodes_after=head))
    titles = [episode.title for step in told if step.stage == "episodes" for episode in step.episodes]
    assert titles == ["Begin"]


async def test_parse_reads_only_changed_files(root: Path, indexer: HelperProcess) -> None:
    await index(indexer, params(root))
    assert await parse(indexer, params(root)) == []
    (root / "app.py").write_text("def stop(): pass\n")
    (root / "db.py").unlink()
    told = await parse(indexer, params(root))
    assert [outline.path for step in told for outline in step.outlines] == ["app.py"]
    assert [path for step in told for path in step.removed] == ["db.py"]


async def test_parse_paths_removes_ignored_files(root: Path, indexer: HelperProcess) -> None:
    (root / ".env").write_text("PASSWORD=x\n")
    told = await parse(indexer, params(root, paths=["app.py", ".env", "../etc/passwd", "none.py"]))
    assert [outline.path for step in told for outline in step.outlines] == ["app.py"]
    assert {path for step in told for path in step.removed} == {".env", "../etc/passwd", "none.py"}


async def test_units_returns_new_commits_with_episodes(root: Path, indexer: HelperProcess) -> None:
    before = git(root, "rev-parse", "HEAD")
    sha = commit(root, "Add a cache", cache="X = 1\n")
    told = await list_units(indexer, root, before)
    assert ([unit.sha for unit in told.units], told.rewritten) == ([sha], False)
    assert [episode.ref for episode in told.episodes] == [f"commit:{sha}"]


async def test_units_missing_commit_reports_rewritten_history(root: Path, indexer: HelperProcess) -> None:
    told = await list_units(indexer, root, "f" * 40)
    assert (told.units, told.episodes, told.facts, told.rewritten) == ([], [], [], True)


@pytest.mark.parametrize("operation", ["rebase", "bisect"])
async def test_units_during_rebase_only_waits(root: Path, indexer: HelperProcess, operation: str) -> None:
    before = git(root, "rev-parse", "HEAD~1")
    if operation == "rebase":
        git(root, "-c", "sequence.editor=sed -i '1i break'", "rebase", "-q", "-i", "HEAD~1")
    else:
        git(root, "bisect", "start")
        git(root, "checkout", "-q", "--detach", "HEAD")
    waiting = await list_units(indexer, root, before)
    assert (waiting.units, waiting.waits) == ([], True)
    git(root, operation, *(["--abort"] if operation == "rebase" else ["reset"]))
    told = await list_units(indexer, root, before)
    assert ([unit.sha for unit in told.units], told.waits) == ([git(root, "rev-parse", "HEAD")], False)


async def test_units_ignores_stale_rebase_on_branch(root: Path, indexer: HelperProcess) -> None:
    before = git(root, "rev-parse", "HEAD")
    (root / ".git" / "rebase-merge").mkdir()
    sha = commit(root, "Add a cache", cache="X = 1\n")
    told = await list_units(indexer, root, before)
    assert [unit.sha for unit in told.units] == [sha]


async def test_lost_returns_unreachable_commits(root: Path, indexer: HelperProcess) -> None:
    sha = commit(root, "Add a cache", cache="X = 1\n")
    git(root, "reset", "-q", "--hard", "HEAD~1")
    there = git(root, "rev-parse", "HEAD")
    lost = await indexer.call("lost", params(root, shas=[there, sha, "f" * 40]), list[str])
    assert lost == [sha, "f" * 40]


async def test_conventions_returns_facts_and_topics(root: Path, indexer: HelperProcess) -> None:
    await index(indexer, params(root))
    told = await indexer.call("conventions", params(root), StatedKnowledge)
    assert [fact.levels.summary for fact in told.facts] == ["python: >=3.11"]
    assert "repo" not in told.topics


async def test_plain_folder_is_indexed_without_history(tmp_path: Path, indexer: HelperProcess) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "a.py").write_text("def f(): pass\n")
    told = await index(indexer, params(folder))
    assert [step.stage for step in told if step.stage in ("history", "episodes")] == []
    assert [step.learnt for step in told if step.stage == "model"] == [""]


async def test_empty_repository_is_learned_after_first_commit(tmp_path: Path, indexer: HelperProcess) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    assert [step.learnt for step in await index(indexer, params(folder)) if step.stage == "model"] == [""]
    sha = commit(folder, "First", a="x = 1\n")
    news = await list_units(indexer, folder, "")
    assert [unit.sha for unit in news.units] == [sha]


@pytest.mark.parametrize("times", [1, 2])
async def test_file_crashing_parser_twice_has_no_outline(root: Path, indexer: HelperProcess, times: int) -> None:
    """One crash is no proof: the process may have been killed, or the machine switched off."""
    source = (root / "app.py").read_bytes()
    cache = root.parent / "cache" / "code.sqlite"
    cache.parent.mkdir()
    note = cache.with_name(f"{cache.name}.parsing-1-0")  # as a process that is no more left it
    note.write_text(f"{blob_id(source)} {times}")
    told = await parse(indexer, params(root))
    outlines = {outline.path: outline for step in told for outline in step.outlines}
    assert (outlines["app.py"].symbols == ()) is (times == 2)
    assert outlines["db.py"].symbols
    assert not note.exists()


def test_crash_note_exists_only_while_parsing(tmp_path: Path) -> None:
    cache = tmp_path / "c"
    with ParseCrashGuard(cache) as attempts:
        [note] = tmp_path.iterdir()
        with attempts.guard_blob("abc"):
            assert note.read_text().split() == ["abc", "1"]
        assert note.read_text() == ""
    assert list(tmp_path.iterdir()) == []


def test_crash_counter_gives_up_after_two(tmp_path: Path) -> None:
    cache = tmp_path / "c"
    note = tmp_path / "c.parsing-1-0"  # of a process that is no more
    note.write_text("abc 1")
    with ParseCrashGuard(cache) as attempts:
        assert attempts.crashing_blobs == frozenset()
        with attempts.guard_blob("abc"):
            [own] = tmp_path.iterdir()
            left = own.read_text()
    note.write_text(left)
    with ParseCrashGuard(cache) as attempts:
        assert attempts.crashing_blobs == {"abc"}


async def test_invalid_root_is_rejected(tmp_path: Path, indexer: HelperProcess) -> None:
    with pytest.raises(InvalidInput):
        await indexer.call("conventions", params(Path("relative")), StatedKnowledge)
    with pytest.raises(RepositoryError):
        await indexer.call("conventions", params(tmp_path / "none"), StatedKnowledge)


async def test_file_limit_is_optional_for_history_calls(root: Path, indexer: HelperProcess) -> None:
    scope = IndexRequest(folder=str(root), cache_file=str(root.parent / "cache"), project="p")
    sha = git(root, "rev-parse", "HEAD")
    branch = git(root, "symbolic-ref", "--short", "HEAD")
    reached = {"scope": scope, "into": branch, "shas": [sha, "0" * 40]}
    assert await indexer.call("reached", reached, list[str]) == [sha]
