"""Table of the formats in which compilers, linters and test runners print errors.

Each row consists of a word that must occur in the text, so that most texts cost nothing, and a pattern. The groups
of the pattern, as far as the tool prints them, are `path`, `line`, `column`, `message`, `code` (the tool's name for
the error, or the failed test) and `symbol` (the subject of the message, if the message omits it).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

_PATH: Final = r"(?P<path>(?:[A-Za-z]:(?=[\\/]))?[^\s:()\[\]]{1,300}\.\w{1,6})"

_SYMBOL: Final = r"\n(?:\[ERROR\])? +symbol: +(?P<symbol>.+)$"


def _make_row(word: str, pattern: str) -> tuple[str, re.Pattern[str]]:
    return word, re.compile(pattern.replace("PATH", _PATH), re.MULTILINE)


_TABLE: Final = (
    # gcc, clang and compatible tools
    _make_row(": error:", r"^PATH:(?P<line>\d+):(?P<column>\d+): error: (?P<message>.+)$"),
    _make_row(": fatal error:", r"^PATH:(?P<line>\d+):(?P<column>\d+): fatal error: (?P<message>.+)$"),
    _make_row("undefined reference to", r"^.{0,300}?(?P<message>undefined reference to \S.*)$"),
    # javac
    _make_row(".java:", rf"^PATH:(?P<line>\d+): error: (?P<message>.+)$(?:(?:\n.*){{2}}{_SYMBOL})?"),
    # Maven's compilers: Java, Kotlin, Scala
    _make_row("[ERROR]", rf"^\[ERROR\] PATH:\[(?P<line>\d+),(?P<column>\d+)\] (?P<message>.+)$(?:{_SYMBOL})?"),
    # Java: an uncaught exception
    _make_row(
        "Exception in thread",
        r'^Exception in thread "[^"\n]*" (?P<message>[\w.$]*?(?P<code>\w+(?:Exception|Error|Throwable))\b.*)$',
    ),
    # Go: the compiler and vet, a failed test
    _make_row(".go:", r"^(?:vet: )?PATH:(?P<line>\d+):(?:(?P<column>\d+):)? (?P<message>.+)$"),
    _make_row(
        "--- FAIL: ",
        r"^ *--- FAIL: (?P<code>\S+) .*\n(?: {4}(?! *--- FAIL).*\n)*? +PATH:(?P<line>\d+): (?P<message>.+)$",
    ),
    # … in testify's format
    _make_row(
        "Error Trace:",
        r"^(?: *--- FAIL: (?P<code>\S+) .*\n(?:.*\n){0,3}?)?\s+Error Trace:\s+PATH:(?P<line>\d+)\n(?:\s+\S+:\d+\n)*"
        r"\s+Error:\s+(?P<message>\S(?:.*\S)?(?:(?<=:) *\n\s+\S.*)?(?:\n\s+[a-z]+ *: .*)*)",
    ),
    # … without a location
    _make_row(
        "--- FAIL: ",
        r"^--- FAIL: (?P<code>\S+) .*\n(?P<message>(?! |=== |--- |FAIL\b|ok\b|PASS\b).+?)(?: \[recovered.*\])?$",
    ),
    _make_row("DATA RACE", r"^WARNING: (?P<message>DATA RACE)$"),
    # Rust: a panic, in the formats since 1.73 and before
    _make_row(
        "panicked at",
        r"^thread '(?P<code>[^'\n]+)'(?: \(\d+\))? panicked at PATH:(?P<line>\d+):\d+:\n(?P<message>.+)$",
    ),
    _make_row("panicked at", r"^thread '(?P<code>[^'\n]+)' panicked at '(?P<message>.+)', PATH:(?P<line>\d+):\d+$"),
    # rustc without a code of its own
    _make_row("--> ", r"^error: (?P<message>.+)\n +--> PATH:(?P<line>\d+):(?P<column>\d+)$"),
    # tsc, plain and pretty
    _make_row(": error TS", r"^PATH\((?P<line>\d+),(?P<column>\d+)\): error (?P<code>TS\d+): (?P<message>.+)$"),
    # .NET's compilers append the project; an uncaught exception
    _make_row(
        ": error ",
        r"^PATH\((?P<line>\d+),(?P<column>\d+)\): error (?P<code>[A-Z]{2,6}\d+): (?P<message>.+?)"
        r"(?: \[[^\]\n]+proj\])?$",
    ),
    _make_row("Unhandled exception. ", r"^Unhandled exception\. [\w.]*?(?P<code>\w+): (?P<message>.+)$"),
    _make_row(" - error TS", r"^PATH:(?P<line>\d+):(?P<column>\d+) - error (?P<code>TS\d+): (?P<message>.+)$"),
    # ESLint: the file on a line of its own
    _make_row(
        " error ",
        r"^PATH\n(?: +\d+:\d+ +warning .*\n)* +(?P<line>\d+):\d+ +error +(?P<message>.+?)(?: {2,}(?P<code>[\w@/-]+))?$",
    ),
    # Jest and Vitest
    _make_row("● ", r"^ +● (?P<code>.+)\n\n +(?P<message>\S.*)$"),
    # npm
    _make_row(
        "npm ",
        r"^npm (?:ERR!|error) code (?P<code>\S+)\n(?:npm (?:ERR!|error) (?:errno|path|command|syscall) .*\n)*"
        r"npm (?:ERR!|error) (?P<message>\S.*)$(?:(?:\nnpm (?:ERR!|error).*){1,15}?\nnpm (?:ERR!|error) "
        r"(?P<symbol>peer \S+ from \S+)$)?",
    ),
    # pip
    _make_row("ERROR: ", r"^ERROR: (?P<message>(?:No matching distribution found for|Cannot install) .+)$"),
    # TAP, as Node's tests write it and in general
    _make_row(
        "not ok ",
        r"^ *not ok \d+ (?:- )?(?P<code>(?![^\n]*# (?:TODO|SKIP))\S.*)\n *---\n(?:(?! *(?:\.\.\.$|error: )).*\n){0,30}"
        r" *error: (?:\|-?\n)?['\"]?(?P<message> *\S.*?(?:\n(?: *\n)* {4,}(?!\w+: |\.\.\.$)\S.*)?)['\"]?$",
    ),
    _make_row("not ok ", r"^not ok \d+ (?:- )?(?P<message>(?![^\n]*# (?:TODO|SKIP))\S.*)$"),
    # mypy, pyright's plain form
    _make_row(": error:", r"^PATH:(?P<line>\d+)(?::\d+)?: error: (?P<message>.+?)(?: +\[(?P<code>[a-z-]+)\])?$"),
    # ruff, long and short; flake8
    _make_row("--> ", r"^(?P<code>[A-Z]{1,6}\d{1,4}) (?:\[\*\] )?(?P<message>.+)\n +--> PATH:(?P<line>\d+):\d+$"),
    _make_row(".py", r"^PATH:(?P<line>\d+):\d+: (?P<code>[A-Z]{1,6}\d{1,4}) (?:\[\*\] )?(?P<message>.+)$"),
    # pytest without traces
    _make_row("FAILED ", r"^FAILED PATH::\S.*? - (?:[\w.]*?(?P<code>[A-Z]\w*): )?(?P<message>.+)$"),
    # Mocha; Vitest, whose message begins the line
    _make_row(
        " failing\n",
        r"^ +\d+\) (?P<code>\S.*(?:\n {5,}\S.*)*?):\n(?: *\n)? +(?P<message>[A-Z]\w*(?:Error|Exception)\b.*: .+)$",
    ),
    _make_row(" FAIL  ", r"^ FAIL  (?:\|[^|\n]*\| )?\S+ > (?P<code>.+)\n(?P<message>\S.*)$"),
    # Ruby: an uncaught exception, RSpec, Minitest
    _make_row(":in ", r"^PATH:(?P<line>\d+):in [`'].+?': (?P<message>.+) \((?P<code>[A-Z][\w:]*)\)$"),
    _make_row(
        "Failure/Error:",
        r"^ +\d+\) (?P<code>.+)\n +Failure/Error: .*\n(?:(?! *\n).*\n)*? *\n +(?P<message>\S.*(?:\n +\S.*)?)",
    ),
    _make_row(
        "runs, ",
        r"^ +\d+\) (?:Failure|Error):\n(?P<code>[^\s:\[]+)(?: \[.*\])?:\n(?P<message>\S.*(?:\n {2}Actual: .*)?)",
    ),
    # PHP: a fatal error, PHPUnit
    _make_row(
        " error: ",
        r"^(?:PHP )?(?:Fatal|Parse) error: +(?:Uncaught (?P<code>[\w\\]+): )?(?P<message>.+?) in PATH"
        r"(?::| on line )(?P<line>\d+)$",
    ),
    _make_row("::", r"^\d+\) (?P<code>[\w\\]+::\w+.*)\n(?P<message>\S.*)$"),
    # Elixir, ExUnit
    _make_row("** (", r"^ *\*\* \((?P<code>[\w.]+)\) (?P<message>.+)$"),
    _make_row(") test ", r"^ +\d+\) test (?P<code>.+) \(\S+\)\n +\S+:\d+\n +(?P<message>(?!\*\*)\S.*)$"),
    # Kotlin
    _make_row("e: ", r"^e: PATH:(?: \()?(?P<line>\d+)(?::|, )(?P<column>\d+)\)?:? (?P<message>.+)$"),
    # C and C++ at run time: sanitizers, assert, an uncaught exception, gdb
    _make_row(
        "Sanitizer: ",
        r"^(?:==\d+==)?(?:ERROR|WARNING): (?P<message>\w+Sanitizer: (?P<code>[\w-]+(?: [a-z]+)*?))(?: on |:| \(|$)",
    ),
    _make_row(": runtime error: ", r"^PATH:(?P<line>\d+):(?P<column>\d+): runtime error: (?P<message>.+)$"),
    _make_row(": Assertion ", r"^(?:\S+: )?PATH:(?P<line>\d+): .+?: (?P<message>Assertion .+ failed\.)"),
    _make_row("terminate called", r"^terminate called .* '(?P<code>[\w:]+)'\n +what\(\): +(?P<message>.+)$"),
    _make_row("received signal", r"^(?:Program|Thread .+) received signal (?P<code>SIG\w+), (?P<message>.+)$"),
    # CMake, terraform, git, SQL
    _make_row("CMake Error", r"^CMake Error at PATH:(?P<line>\d+) .*:\n(?: *\n)?(?P<message> +\S.*(?:\n +\S.*){0,3})"),
    _make_row(" line ", r"^Error: (?P<message>.+)\n(?: *\n)? +on PATH line (?P<line>\d+)"),
    _make_row("CONFLICT (", r"^(?P<message>CONFLICT \([\w/ ]+\): .+)$"),
    _make_row("LINE ", r"^(?:psql:PATH:(?P<line>\d+): )?ERROR: +(?P<message>.+)$(?=\n(?:psql:\S+ )?LINE \d)"),
)


# Verbose Go tests (-v): output of each test, printed before its result.
_GO_FAILED: Final = re.compile(r"^ *--- FAIL: (\S+) ", re.MULTILINE)
_GO_OUTPUT: Final = re.compile(r"^=== (?:RUN|CONT|NAME) +(\S+)\n((?:(?!=== | *--- ).*\n)+)", re.MULTILINE)
_GO_OUTPUT_LINE: Final = re.compile(rf"^ +{_PATH}:(?P<line>\d+): (?P<message>.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ToolError:
    """First error that a tool reported.

    `path` is "" if the path is unknown; `line` and `column` are 0 if they are unknown.
    """

    code: str
    message: str
    path: str
    line: int
    column: int = 0
    end: int = field(default=0, compare=False)  # position in the text where the message ends

    @property
    def headline(self) -> str:
        return self.message if not self.code or self.code in self.message else f"{self.code}: {self.message}"


def find_first_error(text: str) -> ToolError | None:
    """Return the first error in `text` that has the format of a known tool.

    Returns None if there is no such error.
    """
    matches = [match for word, pattern in _TABLE if word in text and (match := pattern.search(text)) is not None]
    # If two rows match at the same position, the one with a code is the specific one.
    match = min(matches, key=lambda one: (one.start(), one.groupdict().get("code") is None), default=None)
    go_failure = _find_go_failure(text) if "=== RUN" in text and "--- FAIL: " in text else None
    if go_failure is not None and (match is None or go_failure[0] < match.start()):
        return go_failure[1]
    return _build_tool_error(match) if match is not None else None


def _build_tool_error(match: re.Match[str], code: str = "", start: int = 0) -> ToolError:
    groups = match.groupdict()
    path, line, column = groups.get("path") or "", groups.get("line") or "0", groups.get("column") or "0"
    message = " ".join(" ".join(part.split()) for part in (groups["message"], groups.get("symbol")) if part)
    error_code = " ".join((code or groups.get("code") or "").split())
    return ToolError(error_code, message, path.replace("\\", "/"), int(line[:9]), int(column[:9]), start + match.end())


def _find_go_failure(text: str) -> tuple[int, ToolError] | None:
    """Return the first failed test in verbose Go output, and its position.

    Returns None if no failed test printed an error.
    """
    failed_tests = frozenset(_GO_FAILED.findall(text))
    for output_match in _GO_OUTPUT.finditer(text):
        if output_match[1] in failed_tests and (match := _GO_OUTPUT_LINE.search(output_match[2])) is not None:
            return output_match.start(), _build_tool_error(match, output_match[1], output_match.start(2))
    return None
