"""Recurrence task: is a stored error recognised when it occurs again?

Lines, paths, addresses and values may differ between occurrences. Each case is stored under its fingerprint, as the
daemon stores errors. Then its variants are looked up (recall is the share that find it), and each case is looked up
in a store without the errors of its own test (any answer is a mistake). Precision is the share of all answers that
are right. A test that fails again at the same assertion counts as the same error, because the text does not tell
whether the cause is different.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from replay_errors import ErrorCase, load_cases

from hunchd.ingestion.errors import parse_error

_LINE = re.compile(r'(", line |\.\w{1,4}:)(\d+)')
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_FOLDER = re.compile(r"(?:/[\w.+-]+)+(?=/)")
_TEST = re.compile(r"\btest_\w+")
_NUMBER = re.compile(r"(?<![\w./:-])\d+(?![\w/:])")
_QUOTED_TEXT = re.compile(r"""'([^'\n]*)'|"([^"\n]*)\"""")
_NAME = re.compile(r"[A-Za-z_][\w.]*(?:\(\))?")
_MESSAGE = re.compile(r"^(?:E  .*|[\w.]+(?:Error|Exception)\b.*)$", re.MULTILINE)


def format_results(cases: Sequence[ErrorCase], *, as_json: bool = False, seed: int = 0) -> str:
    """Format the results as a table or as JSON."""
    figures = measure_recurrence(cases, seed=seed)
    if as_json:
        return json.dumps({"task": "recurrence", **figures}, indent=1)
    lines = [
        f"\nrecurrence: {figures['errors']} errors, {figures['pairs of one type']} pairs of different ones of one type"
    ]
    lines += [f"  recall, {name}".ljust(34) + f"{value:.3f}" for name, value in figures["recall"].items()]
    lines += ["  precision".ljust(34) + f"{figures['precision']:.3f}"]
    lines += ["  asked with a different error".ljust(34) + f"{figures['false alarms']:.3f} get an answer"]
    return "\n".join(lines)


def measure_recurrence(cases: Sequence[ErrorCase], *, seed: int = 0) -> dict[str, Any]:
    """Measure recall of variants, precision and false alarms.

    Recall is returned for each kind of variant, and over all kinds except renamed tests.
    """
    understood_cases = [(case, parse_error(case.text)) for case in cases]
    tests_by_fingerprint: dict[tuple[str, str], set[str]] = {}
    for case, error in understood_cases:
        tests_by_fingerprint.setdefault((case.repository, error.fingerprint), set()).add(_get_function_name(case))
    hits_by_variant: dict[str, list[bool]] = {}
    true_answers = false_answers = 0
    for case, error in understood_cases:
        rng = random.Random(f"{seed}:{case.unit}:{case.test}")
        for name, text in generate_variants(case.text, rng):
            answer = tests_by_fingerprint.get((case.repository, parse_error(text).fingerprint), set())
            is_recognised = parse_error(text).fingerprint == error.fingerprint
            hits_by_variant.setdefault(name, []).append(is_recognised)
            if name != RENAMED_TEST:
                true_answers += is_recognised
                false_answers += bool(answer) and not is_recognised
    false_alarms = [
        bool(tests_by_fingerprint[case.repository, error.fingerprint] - {_get_function_name(case)})
        for case, error in understood_cases
    ]
    false_answers += sum(false_alarms)
    counted_hits = [
        is_recognised for name, several in hits_by_variant.items() if name != RENAMED_TEST for is_recognised in several
    ]
    return {
        "errors": len(cases),
        "pairs of one type": _count_pairs([(case, error.type) for case, error in understood_cases]),
        "recall": {
            **{name: _compute_share(several) for name, several in hits_by_variant.items()},
            "all but renamed": _compute_share(counted_hits),
        },
        "precision": true_answers / max(true_answers + false_answers, 1),
        "false alarms": _compute_share(false_alarms),
    }


RENAMED_TEST = "renamed test"


def generate_variants(text: str, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Yield variants of an error as it might occur again, with the kind of variant.

    Variants that leave the text unchanged are skipped.
    """
    kinds: dict[str, Callable[[str], str]] = {
        "shifted lines": lambda text: _shift_lines(text, rng),
        "other paths": lambda text: _replace_roots(text, rng),
        "other addresses": lambda text: _ADDRESS.sub(lambda _: hex(rng.getrandbits(47)), text),
        "other values": lambda text: _MESSAGE.sub(lambda line: _replace_values(line[0], rng), text),
        RENAMED_TEST: lambda text: _TEST.sub(lambda name: f"{name[0]}_anew", text),
    }
    combined_text = text
    for name, transform in kinds.items():
        variant = transform(text)
        if variant != text:
            yield name, variant
        if name != RENAMED_TEST:
            combined_text = transform(combined_text)
    yield "all of these", combined_text


def _shift_lines(text: str, rng: random.Random) -> str:
    step = rng.randint(1, 400)
    return _LINE.sub(lambda match: f"{match[1]}{int(match[2]) + step}", text)


def _replace_roots(text: str, rng: random.Random) -> str:
    """Replace the root of every absolute path, to simulate another checkout."""
    folders = {folder for folder in _FOLDER.findall(text) if "/case-" in folder or "/env/" in folder}
    roots = {root[0] for folder in folders if (root := re.match(r".*?/case-\w+/[^/]+|.*?/env/[^/]+", folder))}
    for place in sorted(roots, key=len, reverse=True):
        text = text.replace(place, f"/home/u{rng.randint(1, 99)}/src/copy-{rng.randint(1, 99)}")
    return text


def _replace_values(line: str, rng: random.Random) -> str:
    """Replace numbers, and quoted texts other than names."""
    line = _NUMBER.sub(lambda _: str(rng.randint(2, 9_999)), line)
    return _QUOTED_TEXT.sub(
        lambda match: f"'value {rng.randint(2, 999)}'" if _is_value(line, match[0]) else match[0], line
    )


def _is_value(line: str, quoted_text: str) -> bool:
    """Return True if a quoted text is a value in a comparison.

    In other contexts, a bare name is part of the error.
    """
    return "assert " in line or not _NAME.fullmatch(quoted_text[1:-1])


def _get_function_name(case: ErrorCase) -> str:
    """Return the name of the test without its parameters."""
    return case.test.partition("[")[0]


def _count_pairs(cases_with_type: Sequence[tuple[ErrorCase, str]]) -> int:
    """Count the pairs of errors with the same type and repository from different tests."""
    return sum(
        a.repository == b.repository and kind == other and _get_function_name(a) != _get_function_name(b)
        for place, (a, kind) in enumerate(cases_with_type)
        for b, other in cases_with_type[:place]
    )


def _compute_share(flags: Sequence[bool]) -> float:
    return sum(flags) / max(len(flags), 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, required=True, metavar="FILE", help="as error_cases.py writes them")
    parser.add_argument("--json", action="store_true", help="print figures as JSON")
    options = parser.parse_args()
    print(format_results(load_cases(options.cases), as_json=options.json))
    return 0


if __name__ == "__main__":
    sys.exit(main())
