"""An untrusted repository is read without running any of its programs, and without writing to it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.running import RunningDaemon, running_daemon
from tests.repositories import make_shop
from tests.security.hostile_configs import TRAPS, Trap, arm
from tests.security.looking import Inotify

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks through inotify and a terminal")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        for role in ("AUTHOR", "COMMITTER"):
            environment.setenv(f"GIT_{role}_NAME", "Ada")
            environment.setenv(f"GIT_{role}_EMAIL", "ada@example.org")
        return make_shop(tmp_path_factory.mktemp("shops") / "shop")


def context(daemon: RunningDaemon, repository: Path, file: str = "shop/basket.py") -> dict[str, Any]:
    answer: dict[str, Any] = daemon.get("/context", project=str(repository), file=file)
    return answer


def titles(daemon: RunningDaemon, repository: Path, query: str) -> str:
    results = daemon.post("/search", {"project": str(repository), "query": query, "kinds": ["code"]})["results"]
    return "\n".join(result["title"] for result in results)


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("trap", TRAPS, ids=[trap.name for trap in TRAPS])
def test_repository_programs_are_never_executed(
    shared_daemon: RunningDaemon, shop: Path, tmp_path: Path, trap: Trap
) -> None:
    armed = arm(trap, tmp_path, shop)
    repository, daemon = armed.repository, shared_daemon
    before = files_of(repository / ".git")

    with Inotify(repository / ".git") as seen:
        daemon.add(repository)
        assert context(daemon, repository)["items"] != []
        assert files_of(repository / ".git") == before

        (repository / "shop/checkout.py").write_text(
            "from shop.basket import Basket\n\n\ndef refund(basket: Basket) -> None:\n    pass\n"
        )
        daemon.wait_until(lambda: "def refund" in titles(daemon, repository, "refund"), within=60, what="see a save")
        armed.commit_by_hand("Vouchers for the basket", {"shop/voucher.py": "def redeem() -> None:\n    pass\n"})
        armed.checkout_by_hand("vouchers")
        daemon.wait_until(
            lambda: "branch vouchers" in context(daemon, repository)["context"], within=60, what="see a checkout"
        )
        daemon.post("/context/predict", {"project": str(repository), "query": "vouchers"})
        daemon.post("/search", {"project": str(repository), "query": "vouchers"})
        assert seen.names() <= {"HEAD"}
    assert not armed.canary.exists()

    armed.spring()
    assert armed.canary.exists(), "the trap is no trap: this test could not have failed"


def test_git_index_is_never_locked(shared_daemon: RunningDaemon, shop: Path, tmp_path: Path) -> None:
    repository = tmp_path / "shop"
    shutil.copytree(shop, repository)
    daemon = shared_daemon
    folders = [folder for folder in (repository / ".git", *(repository / ".git").rglob("*")) if folder.is_dir()]

    with Inotify(*folders) as seen:
        daemon.add(repository)
        for number in range(100):
            (repository / "shop/checkout.py").write_text(
                f"from shop.basket import Basket\n\n\ndef pay{number}(basket: Basket) -> None:\n    pass\n"
            )
            context(daemon, repository)
        daemon.wait_until(lambda: "pay99" in titles(daemon, repository, "pay99"), within=60, what="see the last")
        assert seen.names() == set()
        (repository / ".git/index.lock").touch()
        assert seen.names() == {"index.lock"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository to somebody else")
@pytest.mark.parametrize("trusted", [False, True], ids=["not trusted", "in safe.directory"])
def test_foreign_repository_requires_safe_directory(
    hunchd_home: Path, shop: Path, tmp_path: Path, trusted: bool
) -> None:
    repository = tmp_path / "theirs"
    shutil.copytree(shop, repository)
    for path in (repository, *repository.rglob("*")):
        os.chown(path, 54_321, 54_321)
    config = tmp_path / "gitconfig"
    config.write_text(f"[safe]\n\tdirectory = {repository}\n" if trusted else "")

    with running_daemon(hunchd_home, environment={"GIT_CONFIG_GLOBAL": str(config)}) as daemon:
        daemon.post("/projects", {"path": str(repository)})
        [project] = daemon.get("/projects")["items"]
        daemon.wait_until(
            lambda: daemon.get("/projects")["items"][0]["state"] == "ready", within=30, what="come to an end"
        )
        [project] = daemon.get("/projects")["items"]
        if trusted:
            assert "index_error" not in project
            assert "changed together" in context(daemon, repository)["context"]
        else:
            assert "dubious ownership" in project["index_error"]
            bundle = context(daemon, repository)
            assert bundle["status"] == "degraded"
            assert "changed together" not in bundle["context"]
