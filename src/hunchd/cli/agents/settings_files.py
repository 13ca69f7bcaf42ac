"""Writing of agents' settings files, with backups for restoring the previous content."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from hunchd.cli.errors import CommandError
from hunchd.config.app_paths import AppPaths, ensure_private_folder
from hunchd.domain.json_values import JsonObject

# Function that edits the text of a file; the text of a missing file is empty.
Edit = Callable[[str], str]


class SettingsFile(NamedTuple):
    """Settings file of an agent, with functions that add and remove hunchd's entries.

    `is_own` is True if nobody but hunchd writes to the file.
    """

    path: Path
    add_entries: Edit
    remove_entries: Edit
    is_own: bool = False


class SettingsChange(NamedTuple):
    """Change to a settings file: its content before and after the change."""

    path: Path
    before: bytes | None  # None: the file does not exist
    after: bytes | None  # None: the file is deleted

    def format_diff(self, label: str) -> str:
        """Format the change as a unified diff, like `diff -u`."""
        before, after = _split_lines(self.before), _split_lines(self.after)
        lines = difflib.unified_diff(
            before,
            after,
            label if self.before is not None else os.devnull,
            label if self.after is not None else os.devnull,
        )
        return "".join(line if line.endswith("\n") else line + "\n\\ no newline at the end\n" for line in lines)


class SettingsBackup:
    """Backups of one agent's settings files, stored in hunchd's state folder."""

    def __init__(self, paths: AppPaths, agent: str) -> None:
        self.folder = paths.state / "agents" / agent
        self._record = self.folder / "written.json"

    def plan_install(self, settings: SettingsFile) -> SettingsChange:
        """Compute the change that adds hunchd to a settings file.

        Raises CommandError if the file cannot be parsed.
        """
        before = read_content(settings.path)
        return SettingsChange(settings.path, before, _apply_edit(settings.path, before, settings.add_entries))

    def plan_uninstall(self, settings: SettingsFile) -> SettingsChange:
        """Compute the change that removes hunchd from a settings file.

        If the file has not been modified since the installation, its previous content is restored byte for byte. If
        the user has modified it, only hunchd's entries are removed and the user's changes stay.
        """
        before = read_content(settings.path)
        record = self._load_records().get(str(settings.path))
        if before is None:
            return SettingsChange(settings.path, None, None)
        if record is not None and record["written"] == _compute_digest(before):
            return SettingsChange(
                settings.path, before, read_content(self.folder / record["kept"]) if record["kept"] else None
            )
        after = _apply_edit(settings.path, before, settings.remove_entries)
        return SettingsChange(settings.path, before, None if settings.is_own or not after.strip() else after)

    def apply_install(self, change: SettingsChange, settings: SettingsFile) -> Path | None:
        """Write the change that adds hunchd, after backing up the previous content.

        Returns the path of the backup, or None if there was nothing to back up.
        """
        ensure_private_folder(self.folder)
        records = self._load_records()
        record = records.get(str(change.path))
        backup_name: str | None = record["kept"] if record is not None else None
        if record is None or change.before is None or record["written"] != _compute_digest(change.before):
            # Back up the content without hunchd's entries, so that a second installation keeps the first backup.
            original = None
            if change.before is not None and not settings.is_own:
                original = _apply_edit(change.path, change.before, settings.remove_entries) if record else change.before
            backup_name = None
            if original:
                backup_name = f"{_compute_digest(os.fsencode(change.path))[:12]}-{change.path.name}"
                replace_file(self.folder / backup_name, original, private=True)
        assert change.after is not None
        created_folders = (
            record["made"]
            if record is not None
            else [str(folder) for folder in _list_missing_folders(change.path.parent)]
        )
        replace_file(change.path, change.after)
        records[str(change.path)] = {
            "written": _compute_digest(change.after),
            "kept": backup_name,
            "made": created_folders,
        }
        replace_file(self._record, json.dumps(records, indent=2).encode(), private=True)
        return self.folder / backup_name if backup_name else None

    def apply_uninstall(self, change: SettingsChange) -> None:
        """Write the change that removes hunchd.

        The file is deleted if the change leaves it empty.
        """
        if change.after is None:
            change.path.unlink(missing_ok=True)
        elif change.after != change.before:
            replace_file(change.path, change.after)

    def delete_backups(self) -> None:
        """Delete the backups and any empty folders that the installation created."""
        for record in self._load_records().values():
            if record["kept"]:
                (self.folder / record["kept"]).unlink(missing_ok=True)
            for folder in map(Path, record["made"]):
                if folder.is_dir() and not any(folder.iterdir()):
                    folder.rmdir()
        self._record.unlink(missing_ok=True)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _load_records(self) -> dict[str, JsonObject]:
        stored_content = read_content(self._record)
        try:
            records = json.loads(stored_content or b"{}")
        except ValueError:
            return {}  # without records, uninstalling removes hunchd's entries one by one
        return records if isinstance(records, dict) else {}


def read_content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def replace_file(path: Path, text: bytes, *, private: bool = False) -> None:
    """Replace the content of a file atomically.

    A symlink is followed. The file keeps its permissions unless `private` is True, which restricts access to the user.
    """
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = 0o600 if private else target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_get_umask()
    draft = target.with_name(f".{target.name}.{os.urandom(4).hex()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
        draft.chmod(mode)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _list_missing_folders(folder: Path) -> list[Path]:
    """Return `folder` and those of its parents that do not exist, innermost first."""
    return [each for each in (folder, *folder.parents) if not each.exists()]


def _get_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _apply_edit(path: Path, before: bytes | None, edit: Edit) -> bytes:
    try:
        text = (before or b"").decode("utf-8")
        return edit(text).encode("utf-8")
    except ValueError as error:  # not UTF-8, or not supported by the editor for the format
        raise CommandError(
            f"{path} was not changed: {error}.", hint="docs/agents.md shows how to edit it by hand."
        ) from error


def _compute_digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _split_lines(text: bytes | None) -> list[str]:
    return (text or b"").decode("utf-8", "replace").splitlines(keepends=True)
