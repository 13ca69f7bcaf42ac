"""Writer of an agent's settings that backs up and restores the previous content."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from hunchd.cli.errors import CommandError
from hunchd.config.places import Places, make_private

# Edit of a file's text; a missing file is an empty text.
Edit = Callable[[str], str]


class Settings(NamedTuple):
    """Settings file of an agent, and how hunchd is added and removed.

    `own`: the file is hunchd's alone.
    """

    path: Path
    put: Edit
    take_out: Edit
    own: bool = False


class Change(NamedTuple):
    """Change of a file: its content before and after."""

    path: Path
    before: bytes | None  # None: the file does not exist
    after: bytes | None  # None: the file is deleted

    def diff(self, shown: str) -> str:
        """Format the change like `diff -u`."""
        before, after = _lines(self.before), _lines(self.after)
        lines = difflib.unified_diff(
            before,
            after,
            shown if self.before is not None else os.devnull,
            shown if self.after is not None else os.devnull,
        )
        return "".join(line if line.endswith("\n") else line + "\n\\ no newline at the end\n" for line in lines)


class Keeper:
    """Backups of one agent's files, in a folder of hunchd's own."""

    def __init__(self, where: Places, agent: str) -> None:
        self.folder = where.state / "agents" / agent
        self._record = self.folder / "written.json"

    def installed(self, settings: Settings) -> Change:
        """Compute the change that installs hunchd. Raises CommandError for an unparsable file."""
        before = content(settings.path)
        return Change(settings.path, before, _edited(settings.path, before, settings.put))

    def uninstalled(self, settings: Settings) -> Change:
        """Compute the change that uninstalls hunchd.

        An unmodified file is restored byte for byte; one that its owner has changed since keeps the changes and
        loses only
        hunchd's entries.
        """
        before = content(settings.path)
        known = self._written().get(str(settings.path))
        if before is None:
            return Change(settings.path, None, None)
        if known is not None and known["written"] == _digest(before):
            return Change(settings.path, before, content(self.folder / known["kept"]) if known["kept"] else None)
        after = _edited(settings.path, before, settings.take_out)
        return Change(settings.path, before, None if settings.own or not after.strip() else after)

    def carry_out(self, change: Change, settings: Settings) -> Path | None:
        """Apply an installation's change.

        Returns the backup of the previous content, if there was any.
        """
        make_private(self.folder)
        written = self._written()
        known = written.get(str(change.path))
        kept: str | None = known["kept"] if known is not None else None
        if known is None or change.before is None or known["written"] != _digest(change.before):
            # Back up the content without hunchd's entries, so that a second installation keeps the first backup.
            original = None
            if change.before is not None and not settings.own:
                original = _edited(change.path, change.before, settings.take_out) if known else change.before
            kept = None
            if original:
                kept = f"{_digest(os.fsencode(change.path))[:12]}-{change.path.name}"
                write(self.folder / kept, original, private=True)
        assert change.after is not None
        made = known["made"] if known is not None else [str(folder) for folder in _missing(change.path.parent)]
        write(change.path, change.after)
        written[str(change.path)] = {"written": _digest(change.after), "kept": kept, "made": made}
        write(self._record, json.dumps(written, indent=2).encode(), private=True)
        return self.folder / kept if kept else None

    def give_back(self, change: Change) -> None:
        """Apply an uninstallation's change."""
        if change.after is None:
            change.path.unlink(missing_ok=True)
        elif change.after != change.before:
            write(change.path, change.after)

    def forget(self) -> None:
        """Delete the backups and the folders that were created for the agent's files."""
        for known in self._written().values():
            if known["kept"]:
                (self.folder / known["kept"]).unlink(missing_ok=True)
            for made in map(Path, known["made"]):
                if made.is_dir() and not any(made.iterdir()):
                    made.rmdir()
        self._record.unlink(missing_ok=True)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _written(self) -> dict[str, dict[str, Any]]:
        found = content(self._record)
        try:
            written = json.loads(found or b"{}")
        except ValueError:
            return {}  # then uninstalling removes hunchd's entries one by one
        return written if isinstance(written, dict) else {}


def content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def write(path: Path, text: bytes, *, private: bool = False) -> None:
    """Replace the file atomically; follow a symlink and keep the permissions."""
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = 0o600 if private else target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
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


def _missing(folder: Path) -> list[Path]:
    """Return the folders that must be created, innermost first."""
    return [each for each in (folder, *folder.parents) if not each.exists()]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _edited(path: Path, before: bytes | None, edit: Edit) -> bytes:
    try:
        text = (before or b"").decode("utf-8")
        return edit(text).encode("utf-8")
    except ValueError as error:  # not UTF-8, or not supported by the editor of its format
        raise CommandError(
            f"{path} was not changed: {error}.", hint="docs/agents.md shows how to edit it by hand."
        ) from error


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _lines(text: bytes | None) -> list[str]:
    return (text or b"").decode("utf-8", "replace").splitlines(keepends=True)
