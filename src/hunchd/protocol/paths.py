"""Conversion of paths sent by clients to internal paths.

Internal paths are relative to the project root and use "/" as the separator.
"""

from __future__ import annotations

import os
import stat
from functools import lru_cache
from pathlib import PurePath
from typing import Final

from hunchd.domain.errors import InvalidInput

MAX_PATH_CHARACTERS: Final = 4096  # characters; PATH_MAX on Linux

_ALLOWED_PATHS: Final = "a path inside the project, absolute or relative to its root"


def to_relative_path(raw: str, root: str | os.PathLike[str], *, field: str = "path") -> str:
    """Return the path `raw` relative to `root`.

    Symlinks are resolved, so that two names of the same file yield the same path. Raises InvalidInput if the path
    leads outside the root, whether through "..", through a symlink or because it is an absolute path to another place.
    The file need not exist and is never opened. `field` is the name that the path has in the client's request.
    """
    if not raw.strip() or len(raw) > MAX_PATH_CHARACTERS or "\0" in raw:
        raise InvalidInput(f"the path is empty, too long or contains NUL; allowed: {_ALLOWED_PATHS}", field=field)
    if not PurePath(raw).is_absolute() and os.path.normpath(raw).split(os.sep, 1)[0] == os.pardir:
        raise _outside_error(raw, field)  # before any disk access
    real_root = _resolve_root(os.fspath(root))
    if (relative := _relative_without_links(raw, real_root)) is not None:
        return _check_encodable(relative, field)
    real = os.path.realpath(os.path.join(real_root, raw))  # noqa: PTH118 - Path would drop the meaning of ".." behind links
    base = real_root if real_root.endswith(os.sep) else real_root + os.sep
    if not real.startswith(base):
        raise (
            _outside_error(raw, field)
            if real != real_root
            else InvalidInput(f"the path is the project folder itself; allowed: {_ALLOWED_PATHS}", field=field)
        )
    return _check_encodable(real[len(base) :], field)


def to_relative_prefix(raw: str | None, root: str | os.PathLike[str]) -> str | None:
    """Convert a client's path prefix to one relative to `root`.

    Returns None for the root itself, or if `raw` is None. A prefix outside the root is returned unchanged, because
    document paths start with "/" too.
    """
    if raw is None:
        return None
    for base in (os.fspath(root), _resolve_root(os.fspath(root))):
        if raw == base or raw.startswith(base + os.sep):
            raw = raw[len(base) :].lstrip(os.sep)
    return raw.replace(os.sep, "/").removeprefix("./") or None


def _relative_without_links(raw: str, real_root: str) -> str | None:
    """Return the path `raw` relative to `real_root` without resolving links.

    Returns None in the rare case that the path has segments such as ".." or contains a symlink. This costs one `lstat`
    for each segment below the root, whereas `realpath` would also check every segment above it.
    """
    below = raw.removeprefix(real_root + os.sep) if raw.startswith(os.sep) else raw
    parts = below.split("/")
    if os.sep != "/" or below.startswith("/") or not all(part.strip(".") for part in parts):
        return None
    current = real_root
    for part in parts:
        current = f"{current}/{part}"
        try:
            status = os.lstat(current)
        except FileNotFoundError:
            break  # neither it nor anything below it can be a link
        except OSError:
            return None
        if stat.S_ISLNK(status.st_mode):
            return None
    return below


def normalize_project_path(raw: str, *, field: str = "project") -> str:
    """Return the normalized absolute path of a project's folder.

    Raises InvalidInput if `raw` is relative or too long.
    """
    if len(raw) > MAX_PATH_CHARACTERS or not PurePath(raw).is_absolute():
        raise InvalidInput(f"'{field}' must be the absolute path of a working tree", field=field)
    return os.path.normpath(raw)


def _resolve_root(root: str) -> str:
    try:
        status = os.stat(root)  # noqa: PTH116 - a tenth of the time of Path.stat, on the path of every signal
    except OSError:
        return os.path.realpath(root)  # the folder was removed; its name is still valid
    return _resolve_cached(root, status.st_dev, status.st_ino)


@lru_cache(maxsize=64)  # projects in use at once; keyed by inode so that a retargeted link is noticed
def _resolve_cached(root: str, _device: int, _inode: int) -> str:
    return os.path.realpath(root)


def _check_encodable(relative: str, field: str) -> str:
    try:
        relative.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput("the path contains a name that is not valid Unicode", field=field) from error
    return relative if os.sep == "/" else PurePath(relative).as_posix()


def _outside_error(raw: str, field: str) -> InvalidInput:
    return InvalidInput(f"{raw[:80]!a} is outside the project; allowed: {_ALLOWED_PATHS}", field=field)
