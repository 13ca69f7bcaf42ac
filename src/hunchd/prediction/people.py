"""Authors: the units each wrote, and the folders these touched."""

from __future__ import annotations

from collections import Counter

from hunchd.prediction.state import State, author_key

NEWEST = 40  # units of an author that are considered
MOST_PLACES = 3


def units_by(state: State, email: str, name: str) -> int:
    """Count the newest units of this author, at most NEWEST.

    Authors are identified by their mail address.
    """
    return len(state.messages.units_of_author(author_key(email, name), NEWEST))


def works_on(state: State, email: str, name: str) -> tuple[str, ...]:
    """Return the folders this author touched most.

    A folder of which they touched one file only is given as that file.
    """
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
