"""Search for commits by the files they touch and the words in their messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hunchd.repository.git import Git

# Further back, most files have different contents; the limit also keeps git's search below a second or two.
MAX_UNITS: Final = 5_000  # units of history searched
MAX_COMMITS: Final = 300  # commits
MAX_LINES: Final = 300  # lines of one commit's changes
MAX_LINE_CHARACTERS: Final = 200

_FORMAT: Final = "%x01%H%x1f%P%x1f%at%x1f%B%x02"
_HEADER: Final = re.compile(r"([0-9a-f]{40,64})\x1f([^\x1f]*)\x1f(\d+)\x1f(.*)", re.DOTALL)
_NEW_PATH: Final = re.compile(r'\+\+\+ "?b/(.*?)"?\t?$')


@dataclass(frozen=True, slots=True)
class FoundCommit:
    """Commit found by its files and the words in its message; never a merge.

    `paths` are those of the requested files that the commit touched; `lines` are the lines that it added to or removed
    from them, with context.
    """

    sha: str
    parent: str
    at: int  # seconds since the epoch, when it was written
    message: str
    paths: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def subject(self) -> str:
        return self.message.strip().partition("\n")[0].strip()


def search_commits(root: Path, paths: Sequence[str], words: str, *, until: str = "HEAD") -> list[FoundCommit]:
    """Find commits that touched any of `paths` and mention `words`.

    Only commits reachable from `until` are searched; merges are left out. `words` is a case-insensitive extended
    regular expression, which is matched against the message. Returns the newest commit first, or an empty list if
    `until` does not exist. Raises RepositoryError if git fails.
    """
    git = Git(root)
    if not paths or not git.exists(until):
        return []
    oldest = f"{until}~{MAX_UNITS}"
    revisions = [until, *([f"^{oldest}"] if git.exists(oldest) else [])]
    options = (
        "--no-merges",
        "--extended-regexp",
        "--regexp-ignore-case",
        f"--grep={words}",
        f"--max-count={MAX_COMMITS}",
    )
    output = git.stream(
        "log", *options, "--patch", "--no-renames", "--no-color", "--no-decorate", f"--format={_FORMAT}", *revisions,
        "--", *paths, separator=b"\n",
    )  # fmt: skip
    return [commit for commit in map(_parse_commit, _split_records(output)) if commit is not None]


def _split_records(lines: Iterator[bytes]) -> Iterator[list[str]]:
    record: list[str] = []
    for raw in lines:
        line = raw.decode("utf-8", "replace")
        if line.startswith("\x01"):
            if record:
                yield record
            record = [line[1:]]
        elif record and len(record) < 4 * MAX_LINES:
            record.append(line)
    if record:
        yield record


def _parse_commit(record: list[str]) -> FoundCommit | None:
    head, _, patch = "\n".join(record).partition("\x02")
    header_match = _HEADER.match(head)
    if header_match is None or not header_match[2]:
        return None
    paths, lines = [], []
    for line in patch.splitlines():
        if path_match := _NEW_PATH.match(line):
            paths.append(path_match[1])
        elif line.startswith(("+", "-", " ", "@@")) and not line.startswith(("+++", "---")):
            lines.append(line[:MAX_LINE_CHARACTERS])
    return FoundCommit(
        header_match[1],
        header_match[2].split()[0],
        int(header_match[3]),
        header_match[4],
        tuple(paths),
        tuple(lines[:MAX_LINES]),
    )
