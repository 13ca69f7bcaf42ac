"""Read-only git access that is safe for untrusted repositories.

This is the only module that uses GitPython.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

# Without git every command reports an error; GitPython would otherwise fail at import.
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
import git

from hunchd.domain.errors import RepositoryError
from hunchd.repository.layout import is_folder

# Read-only commands; a repository cannot redefine them, as aliases never shadow builtin commands.
COMMANDS = frozenset(  # a word list reads better as words
    """
    blame cat-file check-ignore config diff diff-index diff-tree for-each-ref grep hash-object log ls-files ls-tree
    merge-base name-rev reflog rev-list rev-parse show show-ref status symbolic-ref version worktree
    """.split()  # noqa: SIM905
)

# Settings with which a repository could run a program, access the network or write.
SETTINGS = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    f"core.attributesFile={os.devnull}",
    "core.pager=cat",
    "core.untrackedCache=false",
    "core.quotePath=false",
    "core.askPass=",
    "core.sshCommand=false",
    "core.alternateRefsCommand=",
    "credential.helper=",
    "protocol.allow=never",
    "submodule.recurse=false",
    "diff.external=",
    "diff.ignoreSubmodules=all",
    "diff.noprefix=false",
    "log.showSignature=false",
    "log.follow=false",
    "log.mailmap=false",
    "i18n.logOutputEncoding=UTF-8",
    "gpg.program=false",
    "gc.auto=0",
    "maintenance.auto=false",
)

ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_PAGER": "cat",
    "GIT_CONFIG_COUNT": "0",
}

# Set by git for its hooks, or by a caller for another repository; they would redirect our commands. The user's own
# choice of a configuration file (GIT_CONFIG_GLOBAL, GIT_CONFIG_SYSTEM) stays, because safe.directory is set there.
FOREIGN_VARIABLE = re.compile(
    r"GIT_(DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|NAMESPACE|PREFIX"
    r"|CONFIG|CONFIG_PARAMETERS|CONFIG_COUNT|CONFIG_KEY_\d+|CONFIG_VALUE_\d+|EXTERNAL_DIFF|DIFF_OPTS|TRACE\w*"
    r"|ATTR_SOURCE|SHALLOW_FILE|GRAFT_FILE|REPLACE_REF_BASE|SSH|SSH_COMMAND|ASKPASS|PROXY_COMMAND|QUARANTINE_PATH"
    r"|REDIRECT_\w+|DEFAULT_HASH|IMPLICIT_WORK_TREE|DISCOVERY_ACROSS_FILESYSTEM)"
)

MAX_BLOB_BYTES = 1_000_000  # bytes; larger files are generated or data, never read by a person
CHUNK_BYTES = 1 << 16  # bytes per read
BATCH_SIZE = 64  # object names written before answers are read: far less than a pipe holds
TIMEOUT_SECONDS = 120.0  # seconds for an output that is not streamed
MAX_ERROR_CHARACTERS = 4_000  # characters of git's stderr kept for the error

USERINFO = re.compile(r"://[^/@\s'\"]{1,300}@")
OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class Git:
    """Read-only access to one repository.

    The repository is a working tree, a linked worktree or a bare directory.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        if not is_folder(self.path):
            raise RepositoryError(f"{self.path} is not a directory")
        self._git = git.Git(str(self.path))

    def run(self, *args: str, stdin: bytes | None = None) -> bytes:
        """Run a command and return its whole output.

        Raises RepositoryError if it fails or takes longer than TIMEOUT_SECONDS.
        """
        with self._start_process(args) as process:
            try:
                output, complaint = process.communicate(stdin or b"", timeout=TIMEOUT_SECONDS)
            except subprocess.TimeoutExpired as error:
                raise RepositoryError(f"git {args[0]} did not finish within {TIMEOUT_SECONDS:.0f} s") from error
            _check_exit(process.returncode, args, complaint)
            return bytes(output)

    def stream(self, *args: str, separator: bytes = b"\0") -> Iterator[bytes]:
        """Yield a command's output record by record.

        If the caller stops iterating, the child process is ended.
        """
        with self._start_process(args) as process:
            process.stdin.close()
            complaint = _drain_in_background(process.stderr)
            yield from _split_records(process.stdout, separator)
            _check_exit(process.wait(), args, complaint())

    def read_blobs(self, ids: Iterable[str], *, max_bytes: int = MAX_BLOB_BYTES) -> Iterator[tuple[str, bytes]]:
        """Yield (object id, contents) for each blob.

        Missing objects, and objects of more than `max_bytes` bytes, are skipped.
        """
        with self._start_process(("cat-file", "--batch")) as process:
            _drain_in_background(process.stderr)
            for batch in _split_batches(ids):
                yield from _read_contents(process, batch, max_bytes)

    def exists(self, rev: str = "HEAD") -> bool:
        """Return True if `rev` names a commit.

        Returns False for an unborn branch. Raises RepositoryError if git does not trust the folder.
        """
        try:
            return bool(self.resolve(rev))
        except RepositoryError as error:
            if error.hint is not None:
                raise
            return False

    def is_unborn(self) -> bool:
        """Return True if the checked-out branch has no commit yet.

        Raises RepositoryError if git cannot use the repository at all.
        """
        self.run("rev-parse", "--git-dir")
        try:
            return not self.run("rev-parse", "--verify", "--quiet", "HEAD")
        except RepositoryError:
            return True

    def resolve(self, rev: str = "HEAD") -> str:
        """Return the id of the commit that `rev` names.

        Raises RepositoryError if there is no such commit.
        """
        return self.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}").decode().strip()

    def list_tree(self, rev: str = "HEAD") -> dict[str, str]:
        """Return the blob id of every regular file in a commit, keyed by path.

        Submodules and symbolic links are skipped.
        """
        files: dict[str, str] = {}
        for record in self.stream("ls-tree", "-r", "-z", "--full-tree", rev):
            meta, _, path = record.partition(b"\t")
            mode, kind, blob = meta.split()[:3]
            if kind == b"blob" and mode.startswith(b"100"):
                files[path.decode("utf-8", "replace")] = blob.decode()
        return files

    @contextmanager
    def _start_process(self, args: tuple[str, ...]) -> Iterator[Any]:
        if not args or args[0] not in COMMANDS:
            raise RepositoryError(f"git {args[0] if args else ''} is not an allowed command")
        _remove_foreign_variables()
        try:
            process: Any = self._git.execute(
                _build_command(args),
                as_process=True,
                istream=subprocess.PIPE,
                env=ENVIRONMENT,
            )
        except git.GitCommandNotFound as error:  # its message contains only the whole command
            reason = "git is not on the PATH" if shutil.which("git") is None else "the folder was removed"
            raise RepositoryError(f"git could not be started in {self.path}: {reason}") from error
        except (git.GitCommandError, OSError) as error:
            raise RepositoryError(f"git could not be started in {self.path}: {error}") from error
        child = process.proc
        try:
            yield child
        finally:
            _end_process(child)
            process.proc = None  # GitPython has nothing left to interrupt


