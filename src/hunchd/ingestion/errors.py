"""Parser of error texts: headline, places and identifying fingerprint."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass

from hunchd.domain.printed import shortened
from hunchd.ingestion.causes import root_cause
from hunchd.ingestion.diagnostics import details_below, find_complaint, find_diagnostic
from hunchd.ingestion.error_places import Place, places_in
from hunchd.ingestion.outputs import TRACEBACK, as_printed
from hunchd.ingestion.summaries import is_summary
from hunchd.ingestion.tool_errors import ToolError, first_of

# The line that names the error: "SomeError: message", "error[E0308]: …", "panic: …", "FAILED test::id - …".
_NAMED = re.compile(
    r"^\s*(?:E\s+)?((?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit|Failure|Iteration)"
    r"|(?:[\w.]+\.)?Failed(?=: ))\b:?\s*(.*)$"
)
# Last line of a Python traceback: an exception may have any name.
_RAISED = re.compile(r"^((?:\w+\.)*[A-Z]\w*)(?:: (.*))?$")

# pytest's message lines, and the line below them that names place and type.
_MARKED = re.compile(r"^E(?:  |$)")
_ENDED = re.compile(r"^\S+\.\w+:\d+: ([A-Z]\w+)$")
# Traces of Python and pytest; tool output in between is not the error.
_TRACED = re.compile(r"^Traceback \(most recent call last\)|^E  |^\S+\.py:\d+: (?:in \w|[A-Z]\w+$)", re.MULTILINE)
_PYTHONIC = re.compile(r'File "[^"\n]+", line \d|^E  |^\S+\.py:\d+: ', re.MULTILINE)

# Headers that pytest and unittest print before each failed test, and the start of their summary.
_TOLD_OF = re.compile(r"^(?:_{3,} .{1,300} _{3,}|(?:ERROR|FAIL): \w+ \(.{1,300}\))$", re.MULTILINE)
_DONE = re.compile(
    r"^={3,} (?:short test summary|warnings summary|\d+ (?:failed|error))|^Ran \d+ tests? in ", re.MULTILINE
)
# A syntax error with the line that cannot be parsed.
_UNPARSED = re.compile(r'File "([^"\n]+)", line \d+\n(?:E +)?[ \t]*(\S.*)\n(?:E +)?[ \t]*\^')

# Third-party code, whose functions and lines change with each upgrade; and tests, many of which may hit one error.
_FOREIGN = re.compile(
    r"(?:site-packages|dist-packages|node_modules|lib/python[\d.]+|\.cargo/registry|go/pkg/mod|go[\d.-]*/src|gems|deps)/"
    r"|^<|^node:|^/rustc/|^/usr/(?:include|lib|share)/|^(?:\.\./)+(?:src|sysdeps|csu)/|(?:^|/)vendor/\w[\w-]*/\w[\w-]*/"
    r"|/libsanitizer/|^testing\.go$"
)
_FOREIGN_CALL = re.compile(
    r"^(?:javax?|jdk|sun|com\.sun|kotlinx?|scala|org\.(?:junit|springframework|gradle|hibernate|apache\.(?:maven|catalina))"
    r"|System|Microsoft|Xunit|NUnit)\."
)
_TEST = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$|(?:^|/)tests?/")

# Errors whose quotations are names in the code: another name is another error.
_OF_NAMES = frozenset(
    {"AttributeError", "ImportError", "ModuleNotFoundError", "NameError", "TypeError", "UnboundLocalError"}
    | {"NoMethodError", "ReferenceError"}
)
_NAMING = re.compile(rf"\b(?:{'|'.join(sorted(_OF_NAMES))}): ")
CONSEQUENCES = frozenset({"AssertionError", "Failed", ""})
_QUOTED = re.compile(
    r"""\b[bruf]{0,2}'((?:[^'\\\n]|\\.)*)'|\b[bruf]{0,2}"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)\""""
)
_NAME = re.compile(r"[A-Za-z_][\w.]*(?:\(\))?")
_REPEATED = re.compile(r"(<(?:value|n|path|hex|address|time|uuid)>)(?:, \1)+")
_MISSING = re.compile(
    r"(?:cannot|could not|can't|failed to) (?:find|resolve|load) (?:module|package|import|entry module)"
    r"|module not found|no required module|unresolved import|no such file or directory",
    re.IGNORECASE,
)
_FOLDERS = re.compile(r"(?:[A-Za-z]:)?(?:[\w.@+-]*[/\\])+")
_WORDS = re.compile(r"[^\W\d_]+")
_MASKED = re.compile(r"<\w+>")
_OF_ANYTHING = re.compile(
    r"an?|the|err(?:ors?)?|fail(?:ed|ures?)?|fatal|exit(?:ed|ing)?|code|status|with|by|ended|command|tests?|build|make|npm"
    r"|process|returned|non|zero|stop|in|of|s|ok|passed|skipped|found"
)
_TOLD_INSTEAD = 12  # last lines used if the headline is uninformative
_FRAMES = 3  # frames that identify an error

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
_HEADLINE_LENGTH = 200  # characters
_LONGEST_TEXT = 64 * 1024  # characters examined; the relevant parts of a trace are at its ends


