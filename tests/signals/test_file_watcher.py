"""File watcher: saves, deletes, bulk changes, ignore rules and lost events."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hunchd.domain.errors import Overloaded
from hunchd.domain.signal import FileDeleted, FileOpened, FileSaved, FilesChanged, Signal
from hunchd.repository.ignore import IgnoreRules, WalkLimits
from hunchd.signals.file_watcher import FileWatcher, WatchOptions
from hunchd.signals.watcher_thread import WatcherThread
from tests.signals.inbox import Inbox, eventually

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="uses inotify")


class Watched:
    """File watcher with its inbox."""

    def __init__(self, root: Path, emit: Callable[[Signal], None] | None = None, **options: object) -> None:
        self.root = root
        self.inbox = Inbox()
        chosen = WatchOptions(**options)  # type: ignore[arg-type]
        self.thread = WatcherThread("test")
        self.thread.start()
        self.watcher = FileWatcher(root, IgnoreRules.load(root), emit or self.inbox, options=chosen, thread=self.thread)
        self.watcher.start()
        assert self.watcher.wait_ready(20)

    def stop(self) -> None:
        self.watcher.stop()
        self.thread.stop()

    def saved(self) -> list[str]:
        return [one.path for one in self.inbox.of(FileSaved)]

    def deleted(self) -> list[str]:
        return [one.path for one in self.inbox.of(FileDeleted)]

    def equals_the_disk(self) -> bool:
        return self.watcher.list_known_files() == frozenset(path for path, _ in IgnoreRules.load(self.root).walk())


Watch = Callable[..., Watched]


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Watch]:
    """Watch `tmp_path/tree` or another folder."""
    begun: list[Watched] = []

    def begin(root: Path | None = None, **options: object) -> Watched:
        begun.append(Watched(root or tmp_path / "tree", **options))
        return begun[-1]

    yield begin
    for one in begun:
        one.stop()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    for path in ("a.py", "src/b.py", "src/deep/c.py"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("1\n")
    return root


def test_existing_files_are_known_without_signals(tree: Path, watch: Watch) -> None:
    watched = watch()

    assert watched.watcher.list_known_files() == {"a.py", "src/b.py", "src/deep/c.py"}
    assert watched.inbox.rest(0.3) == []
    assert watched.watcher.status().watched == 3


def test_repeated_saves_emit_one_signal(tree: Path, watch: Watch) -> None:
    watched = watch()

    for number in range(5):
        (tree / "src/b.py").write_text(f"{number}\n")

    watched.inbox.wait(watched.saved)
    told = watched.inbox.rest(0.3)
    assert [type(one) for one in told] == [FileSaved]
    assert (told[0].project, watched.saved()) == (str(tree), ["src/b.py"])


def test_deletion_and_rename_emit_signals(tree: Path, watch: Watch) -> None:
    watched = watch()

    (tree / "a.py").unlink()
    (tree / "src/b.py").rename(tree / "src/z.py")

    watched.inbox.wait(lambda: len(watched.deleted()) == 2)
    assert sorted(watched.deleted()) == ["a.py", "src/b.py"]
    assert watched.saved() == ["src/z.py"]


def vim(file: Path) -> None:
    """Save like vim with its defaults: probe, rename to a backup, write, remove the backup."""
    probe = file.with_name("4913")
    probe.write_text("")
    probe.unlink()
    file.rename(f"{file}~")
    file.write_text("vim\n")
    Path(f"{file}~").unlink()


def emacs(file: Path) -> None:
    lock, auto = file.with_name(f".#{file.name}"), file.with_name(f"#{file.name}#")
    lock.symlink_to("ada@host.1:1")
    auto.write_text("half\n")
    shutil.copy(file, f"{file}~")
    file.write_text("emacs\n")
    auto.unlink()
    lock.unlink()


def jetbrains(file: Path) -> None:
    temporary, old = Path(f"{file}___jb_tmp___"), Path(f"{file}___jb_old___")
    temporary.write_text("jetbrains\n")
    file.rename(old)
    temporary.rename(file)
    old.unlink()


def atomic(file: Path) -> None:
    temporary = file.with_name(f"tmp{os.getpid()}_x7Gq")
    temporary.write_text("atomic\n")
    temporary.replace(file)


@pytest.mark.parametrize("save", [vim, emacs, jetbrains, atomic])
def test_editor_save_strategies_emit_one_save(tree: Path, watch: Watch, save: Callable[[Path], None]) -> None:
    watched = watch()

    save(tree / "src/b.py")

    watched.inbox.wait(watched.saved)
    watched.inbox.rest(0.5)
    assert watched.saved() == ["src/b.py"]
    assert watched.deleted() == []
    assert len([path for path in watched.watcher.list_known_files() if path.startswith("src/b")]) == 1


def test_new_folders_are_scanned_and_watched(tree: Path, watch: Watch) -> None:
    watched = watch()

    (tree / "new/inner/most").mkdir(parents=True)
    (tree / "new/inner/most/d.py").write_text("1\n")
    watched.inbox.wait(lambda: "new/inner/most/d.py" in watched.saved())
    (tree / "new/inner/e.py").write_text("1\n")
    watched.inbox.wait(lambda: "new/inner/e.py" in watched.saved())

    assert watched.watcher.status().watched == 6


def test_moved_folder_emits_deletes_and_saves(tree: Path, watch: Watch) -> None:
    watched = watch()

    (tree / "src").rename(tree / "lib")
    watched.inbox.wait(lambda: len(watched.deleted()) == 2)
    assert sorted(watched.saved()) == ["lib/b.py", "lib/deep/c.py"]
    watched.inbox.clear()
    (tree / "lib/deep/c.py").write_text("2\n")
    watched.inbox.wait(watched.saved)

    assert watched.saved() == ["lib/deep/c.py"]
    assert watched.equals_the_disk()


def test_deleted_folder_emits_deletes(tree: Path, watch: Watch) -> None:
    watched = watch()

    shutil.rmtree(tree / "src")

    watched.inbox.wait(lambda: len(watched.deleted()) == 2)
    assert watched.watcher.status().watched == 1
    assert watched.equals_the_disk()


def test_ignored_folders_are_not_watched(tree: Path, watch: Watch) -> None:
    for path in ("node_modules/x/index.js", ".git/objects/aa/bb", "build/out.py", ".venv/lib/y.py"):
        (tree / path).parent.mkdir(parents=True)
        (tree / path).write_text("1\n")
    (tree / ".gitignore").write_text("build/\n*.log\n")
    watched = watch()

    for path in ("node_modules/x/index.js", "build/out.py", "x.log", ".env", "image.png"):
        (tree / path).write_text("2\n")
    (tree / "a.py").write_text("2\n")
    watched.inbox.wait(watched.saved)

    watched.inbox.rest(0.3)
    assert watched.saved() == ["a.py"]
    assert watched.watcher.status().watched == 3


def test_changed_gitignore_updates_watched_files(tree: Path, watch: Watch) -> None:
    watched = watch()

    (tree / ".gitignore").write_text("src/\n")
    watched.inbox.wait(lambda: len(watched.deleted()) == 2)
    assert watched.watcher.list_known_files() == {".gitignore", "a.py"}
    (tree / ".gitignore").write_text("")
    watched.inbox.wait(lambda: "src/deep/c.py" in watched.saved())

    assert watched.equals_the_disk()


def test_nested_repository_is_ignored(tree: Path, watch: Watch) -> None:
    watched = watch()

    subprocess.run(["git", "init", "-q", str(tree / "other")], check=True)
    (tree / "other/x.py").write_text("1\n")
    eventually(watched.equals_the_disk)
    watched.inbox.rest(1.2)
    watched.inbox.clear()
    (tree / "other/x.py").write_text("2\n")

    assert watched.inbox.rest(0.4) == []
    assert "other/x.py" not in watched.watcher.list_known_files()


def test_symlinks_and_special_files_are_ignored(tree: Path, tmp_path: Path, watch: Watch) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/private.py").write_text("1\n")
    watched = watch()

    (tree / "loop").symlink_to(tree)
    (tree / "out").symlink_to(tmp_path / "outside")
    os.mkfifo(tree / "pipe.py")
    (tree / "giant.py").write_bytes(b"x" * 1_000_001)
    (tree / "end.py").write_text("1\n")
    watched.inbox.wait(watched.saved)
    (tmp_path / "outside/private.py").write_text("2\n")

    watched.inbox.rest(0.3)
    assert watched.saved() == ["end.py"]


def test_bulk_write_is_one_event(tree: Path, watch: Watch) -> None:
    watched = watch(bulk_files=100)

    for number in range(600):
        (tree / f"src/f{number}.py").write_text("1\n")

    watched.inbox.wait(lambda: sum(len(one.saved) for one in watched.inbox.of(FilesChanged)) >= 600)
    watched.inbox.rest(0.6)
    assert len(watched.inbox.of(FilesChanged)) <= 2
    assert watched.saved() == []


def test_checkout_of_few_files_is_one_event(tree: Path, watch: Watch) -> None:
    def git(*args: str) -> None:
        subprocess.run(["git", "-C", str(tree), *args], check=True, capture_output=True)

    git("init", "-qb", "main")
    git("add", ".")
    git("commit", "-qm", "one")
    git("checkout", "-qb", "side")
    for path in ("a.py", "src/b.py"):
        (tree / path).write_text("side\n")
    git("commit", "-qam", "two")
    watched = watch()

    git("checkout", "-q", "main")

    watched.inbox.wait(lambda: watched.inbox.of(FilesChanged))
    told = watched.inbox.rest(0.4)
    assert len(told) == 1
    assert sorted(watched.inbox.of(FilesChanged)[0].saved) == ["a.py", "src/b.py"]


def test_checkout_with_changed_gitignore_is_bulk_event(tree: Path, watch: Watch) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=tree, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    git("checkout", "-q", "-b", "other")
    (tree / ".gitignore").write_text("build/\n*.log\n")  # which git writes first, so that the tree is looked at anew
    for number in range(50):
        (tree / f"other{number}.py").write_text("x = 1\n")
    git("add", ".")
    git("commit", "-q", "-m", "other")
    git("checkout", "-q", "main")
    watched = watch()
    for branch in ("other", "main"):
        git("checkout", "-q", branch)
        eventually(watched.equals_the_disk)
        watched.inbox.rest(1.5)

    assert set(watched.inbox.kinds()) == {"FilesChanged"}


@pytest.mark.slow
def test_checkout_of_10000_files_is_few_events(tmp_path: Path, watch: Watch) -> None:
    root = tmp_path / "big"
    root.mkdir()
    lines = ["commit refs/heads/main", "committer A <a@b> 1700000000 +0000", "data 1", "m"]
    lines += [f"M 100644 inline d{number % 100}/f{number}.py\ndata 2\nx\n" for number in range(10_000)]
    lines += ["commit refs/heads/side", "committer A <a@b> 1700000001 +0000", "data 1", "s", "from refs/heads/main"]
    lines += [f"M 100644 inline d{number % 100}/f{number}.py\ndata 2\ny\n" for number in range(10_000)]
    subprocess.run(["git", "-C", str(root), "init", "-qb", "main"], check=True)
    stream = "\n".join(lines) + "\n"
    subprocess.run(["git", "-C", str(root), "fast-import", "--quiet"], input=stream, text=True, check=True)
    subprocess.run(["git", "-C", str(root), "checkout", "-q", "main"], check=True)
    subprocess.run(["git", "-C", str(root), "reset", "-q", "--hard"], check=True)
    watched = watch(root)

    subprocess.run(["git", "-C", str(root), "checkout", "-q", "side"], check=True)

    def told() -> int:
        return sum(len(one.saved) for one in watched.inbox.of(FilesChanged))

    watched.inbox.wait(lambda: told() >= 10_000 or not all(one.complete for one in watched.inbox.of(FilesChanged)), 15)
    watched.inbox.rest(0.6)
    assert len(watched.inbox.signals) <= 3
    assert watched.saved() == []
    assert watched.equals_the_disk()


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_60000_changes_converge_with_two_rescans(tmp_path: Path, watch: Watch) -> None:
    root = tmp_path / "storm"
    for number in range(200):
        (root / f"d{number}").mkdir(parents=True)
    watched = watch(root)
    script = f"""
