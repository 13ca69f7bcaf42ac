"""Tool errors: the first error, its place and its code."""

from __future__ import annotations

import pytest

from hunchd.ingestion.errors import parse_error
from hunchd.ingestion.tool_errors import ToolError, find_first_error

# Outputs of gcc 12, ruff 0.14, and of the other tools' manuals.
GO_BUILD = "# example.com/shop/cart\ncart/cart.go:12:9: undefined: total\ncart/cart.go:15:2: declared and not used: x\n"
GO_VET = "# example.com/shop\nvet: ./main.go:5:2: undefined: foo\n"
GO_TEST = (
    "=== RUN   TestTotal\n--- FAIL: TestTotal (0.00s)\n    --- FAIL: TestTotal/empty (0.00s)\n"
    "        cart_test.go:9: total = 3, want 4\nFAIL\nexit status 1\nFAIL\texample.com/shop/cart\t0.003s\n"
)
CARGO_TEST = """running 1 test
test tests::adds ... FAILED

failures:

---- tests::adds stdout ----

thread 'tests::adds' (4711) panicked at src/lib.rs:10:9:
assertion `left == right` failed
  left: 3
 right: 4
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

error: test failed, to rerun pass `--lib`
"""
RUST = "error: expected `;`, found `}`\n --> src/main.rs:4:20\n  |\n"
JAVAC = """src/main/java/shop/Cart.java:7: error: cannot find symbol
        return totl;
               ^
  symbol:   variable totl
  location: class Cart
1 error
"""
MAVEN = """[INFO] BUILD FAILURE
[ERROR] COMPILATION ERROR :
[ERROR] /home/ann/shop/src/main/java/shop/Cart.java:[7,16] cannot find symbol
[ERROR]   symbol:   variable totl
[ERROR]   location: class shop.Cart
[ERROR] Failed to execute goal org.apache.maven.plugins:maven-compiler-plugin:3.11.0:compile on project shop
"""
JAVA = """Exception in thread "main" java.lang.IllegalStateException: no items
\tat shop.Main.total(Main.java:9)
\tat shop.Main.main(Main.java:4)
"""
GCC = """main.c: In function 'main':
main.c:1:25: error: 'x' undeclared (first use in this function)
    1 | int main(void) { return x; }
      |                         ^
main.c:1:25: note: each undeclared identifier is reported only once for each function it appears in
make: *** [Makefile:3: main.o] Error 1
"""
HEADER = "cart.c:1:10: fatal error: total.h: No such file or directory\ncompilation terminated.\n"
LINKER = """/usr/bin/ld: /tmp/ccV1bZ.o: in function `main':
l.c:(.text+0x5): undefined reference to `total'
collect2: error: ld returned 1 exit status
"""
TSC = "src/cart.ts(3,14): error TS2304: Cannot find name 'x'.\nsrc/cart.ts(9,1): error TS1005: ';' expected.\n"
TSC_PRETTY = (
    "\x1b[96msrc/cart.ts\x1b[0m:\x1b[93m3\x1b[0m:\x1b[93m14\x1b[0m - \x1b[91merror\x1b[0m\x1b[90m TS2304: \x1b[0m"
    "Cannot find name 'x'.\n\n3   return x;\n           ~\n\nFound 1 error in src/cart.ts:3\n"
)
ESLINT = """
/home/ann/shop/src/cart.js
  1:1   warning  Unexpected console statement  no-console
  3:14  error    'x' is not defined            no-undef

✖ 2 problems (1 error, 1 warning)
"""
JEST = """FAIL src/cart.test.js
  ✕ totals (3 ms)

  ● totals

    expect(received).toBe(expected) // Object.is equality

    Expected: 4
    Received: 3

      at Object.<anonymous> (src/cart.test.js:4:19)
"""
MYPY = (
    'shop/cart.py:3: error: Incompatible return value type (got "str", expected "int")  [return-value]\n'
    "Found 1 error in 1 file (checked 2 source files)\n"
)
RUFF = "F821 Undefined name `x`\n --> shop/cart.py:2:12\n  |\n1 | def f():\n2 |     return x\n\nFound 1 error.\n"
RUFF_SHORT = "shop/cart.py:2:12: F821 Undefined name `x`\nFound 1 error.\n"


