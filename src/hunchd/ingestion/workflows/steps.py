"""Templates of command lines with placeholders (`git commit -m <msg>`).

Nothing is executed or looked up: variables, globs and substitutions are treated as words.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from hunchd.domain.workflow import WorkflowStep
from hunchd.ingestion.workflows import tools

MAX_LINE: Final = 1_000  # characters parsed: about a millisecond
MAX_TEMPLATE: Final = 120
MAX_COMMAND: Final = 300
MAX_STEPS: Final = 20  # of one line

_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1.*?(?:\n\s*\2\s*(?=\n|$)|\Z)", re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_OPERATORS = frozenset({"&&", "||", ";", ";;", "&", "(", ")", "((", "))", "\n"})
_PIPES = frozenset({"|", "|&"})
_REDIRECTION = re.compile(r"^&?[<>]+[&|]?$|^[<>]\($")
# A subcommand: `build`, `test:unit`, `check-types`.
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_:+-]{0,29}")
_OPTION = re.compile(r"--?[A-Za-z][A-Za-z0-9-]*")
_SHORT_NUMBER = re.compile(r"-[A-Za-z]?\d+")
_SCRIPT = re.compile(r"(?![/~.]{2}|[/~])[\w./-]+\.(?:py|sh|js|mjs|cjs|ts|rb|pl|php)")
_LOWER_SHORT = re.compile(r"-[a-zA-Z]{1,3}|-[a-z]+(?:-[a-z]+)*")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?[a-zA-Z%]?")
_VERSION = re.compile(r"v?\d+\.\d+(?:\.\w+)*(?:[-+.]?[A-Za-z]\w*(?:\.\d+)*)?")
_HASH = re.compile(r"(?=.*\d)[0-9a-f]{7,64}")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://|^git@|^www\.")
_FILE = re.compile(r"(?:^|/)[^/\s]*\.[A-Za-z][A-Za-z0-9]{0,7}(?::[\d:]+|::.*)?$")
_TRUNK = re.compile(r"(?:(?:origin|upstream)/)?(?:main|master|develop|dev|trunk|next)|HEAD|@|origin|upstream|--")
_RELATIVE = re.compile(r"(HEAD|@)([~^])\d*|stash@\{\d+\}")


@lru_cache(maxsize=512)
def parse_steps(line: str) -> tuple[WorkflowStep, ...]:
    """Return the steps of a line in order.

    For a pipeline, only the command that does the actual work is returned. Returns an empty tuple for a line without
    commands.
    """
    steps = []
    for words in split_commands(line):
        step = _build_step(words)
        if step is not None:
            steps.append(step)
        if len(steps) >= MAX_STEPS:
            break
    return tuple(steps)


def split_commands(line: str) -> Iterator[list[str]]:
    """Yield the words of each command.

    Redirections, keywords, and commands that only feed a pipeline are left out.
    """
    pipeline: list[list[str]] = []
    words: list[str] = []
    skip = False
    for token in [*_tokenize(line), ";"]:
        if token in _OPERATORS or token in _PIPES:
            if words:
                pipeline.append(words)
            words = []
            skip = False
            if token in _OPERATORS and pipeline:
                yield from _main_command(pipeline)
                pipeline = []
        elif _REDIRECTION.match(token):
            if words and words[-1].isdigit():  # 2>file
                words.pop()
            skip = True
        elif skip:
            skip = False
        else:
            words.append(token)


def _tokenize(line: str) -> list[str]:
    text = _HEREDOC.sub(" ", line[:MAX_LINE].replace("\\\r\n", " ").replace("\\\n", " "))
    tokens: list[str] = []
    for part in text.splitlines():
        lexer = shlex.shlex(part, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        lexer.commenters = ""
        try:
            tokens += [*lexer, "\n"]
        except ValueError:  # an unclosed quote: split at blanks
            tokens += [*part.split(), "\n"]
    return tokens


def _main_command(pipeline: Sequence[list[str]]) -> Iterator[list[str]]:
    """Yield the pipeline's first command that does real work.

    Commands that only feed the others are skipped.
    """
    for words in pipeline:
        stripped_words = _strip_keywords(words)
        if stripped_words and (len(pipeline) == 1 or stripped_words[0] not in tools.FEEDERS):
            yield stripped_words
            return
    yield from (stripped_words for words in pipeline[-1:] if (stripped_words := _strip_keywords(words)))


def _strip_keywords(words: list[str]) -> list[str]:
    while words and words[0] in tools.SHELL_KEYWORDS:
        words = words[1:]
    return [] if not words or words[0] in tools.NON_COMMANDS or words[0].startswith("#") else words


def _build_step(words: Sequence[str]) -> WorkflowStep | None:
    command_words = strip_wrappers(words)
    if not command_words:
        return None
    template = " ".join(_generalize(command_words))
    if not template or not re.search(r"[A-Za-z]", command_words[0]):
        return None
    command = " ".join(_quote(word) for word in _mask_secrets(words))
    return WorkflowStep(_shorten(template, MAX_TEMPLATE), _shorten(command, MAX_COMMAND))


def strip_wrappers(words: Sequence[str]) -> list[str]:
    """Strip assignments, `sudo`, `time`, `hunch run --` and the like."""
    rest = list(words)
    while rest:
        if _ASSIGNMENT.match(rest[0]):
            rest = rest[1:]
        elif rest[:2] == ["hunch", "run"]:
            rest = rest[3:] if rest[2:3] == ["--"] else rest[2:]
        elif rest[0] in tools.WRAPPERS and len(rest) > 1:
            values = tools.WRAPPERS[rest[0]]
            rest = rest[1:]
            while rest and rest[0].startswith("-"):
                rest = rest[2:] if rest[0] in values else rest[1:]
        else:
            break
    return rest


def _generalize(words: Sequence[str]) -> list[str]:
    """Return the template's words: program, subcommands, sorted options, then arguments."""
    program = _program_name(words[0])
    if len(words) == 1:
        return [program]
    for runner in tools.RUNNERS:
        if (program, *words[1 : len(runner)]) == runner and len(words) > len(runner):
            rest = list(words[len(runner) :])
            while rest and rest[0].startswith("-"):
                rest = rest[1:]
            return [*runner, *_generalize(rest)] if rest else [*runner]
    if program in tools.INTERPRETERS and _SCRIPT.fullmatch(words[1]):
        return [program, *_generalize([words[1], *words[2:]])] if len(words) > 2 else [program, words[1]]
    tool = tools.find_tool(program)
    subcommands, options, objects = _classify_words(program, tool, _expand_aliases(program, words[1:], tool))
    return [program, *subcommands, *_flatten_options(options), *_collapse_repeats(objects)]


