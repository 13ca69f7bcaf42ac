"""Who works on what: the units an author wrote, and the places those are about."""

from __future__ import annotations

from collections import Counter

from hunchd.prediction.state import State, author_key

NEWEST = 40  # units of an author that are looked at
MOST_PLACES = 3


def units_by(state: State, email: str, name: str) -> int:
    """How many of the newest units this author wrote, NEWEST at most; authors are known by their mail address."""
    return len(state.messages.units_of_author(author_key(email, name), NEWEST))


def works_on(state: State, email: str, name: str) -> tuple[str, ...]:
    """The folders this author touched most, each told by the one file of it if there is only one."""
    units = state.messages.units_of_author(author_key(email, name), NEWEST)
    if not len(units):
        return ()
    files, _ = state.messages.flattened(units)
    paths = [state.files.paths[file] for file in files.tolist() if state.files.alive.view[file]]
    folders = Counter(path.rpartition("/")[0] for path in paths)
    told = []
    for folder, _ in folders.most_common(MOST_PLACES):
        inside = {path for path in paths if path.rpartition("/")[0] == folder}
        told.append(inside.pop() if len(inside) == 1 or not folder else f"{folder}/")
    return tuple(told)
