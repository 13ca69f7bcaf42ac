"""Git history as units of work.

A unit is one step of the first-parent history: a commit, or a merge with all it brings in. Renames are followed.
Text written by people is redacted in this module, so nothing that is derived from a unit contains secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice

from hunchd.domain.errors import RepositoryError
from hunchd.domain.history import ChangeStatus, PathChange, Unit, clamp_author_time
from hunchd.domain.unit_classification import is_forward_port_subject
from hunchd.ingestion.path_filter import is_reportable_path
from hunchd.ingestion.redaction import redact, redact_name
from hunchd.repository.git import Git

MAX_BODY = 4_000  # characters of a commit message that are stored
MAX_MESSAGE = 5 * MAX_BODY  # characters redacted, so that a secret that begins in the stored part ends here
SIMILAR_RENAMES, EXACT_RENAMES = "-M50%", "-M100%"
RENAME_LIMIT = 400  # files per side; above it git compares by name only, which is enough for mass moves

_HEADER = re.compile(rb"\n?\x01([0-9a-f]{40,64})\x1f")
_FORMAT = "%x01%H%x1f%P%x1f%aN%x1f%aE%x1f%at%x1f%B"

_LOG_COMMAND = (
    *("log", "--first-parent", "--diff-merges=first-parent", "--raw", "-z", f"-l{RENAME_LIMIT}", "--root"),
    *("--no-abbrev", "--no-color", "--no-decorate", f"--format={_FORMAT}"),
)
_NUMSTAT = "--numstat"
_NUMSTAT_LINE = re.compile(rb"(\d+|-)\t(\d+|-)\t(.*)", re.DOTALL)
_MISSING_CONTENT = re.compile(r"unable to read|missing blob|could not fetch|promisor", re.IGNORECASE)

Author = tuple[str, str]  # name and mail address

_GITHUB_MERGE = re.compile(r"Merge pull request #(\d+) from [^/\s]+/(\S+)")
_GITLAB_MERGE = re.compile(r"Merge (?:remote-tracking )?branch '([^']+)'(?: (?:of|into) .*)?$")
_FORK_MERGE = "Merge commit from fork"  # GitHub's merge of a private security fix
_GITLAB_NUMBER = re.compile(r"See merge request \S*!(\d+)")
_COAUTHOR = re.compile(r"^co-authored-by:\s*(.+?)\s*$", re.IGNORECASE | re.MULTILINE)


def iter_units(
    git: Git,
    rev: str = "HEAD",
    *,
    newest: int | None = None,
    since: str | None = None,
    newest_first: bool = False,
    lines: bool = False,
) -> Iterator[Unit]:
    """Yield the first-parent units reachable from `rev`, by default oldest first.

    `newest` limits the result to that many of the newest units; `since` excludes the commits reachable from that
    commit. `lines` counts added and deleted lines, which takes git three to five times as long. A repository
    without commits has no units.

    Raises RepositoryError if there is no repository or no such commit.
    """
    git.run("rev-parse", "--git-dir")  # a missing repository is an error, one without commits is not
    if not git.exists(rev):
        if rev == "HEAD" and git.is_unborn():
            return
        raise RepositoryError(f"no commit {rev!r} in {git.path}")
    revisions = [rev] if since is None else [rev, f"^{since}"]
    order = [] if newest_first else ["--reverse"]
    limit = [] if newest is None else [f"--max-count={newest}"]
    count_options = [_NUMSTAT] if lines else []
    yield from _read_log(git, [*count_options, *order, *limit, *revisions, "--"])


def count_readable(git: Git, *, newest: int) -> int:
    """Count how many of the newest units can be read, up to `newest`.

    The count is lower than `newest` if the repository has fewer units or is damaged.
    """
    unit_count = 0
    try:
        for _ in iter_units(git, newest=newest, newest_first=True):
            unit_count += 1
    except RepositoryError:
        pass
    return unit_count


def _read_log(git: Git, selection: list[str]) -> Iterator[Unit]:
    """Yield the units, without line counts if file contents are missing.

    Line counts and similarity need the contents of files, which a partial clone may lack. Without contents, only
    exact renames are detected.
    """
    tags = map_tags_by_commit(git)
    selected_arguments = [word for word in selection if word != _NUMSTAT]
    writers = _find_merge_authors(git, selected_arguments)
    unit_count = 0
    try:
        for unit in _parse_records(git.stream(*_LOG_COMMAND, SIMILAR_RENAMES, *selection), tags, writers):
            yield unit
            unit_count += 1
    except RepositoryError as error:
        if not _MISSING_CONTENT.search(error.message):
            raise
        units = _parse_records(git.stream(*_LOG_COMMAND, EXACT_RENAMES, *selected_arguments), tags, writers)
        yield from islice(units, unit_count, None)


def _find_merge_authors(git: Git, selection: list[str]) -> dict[str, Author]:
    """Map each merge to the author of the last commit it merged.

    The person who makes a merge usually wrote none of its changes. Merges between long-lived branches are left out:
    they have many authors, none of whom represents the merge better than the person who made it. Merges that cannot
    be read are skipped here; the error is raised when the units are read.
    """
    tips: dict[str, str] = {}
    with suppress(RepositoryError):
        for line in git.stream("log", "--first-parent", "--format=%H %P%x1f%s", *selection, separator=b"\n"):
            ids, _, subject = line.decode("utf-8", "replace").partition("\x1f")
            merge, *parents = ids.split()
            if len(parents) == 2 and not is_forward_port_subject(subject):
                tips[merge] = parents[1]
    if not tips:
        return {}
    tip_lines = "".join(f"{tip}\n" for tip in tips.values()).encode()
    log_options = ("--no-walk=unsorted", "--ignore-missing", "--stdin", "--format=%H%x1f%aN%x1f%aE")
    writers: dict[str, Author] = {}
    with suppress(RepositoryError):
        for entry_line in filter(
            None, git.run("log", *log_options, stdin=tip_lines).decode("utf-8", "replace").split("\n")
        ):
            sha, name, email = entry_line.split("\x1f", 2)
            writers[sha] = name, email
    return {merge: writers[tip] for merge, tip in tips.items() if tip in writers}


def map_tags_by_commit(git: Git) -> dict[str, tuple[str, ...]]:
    """Map commit ids to the names of their tags, both annotated and lightweight."""
    names: dict[str, tuple[str, ...]] = {}
    lines = git.run("for-each-ref", "--format=%(objectname) %(*objectname) %(refname:strip=2)", "refs/tags").decode(
        "utf-8", "replace"
    )
    for line in lines.splitlines():
        direct, _, rest = line.partition(" ")
        commit_sha, _, name = rest.partition(" ")
        commit = commit_sha or direct
        names[commit] = (*names.get(commit, ()), redact_name(name))
    return names


def _parse_records(
    records: Iterator[bytes], tags: dict[str, tuple[str, ...]], writers: dict[str, Author]
) -> Iterator[Unit]:
    """Parse the records that `git log` prints into units.

    Each unit has a header, then the modes, blobs and paths of each change, then line counts if they were requested.
    """
    header: bytes | None = None
    changes: dict[str, PathChange] = {}
    for record in records:
        meta = record.lstrip(b"\n")
        if meta.startswith(b":"):
            changes.update((change.path, change) for change in _parse_change(meta, records))
        elif _HEADER.match(record):
            if header is not None:
                yield _build_unit(header, changes.values(), tags, writers)
            header, changes = meta, {}
        elif count_match := _NUMSTAT_LINE.match(meta):
            path = (count_match[3] or [next(records), next(records)][1]).decode("utf-8", "replace")
            if path in changes:
                changes[path] = replace(
                    changes[path], added=_parse_count(count_match[1]), deleted=_parse_count(count_match[2])
                )
    if header is not None:
        yield _build_unit(header, changes.values(), tags, writers)


def _parse_count(raw: bytes) -> int:
    return int(raw) if raw.isdigit() else 0  # "-" for a binary file


def _parse_change(meta: bytes, records: Iterator[bytes]) -> Iterator[PathChange]:
    old_mode, new_mode, old_blob, new_blob, status = meta[1:].split(b" ")
    kind = chr(status[0])
    path = next(records).decode("utf-8", "replace")
    old_path = None
    if kind in "RC":
        old_path, path = path, next(records).decode("utf-8", "replace")
    if b"160000" in (old_mode, new_mode) or kind not in "AMDRCT":  # a submodule, or an unmerged entry
        return
    if old_path is not None and not is_reportable_path(old_path):
        kind, old_path = "A", None
    if not is_reportable_path(path):
        return
    yield PathChange(_STATUSES[kind], path, old_path, _parse_blob(old_blob), _parse_blob(new_blob))


_ESCAPED_BREAK = r"\n\n"  # left in the first line by `git commit -m 'title\n\nbody'`
_STATUSES: dict[str, ChangeStatus] = {"A": "A", "M": "M", "D": "D", "R": "R", "C": "C", "T": "T"}


def _parse_blob(raw: bytes) -> str:
    return "" if raw.strip(b"0") == b"" else raw.decode("ascii")


def _build_unit(
    header: bytes, changes: Iterable[PathChange], tags: dict[str, tuple[str, ...]], writers: dict[str, Author]
) -> Unit:
    sha, parents, author, email, at, message = header[1:].decode("utf-8", "replace").split("\x1f", 5)
    author, email = writers.get(sha, (author, email))
    message = redact(message[:MAX_MESSAGE]).text
    subject, body, branch = _split_message(message)
    return Unit(
        sha=sha,
        parents=tuple(parents.split()),
        author=redact_name(author),
        email=redact_name(email),
        at=clamp_author_time(int(at)) if at.lstrip("-").isdigit() else 0,
        subject=subject,
        body=body,
        changes=tuple(changes),
        tags=tags.get(sha, ()),
        branch=branch,
        coauthors=tuple(dict.fromkeys(_COAUTHOR.findall(message))),
    )


def _split_message(message: str) -> tuple[str, str, str]:
    """Split a commit message into subject, body and name of the merged branch.

    For a merge, the title of the merged pull request becomes the subject. The branch is "" if the message names none.
    """
    if _ESCAPED_BREAK in message.partition("\n")[0]:
        message = message.replace("\\n", "\n")
    first, _, rest = message.strip().partition("\n")
    body = rest.strip()[:MAX_BODY]
    if merge := _GITHUB_MERGE.match(first):
        title, _, more = body.partition("\n")
        number, branch = merge.groups()
        return (f"{title.strip()} (#{number})", more.strip(), branch) if title else (first, "", branch)
    if first.strip() == _FORK_MERGE and body.startswith("* "):
        title, _, more = body.removeprefix("* ").partition("\n")
        return title.strip(), more.strip(), ""
    if merge := _GITLAB_MERGE.match(first):
        branch = merge.group(1)
        title, _, more = body.partition("\n")
        if _GITLAB_NUMBER.search(body) and title:
            return title.strip(), more.strip(), branch
        return first.strip(), body, "" if is_forward_port_subject(first) else branch
    return first.strip(), body, ""
