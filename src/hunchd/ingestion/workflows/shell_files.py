"""Extraction of commands from shell text, using the shell grammar.

Here-documents, functions and loops are recognized; commands are returned verbatim and in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from hunchd.domain.workflow import Workflow, WorkflowStep
from hunchd.ingestion.definitions import SyntaxNode
from hunchd.ingestion.parsing import parse_syntax
from hunchd.ingestion.workflows.steps import parse_steps

MAX_COMMANDS: Final = 60  # of one text
MAX_TEXT_BYTES: Final = 20_000  # bytes of shell parsed: at most half a second
MAX_COMMAND: Final = 400
MAX_LINES: Final = 8  # of one command
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
_FIRST_PARAMETER = re.compile(r"\$\{?1\b")
_FIRST_ARGUMENT = re.compile(r"^\s*(\w+)=[\"']?\$\{?1\b", re.MULTILINE)
_TASK = re.compile(r"[a-z][\w:-]{1,29}")
MIN_TASKS: Final = 2  # from which a script is split into tasks
_TRANSPARENT_NODES: Final = frozenset(
    {
        "program", "list", "if_statement", "elif_clause", "else_clause", "for_statement", "c_style_for_statement",
        "while_statement", "do_group", "compound_statement", "subshell", "case_statement", "case_item",
        "redirected_statement", "negated_command", "ERROR", "function_definition",
    }
)  # fmt: skip
# Nodes before this keyword are the condition.
_CONDITION_END: Final[Mapping[str, str]] = {"if_statement": "then", "elif_clause": "then"}
_NOT_DESCRIPTION: Final = ("!", "shellcheck", "vim:", "-*-")
_LICENCE: Final = re.compile(
    r"licen[sc]e|copyright|\(c\) \d{4}|warrant|permission (?:is|to)\b|redistribut|\bas[- ]is\b|applicable law|spdx"
    r"|liabil"
    r"|all rights reserved|free software|\bGNU\b|without restriction|noninfringement",
    re.IGNORECASE,
)
_HEAD_LINES: Final = 60
_BASH: Final = frozenset({"bash"})
_COMMAND_NODES: Final = frozenset({"command", "pipeline"})


def read_script(path: str, text: str) -> Iterator[Workflow]:
    """Yield the workflows of a shell script."""
    if not _SHELL.match(text) and not path.endswith((".sh", ".bash")):
        return
    tasks = list(_read_tasks(path, text))
    if len(tasks) >= MIN_TASKS:
        yield from tasks
        return
    steps = split_commands(text)
    if steps:
        yield Workflow(name=path, steps=steps, origin="script", path=path, line=1, about=_find_description(text))


def _read_tasks(path: str, text: str) -> Iterator[Workflow]:
    """Yield the tasks of a script.

    Tasks are the branches of the script's outermost `case` on its first argument.
    """
    syntax = parse_syntax("step.sh", text.encode()[:MAX_TEXT_BYTES], _BASH)
    if syntax is None:
        return
    root, source = syntax.trees[0].root_node, syntax.source

    def node_text(node: SyntaxNode) -> str:
        return source[node.start_byte : node.end_byte].decode("utf-8", "replace").strip()

    parameter_names = frozenset(_FIRST_ARGUMENT.findall(text))
    own_functions = {
        node_text(node.children[0]).split()[-1] for node in root.children if node.type == "function_definition"
    }
    for case in (node for node in root.children if node.type == "case_statement"):
        case_word = node_text(case.children[1])
        if not (_FIRST_PARAMETER.search(case_word) or case_word.strip("\"'${}") in parameter_names):
            continue
        for item in (node for node in case.children if node.type == "case_item"):
            name = node_text(item.children[0]).strip("\"'")
            steps = [
                step
                for step in _collect_steps(item, source, include_bookkeeping=False)
                if step.command.split()[0] not in own_functions
            ]
            if _TASK.fullmatch(name) and steps:
                yield Workflow(
                    name=f"./{path} {name}",
                    steps=tuple(steps),
                    origin="script",
                    path=path,
                    line=source.count(b"\n", 0, item.start_byte) + 1,
                    about=_find_usage(path, name, text),
                )


def _find_usage(path: str, name: str, text: str) -> str:
    """Return the description of a task from the script's usage text."""
    script = re.escape(path.rpartition("/")[2])
    match = re.search(rf"^\W*(?:\S*/)?{script} {re.escape(name)}\b[^\n]*?\s{{2,}}(\S[^\n]*)$", text, re.MULTILINE)
    return match[1].strip()[:160] if match else ""


