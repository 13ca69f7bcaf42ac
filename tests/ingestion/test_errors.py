"""Parsing of error texts: fingerprints are stable and places are found."""

import pytest

from hunchd.ingestion.error_places import ErrorLocation
from hunchd.ingestion.errors import ParsedError, mask_variable_parts, parse_error

TRACE = """Traceback (most recent call last):
  File "/home/ann/shop/app.py", line 12, in main
    run(3)
  File "/home/ann/shop/core/run.py", line 40, in run
    raise KeyError("basket 17 at 0x7f00aa")
KeyError: 'basket 17 at 0x7f00aa'
"""


def test_line_prefixes_are_stripped_from_error() -> None:
    plain = (
        'Traceback (most recent call last):\n  File "/srv/shop/cart.py", line 9, in total\n    raise KeyError(sku)\n'
        "KeyError: 'sku'\n"
    )

    def parse_prefixed(prefix: str) -> ParsedError:
        return parse_error("".join(f"{prefix}{line}\n" for line in plain.splitlines()))

    for prefix in ("web-1  | ", "2026-11-24T02:35:34.7772250Z ", "INTERNALERROR> ", "[pod/api-7f/web] "):
        assert (parse_prefixed(prefix).headline, parse_prefixed(prefix).type) == ("KeyError: 'sku'", "KeyError")
        assert parse_prefixed(prefix).fingerprint == parse_error(plain).fingerprint
    group = "  + Exception Group Traceback (most recent call last):\n  | ExceptionGroup: many (1 sub-exception)\n"
    group += "  +-+---------------- 1 ----------------\n" + "".join(f"    | {line}\n" for line in plain.splitlines())
    assert (
        parse_error(group + "    +------------------------------------\n").fingerprint == parse_error(plain).fingerprint
    )


@pytest.mark.parametrize("noise", ["\n", "/", "aB3+/", "-", "a.", "\\", " ", "1."])
def test_error_after_long_output_is_found_quickly(noise: str) -> None:
    """Long blank lines, encoded data, minified code and rulers are parsed in linear time.

    Patterns once rescanned each of their characters.
    """
    printed = f"{noise * (40_000 // len(noise))}\n{TRACE}"

    assert parse_error(printed).fingerprint == parse_error(TRACE).fingerprint
    assert parse_error(printed).places[-1] == ErrorLocation("/home/ann/shop/core/run.py", 40, "run")


def test_python_trace_is_parsed() -> None:
    error = parse_error(TRACE)
    assert error.headline == "KeyError: 'basket 17 at 0x7f00aa'"
    assert error.type == "KeyError"
    assert error.places[-1] == ErrorLocation("/home/ann/shop/core/run.py", 40, "run")


def test_fingerprint_ignores_paths_and_lines() -> None:
    moved = TRACE.replace("line 40", "line 57").replace("/home/ann", "/srv/ci").replace("17 at 0x7f00aa", "9 at 0xdead")
    assert parse_error(moved).fingerprint == parse_error(TRACE).fingerprint


def test_fingerprint_differs_by_message_and_function() -> None:
    prints = {
        parse_error(TRACE).fingerprint,
        parse_error(TRACE.replace("KeyError: '", "KeyError: no '")).fingerprint,
        parse_error(TRACE.replace("in run", "in walk")).fingerprint,
        parse_error(TRACE.replace("KeyError", "IndexError")).fingerprint,
    }
    assert len(prints) == 4


def test_compiler_and_runner_errors_are_parsed() -> None:
    rust = parse_error("error[E0308]: mismatched types\n  --> src/net/tcp.rs:10:5\n")
    assert (rust.type, rust.places) == ("E0308", (ErrorLocation("src/net/tcp.rs", 10),))
    pytest_line = parse_error("tests/test_a.py:7: in test_x\nE   AssertionError: assert 1 == 2\n")
    assert pytest_line.headline == "AssertionError: assert 1 == 2"
    assert pytest_line.places[0] == ErrorLocation("tests/test_a.py", 7, "test_x")
    typescript = parse_error("src/a.ts(3,14): error TS2304: Cannot find name 'x'.")
    assert typescript.places == (ErrorLocation("src/a.ts", 3),)


def test_any_text_yields_optional_headline() -> None:
    assert parse_error("").headline == ""
    assert parse_error("it broke\n\n").headline == "it broke"
    assert len(parse_error("x" * 500_000).headline) == 200


def test_long_chain_keeps_its_cause() -> None:
    first, second = (
        parse_error(f"Error: upgrade failed: {'render: ' * 40}no value of {name}") for name in ("a.b", "c.d")
    )
    assert first.headline.endswith("no value of a.b")
    assert first.fingerprint != second.fingerprint


def test_complaint_about_other_file_differs() -> None:
    texts = [f"ERROR: {path} Imports are incorrectly sorted." for path in ("/app/a.py", "/app/b.py", "/ci/x/a.py")]
    first, other, moved = (parse_error(text).fingerprint for text in texts)
    assert first == moved != other


def test_long_number_is_masked() -> None:
    assert mask_variable_parts("140470931872640 is not 17, nor is 4f3a9c1e") == "<n> is not <n>, nor is <hex>"


def test_masking_keeps_words() -> None:
    assert (
        mask_variable_parts("timeout after 30.5 s for /tmp/a/b.sock (id 0xff)")
        == "timeout after <n> s for <path> (id <address>)"
    )


