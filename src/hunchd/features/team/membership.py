"""Files about a team on this machine.

These are the settings with the address, the member's private key, and the mirror of the team's records.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from hunchd.config.app_paths import ensure_private_folder
from hunchd.features.team.mirror import Mirror
from hunchd.store.files import FileOperations, replace_file

_SETTINGS_FILE: Final = "team.json"
_LEFT_FILE: Final = "left.json"  # the settings of a team that was left
_MIRROR_FILE: Final = "mirror.db"


class TeamMembership(Struct, frozen=True, kw_only=True):
    """Membership of this machine's user in a project's team."""

    project: str
    uri: str  # without credentials
    team: str
    name: str
    author: str = ""  # public key
    machine: str = ""


class TeamFolder:
    """Folder with the files about a project's team."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def key_file(self) -> Path:
        return self._folder / "key"

    def create(self) -> None:
        ensure_private_folder(self._folder.parent)
        ensure_private_folder(self._folder)

    def load(self) -> TeamMembership | None:
        """Return the membership, or None if it does not exist or cannot be read."""
        return self._read(_SETTINGS_FILE)

    def _read(self, file: str) -> TeamMembership | None:
        try:
            return msgspec.json.decode((self._folder / file).read_bytes(), type=TeamMembership)
        except (OSError, msgspec.MsgspecError):
            return None

    def load_left(self, team: str) -> TeamMembership | None:
        """Return the membership that the user left, or None if it was in a different team."""
        membership = self._read(_LEFT_FILE)
        return membership if membership is not None and membership.team == team else None

    def save(self, membership: TeamMembership) -> None:
        replace_file(FileOperations(), self._folder / _SETTINGS_FILE, msgspec.json.encode(membership))

    def open_mirror(self) -> Mirror:
        return Mirror(self._folder / _MIRROR_FILE)

    def leave(self) -> None:
        """End the membership, and keep the key, which identifies a returning member."""
        (self._folder / _SETTINGS_FILE).replace(self._folder / _LEFT_FILE)

    def delete(self) -> None:
        """Delete all files, including the private key."""
        shutil.rmtree(self._folder, ignore_errors=True)


class TeamFolders:
    """Folders with the files about all teams, one for each project."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, project: str) -> TeamFolder:
        return TeamFolder(self._folder / project)

    def list_memberships(self) -> Iterator[TeamMembership]:
        for entry in sorted(self._folder.iterdir()) if self._folder.is_dir() else ():
            if (membership := TeamFolder(entry).load()) is not None:
                yield membership

    async def forget(self, project: str) -> None:
        await asyncio.to_thread(self.get(project).delete)


def create_machine_id() -> str:
    return secrets.token_hex(6)
