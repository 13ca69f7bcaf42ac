"""Repair of damaged tables before they are opened.

The damage comes from power cuts or failing disks. Versions are described by manifests, `_versions/<2^64-1 -
version>.manifest`; each names its data files. A version whose manifest or data cannot be read makes the whole table
unreadable, so it is set aside and the previous one is used.
"""

from __future__ import annotations

import logging
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hunchd.store.database.durability import HINT

logger = logging.getLogger(__name__)

# Both kinds of file end with these four bytes; a file that was cut off or never written does not.
MAGIC: Final = b"LANC"
SET_ASIDE: Final = "damaged"
_FOOTER: Final = 16  # bytes: offset of the version itself (8), format version (4), magic
_NEWEST: Final = 2**64 - 1
# A path encoded as protobuf: tag of field 1, length, text. Index files have shorter names.
_PATH = re.compile(rb"\x0a(?=([\x26-\x7f])([0-9a-z-]{32,121}\.lance))")


@dataclass(frozen=True, slots=True)
class Repair:
    """Report of the damage to one table.

    `lost_versions` were newer than the version that is used now.
    """

    table: str
    lost_versions: tuple[int, ...] = ()
    damaged_files: tuple[str, ...] = ()  # data files of the current version that are missing or truncated

    @property
    def needed(self) -> bool:
        """True if files are lost or damaged."""
        return bool(self.lost_versions or self.damaged_files)

    def told(self) -> str:
        """Return a description for the status."""
        found = []
        if self.lost_versions:
            found.append(f"the {len(self.lost_versions)} newest versions could not be read and were set aside")
        if self.damaged_files:
            found.append(f"{len(self.damaged_files)} data files are damaged; the other rows were rescued")
        return f"{self.table}: {'; '.join(found)}"


def repaired(folder: Path) -> Repair:
    """Set aside unreadable newest versions and a wrong hint.

    `folder` is the folder of the table (`….lance`).
    """
    manifests = _manifests(folder)
    readable = next((at for at, (_, path) in enumerate(manifests) if not damage_of(folder, path)), None)
    if readable is None:  # no version is intact: use the newest readable manifest, and rescue rows from it
        readable = next((at for at, (_, path) in enumerate(manifests) if _ends_well(path)), len(manifests))
    set_aside(folder, [path for _, path in manifests[:readable]])
    hint = folder / "_versions" / HINT
    if hint.exists() and (readable or not _is_json(hint)):
        hint.unlink()
    damaged = damage_of(folder, manifests[readable][1]) if readable < len(manifests) else ()
    lost = tuple(version for version, _ in manifests[:readable])
    if lost or damaged:
        logger.warning(
            "%s: versions %s cannot be read and were set aside; damaged files: %s", folder.name, lost, damaged
        )
    return Repair(folder.name.removesuffix(".lance"), lost, damaged)


def stepped_back(folder: Path) -> Repair:
    """Set aside the newest version if an older one is intact.

    Returns the report. For a version that looks whole and cannot be read.
    """
    manifests = _manifests(folder)
    if not any(not damage_of(folder, path) for _, path in manifests[1:]):
        return Repair(folder.name.removesuffix(".lance"))
    set_aside(folder, [manifests[0][1]])
    (folder / "_versions" / HINT).unlink(missing_ok=True)
    behind = repaired(folder)
    logger.warning("%s: version %d cannot be read and was set aside", folder.name, manifests[0][0])
    return Repair(behind.table, (manifests[0][0], *behind.lost_versions), behind.damaged_files)


def damage_of(folder: Path, manifest: Path) -> tuple[str, ...]:
    """Return the files that make a version unreadable.

    These are its manifest or data files.
    """
    if not _ends_well(manifest):
        return (manifest.name,)
    return tuple(name for name in data_files(manifest.read_bytes()) if not _ends_well(folder / "data" / name))


def data_files(manifest: bytes) -> list[str]:
    """Return the names of the data files of a version.

    The part of the manifest before the version itself describes how it came about: a merge names the files that it
    replaced there, which may be missing rightly.
    """
    begin = int.from_bytes(manifest[-_FOOTER:][:8], "little")
    manifest = manifest[begin:] if begin < len(manifest) else manifest
    found = (match.end() for match in _PATH.finditer(manifest))
    paths = (manifest[at + 1 : at + 1 + manifest[at]] for at in found)
    return sorted({path.decode() for path in paths if path.endswith(b".lance")})


def set_aside(folder: Path, paths: list[Path]) -> None:
    """Move files out of the table into a folder for inspection."""
    for path in paths:
        target = folder.parent / SET_ASIDE / folder.name
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.replace(target / path.name)


def set_table_aside(folder: Path) -> None:
    """Move a whole table away that cannot be opened."""
    target = folder.parent / SET_ASIDE / f"{folder.name}.whole"
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    folder.replace(target)


def fragment_ids(folder: Path) -> int:
    """Return an upper bound of the fragment ids of a table."""
    return len(list((folder / "data").glob("*.lance"))) + max((version for version, _ in _manifests(folder)), default=0)


def _manifests(folder: Path) -> list[tuple[int, Path]]:
    """Return the manifests with their versions, newest first."""
    found = []
    for path in (folder / "_versions").glob("*.manifest"):
        if path.stem.isdigit():
            found.append((_NEWEST - int(path.stem), path))
    return sorted(found, reverse=True)


def _ends_well(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            if file.tell() < len(MAGIC):
                return False
            file.seek(-len(MAGIC), 2)
            return file.read() == MAGIC
    except OSError:
        return False


def _is_json(path: Path) -> bool:
    content = path.read_bytes()
    return content.startswith(b"{") and content.rstrip().endswith(b"}")