import os
for number in range(60_000):
    os.close(os.open(f"{root}/d{{number % 200}}/f{{number}}.py", os.O_CREAT | os.O_WRONLY))
"""
    subprocess.run([sys.executable, "-c", script], check=True)

    eventually(lambda: watched.watcher.status().files == 60_000, 10)

    assert watched.equals_the_disk()
    assert watched.watcher.status().rescans <= 2


@pytest.fixture
def short_queue() -> Iterator[Path]:
    """Limit the kernel's queue to 64 events for watchers created during the test."""
    place = Path("/proc/sys/fs/inotify/max_queued_events")
    before = place.read_text()
    place.write_text("64")
    yield place
    place.write_text(before)


@pytest.mark.skipif(not os.access("/proc/sys/fs/inotify/max_queued_events", os.W_OK), reason="needs root")
def test_queue_overflow_triggers_rescan(tree: Path, watch: Watch, short_queue: Path) -> None:
    watched = watch()

    for number in range(5_000):
        os.close(os.open(tree / f"src/f{number % 500}.py", os.O_CREAT | os.O_WRONLY))
        if number % 3:
            (tree / f"src/f{number % 500}.py").unlink()
    eventually(lambda: watched.watcher.status().overflows >= 1)
    eventually(watched.equals_the_disk, 10)

    assert 1 <= watched.watcher.status().rescans <= 2
    watched.inbox.rest(0.6)
    (tree / "a.py").write_text("after\n")
    watched.inbox.wait(lambda: "a.py" in watched.saved())


