"""Text of the git hooks: POSIX shell code for each event.

The functions render hunchd's lines, add them to a hook script and remove them from it.
"""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path
from typing import Final

EVENTS: Final = ("post-commit", "post-checkout", "post-merge", "post-rewrite")
# Suffix of an earlier hook that is not a shell script; hunchd's hook calls it.
BACKUP_SUFFIX: Final = "before-hunch"
SHEBANG: Final = b"#!/bin/sh\n"

# Shell code of each event, indented as in the template.
_EVENT_CODE: Final = {
    "post-commit": """\
    look
    rebasing || tell commit "\\"sha\\":\\"$sha\\""
""",
    # While the daemon runs it notices checkouts itself, including the previous branch.
    "post-checkout": """\
    [ "$3" = 1 ] && ! [ -e @RENDEZVOUS@ ] || exit 0
    look
    escape "$branch"
    [ -z "$branch" ] || rebasing || tell branch_checkout "\\"branch\\":\\"$escaped\\""
""",
    "post-merge": """\
    [ "$1" = 1 ] && exit 0 # squashed: nothing is committed yet
    look
    rebasing || tell merge "\\"sha\\":\\"$sha\\""
""",
    "post-rewrite": """\
    set -f
    IFS='
'
    for pair in $hunch_rewritten; do
        new=${pair#* }
        tell rewrite "\\"old\\":\\"${pair%% *}\\",\\"new\\":\\"${new%% *}\\""
    done
""",
}
# git's standard input is read once, and restored for the rest of the script.
_READ_INPUT: Final = "hunch_rewritten=$(cat)\n"
_RESTORE_INPUT: Final = """\
if [ -n "$hunch_rewritten" ]; then
    exec <<HUNCH
$hunch_rewritten
HUNCH
else
    exec </dev/null
fi
"""
# The guard stops hooks that call each other in a circle.
_CALL_PREVIOUS: Final = """\
hunch_file=@FILE@
case "|$HUNCH_CHAINED|" in *"|$hunch_file|"*) exit 0 ;; esac
[ -x "${0%/*}/@BEFORE@/@EVENT@" ] || exit 0
HUNCH_CHAINED="$HUNCH_CHAINED|$hunch_file" exec "${0%/*}/@BEFORE@/@EVENT@" "$@"
"""
_CREATED_NOTE: Final = " (a file of hunch)"
_LINE_END_NOTE: Final = " (added a line end)"

_BLOCK: Final = re.compile(
    rb"# >>> hunch (?P<event>[a-z-]+)(?P<note>[^:\n]*):[^\n]*\n(?:.*?\n)?# <<< hunch <<<\n", re.DOTALL
)
_SHELL_SHEBANG: Final = re.compile(
    rb"#! ?/(?:usr/)?(?:local/)?bin/(?:env (?:-S )?)?(?:sh|bash|dash|ksh|ash)(?: -[A-Za-z]+)*\s*$"
)


def render_block(
    event: str, *, spool: Path, rendezvous: Path, note: str = "", chained_file: Path | None = None
) -> bytes:
    """Return hunchd's lines for one event, ready to insert into a shell script.

    If the lines must call an earlier hook, `chained_file` is the hook file that will contain them.
    """
    is_rewrite = event == "post-rewrite"
    text = _load_template()
    for name, value in (
        ("TOLD", _EVENT_CODE[event].rstrip("\n")),
        ("BEFORE", _READ_INPUT if is_rewrite else ""),
        (
            "AFTER",
            (_RESTORE_INPUT if is_rewrite else "")
            + (_render_chain_call(chained_file) if chained_file is not None else ""),
        ),
        ("EVENT", event),
        ("NOTE", note),
        ("SPOOL", shlex.quote(str(spool))),
        ("RENDEZVOUS", shlex.quote(str(rendezvous))),
    ):
        text = text.replace(f"@{name}@", value)
    return text.encode("utf-8", "surrogateescape")


def render_own_script(event: str, *, spool: Path, rendezvous: Path, chained_file: Path | None = None) -> bytes:
    """Return a hook script that contains only hunchd's lines."""
    return SHEBANG + render_block(
        event, spool=spool, rendezvous=rendezvous, note=_CREATED_NOTE, chained_file=chained_file
    )


def add_block(script: bytes, event: str, *, spool: Path, rendezvous: Path) -> bytes:
    """Insert hunchd's lines after the first line of a shell script."""
    first, end, rest = script.partition(b"\n")
    return (
        first
        + b"\n"
        + render_block(event, spool=spool, rendezvous=rendezvous, note="" if end else _LINE_END_NOTE)
        + rest
    )


def remove_block(script: bytes) -> bytes | None:
    """Return the script without hunchd's lines, or None if hunchd created the script."""
    match = _BLOCK.search(script)
    if match is None:
        return script
    before, rest = script[: match.start()], script[match.end() :]
    if match["note"] == _CREATED_NOTE.encode() and before == SHEBANG and not rest:
        return None
    return before.removesuffix(b"\n") if match["note"] == _LINE_END_NOTE.encode() else before + rest


def has_block(script: bytes) -> bool:
    return _BLOCK.search(script) is not None


def is_own(script: bytes) -> bool:
    """Return True if hunchd created the script. Such a script contains only hunchd's lines."""
    return has_block(script) and remove_block(script) is None


def is_shell(script: bytes) -> bool:
    """Return True if shell code can be inserted into the script.

    This is possible if the first line of the script names a POSIX shell.
    """
    return _SHELL_SHEBANG.match(script.partition(b"\n")[0]) is not None and b"\0" not in script


def _render_chain_call(file: Path) -> str:
    return _CALL_PREVIOUS.replace("@BEFORE@", BACKUP_SUFFIX).replace("@FILE@", shlex.quote(str(file)))


@cache
def _load_template() -> str:
    return (Path(__file__).parent / "shell" / "hook.sh").read_text(encoding="utf-8")
