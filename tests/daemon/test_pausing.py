"""A paused project is neither watched nor indexed, also after a restart; settings and checks of the running daemon."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.daemon.running import RunningDaemon, daemon_of_many
from tests.repositories import make_shop

pytestmark = pytest.mark.process


def test_paused_project_takes_no_signals_until_resumed(homes: Path) -> None:
    shop = make_shop(homes / "pausing")
    opened = {"signals": [{"kind": "file_opened", "project": str(shop), "path": "shop/basket.py"}]}
    with daemon_of_many(homes) as daemon:
        project = daemon.add(shop)
        assert daemon.request("PATCH", f"/projects/{project['id']}", {"paused": True})[0] == 200
        daemon.stop()
        daemon.start()

        assert [one["paused"] for one in daemon.get("/projects")["items"]] == [True]
        refused = daemon.post("/signals", opened)
        assert refused["accepted"] == 0
        assert "is paused" in refused["rejected"][0]["error"]["message"]
        assert daemon.get("/status")["projects"][0]["watching"] == {"files": None, "git": None}

        daemon.request("PATCH", f"/projects/{project['id']}", {"paused": False})
        assert daemon.post("/signals", opened)["accepted"] == 1
        assert daemon.get("/status")["projects"][0]["watching"]["git"] is not None


def test_changed_setting_is_written_and_applies_later(daemon: RunningDaemon) -> None:
    def find() -> dict[str, str]:
        items = daemon.get("/settings")["items"]
        return next(one for one in items if (one["section"], one["name"]) == ("context", "budget"))

    status, _ = daemon.request("PATCH", "/settings", {"section": "context", "name": "budget", "value": "5000"})
    assert status == 200
    assert (find()["value"], find()["written"]) == ("8000", "5000")
    status, told = daemon.request("PATCH", "/settings", {"section": "context", "name": "budget", "value": "0"})
    assert status == 422
    assert told["error"]["field"] == "context.budget"
    assert "between 1 and" in told["error"]["message"]


def test_doctor_route_mends_a_readable_folder(daemon: RunningDaemon) -> None:
    daemon.places.state.chmod(0o755)
    checks = {one["name"]: one for one in daemon.get("/doctor")["checks"] if one["verdict"] == "bad"}
    assert checks["folders"]["fixable"]

    fixed = daemon.post("/doctor/fix", {})
    assert daemon.places.state.stat().st_mode & 0o077 == 0
    assert "fixed" in json.dumps(fixed)
