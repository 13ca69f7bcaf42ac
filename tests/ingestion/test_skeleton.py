"""Skeletons: the lines of a file that a reader sees."""

from __future__ import annotations

import pytest

from hunchd.ingestion.parsing import parse_outline
from hunchd.ingestion.skeleton import render_skeleton

SOURCE = b'''
SETTING = 1
def _private(): pass
class Store(Base):
    def __init__(self, path: str) -> None:
        pass
    def get(self, key: str) -> bytes:
        """The value."""
    def _sweep(self): pass
    @property
    def size(self): return 1
def open_store(path: str) -> Store:
    """A store."""
'''


def test_signatures_are_nested_in_file_order() -> None:
    assert render_skeleton(parse_outline("store.py", SOURCE), max_lines=6).splitlines() == [
        "class Store(Base)",
        "    def __init__(path: str) -> None",
        "    def get(key: str) -> bytes",
        "    def size()",
        "def open_store(path: str) -> Store",
        "… 3 more: SETTING, _private, _sweep",
    ]


@pytest.mark.parametrize("most", [1, 2, 3, 5, 8, 20])
def test_skeleton_respects_line_limit(most: int) -> None:
    lines = render_skeleton(parse_outline("store.py", SOURCE), max_lines=most).splitlines()
    assert 1 <= len(lines) <= most
    assert all(len(line) <= 120 for line in lines)


def test_complete_skeleton_has_no_omission_line() -> None:
    assert "more" not in render_skeleton(parse_outline("store.py", SOURCE), max_lines=20)


def test_public_members_rank_before_private() -> None:
    shown = render_skeleton(parse_outline("store.py", SOURCE), max_lines=5)
    assert "get" in shown.rpartition("\n")[0]
    assert "_sweep" not in shown.rpartition("\n")[0]


def test_unexported_go_symbols_rank_last() -> None:
    source = b"package a\nfunc helper(n int) {}\nfunc Serve(addr string) error { return nil }\nfunc other() {}\n"
    assert (
        render_skeleton(parse_outline("a.go", source), max_lines=2).splitlines()[0] == "func Serve(addr string) error"
    )


def test_configuration_lists_keys_by_section() -> None:
    text = render_skeleton(
        parse_outline("a.toml", b'[build]\nsteps = 1\nkey = "s3cret"\n[test]\nfast = true\n'), max_lines=5
    )
    assert text == "build: steps, key\ntest: fast"


def test_common_configuration_keys_are_omitted() -> None:
    def render(path: str, source: bytes) -> str:
        return render_skeleton(parse_outline(path, source), max_lines=9)

    package = b'{"name": "a", "main": "a.js", "type": "module", "repository": {"url": "x"}, "bin": {"b": "c"}}'
    assert render("package.json", package) == "main, type\nbin: b"
    assert render(".pre-commit-config.yaml", b"repos:\n- repo: x\n") == ""
    workflow = b"on:\n- push\njobs:\n  test:\n    runs-on: x\n"
    assert render(".github/workflows/ci.yml", workflow) == "jobs: test"


def test_kubernetes_manifest_lists_resources() -> None:
    source = (
        b"---\napiVersion: v1\nkind: Service\nmetadata:\n  labels:\n    app: x\n  name: shop\nspec:\n  name: no\n"
        b"---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: 'shop-web'\n---\n"
    )
    outline = parse_outline("k8s/shop.yml", source)
    assert [(symbol.name, symbol.line) for symbol in outline.symbols] == [
        ("Service shop", 3),
        ("Deployment shop-web", 12),
    ]
    assert render_skeleton(outline, max_lines=9) == "Service shop, Deployment shop-web"


def test_prose_lists_sections_on_one_line() -> None:
    source = b"# Guide\n\n" + b"".join(b"## Part %d\n\n### Detail %d\n\n" % (n, n) for n in range(4))
    shown = render_skeleton(parse_outline("a.md", source), max_lines=6)
    assert shown == "sections: Guide · Part 0 · Part 1 · Part 2 · Part 3"


def test_file_without_symbols_has_no_skeleton() -> None:
    assert render_skeleton(parse_outline("a.txt", b"just words"), max_lines=5) == ""


def test_omission_line_has_no_duplicates() -> None:
    source = b"".join(b"class C%d:\n    def flush(self): pass\n" % n for n in range(8))
    assert render_skeleton(parse_outline("a.py", source), max_lines=5).splitlines()[-1].count("flush") == 1


def test_javascript_suites_and_tests_show_titles() -> None:
    source = b"""
    const fixture = load()
    describe('basket', () => {
      test('sums its items', async () => { const local = 1 })
      it.each([1, 2])('holds %d items', n => {})
    })
    describe.skip("till", function () {})
    test(title, () => {})
    """
    assert render_skeleton(parse_outline("basket.spec.ts", source), max_lines=9).splitlines() == [
        "const fixture = load()",
        "describe 'basket'",
        "    test 'sums its items'",
        "    it 'holds %d items'",
        "describe 'till'",
    ]


def test_ruby_suites_and_tests_show_titles() -> None:
    source = b"RSpec.describe Shop do\n  it 'sums' do\n    1\n  end\nend\n"
    assert render_skeleton(parse_outline("spec/shop_spec.rb", source), max_lines=9) == "describe 'Shop'\n    it 'sums'"


def test_tests_rank_before_their_helpers() -> None:
    source = b"class Colour(Enum):\n    RED = 1\nclass Cart:\n    pass\ndef test_add(): pass\ndef test_sum(): pass\n"

    in_tests = render_skeleton(parse_outline("tests/test_cart.py", source), max_lines=3).splitlines()
    elsewhere = render_skeleton(parse_outline("src/cart.py", source), max_lines=3).splitlines()

    assert in_tests[:2] == ["def test_add()", "def test_sum()"]
    assert elsewhere[:2] == ["class Colour(Enum)", "class Cart"]


def test_ci_workflow_shows_triggers_and_jobs() -> None:
    source = b"name: CI\non:\n  push:\npermissions:\n  contents: read\njobs:\n  tests:\n    runs-on: x\n"

    assert render_skeleton(parse_outline(".github/workflows/ci.yml", source), max_lines=9) == "on: push\njobs: tests"
    assert "permissions: contents" in render_skeleton(parse_outline("ci.yml", source), max_lines=9)


def test_long_value_is_named_in_omission_line() -> None:
    long = b"'" + b"x" * 200 + b"'"
    module = b"EXAMPLES = " + long + b"\nRETURN = " + long + b"\ndef main(): pass\n"
    settings = b"BASE = " + long + b"\nRETRIES = 3\nTIMEOUT = 9\n"

    assert render_skeleton(parse_outline("copy.py", module), max_lines=9) == "def main()\n… 2 more: EXAMPLES, RETURN"
    assert render_skeleton(parse_outline("settings.py", settings), max_lines=9).splitlines()[0] == "BASE = …"
