"""Short descriptions of changed paths. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_ASIDE = re.compile(r"(?:^|/)(?:tests?|docs?|changes?|changelog|news)\b|\.(?:md|rst|txt)$", re.IGNORECASE)
_VAGUE = re.compile(
    r"(?:^|/)(?:__init__\.py|index\.[jt]sx?|(?:mod|lib|main)\.rs|main\.(?:py|go)|README\.md|package\.json)$"
)


def places_of(paths: Sequence[str]) -> str:
    """List few paths, or the main folders of many."""
    if len(paths) <= 4:
        return ", ".join(paths)
    folders = Counter(map(_folder, paths))
    best = ", ".join(f"{folder} ({count})" for folder, count in folders.most_common(3))
    return f"{best}: {len(paths)} files"


def names_of(paths: Sequence[str]) -> str:
    """Summarize paths by short names: `app.py, json/provider.py +3`, sources first."""
    ordered = sorted(paths, key=lambda path: bool(_ASIDE.search(path)))
    names = [_telling(path) for path in ordered[:2]]
    if len(set(names)) < len(names):
        names = [_within_folder(path) for path in ordered[:2]]
    return ", ".join(names) + (f" +{len(paths) - 2}" if len(paths) > 2 else "")


def _telling(path: str) -> str:
    """Return the file name, with its folder if it is common."""
    return _within_folder(path) if _VAGUE.search(path) else path.rpartition("/")[2]


def _within_folder(path: str) -> str:
    return "/".join(path.split("/")[-2:])


def _folder(path: str) -> str:
    """Return up to three levels of the path's folder.

    That is enough to identify a part of the project.
    """
    return "/".join(path.split("/")[:-1][:3]) or "the root"
