"""Candidates for a bundle from predicted files.

Every line must be worth reading by itself. A file gets its own line if the probability that the work needs the file
is at least WORTH_A_LINE. A less likely file, or a file that nothing links to the current file, is only named in a
list, which is one line however many files it names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hunchd.assembly.selection import MINIMUM_VALUE
from hunchd.domain.code import FileView
from hunchd.domain.context import ContextCandidate, ExpectedFile, Level, PredictedFile, Prediction
from hunchd.domain.memory import Trust
from hunchd.ingestion.skeleton import render_lines
from hunchd.prediction.file_table import CODE, TEST, classify_path, is_asset
from hunchd.prediction.reasons import DEFINES_REASON, TESTS_REASON, USES_REASON

LIST = "files"  # kind of a piece that names several files
# Of the files predicted with a probability of .1 to .2, one in fifteen was changed, whatever the reason; of those
# below .1, one in thirty (80 changes in five histories). A reader accepts such a file only if something ties it to the
# current file.
WORTH_A_LINE = 0.1
LIKELY = 0.2  # probability from which a file is shown whatever the reason
EXPECTED = 0.3  # probability from which a file that most changes include is expected now
# Probability from which a file is named in a list. With .008 the list is twice as long and names .95 of the needed
# files instead of .89 (five histories of five languages); with .025 it is hardly shorter and names .86.
LEAST_NAMED = 0.015
# The list ends here even so: twenty further names contain a needed file in one list of fifteen (twelve histories).
MOST_NAMED = 20
# Share of the list that each level keeps. The likeliest files come first, so a part is worth more than its share.
SHARE_OF_LIST: Mapping[Level, float] = {"full": 1.0, "summary": 0.6, "compressed": 0.3, "index": 0.1}
LESS_LIKELY = "less likely"
EXPECTED_HEADING = "also expected"
_HAS_PARAMETER = re.compile(r"\(\s*[^)\s]")  # a signature without one says no more than the name
MAX_NAMED = 2  # definitions that a reason names
MAX_SIGNATURES = 2  # of the definitions that link a file to the current one, on one line


@dataclass(frozen=True, slots=True)
class FileLinks:
    """Names of the definitions that link a file to the current one.

    `used_here` are defined in the file and used by the current one, `used_there` the reverse. `mentioning` are
    defined in the file, and their signature mentions a definition of the current one.
    """

    used_here: frozenset[str] = frozenset()
    used_there: frozenset[str] = frozenset()
    mentioning: frozenset[str] = frozenset()


def iterate_file_candidates(
    prediction: Prediction,
    views: Mapping[str, FileView],
    *,
    file: str | None,
    links: Mapping[str, FileLinks],
    outline_count: int,
) -> Iterator[ContextCandidate]:
    """Yield the files that deserve their own line, then lists of the other files.

    Both are ordered by probability, likeliest first. At most `outline_count` files have a line of their own.
    `links` maps the path of a file to the definitions that link it to `file`, the current one. If `file` is not code,
    such as a page or a manifest, it uses no definitions.
    """
    files = [_name_links(one, links.get(one.path)) for one in prediction.files if not is_asset(one.path)]
    first = [one for one in files if _is_worth_a_line(one)][:outline_count]
    names_definitions = file is None or bool(classify_path(file) & CODE)
    for rank, one in enumerate(first):
        view = views.get(one.path) if names_definitions else None
        link = links.get(one.path)
        yield _build_outline_candidate(one, rank, view, link.used_here | link.mentioning if link else ())
    expected_files = [one for one in prediction.expected if one.probability >= EXPECTED]
    if expected_files:
        yield _build_expected_candidate(expected_files)
    others = {one.path: one.confidence for one in files if one not in first and one.confidence >= LEAST_NAMED}
    others |= {
        one.path: one.probability
        for one in prediction.expected
        if one not in expected_files and not one.path.endswith("/")
    }
    if others:
        likeliest = sorted(others.items(), key=lambda pair: -pair[1])[:MOST_NAMED]
        yield _build_others_candidate(dict(likeliest))


def _name_links(one: PredictedFile, links: FileLinks | None) -> PredictedFile:
    """Name the definitions that a reason speaks of, and drop a reason without any.

    The predictor knows names by their hashes only, so it also counts words such as `all` that modules are named by.
    """
    if links is None or not {USES_REASON, DEFINES_REASON} & {*one.reasons}:
        return one
    phrases = {
        USES_REASON: links.used_there and f"uses {_quote_names(links.used_there)} of this file",
        DEFINES_REASON: links.used_here and f"defines {_quote_names(links.used_here)}, used here",
    }
    reasons = tuple(reason for each in one.reasons if (reason := phrases.get(each, each)))
    return replace(one, reasons=reasons, is_specific=one.is_specific and bool(reasons))


def _quote_names(names: Collection[str]) -> str:
    """Return the longest names, which say most."""
    return ", ".join(f"`{name}`" for name in sorted(names, key=lambda name: (-len(name), name))[:MAX_NAMED])


def _is_worth_a_line(one: PredictedFile) -> bool:
    if not one.reasons:  # nothing that a reader could check ties it to the current file
        return False
    if TESTS_REASON in one.reasons:
        return one.confidence >= MINIMUM_VALUE  # the test of a file is useful even if it will not change
    return one.confidence >= (WORTH_A_LINE if one.is_specific else LIKELY)


def _build_outline_candidate(
    one: PredictedFile, rank: int, view: FileView | None, linking: Collection[str]
) -> ContextCandidate:
    forms: list[tuple[Level, str]] = [("index", one.path)]
    # What a test file defines is hardly ever needed.
    if view is not None and classify_path(one.path) & (CODE | TEST) == CODE:
        telling = {line.name for line in view.lines if line.name in linking and _HAS_PARAMETER.search(line.text)}
        signatures = render_lines(view, telling, MAX_SIGNATURES).splitlines()
        if signatures:
            forms.insert(0, ("full", f"{one.path}\n{'; '.join(signatures)}"))
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
    """Build one line listing the files that most changes include, with counts."""
    file_list = ", ".join(f"{_format_expected_name(one)} ({_format_occurrences(one)})" for one in files)
    paths = {one.path: one.probability for one in files}
    return _build_list(EXPECTED_HEADING, (("full", f"{EXPECTED_HEADING}: {file_list}"),), paths, rank=0)


def _format_expected_name(one: ExpectedFile) -> str:
    return f"an entry in {one.path}" if one.path.endswith("/") else one.path


def _format_occurrences(one: ExpectedFile) -> str:
    return f"{one.times} of the last {one.of} changes{' of this file' if one.of_file else ''}"


def _build_others_candidate(paths: Mapping[str, float]) -> ContextCandidate:
    """Build the list of the less likely files.

    `paths` maps them to their probabilities, likeliest first.
    """
    lengths = {level: max(1, round(share * len(paths))) for level, share in SHARE_OF_LIST.items()}
    forms = tuple(
        (level, f"{LESS_LIKELY}: {group_by_folder(list(paths)[:length])}") for level, length in lengths.items()
    )
    return _build_list(LESS_LIKELY, forms, paths, rank=1)


def group_by_folder(paths: Sequence[str]) -> str:
    """Return the paths as one line, with files in the same folder together.

    For example: `src/{a.py,b.py}, README.md`.
    """
    names: dict[str, list[str]] = {}
    for path in paths:
        folder, slash, name = path.rpartition("/")
        names.setdefault(folder + slash, []).append(name)
    return ", ".join(
        f"{folder}{{{','.join(names)}}}" if folder and len(names) > 1 else ", ".join(folder + name for name in names)
        for folder, names in names.items()
    )


def _build_list(
    name: str, forms: tuple[tuple[Level, str], ...], paths: Mapping[str, float], rank: int
) -> ContextCandidate:
    return ContextCandidate(
        id=f"{LIST}:{name}",
        kind=LIST,
        tier=2,
        value=min(1.0, sum(paths.values())),
        forms=forms,
        reasons=(name,),  # equal to the heading in the text, so it is not rendered twice
        source={"type": LIST, "paths": list(paths), "probabilities": dict(paths)},
        trust=Trust.PROJECT,
        rank=rank,
    )
