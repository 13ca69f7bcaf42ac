"""Rendering of ranked files as results with a definition, a snippet and reasons."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from hunchd.codesearch.index import CodeIndex, Matches
from hunchd.codesearch.query import CodeQuery
from hunchd.codesearch.ranking import RankedFile, Ranking
from hunchd.codesearch.roles import Role
from hunchd.codesearch.segment import Segment
from hunchd.codesearch.terms import extract_identifier_terms, find_identifiers, hash_name
from hunchd.domain.json_values import JsonObject

SNIPPET_LINES: Final = 4
LONGEST_LINE: Final = 160  # characters
LONGEST_LOOK: Final = 400  # lines of a chunk that a snippet may come from
MOST_WORDS: Final = 6  # named in a reason
# A file that covers less of the question and has no other signal in its favour is not an answer.
LEAST_COVERED: Final = 0.1
# Share of the best file's score. Of the first ten files for each of 197 questions, 26 % are below it, and 1 % of the
# correct ones.
LEAST_SHARE: Final = 0.4
RELATED_COSINE: Final = 0.3  # cosine from which a chunk is an answer without containing a word of the question
# Share of the best chunk's score from which a definition of a name in the question is shown instead.
DEFINING: Final = 0.7
_ROLES: Final = {
    Role.TEST: "a test",
    Role.DOCS: "documentation",
    Role.EXAMPLE: "an example",
    Role.GENERATED: "generated",
    Role.VENDORED: "vendored",
    Role.CONFIG: "configuration",
    Role.CHANGELOG: "a change log",
}


@dataclass(frozen=True, slots=True)
class CodeResult:
    """Search result with its lines and the terms found there."""

    path: str
    start: int
    end: int
    line: int  # of the definition, below its comment
    title: str
    name: str
    role: Role
    language: str
    score: float
    reasons: tuple[str, ...]
    terms: frozenset[int]


def build_results(
    index: CodeIndex, query: CodeQuery, ranking: Ranking, predicted_paths: frozenset[str]
) -> list[CodeResult]:
    """Return the results for a question, best first; `predicted_paths` are files that past work suggests."""
    if ranking.chunks:
        return [
            _build_result(
                index,
                query,
                replace(file, score=score),
                *index.locate_chunk(chunk.number),
                predicted_paths,
                chunk.related_name,
            )
            for (file, chunk), score in zip(ranking.chunks, _scale_scores(ranking), strict=True)
            if is_answer(file) or chunk.related_name
        ]
    return [
        _build_result(index, query, file, *_select_chunk(index, query, file, ranking.matches), predicted_paths)
        for file in drop_weak(ranking.files)
        if is_answer(file)
    ]


def _scale_scores(ranking: Ranking) -> list[float]:
    """Return a score for each ranked chunk, at most that of the best file.

    The scores of chunks are log odds: a difference of one halves the score.
    """
    return [ranking.files[0].score * 2.0 ** (chunk.score - ranking.chunks[0][1].score) for _, chunk in ranking.chunks]


def drop_weak(files: Sequence[RankedFile]) -> Sequence[RankedFile]:
    """Drop unnamed files that score far below the best one."""
    least = LEAST_SHARE * files[0].score if files else 0.0
    return [file for file in files if file.score >= least or file.is_mentioned or file.is_traced]


def is_answer(file: RankedFile) -> bool:
    """Return True if a file has enough of the question's terms, is named, defines a name, or is close in meaning."""
    if file.cosine >= RELATED_COSINE:
        return True
    return file.coverage >= LEAST_COVERED or bool(file.defines) or file.is_mentioned or file.is_traced


def _build_result(
    index: CodeIndex,
    query: CodeQuery,
    file: RankedFile,
    segment: Segment,
    chunk: int,
    predicted_paths: frozenset[str],
    related_name: str = "",
) -> CodeResult:
    name, kind, title, container = segment.get_texts(chunk)
    start, end, line = (int(number) for number in segment.lines[chunk])
    part, number = index.find_part(file.number)
    matching_terms = frozenset(term for term in query.terms if _chunk_has_term(segment, chunk, term))
    return CodeResult(
        path=file.path,
        start=line if name else start,
        end=max(end, line),
        line=line,
        title=_render_title(title, kind, container) or file.path,
        name=name,
        role=file.role,
        language=part.segment.languages[number],
        score=file.score,
        reasons=(
            *((f"{query.relation} {related_name}",) if related_name else ()),
            *_list_chunk_reasons(query, file, matching_terms, predicted_paths),
        ),
        terms=matching_terms,
    )


def _select_chunk(index: CodeIndex, query: CodeQuery, file: RankedFile, matches: Matches) -> tuple[Segment, int]:
    """Return the segment and the number of the chunk of a file to show.

    It is the definition of a name in the question if it scores almost as well as the best chunk, and otherwise
    the best chunk. For a file in the traceback, it is the chunk of its first frame; for a change log, if the
    question describes a task, the newest section.
    """
    part, number = index.find_part(file.number)
    if file.is_traced and (traced_chunk := _find_traced_chunk(index, query, file)) is not None:
        return part.segment, traced_chunk
    if file.role is Role.CHANGELOG and query.intent == "task":
        return part.segment, _find_newest_section(part.segment, number)
    segment, best, score = index.find_best_chunk(file.number, matches)
    scores = matches.scores[index.parts.index(part)]
    for symbol in file.defines:
        chunks, weights = part.segment.get_postings(hash_name(symbol))
        own = part.segment.file_of[chunks] == number
        if own.any():
            defining = int(chunks[own][int(np.argmax(weights[own]))])
            if query.form == "symbol" or scores[defining] >= DEFINING * score:
                return part.segment, defining
    return segment, best


