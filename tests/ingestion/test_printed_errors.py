"""Parsing of tool output in many languages: error, raise site and fingerprint.

Shortened from real failures: pytest, Node, Mocha, Vitest, Go, Java, PHP, PHPUnit, Ruby, RSpec, Minitest, Elixir, gcc with its
sanitizer, gdb, CMake, git, npm and pip. Written from memory in their format, not run: webpack and vite, Kotlin,
.NET, terraform's variable, psql and docker build.
"""
# ruff: noqa: E501 - lines are as long as tools print them

from __future__ import annotations

from dataclasses import dataclass

import pytest

from hunchd.cli.running.spool_message import to_screen_text
from hunchd.ingestion.error_places import ErrorLocation
from hunchd.ingestion.errors import ParsedError, parse_error


@dataclass(frozen=True)
class Case:
    """Printed error; `again` are replacements that keep the fingerprint, `other` is one that changes it."""

    name: str
    text: str
    type: str
    headline: str
    near: tuple[ErrorLocation, ...]  # the first of the nearest places
    other: tuple[str, str]
    again: tuple[tuple[str, str], ...] = ()


def place(path: str, line: int, function: str = "") -> ErrorLocation:
    return ErrorLocation(path, line, function)


CASES = (
    Case(
        "pytest with what was logged",
        "=== FAILURES ===\n___ test_total ___\n\n    def test_total():\n>       assert Cart([1]).total() == 3\n\n"
        "tests/test_cart.py:10: \n_ _ _ _ _\nshop/cart.py:12: in total\n    return sum(item['price'] for item in x)\n"
        "E   KeyError: 'price'\n\nshop/cart.py:12: KeyError\n---------- Captured log call -----------\n"
        "WARNING  shop.cart:load.py:11 summing 1 items\n=== warnings summary ===\ntests/test_cart.py::test_warns\n"
        "  /w/tests/test_cart.py:24: DeprecationWarning: old call\n=== 1 failed in 0.42s ===\n",
        "KeyError",
        "KeyError: 'price'",
        (place("shop/cart.py", 12, "test_total"), place("shop/cart.py", 12, "total")),
        ("in total", "in taxed"),
        ((":12", ":15"), ("summing 1 items", "summing 4 items"), ("load.py:11", "load.py:99"), ("0.42s", "9.1s")),
    ),
    Case(
        "pytest without traces",
        "collected 6 items\n\ntests/test_cart.py F..F\n\n=== short test summary info ===\n"
        "FAILED tests/test_cart.py::test_total - KeyError: 'price'\n"
        "FAILED tests/test_cart.py::test_parse[x-1] - RuntimeError: cannot parse 'x-1'\n=== 2 failed in 9.85s ===\n",
        "KeyError",
        "KeyError: 'price'",
        (place("tests/test_cart.py", 0),),
        ("KeyError: 'price'", "KeyError: 'cost'"),
        (("9.85s", "1.02s"),),
    ),
    Case(
        "node, modules by their addresses",
        "file:///w/shop/src/cart.mjs:6\nfunction price(sku) { throw new TypeError(`no price`); }\n\n"
        "TypeError: no price of A-17\n    at price (file:///w/shop/src/cart.mjs:6:29)\n"
        "    at async load (file:///w/shop/src/cart.mjs:3:10)\n    at runNextTicks (node:internal/process/task_queues:60:5)\n"
        "    at async file:///w/shop/src/main.mjs:3:95\n\nNode.js v20.20.2\n",
        "TypeError",
        "TypeError: no price of A-17",
        (place("/w/shop/src/cart.mjs", 6), place("/w/shop/src/cart.mjs", 6, "price"), place("/w/shop/src/cart.mjs", 3, "load")),
        ("at price", "at cost"),
        ((":6", ":9"), ("/w/shop/", "/srv/builds/7/")),
    ),
    Case(
        "node, a cause",
        "Error: cannot start the shop\n    at main (/w/src/main.js:2:75) {\n  [cause]: TypeError: no price\n"
        "      at price (/w/src/cart.js:6:29)\n      at main (/w/src/main.js:2:31)\n}\n\nNode.js v20.20.2\n",
        "TypeError",
        "TypeError: no price (which brought Error: cannot start the shop)",
        (place("/w/src/cart.js", 6, "price"), place("/w/src/main.js", 2, "main")),
        ("[cause]: TypeError: no price", "[cause]: TypeError: no stock"),
        ((":6:", ":16:"),),
    ),
    Case(
        "webpack's source maps",
        "TypeError: Cannot read properties of undefined (reading 'sku')\n"
        "    at total (webpack-internal:///(app-pages-browser)/./src/cart.ts:3:14)\n"
        "    at Basket (webpack://shop/./src/basket.tsx?9f3a:12:5)\n",
        "TypeError",
        "TypeError: Cannot read properties of undefined (reading 'sku')",
        (place("src/cart.ts", 3, "total"), place("src/basket.tsx", 12, "Basket")),
        ("'sku'", "'price'"),
        (("?9f3a", "?b2c4"), (":3:", ":5:")),
    ),
    Case(
        "vite's development server",
        "ReferenceError: sku is not defined\n    at Cart (http://localhost:5173/src/Cart.tsx?t=1717171717171:21:7)\n"
        "    at renderWithHooks (http://localhost:5173/node_modules/.vite/deps/react-dom.js?v=1a2b:11548:26)\n",
        "ReferenceError",
        "ReferenceError: sku is not defined",
        (place("src/Cart.tsx", 21, "Cart"),),
        ("at Cart", "at Basket"),
        (("5173", "5174"), ("1717171717171", "1718181818181"), ("v=1a2b", "v=9c"), (":21:", ":23:")),
    ),
    Case(
        "Mocha",
        "  cart\n    1) adds\n    2) total\n\n\n  0 passing (67ms)\n  2 failing\n\n  1) cart\n       adds:\n"
        "     TypeError: Cannot read properties of undefined (reading 'amount')\n      at total (src/cart.cjs:1:66)\n"
        "      at Context.<anonymous> (test/cart.cjs:2:113)\n\n  2) cart\n       total:\n     RangeError: too far\n"
        "      at walk (src/walk.cjs:9:1)\n",
        "cart adds",
        "cart adds: TypeError: Cannot read properties of undefined (reading 'amount')",
        (place("src/cart.cjs", 1, "total"),),
        ("'amount'", "'sum'"),
        (("67ms", "203ms"), (":1:66", ":8:66")),
    ),
    Case(
        "Vitest",
        " ❯ test/cart.test.mjs (2 tests | 2 failed) 169ms\n\n⎯⎯⎯ Failed Tests 2 ⎯⎯⎯\n\n"
        " FAIL  test/cart.test.mjs > cart > total\nTypeError: Cannot read properties of undefined (reading 'amount')\n"
        " ❯ total src/cart.mjs:2:32\n    2| const total = 1\n     |   ^\n ❯ test/cart.test.mjs:3:41\n\n⎯⎯⎯[1/2]⎯\n\n"
        " FAIL  test/cart.test.mjs > cart > adds\nAssertionError: expected 1 to be 2\n\n   Duration  3.75s\n",
        "cart > total",
        "cart > total: TypeError: Cannot read properties of undefined (reading 'amount')",
        (place("src/cart.mjs", 2, "total"), place("test/cart.test.mjs", 3)),
        ("'amount'", "'sum'"),
        (("169ms", "12ms"), (":2:32", ":4:32"), ("3.75s", "9s")),
    ),
    Case(
        "Go, a panic in a test",
        "--- FAIL: TestAt (0.00s)\npanic: runtime error: index out of range [3] with length 0 [recovered]\n"
        "\tpanic: runtime error: index out of range [3] with length 0\n\ngoroutine 6 [running]:\n"
        "testing.tRunner.func1.2({0x518c80, 0xc000018090})\n\t/usr/lib/go-1.19/src/testing/testing.go:1396 +0x24e\n"
        "panic({0x518c80, 0xc000018090})\n\t/usr/lib/go-1.19/src/runtime/panic.go:884 +0x212\n"
        "example.com/shop/cart.(*Cart).At(...)\n\t/w/shop/cart/cart.go:7\n"
        "example.com/shop/cart.TestAt(0x0?)\n\t/w/shop/cart/cart_test.go:7 +0x1a\nFAIL\n",
        "TestAt",
        "TestAt: panic: runtime error: index out of range [3] with length 0",
        (place("/w/shop/cart/cart.go", 7, "example.com/shop/cart.(*Cart).At"),),
        ("(*Cart).At", "(*Cart).First"),
        (("[3]", "[8]"), ("go-1.19", "go-1.22"), ("testing.go:1396", "testing.go:1401"), ("0xc000018090", "0xc00001a0d8")),
    ),
    Case(
        "Go, a data race",
        "==================\nWARNING: DATA RACE\nRead at 0x00c0000b21a8 by goroutine 9:\n  example.com/shop/cart.Count.func1()\n"
        "      /w/cart/cart.go:14 +0x74\n\nPrevious write at 0x00c0000b21a8 by goroutine 57:\n"
        "  example.com/shop/cart.Count.func1()\n      /w/cart/cart.go:14 +0x86\n==================\n"
        "--- FAIL: TestCount (0.01s)\n    testing.go:1319: race detected during execution of test\nFAIL\n",
        "",
        "DATA RACE in example.com/shop/cart.Count.func1",
        (place("/w/cart/cart.go", 14, "example.com/shop/cart.Count.func1"),),
        ("cart.Count.", "cart.Sum."),
        (("0x00c0000b21a8", "0x00c0000b3333"), ("goroutine 9:", "goroutine 12:"), (":14", ":19")),
    ),
    Case(
        "Java, nested causes",
        'Exception in thread "main" java.lang.RuntimeException: loading failed\n\tat shop.Service.load(Service.java:4)\n'
        "\tat shop.Main.main(Main.java:5)\nCaused by: java.lang.IllegalStateException: cannot find it\n"
        "\tat shop.Repo.find(Repo.java:3)\n\tat shop.Service.load(Service.java:4)\n\t... 1 more\n"
        "Caused by: java.lang.NullPointerException: no id\n"
        "\tat java.base/java.util.Objects.requireNonNull(Objects.java:235)\n\t... 23 more\n",
        "NullPointerException",
        "NullPointerException: no id (which brought java.lang.RuntimeException: loading failed)",
        (place("Repo.java", 3, "shop.Repo.find"), place("Service.java", 4, "shop.Service.load")),
        ("NullPointerException: no id", "IllegalArgumentException: no id"),
        (("23 more", "31 more"), ("Objects.java:235", "Objects.java:233"), ("Repo.java:3", "Repo.java:8")),
    ),
    Case(
        "Kotlin",
        "e: file:///w/src/main/kotlin/Cart.kt:12:9 Unresolved reference: totl\n\nFAILURE: Build failed\n",
        "",
        "Unresolved reference: totl",
        (place("/w/src/main/kotlin/Cart.kt", 12),),
        ("totl", "summ"),
        ((":12:", ":15:"), ("/w/", "/home/ann/shop/")),
    ),
    Case(
        "C#, the compiler on Windows",
        "Build started\nC:\\shop\\src\\Cart.cs(7,13): error CS0103: The name 'totl' does not exist in the current context "
        "[C:\\shop\\src\\shop.csproj]\n    0 Warning(s)\nTime Elapsed 00:00:01.53\n",
        "CS0103",
        "CS0103: The name 'totl' does not exist in the current context",
        (place("C:/shop/src/Cart.cs", 7),),
        ("'totl'", "'summ'"),
        (("(7,", "(9,"), ("01.53", "02.71"), ("C:\\shop", "D:\\a\\work")),
    ),
    Case(
        ".NET, nobody caught it",
        "Unhandled exception. System.InvalidOperationException: Sequence contains no elements\n"
        "   at System.Linq.ThrowHelper.ThrowNoElementsException()\n"
        "   at Shop.Cart.First(String sku) in /src/shop/Cart.cs:line 12\n   at Program.Main() in /src/shop/Program.cs:line 3\n",
        "InvalidOperationException",
        "InvalidOperationException: Sequence contains no elements",
        (place("/src/shop/Cart.cs", 12, "Shop.Cart.First"), place("/src/shop/Program.cs", 3, "Program.Main")),
        ("Shop.Cart.First", "Shop.Cart.Last"),
        (("line 12", "line 15"), ("/src/", "/app/")),
    ),
    Case(
        "PHP",
        "PHP Fatal error:  Uncaught InvalidArgumentException: no price of 'A-17' in /w/src/Cart.php:7\nStack trace:\n"
        "#0 /w/run.php(3): Shop\\Cart->check()\n#1 /w/run.php(4): start()\n#2 {main}\n  thrown in /w/src/Cart.php on line 7\n",
        "InvalidArgumentException",
        "InvalidArgumentException: no price of 'A-17'",
        (place("/w/src/Cart.php", 7), place("/w/src/Cart.php", 7), place("/w/run.php", 3, "check")),
        ("->check()", "->verify()"),
        ((":7\n", ":9\n"), ("'A-17'", "'B-4'"), ("/w/", "/var/www/html/")),
    ),
    Case(
        "PHPUnit",
        "PHPUnit 9.6.7\n\nFE   2 / 2 (100%)\n\nTime: 00:00.045, Memory: 4.00 MB\n\nThere was 1 error:\n\n"
        "1) CartTest::testCheck\nInvalidArgumentException: no price\n\n/w/src/Cart.php:7\n/w/tests/CartTest.php:6\n\nERRORS!\n",
        "CartTest::testCheck",
        "CartTest::testCheck: InvalidArgumentException: no price",
        (place("/w/src/Cart.php", 7), place("/w/tests/CartTest.php", 6)),
        ("no price", "no stock"),
        (("00:00.045", "00:01.3"), (":7", ":8")),
    ),
    Case(
        "Ruby",
        "/w/lib/cart.rb:5:in `first': undefined method `price' for nil:NilClass (NoMethodError)\n\n"
        "    @items.first.price\n                ^^^^^^\n\tfrom run.rb:2:in `<main>'\n",
        "NoMethodError",
        "NoMethodError: undefined method `price' for nil:NilClass",
        (place("/w/lib/cart.rb", 5), place("/w/lib/cart.rb", 5, "first"), place("run.rb", 2, "<main>")),
        ("in `first'", "in `last'"),
        ((":5:", ":8:"),),
    ),
    Case(
        "RSpec",
        "Failures:\n\n  1) Cart has a price\n     Failure/Error: def total = @items.sum { |item| item.fetch(:price) }\n\n"
        "     KeyError:\n       key not found: :price\n     # ./lib/cart.rb:3:in `block in total'\n"
        "     # ./spec/cart_spec.rb:4:in `block (2 levels) in <top (required)>'\n\nFinished in 0.05932 seconds\n"
        "3 examples, 1 failure\n",
        "Cart has a price",
        "Cart has a price: KeyError: key not found: :price",
        (place("./lib/cart.rb", 3, "total"),),
        ("not found: :price", "not found: :cost"),
        (("0.05932", "1.2"), (".rb:3", ".rb:6")),
    ),
    Case(
        "Minitest",
        "Run options: --seed 4071\n\nE\n\n  1) Error:\nCartTest#test_first:\nNoMethodError: undefined method `price' for nil\n"
        "    lib/cart.rb:5:in 'Cart#first'\n    test/cart_test.rb:5:in 'CartTest#test_first'\n\n"
        "1 runs, 0 assertions, 0 failures, 1 errors, 0 skips\n",
        "CartTest#test_first",
        "CartTest#test_first: NoMethodError: undefined method `price' for nil",
        (place("lib/cart.rb", 5, "first"),),
        ("method `price'", "method `cost'"),
        (("4071", "5"), ("cart.rb:5", "cart.rb:7")),
    ),
    Case(
        "Elixir",
        "** (KeyError) key :price not found in: %{cost: 3}\n    :erlang.map_get(:price, %{cost: 3})\n"
        '    (elixir 1.14.0) lib/enum.ex:1658: Enum."-map/2-lists^map/1-0-"/2\n    lib/cart.ex:2: Shop.Cart.total/1\n',
        "KeyError",
        "KeyError: key :price not found in: %{cost: 3}",
        (place("lib/cart.ex", 2, "Shop.Cart.total"),),
        ("key :price not", "key :cost not"),
        (("cost: 3", "cost: 9"), ("enum.ex:1658", "enum.ex:1700"), ("1.14.0", "1.17.2"), ("cart.ex:2", "cart.ex:4")),
    ),
    Case(
        "AddressSanitizer",
        "==8609==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000014 at pc 0x7f6282248061 bp 0x7ffc\n"
        "WRITE of size 30 at 0x602000000014 thread T0\n"
        "    #0 0x7f6282248060 in __interceptor_memcpy ../../../../src/libsanitizer/common/interceptors.inc:827\n"
        "    #1 0x55bfef4561cf in fill /w/main.c:3\n    #2 0x55bfef45624f in main /w/main.c:5\n\n==8609==ABORTING\n",
        "heap-buffer-overflow",
        "AddressSanitizer: heap-buffer-overflow in fill",
        (place("/w/main.c", 3, "fill"), place("/w/main.c", 5, "main")),
        ("in fill", "in copy"),
        (("8609", "91"), ("0x602000000014", "0x603000000044"), ("inc:827", "inc:899"), ("main.c:3", "main.c:8")),
    ),
    Case(
        "gdb",
        "Program received signal SIGSEGV, Segmentation fault.\n0x00005555555551a4 in total (n=2) at src/cart.c:5\n5\treturn 1;\n"
        "#0  0x00005555555551a4 in total (n=2) at src/cart.c:5\n#1  0x0000555555555200 in main (argc=2, argv=0x7ff) at main.c:9\n",
        "SIGSEGV",
        "SIGSEGV: Segmentation fault.",
        (place("src/cart.c", 5), place("src/cart.c", 5, "total"), place("main.c", 9, "main")),
        ("total", "taxed"),
        (("0x00005555555551a4", "0x00005555555559b0"), ("n=2", "n=7"), ("cart.c:5", "cart.c:6")),
    ),
    Case(
        "C++, nobody caught it",
        "terminate called after throwing an instance of 'std::runtime_error'\n  what():  no price of 17\n",
        "std::runtime_error",
        "std::runtime_error: no price of 17",
        (),
        ("no price", "no stock"),
        (("17", "4"),),
    ),
    Case(
        "CMake",
        "-- Detecting C compile features - done\nCMake Error at CMakeLists.txt:3 (find_package):\n"
        '  By not providing "FindFoo.cmake" in CMAKE_MODULE_PATH this project has\n  asked CMake to find "Foo".\n\n'
        "-- Configuring incomplete, errors occurred!\n",
        "",
        'By not providing "FindFoo.cmake" in CMAKE_MODULE_PATH this project has asked CMake to find "Foo".',
        (place("CMakeLists.txt", 3),),
        ("Foo", "Bar"),
        ((":3 ", ":5 "),),
    ),
    Case(
        "terraform",
        "╷\n│ Error: Reference to undeclared input variable\n│ \n│   on main.tf line 2, in resource \"null_resource\" \"a\":\n"
        "│    2:   triggers = var.nothing\n│ \n│ An input variable with the name \"nothing\" has not been declared.\n╵\n",
        "",
        'Reference to undeclared input variable: An input variable with the name "nothing" has not been declared.',
        (place("main.tf", 2),),
        ("undeclared input variable", "undeclared local value"),
        (("line 2,", "line 7,"),),
    ),
    Case(
        "git, a conflict",
        "Auto-merging f.txt\nCONFLICT (content): Merge conflict in src/cart.py\nAutomatic merge failed; fix conflicts\n",
        "",
        "CONFLICT (content): Merge conflict in src/cart.py",
        (),
        ("(content): Merge", "(modify/delete): Merge"),
    ),
    Case(
        "npm, a conflict of peers",
        "npm error code ERESOLVE\nnpm error ERESOLVE unable to resolve dependency tree\nnpm error\n"
        "npm error While resolving: shop@1.0.0\nnpm error Found: react@17.0.2\nnpm error\n"
        'npm error Could not resolve dependency:\nnpm error peer react@"^18.2.0" from react-dom@18.2.0\n'
        "npm error A complete log of this run can be found in: /home/ann/.npm/_logs/2026-05-20T17_24_41_788Z-debug-0.log\n",
        "ERESOLVE",
        'ERESOLVE unable to resolve dependency tree peer react@"^18.2.0" from react-dom@18.2.0',
        (),
        ("peer react@", "peer vue@"),
        (("17_24_41_788Z", "18_01_02_100Z"), ("/home/ann", "/root")),
    ),
    Case(
        "pip",
        "ERROR: Ignored the following yanked versions: 2.32.0\nERROR: Could not find a version that satisfies the requirement"
        " shop==999.0 (from versions: 0.2.0, 0.2.1)\nERROR: No matching distribution found for shop==999.0\n",
        "",
        "No matching distribution found for shop==999.0",
        (),
        ("shop", "till"),
        (("0.2.1)", "0.2.1, 0.3)"),),
    ),
    Case(
        "SQL",
        'psql:schema.sql:4: ERROR:  relation "orders" does not exist\nLINE 1: select * from orders;\n                      ^\n',
        "",
        'relation "orders" does not exist',
        (place("schema.sql", 4),),
        ('"orders"', '"order items"'),
        ((":4:", ":9:"),),
    ),
    Case(
        "docker build",
        "#8 [3/4] RUN python -m shop.check\n#8 0.412 Traceback (most recent call last):\n"
        '#8 0.412   File "/app/shop/check.py", line 6, in check\n#8 0.413     raise KeyError(sku)\n'
        "#8 0.413 KeyError: 'retries'\n#8 ERROR: process did not complete successfully: exit code: 1\n",
        "KeyError",
        "KeyError: 'retries'",
        (place("/app/shop/check.py", 6, "check"),),
        ("in check", "in verify"),
        (("#8 0.412", "#9 3.100"), ("line 6", "line 8"), ("/app/", "/srv/")),
    ),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_printed_error_is_parsed(case: Case) -> None:
    read = parse_error(case.text)

    assert (read.type, read.headline) == (case.type, case.headline)
    assert read.nearest_places[: len(case.near)] == case.near
    assert parse_error(case.text.replace(*case.other)).fingerprint != read.fingerprint
    for before, after in case.again:
        assert before in case.text
        assert parse_error(case.text.replace(before, after)).fingerprint == read.fingerprint, (before, after)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_colors_and_progress_bars_are_stripped(case: Case) -> None:
    lines = case.text.splitlines()
    coloured = "\r\n".join(f"\x1b[31m\x1b]8;;x://y\x1b\\{line}\x1b]8;;\x1b\\\x1b[0m" for line in lines)
    bar = "10%|#   |\r 50%|##  |\r100%|####|\r"

    def summarize(read: ParsedError) -> tuple[str, str, tuple[ErrorLocation, ...]]:
        return read.type, read.headline, read.nearest_places

    for text in (coloured, f"{bar}\n{case.text}", to_screen_text(f"{bar}{coloured}".encode())):
        assert summarize(parse_error(text)) == summarize(parse_error(case.text))
