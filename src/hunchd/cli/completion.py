"""`hunch completion`: prints completion scripts for bash, zsh and fish.

Each time the user asks for a completion, the script calls `hunch completion` again, with the words typed so far in
HUNCH_WORDS. The completions therefore match what the argument parsers of the installed version accept.
"""

from __future__ import annotations

import argparse
import os
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import Final

from hunchd.cli.command import NOUNS
from hunchd.cli.commands import COMMANDS
from hunchd.cli.parser import build_parser, find_command

WORDS_VARIABLE: Final = "HUNCH_WORDS"  # words after `hunch`, the last one incomplete
SEPARATOR: Final = "\x1f"  # between these words
FILES: Final = ":files"  # offered first if names of files may follow

_SCRIPTS: Final = {
    "bash": r"""# `hunch completion bash` wrote this.
_hunch_complete() {
    local IFS=$'\x1f' word=${COMP_WORDS[COMP_CWORD]}
    local typed="${COMP_WORDS[*]:1:COMP_CWORD}"
    IFS=$'\n'
    COMPREPLY=($(HUNCH_WORDS="$typed" "${COMP_WORDS[0]}" completion bash 2>/dev/null))
    if [[ ${COMPREPLY[0]-} == :files ]]; then
        compopt -o filenames 2>/dev/null
        COMPREPLY=("${COMPREPLY[@]:1}" $(compgen -f -- "$word"))
    fi
}
complete -F _hunch_complete hunch
""",
    "zsh": r"""#compdef hunch
# `hunch completion zsh` wrote this.
_hunch() {
    local -a offers
    offers=("${(@f)$(HUNCH_WORDS="${(pj:\x1f:)words[2,CURRENT]}" $words[1] completion zsh 2>/dev/null)}")
    if [[ $offers[1] == :files ]]; then
        shift offers
        _files
    fi
    _describe hunch offers
}
if [[ $funcstack[1] == _hunch ]]; then _hunch "$@"; else compdef _hunch hunch; fi
""",
    "fish": r"""# `hunch completion fish` wrote this.
function __hunch_complete
    set -l word (commandline -ct)
    set -l words (commandline -opc) "$word"
    set -lx HUNCH_WORDS (string join \x1f -- $words[2..-1])
    set -l offers ($words[1] completion fish 2>/dev/null)
    if test "$offers[1]" = :files
        set -e offers[1]
        __fish_complete_path $words[-1]
    end
    printf '%s\n' $offers
end
complete -c hunch -f -a '(__hunch_complete)'
""",
}


def completion(arguments: Namespace) -> int:
    typed = os.environ.get(WORDS_VARIABLE)
    if typed is None:
        print(_SCRIPTS[arguments.shell], end="")
        return 0
    words = typed.split(SEPARATOR)
    for offer, summary in list_offers(words):
        if offer == FILES or offer.startswith(words[-1]):
            print(_format_offer(arguments.shell, offer, summary))
    return 0


def _format_offer(shell: str, offer: str, summary: str) -> str:
    """Format one completion, with its description, for the shell.

    bash cannot show descriptions, so it gets only the completion.
    """
    if shell == "bash" or not summary:
        return offer
    return f"{offer}\t{summary}" if shell == "fish" else f"{offer.replace(':', chr(92) + ':')}:{summary}"


def list_offers(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the possible completions of the last word, each with a description.

    `words` are the words after `hunch`. The constant FILES comes first if file names are allowed in that place.
    """
    if len(words) == 1:
        yield from ((command.name, command.summary) for command in COMMANDS)
        yield from ((noun.name, ", ".join(noun.verbs)) for noun in NOUNS)
        return
    verbs = next((noun.verbs for noun in NOUNS if noun.name == words[0]), None)
    if verbs is not None and len(words) == 2:
        yield from ((verb, "") for verb in verbs)
        return
    command = find_command(words[0] if verbs is None else verbs.get(words[1], ""))
    if command is not None:
        yield from _list_arguments(build_parser(command), words[-2], words[-1])


def _list_arguments(parser: argparse.ArgumentParser, previous: str, word: str) -> Iterator[tuple[str, str]]:
    for action in parser._actions:
        if previous in action.option_strings and action.nargs != 0:
            yield from [(str(choice), "") for choice in action.choices] if action.choices else [(FILES, "")]
            return
    positional = [action for action in parser._actions if not action.option_strings]
    if any(action.choices is None and _is_path(action.metavar) for action in positional):
        yield FILES, ""
    choices = [str(choice) for action in positional for choice in action.choices or ()]
    yield from ((choice, "") for choice in choices)
    if word.startswith("-") or not choices:
        for action in parser._actions:
            if action.help is not argparse.SUPPRESS:
                yield from ((option, (action.help or "").split(";")[0]) for option in action.option_strings)


def _is_path(metavar: object) -> bool:
    return any(word in str(metavar) for word in ("FILE", "DIR", "PATH"))
