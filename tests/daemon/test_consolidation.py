"""Consolidation in the real daemon: changes of a run, its limits, and undo."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hunchd.cli import http
from tests.daemon.running import RunningDaemon, running_daemon
from tests.repositories import make_shop

pytestmark = pytest.mark.timeout(180)

SETTINGS = "[signals]\nwatch_files = false\n[embedding]\nenabled = false\n[store]\ncommit_ms = 20\n"
COUNTED = ("deduped", "summarised", "compressed", "forgotten", "linked", "retired", "histories")


def days_ago(days: float) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat()


def episode(number: int, *, age: float, **fields: Any) -> dict[str, Any]:
    """Build an episode that nobody has looked at since; `fields` use the shape of the export."""
    topic = ("parser", "cache", "router", "session", "billing")[number % 5]
    told: dict[str, Any] = {
        "id": f"m{number:04d}",
        "kind": "episode",
        "title": f"Rework the {topic} for case {number}",
        "content": f"Rework the {topic} for case {number}\n\nWe decided to keep the {topic} lazy because "
        f"start {number} was slow. The old way of `{topic}_{number}()` loaded everything at once. Tests pass again.",
        "at": days_ago(age),
        "created": days_ago(age),
        "updated": days_ago(age),
        "trust": "untrusted",
        "importance": 0.4,
        "artifacts": [{"type": "file", "ref": f"src/{topic}/part{number}.py"}],
        "source": {"type": "session"},
    }
    return told | fields


def take(daemon: RunningDaemon, *memories: dict[str, Any]) -> None:
    lines = "\n".join(json.dumps({"type": "memory", "version": 1, "data": one}) for one in memories)
    assert daemon.told is not None
    answer = http.send_request(
        http.Address(daemon.told.socket, "127.0.0.1", 0),
        "POST",
        "/import",
        headers={"Authorization": f"Bearer {daemon.told.token}", "Content-Type": "application/x-ndjson"},
        body=lines.encode(),
        timeout=60,
    )
    assert json.loads(answer.read_body())["memories"] == len(memories)


def exported(daemon: RunningDaemon) -> dict[str, Any]:
    """Return everything stored, by id."""
    status, answer = daemon.request("GET", "/export", timeout=60)
    assert status == 200
    lines = [json.loads(line) for line in answer.splitlines()] if isinstance(answer, str) else [answer]
    return {line["data"]["id"]: line["data"] for line in lines if line["type"] == "memory"}


@pytest.fixture
def filled(hunchd_home: Path) -> Any:
    """Daemon with memories of all ages."""
    with running_daemon(hunchd_home, settings=SETTINGS) as daemon:
        take(daemon, *(episode(number, age=2 + number * 2) for number in range(80)))
        twin = episode(3, age=40)
        take(daemon, twin | {"id": "m9001", "content": f"  {twin['content']} "}, twin | {"id": "m9002"})
        yield daemon


def test_dry_run_matches_run_and_undo_restores(filled: RunningDaemon) -> None:
    before = exported(filled)

    foreseen = filled.post("/consolidate", {"dry_run": True})
    assert exported(filled) == before
    done = filled.post("/consolidate", {})
    after = exported(filled)

    assert foreseen["status"] == "dry_run"
    assert done["status"] == "done", done.get("lost", done)
    assert {name: done[name] for name in COUNTED} == {name: foreseen[name] for name in COUNTED}
    assert done["deduped"] == 1
    assert done["store"]["memories"] >= len(before)
    assert done["store"]["bytes"] > 0
    assert done["summarised"] > 5
    assert done["compressed"] > 50
    assert done["forgotten"] > 0
    assert done["histories"] > 0
    assert after != before
    assert {after[one]["content"] for one in before} == {told["content"] for told in before.values()}

    undone = filled.post(f"/consolidate/{done['run']}/undo", {})
    assert undone == {"run": done["run"], "undone": done["total"], "left": 0}
    assert exported(filled) == before


def test_expired_memory_is_retired_without_rollback(hunchd_home: Path) -> None:
    """As one of three results it counted as lost every night, so that every run was rolled back."""
    with running_daemon(hunchd_home, settings=SETTINGS) as daemon:
        said: dict[str, Any] = {"kind": "fact", "trust": "user"}
        lapsed = said | {"content": "the trial of the zeppelin runs until spring", "valid_to": days_ago(3)}
        lasting = [said | {"content": f"the {name} has an owner"} for name in ("gateway", "mailer")]
        ids = daemon.post("/memories", {"memories": [lapsed, *lasting]})["ids"]

        done = daemon.post("/consolidate", {})

        assert (done["status"], done["retired"]) == ("done", 1), done
        assert daemon.get(f"/memories/{ids[0]}")["status"] == "superseded"


def test_why_announces_erasure_and_undone_changes(
    hunchd_home: Path,
) -> None:
    with running_daemon(hunchd_home, settings=SETTINGS) as daemon:
        gone = {"type": "session", "archived": "not used for 120 days", "goes_after": days_ago(1)}
        take(daemon, *(episode(number, age=40) for number in range(3)))
        take(daemon, episode(9, age=160, status="archived", source=gone))

        foreseen = daemon.post("/consolidate", {"dry_run": True})
        done = daemon.post("/consolidate", {})

        assert (len(foreseen["changes"]), foreseen["more"]) == (4, 0)
        assert (foreseen["erased"], done["erased"]) == (1, 1)
        [told] = [change for change in foreseen["changes"] if change["step"] == "erase"]
        assert told["what"] == "erase 'Rework the billing for case 9'"
        assert "cannot be undone" in told["why"]

        assert [one["undone"] for one in daemon.get("/memories/m0001/usage")["changes"]] == [False]
        assert not any(one["undone"] for one in daemon.get(f"/consolidate/{done['run']}")["changes"])
        daemon.post(f"/consolidate/{done['run']}/undo", {})
        assert all(one["undone"] for one in daemon.get(f"/consolidate/{done['run']}")["changes"])
        [told] = daemon.get("/memories/m0001/usage")["changes"]
        assert (told["step"], told["run"], told["undone"]) == ("compress", done["run"], True)


def test_dry_run_lists_archived_beside_many_compressed(hunchd_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from hunchd.cli.main import main

    with running_daemon(hunchd_home, settings=SETTINGS) as daemon:
        take(daemon, *(episode(number, age=100 + number) for number in range(120)))

        foreseen = daemon.post("/consolidate", {"dry_run": True})
        assert main(["consolidate", "--dry-run"]) == 0

    steps = [change["step"] for change in foreseen["changes"]]
    assert (foreseen["compressed"], steps.count("compress")) == (120, 100)
    assert steps.count("forget") == foreseen["forgotten"] == 12
    assert foreseen["more"] == 20
    printed = capsys.readouterr().out
    assert "compress 'Rework" in printed
    assert "archive 'Rework" in printed


@pytest.mark.slow
def test_undo_of_single_change(filled: RunningDaemon) -> None:
    done = filled.post("/consolidate", {"steps": ["summarise"]})
    change = done["changes"][7]
    [edit] = change["edits"]

    filled.post(f"/consolidate/{done['run']}/undo", {"change": change["change"]})

    told = filled.get(f"/memories/{edit['id']}")
    assert "shown_as" not in told["source"]
    others = [one["edits"][0]["id"] for one in done["changes"] if one is not change]
    assert all(filled.get(f"/memories/{other}")["source"]["shown_as"] == "summary" for other in others[:5])
    again, _ = filled.request("POST", f"/consolidate/{done['run']}/undo", {"change": change["change"]})
    assert again == 409


def test_undo_of_several_changes_is_one(filled: RunningDaemon) -> None:
    done = filled.post("/consolidate", {})
    owner = next(one["edits"][0]["id"] for one in done["changes"] if one["step"] == "history")
    numbers = [one["change"] for one in done["changes"] if any(edit["id"] == owner for edit in one["edits"])]
    assert len(numbers) > 1
    path = f"/consolidate/{done['run']}/undo"
    assert filled.request("POST", path, {"changes": [numbers[0], "1"]})[0] == 422

    assert filled.post(path, {"changes": numbers}) == {"run": done["run"], "undone": len(numbers), "left": 0}

    told = filled.get(f"/consolidate/{done['run']}")
    assert [one["change"] for one in told["changes"] if one["undone"]] == numbers
    assert filled.request("POST", path, {"changes": numbers})[0] == 409


def test_undo_of_change_keeps_later_ones(filled: RunningDaemon) -> None:
    done = filled.post("/consolidate", {})
    histories = {edit["id"] for one in done["changes"] if one["step"] == "history" for edit in one["edits"]}
    change = next(one for one in done["changes"] if one["step"] == "compress" and one["edits"][0]["id"] in histories)
    identifier = change["edits"][0]["id"]

    filled.post(f"/consolidate/{done['run']}/undo", {"change": change["change"]})

    told = filled.get(f"/memories/{identifier}")
    assert "shown_as" not in told["source"]
    assert [link["type"] for link in told["links"]] == ["part_of"]
    undone = [one["change"] for one in filled.get(f"/consolidate/{done['run']}")["changes"] if one["undone"]]
    assert undone == [change["change"]]


@pytest.mark.slow
def test_undo_skips_memories_changed_since(filled: RunningDaemon) -> None:
    before = exported(filled)
    done = filled.post("/consolidate", {})
    told = exported(filled)
    [history, *_] = [one for one in told.values() if one["id"] not in before]
    part_of = {"type": "part_of", "ref": history["id"]}
    standing = (one for one in told.values() if one["status"] == "active")  # what was archived is not edited
    mine = next(one["id"] for one in standing if part_of in one.get("links", ()))
    assert filled.request("PATCH", f"/memories/{mine}", {"importance": 0.9})[0] == 200

    undone = filled.post(f"/consolidate/{done['run']}/undo", {})

    assert undone == {"run": done["run"], "undone": done["total"], "left": 0}
    after = exported(filled)
    own = {name for name in after[mine] if after[mine][name] != before[mine].get(name)}
    assert own == {"importance", "updated", "supersedes", "valid_from"}
    assert after[mine]["importance"] == 0.9
    assert {one: said for one, said in after.items() if not one.startswith(mine)} == {
        one: said for one, said in before.items() if one != mine
    }


@pytest.mark.slow
def test_undo_counts_rewritten_results_as_left(filled: RunningDaemon) -> None:
    before = exported(filled)
    done = filled.post("/consolidate", {})
    history = next(one for one in exported(filled) if one not in before)
    told = filled.get(f"/memories/{history}")
    assert filled.request("PATCH", f"/memories/{history}", {"content": f"{told['content']} By hand."})[0] == 200

    undone = filled.post(f"/consolidate/{done['run']}/undo", {})

    assert undone == {"run": done["run"], "undone": done["total"] - 1, "left": 1}
    assert filled.get(f"/memories/{history}")["content"].endswith("By hand.")


def test_run_losing_answers_rolls_back_naming_step(hunchd_home: Path) -> None:
    settings = SETTINGS + "[consolidation]\nforget_days = 0\nforget_share = 1.0\n"
    with running_daemon(hunchd_home, settings=settings) as daemon:
        take(daemon, *(episode(number, age=2 + number) for number in range(30)))
        found = daemon.post("/search", {"query": "case 7 parser router", "k": 5})["results"]
        assert found
        before = exported(daemon)

        done = daemon.post("/consolidate", {"steps": ["forget"]})

        assert done["status"] == "rolled_back", done
        assert {loss["step"] for loss in done["lost"]} == {"forget"}
        assert {loss["lost"] for loss in done["lost"]} <= set(before)
        assert exported(daemon) == before


@pytest.mark.slow
def test_user_stated_and_cited_memories_are_kept(hunchd_home: Path) -> None:
    settings = SETTINGS + "[consolidation]\nforget_share = 1.0\n"
    with running_daemon(hunchd_home, settings=settings) as daemon:
        take(
            daemon,
            episode(1, age=400, trust="user"),
            episode(2, age=400, usage={"retrieved": 0, "cited": 1, "ignored": 0}),
            episode(3, age=400, usage={"retrieved": 1, "cited": 0, "ignored": 0, "last": days_ago(10)}),
            episode(4, age=400),
            episode(5, age=50),
        )
        done = daemon.post("/consolidate", {"steps": ["forget"]})

        statuses = {one: told["status"] for one, told in exported(daemon).items()}
        assert done["forgotten"] == 1
        assert statuses == {
            "m0001": "active",
            "m0002": "active",
            "m0003": "active",
            "m0004": "archived",
            "m0005": "active",
        }


def test_archived_memory_is_undoable_until_erased(hunchd_home: Path) -> None:
    settings = SETTINGS + "[consolidation]\nforget_share = 1.0\nrestore_days = 0\n"
    with running_daemon(hunchd_home, settings=settings) as daemon:
        take(daemon, episode(1, age=400, content="Uniquely spoken zanzibarword of case 1."), episode(2, age=400))
        daemon.post("/consolidate", {"steps": ["forget"]})
        assert daemon.get("/memories/m0001")["status"] == "archived"
        assert daemon.post("/memories/m0002/undo", {})["status"] == "active"

        erased = daemon.post("/consolidate", {"steps": ["erase"]})

        assert erased["erased"] == 1
        assert set(exported(daemon)) == {"m0002"}
        holding = [
            path for path in daemon.places.data.rglob("*") if path.is_file() and b"zanzibarword" in path.read_bytes()
        ]
        assert holding == []


@pytest.mark.slow
def test_concurrent_run_conflicts_and_rerun_is_empty(filled: RunningDaemon) -> None:
    begun = filled.post("/consolidate", {"wait": False})
    status, refused = filled.request("POST", "/consolidate", {})
    assert status in (200, 409), refused
    filled.wait_until(
        lambda: filled.get(f"/consolidate/{begun['run']}")["status"] != "running", within=60, what="end the run"
    )
    again = filled.post("/consolidate", {})
    assert again["total"] == again["forgotten"], again["changes"]


def test_consolidate_command_prints_table_and_undoes(filled: RunningDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    from hunchd.cli.main import main

    assert main(["consolidate", "--dry-run"]) == 0
    assert "would change" in capsys.readouterr().out
    assert main(["consolidate", "--json"]) == 0
    run = json.loads(capsys.readouterr().out)["run"]
    assert main(["consolidate", "--runs"]) == 0
    assert run in capsys.readouterr().out
    assert main(["consolidate", "--undo", run]) == 0
    assert "changes undone" in capsys.readouterr().out


def test_fact_about_deleted_file_is_doubted_temporarily(hunchd_home: Path, tmp_path: Path) -> None:
    shop = make_shop(tmp_path / "shop")
    with running_daemon(hunchd_home, settings=SETTINGS) as daemon:
        project = daemon.add(shop)
        daemon.post(
            "/memories",
            {"kind": "fact", "project": str(shop), "content": "discounts are computed in shop/checkout.py only"},
        )

        def told() -> str:
            return str(daemon.get("/context", project=str(shop), file="shop/basket.py")["context"])

        def run() -> dict[str, Any]:
            answer: dict[str, Any] = daemon.post(
                "/consolidate", {"project": project["id"], "steps": ["cascade", "links"]}
            )
            assert answer["status"] == "done", answer
            return answer

        assert run()["linked"] >= 1
        assert run()["doubted"] == 0
        assert "in doubt" not in told()

        (shop / "shop/checkout.py").rename(shop / "paying.py")
        assert run()["doubted"] == 1
        assert "in doubt: shop/checkout.py is gone" in told()

        (shop / "paying.py").rename(shop / "shop/checkout.py")
        assert run()["trusted_again"] == 1
        assert "in doubt" not in told()


def test_run_counts_usage_shown_by_why(filled: RunningDaemon) -> None:
    found = filled.post("/search", {"query": "billing lazy start 4", "k": 3})["results"]
    first = found[0]["id"]
    filled.post("/feedback", {"items": [{"id": first, "outcome": "cited"}]})
    assert filled.get(f"/memories/{first}")["usage"]["retrieved"] == 1  # before any run

    done = filled.post("/consolidate", {"steps": ["use"]})

    assert done["counted"] >= len(found)
    used = filled.get(f"/memories/{first}/usage")
    assert used["usage"]["retrieved"] == 1
    assert used["usage"]["cited"] == 1
    assert [event["what"] for event in used["events"]] == ["you said: cited"]
    assert [change["step"] for change in used["changes"]] == ["use"]


def test_forgotten_memory_is_removed_from_run_logs(filled: RunningDaemon) -> None:
    take(filled, episode(77, age=9) | {"id": "m7777", "title": "A quokkaword in the title", "content": "x y z " * 40})
    done = filled.post("/consolidate", {"steps": ["summarise", "links"]})
    log = filled.places.data / "consolidation" / f"{done['run']}.jsonl"
    assert b"quokkaword" in log.read_bytes()

    assert filled.request("DELETE", "/memories/m7777")[0] == 200

    assert b"quokkaword" not in log.read_bytes()
    undone = filled.post(f"/consolidate/{done['run']}/undo", {})
    assert undone["left"] == 0


def test_stop_request_ends_run_within_second(filled: RunningDaemon) -> None:
    begun = filled.post("/consolidate", {"wait": False})["run"]
    stopped, answer = filled.request("POST", f"/consolidate/{begun}/stop", {})
    assert stopped in (200, 404), answer  # it may have ended by itself
    assert filled.get(f"/consolidate/{begun}")["status"] in ("stopped", "done")
    filled.post(f"/consolidate/{begun}/undo", {})
    assert all(told["status"] == "active" for told in exported(filled).values())


def test_changed_duplicate_survives_forgetting_its_original(
    filled: RunningDaemon,
) -> None:
    def say(ref: str, text: str) -> str:
        parser = {"type": "file", "ref": "src/parser.py"}
        told = {"kind": "episode", "content": text, "ref": ref, "artifacts": [parser], "at": days_ago(3)}
        return str(filled.post("/memories", told)["ids"][0])

    same = "The parser was rewritten by hand because the generated one was slow"
    ids = {ref: say(ref, same) for ref in ("one", "two", "three")}
    filled.post("/consolidate", {"steps": ["duplicates"]})
    told = {ref: filled.get(f"/memories/{identifier}") for ref, identifier in ids.items()}
    [keeper] = [ref for ref, memory in told.items() if memory["status"] == "active"]
    changed = next(ref for ref in ids if ref != keeper)

    say(changed, "The lexer is generated from a table of regular expressions")
    filled.request("DELETE", f"/memories/{ids[keeper]}")

    assert [one for one in ids.values() if one in exported(filled)] == [ids[changed]]


def test_forget_interrupted_by_kill_completes_at_start(
    filled: RunningDaemon,
) -> None:
    take(filled, episode(77, age=9) | {"id": "m7777", "title": "A quokkaword in the title", "content": "x y z " * 40})
    filled.post("/consolidate", {"steps": ["summarise", "links"]})

    def forget() -> None:
        with suppress(OSError):
            filled.request("DELETE", "/memories/m7777")

    asked = threading.Thread(target=forget)
    asked.start()
    filled.wait_until(lambda: filled.request("GET", "/memories/m7777")[0] == 404, within=30, what="hide it")
    filled.kill()
    asked.join()
    filled.start()

    def gone() -> bool:
        files = [file for file in filled.places.data.rglob("*") if file.is_file()]
        with suppress(FileNotFoundError):  # the store tidies up meanwhile
            return not any(b"quokkaword" in file.read_bytes() for file in files)
        return False

    filled.wait_until(gone, within=30, what="take what was forgotten off the disk")