def _expand_aliases(program: str, words: Sequence[str], tool: tools.ToolConventions) -> Iterator[str]:
    for word in words:
        yield from tool.aliases.get(word, (word,))


def _classify_words(
    program: str, tool: tools.ToolConventions, words: Iterable[str]
) -> tuple[list[str], list[tuple[str, ...]], list[str]]:
    subcommands: list[str] = []
    options: list[tuple[str, ...]] = []
    objects: list[str] = []
    expected_placeholder: str | None = None  # placeholder for the value of the previous option
    for word in words:
        if expected_placeholder is not None:
            options[-1] += (
                word
                if expected_placeholder == ""
                else expected_placeholder
                if expected_placeholder != "<?>"
                else _placeholder(word, tool),
            )
            expected_placeholder = None
            continue
        name, equals, value = word.partition("=")
        if word.startswith("-") and len(word) > 1 and word != "--":
            if name in tools.VERBOSITY_OPTIONS:
                continue
            if _SHORT_NUMBER.fullmatch(word):
                options.append((f"{word.rstrip('0123456789')}<n>",))
            elif not _OPTION.fullmatch(name) or (not name.startswith("--") and not _LOWER_SHORT.fullmatch(name)):
                options.append((f"{name[:2]}<arg>",))
            elif (
                tool.glued_secret_options
                and name[:2] in tool.glued_secret_options
                and len(name) > 2
                and not name.startswith("--")
            ):
                options.append((f"{name[:2]}<secret>",))
            elif equals:
                options.append((f"{name}={_value_placeholder(name, value, tool)}",))
            else:
                options.append((name,))
                expected_placeholder = _expected_placeholder(name, tool, " ".join((program, *subcommands[:1])))
        elif (
            len(subcommands)
            < tool.subcommand_words + (subcommands[:1] != [] and subcommands[0] in tool.subcommand_groups)
            and not objects
            and _WORD.fullmatch(word)
            and not _is_redacted(word)
        ):
            subcommands.append(word)
        elif tool.takes_targets and _WORD.fullmatch(word):
            objects.append(word)
        else:
            objects.append(_placeholder(word, tool, " ".join((program, *subcommands))))
    return subcommands, options, objects


