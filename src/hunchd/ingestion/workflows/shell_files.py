"""Extraction of commands from shell text by its grammar.

Here-documents, functions and loops are recognized; commands are verbatim and in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from hunchd.domain.workflow import Step, Workflow
from hunchd.ingestion.definitions import SyntaxNode
from hunchd.ingestion.parsing import syntax_of
from hunchd.ingestion.workflows.steps import steps_of

MOST_COMMANDS: Final = 60  # of one text
LONGEST_TEXT: Final = 20_000  # bytes of shell parsed: at most half a second
LONGEST_COMMAND: Final = 400
MOST_LINES: Final = 8  # of one command
_SHELL = re.compile(r"\A#!.*\b(?:ba|z|k|da)?sh\b")
_EXPRESSION = re.compile(r"\$\{\{.*?\}\}", re.DOTALL)
# Shell bookkeeping, which is no step.
_BOOKKEEPING = re.compile(
    r"(?:\w+=\S*\s+)*(?:set|shopt|trap|local|declare|readonly|return|shift|exit|true|:|unset|umask|eval|wait|alias"
    r"|break|continue|test"
    r"|\[|\[\[|read|echo|printf|export|usage|hash|type|which|command -v)\b|\[|:(?:\s|$)"
    r"|cat\s*<<(?![^\n]*>)"  # prints only
    r"|(?:cd|pushd)\s[^\n]*(?:\$0|\$\{0|\bdirname\b|BASH_SOURCE|show-toplevel)|popd\b"  # to the script's folder
)
# A script with tasks: `case $1 in check) …`.
_TOLD = re.compile(r"\$\{?1\b")
_FIRST_ARGUMENT = re.compile(r"^\s*(\w+)=[\"']?\$\{?1\b", re.MULTILINE)
_TASK = re.compile(r"[a-z][\w:-]{1,29}")
LEAST_TASKS: Final = 2  # from which a script is split into tasks
_THROUGH: Final = frozenset(
    {
        "program", "list", "if_statement", "elif_clause", "else_clause", "for_statement", "c_style_for_statement",
        "while_statement", "do_group", "compound_statement", "subshell", "case_statement", "case_item",
        "redirected_statement", "negated_command", "ERROR", "function_definition",
    }
)  # fmt: skip
# Nodes before this keyword are the condition.
_DECIDES: Final[Mapping[str, str]] = {"if_statement": "then", "elif_clause": "then"}
_NOT_ABOUT: Final = ("!", "shellcheck", "vim:", "-*-")
_LICENCE: Final = re.compile(
    r"licen[sc]e|copyright|\(c\) \d{4}|warrant|permission (?:is|to)\b|redistribut|\bas[- ]is\b|applicable law|spdx"
    r"|liabil"
    r"|all rights reserved|free software|\bGNU\b|without restriction|noninfringement",
    re.IGNORECASE,
)
_HEAD_LINES: Final = 60
_BASH: Final = frozenset({"bash"})
_COMMANDS: Final = frozenset({"command", "pipeline"})


def script(path: str, text: str) -> Iterator[Workflow]:
    """Yield the workflows of a shell script."""
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
    """Yield the tasks of a script.

    They are the branches of its outermost `case` on the first argument.
    """
    syntax = syntax_of("step.sh", text.encode()[:LONGEST_TEXT], _BASH)
    if syntax is None:
        return
    root, source = syntax.trees[0].root_node, syntax.source

    def node_text(node: SyntaxNode) -> str:
        return source[node.start_byte : node.end_byte].decode("utf-8", "replace").strip()

    named = frozenset(_FIRST_ARGUMENT.findall(text))
    own = {node_text(node.children[0]).split()[-1] for node in root.children if node.type == "function_definition"}
    for case in (node for node in root.children if node.type == "case_statement"):
        asked = node_text(case.children[1])
        if not (_TOLD.search(asked) or asked.strip("\"'${}") in named):
            continue
        for item in (node for node in case.children if node.type == "case_item"):
            name = node_text(item.children[0]).strip("\"'")
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
    """Return the description of a task in the script's usage text."""
    script = re.escape(path.rpartition("/")[2])
    found = re.search(rf"^\W*(?:\S*/)?{script} {re.escape(name)}\b[^\n]*?\s{{2,}}(\S[^\n]*)$", text, re.MULTILINE)
    return found[1].strip()[:160] if found else ""


def hook(path: str, text: str) -> Iterator[Workflow]:
    """Yield the workflow of a git hook in the repository."""
    name = path.rpartition("/")[2]
    if name.startswith(("_", ".")) or "." in name:
        return
    steps = commands(text)
    if steps:
        yield Workflow(name=f"{name} hook", steps=steps, origin="hook", path=path, line=1)


def commands(text: str, *, all_of: bool = False) -> tuple[Step, ...]:
    """Return the commands of a shell text.

    With `all_of`, shell bookkeeping and output commands are included.
    """
    if not text.strip():
        return ()
    # CI expressions become one word of the same byte length, so that offsets stay valid.
    masked = _EXPRESSION.sub(lambda found: "_" * len(found[0].encode()), text)
    source = masked.encode()[:LONGEST_TEXT]
    syntax = syntax_of("step.sh", source, _BASH)
    if syntax is None:
        return ()
    original = text.encode() if syntax.source == source else syntax.source
    found = _steps(syntax.trees[0].root_node, original, all_of=all_of)
    return tuple(found) if found or all_of else commands(text, all_of=True)


def only_keeps_books(steps: Sequence[Step]) -> bool:
    """Return True if all commands are shell bookkeeping or output."""
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
    """Build a step from a command as written in a file."""
    lines = command.splitlines()
    told = "\n".join(lines[:MOST_LINES]) + ("\n…" if len(lines) > MOST_LINES else "")
    steps = steps_of(command)
    template = steps[0].template if steps else told.partition("\n")[0][:120]
    return Step(template, told[:LONGEST_COMMAND], name)


def _nodes(root: SyntaxNode) -> Iterator[SyntaxNode]:
    """Yield the command nodes below `root` in order.

    Nested commands belong to the outer one; conditions are skipped.
    """
    waiting = [root]
    while waiting:
        node = waiting.pop()
        redirected = node.type == "redirected_statement" and any(child.type in _COMMANDS for child in node.children)
        if node.type in _COMMANDS or redirected:
            yield node
        elif node.type in _THROUGH:
            waiting += reversed(_after(_DECIDES.get(node.type, ""), node.children))


def _after(word: str, nodes: Sequence[SyntaxNode]) -> Sequence[SyntaxNode]:
    """Return the nodes after the keyword `word`.

    All if it does not occur.
    """
    at = next((place for place, node in enumerate(nodes) if node.type == word), -1)
    return nodes[at + 1 :]


def _about(text: str) -> str:
    """Return the first line of a script's head comments that is not of a licence."""
    for paragraph in _head_comments(text):
        if not _LICENCE.search(" ".join(paragraph)):
            said = (line for line in paragraph if len(line) > 8 and not line.startswith(_NOT_ABOUT))
            if (first := next(said, "")) != "":
                return first[:160]
    return ""


def _head_comments(text: str) -> Iterator[list[str]]:
    """Yield the paragraphs of comment before the first command."""
    paragraph: list[str] = []
    for line in text.splitlines()[:_HEAD_LINES]:
        said = line.lstrip("# ").strip() if line.startswith("#") and not line.startswith("#!") else ""
        if said:
            paragraph.append(said)
            continue
        yield paragraph
        paragraph = []
        if line.strip() and not line.startswith("#"):
            return
    yield paragraph
