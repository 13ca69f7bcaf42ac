"""Templates for command lines, with placeholders for their values (`git commit -m <arg>`).

A template keeps the program, its subcommands and its options; everything else is replaced with a placeholder for a
path, a secret or some other argument. Nothing is executed or looked up: variables, globs and substitutions are
treated as words.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

MAX_LINE: Final = 1_000  # characters parsed: about a millisecond
MAX_TEMPLATE: Final = 120
MAX_COMMAND: Final = 300
MAX_COMMANDS: Final = 20  # per line

# Wrappers that are stripped from commands, each with its options that take a value.
WRAPPERS: Final[Mapping[str, frozenset[str]]] = {
    "sudo": frozenset({"-u", "-g", "-C", "-h", "-p"}),
    "doas": frozenset({"-u"}),
    "time": frozenset({"-f", "-o"}),
    "env": frozenset({"-u", "-C"}),
    "nice": frozenset({"-n"}),
} | dict.fromkeys(("nohup", "command", "builtin", "exec", "noglob"), frozenset())
# Commands that run another command in an environment; the template keeps both.
RUNNERS: Final = (
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("hatch", "run"), ("rye", "run"),
    ("bundle", "exec"), ("npx",), ("bunx",), ("uvx",), ("pnpm", "exec"), ("pnpm", "dlx"), ("yarn", "exec"),
    ("python", "-m"), ("python3", "-m"), ("docker", "compose", "exec"), ("docker", "compose", "run"), ("watch",),
)  # fmt: skip
INTERPRETERS: Final = frozenset("python python3 py node ruby perl php bash sh zsh deno bun".split())  # noqa: SIM905
FEEDERS: Final = frozenset("echo cat printf yes true ls find jq".split())  # noqa: SIM905
SHELL_KEYWORDS: Final = frozenset("do then else if elif while until ! { time begin and or not".split())  # noqa: SIM905
NON_COMMANDS: Final = frozenset("for case select function done fi esac } [[ [ test end in (( set export".split())  # noqa: SIM905
VERBOSITY_OPTIONS: Final = frozenset("-v -vv -vvv -q -qq --verbose --quiet --silent --color --no-color".split())  # noqa: SIM905
# Programs without a subcommand. Most programs have one, and two if the first is a group of subcommands.
NO_SUBCOMMAND: Final = frozenset(
    """pytest py.test python python3 py cd ls ll la cat bat less more head tail vim vi nvim nano emacs code rm cp mv
    mkdir touch open tree diff chmod source . tar du pushd z stat wc sh bash zsh node scp rsync black isort mypy
    pyright prettier eslint tsc gofmt goimports flake8 pylint rustfmt clang-format grep rg ag man echo printf find fd
    kill ssh curl wget http psql mysql mysqldump mariadb sshpass journalctl which service nox""".split()  # noqa: SIM905
)
TWO_SUBCOMMANDS: Final = frozenset("gh glab aws gcloud hatch flask pre-commit lefthook".split())  # noqa: SIM905
GROUPS: Final = frozenset(
    """stash remote worktree submodule bisect lfs flow run run-script workspace task mod work tool pip cache compose
    container image volume network system buildx rollout config create get describe delete set top""".split()  # noqa: SIM905
)
TARGET_PROGRAMS: Final = frozenset("make gmake gradle gradlew mvn mvnw ant just".split())  # every bare word is a target  # noqa: SIM905
SECRET_OPTION: Final = re.compile(
    r"(?:pass(?:word|wd|phrase)?|secret|token|api[-_]?key|access[-_]?key|credential|auth)\b|PASS|SECRET|TOKEN|_KEY\b",
    re.IGNORECASE,
)
# Programs, each with the short option whose value, with or without a blank before it, is a secret.
SECRET_SHORT_OPTIONS: Final = {
    "mysql": "-p", "mysqldump": "-p", "mariadb": "-p", "sshpass": "-p", "redis-cli": "-a", "curl": "-u", "login": "-p",
}  # fmt: skip

_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1.*?(?:\n\s*\2\s*(?=\n|$)|\Z)", re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_OPERATORS = frozenset({"&&", "||", ";", ";;", "&", "(", ")", "((", "))", "\n"})
_PIPES = frozenset({"|", "|&"})
_REDIRECTION = re.compile(r"^&?[<>]+[&|]?$|^[<>]\($")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_:+-]{0,29}")  # a subcommand: `build`, `test:unit`, `check-types`
_OPTION = re.compile(r"--?[A-Za-z][A-Za-z0-9-]*")
_NUMBERED_OPTION = re.compile(r"(-[A-Za-z]?)\d+")
_SCRIPT = re.compile(r"(?![/~.]{2}|[/~])[\w./-]+\.(?:py|sh|js|mjs|cjs|ts|rb|pl|php)")
_FILE = re.compile(r"/|^[~.]{1,2}$|[*?]|[^/\s]\.[A-Za-z][A-Za-z0-9]{0,7}(?::[\d:]+|::.*)?$")


@dataclass(frozen=True, slots=True)
class ParsedCommand:
    """Command in a command line: its template, and its text with secrets masked."""

    template: str
    text: str


@lru_cache(maxsize=512)
def parse_commands(line: str) -> tuple[ParsedCommand, ...]:
    """Return the commands in a command line, in order.

    If commands form a pipeline, only the command that does the actual work is returned. Returns an empty tuple if
    the line contains no command.
    """
    commands = (command for words in _split_commands(line) if (command := _parse_command(words)) is not None)
    return tuple(command for command, _ in zip(commands, range(MAX_COMMANDS), strict=False))


def _split_commands(line: str) -> Iterator[list[str]]:
    """Yield the words of each command in a command line.

    Redirections, shell keywords, and commands that only feed a pipeline are left out.
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
    """Yield the first command in the pipeline that does real work.

    Commands that only feed the others are skipped. If all commands are of that kind, the last one is yielded.
    """
    for words in pipeline:
        stripped_words = _strip_keywords(words)
        if stripped_words and (len(pipeline) == 1 or stripped_words[0] not in FEEDERS):
            yield stripped_words
            return
    yield from (stripped_words for words in pipeline[-1:] if (stripped_words := _strip_keywords(words)))


