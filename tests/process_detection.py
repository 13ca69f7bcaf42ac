"""Find out which tests start a process, from the code that they and their fixtures name.

`conftest.py` marks these tests with `process`, so that `./dev unit` can leave them out.
"""

from __future__ import annotations

import functools
import inspect
import os
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TESTS = f"{Path(__file__).parent}{os.sep}"
SOURCES = f"{Path(__file__).parents[1] / 'src'}{os.sep}"
PAGE = Path(TESTS, "page")  # most of its tests use a browser that a fixture started
EDITORS = Path(TESTS, "editors")  # each of its tests starts an editor, of a class that a fixture returns
ISOLATION = f"{TESTS}conftest.py"  # its fixtures surround every test, and name processes only to forbid them
# Modules that start processes, and attributes of `os` and `asyncio` that do.
STARTING_MODULES = frozenset({"subprocess", "multiprocessing", "pty"})
STARTING_ATTRIBUTES = frozenset(
    {"fork", "forkpty", "posix_spawn", "execv", "create_subprocess_exec", "create_subprocess_shell"}
)


def starts_process(item: pytest.Function) -> bool:
    """Return True if the test or one of its fixtures names something that starts a process.

    git is not counted: it ends before the call returns.
    """
    if EDITORS in item.path.parents or (PAGE in item.path.parents and item.path.name != "test_build.py"):
        return True
    definitions = item._fixtureinfo.name2fixturedefs.values()
    functions = [inspect.unwrap(one) for one in (item.function, *(each[-1].func for each in definitions))]
    return any(_reaches_process(one) for one in functions if _is_in(one, TESTS) and not _is_in(one, ISOLATION))


@functools.cache
def _reaches_process(function: types.FunctionType) -> bool:
    """Return True if `function`, or code that it names, starts a process.

    Helpers of the tests are followed to the end; of the product only what is named directly counts.
    """
    waiting, seen = [function], set()
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        if _starts_directly(each):
            return True
        if _is_in(each, TESTS):
            waiting += _named_functions(each)
    return False


@functools.cache
def _starts_directly(function: types.FunctionType) -> bool:
    names, constants = _names_in(function.__code__)
    modules = {value.__name__ for value in _named_values(function) if isinstance(value, types.ModuleType)}
    starts = bool(modules & STARTING_MODULES or names & STARTING_ATTRIBUTES)
    return starts and ("git" not in constants or "executable" in names)


@functools.cache
def _named_functions(function: types.FunctionType) -> list[types.FunctionType]:
    return [found for value in _named_values(function) for found in _functions_of(value)]


def _named_values(function: types.FunctionType) -> list[object]:
    """Return the globals that the code of `function` names."""
    names, _ = _names_in(function.__code__)
    return [function.__globals__[name] for name in names if name in function.__globals__]


@functools.cache
def _names_in(code: types.CodeType) -> tuple[set[str], set[object]]:
    """Return the names and texts of `code` and of the functions and comprehensions in it."""
    names, constants = set(code.co_names), set()
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner_names, inner_constants = _names_in(constant)
            names |= inner_names
            constants |= inner_constants
        elif isinstance(constant, tuple):
            constants.update(one for one in constant if isinstance(one, str))
        elif isinstance(constant, str):
            constants.add(constant)
    return names, constants


def _functions_of(value: object) -> Iterator[types.FunctionType]:
    """Yield `value`, or the methods and properties of a class, if the tests or the product define it."""
    members = vars(value).values() if isinstance(value, type) else [value]
    for member in members:
        function = getattr(member, "fget", member)
        function = inspect.unwrap(function) if callable(function) else None
        if isinstance(function, types.FunctionType) and (_is_in(function, TESTS) or _is_in(function, SOURCES)):
            yield function


def _is_in(function: Any, place: str) -> bool:
    """Return True if `function` is defined in a file whose path begins with `place`."""
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename.startswith(place)


def describe_command(command: object) -> str:
    """Return the name of the program that `command`, as given to Popen, starts."""
    first = command if isinstance(command, str | bytes | os.PathLike) else next(iter(command), "")  # type: ignore[call-overload]
    return Path(os.fsdecode(first)).name
