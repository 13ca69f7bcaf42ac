"""Parser for error texts.

It extracts the headline, the source locations, and a fingerprint that identifies the error.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass

from hunchd.domain.text_shortening import shorten_middle, shorten_runs
from hunchd.ingestion.diagnostic_lines import COMPLAINT
from hunchd.ingestion.diagnostics import (
    NAMED_THING,
    complete_title,
    extract_details_below,
    find_complaint,
    find_diagnostic,
)
from hunchd.ingestion.error_causes import find_root_cause
from hunchd.ingestion.error_places import ErrorLocation, find_locations
from hunchd.ingestion.summaries import is_summary
from hunchd.ingestion.terminal_output import TRACEBACK, normalize_output
from hunchd.ingestion.tool_errors import ToolError, find_first_error

# The line that names the error: "SomeError: message", "error[E0308]: …", "panic: …", "FAILED test::id - …".
_EXCEPTION_LINE = re.compile(
    r"^\s*(?:E\s+|[^\w\s\"'(<#/]{1,3}\s+)?((?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit|Failure|Iteration)"
    r"|(?:[\w.]+\.)?Failed(?=: ))\b:?\s*(.*)$"
)
# Last line of a Python traceback, where the exception may have any name.
_PYTHON_EXCEPTION = re.compile(r"^((?:\w+\.)*[A-Z]\w*)(?:: (.*))?$")

# pytest's message lines, and the line below them that names the location and the type.
_PYTEST_MARK = re.compile(r"^E(?:  |$)")
_PYTEST_LOCATION = re.compile(r"^\S+\.\w+:\d+: ([A-Z]\w+)$")
# Traces from Python and pytest; tool output between them is not the error.
_PYTHON_TRACE = re.compile(r"^Traceback \(most recent call last\)|^E  |^\S+\.py:\d+: (?:in \w|[A-Z]\w+$)", re.MULTILINE)
_PYTHON_OUTPUT = re.compile(r'File "[^"\n]+", line \d|^E  |^\S+\.py:\d+: ', re.MULTILINE)

# Headers that pytest and unittest print before each failed test, and the start of their summary.
_TEST_HEADER = re.compile(r"^(?:_{3,} .{1,300} _{3,}|(?:ERROR|FAIL): \w+ \(.{1,300}\))$", re.MULTILINE)
_TEST_SUMMARY = re.compile(
    r"^={3,} (?:short test summary|warnings summary|\d+ (?:failed|error))|^Ran \d+ tests? in ", re.MULTILINE
)
# A syntax error with the line that cannot be parsed.
_SYNTAX_ERROR = re.compile(r'File "([^"\n]+)", line \d+\n(?:E +)?[ \t]*(\S.*)\n(?:E +)?[ \t]*\^')

# Third-party code, whose functions and lines change with each upgrade; and tests, many of which may hit one error.
_FOREIGN_PATH = re.compile(
    r"(?:site-packages|dist-packages|node_modules|lib/python[\d.]+|\.cargo/registry|go/pkg/mod|go[\d.-]*/src|gems|deps)/"
    r"|^<|^node:|^/rustc/|^/usr/(?:include|lib|share)/|^(?:\.\./)+(?:src|sysdeps|csu)/|(?:^|/)vendor/\w[\w-]*/\w[\w-]*/"
    r"|/libsanitizer/|^testing\.go$"
)
_FOREIGN_CALL = re.compile(
    r"^(?:javax?|jdk|sun|com\.sun|kotlinx?|scala|org\.(?:junit|springframework|gradle|hibernate|apache\.(?:maven|catalina))"
    r"|System|Microsoft|Xunit|NUnit)\."
)
_TEST = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$|(?:^|/)tests?/")

# Errors that quote names from the code: a different name means a different error.
_NAME_ERRORS = frozenset(
    {"AttributeError", "ImportError", "ModuleNotFoundError", "NameError", "TypeError", "UnboundLocalError"}
    | {"NoMethodError", "ReferenceError"}
)
_NAME_ERROR_LINE = re.compile(rf"\b(?:{'|'.join(sorted(_NAME_ERRORS))}): ")
CONSEQUENCE_TYPES = frozenset({"AssertionError", "Failed", ""})
_QUOTED_TEXT = re.compile(
    r"""\b[bruf]{0,2}'((?:[^'\\\n]|\\.)*)'|\b[bruf]{0,2}"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)\""""
)
_NAME = re.compile(r"[A-Za-z_][\w.]*(?:\(\))?")
_REPEATED_PLACEHOLDER = re.compile(r"(<(?:value|n|path|hex|address|time|uuid)>)(?:, \1)+")
_MISSING_MODULE = re.compile(
    r"(?:cannot|could not|can't|failed to) (?:find|resolve|load) (?:module|package|import|entry module)"
    r"|module not found|no required module|unresolved import|no such file or directory",
    re.IGNORECASE,
)
_FOLDERS = re.compile(r"(?:[A-Za-z]:)?(?:[\w.@+-]*[/\\])+")
_WORDS = re.compile(r"[^\W\d_]+")
_PLACEHOLDER = re.compile(r"<\w+>")
_GENERIC_WORD = re.compile(
    r"an?|the|err(?:ors?)?|fail(?:ed|ures?)?|fatal|exit(?:ed|ing)?|code|status|with|by|ended|command|tests?|build|make|npm"
    r"|process|returned|non|zero|stop|in|of|s|ok|passed|skipped|found"
)
_FALLBACK_LINES = 12  # last lines used if the headline is uninformative
_MAX_FRAMES = 3  # frames that identify an error

