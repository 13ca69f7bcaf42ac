"""Writes an agent's settings, keeps what was there before, and gives it back."""

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

# What a change makes of a file's text; what there is not is an empty text.
Edit = Callable[[str], str]


class Settings(NamedTuple):
    """One file of an agent, and how hunchd is put into it and taken out. `own`: the file is ours alone."""

    path: Path
    put: Edit
    take_out: Edit
    own: bool = False


class Change(NamedTuple):
    path: Path
    before: bytes | None  # None: there is no such file
    after: bytes | None  # None: it is taken away

    def diff(self, shown: str) -> str:
        """As `diff -u` prints it."""
        before, after = _lines(self.before), _lines(self.after)
        lines = difflib.unified_diff(
            before,
            after,
            shown if self.before is not None else os.devnull,
            shown if self.after is not None else os.devnull,
        )
        return "".join(line if line.endswith("\n") else line + "\n\\ no newline at the end\n" for line in lines)


class Keeper:
    """What stood in the files before, in a folder of hunchd's own, for one agent."""

    def __init__(self, where: Places, agent: str) -> None:
        self.folder = where.state / "agents" / agent
        self._record = self.folder / "written.json"

    def installed(self, settings: Settings) -> Change:
        """What installing changes. Raises CommandError for a file that cannot be understood."""
        before = content(settings.path)
        return Change(settings.path, before, _edited(settings.path, before, settings.put))

    def uninstalled(self, settings: Settings) -> Change:
        """What uninstalling changes: a file that is as it was written becomes what it was, byte for byte; one that its
        owner has changed since keeps the changes and loses only what is ours."""
        before = content(settings.path)
        known = self._written().get(str(settings.path))
        if before is None:
            return Change(settings.path, None, None)
        if known is not None and known["written"] == _digest(before):
            return Change(settings.path, before, content(self.folder / known["kept"]) if known["kept"] else None)
        after = _edited(settings.path, before, settings.take_out)
        return Change(settings.path, before, None if settings.own or not after.strip() else after)

    def carry_out(self, change: Change, settings: Settings) -> Path | None:
        """Make an installation's change; the copy of what was there, if there was anything."""
        make_private(self.folder)
        written = self._written()
        known = written.get(str(change.path))
        kept: str | None = known["kept"] if known is not None else None
        if known is None or change.before is None or known["written"] != _digest(change.before):
            # What was there without us: whoever installs twice gets back what was there before the first time.
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
        """Make an uninstallation's change."""
        if change.after is None:
            change.path.unlink(missing_ok=True)
        elif change.after != change.before:
            write(change.path, change.after)

    def forget(self) -> None:
        """Nothing of ours is left in the agent's files: neither are the copies, nor folders made for them."""
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
            return {}  # uninstalling takes out what is ours entry by entry then
        return written if isinstance(written, dict) else {}


def content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def write(path: Path, text: bytes, *, private: bool = False) -> None:
    """Replace the file in one step. A link is followed, and who may read it stays as it was."""
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
    """The folders that have to be made first, the innermost first."""
    return [each for each in (folder, *folder.parents) if not each.exists()]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _edited(path: Path, before: bytes | None, edit: Edit) -> bytes:
    try:
        text = (before or b"").decode("utf-8")
        return edit(text).encode("utf-8")
    except ValueError as error:  # not UTF-8, or not what the editor of its format understands
        raise CommandError(
            f"{path} was not changed: {error}.", hint="docs/agents.md shows what to put into it by hand."
        ) from error


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _lines(text: bytes | None) -> list[str]:
    return (text or b"").decode("utf-8", "replace").splitlines(keepends=True)
