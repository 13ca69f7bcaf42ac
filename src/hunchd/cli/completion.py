"""`hunch completion`: prints completion scripts for bash, zsh and fish.

The scripts are generated from the argument parsers.
"""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Iterator
from typing import NamedTuple

from hunchd.cli.command import NOUNS
from hunchd.cli.commands import COMMANDS
from hunchd.cli.parser import build_parser


class CommandCompletions(NamedTuple):
    """What a shell can offer to complete after one command.

    `values` lists the options that take one of several fixed values.
    """

    name: str
    summary: str
    options: tuple[tuple[str, str], ...]  # with their help
    words: tuple[str, ...]  # allowed values of its arguments
    files: bool  # its arguments are files or folders
    values: tuple[tuple[str, tuple[str, ...]], ...]  # option, allowed values
    value_options: tuple[str, ...]  # options with a value


def completion(arguments: Namespace) -> int:
    print(
        {"bash": render_bash, "zsh": render_zsh, "fish": render_fish}[arguments.shell](tuple(list_completions())),
        end="",
    )
    return 0


def list_completions() -> Iterator[CommandCompletions]:
    for command in COMMANDS:
        options: list[tuple[str, str]] = []
        values: list[tuple[str, tuple[str, ...]]] = []
        words: list[str] = []
        value_options: list[str] = []
        files = False
        for action in build_parser(command)._actions:
            if isinstance(action, argparse._SubParsersAction):
                words += list(action.choices)
            elif not action.option_strings:
                words += [str(choice) for choice in action.choices or ()]
                files |= action.choices is None and _is_path(action.metavar)
            elif action.help is not argparse.SUPPRESS:
                options += [(option, (action.help or "").split(";")[0]) for option in action.option_strings]
                if action.nargs != 0:
                    value_options += action.option_strings
                    if action.choices:
                        choices = tuple(str(choice) for choice in action.choices)
                        values += [(option, choices) for option in action.option_strings]
        yield CommandCompletions(
            command.name, command.summary, tuple(options), tuple(words), files, tuple(values), tuple(value_options)
        )
    for noun in NOUNS:
        yield CommandCompletions(noun.name, ", ".join(noun.verbs), (), tuple(noun.verbs), False, (), ())


def _is_path(metavar: object) -> bool:
    return any(word in str(metavar) for word in ("FILE", "DIR", "PATH"))


def render_bash(completions: tuple[CommandCompletions, ...]) -> str:
    cases = []
    for offer in completions:
        inner = [
            f"            {option}) COMPREPLY=($(compgen -W '{' '.join(choices)}' -- \"$word\")); return ;;"
            for option, choices in offer.values
        ]
        choices = {option for option, _ in offer.values}
        if free_options := [option for option in offer.value_options if option not in choices]:
            inner.append(f'            {" | ".join(free_options)}) COMPREPLY=($(compgen -f -- "$word")); return ;;')
        options = " ".join(option for option, _ in offer.options)
        follows = ["        case $before in", *inner, "        esac"] if inner else []
        cases += [
            f"    {offer.name})",
            *follows,
            f"        options='{options}' words='{' '.join(offer.words)}' files={int(offer.files)}",
            "        ;;",
        ]
    return "\n".join(
        (
            "# `hunch completion bash` wrote this.",
            "_hunch_complete() {",
            "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} options='' words='' files=0",
            "    COMPREPLY=()",
            "    if ((COMP_CWORD == 1)); then",
            f"        COMPREPLY=($(compgen -W '{' '.join(offer.name for offer in completions)}' -- \"$word\"))",
            "        return",
            "    fi",
            "    case ${COMP_WORDS[1]} in",
            *cases,
            "    esac",
            "    if [[ $word == -* || -z $words$word && $files == 0 ]]; then",
            '        COMPREPLY=($(compgen -W "$options" -- "$word"))',
            "        return",
            "    fi",
            '    COMPREPLY=($(compgen -W "$words" -- "$word"))',
            "    if ((files)); then",
            "        compopt -o filenames 2>/dev/null",
            "        local IFS=$'\\n'",
            '        COMPREPLY+=($(compgen -f -- "$word"))',
            "    fi",
            "}",
            "complete -F _hunch_complete hunch",
            "",
        )
    )


def render_zsh(completions: tuple[CommandCompletions, ...]) -> str:
    command_lines = [f"        {_quote_single(f'{offer.name}:{offer.summary}')}" for offer in completions]
    cases = []
    for offer in completions:
        specs = []
        for option, help_text in offer.options:
            description = help_text.replace("[", "(").replace("]", ")").replace(":", ",")
            choices = next((values for name, values in offer.values if name == option), None)
            value = (
                f":value:({' '.join(choices)})" if choices else ":value:_files" if option in offer.value_options else ""
            )
            specs.append(_quote_single(f"{option}[{description}]{value}"))
        if offer.words:
            specs.append(_quote_single(f"1:what:({' '.join(offer.words)})"))
        specs.append(_quote_single("*:file:_files" if offer.files else "*:: :"))
        cases.append(f"        {offer.name}) _arguments " + " \\\n            ".join(specs) + " ;;")
    return "\n".join(
        (
            "#compdef hunch",
            "# `hunch completion zsh` wrote this.",
            "_hunch() {",
            "    local -a commands=(",
            *command_lines,
            "    )",
            "    if ((CURRENT == 2)); then",
            "        _describe command commands",
            "        return",
            "    fi",
            "    local command=$words[2]",
            "    shift words",
            "    ((CURRENT--))",
            "    case $command in",
            *cases,
            "    esac",
            "}",
            'if [[ $funcstack[1] == _hunch ]]; then _hunch "$@"; else compdef _hunch hunch; fi',
            "",
        )
    )


def render_fish(completions: tuple[CommandCompletions, ...]) -> str:
    lines = ["# `hunch completion fish` wrote this.", "complete -c hunch -f"]
    for offer in completions:
        lines.append(f"complete -c hunch -n __fish_use_subcommand -a {offer.name} -d {_quote_fish(offer.summary)}")
        condition = f"-n '__fish_seen_subcommand_from {offer.name}'"
        for option, help_text in offer.options:
            flag = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            choices = next((values for name, values in offer.values if name == option), None)
            value = (
                f" -x -a {_quote_fish(' '.join(choices))}"
                if choices
                else " -r"
                if option in offer.value_options
                else ""
            )
            lines.append(f"complete -c hunch {condition} {flag}{value} -d {_quote_fish(help_text)}")
        if offer.words:
            lines.append(f"complete -c hunch {condition} -a {_quote_fish(' '.join(offer.words))}")
        if offer.files:
            lines.append(f"complete -c hunch {condition} -F")
    return "\n".join((*lines, ""))


def _quote_single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _quote_fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