# Parts that differ between two occurrences of one error, and their placeholders.
_MASKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07\x1b\n]*(?:\x07|\x1b\\))"), ""),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.I), "<uuid>"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.I), "<address>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"(?:[A-Za-z]:)?(?:[\w.@+-]*[/\\])+[\w.@+-]+"), "<path>"),
    (re.compile(r"\b(?=\d*[a-f])[0-9a-f]{7,64}\b", re.I), "<hex>"),
    (re.compile(r"-?\b\d+(?:\.\d+)?\b"), "<n>"),
)
_FILE_NAME = re.compile(r"(?<![\w.-])(?:[\w.@+-]*[/\\])+([A-Za-z_][\w-]*\.[A-Za-z]\w{0,5})\b")
_HEADLINE_LENGTH = 200  # characters
_MAX_TEXT = 64 * 1024  # characters examined; the relevant parts of a trace are at its ends


@dataclass(frozen=True, slots=True)
class ParsedError:
    headline: str
    type: str  # exception type or error code; "" when the text names none
    places: tuple[ErrorLocation, ...]  # in the order of the text
    fingerprint: str  # 16 hex digits
    at: ErrorLocation | None = None  # location that a tool printed with the headline, if any
    raise_site_is_last: bool = False  # True if the error was raised at the last place

    @property
    def nearest_places(self) -> tuple[ErrorLocation, ...]:
        """Return the locations, starting with the one nearest to the failure.

        Locations in the project's own code come before those in third-party code.
        """
        sorted_places = sorted(self.places[::-1] if self.raise_site_is_last else self.places, key=_is_foreign)
        return (*((self.at,) if self.at is not None else ()), *sorted_places)


