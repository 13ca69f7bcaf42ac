"""Contact data of people on the real daemon: in the verbatim log, and nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.daemon.running import RunningDaemon, running_daemon

MAIL, PHONE, STREET = "ottilie.brandt@example.org", "+49 170 5550199", "Lindenallee 4"
TALK = (
    "Please plan the launch of the harbour map.",
    f"Ottilie checks the tides; her mail is {MAIL} and her phone {PHONE}.",
    f"We decided to send the printed charts to {STREET}, 50667 Köln.",
    "We decided to draw the harbour map with MapLibre.",
)


def speak(daemon: RunningDaemon, session: str) -> None:
    for text in TALK:
        answer = {"role": "assistant", "content": "Noted."}
        daemon.post(f"/sessions/{session}/messages", {"messages": [{"role": "user", "content": text}, answer]})


@pytest.mark.parametrize("mode", ["log", "mask", "keep"])
def test_personal_mode_limits_contact_data(mode: str, tmp_path: Path, homes: Path) -> None:
    surroundings = {"HOME": str(tmp_path), "GIT_CONFIG_GLOBAL": os.devnull, "HF_HUB_OFFLINE": "1"}
    settings = f'[sessions]\npersonal = "{mode}"\n'
    with running_daemon(homes / f"p{mode}", settings=settings, environment=surroundings) as daemon:
        speak(daemon, "map")
        asked = {"session": "map", "message": "Who checks the tides of the harbour map?", "budget": 16_000}
        shown = str(daemon.post("/context/compile", asked)["messages"])
        daemon.post("/sessions/map/compact", {})
        daemon.post("/sessions/map/end", {})
        shown += str(daemon.post("/context/compile", {**asked, "session": "later"})["messages"])
        unnamed = str(daemon.post("/search", {"query": "who checks the tides of the harbour map", "depth": "deep"}))
        named = str(daemon.post("/search", {"query": "what is the phone number of Ottilie"}))
        derived = [one for one in daemon.get("/memories", limit=100)["items"] if one["kind"] != "message"]
        said = str(daemon.get("/sessions/map/messages"))

    contacts = (MAIL, PHONE, STREET)
    assert not any(one in str(derived) for one in contacts)
    assert [one in said for one in contacts] == [mode != "mask"] * 3
    assert (PHONE in unnamed, PHONE in named) == (mode == "keep", mode != "mask")
    assert any(one in shown for one in contacts) == (mode == "keep")
