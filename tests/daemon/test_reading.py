"""A language model reads sessions of the real daemon only if that is enabled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.daemon.running import RunningDaemon, running_daemon
from tests.language.messages_api import MessagesApi, messages_api_beside, refuses, says

pytest.importorskip("anthropic")

SAID = "As of today the lock file belongs to pnpm."
FACT = {
    "category": "decision",
    "key": "package manager",
    "value": "pnpm",
    "quote": "the lock file belongs to pnpm",
    "turn": 1,
    "importance": 0.8,
}
MADE_UP = FACT | {"key": "database", "value": "Postgres", "quote": "we all love Postgres"}


def switched_on(api: MessagesApi, **more: Any) -> str:
    told = {"enabled": "true", "base_url": f'"{api.url}"', "rest_seconds": "0.0"} | more
    return "[language]\n" + "".join(f"{name} = {value}\n" for name, value in told.items())


def told_and_ended(daemon: RunningDaemon, session: str = "s") -> None:
    daemon.post(f"/sessions/{session}/messages", {"messages": [{"role": "user", "content": SAID}]})
    daemon.post(f"/sessions/{session}/end", {})


def language(daemon: RunningDaemon) -> dict[str, Any]:
    found: dict[str, Any] = daemon.get("/status")["language"]
    return found


def test_language_model_claims_need_evidence(hunchd_home: Path) -> None:
    with messages_api_beside(says({"facts": [FACT, MADE_UP]})) as api:
        key = {"ANTHROPIC_API_KEY": "not-a-real-key"}
        with running_daemon(hunchd_home, settings=switched_on(api), environment=key) as daemon:
            told_and_ended(daemon)
            daemon.wait_until(
                lambda: language(daemon)["questions"] and not language(daemon)["waiting"], within=60, what="ask"
            )
            found = daemon.get("/facts", key="package manager")
            status = language(daemon)
            missing = daemon.request("GET", "/facts", query={"key": "database"})[0]

            assert found["fact"]["value"] == "pnpm"
            assert found["fact"]["source"]["read_by"] == status["model"]
            assert missing == 404
            assert 0 < status["spent_today_usd"] < status["limit_usd"]

            daemon.restart()
            assert language(daemon)["spent_today_usd"] == status["spent_today_usd"]
            assert len(api.asked) == 1


def test_language_model_disabled_makes_no_calls(hunchd_home: Path) -> None:
    with messages_api_beside(says({"facts": [FACT]})) as api:
        settings = switched_on(api, enabled="false")
        with running_daemon(hunchd_home, settings=settings, environment={"ANTHROPIC_API_KEY": "x"}) as daemon:
            told_and_ended(daemon)
            assert language(daemon) is None
            assert daemon.request("GET", "/facts", query={"key": "package manager"})[0] == 404
        assert api.asked == []


def test_language_model_failure_is_reported_only(hunchd_home: Path) -> None:
    with messages_api_beside(refuses(401, "authentication_error")) as api:
        key = {"ANTHROPIC_API_KEY": "not-a-real-key"}
        with running_daemon(hunchd_home, settings=switched_on(api), environment=key) as daemon:
            told_and_ended(daemon)
            daemon.wait_until(lambda: "trouble" in language(daemon), within=60, what="fail")
            status = language(daemon)
            assert "401" in status["trouble"]
            assert status["spent_today_usd"] == 0
            assert daemon.post("/search", {"query": "lock file pnpm"})["results"] != []
            assert "not-a-real-key" not in daemon.log
