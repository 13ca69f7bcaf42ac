"""`hunch doctor`: checks everything hunchd depends on, explains problems and applies safe fixes."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path
from typing import Final

from hunchd.cli.checks import Check, run_checks
from hunchd.cli.environment_checks import run_environment_checks
from hunchd.cli.output import DIM, GREEN, RED, YELLOW, colourize, print_json, strip_controls
from hunchd.config.app_paths import resolve_app_paths

_VERDICT_SIGNS: Final = {"ok": ("✓", GREEN), "note": ("•", YELLOW), "bad": ("✗", RED)}


def doctor(arguments: Namespace) -> int:
    """Run the checks and print their results.

    Returns exit code 0 if no problem is left, and 1 otherwise.
    """
    paths = resolve_app_paths()
    findings = [
        apply_fix(check) if arguments.fix else check for check in (*run_checks(paths), *run_environment_checks(paths))
    ]
    if arguments.json:
        print_json(
            [
                {name: getattr(check, name) for name in ("name", "verdict", "finding", "advice")}
                | {"fixable": check.fix is not None}
                for check in findings
            ]
        )
    else:
        for check in findings:
            _print_check(check)
        if not arguments.fix and any(check.fix and check.verdict == "bad" for check in findings):
            print("\nRun `hunch doctor --fix` to apply the safe fixes.")
    return 1 if any(check.verdict == "bad" for check in findings) else 0


def apply_fix(check: Check) -> Check:
    """Apply the fix that a check offers, if any.

    Returns the result after the fix, or the given result if there is no fix.
    """
    if check.fix is None:
        return check
    try:
        check.fix()
    except OSError as error:
        return check._replace(advice=f"{check.advice} (the automatic fix failed: {error.strerror})")
    return Check(check.name, "ok", f"fixed: {check.finding}")


def _print_check(check: Check) -> None:
    sign, colour = _VERDICT_SIGNS[check.verdict]
    print(f"{colourize(sign, colour)} {check.name:<10}{_mask_home(check.finding)}")
    if check.advice:
        print(colourize(f"  {'':<10}→ {_mask_home(check.advice)}", DIM))


def _mask_home(text: str) -> str:
    """Replace the home folder, which contains the user's name, with ~.

    Users may paste the output into a public bug report.
    """
    home = str(Path.home())
    return strip_controls(text).replace(home + os.sep, "~" + os.sep) if len(home) > 1 else strip_controls(text)
