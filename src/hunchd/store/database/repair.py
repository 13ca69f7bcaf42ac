"""Repair of damaged tables before they are opened.

The damage is caused by power cuts or failing disks. Each version is described by a manifest, `_versions/<2^64-1 -
version>.manifest`, which names its data files. A version whose manifest or data cannot be read makes the whole
table unreadable, so it is set aside and the previous version is used.
"""

from __future__ import annotations

import logging
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hunchd.store.database.file_sync import HINT_FILE

logger = logging.getLogger(__name__)

# Both kinds of file end with these four bytes; a file that was cut off or never written does not.
FILE_MAGIC: Final = b"LANC"
DAMAGED_FOLDER: Final = "damaged"
_CHECKED: Final = (".lance", ".manifest")
_FOOTER_BYTES: Final = 16  # bytes: offset of the version itself (8), format version (4), magic
_MAX_VERSION: Final = 2**64 - 1
# A path encoded as protobuf: tag of field 1, length, text. Index files have shorter names.
_PATH = re.compile(rb"\x0a(?=([\x26-\x7f])([0-9a-z-]{32,121}\.lance))")


@dataclass(frozen=True, slots=True)
class RepairReport:
    """Report on the damage to one table.

    `lost_versions` are the versions that are newer than the version now in use.
    """

    table: str
    lost_versions: tuple[int, ...] = ()
    damaged_files: tuple[str, ...] = ()  # data files of the current version that are missing or truncated

    @property
    def is_needed(self) -> bool:
        """True if files are lost or damaged."""
        return bool(self.lost_versions or self.damaged_files)

    def describe(self) -> str:
        """Return a description of the damage for the status."""
        problems = []
        if self.lost_versions:
            problems.append(f"the {len(self.lost_versions)} newest versions could not be read and were set aside")
        if self.damaged_files:
            problems.append(f"{len(self.damaged_files)} data files are damaged; the other rows were rescued")
        return f"{self.table}: {'; '.join(problems)}"


def repair_table(folder: Path) -> RepairReport:
    """Set aside the newest versions of a table that cannot be read.

    If the version hint is wrong, it is deleted. `folder` is the folder of the table (`….lance`).
    """
    manifests = _list_manifests(folder)
    newest_readable = next((at for at, (_, path) in enumerate(manifests) if not find_damaged_files(folder, path)), None)
    if newest_readable is None:  # no version is intact: use the newest readable manifest, and rescue rows from it
        newest_readable = next((at for at, (_, path) in enumerate(manifests) if _has_valid_end(path)), len(manifests))
    move_aside(folder, [path for _, path in manifests[:newest_readable]])
    hint = folder / "_versions" / HINT_FILE
    if hint.exists() and (newest_readable or not _is_json(hint)):
        hint.unlink()
    damaged_files = (
        find_damaged_files(folder, manifests[newest_readable][1]) if newest_readable < len(manifests) else ()
    )
    lost_versions = tuple(version for version, _ in manifests[:newest_readable])
    if lost_versions or damaged_files:
        logger.warning(
            "%s: versions %s cannot be read and were set aside; damaged files: %s",
            folder.name,
            lost_versions,
            damaged_files,
        )
    return RepairReport(folder.name.removesuffix(".lance"), lost_versions, damaged_files)


def discard_newest_version(folder: Path) -> RepairReport:
    """Set aside the newest version of a table if an older version is intact.

    This is for a version that appears complete but cannot be read. Returns a report, which is empty if nothing was set
    aside.
    """
    manifests = _list_manifests(folder)
    if not any(not find_damaged_files(folder, path) for _, path in manifests[1:]):
        return RepairReport(folder.name.removesuffix(".lance"))
    move_aside(folder, [manifests[0][1]])
    (folder / "_versions" / HINT_FILE).unlink(missing_ok=True)
    report = repair_table(folder)
    logger.warning("table %s: version %d is unreadable and was set aside", folder.name, manifests[0][0])
    return RepairReport(report.table, (manifests[0][0], *report.lost_versions), report.damaged_files)


def find_damaged_files(folder: Path, manifest: Path) -> tuple[str, ...]:
    """Return the manifest or data files that make a version unreadable."""
    if not _has_valid_end(manifest):
        return (manifest.name,)
    return tuple(name for name in list_data_files(manifest.read_bytes()) if not _has_valid_end(folder / "data" / name))


def find_damaged_new_files(folder: Path, new_paths: Sequence[str]) -> tuple[str, ...]:
    """Return the names of new files that are cut off but needed by the newest version."""
    cut_off = {Path(path).name for path in new_paths if path.endswith(_CHECKED) and not _has_valid_end(Path(path))}
    manifests = _list_manifests(folder) if cut_off else []
    return tuple(name for _, path in manifests[:1] for name in find_damaged_files(folder, path) if name in cut_off)


def list_data_files(manifest: bytes) -> list[str]:
    """Return the names of a version's data files, read from its manifest.

    The first part of a manifest, before the version itself, is skipped. It describes how the version was created:
    after a merge it names the replaced files, which may be missing without any damage.
    """
    begin = int.from_bytes(manifest[-_FOOTER_BYTES:][:8], "little")
    manifest = manifest[begin:] if begin < len(manifest) else manifest
    matches = (match.end() for match in _PATH.finditer(manifest))
    paths = (manifest[at + 1 : at + 1 + manifest[at]] for at in matches)
    return sorted({path.decode() for path in paths if path.endswith(b".lance")})


def move_aside(folder: Path, paths: list[Path]) -> None:
    """Move files from the table to a folder for inspection."""
    for path in paths:
        target = folder.parent / DAMAGED_FOLDER / folder.name
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.replace(target / path.name)


def move_table_aside(folder: Path) -> None:
    """Move a table that cannot be opened to a folder for inspection."""
    target = folder.parent / DAMAGED_FOLDER / f"{folder.name}.whole"
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    folder.replace(target)


def bound_fragment_ids(folder: Path) -> int:
    """Return a number that no fragment id of a table exceeds."""
    return len(list((folder / "data").glob("*.lance"))) + max(
        (version for version, _ in _list_manifests(folder)), default=0
    )


def _list_manifests(folder: Path) -> list[tuple[int, Path]]:
    """Return the manifests with their versions, newest first."""
    manifests = []
    for path in (folder / "_versions").glob("*.manifest"):
        if path.stem.isdigit():
            manifests.append((_MAX_VERSION - int(path.stem), path))
    return sorted(manifests, reverse=True)


def _has_valid_end(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            if file.tell() < len(FILE_MAGIC):
                return False
            file.seek(-len(FILE_MAGIC), 2)
            return file.read() == FILE_MAGIC
    except OSError:
        return False


def _is_json(path: Path) -> bool:
    content = path.read_bytes()
    return content.startswith(b"{") and content.rstrip().endswith(b"}")