def _strip_keywords(words: list[str]) -> list[str]:
    while words and words[0] in SHELL_KEYWORDS:
        words = words[1:]
    return [] if not words or words[0] in NON_COMMANDS or words[0].startswith("#") else words


def _parse_command(words: Sequence[str]) -> ParsedCommand | None:
    masked_words = list(_mask_secrets(words))
    command_words = _strip_wrappers(masked_words)
    if not command_words or not re.search(r"[A-Za-z]", command_words[0]):
        return None
    template = " ".join(_generalize(command_words))
    return ParsedCommand(_shorten(template, MAX_TEMPLATE), _shorten(" ".join(map(_quote, masked_words)), MAX_COMMAND))


def _strip_wrappers(words: Sequence[str]) -> list[str]:
    """Strip assignments, `sudo`, `time`, `hunch run --` and the like from a command."""
    rest = list(words)
    while rest:
        if _ASSIGNMENT.match(rest[0]):
            rest = rest[1:]
        elif rest[:2] == ["hunch", "run"]:
            rest = rest[3:] if rest[2:3] == ["--"] else rest[2:]
        elif rest[0] in WRAPPERS and len(rest) > 1:
            values = WRAPPERS[rest[0]]
            rest = rest[1:]
            while rest and rest[0].startswith("-"):
                rest = rest[2:] if rest[0] in values else rest[1:]
        else:
            break
    return rest


