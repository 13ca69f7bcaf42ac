"""Prefixes go by their repetition; what a report itself repeats stays."""

from __future__ import annotations

import json

import pytest

from hunchd.ingestion.errors import parse_error
from hunchd.ingestion.prefixes import strip_prefixes
from hunchd.ingestion.terminal_output import strip_output_prefixes

REPORT = """error[E0599]: no method named `seal` found for struct `Crate`
  --> src/crates.rs:31:9
   |
31 |     box.seal(tape);
   |         ^^^^ method not found in `Crate`

error: could not compile `yard` (lib) due to 1 previous error
"""

PREFIXES = {
    "github": "2026-03-04T05:06:07.8901234Z ",
    "gh run view": "build\tCompile\t2026-03-04T05:06:07.8901234Z ",
    "gitlab": "2026-03-04T05:06:07.890123Z 01O ",
    "syslog": "Mar  4 05:06:07 builder cargo[4711]: ",
    "journald": "Mar 04 05:06:07 builder systemd-run[4711]: ",
    "compose": "yard-1  | ",
    "foreman": "05:06:07 yard.1 | ",
    "concurrently": "[yard] ",
    "turbo": "yard:build: ",
    "lerna": "@depot/yard: ",
    "pnpm": "packages/yard build: ",
    "pm2": "3|yard     | ",
    "cri": "2026-03-04T05:06:07.890123456Z stdout F ",
    "heroku": "2026-03-04T05:06:07.890123+00:00 app[worker.2]: ",
    "jenkins": "[2026-03-04T05:06:07.890Z] ",
}


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
def test_prefix_on_every_line_is_stripped(prefix: str) -> None:
    prefixed = "".join(f"{prefix}{line}\n" for line in REPORT.splitlines())

    assert strip_prefixes(prefixed) == REPORT
    assert parse_error(prefixed).fingerprint == parse_error(REPORT).fingerprint


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
def test_single_diagnostic_behind_prefix_is_same(prefix: str) -> None:
    line = "src/crates.ts(31,9): error TS2339: Property 'seal' does not exist on type 'Crate'."

    assert parse_error(f"{prefix}{line}").fingerprint == parse_error(line).fingerprint


@pytest.mark.parametrize("prefix", ["[2026-03-04 05:06:07,890] {worker.py:93} INFO - ", "<yard/build> step three >> "])
def test_words_on_every_line_are_stripped(prefix: str) -> None:
    prefixed = "".join(f"{prefix}{line}\n" for line in REPORT.splitlines())
    assert parse_error(prefixed).fingerprint == parse_error(REPORT).fingerprint


def test_interleaved_sources_keep_the_failing_one() -> None:
    text = (
        "db-1   | ready for connections\nweb-1  | Traceback (most recent call last):\n"
        'web-1  |   File "/app/yard.py", line 4, in seal\ndb-1   | checkpoint complete\nweb-1  |     tape.cut()\n'
        "web-1  | AttributeError: 'NoneType' object has no attribute 'cut'\n"
    )

    assert strip_prefixes(text).splitlines() == [
        "Traceback (most recent call last):",
        '  File "/app/yard.py", line 4, in seal',
        "    tape.cut()",
        "AttributeError: 'NoneType' object has no attribute 'cut'",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "yard/crates.py:3:1: E302 expected 2 blank lines\nyard/crates.py:9:80: E501 line too long\n",
        "error: cannot find tape\nerror: cannot find box\nerror: aborting\n",
        "#0 /w/run.php(3): check()\n#1 /w/run.php(9): start()\n#2 {main}\n",
        "  1 | first\n  2 | second\n  3 | third\n",
        "TypeError: tape is not a function\n    at seal (/w/yard.js:3:1)\n    at main (/w/yard.js:9:1)\n",
        "[ERROR] /w/Yard.java:[3,1] cannot find symbol\n[ERROR]   symbol: tape\n[INFO] done\n",
    ],
)
def test_what_reports_repeat_is_kept(text: str) -> None:
    assert strip_prefixes(text) == text


def test_quoted_build_log_loses_its_quotation_marks() -> None:
    text = "error: builder failed:\n       > cc tape.c\n       > tape.c:3:1: error: unknown type name 'tape_t'\n"

    assert parse_error(text).headline.endswith("unknown type name 'tape_t'")


@pytest.mark.parametrize("field", ["log", "message", "msg", "MESSAGE"])
def test_json_records_are_unwrapped(field: str) -> None:
    text = "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    g()\nKeyError: 'bay'\n"
    records = "".join(json.dumps({field: f"{line}\n", "stream": "stderr"}) + "\n" for line in text.splitlines())
    assert parse_error(records).fingerprint == parse_error(text).fingerprint


def test_json_record_keeps_level_and_cause() -> None:
    text = '{"level":"info","msg":"ready"}\n{"level":"error","msg":"cannot open gate","error":"no key for dock"}\n'
    assert parse_error(text).headline == "ERROR: cannot open gate: no key for dock"


def test_deeply_nested_json_is_kept() -> None:
    nested = '{"a":' * 50_000
    assert strip_output_prefixes(nested) == nested
    assert strip_output_prefixes(f"{nested}1{'}' * 50_000}").startswith(nested)


def test_json_with_little_text_is_kept() -> None:
    text = 'Response: {"id": 12345678901234567890, "error": "no", "trace": "0000000000000000000000"}'
    assert parse_error(text).headline == text


@pytest.mark.parametrize("mark", ["##[error]", "E1120 10:11:12.123456    4711 gate.go:31] "])
def test_mark_on_single_line_is_stripped(mark: str) -> None:
    assert "cannot open gate 'dock'" in parse_error(f"{mark}cannot open gate 'dock'\nBuild FAILED.\n").headline
    assert mark.strip() not in parse_error(f"{mark}cannot open gate 'dock'\nBuild FAILED.\n").headline


@pytest.mark.parametrize("prefix", ["web:test: ", "packages/web lint: "])
def test_usual_task_before_one_line_is_stripped(prefix: str) -> None:
    assert (
        strip_prefixes(f"{prefix}D104: Missing docstring in public package")
        == "D104: Missing docstring in public package"
    )
    assert strip_prefixes("box:seal: no tape") == "box:seal: no tape"
