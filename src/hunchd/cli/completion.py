"""`hunch completion`: completion scripts for bash, zsh and fish.

Generated from the argument parsers.
"""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Iterator
from typing import NamedTuple

from hunchd.cli.commands import COMMANDS
from hunchd.cli.parser import parser_of


class Offer(NamedTuple):
    """Completions of one command. `values` are the fixed values of its options."""

    name: str
    summary: str
    options: tuple[tuple[str, str], ...]  # with their help
    words: tuple[str, ...]  # allowed values of its arguments
    files: bool  # its arguments are files or folders
    values: tuple[tuple[str, tuple[str, ...]], ...]  # option, allowed values
    taking: tuple[str, ...]  # options with a value


def completion(arguments: Namespace) -> int:
    print({"bash": bash, "zsh": zsh, "fish": fish}[arguments.shell](tuple(offers())), end="")
    return 0


def offers() -> Iterator[Offer]:
    for command in COMMANDS:
        options: list[tuple[str, str]] = []
        values: list[tuple[str, tuple[str, ...]]] = []
        words: list[str] = []
        taking: list[str] = []
        files = False
        for action in parser_of(command)._actions:
            if isinstance(action, argparse._SubParsersAction):
                words += list(action.choices)
            elif not action.option_strings:
                words += [str(choice) for choice in action.choices or ()]
                files |= action.choices is None and _is_path(action.metavar)
            elif action.help is not argparse.SUPPRESS:
                options += [(option, (action.help or "").split(";")[0]) for option in action.option_strings]
                if action.nargs != 0:
                    taking += action.option_strings
                    if action.choices:
                        fixed = tuple(str(choice) for choice in action.choices)
                        values += [(option, fixed) for option in action.option_strings]
        yield Offer(command.name, command.summary, tuple(options), tuple(words), files, tuple(values), tuple(taking))


def _is_path(metavar: object) -> bool:
    return any(word in str(metavar) for word in ("FILE", "DIR", "PATH"))


def bash(found: tuple[Offer, ...]) -> str:
    cases = []
    for offer in found:
        inner = [
            f"            {option}) COMPREPLY=($(compgen -W '{' '.join(fixed)}' -- \"$word\")); return ;;"
            for option, fixed in offer.values
        ]
        fixed = {option for option, _ in offer.values}
        if free := [option for option in offer.taking if option not in fixed]:
            inner.append(f'            {" | ".join(free)}) COMPREPLY=($(compgen -f -- "$word")); return ;;')
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
            f"        COMPREPLY=($(compgen -W '{' '.join(offer.name for offer in found)}' -- \"$word\"))",
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


def zsh(found: tuple[Offer, ...]) -> str:
    listed = [f"        {_single(f'{offer.name}:{offer.summary}')}" for offer in found]
    cases = []
    for offer in found:
        specs = []
        for option, told in offer.options:
            about = told.replace("[", "(").replace("]", ")").replace(":", ",")
            fixed = next((values for name, values in offer.values if name == option), None)
            value = f":value:({' '.join(fixed)})" if fixed else ":value:_files" if option in offer.taking else ""
            specs.append(_single(f"{option}[{about}]{value}"))
        if offer.words:
            specs.append(_single(f"1:what:({' '.join(offer.words)})"))
        specs.append(_single("*:file:_files" if offer.files else "*:: :"))
        cases.append(f"        {offer.name}) _arguments " + " \\\n            ".join(specs) + " ;;")
    return "\n".join(
        (
            "#compdef hunch",
            "# `hunch completion zsh` wrote this.",
            "_hunch() {",
            "    local -a commands=(",
            *listed,
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


def fish(found: tuple[Offer, ...]) -> str:
    lines = ["# `hunch completion fish` wrote this.", "complete -c hunch -f"]
    for offer in found:
        lines.append(f"complete -c hunch -n __fish_use_subcommand -a {offer.name} -d {_fish(offer.summary)}")
        given = f"-n '__fish_seen_subcommand_from {offer.name}'"
        for option, told in offer.options:
            flag = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            fixed = next((values for name, values in offer.values if name == option), None)
            value = f" -x -a {_fish(' '.join(fixed))}" if fixed else " -r" if option in offer.taking else ""
            lines.append(f"complete -c hunch {given} {flag}{value} -d {_fish(told)}")
        if offer.words:
            lines.append(f"complete -c hunch {given} -a {_fish(' '.join(offer.words))}")
        if offer.files:
            lines.append(f"complete -c hunch {given} -F")
    return "\n".join((*lines, ""))


def _single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
