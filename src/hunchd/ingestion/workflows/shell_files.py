"""Shell text → the commands it runs, word for word, in their order; found by the grammar, so that here-documents,
functions and loops are what they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from hunchd.domain.workflow import Step, Workflow
from hunchd.ingestion.definitions import SyntaxNode
from hunchd.ingestion.parsing import syntax_of
from hunchd.ingestion.workflows.steps import steps_of

MOST_COMMANDS: Final = 60  # of one text
LONGEST_TEXT: Final = 20_000  # bytes of shell that are parsed: half a second at the very worst
LONGEST_COMMAND: Final = 400
MOST_LINES: Final = 8  # of one command
_SHELL = re.compile(r"\A#!.*\b(?:ba|z|k|da)?sh\b")
_EXPRESSION = re.compile(r"\$\{\{.*?\}\}", re.DOTALL)
# Bookkeeping of the shell itself: no steps.
_BOOKKEEPING = re.compile(
    r"(?:\w+=\S*\s+)*(?:set|shopt|trap|local|declare|readonly|return|shift|exit|true|:|unset|umask|eval|wait|alias|break|continue|test"
    r"|\[|\[\[|read|echo|printf|export|usage|hash|type|which|command -v)\b|\[|:(?:\s|$)"
    r"|cat\s*<<(?![^\n]*>)"  # it only says something
    r"|(?:cd|pushd)\s[^\n]*(?:\$0|\$\{0|\bdirname\b|BASH_SOURCE|show-toplevel)|popd\b"  # where it begins
)
# A script that is told what to do: `case $1 in check) …`.
_TOLD = re.compile(r"\$\{?1\b")
_FIRST_ARGUMENT = re.compile(r"^\s*(\w+)=[\"']?\$\{?1\b", re.MULTILINE)
_TASK = re.compile(r"[a-z][\w:-]{1,29}")
LEAST_TASKS: Final = 2  # that make a script one of several
_THROUGH: Final = frozenset(
    {
        "program", "list", "if_statement", "elif_clause", "else_clause", "for_statement", "c_style_for_statement",
        "while_statement", "do_group", "compound_statement", "subshell", "case_statement", "case_item",
        "redirected_statement", "negated_command", "ERROR", "function_definition",
    }
)  # fmt: skip
# What stands before this word decides whether the rest is run.
_DECIDES: Final[Mapping[str, str]] = {"if_statement": "then", "elif_clause": "then"}
_NOT_ABOUT: Final = ("!", "shellcheck", "SPDX", "Copyright", "Redistribution", "Licensed", "This program is free")
_BASH: Final = frozenset({"bash"})
_COMMANDS: Final = frozenset({"command", "pipeline"})


def script(path: str, text: str) -> Iterator[Workflow]:
    """A shell script: what it runs."""
    if not _SHELL.match(text) and not path.endswith((".sh", ".bash")):
        return
    told = list(_tasks(path, text))
    if len(told) >= LEAST_TASKS:
        yield from told
        return
    steps = commands(text)
    if steps:
        yield Workflow(name=path, steps=steps, origin="script", path=path, line=1, about=_about(text))


def _tasks(path: str, text: str) -> Iterator[Workflow]:
    """What a script does by the name it is given: of its outermost `case`, each branch with what is run there."""
    syntax = syntax_of("step.sh", text.encode()[:LONGEST_TEXT], _BASH)
    if syntax is None:
        return
    root, source = syntax.trees[0].root_node, syntax.source

    def said(node: SyntaxNode) -> str:
        return source[node.start_byte : node.end_byte].decode("utf-8", "replace").strip()

    named = frozenset(_FIRST_ARGUMENT.findall(text))
    own = {said(node.children[0]).split()[-1] for node in root.children if node.type == "function_definition"}
    for case in (node for node in root.children if node.type == "case_statement"):
        asked = said(case.children[1])
        if not (_TOLD.search(asked) or asked.strip("\"'${}") in named):
            continue
        for item in (node for node in case.children if node.type == "case_item"):
            name = said(item.children[0]).strip("\"'")
            done = [step for step in _steps(item, source, all_of=False) if step.command.split()[0] not in own]
            if _TASK.fullmatch(name) and done:
                yield Workflow(
                    name=f"./{path} {name}",
                    steps=tuple(done),
                    origin="script",
                    path=path,
                    line=source.count(b"\n", 0, item.start_byte) + 1,
                    about=_usage(path, name, text),
                )


def _usage(path: str, name: str, text: str) -> str:
    """What a script's own usage says of one of its tasks."""
    script = re.escape(path.rpartition("/")[2])
    found = re.search(rf"^\W*(?:\S*/)?{script} {re.escape(name)}\b[^\n]*?\s{{2,}}(\S[^\n]*)$", text, re.MULTILINE)
    return found[1].strip()[:160] if found else ""