def test_folders_over_watch_limit_are_polled(tree: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunchd.signals.file_watcher.MIN_POLL_SECONDS", 0.1)
    watched = watch(max_watches=1)

    status = watched.watcher.status()
    assert (status.mode, status.watched, status.polled) == ("mixed", 1, 2)
    assert "more than 1 folders" in status.reason
    (tree / "src/deep/c.py").write_text("2\n")
    watched.inbox.wait(lambda: "src/deep/c.py" in watched.saved())
    (tree / "src/later").mkdir()
    (tree / "src/later/d.py").write_text("1\n")
    watched.inbox.wait(lambda: "src/later/d.py" in watched.saved())
    shutil.rmtree(tree / "src/deep")
    watched.inbox.wait(lambda: "src/deep/c.py" in watched.deleted())
    assert watched.equals_the_disk()


def test_tree_without_inotify_is_polled(tree: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunchd.signals.file_watcher.MIN_POLL_SECONDS", 0.1)
    monkeypatch.setattr("watchdog.observers.inotify_c.inotify_init", lambda: -1)
    watched = watch()

    assert watched.watcher.status().mode == "polling"
    (tree / "src/b.py").write_text("2\n")

    watched.inbox.wait(watched.saved)
    assert watched.saved() == ["src/b.py"]


def test_huge_folder_is_truncated_in_status(tree: Path, watch: Watch) -> None:
    for number in range(60):
        (tree / f"src/f{number:02}.py").write_text("1\n")

    watched = watch(limits=WalkLimits(entries_per_folder=50))

    assert watched.watcher.status().files <= 51
    assert "50 entries" in watched.watcher.status().truncated


def test_moved_root_is_missing_until_it_returns(
    tree: Path, tmp_path: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hunchd.signals.file_watcher.MISSING_ROOT_INTERVAL", 0.05)
    watched = watch()
    away = tmp_path / "away"

    tree.rename(away)
    eventually(lambda: watched.watcher.status().state == "missing")
    assert watched.inbox.rest(0.4) == [], "that a disk is unplugged deletes nothing"
    (away / "a.py").write_text("changed meanwhile\n")
    away.rename(tree)
    eventually(lambda: watched.watcher.status().state == "watching")

    watched.inbox.wait(watched.saved)
    assert watched.saved() == ["a.py"]
    watched.inbox.clear()
    (tree / "src/b.py").write_text("2\n")
    watched.inbox.wait(watched.saved)
    assert watched.saved() == ["src/b.py"]


def test_recreated_root_is_watched_again(tree: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunchd.signals.file_watcher.MISSING_ROOT_INTERVAL", 0.05)
    watched = watch()

    shutil.rmtree(tree)
    eventually(lambda: watched.watcher.status().state == "missing")
    tree.mkdir()
    (tree / "fresh.py").write_text("1\n")
    eventually(lambda: watched.watcher.status().state == "watching")

    eventually(watched.equals_the_disk)


def test_root_missing_at_start_is_awaited(
    tmp_path: Path, thread: WatcherThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hunchd.signals.file_watcher.MISSING_ROOT_INTERVAL", 0.05)
    root, inbox = tmp_path / "later", Inbox()
    watcher = FileWatcher(root, IgnoreRules.load(root), inbox, thread=thread)
    watcher.start()
    eventually(lambda: watcher.status().state == "missing")

    root.mkdir()
    (root / "a.py").write_text("1\n")
    assert watcher.wait_ready(5)

    assert watcher.list_known_files() == {"a.py"}
    watcher.stop()


def test_opens_are_optional_and_sweeps_dropped(tree: Path, watch: Watch) -> None:
    quiet, curious = watch(), watch(opens=True)
    for number in range(40):
        (tree / f"src/f{number}.py").write_text("1\n")
    curious.inbox.rest()
    curious.inbox.clear()
    quiet.inbox.clear()

    (tree / "a.py").read_text()
    curious.inbox.wait(lambda: curious.inbox.of(FileOpened))
    curious.inbox.rest(0.7)
    for path in tree.rglob("*.py"):
        path.read_text()
    curious.inbox.rest(0.7)

    assert [one.path for one in curious.inbox.of(FileOpened)] == ["a.py"]
    assert quiet.inbox.signals == []


def test_overloaded_signals_wait_and_merge(tree: Path) -> None:
    inbox, full = Inbox(), threading.Event()
    full.set()

    def emit(signal: Signal) -> None:
        if full.is_set():
            raise Overloaded("full", retry_after=0.05)
        inbox(signal)

    watched = Watched(tree, emit)
    for number in range(5):
        (tree / "a.py").write_text(f"{number}\n")
        eventually(lambda: watched.watcher.status().waiting >= 1)
    (tree / "src/b.py").unlink()
    eventually(lambda: watched.watcher.status().waiting >= 2)
    assert inbox.signals == []
    full.clear()

    inbox.wait(lambda: len(inbox.signals) >= 2)
    assert sorted(inbox.kinds()) == ["FileDeleted", "FileSaved"]
    watched.stop()


def test_failing_listener_does_not_end_thread(tree: Path, caplog: pytest.LogCaptureFixture) -> None:
    inbox = Inbox()
    failures = iter([True])

    def emit(signal: Signal) -> None:
        if next(failures, False):
            raise RuntimeError("a bug")
        inbox(signal)

    watched = Watched(tree, emit)
    (tree / "a.py").write_text("2\n")
    eventually(lambda: watched.watcher.status().failures == 1)
    (tree / "src/b.py").write_text("2\n")

    inbox.wait(lambda: inbox.of(FileSaved))
    assert "a bug" in caplog.text
    watched.stop()


def test_stop_is_quick_and_leaves_no_thread(tree: Path) -> None:
    for number in range(300):
        (tree / f"d{number}").mkdir()
    before = threading.active_count()
    watched = Watched(tree)
    assert threading.active_count() == before + 1
    assert any(thread.name == "test" for thread in threading.enumerate())

    watched.stop()

    assert threading.active_count() == before
    assert watched.watcher.status().state == "stopped"
