"""Recent work of an author: number of units of work and most frequently changed folders."""

from __future__ import annotations

from collections import Counter

from hunchd.prediction.state import PredictorState, hash_author

MAX_AUTHOR_UNITS = 40  # units of an author that are considered
MAX_FOLDERS = 3


def count_units(state: PredictorState, email: str, name: str) -> int:
    """Count the author's newest units of work, up to MAX_AUTHOR_UNITS.

    Authors are identified by their email address, or by their name if they have no address.
    """
    return len(state.messages.list_units_of_author(hash_author(email, name), MAX_AUTHOR_UNITS))


def list_main_folders(state: PredictorState, email: str, name: str) -> tuple[str, ...]:
    """Return the folders where this author changed files most often.

    If the author changed only one file in a folder, the path of that file is returned instead.
    """
    units = state.messages.list_units_of_author(hash_author(email, name), MAX_AUTHOR_UNITS)
    if not len(units):
        return ()
    files, _ = state.messages.flatten_files(units)
    paths = [state.files.paths[file] for file in files.tolist() if state.files.alive.view[file]]
    folders = Counter(path.rpartition("/")[0] for path in paths)
    labels = []
    for folder, _ in folders.most_common(MAX_FOLDERS):
        inside = {path for path in paths if path.rpartition("/")[0] == folder}
        labels.append(inside.pop() if len(inside) == 1 or not folder else f"{folder}/")
    return tuple(labels)