def parse_error(text: str) -> ParsedError:
    """Parse an error text.

    Two texts have the same fingerprint if they differ only in values, addresses, times, paths and line numbers.
    """
    text = text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT // 4] + "\n" + text[-_MAX_TEXT * 3 // 4 :]
    normalized_text = _select_main_failure(normalize_output(shorten_runs(_MASKS[0][0].sub("", text))))
    located_places = find_locations(normalized_text)
    tool = None if _PYTHON_TRACE.search(normalized_text) else find_first_error(normalized_text)
    kind, headline = (tool.code, tool.headline) if tool is not None else _find_headline(normalized_text)
    generic = find_diagnostic(normalized_text) if tool is None and not kind else None
    if generic is not None:
        kind, headline = generic.code, generic.headline
        tool = ToolError(generic.code, generic.message_text or headline, generic.path, generic.line, generic.column)
    elif tool is None and not kind:
        headline = find_complaint(normalized_text) or headline
    at = ErrorLocation(tool.path, tool.line) if tool is not None and tool.path else None
    if at is None and (cause := find_root_cause(normalized_text)) is not None:
        kind, located_places, generic = cause.type, cause.order_places(located_places), None
        headline = f"{cause.headline} (which brought {headline})"
    places = tuple(place for _, place in located_places)
    raised_last = bool(_PYTHON_OUTPUT.search(normalized_text))
    frames = _select_frames(places, raised_last=raised_last)
    if not any(place.function for place in places) or headline.endswith(":"):
        below = (
            generic.details
            if generic is not None
            else extract_details_below(normalized_text, _end_of(normalized_text, tool, headline))
        )
        own = [_compiler_frame(tool)] if tool is not None and at is not None else frames
        frames = [*own, *map(mask_variable_parts, below)]  # different details mean a different error
    if at is not None and all(place.path != at.path for place in places):
        places = (*places, at)
    title = headline
    if tool is not None and generic is None and not any(place.function for place in places):
        title = complete_title(headline, tool.message, [*filter(COMPLAINT.search, below)])
    elif not kind and frames and not NAMED_THING.search(headline) and (nearest := frames[0].partition(":")[2]):
        title = f"{headline} in {nearest}"
    if syntax_errors := _SYNTAX_ERROR.findall(normalized_text):
        frames = [f"{syntax_errors[-1][0].rsplit('/', 1)[-1]}: {' '.join(syntax_errors[-1][1].split())}"]
    names_stay = (
        bool(_NAME_ERROR_LINE.search(f"{kind}: {headline}")) or not kind or not any(place.function for place in places)
    )
    message = (tool.message if generic is not None and tool is not None else headline)[: 10 * _HEADLINE_LENGTH]
    # The missing module identifies the error, not the folder in which it was searched for.
    if _MISSING_MODULE.search(message):
        message = _FOLDERS.sub("", message)
    elif generic is None:  # what other tools quote is code
        message = mask_quotations(message, names_stay=names_stay)
    template = shorten_middle(mask_variable_parts(message), _HEADLINE_LENGTH)
    if not frames and (_is_uninformative(template) or (tool is None and not kind)):
        lines = [line for line in normalized_text.splitlines() if line.strip() and not is_summary(line)]
        first = next((number for number, line in enumerate(lines) if line.strip() == headline), 0)
        frames = [mask_variable_parts(line[:_HEADLINE_LENGTH]) for line in lines[first:][-_FALLBACK_LINES:]]
    if not frames and (names := _FILE_NAME.findall(message)):
        frames = list(dict.fromkeys(names))  # a fix for one unsorted file does not fix another
    identity = "\n".join([kind, template, *frames])
    fingerprint = hashlib.blake2b(identity.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return ParsedError(shorten_middle(title, _HEADLINE_LENGTH), kind, places, fingerprint, at, raised_last)


def _select_main_failure(text: str) -> str:
    """Return the section of `text` about the main failure, if several tests failed.

    Returns the whole text if at most one test failed. The main failure is the most frequent one: one missing name
    breaks many tests, though a few of them may fail in a different way. Among equally frequent failures, one that
    is not a failed assertion is preferred, because failed assertions are more often consequences, and then the
    later one.
    """
    headers = list(_TEST_HEADER.finditer(text))
    if len(headers) < 2:
        return text
    summary = _TEST_SUMMARY.search(text, headers[-1].end())
    ends = [*(head.start() for head in headers[1:]), summary.start() if summary else len(text)]
    parts = [text[head.start() : end] for head, end in zip(headers, ends, strict=True)]
    signatures = [
        (kind, mask_variable_parts(mask_quotations(line, names_stay=kind in _NAME_ERRORS)))
        for kind, line in map(_find_headline, parts)
    ]
    signature_counts = Counter(signatures)
    best_index = max(
        range(len(parts)),
        key=lambda one: (signature_counts[signatures[one]], signatures[one][0] not in CONSEQUENCE_TYPES, one),
    )
    return parts[best_index]


def _end_of(text: str, tool: ToolError | None, headline: str) -> int:
    """Return the offset of the end of the error message.

    The end is `tool.end` or, if `tool` is None, the end of the last occurrence of the headline. Returns the length
    of the text if there is no headline either.
    """
    return tool.end if tool is not None else max(text.rfind(headline), 0) + len(headline) if headline else len(text)


def _is_uninformative(template: str) -> bool:
    """Return True for a headline that fits any failure."""
    return all(_GENERIC_WORD.fullmatch(word.lower()) for word in _WORDS.findall(_PLACEHOLDER.sub("", template)))


def _compiler_frame(tool: ToolError) -> str:
    """Return a compiler error's file name and column, which identify the error.

    The column stays the same if the line moves, and an error on a different line usually has a different column.
    """
    return f"{tool.path.rsplit('/', 1)[-1]}:{tool.column or ''}"


def _select_frames(places: tuple[ErrorLocation, ...], *, raised_last: bool) -> list[str]:
    """Return the project's own frames nearest to where the error was raised.

    Each frame has the form `file:function`, without a line number. Frames in tests are used only if there are no
    others. `raised_last` is True if the text lists the innermost frame last.
    """
    sorted_places = places[::-1] if raised_last else places
    own_places = [place for place in sorted_places if not _is_foreign(place)] or list(sorted_places)
    with_function = [place for place in own_places if place.function] or own_places
    sources = [place for place in with_function if not _TEST.search(place.path)] or with_function
    frames = (f"{place.path.rsplit('/', 1)[-1]}:{place.function}" for place in sources)
    return list(dict.fromkeys(frames))[:_MAX_FRAMES]


def _is_foreign(place: ErrorLocation) -> bool:
    return bool(_FOREIGN_PATH.search(place.path) or _FOREIGN_CALL.match(place.function))


def mask_quotations(text: str, *, names_stay: bool) -> str:
    """Replace the quotations in `text` with `<value>`.

    With `names_stay`, quoted identifiers are kept.
    """

    def mask(match: re.Match[str]) -> str:
        quotation = next((part for part in match.groups() if part is not None), "")
        return match[0] if names_stay and _NAME.fullmatch(quotation) else "<value>"

    return _QUOTED_TEXT.sub(mask, text)


def mask_variable_parts(text: str) -> str:
    """Replace everything that can differ between two occurrences of one error.

    The replacements are placeholders such as `<path>`.
    """
    for pattern, word in _MASKS:
        text = pattern.sub(word, text)
    return _REPEATED_PLACEHOLDER.sub(r"\1", " ".join(text.split()))


def _find_headline(text: str) -> tuple[str, str]:
    """Return the type and headline of an error text.

    The headline is a line that pytest marked or, failing that, the last line that names an exception or, failing
    that, the last line.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if marked_headline := _find_marked(lines):
        return marked_headline
    if raised_headline := _find_raised(lines):
        return raised_headline
    for line in reversed(lines):
        if name_match := _EXCEPTION_LINE.match(line):
            return name_match[1].rsplit(".", 1)[-1], line.strip()
    return "", lines[-1].strip() if lines else ""


def _find_raised(lines: list[str]) -> tuple[str, str] | None:
    """Return the type and headline at the end of the last Python traceback.

    This function is for exceptions with unusual names. It returns None if `_EXCEPTION_LINE` recognises any line of
    the traceback, or if there is no traceback.
    """
    starts = [number for number, line in enumerate(lines) if line.strip().startswith(TRACEBACK)]
    if not starts or lines[starts[-1]].startswith(" "):
        return None
    after = lines[starts[-1] + 1 :]
    ending = next((line for line in after if not line.startswith((" ", "\t"))), "")
    match = _PYTHON_EXCEPTION.match(ending)
    if match is None or any(map(_EXCEPTION_LINE.match, after)):
        return None
    return match[1].rsplit(".", 1)[-1], ending.strip()


def _find_marked(lines: list[str]) -> tuple[str, str] | None:
    """Return the type and headline of the last message that pytest marked.

    pytest marks message lines with E; the first line of the message is the headline. The error's type may be on the
    line below, after the location. Returns None if no line is marked.
    """
    ends = [number for number, line in enumerate(lines) if _PYTEST_MARK.match(line)]
    if not ends:
        return None
    first = last = ends[-1]
    while first > 0 and lines[first - 1].startswith("E"):
        first -= 1
    headline = lines[first][1:].strip()
    if headline.startswith('File "'):  # for syntax errors the type is on the last line
        headline = lines[last][1:].strip()
    if name_match := _EXCEPTION_LINE.match(headline):
        return name_match[1].rsplit(".", 1)[-1], headline
    location_match = _PYTEST_LOCATION.match(lines[last + 1]) if last + 1 < len(lines) else None
    kind = location_match[1] if location_match else "AssertionError" if headline.startswith("assert ") else ""
    is_named = not kind or re.match(rf"(?:\w+\.)*{kind}\b", headline)
    return kind, headline if is_named else f"{kind}: {headline}"
