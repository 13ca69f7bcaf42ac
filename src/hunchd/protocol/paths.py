"""Paths as clients name them → paths as the product names them: relative to the project root, with "/"."""

from __future__ import annotations

import os
import stat
from functools import lru_cache
from pathlib import PurePath
from typing import Final

from hunchd.domain.errors import InvalidInput

PATH_LIMIT: Final = 4096  # characters; PATH_MAX on Linux

_ALLOWED: Final = "a path inside the project, absolute or relative to its root"


def relative_path(raw: str, root: str | os.PathLike[str], *, field: str = "path") -> str:
    """`raw` as it is named inside `root`; links are followed, so that two names of a file become one.

    InvalidInput when it leads outside, by "..", by a link, or by being another absolute path. The file need
    not exist and is never opened. `field` is what the client calls it.
    """
    if not raw.strip() or len(raw) > PATH_LIMIT or "\0" in raw:
        raise InvalidInput(f"the path is empty, too long or holds NUL; allowed: {_ALLOWED}", field=field)
    if not PurePath(raw).is_absolute() and os.path.normpath(raw).split(os.sep, 1)[0] == os.pardir:
        raise _outside(raw, field)  # before anything is asked of the disk
    real_root = _real_root(os.fspath(root))
    if (plain := _without_links(raw, real_root)) is not None:
        return _storable(plain, field)
    real = os.path.realpath(os.path.join(real_root, raw))  # noqa: PTH118 - Path would drop the meaning of ".." behind links
    base = real_root if real_root.endswith(os.sep) else real_root + os.sep
    if not real.startswith(base):
        raise (
            _outside(raw, field)
            if real != real_root
            else InvalidInput(f"the path names the project folder itself; allowed: {_ALLOWED}", field=field)
        )
    return _storable(real[len(base) :], field)


def relative_prefix(raw: str | None, root: str | os.PathLike[str]) -> str | None:
    """What paths inside `root` begin with, from what a client says they do: nothing for the root itself. What lies
    elsewhere stays as it is, for the path of a document begins with "/" too."""
    if raw is None:
        return None
    for base in (os.fspath(root), _real_root(os.fspath(root))):
        if raw == base or raw.startswith(base + os.sep):
            raw = raw[len(base) :].lstrip(os.sep)
    return raw.replace(os.sep, "/").removeprefix("./") or None


def _without_links(raw: str, real_root: str) -> str | None:
    """`raw` below `real_root` when it is spelled plainly and no part of it is a link, as nearly every path: one look
    at each part below the root, where following links would look at every part above it too. None: follow them."""
    below = raw.removeprefix(real_root + os.sep) if raw.startswith(os.sep) else raw
    parts = below.split("/")
    if os.sep != "/" or below.startswith("/") or not all(part.strip(".") for part in parts):
        return None
    at = real_root
    for part in parts:
        at = f"{at}/{part}"
        try:
            found = os.lstat(at)
        except FileNotFoundError:
            break  # what is not there is no link either, nor is anything below it
        except OSError:
            return None
        if stat.S_ISLNK(found.st_mode):
            return None
    return below


def project_path(raw: str, *, field: str = "project") -> str:
    """The absolute, normalised path of a project's folder. InvalidInput when it is relative."""
    if len(raw) > PATH_LIMIT or not PurePath(raw).is_absolute():
        raise InvalidInput(f"'{field}' must be the absolute path of a working tree", field=field)
    return os.path.normpath(raw)


def _real_root(root: str) -> str:
    try:
        known = os.stat(root)  # noqa: PTH116 - a tenth of the time of Path.stat, on the path of every signal
    except OSError:
        return os.path.realpath(root)  # a folder that is gone still has a name
    return _resolved(root, known.st_dev, known.st_ino)


@lru_cache(maxsize=64)  # projects at work at once; keyed by inode too, so that a link that is moved is seen
def _resolved(root: str, _device: int, _inode: int) -> str:
    return os.path.realpath(root)


def _storable(relative: str, field: str) -> str:
    try:
        relative.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput("the path leads to a name that is not Unicode", field=field) from error
    return relative if os.sep == "/" else PurePath(relative).as_posix()


def _outside(raw: str, field: str) -> InvalidInput:
    return InvalidInput(f"{raw[:80]!a} is outside the project; allowed: {_ALLOWED}", field=field)
