"""Parser for shell code in scripts, hooks, recipes and CI steps.

Commands are returned verbatim and in order; the code is split at separators outside quotations. From a shell
script, only the name, the description and the tasks are read, not the commands that it runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hunchd.domain.workflow import Workflow, WorkflowStep

MAX_COMMANDS: Final = 60  # per text
MAX_TEXT: Final = 20_000  # characters of shell code
MAX_COMMAND: Final = 400
MAX_LINES: Final = 8  # per command
MIN_TASKS: Final = 2  # number of tasks from which a script is split into them
_SHELL = re.compile(r"\A#!.*\b(?:ba|z|k|da)?sh\b")
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1[^\n]*\n.*?(?:^\s*\2\s*$|\Z)", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
# A quotation, a substitution, an escaped character, or a separator between two commands.
_TOKEN = re.compile(
    r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\$\{\{.*?\}\}|\$\([^()]*(?:\([^()]*\)[^()]*)*\)|`[^`]*`|\\.|(&&|\|\||;;?|\n)",
    re.DOTALL,
)
_KEYWORDS = re.compile(r"(?:(?:do|then|else|if|elif|while|until|!|\{|time)[\s\\]+)*")
# Shell bookkeeping, which does not count as a step.
_BOOKKEEPING = re.compile(
    r"(?:\w+=\S*\s+)*(?:set|shopt|trap|local|declare|readonly|return|shift|exit|true|unset|umask|eval|wait|alias|break"
    r"|continue|test|\[|\[\[|read|echo|printf|export|usage|hash|type|which|command -v|for|case|select|function|done|fi"
    r"|esac|do|then|else|popd)\b|[\[:}){(]|\w+=\S*$|\w+\s*\(\)|[\w|*\"-]+\)\s"
    r"|(?:cd|pushd)\s[^\n]*(?:\$0|\$\{0|\bdirname\b|BASH_SOURCE|show-toplevel)"  # changes to the script's folder
)
# A script with tasks: `case $1 in check) …`, where the first argument may have a name.
_DISPATCH = re.compile(r"^case [\"']?\$\{?(\w+)[^\n]*\bin\b(.*?)^esac", re.DOTALL | re.MULTILINE)
_FIRST_ARGUMENT = re.compile(r"^\s*(\w+)=[\"']?\$\{?1\b", re.MULTILINE)
_TASK = re.compile(r"^\s*\(?[\"']?([a-z][\w:-]{1,29})[\"']?(?:\s*\|[^)\n]*)?\)", re.MULTILINE)
_NO_TASKS: Final = frozenset({"help"})
_NOT_DESCRIPTION: Final = ("!", "shellcheck", "vim:", "-*-")
_LICENCE: Final = re.compile(
    r"licen[sc]e|copyright|\(c\) \d{4}|warrant|permission (?:is|to)\b|redistribut|\bas[- ]is\b|applicable law|spdx"
    r"|liabil|all rights reserved|free software|\bGNU\b|without restriction|noninfringement",
    re.IGNORECASE,
)
_HEAD_LINES: Final = 60


def read_script(path: str, text: str) -> Iterator[Workflow]:
    """Yield the workflow of a shell script.

    If the script has several tasks, yields one workflow for each. Yields nothing if the file is not a shell script.
    """
    if not _SHELL.match(text) and not path.endswith((".sh", ".bash")):
        return
    tasks = _find_tasks(text)
    if len(tasks) < MIN_TASKS:
        yield _build_script(path, path, 1, _find_description(text))
        return
    for task, line in tasks.items():
        yield _build_script(f"./{path} {task}", path, line, _find_usage(path, task, text))


def _build_script(command: str, path: str, line: int, about: str) -> Workflow:
    return Workflow(name=command, steps=(WorkflowStep(command),), origin="script", path=path, line=line, about=about)


def _find_tasks(text: str) -> dict[str, int]:
    """Return the tasks of a script, with their line numbers.

    Tasks are the branches of an outermost `case` on the script's first argument.
    """
    parameters = {"1", *_FIRST_ARGUMENT.findall(text)}
    return {
        task[1]: len(text[: dispatch.start(2) + task.start(1)].split("\n"))
        for dispatch in _DISPATCH.finditer(text[:MAX_TEXT])
        if dispatch[1] in parameters
        for task in _TASK.finditer(dispatch[2])
        if task[1] not in _NO_TASKS
    }


def _find_usage(path: str, name: str, text: str) -> str:
    """Return the description of a task from the script's usage text.

    Returns "" if the usage text does not describe the task.
    """
    script = re.escape(path.rpartition("/")[2])
    match = re.search(rf"^\W*(?:\S*/)?{script} {re.escape(name)}\b[^\n]*?\s{{2,}}(\S[^\n]*)$", text, re.MULTILINE)
    return match[1].strip()[:160] if match else ""


def read_hook(path: str, text: str) -> Iterator[Workflow]:
    """Yield the workflow of a git hook that is stored in the repository."""
    name = path.rpartition("/")[2]
    if not name.startswith(("_", ".")) and "." not in name:
        yield Workflow(name=f"{name} hook", steps=split_commands(text), origin="hook", path=path, line=1)


def split_commands(text: str) -> tuple[WorkflowStep, ...]:
    """Return the commands in a shell text as steps, at most MAX_COMMANDS.

    Shell keywords, conditions in brackets and bookkeeping such as `set -e` are left out.
    """
    code = _COMMENT.sub("", _HEREDOC.sub("\n", text[:MAX_TEXT]))
    commands = [
        stripped for part in _split(code) if (stripped := _KEYWORDS.sub("", part.strip("\\ \t\r\n"), count=1).strip())
    ]
    return tuple(make_step(command) for command in commands if not _BOOKKEEPING.match(command))[:MAX_COMMANDS]


def _split(code: str) -> Iterator[str]:
    start = 0
    for token in _TOKEN.finditer(code):
        if token[1]:
            yield code[start : token.start()]
            start = token.end()
    yield code[start:]


def make_step(command: str, name: str = "") -> WorkflowStep:
    """Build a step from a command as written in a file.

    A long command is shortened.
    """
    lines = command.splitlines()
    shown_command = "\n".join(lines[:MAX_LINES]) + ("\n…" if len(lines) > MAX_LINES else "")
    return WorkflowStep(shown_command[:MAX_COMMAND], name)


def _find_description(text: str) -> str:
    """Return the first informative line in a script's opening comments, or "".

    Paragraphs that contain a licence are skipped.
    """
    for paragraph in _head_comments(text):
        if not _LICENCE.search(" ".join(paragraph)):
            comment = (line for line in paragraph if len(line) > 8 and not line.startswith(_NOT_DESCRIPTION))
            if (first := next(comment, "")) != "":
                return first[:160]
    return ""


def _head_comments(text: str) -> Iterator[list[str]]:
    """Yield the paragraphs of comments before the first command.

    Each paragraph is a list of lines.
    """
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