def _expected_placeholder(name: str, tool: tools.ToolConventions, command: str) -> str | None:
    """Return the placeholder for an option's value.

    Returns None if the option is not known to take a value, and "" if the value is kept.
    """
    if tools.SECRET_OPTION.search(name):
        return "<secret>"
    for table in (tools.OPTION_PLACEHOLDERS.get(command, {}), tool.option_placeholders, tools.COMMON_PLACEHOLDERS):
        if name in table:
            return table[name]
    return None


def _value_placeholder(name: str, value: str, tool: tools.ToolConventions) -> str:
    if tools.SECRET_OPTION.search(name):
        return "<secret>"
    return (
        value
        if _WORD.fullmatch(value) and len(value) <= 12 and name in tool.literal_options
        else _placeholder(value, tool)
    )


def _placeholder(word: str, tool: tools.ToolConventions, command: str = "") -> str:
    """Return the placeholder for a word."""
    if _is_redacted(word):
        return "<secret>"
    if tool.takes_branches and _TRUNK.fullmatch(word):
        return word
    if tool.takes_branches and _RELATIVE.fullmatch(word):
        return re.sub(r"\d+", "<n>", word)
    if word in ("--", ".", "-"):
        return word
    for pattern, hole in (
        (_URL, "<url>"),
        (_NUMBER, "<n>"),
        (_VERSION, "<version>"),
    ):
        if pattern.match(word) if hole == "<url>" else pattern.fullmatch(word):
            return hole
    if command in tools.ARGUMENT_PLACEHOLDERS:
        return tools.ARGUMENT_PLACEHOLDERS[command]
    if any(map(str.isspace, word)):
        return "<text>"
    if _HASH.fullmatch(word):
        return "<id>"
    name, equals, _ = word.partition("=")
    if equals and re.fullmatch(r"[A-Za-z_][\w.-]{0,30}", name):
        return f"{name}=<value>"
    if "/" in word or word.startswith("~") or _FILE.search(word) or any(mark in word for mark in "*?") or word == "..":
        return "<path>"
    if word.startswith("$"):
        return "<arg>"
    return tool.placeholder


def _flatten_options(options: Sequence[tuple[str, ...]]) -> Iterator[str]:
    for option in sorted(dict.fromkeys(options)):
        yield from option


def _collapse_repeats(words: Iterable[str]) -> Iterator[str]:
    """Collapse repeated placeholders: `<path> <path>` becomes `<path>`."""
    before = None
    for word in words:
        if word != before or not word.startswith("<"):
            yield word
        before = word


def _program_name(word: str) -> str:
    """Return an installed program's name, or the path of a project's script."""
    name = word.rsplit("/", 1)[-1]
    return (
        name if word.startswith(("/", "~", ".venv/", "venv/", "node_modules/", "./node_modules/", "./.venv/")) else word
    )


def _mask_secrets(words: Sequence[str]) -> Iterator[str]:
    """Yield the words with secrets masked, such as the value after `--password`."""
    command_words = strip_wrappers(words)
    program = _program_name(command_words[0]) if command_words else ""
    tool, command = tools.find_tool(program), " ".join((program, *command_words[1:2]))
    secret = False
    for word in words:
        name, equals, value = word.partition("=")
        if secret:
            yield "<secret>"
        elif equals and value and tools.SECRET_OPTION.search(name):
            yield f"{name}=<secret>"
        elif (
            tool.glued_secret_options
            and word[:2] in tool.glued_secret_options
            and len(word) > 2
            and not word.startswith("--")
        ):
            yield f"{word[:2]}<secret>"
        else:
            yield word
        secret = (
            not secret
            and word.startswith("-")
            and not equals
            and _expected_placeholder(word, tool, command) == "<secret>"
        )


def _is_redacted(word: str) -> bool:
    return "[redacted:" in word


def _quote(word: str) -> str:
    """Quote a word for a shell command; placeholders and variables stay unquoted."""
    return word if re.fullmatch(r"[\w@%+=:,./~$<>{}*?\[\]-]+", word) else shlex.quote(word)


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
