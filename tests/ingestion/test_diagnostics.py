"""The line that says what is wrong is found in what tools print of which nothing is known."""
# ruff: noqa: E501 - lines are as long as tools print them

from __future__ import annotations

from dataclasses import dataclass

import pytest

from hunchd.ingestion.diagnostics import find_diagnostic
from hunchd.ingestion.errors import parse_error
from hunchd.ingestion.summaries import is_summary


@dataclass(frozen=True)
class Case:
    """`other` is what makes it another error, `again` what differs when the same one comes back."""

    text: str
    headline: str
    place: tuple[str, int]
    other: tuple[str, str]
    again: tuple[tuple[str, str], ...]


CASES = {
    "crystal": Case(
        "In src/tape.cr:4:9\n\n 4 | roll.cut(3)\n          ^--\nError: undefined method 'cut' for Nil\n",
        "Error: undefined method 'cut' for Nil",
        ("src/tape.cr", 4),
        ("undefined method 'cut'", "undefined method 'glue'"),
        (("src/tape.cr:4:9", "/ci/src/tape.cr:8:9"), (" 4 | roll", " 8 | roll")),
    ),
    "swift": Case(
        "/w/Sources/Tape.swift:7:12: error: cannot find 'rollWidth' in scope\n    return rollWidth * 2\n           ^~~~~~~~~\n",
        "cannot find 'rollWidth' in scope",
        ("/w/Sources/Tape.swift", 7),
        ("'rollWidth'", "'rollLength'"),
        ((":7:12", ":70:12"), ("/w/", "/builds/depot/")),
    ),
    "hadolint": Case(
        "Dockerfile:3 DL3008 warning: Pin versions in apt get install.\n",
        "DL3008 warning: Pin versions in apt get install.",
        ("Dockerfile", 3),
        ("DL3008 warning: Pin versions in apt get install.", "DL3025 warning: Use arguments JSON notation for CMD."),
        (("Dockerfile:3", "Dockerfile:9"),),
    ),
    "ktlint with a count": Case(
        "src/Tape.kt:9:1: Unused import (standard:no-unused-imports)\n\nSummary error count (descending) by rule:\n  standard:no-unused-imports: 1\n",
        "Unused import (standard:no-unused-imports)",
        ("src/Tape.kt", 9),
        ("Unused import (standard:no-unused-imports)", "Wildcard import (standard:no-wildcard-imports)"),
        ((":9:1", ":12:1"),),
    ),
    "stylish, the file above": Case(
        "\n/w/web/tape.vue\n  14:3  error  'roll' is defined but never used  no-unused-vars\n\n✖ 1 problem (1 error, 0 warnings)\n",
        "no-unused-vars: 'roll' is defined but never used",
        ("/w/web/tape.vue", 14),
        ("'roll'", "'spool'"),
        (("14:3", "20:3"), ("/w/", "/home/ann/")),
    ),
    "julia": Case(
        "ERROR: LoadError: UndefVarError: `rollwidth` not defined\nStacktrace:\n [1] cut(t::Int64)\n   @ Main ~/tape.jl:3\n [2] top-level scope\n   @ ~/tape.jl:8\nin expression starting at /w/tape.jl:8\n",
        "ERROR: LoadError: UndefVarError: `rollwidth` not defined",
        ("/tape.jl", 3),
        ("`rollwidth`", "`rolllength`"),
        (("tape.jl:3", "tape.jl:30"), ("/w/tape.jl:8", "/ci/tape.jl:12")),
    ),
    "r": Case(
        'Error in seal(box) : object "tape" not found\nCalls: main -> seal\nExecution halted\n',
        'Error in seal(box) : object "tape" not found',
        ("", 0),
        ('"tape"', '"glue"'),
        (),
    ),
    "ansible": Case(
        'fatal: [yard1]: FAILED! => {"changed": false, "msg": "No package matching \'tape-cutter\' is available"}\n\nPLAY RECAP ****\nyard1 : ok=2 changed=0 unreachable=0 failed=1\n',
        "fatal: [yard1]: FAILED! => No package matching 'tape-cutter' is available",
        ("", 0),
        ("tape-cutter", "glue-gun"),
        (("ok=2", "ok=7"),),
    ),
    "nothing but words": Case(
        "reading the plan\ntape: unknown flag --widht\nrun tape --help\n",
        "tape: unknown flag --widht",
        ("", 0),
        ("--widht", "--lenght"),
        (("reading the plan\n", ""),),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_unknown_tool_headline_names_the_error(case: Case) -> None:
    read = parse_error(case.text)

    assert read.headline == case.headline
    assert next(((place.path, place.line) for place in read.nearest_places), ("", 0)) == case.place


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_unknown_tool_other_error_differs(case: Case) -> None:
    read = parse_error(case.text)

    assert parse_error(case.text.replace(*case.other)).fingerprint != read.fingerprint
    again = case.text
    for old, new in case.again:
        again = again.replace(old, new)
    assert parse_error(again).fingerprint == read.fingerprint


def test_same_message_on_other_source_differs() -> None:
    """A message without a name is told apart by the line of source that it marks."""
    text = "Error (7576): Undeclared identifier.\n --> Tape.sol:4:9:\n  |\n4 |         return roll;\n  |                ^^^^\n"

    assert parse_error(text).fingerprint != parse_error(text.replace("roll;", "tape;")).fingerprint


def test_complaint_that_names_nothing_yields_to_its_item() -> None:
    text = "Your order could not be resolved.\n\n  Problem 1\n    - The list asks for yard/crates ^4.0\n"
    assert parse_error(text).headline == "The list asks for yard/crates ^4.0"


def test_wrapper_failures_yield_to_the_cause() -> None:
    text = (
        "Building wheel for tape: started\nerror: command failed with exit code 1\n"
        "ext/tape.c:12:4: error: implicit declaration of function 'roll_cut'\nmake: *** [Makefile:3: tape.o] Error 1\n"
    )
    found = find_diagnostic(text)

    assert found is not None
    assert (found.message_text, found.path, found.line) == (
        "implicit declaration of function 'roll_cut'",
        "ext/tape.c",
        12,
    )


@pytest.mark.parametrize(
    "line",
    [
        "Found 3 errors in 2 files (checked 14 source files)",
        "✖ 2 problems (2 errors, 0 warnings)",
        "7 files inspected, 1 offense detected",
        "make[1]: *** [Makefile:9: all] Error 2",
        "error: could not compile `yard` (bin) due to 1 previous error",
        "BUILD FAILED in 4s",
        "npm ERR! A complete log of this run can be found in: /w/log",
        "Finished in 0.42 seconds",
    ],
)
def test_is_summary_counts_and_closings_true(line: str) -> None:
    assert is_summary(line)


@pytest.mark.parametrize(
    "line",
    [
        "error: unknown type name 'tape_t'",
        "Property 'seal' does not exist on type 'Crate'.",
        "Undeclared identifier.",
        "connection refused",
    ],
)
def test_is_summary_complaints_false(line: str) -> None:
    assert not is_summary(line)


def test_headline_title_gets_the_naming_detail() -> None:
    dbt = 'Database Error in model sums (models/sums.sql)\n  column "grams" does not exist\n  LINE 12: grams,\n'
    assert parse_error(dbt).headline.endswith('column "grams" does not exist')
    terraform = (
        'Error: Reference to undeclared resource\n\n  on main.tf line 3, in output "a":\n   3:   value = x.dock.id\n\n'
    )
    assert "dock" in parse_error(terraform + 'A resource "x" "dock" has not been declared.\n').headline


def test_count_below_file_is_no_finding() -> None:
    bats = "belt.bats\n ✗ opens\n   (in test file belt.bats, line 2)\n     `[ $a -eq 0 ]' failed\n ✓ shuts\n3 tests, 1 failure\n"
    assert parse_error(bats).headline == "✗ opens: `[ $a -eq 0 ]' failed"


def test_named_result_without_complaint_is_headline() -> None:
    ctest = "2/3 Test #2: moves_bay ......***Failed 0.02 sec\n67% tests passed, 1 tests failed out of 3\nErrors while running CTest\n"
    assert "moves_bay" in parse_error(ctest).headline


def test_apostrophe_opens_no_quotation() -> None:
    assert not is_summary("Module not found: Error: Can't resolve './dock' in '/srv/src'")


def test_unattributed_frame_is_no_diagnostic() -> None:
    junit = (
        "Failures (1):\n    => java.lang.IllegalStateException: bay 4 is shut\n       depot.Belt.move(Belt.java:31)\n"
    )
    assert parse_error(junit).headline == "=> java.lang.IllegalStateException: bay 4 is shut"


def test_memcheck_error_names_its_function() -> None:
    text = (
        "==7== Invalid read of size 4\n==7==    at 0x109187: push (belt.c:12)\n==7==    by 0x1091F1: main (main.c:9)\n"
    )
    assert parse_error(text).headline == "Invalid read of size 4 in push"


def test_logged_elixir_error_precedes_its_consequence() -> None:
    text = 'error: undefined variable "x"\n** (CompileError) a.ex: cannot compile module A (errors have been logged)\n'
    assert parse_error(text).headline == 'error: undefined variable "x"'
