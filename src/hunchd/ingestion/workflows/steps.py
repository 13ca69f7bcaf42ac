"""Templates of command lines with placeholders (`git commit -m <msg>`).

Nothing is executed or looked up: variables, globs and substitutions are treated as words.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from hunchd.domain.workflow import Step
from hunchd.ingestion.workflows import tools

LONGEST_LINE: Final = 1_000  # characters parsed: about a millisecond
LONGEST_TEMPLATE: Final = 120
LONGEST_COMMAND: Final = 300
MOST_STEPS: Final = 20  # of one line

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
def steps_of(line: str) -> tuple[Step, ...]:
    """Return the steps of a line in order.

    Of a pipeline the command that does the work. Empty for a line without commands.
    """
    steps = []
    for words in commands_in(line):
        step = _step(words)
        if step is not None:
            steps.append(step)
        if len(steps) >= MOST_STEPS:
            break
    return tuple(steps)


def commands_in(line: str) -> Iterator[list[str]]:
    """Yield the words of each command, without redirections, keywords and pipe feeders."""
    pipeline: list[list[str]] = []
    words: list[str] = []
    skip = False
    for token in [*_tokens(line), ";"]:
        if token in _OPERATORS or token in _PIPES:
            if words:
                pipeline.append(words)
            words = []
            skip = False
            if token in _OPERATORS and pipeline:
                yield from _main(pipeline)
                pipeline = []
        elif _REDIRECTION.match(token):
            if words and words[-1].isdigit():  # 2>file
                words.pop()
            skip = True
        elif skip:
            skip = False
        else:
            words.append(token)


def _tokens(line: str) -> list[str]:
    text = _HEREDOC.sub(" ", line[:LONGEST_LINE].replace("\\\r\n", " ").replace("\\\n", " "))
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


def _main(pipeline: Sequence[list[str]]) -> Iterator[list[str]]:
    """Yield the pipeline's first command that does real work.

    Commands that only feed the others are skipped.
    """
    for words in pipeline:
        stripped = _without_keywords(words)
        if stripped and (len(pipeline) == 1 or stripped[0] not in tools.FEEDERS):
            yield stripped
            return
    yield from (stripped for words in pipeline[-1:] if (stripped := _without_keywords(words)))


def _without_keywords(words: list[str]) -> list[str]:
    while words and words[0] in tools.BEFORE_COMMANDS:
        words = words[1:]
    return [] if not words or words[0] in tools.NO_COMMANDS or words[0].startswith("#") else words


def _step(words: Sequence[str]) -> Step | None:
    bare = without_wrappers(words)
    if not bare:
        return None
    template = " ".join(_generalised(bare))
    if not template or not re.search(r"[A-Za-z]", bare[0]):
        return None
    shown = " ".join(_shown(word) for word in _without_secrets(words))
    return Step(_cut(template, LONGEST_TEMPLATE), _cut(shown, LONGEST_COMMAND))


def without_wrappers(words: Sequence[str]) -> list[str]:
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


def _generalised(words: Sequence[str]) -> list[str]:
    """Return the template's words: program, subcommands, sorted options, then arguments."""
    program = _program(words[0])
    if len(words) == 1:
        return [program]
    for runner in tools.RUNNERS:
        if (program, *words[1 : len(runner)]) == runner and len(words) > len(runner):
            rest = list(words[len(runner) :])
            while rest and rest[0].startswith("-"):
                rest = rest[1:]
            return [*runner, *_generalised(rest)] if rest else [*runner]
    if program in tools.INTERPRETERS and _SCRIPT.fullmatch(words[1]):
        return [program, *_generalised([words[1], *words[2:]])] if len(words) > 2 else [program, words[1]]
    tool = tools.tool(program)
    kept, options, objects = _sorted_out(program, tool, _spread(program, words[1:], tool))
    return [program, *kept, *_options(options), *_once(objects)]


def _spread(program: str, words: Sequence[str], tool: tools.Tool) -> Iterator[str]:
    for word in words:
        yield from tool.same_as.get(word, (word,))