def read_hook(path: str, text: str) -> Iterator[Workflow]:
    """Yield the workflow of a git hook in the repository."""
    name = path.rpartition("/")[2]
    if name.startswith(("_", ".")) or "." in name:
        return
    steps = split_commands(text)
    if steps:
        yield Workflow(name=f"{name} hook", steps=steps, origin="hook", path=path, line=1)


def split_commands(text: str, *, include_bookkeeping: bool = False) -> tuple[WorkflowStep, ...]:
    """Return the commands of a shell text as steps.

    With `include_bookkeeping`, shell bookkeeping and output commands are included.
    """
    if not text.strip():
        return ()
    # CI expressions become one word of the same byte length, so that offsets stay valid.
    masked_text = _EXPRESSION.sub(lambda steps: "_" * len(steps[0].encode()), text)
    source = masked_text.encode()[:MAX_TEXT_BYTES]
    syntax = parse_syntax("step.sh", source, _BASH)
    if syntax is None:
        return ()
    original = text.encode() if syntax.source == source else syntax.source
    steps = _collect_steps(syntax.trees[0].root_node, original, include_bookkeeping=include_bookkeeping)
    return tuple(steps) if steps or include_bookkeeping else split_commands(text, include_bookkeeping=True)


def is_only_bookkeeping(steps: Sequence[WorkflowStep]) -> bool:
    """Return True if all commands are shell bookkeeping or output."""
    return all(_BOOKKEEPING.match(step.command) for step in steps)


def _collect_steps(root: SyntaxNode, original: bytes, *, include_bookkeeping: bool) -> list[WorkflowStep]:
    steps: list[WorkflowStep] = []
    for node in _iter_command_nodes(root):
        command = original[node.start_byte : node.end_byte].decode("utf-8", "replace").strip()
        if command and (include_bookkeeping or not _BOOKKEEPING.match(command)):
            steps.append(make_step(command))
        if len(steps) >= MAX_COMMANDS:
            break
    return steps


def make_step(command: str, name: str = "") -> WorkflowStep:
    """Build a step from a command as written in a file."""
    lines = command.splitlines()
    shown_command = "\n".join(lines[:MAX_LINES]) + ("\n…" if len(lines) > MAX_LINES else "")
    steps = parse_steps(command)
    template = steps[0].template if steps else shown_command.partition("\n")[0][:120]
    return WorkflowStep(template, shown_command[:MAX_COMMAND], name)


def _iter_command_nodes(root: SyntaxNode) -> Iterator[SyntaxNode]:
    """Yield the command nodes below `root` in order.

    Nested commands belong to the outer one; conditions are skipped.
    """
    pending = [root]
    while pending:
        node = pending.pop()
        is_redirected = node.type == "redirected_statement" and any(
            child.type in _COMMAND_NODES for child in node.children
        )
        if node.type in _COMMAND_NODES or is_redirected:
            yield node
        elif node.type in _TRANSPARENT_NODES:
            pending += reversed(_nodes_after(_CONDITION_END.get(node.type, ""), node.children))


def _nodes_after(word: str, nodes: Sequence[SyntaxNode]) -> Sequence[SyntaxNode]:
    """Return the nodes after the keyword `word`.

    Returns all nodes if the keyword does not occur.
    """
    at = next((place for place, node in enumerate(nodes) if node.type == word), -1)
    return nodes[at + 1 :]


def _find_description(text: str) -> str:
    """Return the first line of a script's opening comment.

    Comments with a licence are skipped.
    """
    for paragraph in _head_comments(text):
        if not _LICENCE.search(" ".join(paragraph)):
            comment = (line for line in paragraph if len(line) > 8 and not line.startswith(_NOT_DESCRIPTION))
            if (first := next(comment, "")) != "":
                return first[:160]
    return ""


def _head_comments(text: str) -> Iterator[list[str]]:
    """Yield the paragraphs of comments before the first command, as lists of lines."""
    paragraph: list[str] = []
    for line in text.splitlines()[:_HEAD_LINES]:
        comment_text = line.lstrip("# ").strip() if line.startswith("#") and not line.startswith("#!") else ""
        if comment_text:
            paragraph.append(comment_text)
            continue
        yield paragraph
        paragraph = []
        if line.strip() and not line.startswith("#"):
            return
    yield paragraph
