"""Shell text → the commands it runs, word for word, in their order; found by the grammar, so that here-documents,
functions and loops are what they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
    r"(?:set|shopt|trap|local|declare|readonly|return|shift|exit|true|:|unset|umask|eval|wait|alias|break|continue|test"
    r"|\[|\[\[|read|echo|printf|export|usage)\b|\[|:$"
)
_THROUGH: Final = frozenset(
    {
        "program", "list", "if_statement", "elif_clause", "else_clause", "for_statement", "c_style_for_statement",
        "while_statement", "do_group", "compound_statement", "subshell", "case_statement", "case_item",
        "redirected_statement", "negated_command", "ERROR", "function_definition",
    }
)  # fmt: skip
_BASH: Final = frozenset({"bash"})
_COMMANDS: Final = frozenset({"command", "pipeline"})


def script(path: str, text: str) -> Iterator[Workflow]:
    """A shell script: what it runs."""
    if not _SHELL.match(text) and not path.endswith((".sh", ".bash")):
        return
    steps = commands(text)
    if steps:
        yield Workflow(name=path, steps=steps, origin="script", path=path, line=1, about=_about(text))


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
    found = []
    for node in _nodes(syntax.trees[0].root_node):
        told = original[node.start_byte : node.end_byte].decode("utf-8", "replace").strip()
        if told and (all_of or not _BOOKKEEPING.match(told)):
            found.append(step_of(told))
        if len(found) >= MOST_COMMANDS:
            break
    if not found and not all_of:
        return commands(text, all_of=True)
    return tuple(found)


def step_of(command: str, name: str = "") -> Step:
    """A step as it stands in a file."""
    lines = command.splitlines()
    told = "\n".join(lines[:MOST_LINES]) + ("\n…" if len(lines) > MOST_LINES else "")
    steps = steps_of(command)
    template = steps[0].template if steps else told.partition("\n")[0][:120]
    return Step(template, told[:LONGEST_COMMAND], name)


def _nodes(root: SyntaxNode) -> Iterator[SyntaxNode]:
    """The commands below `root` in their order; what is inside of a command is a part of it."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        redirected = node.type == "redirected_statement" and any(child.type in _COMMANDS for child in node.children)
        if node.type in _COMMANDS or redirected:
            yield node
        elif node.type in _THROUGH:
            waiting += reversed(node.children)


def _about(text: str) -> str:
    """The first sentence of the comment at the head of a script."""
    for line in text.splitlines()[1:12]:
        said = line.lstrip("# ").strip()
        if line.startswith("#") and len(said) > 8 and not said.startswith(("!", "shellcheck", "SPDX", "Copyright")):
            return said[:160]
        if line.strip() and not line.startswith("#"):
            return ""
    return ""