@dataclass(frozen=True, slots=True)
class ErrorText:
    headline: str
    type: str  # exception type or error code; "" when the text names none
    places: tuple[Place, ...]  # in the order of the text
    fingerprint: str  # 16 hex digits
    at: Place | None = None  # place of the headline, if a tool printed one
    raised_last: bool = False  # True if the error was raised at the last place

    @property
    def nearest(self) -> tuple[Place, ...]:
        """Return the places, those nearest to the failure first."""
        ordered = sorted(self.places[::-1] if self.raised_last else self.places, key=_is_foreign)
        return (*((self.at,) if self.at is not None else ()), *ordered)


def understood(text: str) -> ErrorText:
    """Parse an error text.

    Two texts with the same fingerprint differ only in values, addresses, times, paths and lines.
    """
    text = text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT // 4] + "\n" + text[-_LONGEST_TEXT * 3 // 4 :]
    plain = _most_told(as_printed(shortened(_MASKS[0][0].sub("", text))))
    found = places_in(plain)
    tool = None if _TRACED.search(plain) else first_of(plain)
    kind, headline = (tool.code, tool.headline) if tool is not None else _headline(plain)
    generic = find_diagnostic(plain) if tool is None and not kind else None
    if generic is not None:
        kind, headline = generic.code, generic.headline
        tool = ToolError(generic.code, generic.said or headline, generic.path, generic.line, generic.column)
    elif tool is None and not kind:
        headline = find_complaint(plain) or headline
    at = Place(tool.path, tool.line) if tool is not None and tool.path else None
    if at is None and (cause := root_cause(plain)) is not None:
        kind, found, generic = cause.type, cause.first(found), None
        headline = f"{cause.headline} (which brought {headline})"
    places = tuple(place for _, place in found)
    raised_last = bool(_PYTHONIC.search(plain))
    frames = _frames(places, raised_last=raised_last)
    if not any(place.function for place in places) or headline.endswith(":"):
        below = generic.details if generic is not None else details_below(plain, _end_of(plain, tool, headline))
        own = [_named_by(tool)] if tool is not None and at is not None else frames
        frames = [*own, *map(masked, below)]  # what else is wrong is another error
    if at is not None and all(place.path != at.path for place in places):
        places = (*places, at)
    if unparsed := _UNPARSED.findall(plain):
        frames = [f"{unparsed[-1][0].rsplit('/', 1)[-1]}: {' '.join(unparsed[-1][1].split())}"]
    named = bool(_NAMING.search(f"{kind}: {headline}")) or not kind or not any(place.function for place in places)
    said = (tool.said if generic is not None and tool is not None else headline)[: 2 * _HEADLINE_LENGTH]
    # Which module is missing is the error, wherever it was looked for.
    if _MISSING.search(said):
        said = _FOLDERS.sub("", said)
    elif generic is None:  # what a tool quotes is code
        said = without_values(said, names_stay=named)
    template = masked(said)[:_HEADLINE_LENGTH]
    if not frames and (_says_nothing(template) or (tool is None and not kind)):
        lines = [line for line in plain.splitlines() if line.strip() and not is_summary(line)]
        first = next((number for number, line in enumerate(lines) if line.strip() == headline), 0)
        frames = [masked(line[:_HEADLINE_LENGTH]) for line in lines[first:][-_TOLD_INSTEAD:]]
    known_by = "\n".join([kind, template, *frames])
    fingerprint = hashlib.blake2b(known_by.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return ErrorText(headline[:_HEADLINE_LENGTH], kind, places, fingerprint, at, raised_last)


def _most_told(text: str) -> str:
    """Select the section of the most frequent failure among several failed tests.

    One missing name breaks many tests, a few of them in odd ways. Failed assertions are more often consequences, so
    other errors win ties, then later ones.
    """
    heads = list(_TOLD_OF.finditer(text))
    if len(heads) < 2:
        return text
    done = _DONE.search(text, heads[-1].end())
    ends = [*(head.start() for head in heads[1:]), done.start() if done else len(text)]
    parts = [text[head.start() : end] for head, end in zip(heads, ends, strict=True)]
    told = [(kind, masked(without_values(line, names_stay=kind in _OF_NAMES))) for kind, line in map(_headline, parts)]
    often = Counter(told)
    best = max(range(len(parts)), key=lambda one: (often[told[one]], told[one][0] not in CONSEQUENCES, one))
    return parts[best]


def _end_of(text: str, tool: ToolError | None, headline: str) -> int:
    """Return the position where the line ends that says what is wrong."""
    return tool.end if tool is not None else max(text.rfind(headline), 0) + len(headline) if headline else len(text)


def _says_nothing(template: str) -> bool:
    """Return True for headlines that fit any failure.

    Such as "FAIL", "Error 1" or "3 failed".
    """
    return all(_OF_ANYTHING.fullmatch(word.lower()) for word in _WORDS.findall(_MASKED.sub("", template)))


def _named_by(tool: ToolError) -> str:
    """Identify a compiler error by file and column.

    The column stays the same when the line moves, and another line mostly has another column.
    """
    return f"{tool.path.rsplit('/', 1)[-1]}:{tool.column or ''}"


def _frames(places: tuple[Place, ...], *, raised_last: bool) -> list[str]:
    """Return the project's own frames nearest to the raise site.

    Line numbers are left out. Frames of tests are used only if there are no others.
    """
    ordered = places[::-1] if raised_last else places
    own = [place for place in ordered if not _is_foreign(place)] or list(ordered)
    called = [place for place in own if place.function] or own
    sources = [place for place in called if not _TEST.search(place.path)] or called
    told = (f"{place.path.rsplit('/', 1)[-1]}:{place.function}" for place in sources)
    return list(dict.fromkeys(told))[:_FRAMES]


def _is_foreign(place: Place) -> bool:
    return bool(_FOREIGN.search(place.path) or _FOREIGN_CALL.match(place.function))


def without_values(text: str, *, names_stay: bool) -> str:
    """Mask the quotations in `text`; with `names_stay`, quoted identifiers are kept."""

    def mask(found: re.Match[str]) -> str:
        quoted = next((part for part in found.groups() if part is not None), "")
        return found[0] if names_stay and _NAME.fullmatch(quoted) else "<value>"

    return _QUOTED.sub(mask, text)


def masked(text: str) -> str:
    """Mask everything that differs between two occurrences of the same error."""
    for pattern, word in _MASKS:
        text = pattern.sub(word, text)
    return _REPEATED.sub(r"\1", " ".join(text.split()))


def _headline(text: str) -> tuple[str, str]:
    """Return (type, headline) of an error text.

    Preferred are pytest's marked lines, then the last line that names an exception, then the last line.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if marked := _marked(lines):
        return marked
    if raised := _raised(lines):
        return raised
    for line in reversed(lines):
        if named := _NAMED.match(line):
            return named[1].rsplit(".", 1)[-1], line.strip()
    return "", lines[-1].strip() if lines else ""


def _raised(lines: list[str]) -> tuple[str, str] | None:
    """Return the exception line that ends the last traceback in Python's format."""
    starts = [number for number, line in enumerate(lines) if line.strip().startswith(TRACEBACK)]
    if not starts or lines[starts[-1]].startswith(" "):
        return None
    after = lines[starts[-1] + 1 :]
    ending = next((line for line in after if not line.startswith((" ", "\t"))), "")
    raised = _RAISED.match(ending)
    if raised is None or any(map(_NAMED.match, after)):
        return None
    return raised[1].rsplit(".", 1)[-1], ending.strip()


def _marked(lines: list[str]) -> tuple[str, str] | None:
    """Return the first line of the last message marked by pytest.

    pytest marks message lines with E. Its type may be on the line below, beside the place.
    """
    ends = [number for number, line in enumerate(lines) if _MARKED.match(line)]
    if not ends:
        return None
    first = last = ends[-1]
    while first > 0 and lines[first - 1].startswith("E"):
        first -= 1
    headline = lines[first][1:].strip()
    if headline.startswith('File "'):  # for syntax errors the type is on the last line
        headline = lines[last][1:].strip()
    if named := _NAMED.match(headline):
        return named[1].rsplit(".", 1)[-1], headline
    ended = _ENDED.match(lines[last + 1]) if last + 1 < len(lines) else None
    kind = ended[1] if ended else "AssertionError" if headline.startswith("assert ") else ""
    is_named = not kind or re.match(rf"(?:\w+\.)*{kind}\b", headline)
    return kind, headline if is_named else f"{kind}: {headline}"