def _sorted_out(
    program: str, tool: tools.Tool, words: Iterable[str]
) -> tuple[list[str], list[tuple[str, ...]], list[str]]:
    kept: list[str] = []
    options: list[tuple[str, ...]] = []
    objects: list[str] = []
    expected: str | None = None  # placeholder for the value of the previous option
    for word in words:
        if expected is not None:
            options[-1] += (word if expected == "" else expected if expected != "<?>" else _hole(word, tool),)
            expected = None
            continue
        name, equals, value = word.partition("=")
        if word.startswith("-") and len(word) > 1 and word != "--":
            if name in tools.SAYS_HOW_LOUD:
                continue
            if _SHORT_NUMBER.fullmatch(word):
                options.append((f"{word.rstrip('0123456789')}<n>",))
            elif not _OPTION.fullmatch(name) or (not name.startswith("--") and not _LOWER_SHORT.fullmatch(name)):
                options.append((f"{name[:2]}<arg>",))
            elif tool.glued and name[:2] in tool.glued and len(name) > 2 and not name.startswith("--"):
                options.append((f"{name[:2]}<secret>",))
            elif equals:
                options.append((f"{name}={_value(name, value, tool)}",))
            else:
                options.append((name,))
                expected = _expected(name, tool, " ".join((program, *kept[:1])))
        elif (
            len(kept) < tool.words + (kept[:1] != [] and kept[0] in tool.more)
            and not objects
            and _WORD.fullmatch(word)
            and not _is_redacted(word)
        ):
            kept.append(word)
        elif tool.targets and _WORD.fullmatch(word):
            objects.append(word)
        else:
            objects.append(_hole(word, tool, " ".join((program, *kept))))
    return kept, options, objects


def _expected(name: str, tool: tools.Tool, command: str) -> str | None:
    """Return the placeholder for an option's value.

    None if the option is not known to take a value, "" if the value is kept.
    """
    if tools.SECRET_OPTION.search(name):
        return "<secret>"
    for table in (tools.VALUES.get(command, {}), tool.values, tools.COMMON_VALUES):
        if name in table:
            return table[name]
    return None


def _value(name: str, value: str, tool: tools.Tool) -> str:
    if tools.SECRET_OPTION.search(name):
        return "<secret>"
    return value if _WORD.fullmatch(value) and len(value) <= 12 and name in tool.literal else _hole(value, tool)


def _hole(word: str, tool: tools.Tool, command: str = "") -> str:
    """Return the placeholder for a word."""
    if _is_redacted(word):
        return "<secret>"
    if tool.branches and _TRUNK.fullmatch(word):
        return word
    if tool.branches and _RELATIVE.fullmatch(word):
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
    if command in tools.OBJECTS:
        return tools.OBJECTS[command]
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
    return tool.hole


def _options(options: Sequence[tuple[str, ...]]) -> Iterator[str]:
    for option in sorted(dict.fromkeys(options)):
        yield from option


def _once(words: Iterable[str]) -> Iterator[str]:
    """Collapse repeated placeholders: `<path> <path>` becomes `<path>`."""
    before = None
    for word in words:
        if word != before or not word.startswith("<"):
            yield word
        before = word


def _program(word: str) -> str:
    """Return a program by name, a project's script by path."""
    name = word.rsplit("/", 1)[-1]
    return (
        name if word.startswith(("/", "~", ".venv/", "venv/", "node_modules/", "./node_modules/", "./.venv/")) else word
    )


def _without_secrets(words: Sequence[str]) -> Iterator[str]:
    """Yield the words with secrets masked, such as the value after `--password`."""
    bare = without_wrappers(words)
    program = _program(bare[0]) if bare else ""
    tool, command = tools.tool(program), " ".join((program, *bare[1:2]))
    secret = False
    for word in words:
        name, equals, value = word.partition("=")
        if secret:
            yield "<secret>"
        elif equals and value and tools.SECRET_OPTION.search(name):
            yield f"{name}=<secret>"
        elif tool.glued and word[:2] in tool.glued and len(word) > 2 and not word.startswith("--"):
            yield f"{word[:2]}<secret>"
        else:
            yield word
        secret = not secret and word.startswith("-") and not equals and _expected(word, tool, command) == "<secret>"


def _is_redacted(word: str) -> bool:
    return "[redacted:" in word


def _shown(word: str) -> str:
    """Quote a word for typing; placeholders and variables stay unquoted."""
    return word if re.fullmatch(r"[\w@%+=:,./~$<>{}*?\[\]-]+", word) else shlex.quote(word)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
