"""Predictions for tracebacks: files of the trace, names and modules of the message."""

from __future__ import annotations

import pytest

from hunchd.domain.code import FileOutline, Symbol
from hunchd.domain.context import Focus
from hunchd.domain.history import PathChange, Unit
from hunchd.prediction import traces
from hunchd.prediction.predictor import Predictor

PATHS = ("src/shop/cart.py", "src/shop/price.py", "src/shop/web/app.py", "src/shop/mail.py", "tests/test_cart.py")

NATIVE = """Traceback (most recent call last):
  File "/v/lib/python3.12/site-packages/_pytest/python.py", line 159, in pytest_pyfunc_call
    result = testfunction(**testargs)
  File "/tmp/x/shop/tests/test_cart.py", line 9, in test_total
    assert Cart().total() == 3
  File "/tmp/x/shop/src/shop/cart.py", line 12, in total
    return sum(rounded(p) for p in prices)
  File "/tmp/x/shop/src/shop/price.py", line 3, in rounded
    raise ValueError("no price")
ValueError: no price
"""
SHORT = """tests/test_cart.py:9: in test_total
    assert Cart().total() == 3
src/shop/cart.py:12: in total
    return sum(rounded(p) for p in prices)
src/shop/price.py:3: in rounded
    raise ValueError("no price")
E   ValueError: no price
"""
NODE = """ValueError: no price
    at rounded (/srv/app/src/shop/price.py:3:1)
    at total (/srv/app/src/shop/cart.py:12:1)
    at node:internal/main/run_main_module:28:49
"""


@pytest.fixture
def predictor() -> Predictor:
    learned = Predictor()
    for number in range(6):
        path = PATHS[number % len(PATHS)]
        learned.learn_unit(unit(number, path, "tests/test_cart.py" if path.endswith("cart.py") else path))
    for path in PATHS:
        name = path.rsplit("/", 1)[-1].removesuffix(".py")
        learned.update_content(outline(path, {"price": ("rounded",), "mail": ("send_receipt",)}.get(name, (name,))))
    return learned


def unit(number: int, *paths: str) -> Unit:
    changes = tuple(PathChange("M", path) for path in dict.fromkeys(paths))
    sha = f"{number:040x}"
    return Unit(sha=sha, parents=(), author="A", email="a@b.c", at=number, subject=f"work {number}", changes=changes)


def outline(path: str, names: tuple[str, ...]) -> FileOutline:
    symbols = tuple(Symbol(name, "function", 1, 2, f"def {name}()") for name in names)
    return FileOutline(path, "", "python", 10, 2, symbols=symbols, words=dict.fromkeys(names, 1))


def named(text: str, predictor: Predictor) -> list[str]:
    return [predictor.state.files.paths[file] for file in traces.list_files(text, predictor.state)]


def predicted(text: str, predictor: Predictor, file: str | None = None) -> list[str]:
    told = predictor.predict(Focus(project="p", file=file, errors=(text,)), now=10)
    return [file.path for file in told.files]


@pytest.mark.parametrize(
    "text",
    [
        "ModuleNotFoundError: No module named 'nowhere'",
        "E: Unable to locate package: work on mail and the price of a cart",
        "Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\nKeyError: 'no_such_key'",
    ],
)
def test_unrelated_error_changes_no_prediction(text: str, predictor: Predictor) -> None:
    without = predictor.predict(Focus(project="p", file=PATHS[0]), now=10)
    assert predictor.predict(Focus(project="p", file=PATHS[0], errors=(text,)), now=10) == without


@pytest.mark.parametrize("text", ["error: `send_receipt` takes 2 arguments", "undefined: shop.send_receipt"])
def test_error_naming_definition_predicts_its_file(text: str, predictor: Predictor) -> None:
    assert predicted(text, predictor, file=PATHS[0])[0] == "src/shop/mail.py"


@pytest.mark.parametrize("text", [NATIVE, SHORT], ids=["native", "short"])
def test_raise_site_is_first_without_libraries(text: str, predictor: Predictor) -> None:
    assert named(text, predictor) == ["src/shop/price.py", "src/shop/cart.py", "tests/test_cart.py"]


@pytest.mark.parametrize("noise", ["aB3+/", "a.", "_a", "/", "\\", "-"])
def test_encoded_data_before_trace_is_ignored(noise: str, predictor: Predictor) -> None:
    """Regression: each character was tried as the start of a path, which took ten seconds."""
    text = f"{noise * (15_000 // len(noise))}\n{NODE}"

    assert traces.parse_errors([text], predictor.state).files == traces.parse_errors([NODE], predictor.state).files


def test_node_trace_keeps_raise_site_first(predictor: Predictor) -> None:
    assert named(NODE, predictor) == ["src/shop/price.py", "src/shop/cart.py"]


def test_installed_code_matches_by_whole_path(predictor: Predictor) -> None:
    installed = "/v/lib/python3.12/site-packages/"

    assert named(f'File "{installed}shop/price.py", line 3, in rounded', predictor) == ["src/shop/price.py"]
    assert named(f'File "{installed}other/price.py", line 3, in rounded', predictor) == []
    assert named('File "/usr/lib/python3.12/mail.py", line 3, in send', predictor) == []


def test_trace_predicts_sources_without_its_test(predictor: Predictor) -> None:
    told = predicted(NATIVE, predictor)

    assert set(told[:2]) == {"src/shop/price.py", "src/shop/cart.py"}
    assert "tests/test_cart.py" not in told


def test_open_raise_site_is_not_predicted(predictor: Predictor) -> None:
    told = predicted(NATIVE, predictor, "src/shop/price.py")

    assert "src/shop/price.py" not in told
    assert "src/shop/cart.py" in told[:2]


def test_name_in_message_predicts_its_definition(predictor: Predictor) -> None:
    text = "E   TypeError: send_receipt() got an unexpected keyword argument 'to'\n"

    assert predicted(text, predictor)[0] == "src/shop/mail.py"


@pytest.mark.parametrize(
    "text",
    [
        "# shop\nsrc/shop/price.py:3:12: undefined: send_receipt\nsrc/shop/price.py:9:1: x is unused\nFAIL\tshop",
        "src/shop/price.py(3,12): error TS2304: Cannot find name 'send_receipt'.\n\nFound 1 error.",
        "src/shop/price.py:3:12: error: 'send_receipt' undeclared\nmake: *** [all] Error 1",
    ],
    ids=["go", "tsc", "gcc"],
)
def test_compiler_message_is_parsed(text: str, predictor: Predictor) -> None:
    assert "send_receipt" in traces.parse_errors([text], predictor.state).message.splitlines()[0]
    assert set(predicted(text, predictor)[:2]) == {"src/shop/price.py", "src/shop/mail.py"}


def test_blamed_module_is_predicted(predictor: Predictor) -> None:
    text = "ImportError: cannot import name 'create' from 'shop.web.app'\n"

    assert predicted(text, predictor)[0] == "src/shop/web/app.py"


def test_text_without_locations_yields_no_files(predictor: Predictor) -> None:
    assert predicted("\n", predictor)
    assert traces.parse_errors(["it broke"], predictor.state).files == ()
