"""Clients of the daemon with random writes, which check what must hold after a kill.

Operations that were acknowledged must hold. Those in progress, or answered with an error, may have happened or not:
once, and as a whole.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.daemon.running import RunningDaemon

REFS = 12  # memories of one client: few, so that each is changed and forgotten again and again
GONE = None  # what a memory that is not there says


@dataclass
class Client:
    """Client with one request at a time; no two clients share a memory."""

    name: str
    project: str  # its folder
    chance: random.Random
    said: dict[str, str | None] = field(default_factory=dict)  # ref → content that was acknowledged
    ids: dict[str, str] = field(default_factory=dict)  # ref → memory id, the same for ever
    possible: dict[str, set[str | None]] = field(default_factory=dict)  # ref → what else may be there
    events: set[str] = field(default_factory=set)  # acknowledged
    unsure: list[str] = field(default_factory=list)  # events that were sent without an answer
    acknowledged: Counter[str] = field(default_factory=Counter)
    _number: int = 0

    def work(self, daemon: RunningDaemon, stop: threading.Event) -> None:
        """Send requests until stopped, also while the daemon dies."""
        while not stop.is_set():
            what = self.chance.choices((self.tell, self.remember, self.change, self.forget), (5, 4, 3, 2))[0]
            try:
                what(daemon)
            except OSError:  # no answer, or half of one
                if stop.wait(0.01):
                    return

    def tell(self, daemon: RunningDaemon) -> None:
        """Send new events and, occasionally, all those whose acknowledgement is unknown."""
        events = [self._next() for _ in range(self.chance.randint(1, 8))]
        if self.unsure and self.chance.random() < 0.3:
            events += self.unsure
        self.unsure = list(dict.fromkeys(self.unsure + events))
        signals = [
            {"kind": "file_opened", "project": self.project, "path": f"{event}.py", "event_id": event}
            for event in events
        ]
        if answer := self._asked(daemon, "POST", "/signals", {"signals": signals}, 202):
            assert answer == {"accepted": len(events), "rejected": []}
            self.events.update(events)
            self.unsure = [event for event in self.unsure if event not in events]

    def remember(self, daemon: RunningDaemon) -> None:
        ref = f"{self.name}-{self.chance.randrange(REFS)}"
        content = self._next()
        self.possible.setdefault(ref, set()).add(content)
        body = {"kind": "fact", "project": self.project, "ref": ref, "key": ref, "content": content}
        if answer := self._asked(daemon, "POST", "/memories", body, 201):
            [self.ids[ref]] = answer["ids"]
            self._known(ref, content)

    def change(self, daemon: RunningDaemon) -> None:
        there = [ref for ref, content in self.said.items() if content is not GONE and not self.possible.get(ref)]
        if there:
            ref, content = self.chance.choice(there), self._next()
            self.possible[ref] = {content}
            if self._asked(daemon, "PATCH", f"/memories/{self.ids[ref]}", {"content": content}, 200):
                self._known(ref, content)

    def forget(self, daemon: RunningDaemon) -> None:
        there = [ref for ref, content in self.said.items() if content is not GONE and not self.possible.get(ref)]
        if there:
            ref = self.chance.choice(there)
            self.possible[ref] = {GONE}
            if self._asked(daemon, "DELETE", f"/memories/{self.ids[ref]}", None, 200):
                self._known(ref, GONE)

    def _known(self, ref: str, content: str | None) -> None:
        self.said[ref] = content
        self.possible.pop(ref, None)

    def _asked(self, daemon: RunningDaemon, method: str, path: str, body: Any, success: int) -> Any:
        """Return the answer, or None for 503: a part of the daemon is dead or starting."""
        status, answer = daemon.request(method, path, body, timeout=20)
        assert status in (success, 503), (method, path, status, answer)
        if status == 503:
            return None
        self.acknowledged[method + path.partition("/m")[0]] += 1
        return answer

    def _next(self) -> str:
        self._number += 1
        return f"{self.name}x{self._number}"

    def settle(self, kept: Kept) -> None:
        """Check the stored data against acknowledgements, and take it as the new state."""
        lost = self.events - kept.events.keys()
        assert not lost, f"acknowledged signals are gone: {sorted(lost)[:5]}"
        for ref in self.said.keys() | self.possible.keys():
            allowed = {self.said.get(ref), *self.possible.get(ref, ())}
            assert kept.contents.get(ref) in allowed, (ref, kept.contents.get(ref), allowed)
            self.said[ref] = kept.contents.get(ref)
            if ref in kept.ids:
                assert self.ids.setdefault(ref, kept.ids[ref]) == kept.ids[ref]
        self.possible.clear()


@dataclass
class Kept:
    """Data of the daemon as exported."""

    events: Counter[str] = field(default_factory=Counter)
    contents: dict[str, str] = field(default_factory=dict)  # ref → content
    ids: dict[str, str] = field(default_factory=dict)  # ref → memory id
    versions: dict[str, list[str]] = field(default_factory=dict)  # memory id → what it said before

    def take(self, line: dict[str, Any]) -> None:
        told = line["data"]
        if line["type"] == "signal":
            self.events[told["id"]] += 1
        elif line["type"] == "memory" and told.get("ref"):
            assert told["ref"] not in self.contents, f"{told['ref']} is there twice"
            self.contents[told["ref"]] = told["content"]
            self.ids[told["ref"]] = told["id"]
        elif line["type"] == "memory":
            self.versions.setdefault(told["id"].partition(".")[0], []).append(told["content"])

    def check(self) -> None:
        """Check for duplicate events, versions of forgotten memories and duplicate versions."""
        assert {event: times for event, times in self.events.items() if times > 1} == {}
        assert self.versions.keys() <= set(self.ids.values()), "a forgotten memory left what it said before"
        for identifier, contents in self.versions.items():
            assert len(contents) == len(set(contents)), (identifier, contents)
