"""Entry point of `hunch`.

It parses the arguments, runs one command, and converts an error to a one-line message and an exit code.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence

    from hunchd.domain.errors import HunchError

# Exit codes that shells report for commands ended by these signals.
EXIT_INTERRUPTED = 130
PIPE_CLOSED = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run `hunch` with the arguments `argv`, or with those of the process if `argv` is None.

    Returns the exit code: 0 if the command succeeded, 1 if it failed, 2 for wrong usage, 3 if there is no daemon; or,
    as a shell would report it, 130 if the user interrupted the command and 141 if the reader of its output has gone.
    """
    _open_standard_streams()
    words = sys.argv[1:] if argv is None else argv
    if words[:2] == ["run", "--"] and len(words) > 2:
        return _run_wrapped_command(words[2:], is_own_process=argv is None)
    from hunchd.cli.errors import CommandError
    from hunchd.domain.errors import HunchError

    # A file name or a terminal that does not use UTF-8 must not abort a command.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run_command(words)
        sys.stdout.flush()
    except CommandError as error:
        _print_error(error)
        return error.exit_code
    except HunchError as error:
        _print_error(error)
        return 1
    except BrokenPipeError:
        # The reader has gone; without this, Python would report that again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except OSError as error:
        _print_error(CommandError(_describe_os_error(error), hint=_suggest_fix(error)))
        return 1
    return code


def _open_standard_streams() -> None:
    """Open /dev/null in place of standard streams that are closed.

    Otherwise the next files to be opened would get the descriptors of the standard streams.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115


def _describe_os_error(error: OSError) -> str:
    if isinstance(error, FileNotFoundError) and error.filename is None:
        try:
            os.getcwd()  # noqa: PTH109 - pathlib is not loaded here
        except FileNotFoundError:
            return "the current folder no longer exists; change to another one."
    return f"{error.filename or 'system'}: {error.strerror or error}"


def _suggest_fix(error: OSError) -> str | None:
    if not isinstance(error, PermissionError) or not os.environ.get("HUNCHD_HOME") or os.name != "posix":
        return None
    from pathlib import Path

    from hunchd.config.app_paths import expand_path, format_foreign_folder_hint

    home, path = expand_path(os.environ["HUNCHD_HOME"]).absolute(), Path(str(error.filename)).absolute()
    if not path.is_relative_to(home):
        return None
    try:
        is_own = home.lstat().st_uid == os.geteuid()
    except OSError:  # the folder above cannot be accessed
        is_own = False
    return f"Run `chmod -R u+rwX {home}`." if is_own else format_foreign_folder_hint(home)


def _run_wrapped_command(words: Sequence[str], *, is_own_process: bool) -> int:
    """Run `hunch run -- WORDS`, importing only the modules that it needs.

    The user waits for the command, so every import counts. If `is_own_process` is True, the process exits immediately
    after the command has ended, without cleaning up.
    """
    try:
        from hunchd.cli.running.run import run_command

        code = run_command(words)
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except OSError as error:
        os.write(2, f"hunch: {_describe_os_error(error)}\n".encode("utf-8", "replace"))
        code = 1
    if is_own_process:
        os._exit(code)
    return code


def _run_command(argv: Sequence[str]) -> int:
    if argv[:1] == ["agent-hook"] and len(argv) == 2 and not argv[1].startswith("-"):
        from hunchd.cli.agents.agent_hook_client import answer_hook

        return answer_hook(argv[1])  # an agent is waiting: do not import the table of all commands
    from importlib import import_module

    from hunchd.cli.parser import parse_arguments

    arguments = parse_arguments(argv)
    module, _, function = arguments.runs.partition(":")
    command: Callable[[Namespace], int] = getattr(import_module(module), function)
    return command(arguments)


def _print_error(error: HunchError) -> None:
    print(f"hunch: {error.message}", file=sys.stderr)
    if error.hint:
        print(f"       {error.hint}", file=sys.stderr)