@pytest.mark.parametrize(
    ("text", "headline", "path", "line"),
    [
        (GO_BUILD, "undefined: total", "cart/cart.go", 12),
        (GO_VET, "undefined: foo", "./main.go", 5),
        (GO_TEST, "TestTotal/empty: total = 3, want 4", "cart_test.go", 9),
        (CARGO_TEST, "tests::adds: assertion `left == right` failed", "src/lib.rs", 10),
        (RUST, "expected `;`, found `}`", "src/main.rs", 4),
        (JAVAC, "cannot find symbol variable totl", "src/main/java/shop/Cart.java", 7),
        (MAVEN, "cannot find symbol variable totl", "/home/ann/shop/src/main/java/shop/Cart.java", 7),
        (JAVA, "java.lang.IllegalStateException: no items", None, None),
        (GCC, "'x' undeclared (first use in this function)", "main.c", 1),
        (HEADER, "total.h: No such file or directory", "cart.c", 1),
        (LINKER, "undefined reference to `total'", None, None),
        (TSC, "TS2304: Cannot find name 'x'.", "src/cart.ts", 3),
        (TSC_PRETTY, "TS2304: Cannot find name 'x'.", "src/cart.ts", 3),
        (ESLINT, "no-undef: 'x' is not defined", "/home/ann/shop/src/cart.js", 3),
        (JEST, "totals: expect(received).toBe(expected) // Object.is equality", None, None),
        (MYPY, 'return-value: Incompatible return value type (got "str", expected "int")', "shop/cart.py", 3),
        (RUFF, "F821: Undefined name `x`", "shop/cart.py", 2),
        (RUFF_SHORT, "F821: Undefined name `x`", "shop/cart.py", 2),
    ],
)
def test_first_error_is_parsed(text: str, headline: str, path: str | None, line: int | None) -> None:
    read = parse_error(text)

    assert read.headline == headline
    assert (read.at and (read.at.path, read.at.line)) == (path and (path, line))


@pytest.mark.parametrize("text", [GO_BUILD, CARGO_TEST, JAVAC, GCC, TSC, ESLINT, MYPY, RUFF])
def test_fingerprint_ignores_line_and_other_errors(text: str) -> None:
    moved = text.replace(":12:", ":40:").replace("(3,14)", "(31,14)").replace("3:14", "30:14").replace(":7:", ":71:")
    alone = moved.replace("cart/cart.go:15:2: declared and not used: x\n", "")

    assert parse_error(alone).fingerprint == parse_error(text).fingerprint


@pytest.mark.parametrize(
    ("text", "name", "other"),
    [
        (GO_BUILD, "undefined: total", "undefined: sum"),
        (JAVAC, "totl", "amuont"),
        (MAVEN, "totl", "amuont"),
        (GCC, "'x'", "'y'"),
        (LINKER, "`total'", "`sum'"),
        (TSC, "'x'", "'y'"),
        (ESLINT, "'x'", "'y'"),
        (RUFF, "`x`", "`y`"),
        (MYPY, '"str"', '"bytes"'),
    ],
)
def test_fingerprint_differs_by_name(text: str, name: str, other: str) -> None:
    assert parse_error(text.replace(name, other)).fingerprint != parse_error(text).fingerprint


def test_traceback_with_tool_output_is_python_error() -> None:
    text = f'Traceback (most recent call last):\n  File "build.py", line 3, in build\n{GCC}BuildError: gcc failed\n'

    assert parse_error(text).headline == "BuildError: gcc failed"


def test_go_frames_have_functions() -> None:
    text = (
        "panic: boom\n\ngoroutine 1 [running]:\nmain.total(...)\n\t/w/main.go:9\nmain.main()\n\t/w/main.go:14 +0x1d\n"
    )

    assert [place.function for place in parse_error(text).places] == ["main.total", "main.main"]
    assert parse_error(text).fingerprint != parse_error(text.replace("main.total", "main.sum")).fingerprint


