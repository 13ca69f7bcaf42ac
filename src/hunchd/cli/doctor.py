"""`hunch doctor`: checks everything hunchd depends on, explains problems and applies safe fixes."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path
from typing import Final

from hunchd.cli.checks import Check, all_checks
from hunchd.cli.output import DIM, GREEN, RED, YELLOW, clean, coloured, print_json
from hunchd.cli.surroundings import surroundings
from hunchd.config.places import places

_SIGNS: Final = {"ok": ("✓", GREEN), "note": ("•", YELLOW), "bad": ("✗", RED)}


def doctor(arguments: Namespace) -> int:
    """Run the checks.

    Exit code 0 if nothing is wrong (any more), else 1.
    """
    where = places()
    findings = [mended(check) if arguments.fix else check for check in (*all_checks(where), *surroundings(where))]
    if arguments.json:
        print_json(
            [{name: getattr(check, name) for name in ("name", "verdict", "finding", "advice")} for check in findings]
        )
    else:
        for check in findings:
            _tell(check)
        if not arguments.fix and any(check.mend and check.verdict == "bad" for check in findings):
            print("\nhunch doctor --fix applies the safe fixes.")
    return 1 if any(check.verdict == "bad" for check in findings) else 0


def mended(check: Check) -> Check:
    """Apply the fix of a check, if it has one.

    Returns the resulting check.
    """
    if check.mend is None:
        return check
    try:
        check.mend()
    except OSError as error:
        return check._replace(advice=f"{check.advice} (tried: {error.strerror})")
    return Check(check.name, "ok", f"fixed: {check.finding}")


def _tell(check: Check) -> None:
    sign, colour = _SIGNS[check.verdict]
    print(f"{coloured(sign, colour)} {check.name:<10}{_masked(check.finding)}")
    if check.advice:
        print(coloured(f"  {'':<10}→ {_masked(check.advice)}", DIM))


def _masked(text: str) -> str:
    """Remove the user's name from a text.

    It may be pasted into a public report.
    """
    home = str(Path.home())
    return clean(text).replace(home + os.sep, "~" + os.sep) if len(home) > 1 else clean(text)
