"""Memories that must not come back, although the project still contains their source."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

from hunchd.core.memory.tombstones import Tombstones


class HiddenWork:
    """Ids of the episodes that the user hid, and of all memories from sources that the user forgot, by project.

    An episode that was hidden ("put away") may be shown again. An episode, workflow or pattern that was forgotten stays
    hidden and is not stored again, even if the project is indexed from scratch.
    """

    def __init__(self, folder: Path) -> None:
        self._put_away = Tombstones(folder / "hidden-work")
        self._forgotten = Tombstones(folder / "forgotten-work")
        self._hidden_ids: dict[str, frozenset[str]] = {}  # by project, as loaded from the files

    def list_hidden(self, project_id: str) -> frozenset[str]:
        """Return the ids of episodes that must not be shown."""
        if project_id not in self._hidden_ids:
            self._hidden_ids[project_id] = self._put_away.load(project_id) | self._forgotten.load(project_id)
        return self._hidden_ids[project_id]

    def list_forgotten(self, project_id: str) -> frozenset[str]:
        """Return the ids of the memories that must not be stored again."""
        return self._forgotten.load(project_id)

    def put_away(self, project_id: str, ids: Iterable[str]) -> None:
        self._put_away.add(project_id, ids)
        self._hidden_ids.pop(project_id, None)

    def show_again(self, project_id: str, ids: Iterable[str]) -> None:
        """Show those of the episodes again that were put away; forgotten ones stay hidden."""
        if put_away := self._put_away.load(project_id).intersection(ids):
            self._put_away.discard(project_id, put_away)
            self._hidden_ids.pop(project_id, None)

    async def forget(self, project_id: str, ids: Iterable[str]) -> None:
        """Hide memories permanently."""
        await asyncio.to_thread(self._forgotten.add, project_id, ids)
        self._hidden_ids.pop(project_id, None)

    def forget_project(self, project_id: str) -> None:
        """Delete the ids of a removed project."""
        self._put_away.delete(project_id)
        self._forgotten.delete(project_id)
        self._hidden_ids.pop(project_id, None)