def _build_command(args: tuple[str, ...]) -> list[str]:
    settings = [word for setting in SETTINGS for word in ("-c", setting)]
    safe = ["--no-ext-diff", "--no-textconv"] if args[0] in {"log", "diff", "show", "diff-tree", "diff-index"} else []
    return ["git", "--no-pager", "--no-optional-locks", *settings, args[0], *safe, *args[1:]]


def _remove_foreign_variables() -> None:
    """Remove git's variables from the environment of this process.

    Whoever started this process may have set them, and GitPython passes the whole environment to git.
    """
    for name in [name for name in os.environ if FOREIGN_VARIABLE.fullmatch(name)]:
        os.environ.pop(name, None)


def _end_process(child: Any) -> None:
    if child.poll() is None:
        child.kill()
    child.wait()
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe is not None and not pipe.closed:
            try:
                pipe.close()
            except OSError:  # broken pipe: the child has exited
                continue


def _check_exit(code: int, args: tuple[str, ...], complaint: bytes) -> None:
    if code == 0:
        return
    # A remote's URL may contain a password, which must not be logged.
    words = USERINFO.sub("://", complaint.decode("utf-8", "replace").strip()[-MAX_ERROR_CHARACTERS:])
    hint = None
    if "dubious ownership" in words:
        hint = "another user owns the folder; if you trust it, add it to safe.directory in your git configuration"
    raise RepositoryError(f"git {args[0]} failed ({code}): {words or 'no output'}", hint=hint)


def _drain_in_background(pipe: IO[bytes]) -> Any:
    """Read a pipe in the background so that the child process never blocks.

    Returns a function that waits until the pipe is closed and returns its first MAX_ERROR_CHARACTERS bytes.
    """
    buffer = bytearray()

    def read() -> None:
        try:
            while chunk := pipe.read(CHUNK_BYTES):
                buffer.extend(chunk[: max(MAX_ERROR_CHARACTERS - len(buffer), 0)])
        except (OSError, ValueError):  # closed because the iteration was abandoned
            return

    reader = threading.Thread(target=read, name="git-complaints", daemon=True)
    reader.start()

    def read_all() -> bytes:
        reader.join(TIMEOUT_SECONDS)
        return bytes(buffer)

    return read_all


def _split_records(pipe: IO[bytes], separator: bytes) -> Iterator[bytes]:
    rest = b""
    while chunk := pipe.read(CHUNK_BYTES):
        *complete_records, rest = (rest + chunk).split(separator)
        yield from complete_records
    if rest:
        yield rest


def _split_batches(ids: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    for name in ids:
        if OBJECT_ID.fullmatch(name):
            batch.append(name)
        if len(batch) == BATCH_SIZE:
            yield batch
            batch = []
    if batch:
        yield batch


def _read_contents(process: Any, batch: list[str], max_bytes: int) -> Iterator[tuple[str, bytes]]:
    """Write a batch of object ids to git, then yield (id, content) pairs.

    Missing objects, and objects of more than `max_bytes` bytes, are skipped. Writing the whole batch first is safe
    because git flushes its output after each object.
    """
    try:
        process.stdin.write("".join(f"{name}\n" for name in batch).encode())
        process.stdin.flush()
    except OSError as error:
        raise RepositoryError("git cat-file exited early") from error
    for name in batch:
        header = process.stdout.readline().split()
        if not header:
            raise RepositoryError("git cat-file exited early")
        if len(header) < 3:  # "<id> missing"
            continue
        size = int(header[2])
        if size > max_bytes:
            _skip_bytes(process.stdout, size + 1)
            continue
        content = process.stdout.read(size)
        process.stdout.read(1)
        if header[1] == b"blob":
            yield name, content


def _skip_bytes(pipe: IO[bytes], size: int) -> None:
    while size > 0:
        chunk = pipe.read(min(size, CHUNK_BYTES))
        if not chunk:
            return
        size -= len(chunk)