def _mask_secrets(words: Sequence[str]) -> Iterator[str]:
    """Yield the words with secrets replaced, such as the value after `--password`."""
    names = (_program_name(word) for word in words)
    secret_option = next((SECRET_SHORT_OPTIONS[name] for name in names if name in SECRET_SHORT_OPTIONS), None)
    follows_secret_option = False
    for word in words:
        name, equals, value = word.partition("=")
        if follows_secret_option:
            yield "<secret>"
        elif equals and value and SECRET_OPTION.search(name):
            yield f"{name}=<secret>"
        elif secret_option and word.startswith(secret_option) and word != secret_option:
            yield f"{secret_option}<secret>"
        else:
            yield word
        is_option = word.startswith("-") and not equals
        follows_secret_option = (
            not follows_secret_option and is_option and (word == secret_option or bool(SECRET_OPTION.search(word)))
        )


def _generalize(words: Sequence[str]) -> list[str]:
    """Return the words of a command's template.

    These are the program, its subcommands, its options in alphabetical order, and placeholders for its arguments.
    """
    program = _program_name(words[0])
    for runner in RUNNERS:
        if (program, *words[1 : len(runner)]) == runner and len(words) > len(runner):
            rest = list(words[len(runner) :])
            while rest and rest[0].startswith("-"):
                rest = rest[1:]
            return [*runner, *_generalize(rest)] if rest else [*runner]
    if program in INTERPRETERS and len(words) > 1 and _SCRIPT.fullmatch(words[1]):
        return [program, *_generalize(words[1:])]
    subcommands: list[str] = []
    options: list[str] = []
    arguments: list[str] = []
    follows_option = False
    for word in words[1:]:
        if word.startswith("-") and word not in ("-", "--"):
            follows_option = "=" not in word and not word[-1].isdigit()
            if word not in VERBOSITY_OPTIONS:
                options.append(_generalize_option(word))
            continue
        is_bare = _WORD.fullmatch(word) is not None
        limit = _count_subcommands(program, subcommands)
        if is_bare and not follows_option and (program in TARGET_PROGRAMS or len(subcommands) < limit):
            subcommands.append(word)
        else:
            arguments.append(_placeholder(word))
        follows_option = False
    return [program, *subcommands, *sorted(dict.fromkeys(options)), *_collapse_repeats(arguments)]


def _count_subcommands(program: str, subcommands: Sequence[str]) -> int:
    if program in NO_SUBCOMMAND:
        return 0
    return 2 if program in TWO_SUBCOMMANDS or (subcommands and subcommands[0] in GROUPS) else 1


def _generalize_option(word: str) -> str:
    """Replace the value of an option with a placeholder.

    `-j8` becomes `-j<n>`, and `--name=x` becomes `--name=<arg>`.
    """
    name, equals, value = word.partition("=")
    if numbered := _NUMBERED_OPTION.fullmatch(word):
        return f"{numbered[1]}<n>"
    if not _OPTION.fullmatch(name) or "[redacted:" in name:
        return f"{name[:2]}<arg>"
    return f"{name}={_placeholder(value)}" if equals else name


def _placeholder(word: str) -> str:
    if "[redacted:" in word or "<secret>" in word:
        return "<secret>"
    return word if word in ("--", "-", ".") else "<path>" if _FILE.search(word) else "<arg>"


def _collapse_repeats(words: Iterable[str]) -> Iterator[str]:
    """Collapse repeated placeholders: `<path> <path>` becomes `<path>`."""
    before = None
    for word in words:
        if word != before or not word.startswith("<"):
            yield word
        before = word


def _program_name(word: str) -> str:
    """Return the name of an installed program, or the path of a project's script."""
    name = word.rsplit("/", 1)[-1]
    return (
        name if word.startswith(("/", "~", ".venv/", "venv/", "node_modules/", "./node_modules/", "./.venv/")) else word
    )


def _quote(word: str) -> str:
    """Quote a word for a shell command; leave placeholders and variables unquoted."""
    return word if re.fullmatch(r"[\w@%+=:,./~$<>{}*?\[\]-]+", word) else shlex.quote(word)


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