def hook(path: str, text: str) -> Iterator[Workflow]:
    """A hook of git's that is kept in the repository."""
    name = path.rpartition("/")[2]
    if name.startswith(("_", ".")) or "." in name:
        return
    steps = commands(text)
    if steps:
        yield Workflow(name=f"{name} hook", steps=steps, origin="hook", path=path, line=1)


def commands(text: str, *, all_of: bool = False) -> tuple[Step, ...]:
    """The commands of a piece of shell; with `all_of` those too that only keep the books or say something."""
    if not text.strip():
        return ()
    # What CI fills in is one word to the shell; the length stays, and with it each place.
    masked = _EXPRESSION.sub(lambda found: "_" * len(found[0].encode()), text)
    source = masked.encode()[:LONGEST_TEXT]
    syntax = syntax_of("step.sh", source, _BASH)
    if syntax is None:
        return ()
    original = text.encode() if syntax.source == source else syntax.source
    found = _steps(syntax.trees[0].root_node, original, all_of=all_of)
    return tuple(found) if found or all_of else commands(text, all_of=True)


def only_keeps_books(steps: Sequence[Step]) -> bool:
    """Whether all of these are the shell's own: what a loop reads, what is printed."""
    return all(_BOOKKEEPING.match(step.command) for step in steps)


def _steps(root: SyntaxNode, original: bytes, *, all_of: bool) -> list[Step]:
    found: list[Step] = []
    for node in _nodes(root):
        told = original[node.start_byte : node.end_byte].decode("utf-8", "replace").strip()
        if told and (all_of or not _BOOKKEEPING.match(told)):
            found.append(step_of(told))
        if len(found) >= MOST_COMMANDS:
            break
    return found


def step_of(command: str, name: str = "") -> Step:
    """A step as it stands in a file."""
    lines = command.splitlines()
    told = "\n".join(lines[:MOST_LINES]) + ("\n…" if len(lines) > MOST_LINES else "")
    steps = steps_of(command)
    template = steps[0].template if steps else told.partition("\n")[0][:120]
    return Step(template, told[:LONGEST_COMMAND], name)


def _nodes(root: SyntaxNode) -> Iterator[SyntaxNode]:
    """The commands below `root` in their order; what is inside of a command is a part of it, and what only decides
    whether others run is none."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        redirected = node.type == "redirected_statement" and any(child.type in _COMMANDS for child in node.children)
        if node.type in _COMMANDS or redirected:
            yield node
        elif node.type in _THROUGH:
            waiting += reversed(_after(_DECIDES.get(node.type, ""), node.children))


def _after(word: str, nodes: Sequence[SyntaxNode]) -> Sequence[SyntaxNode]:
    """The nodes behind the keyword `word`; all where it is not there."""
    at = next((place for place, node in enumerate(nodes) if node.type == word), -1)
    return nodes[at + 1 :]


def _about(text: str) -> str:
    """The first sentence of the comment at the head of a script."""
    for line in text.splitlines()[1:12]:
        said = line.lstrip("# ").strip()
        if line.startswith("#") and len(said) > 8 and not said.startswith(_NOT_ABOUT):
            return said[:160]
        if line.strip() and not line.startswith("#"):
            return ""
    return ""
