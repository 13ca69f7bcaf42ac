"""Bundle candidates from predicted files."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from hunchd.assembly.selection import MINIMUM_VALUE
from hunchd.domain.code import FileView
from hunchd.domain.context import ContextCandidate, ExpectedFile, Level, PredictedFile, Prediction
from hunchd.domain.memory import Trust
from hunchd.ingestion.skeleton import render_views
from hunchd.prediction.file_table import CODE, DOCUMENT, TEST, classify_path
from hunchd.prediction.reasons import FALLBACK_REASON

LIST = "files"  # kind of a piece that names several files
LEAST_NAMED = 0.008  # probability from which a file is named in a list: one in a hundred is still worth ten tokens
LEAST_EXPECTED = 0.3  # … and from which a lock file or a change log is told to be expected
MOST_LISTED = 26  # paths of one list; of those in longer ones readers took nine in ten for noise
LIST_LINE = 110  # characters
# Part of a list that each level keeps; the likeliest come first, so that it is worth more than its part.
SHARE_OF_LIST: Mapping[Level, float] = {"full": 1.0, "summary": 0.6, "compressed": 0.3, "index": 0.1}
# A name costs ten to forty tokens, so that long paths of likely files fell below the least gain a token.
OF_NAME = 4.0
FEWEST_IN_LIST = 2  # files that make a list of their own; others stand together
LESS_LIKELY = "less likely"
LEAST_BY_RELATION = 0.02  # probability from which a file stands with those of its relation; below, one list holds all
EXPECTED_HEADING = "also expected"

# A file without an outline begins with a sentence that says what it is, or with the first of its entries.
_PLAIN_WORD = re.compile(r"(?<!\S)[A-Za-z]{2,}(?=[\s.,:;!?]|$)")
_SENTENCE = re.compile(r"[A-Za-z]+(?=[\s.,:;!?])")
FEWEST_WORDS = 3

# Signatures of a file that are shown, by level.
LEAST_OUTLINED = 0.1  # probability from which all of them are worth reading
LINES: Mapping[Level, int] = {"full": 40, "summary": 14, "compressed": 5}
# … and of a test file: the names of its tests, of which those about the file at hand come first.
TEST_LINES: Mapping[Level, int] = {"full": 12, "summary": 6, "compressed": 3}


def iterate_file_candidates(
    prediction: Prediction,
    views: Mapping[str, FileView],
    *,
    file: str | None,
    used: Collection[str],
    outline_count: int,
) -> Iterator[ContextCandidate]:
    """Yield the first predicted files with their outlines, then lists of the others.

    Up to `outline_count` files are shown with what they define. Files predicted only because they changed recently are
    outlined only if no file has a better reason. If two outlines are identical, as those of fixtures may be, the
    second is left out. `used` are the names that the current file uses.
    """
    likely = [one for one in prediction.files if one.reasons != (FALLBACK_REASON,)] or list(prediction.files)
    shown_before: set[tuple[str, ...]] = set()
    first = [one for one in likely[:outline_count] if one.confidence >= MINIMUM_VALUE]
    for rank, one in enumerate(first):
        view = views.get(one.path)
        lines = tuple(line.text for line in view.lines) if view is not None else ()
        repeats = bool(lines) and lines in shown_before
        yield _build_outline_candidates(one, rank, None if repeats else view, file=file, used=used)
        shown_before.add(lines)
    expected_files = [one for one in prediction.expected if one.probability >= LEAST_EXPECTED]
    if expected_files:
        yield _build_expected_candidate(expected_files)
    others = [one for one in prediction.files if one not in first]
    yield from _iterate_lists(others, [one for one in prediction.expected if one not in expected_files])


def _build_outline_candidates(
    one: PredictedFile, rank: int, view: FileView | None, *, file: str | None, used: Collection[str]
) -> ContextCandidate:
    forms: list[tuple[Level, str]] = []
    if view is not None and view.lines:
        stem = PurePosixPath(file or "").stem
        lengths = TEST_LINES if classify_path(one.path) & TEST else LINES
        texts = render_views(view, tuple(lengths.values()), wanted_names=used, topic=stem)
        forms += [(level, f"{one.path}\n{text}") for level, text in zip(lengths, texts, strict=True)]
        if not classify_path(one.path) & (CODE | DOCUMENT):
            forms = forms[-1:]  # of a configuration file a few keys tell enough
        elif file is not None and not classify_path(file) & CODE:
            forms = forms[-1:]  # a manifest or a change log uses no definition
        elif one.confidence < LEAST_OUTLINED:
            forms = forms[1:]
    elif view is not None and _SENTENCE.match(view.doc) and len(_PLAIN_WORD.findall(view.doc)) >= FEWEST_WORDS:
        forms.append(("summary", f"{one.path}\n{view.doc}"))
    forms.append(("index", one.path))
    return ContextCandidate(
        id=f"file:{one.path}",
        kind="file",
        tier=2,
        value=one.confidence,
        forms=tuple(forms),
        reasons=one.reasons,
        source={"type": "file", "path": one.path, "blob": view.blob if view is not None else None},
        trust=Trust.PROJECT,
        paths=(one.path,),
        rank=rank,
    )


def _build_expected_candidate(files: Sequence[ExpectedFile]) -> ContextCandidate:
    """Build one line that lists the files that most changes include, with counts."""
    file_list = ", ".join(f"{_format_expected_name(one)} ({_format_occurrences(one)})" for one in files)
    paths = {one.path: one.probability for one in files}
    return _build_list(EXPECTED_HEADING, (("full", f"{EXPECTED_HEADING}: {file_list}"),), paths, rank=0)


def _format_expected_name(one: ExpectedFile) -> str:
    return f"an entry in {one.path}" if one.path.endswith("/") else one.path


def _format_occurrences(one: ExpectedFile) -> str:
    return f"{one.times} of the last {one.of} changes{' of this file' if one.of_file else ''}"


def _iterate_lists(files: Sequence[PredictedFile], hubs: Sequence[ExpectedFile]) -> Iterator[ContextCandidate]:
    """Yield one list of files per relation; likeliest lists and files come first."""
    by_relation: dict[str, dict[str, float]] = {}
    for one in files:
        if one.confidence >= LEAST_NAMED:
            relation = one.relation if one.confidence >= LEAST_BY_RELATION else LESS_LIKELY
            by_relation.setdefault(relation, {})[one.path] = one.confidence
    for hub in hubs:
        if not hub.path.endswith("/"):
            by_relation.setdefault("changed together before", {})[hub.path] = hub.probability
    single = [relation for relation, paths in by_relation.items() if len(paths) < FEWEST_IN_LIST]
    if len(by_relation) > 1 and single:
        rest = {path: value for name in single for path, value in by_relation.pop(name).items()}
        by_relation[LESS_LIKELY] = by_relation.get(LESS_LIKELY, {}) | rest
    ordered_relations = sorted(
        by_relation.items(), key=lambda pair: (pair[0] == LESS_LIKELY, -sum(pair[1].values()), pair[0])
    )
    for rank, (relation, names) in enumerate(ordered_relations, 1):
        paths = dict(sorted(names.items(), key=lambda pair: -pair[1])[:MOST_LISTED])
        name = relation if relation == LESS_LIKELY else f"also {relation}"
        lengths = {level: max(1, round(share * len(paths))) for level, share in SHARE_OF_LIST.items()}
        forms = tuple((level, _wrap_paths(name, list(paths)[:length])) for level, length in lengths.items())
        yield _build_list(name, forms, paths, rank)


def _wrap_paths(name: str, paths: Sequence[str]) -> str:
    """Return a heading followed by the paths, with as many per line as fit."""
    lines, line = [f"{name}:"], ""
    for path in paths:
        if line and len(line) + len(path) + 2 > LIST_LINE:
            lines.append(f"{line},")
            line = path
        else:
            line = f"{line}, {path}" if line else path
    return "\n".join([*lines, line])


def _build_list(
    name: str, forms: tuple[tuple[Level, str], ...], paths: Mapping[str, float], rank: int
) -> ContextCandidate:
    return ContextCandidate(
        id=f"{LIST}:{name}",
        kind=LIST,
        tier=2,
        value=min(1.0, OF_NAME * sum(paths.values())),
        forms=forms,
        reasons=(name,),  # the heading: it is in the text, and not rendered twice
        source={"type": LIST, "paths": list(paths), "probabilities": dict(paths)},
        trust=Trust.PROJECT,
        rank=rank,
    )
