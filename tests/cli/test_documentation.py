"""The documentation matches the code."""

from __future__ import annotations

import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from hunchd.cli.command import NOUNS
from hunchd.cli.commands import COMMANDS
from hunchd.cli.parser import parse_arguments

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def shell_lines() -> Iterator[tuple[str, list[str]]]:
    """Yield every command of a shell block: its page and its words."""
    for page in PAGES:
        for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
            for line in block.replace("\\\n", " ").splitlines():  # a command may go on in the next line
                if words := shlex.split(line, comments=True):
                    yield page.name, words


@pytest.mark.parametrize(("page", "words"), [line for line in shell_lines() if line[1][0] == "hunch"])
def test_docs_shell_commands_parse(page: str, words: list[str]) -> None:
    given = words[1 : words.index(">")] if ">" in words else words[1:]

    assert parse_arguments(given).runs


@pytest.mark.parametrize("example", [each for command in COMMANDS for each in command.examples if "bench" not in each])
def test_help_examples_parse(example: str) -> None:
    words = shlex.split(example.partition("|")[0], comments=True)

    assert words[0] == "hunch"
    assert parse_arguments(words[1:]).runs


def test_docs_dev_commands_exist() -> None:
    usage = subprocess.run([ROOT / "dev", "help"], capture_output=True, text=True, check=True).stdout
    shown = [words for _, words in shell_lines() if words[0] == "./dev"]

    assert len(shown) >= 2
    for words in shown:
        assert f"./dev {words[1]} " in usage
        assert all((ROOT / word).exists() for word in words[2:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_docs_links_resolve(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def test_docs_pages_are_listed() -> None:
    docs = ROOT / "docs"
    listed = set(re.findall(r"\]\(((?:measurements/)?[\w-]+\.md)\)", (docs / "README.md").read_text()))
    pages = [*docs.glob("*.md"), *docs.glob("measurements/*.md")]

    assert listed == {page.relative_to(docs).as_posix() for page in pages} - {"README.md"}


def test_docs_inline_commands_exist() -> None:
    names = {command.name for command in COMMANDS} | {noun.name for noun in NOUNS} | {"COMMAND"}
    for page in PAGES:
        for name in re.findall(r"`hunch ([a-zA-Z-]+)", page.read_text()):
            assert name in names, f"{page.name}: hunch {name}"


def test_docs_explain_every_dependency() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    for requirement in wanted:
        name = re.split(r"[<>=~!\[; ]", requirement)[0]
        explained = "tree-sitter" if name.startswith("tree-sitter-") else name
        assert f"`{explained}`" in page, f"{name} is not in docs/dependencies.md"


def test_architecture_page_lists_every_folder() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    folders = [path.parent.name for path in (ROOT / "src" / "hunchd").glob("*/__init__.py")]

    assert len(folders) > 10
    for folder in folders:
        assert f"| `{folder}/` |" in page, folder


def test_dev_unknown_command_is_reported() -> None:
    told = subprocess.run([ROOT / "dev", "fly"], capture_output=True, text=True, check=False)

    assert told.returncode == 2
    assert told.stderr.startswith("./dev: there is no 'fly'.")