LONG = """self = <shop.Cart object at 0x7f3c>

    def test_total():
        cart = Cart()
>       assert cart.total(1) == "12 EUR"
E       AssertionError: assert '10 EUR' == '12 EUR'
E
E         - 12 EUR

tests/test_cart.py:31: AssertionError
"""
SHORT = """tests/test_cart.py:31: in test_total
    assert cart.total(1) == "12 EUR"
E   AssertionError: assert '10 EUR' == '12 EUR'
"""


def test_pytest_long_and_short_traces_match() -> None:
    long, short = parse_error(LONG), parse_error(SHORT)

    assert long.headline == short.headline == "AssertionError: assert '10 EUR' == '12 EUR'"
    assert long.places[-1] == short.places[-1] == ErrorLocation("tests/test_cart.py", 31, "test_total")
    assert long.fingerprint == short.fingerprint
    assert parse_error(LONG.replace("'10 EUR'", "'9 EUR'")).fingerprint == long.fingerprint
    assert parse_error(LONG.replace("test_total", "test_sum")).fingerprint != long.fingerprint


def test_name_in_message_is_not_masked() -> None:
    text = "app.py:3: in main\nE   AttributeError: 'Cart' object has no attribute '{}'\n"

    assert parse_error(text.format("total")).fingerprint != parse_error(text.format("sum")).fingerprint


def test_fingerprint_ignores_library_upgrade() -> None:
    deeper = TRACE.replace(
        "KeyError: ", '  File "/v/lib/python3.12/site-packages/dicts/core.py", line 3, in get\nKeyError: '
    )
    assert parse_error(deeper).fingerprint == parse_error(TRACE).fingerprint


def test_node_frames_have_functions() -> None:
    text = "TypeError: x is not a function\n    at total (/w/src/cart.ts:3:14)\n    at main (/w/src/app.ts:9:1)\n"

    assert parse_error(text).places == (
        ErrorLocation("/w/src/cart.ts", 3, "total"),
        ErrorLocation("/w/src/app.ts", 9, "main"),
    )
    assert parse_error(text).fingerprint != parse_error(text.replace("at total", "at sum")).fingerprint


def test_uninformative_headline_uses_last_lines() -> None:
    first = parse_error("copying a\ncopying b\nno space left on the shelf\nFAIL\n")
    assert parse_error("copying a\ncopying b\nthe shelf is gone\nFAIL\n").fingerprint != first.fingerprint
    assert parse_error("copying a\ncopying b\nno space left on the shelf\nFAIL\n").fingerprint == first.fingerprint
    assert parse_error("make: *** [Makefile:4: a] Error 1").fingerprint != parse_error("no rule\nError 1").fingerprint


def test_pytest_syntax_error_names_its_line() -> None:
    text = (
        "ImportError while loading conftest '/w/tests/conftest.py'.\ntests/conftest.py:3: in <module>\n"
        '    from shop import cart\nE     File "/w/shop/cart.py", line 7\nE       if total\nE               ^\n'
        "E   SyntaxError: expected ':'\n"
    )
    error = parse_error(text)
    assert (error.type, error.headline) == ("SyntaxError", "SyntaxError: expected ':'")
    assert error.places[-1] == ErrorLocation("/w/shop/cart.py", 7)


def test_fingerprint_differs_by_missing_module() -> None:
    for text in (
        "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/w/src/{}.mjs' imported from /w/src/app.mjs",
        "Error: Cannot find module './{}'\n    at load (/w/src/app.js:3:1)\n",
        'app.go:5:2: cannot find package "encoding/{}" in any of:\n',
        "cat: /etc/{}: No such file or directory",
    ):
        first = parse_error(text.format("cart")).fingerprint
        assert parse_error(text.format("basket")).fingerprint != first
        assert parse_error(text.format("cart").replace("/w/", "/home/ann/copy/")).fingerprint == first


def _section(name: str, error: str, place: str) -> str:
    return f"{'_' * 20} {name} {'_' * 20}\n\n    def {name}():\n>       work()\nE       {error}\n\n{place}\n"


def test_most_frequent_failure_is_the_error() -> None:
    name = _section("test_{}", "NameError: name 'warnings' is not defined", "src/fields.py:{}: NameError")
    odd = _section("test_warns", "Failed: DID NOT WARN.", "tests/test_fields.py:9: Failed")
    text = "".join([*(name.replace("{}", str(one)) for one in (1, 2, 3)), odd, "=== short test summary info ===\n"])

    read = parse_error(text)

    assert read.headline == "NameError: name 'warnings' is not defined"
    assert read.nearest_places[0].path == "src/fields.py"
    assert parse_error(name.replace("{}", "3") + odd).headline == "NameError: name 'warnings' is not defined"


def test_exception_with_unusual_name_is_parsed() -> None:
    trace = 'Traceback (most recent call last):\n  File "a.py", line 3, in load\n    load(name)\n'

    found = parse_error(f"{trace}jinja2.exceptions.TemplateNotFound: index.html\n")
    assert (found.type, found.headline) == ("TemplateNotFound", "jinja2.exceptions.TemplateNotFound: index.html")
    assert parse_error(f"{trace}Failed: DID NOT RAISE <class 'KeyError'>\n").type == "Failed"


def test_syntax_errors_differ_by_line_text() -> None:
    def trace(code: str, line: int) -> str:
        return f"  File \"/home/me/a.py\", line {line}\n    {code}\n    {' ' * len(code)}^\nSyntaxError: expected ':'\n"

    assert parse_error(trace("if x", 3)).fingerprint == parse_error(trace("if x", 30)).fingerprint
    assert parse_error(trace("if x", 3)).fingerprint != parse_error(trace("def total(items)", 3)).fingerprint
