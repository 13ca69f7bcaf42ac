"""Short descriptions of a commit's changed paths.

These are pure functions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_SECONDARY_PATH = re.compile(r"(?:^|/)(?:tests?|docs?|changes?|changelog|news)\b|\.(?:md|rst|txt)$", re.IGNORECASE)
_GENERIC_FILE_NAME = re.compile(
    r"(?:^|/)(?:__init__\.py|index\.[jt]sx?|(?:mod|lib|main)\.rs|main\.(?:py|go)|README\.md|package\.json)$"
)


def summarize_paths(paths: Sequence[str]) -> str:
    """List the paths if they are few, and otherwise their main folders.

    Up to four paths are listed. Folders are listed with the number of files in them.
    """
    if len(paths) <= 4:
        return ", ".join(paths)
    folders = Counter(map(_main_folder, paths))
    best = ", ".join(f"{folder} ({count})" for folder, count in folders.most_common(3))
    return f"{best}: {len(paths)} files"


def summarize_file_names(paths: Sequence[str]) -> str:
    """Summarize paths as up to two short names, source files first.

    An example is `app.py, json/provider.py +3`, where "+3" stands for three more files.
    """
    sorted_paths = sorted(paths, key=lambda path: bool(_SECONDARY_PATH.search(path)))
    names = [_short_name(path) for path in sorted_paths[:2]]
    if len(set(names)) < len(names):
        names = [_within_folder(path) for path in sorted_paths[:2]]
    return ", ".join(names) + (f" +{len(paths) - 2}" if len(paths) > 2 else "")


def _short_name(path: str) -> str:
    """Return a file's name, preceded by its folder if the name is generic."""
    return _within_folder(path) if _GENERIC_FILE_NAME.search(path) else path.rpartition("/")[2]


def _within_folder(path: str) -> str:
    return "/".join(path.split("/")[-2:])


def _main_folder(path: str) -> str:
    """Return the path's folder, shortened to its top three levels.

    Three levels are enough to identify a part of the project. Returns "the root" for a file in no folder.
    """
    return "/".join(path.split("/")[:-1][:3]) or "the root"