def test_verbose_go_test_is_parsed() -> None:
    at_length = """=== RUN   TestOther
    other_test.go:3: a note
--- PASS: TestOther (0.00s)
=== RUN   TestTotal
    cart_test.go:12: got 3, want 4
--- FAIL: TestTotal (0.00s)
FAIL
"""
    short = "--- FAIL: TestTotal (0.00s)\n    cart_test.go:12: got 3, want 4\nFAIL\n"
    assert (
        find_first_error(at_length)
        == find_first_error(short)
        == ToolError("TestTotal", "got 3, want 4", "cart_test.go", 12)
    )


def test_go_example_failure_has_name() -> None:
    text = "--- FAIL: ExampleRun (0.00s)\ngot:\n3\nwant:\n4\nFAIL\n"
    assert find_first_error(text) == ToolError("ExampleRun", "got:", "", 0)


def test_verbose_go_subtest_is_the_error() -> None:
    text = (
        "=== RUN   TestGroups\n=== RUN   TestGroups/none\n"
        "=== RUN   TestGroups/both\n    groups_test.go:19: want b, got a\n"
        "=== RUN   TestGroups/last\nError: printed by what is tested\n--- FAIL: TestGroups (0.01s)\n"
        "    --- PASS: TestGroups/none (0.00s)\n    --- FAIL: TestGroups/both (0.00s)\n"
        "    --- PASS: TestGroups/last (0.00s)\nFAIL\nFAIL\texample.org/groups\t0.2s\n"
    )

    read = parse_error(text)

    assert read.headline == "TestGroups/both: want b, got a"
    assert read.at is not None
    assert (read.at.path, read.at.line) == ("groups_test.go", 19)


def test_fingerprint_differs_by_column() -> None:
    def error(line: int, column: int) -> str:
        return parse_error(f"# shop\n./price.go:{line}:{column}: undefined: cmd\n").fingerprint

    assert error(12, 15) == error(120, 15)
    assert error(12, 15) != error(14, 24)


def test_testify_comparison_is_the_error() -> None:
    text = (
        "--- FAIL: TestTotal (0.00s)\n    cart_test.go:9: \n        \tError Trace:\t/srv/shop/cart_test.go:9\n"
        "        \tError:      \tNot equal: \n        \t          \texpected: 4\n        \t          \tactual  : 3\n"
        "        \tTest:       \tTestTotal\nFAIL\nFAIL\texample.com/shop\t0.003s\n"
    )
    assert find_first_error(text) == ToolError(
        "TestTotal", "Not equal: expected: 4 actual : 3", "/srv/shop/cart_test.go", 9
    )


def test_node_test_error_has_expectation() -> None:
    block = (
        "{0}not ok 1 - {1}\n{0}  ---\n{0}  duration_ms: 3.6\n{0}  location: '/w/a.test.mjs:4:1'\n"
        "{0}  error: {2}\n{0}  code: 'E'\n{0}  ...\n"
    )
    said = "|-\n        Expected values to be strictly equal:\n        \n        0 !== 3\n        "
    nested = block.format("    ", "clamps", said) + "    1..1\n" + block.format("", "numbers", "'1 subtest failed'")
    assert parse_error(nested).headline == "clamps: Expected values to be strictly equal: 0 !== 3"
    assert parse_error(block.format("", "reads", "'no such file'")).headline == "reads: no such file"


def test_npm_and_tap_errors_are_parsed() -> None:
    npm = "npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve dependency tree\nnpm ERR! Found: react@18.2.0\n"
    tap = "ok 2 - is quiet\nnot ok 3 - should be equal\n  ---\n  at:\n    fileName: test/x.js\n    lineNumber: 30\n"

    assert parse_error(npm).headline == "ERESOLVE unable to resolve dependency tree"
    assert parse_error(tap).headline == "should be equal"
    assert find_first_error("not ok 1 - later # TODO\n") is None
