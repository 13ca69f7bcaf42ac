"""Benchmark of fixes from history: is the right commit shown for errors that commit messages quote?

    python benchmarks/past_fixes.py REPOSITORY… [--read]

The questions are real: a message that quotes a traceback, a panic or an exception with its message, of a commit that
touched code. The error is looked up in the files that it names, else in those that the commit touched.

- itself: history including that commit, as if the error occurred on an older branch: is that commit shown?
- earlier: history before that commit. Is an earlier one shown, and does it help? Only a reader can judge that:
  `--read` prints them.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hunchd.domain.memory import Kind, Memory
from hunchd.features.errors.history_fix_search import find_history_fix
from hunchd.ingestion.errors import parse_error
from hunchd.ingestion.fixes import Fix
from hunchd.ingestion.past_fixes import describes_fix
from hunchd.repository.git import Git

MOST_ASKED = 40  # of one repository
_CODE = re.compile(r"\.(?:py|go|rs|ts|tsx|js|java)$")
_TEST = re.compile(r"(?:^|/)(?:tests?|t)/|(?:^|[/_.-])(?:test|spec)s?[_.]|_test\.|Test\.java$")
_QUOTES = re.compile(
    r'^[>|\s]*(?:Traceback \(most recent|File "[^"]+", line \d+|thread \'|panic: |goroutine \d'
    r"|(?:E +)?(?:[\w.]+\.)?[A-Z]\w+(?:Error|Exception): \S+ \S+)|(?<=[\"'`( ])[A-Z]\w+(?:Error|Exception): \S+ \S+",
    re.MULTILINE,
)
_WORDS = 'Traceback|Error: |Exception: |panic|goroutine|File "'


@dataclass(frozen=True, slots=True)
class Question:
    sha: str
    text: str  # of the error
    message: str  # of the commit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--read", action="store_true", help="print the fix shown for each error")
    parser.add_argument("--most", type=int, default=MOST_ASKED)
    options = parser.parse_args()
    total = [0, 0, 0, 0]
    for repository in options.repositories:
        counts = [0, 0, 0, 0]
        for question in draw_questions(repository, options.most):
            itself = find_fix(repository, question, until=question.sha)
            earlier = find_fix(repository, question, until=f"{question.sha}^")
            outcome = (True, itself is not None, bool(itself and itself.commit == question.sha), earlier is not None)
            counts = [count + one for count, one in zip(counts, outcome, strict=True)]
            if options.read and earlier is not None:
                show(question, earlier)
        total = [count + one for count, one in zip(total, counts, strict=True)]
        print(format_line(repository.parent.name or repository.name, counts), flush=True)
    print(format_line("all", total))


def format_line(name: str, counts: list[int]) -> str:
    question_count, shown_count, right, earlier = counts
    with_commit = f"with the commit: shown {shown_count}, right {right}"
    return f"{name:<28} questions {question_count:>3} | {with_commit} | without it: shown {earlier}"


def draw_questions(repository: Path, most: int) -> list[Question]:
    questions = list(iter_questions(Git(repository)))
    random.Random(1).shuffle(questions)
    return questions[:most]


def iter_questions(git: Git) -> Iterator[Question]:
    """Yield the commits with one parent that quote an error and fix code."""
    log = git.run(
        "log", "--no-merges", "--extended-regexp", f"--grep={_WORDS}", "--name-only", "--format=%x01%H%x1f%P%x1f%B%x02"
    )
    for record in log.decode("utf-8", "replace").split("\x01")[1:]:
        head, _, names = record.partition("\x02")
        sha, parents, message = head.split("\x1f", 2)
        paths = [path for path in names.split() if _CODE.search(path) and not _TEST.search(path)]
        quoted = _QUOTES.search(message)
        if quoted and parents and 0 < len(paths) <= 8 and describes_fix(message):
            text = re.sub(r"^[>|\s]{0,8}(?=\S)", "", message[quoted.start() :], flags=re.MULTILINE)
            yield Question(sha, rewrite_paths(text, paths), message)


def rewrite_paths(text: str, paths: list[str]) -> str:
    """Rewrite the quoted error to the project's paths.

    One that names none of them was raised in the touched files.
    """
    own = False
    for place in parse_error(text).places:
        for path in paths:
            if place.path.endswith(f"/{path}") or place.path == path:
                text, own = text.replace(place.path, path), True
    if own:
        return text
    return "".join(f'  File "{path}", line 1, in <module>\n' for path in reversed(paths[:3])) + text


def find_fix(repository: Path, question: Question, *, until: str) -> Fix | None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    error = Memory(id="e", kind=Kind.ERROR, title="error", content=question.text, at=now, created=now, updated=now)
    return find_history_fix(repository, error, (), until=until)


def show(question: Question, fix: Fix) -> None:
    read = parse_error(question.text)
    print(f"{'=' * 100}\n{read.headline}   [{question.sha[:8]}: {question.message.strip().splitlines()[0][:100]}]")
    print(f"  places: {', '.join(f'{one.path}:{one.function}' for one in read.nearest_places[:4])}")
    print(f"  → {fix.summary} ({', '.join(fix.symbols)})\n    {fix.subject}")
    print("\n".join(f"      {line}" for line in fix.diff.splitlines()[:16]))


if __name__ == "__main__":
    main()