def _find_traced_chunk(index: CodeIndex, query: CodeQuery, file: RankedFile) -> int | None:
    """Return the function of the first traceback frame in this file, or the innermost chunk of its line, or None."""
    part, number = index.find_part(file.number)
    begin, end = (int(at) for at in np.searchsorted(part.segment.file_of, (number, number + 1)))
    frame = next((one for one in query.frames if file.path.endswith(one.path.rpartition("/")[2])), None)
    if frame is None:
        return None
    lines = part.segment.lines[begin:end]
    inside = np.flatnonzero((lines[:, 0] <= frame.line) & (frame.line <= lines[:, 1]))
    matching_chunks = [
        at for at in range(begin, end) if frame.function and part.segment.get_texts(at)[0] == frame.function
    ]
    if matching_chunks:
        return next((at for at in matching_chunks if at - begin in inside), matching_chunks[0])
    return begin + int(min(inside, key=lambda at: lines[at, 1] - lines[at, 0])) if len(inside) else None


def _find_newest_section(segment: Segment, file: int) -> int:
    """Return the newest, which is the first, change log section."""
    begin, end = (int(at) for at in np.searchsorted(segment.file_of, (file, file + 1)))
    return next((at for at in range(begin, end) if segment.get_texts(at)[3]), begin)


def _chunk_has_term(segment: Segment, chunk: int, term: int) -> bool:
    chunks, _ = segment.get_postings(term)
    at = int(chunks.searchsorted(np.int32(chunk)))
    return at < len(chunks) and int(chunks[at]) == chunk


def _render_title(title: str, kind: str, container: str) -> str:
    """Render the title of a chunk with its container."""
    if kind == "heading":
        plain = title.lstrip("# ")
        return f"{container} › {plain}" if container else plain
    return f"{container}: {title}" if container and container not in title else title


def _list_chunk_reasons(
    query: CodeQuery, file: RankedFile, matching_terms: frozenset[int], predicted_paths: frozenset[str]
) -> tuple[str, ...]:
    reasons = []
    if file.is_mentioned:
        reasons.append("named in the question")
    if file.is_traced:
        reasons.append("in the traceback")
    if file.defines:
        reasons.append(f"defines {', '.join(file.defines[:3])}")
    matching_words = [word for word in find_identifiers(query.gist) if _matches_word(word, matching_terms)]
    if matching_words:
        reasons.append(f"says {', '.join(matching_words[:MOST_WORDS])}")
    if file.cosine >= RELATED_COSINE:
        reasons.append("close in meaning")
    if file.path in predicted_paths:
        reasons.append("past work described like this changed it")
    if file.role in _ROLES:
        reasons.append(_ROLES[file.role])
    return tuple(reasons)


def list_reasons(file: RankedFile) -> tuple[str, ...]:
    """Return the reasons for finding a file, for a result without chunks."""
    if file.is_mentioned:
        return ("named in the question",)
    return (f"defines {', '.join(file.defines[:3])}",) if file.defines else ("says what was asked",)


def _matches_word(word: str, matching_terms: frozenset[int]) -> bool:
    terms = extract_identifier_terms(word)
    return bool(terms) and terms[-1] in matching_terms


def extract_snippet(result: CodeResult, text: str) -> str:
    """Return the lines of a result that contain the most question terms.

    At most SNIPPET_LINES consecutive lines are returned. `text` is the current content of the file. Lines that
    repeat the title and lines without words are left out, unless there are no others.
    """
    lines = text.splitlines()[result.start - 1 : min(result.end, result.start + LONGEST_LOOK)]
    title = "".join(result.title.split())
    numbers = [at for at, line in enumerate(lines) if _is_informative(line, title)] or [
        at for at, line in enumerate(lines) if line.strip()
    ]
    if not numbers:
        return ""
    terms_by_line = [_terms_in_line(lines[at], result.terms) for at in numbers]
    values = [len(frozenset().union(*terms_by_line[at : at + SNIPPET_LINES])) for at in range(len(numbers))]
    best = max(range(len(numbers)), key=lambda at: (values[at], len(terms_by_line[at]) > 0, -at))
    snippet_lines = [lines[at] for at in numbers[best : best + SNIPPET_LINES]]
    indent = min(len(line) - len(line.lstrip()) for line in snippet_lines)
    return "\n".join(line[indent : indent + LONGEST_LINE].rstrip() for line in snippet_lines)


def contains_name(result: CodeResult, text: str, names: Sequence[str]) -> bool:
    """Return True if the lines contain one of `names` exactly."""
    lines = "\n".join(text.splitlines()[result.start - 1 : result.end])
    return any(re.search(rf"(?<!\w){re.escape(re.split(r'[.:#>]', name)[-1])}(?!\w)", lines) for name in names)


def _is_informative(line: str, title: str) -> bool:
    """Return True if a line contains something that is not in the title."""
    plain = "".join(line.split()).rstrip("{:,")
    return any(letter.isalnum() for letter in plain) and plain not in title


def _terms_in_line(line: str, terms: frozenset[int]) -> frozenset[int]:
    return frozenset(term for name in find_identifiers(line[:500]) for term in extract_identifier_terms(name)) & terms


def build_source(result: CodeResult) -> JsonObject:
    """Return the location of a result in the API's format."""
    return {
        "path": result.path,
        "start_line": result.start,
        "end_line": result.end,
        "role": result.role.name.lower(),
        "language": result.language,
    }
