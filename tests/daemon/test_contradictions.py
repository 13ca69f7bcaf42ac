"""Pairs that no rule decides are judged by a model, once, in the background and at night, if enabled."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.reading import FakeModels
from tests.daemon.running import RunningDaemon, running_daemon
from tests.daemon.test_consolidation import take
from tests.daemon.test_reading import switched_on
from tests.language.messages_api import messages_api_beside, says
from tests.repositories import make_shop

pytestmark = pytest.mark.timeout(180)

SETTINGS = "[signals]\nwatch_files = false\n[store]\ncommit_ms = 20\n"
STEREO, MONO = "Audio is mixed in stereo", "The audio mixer output is mono"
REASON = "they disagree: 'mixed stereo' against 'mixer output mono'"


def said(number: int, text: str, **fields: Any) -> dict[str, Any]:
    told = {
        "id": f"m{number}",
        "kind": "fact",
        "title": text,
        "content": text,
        "trust": "user",
        "at": f"2026-05-0{number}T12:00:00+00:00",
        "created": f"2026-05-0{number}T12:00:00+00:00",
        "updated": f"2026-05-0{number}T12:00:00+00:00",
    }
    return told | fields


def asked(daemon: RunningDaemon) -> list[Mapping[str, Any]]:
    return list(daemon.get("/contradictions")["items"])


def test_model_judges_each_unmatched_pair_once(hunchd_home: Path, tmp_path: Path) -> None:
    models = FakeModels(tmp_path)
    with running_daemon(hunchd_home, settings=SETTINGS, environment=models.environment) as daemon:
        take(daemon, said(1, STEREO))
        assert models.loads == 0  # nothing is there to be read
        take(daemon, said(2, MONO), said(3, "The mixer of audio is written in Rust"))
        daemon.wait_until(lambda: asked(daemon), within=60, what="notice the contradiction")
        [found] = asked(daemon)
        assert (found["a"]["id"], found["b"]["id"], found["reason"]) == ("m1", "m2", REASON)
        assert found["confidence"] == 0.97

        daemon.wait_until(lambda: len(models.pairs) >= 3, within=60, what="read all pairs")
        first = daemon.post("/consolidate", {"steps": ["contradictions"]})
        read = len(models.pairs)
        second = daemon.post("/consolidate", {"steps": ["contradictions"]})
        assert (first["contradictions_found"], second["contradictions_found"]) == (0, 0)
        assert len(models.pairs) == read
        assert models.loads == 1
        assert daemon.get("/status")["degraded"] == []


def test_contradiction_closed_once_side_is_edited(hunchd_home: Path, tmp_path: Path) -> None:
    models = FakeModels(tmp_path)
    with running_daemon(hunchd_home, settings=SETTINGS, environment=models.environment) as daemon:
        take(daemon, said(1, STEREO), said(2, MONO))
        daemon.wait_until(lambda: asked(daemon), within=60, what="notice the contradiction")
        daemon.request("PATCH", "/memories/m2", {"content": "The output of the mixer is loud"})
        daemon.wait_until(lambda: not asked(daemon), within=60, what="close the contradiction")


def test_nightly_reading_opens_contradictions_dry_run_not(hunchd_home: Path, tmp_path: Path) -> None:
    models = FakeModels(tmp_path)
    off = SETTINGS + "[embedding]\ncontradictions = false\n"
    with running_daemon(hunchd_home, settings=off, environment=models.environment) as daemon:
        take(daemon, said(1, STEREO), said(2, MONO))
        assert daemon.post("/consolidate", {"steps": ["contradictions"]})["contradictions_found"] == 0
    assert models.loads == 0  # switched off
    with running_daemon(hunchd_home, settings=SETTINGS, environment=models.environment) as daemon:
        foreseen = daemon.post("/consolidate", {"steps": ["contradictions"], "dry_run": True})
        done = daemon.post("/consolidate", {"steps": ["contradictions"]})
        assert (foreseen["contradictions_found"], done["contradictions_found"]) == (1, 1)
        assert [one["reason"] for one in asked(daemon)] == [REASON]
        assert models.pairs == [(STEREO, MONO)]


def test_unloadable_model_leaves_exact_contradictions(hunchd_home: Path, tmp_path: Path) -> None:
    models = FakeModels(tmp_path, broken=True)
    with running_daemon(hunchd_home, settings=SETTINGS, environment=models.environment) as daemon:
        take(daemon, said(1, STEREO), said(2, MONO), said(3, "birch depends on click ^8.1.0"))
        take(daemon, said(4, "birch depends on click ^7.0.0"))
        daemon.wait_until(lambda: asked(daemon), within=60, what="notice what is exact")
        assert [one["reason"] for one in asked(daemon)] == ["they name versions that exclude each other"]
        daemon.wait_until(lambda: daemon.get("/status")["degraded"], within=60, what="say what is missing")
        [told] = daemon.get("/status")["degraded"]
        assert told.startswith(
            "contradictions between freely worded statements cannot be found: "
            "the model for contradictions cannot be loaded"
        )
        assert models.loads == 1


def test_pair_denied_by_language_model_stays_closed(hunchd_home: Path, tmp_path: Path) -> None:
    pytest.importorskip("anthropic")
    models = FakeModels(tmp_path)
    with messages_api_beside(says({"contradictions": []})) as api:
        key = {"ANTHROPIC_API_KEY": "not-a-real-key", **models.environment}
        settings = SETTINGS + switched_on(api, contradictions="true")
        with running_daemon(hunchd_home, settings=settings, environment=key) as daemon:
            take(daemon, said(1, STEREO), said(2, "birch depends on click ^8.1.0"))
            take(daemon, said(3, MONO), said(4, "birch depends on click ^7.0.0"))
            daemon.wait_until(lambda: asked(daemon), within=60, what="open what is exact")
            daemon.wait_until((hunchd_home / "state" / "verdicts.json").exists, within=60, what="keep the answer")
            night = daemon.post("/consolidate", {"steps": ["contradictions"]})
            assert night["contradictions_found"] == 0
            assert [one["a"]["id"] for one in asked(daemon)] == ["m2"]
    with running_daemon(hunchd_home, settings=SETTINGS, environment=models.environment) as daemon:
        night = daemon.post("/consolidate", {"steps": ["contradictions"]})
        assert night["contradictions_found"] == 1  # switched off, the model on this machine decides


def test_similar_statements_listed_and_contradiction_reported(hunchd_home: Path, tmp_path: Path) -> None:
    shop = make_shop(tmp_path / "shop")
    by_words = SETTINGS + "[embedding]\nenabled = false\n"
    with running_daemon(hunchd_home, settings=by_words) as daemon:

        def kept(text: str) -> str:
            body = {"kind": "fact", "content": text, "project": str(shop), "trust": "derived"}
            return str(daemon.post("/memories", body)["ids"][0])

        daemon.post("/projects", {"path": str(shop)})
        old = kept("Guests pay at the checkout")
        kept("Thumbnails are cached for a week")
        new = kept("Whoever pays at the checkout has signed in")

        near = daemon.get(f"/memories/{new}/near")
        assert [one["id"] for one in near["items"]] == [old]

        told = daemon.post("/contradictions", {"a": new, "b": old, "note": "the manual says so"})
        assert (told["a"]["id"], told["b"]["id"], told["reason"]) == (old, new, "the manual says so")
        assert told["status"] == "open"
        assert daemon.post("/contradictions", {"a": old, "b": new})["id"] == told["id"]
        assert [one["id"] for one in asked(daemon)] == [told["id"]]
        assert daemon.get(f"/memories/{new}/near")["items"] == []  # it is asked about
        assert told["id"] in daemon.get("/context", project=str(shop))["context"]  # above everything else

        daemon.post(f"/contradictions/{told['id']}/resolve", {"resolution": "both_valid"})
        again = daemon.post("/contradictions", {"a": old, "b": new})
        assert (again["status"], again["resolution"]) == ("resolved", "both_valid")


def test_contradiction_report_is_validated_and_bounded(hunchd_home: Path, tmp_path: Path) -> None:
    shop = make_shop(tmp_path / "shop")
    with running_daemon(hunchd_home, settings=SETTINGS + "[embedding]\nenabled = false\n") as daemon:
        daemon.post("/projects", {"path": str(shop)})
        texts = ["Audio is mixed in stereo", "Five voices", "Six effects", "Seven loops", "Eight cues"]
        bodies = [{"kind": "fact", "content": text, "project": str(shop)} for text in texts]
        first, *others = daemon.post("/memories", {"memories": bodies})["ids"]
        [elsewhere] = daemon.post("/memories", {"kind": "fact", "content": "The mixer is mono"})["ids"]
        [done] = daemon.post(
            "/memories", {"kind": "episode", "content": "Mixed", "project": str(shop), "trust": "derived"}
        )["ids"]

        def refused(a: str, b: str) -> tuple[int, str]:
            status, answer = daemon.request("POST", "/contradictions", {"a": a, "b": b})
            return status, answer["error"].get("field")

        assert refused(first, "m0") == (404, "b")
        assert refused("m0", first) == (404, "a")
        assert refused(first, first) == (409, "b")
        assert refused(first, elsewhere) == (409, "b")
        assert refused(done, first) == (409, "a")
        assert daemon.request("POST", "/contradictions", {"a": first})[0] == 422
        for other in others[:3]:
            daemon.post("/contradictions", {"a": first, "b": other})
        assert refused(first, others[3]) == (409, None)
        assert len(asked(daemon)) == 3
