"""Recurrence task: are stored errors recognised again?

Their lines, paths, addresses and values may differ. Each case is stored under its fingerprint, as the daemon stores
errors. Then its variants are looked up (recall: how many find it), and each case is looked up in a store without
the errors of its own test (any answer is a mistake). Precision is the share of all answers that are right. A test
that fails again at the same assertion counts as the same error: a text cannot tell whether the cause is another
one.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hunchd.bench.tracebacks import Case
from hunchd.ingestion.errors import understood

_LINE = re.compile(r'(", line |\.\w{1,4}:)(\d+)')
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_FOLDER = re.compile(r"(?:/[\w.+-]+)+(?=/)")
_TEST = re.compile(r"\btest_\w+")
_NUMBER = re.compile(r"(?<![\w./:-])\d+(?![\w/:])")
_QUOTED = re.compile(r"""'([^'\n]*)'|"([^"\n]*)\"""")
_NAME = re.compile(r"[A-Za-z_][\w.]*(?:\(\))?")
_MESSAGE = re.compile(r"^(?:E  .*|[\w.]+(?:Error|Exception)\b.*)$", re.MULTILINE)


def told(cases: Sequence[Case], *, as_json: bool = False, seed: int = 0) -> str:
    """Format the results as a table or as JSON."""
    figures = measured(cases, seed=seed)
    if as_json:
        return json.dumps({"task": "recurrence", **figures}, indent=1)
    lines = [
        f"\nrecurrence: {figures['errors']} errors, {figures['pairs of one type']} pairs of different ones of one type"
    ]
    lines += [f"  recall, {name}".ljust(34) + f"{value:.3f}" for name, value in figures["recall"].items()]
    lines += ["  precision".ljust(34) + f"{figures['precision']:.3f}"]
    lines += ["  asked with a different error".ljust(34) + f"{figures['false alarms']:.3f} get an answer"]
    return "\n".join(lines)


def measured(cases: Sequence[Case], *, seed: int = 0) -> dict[str, Any]:
    """Measure recall of variants, precision and false alarms.

    Recall is given by kind of variant and over all but renamed tests.
    """
    prints = [(case, understood(case.text)) for case in cases]
    stored: dict[tuple[str, str], set[str]] = {}
    for case, error in prints:
        stored.setdefault((case.repository, error.fingerprint), set()).add(_function(case))
    found: dict[str, list[bool]] = {}
    right = wrong = 0
    for case, error in prints:
        drawn = random.Random(f"{seed}:{case.unit}:{case.test}")
        for name, text in variants(case.text, drawn):
            answer = stored.get((case.repository, understood(text).fingerprint), set())
            again = understood(text).fingerprint == error.fingerprint
            found.setdefault(name, []).append(again)
            if name != RENAMED:
                right += again
                wrong += bool(answer) and not again
    alarms = [bool(stored[case.repository, error.fingerprint] - {_function(case)}) for case, error in prints]
    wrong += sum(alarms)
    held = [again for name, several in found.items() if name != RENAMED for again in several]
    return {
        "errors": len(cases),
        "pairs of one type": _pairs([(case, error.type) for case, error in prints]),
        "recall": {**{name: _share(several) for name, several in found.items()}, "all but renamed": _share(held)},
        "precision": right / max(right + wrong, 1),
        "false alarms": _share(alarms),
    }


RENAMED = "renamed test"


def variants(text: str, drawn: random.Random) -> Iterator[tuple[str, str]]:
    """Yield variants of an error as it might recur.

    Those that leave the text unchanged are skipped.
    """
    kinds: dict[str, Callable[[str], str]] = {
        "shifted lines": lambda text: _shifted(text, drawn),
        "other paths": lambda text: _moved(text, drawn),
        "other addresses": lambda text: _ADDRESS.sub(lambda _: hex(drawn.getrandbits(47)), text),
        "other values": lambda text: _MESSAGE.sub(lambda line: _revalued(line[0], drawn), text),
        RENAMED: lambda text: _TEST.sub(lambda name: f"{name[0]}_anew", text),
    }
    together = text
    for name, changed in kinds.items():
        variant = changed(text)
        if variant != text:
            yield name, variant
        if name != RENAMED:
            together = changed(together)
    yield "all of these", together


def _shifted(text: str, drawn: random.Random) -> str:
    step = drawn.randint(1, 400)
    return _LINE.sub(lambda found: f"{found[1]}{int(found[2]) + step}", text)


def _moved(text: str, drawn: random.Random) -> str:
    """Simulate another checkout: replace the root of every absolute path."""
    folders = {folder for folder in _FOLDER.findall(text) if "/case-" in folder or "/env/" in folder}
    roots = {root[0] for folder in folders if (root := re.match(r".*?/case-\w+/[^/]+|.*?/env/[^/]+", folder))}
    for place in sorted(roots, key=len, reverse=True):
        text = text.replace(place, f"/home/u{drawn.randint(1, 99)}/src/copy-{drawn.randint(1, 99)}")
    return text


def _revalued(line: str, drawn: random.Random) -> str:
    """Replace numbers, and quoted texts that are not names."""
    line = _NUMBER.sub(lambda _: str(drawn.randint(2, 9_999)), line)
    return _QUOTED.sub(
        lambda found: f"'value {drawn.randint(2, 999)}'" if _is_value(line, found[0]) else found[0], line
    )


def _is_value(line: str, quoted: str) -> bool:
    """Return True for values of comparisons.

    Elsewhere a bare name is part of the error.
    """
    return "assert " in line or not _NAME.fullmatch(quoted[1:-1])


def _function(case: Case) -> str:
    """Return the name of the test without its parameters."""
    return case.test.partition("[")[0]


def _pairs(typed: Sequence[tuple[Case, str]]) -> int:
    """Count pairs of errors of one type and repository.

    They come from different tests.
    """
    return sum(
        a.repository == b.repository and kind == other and _function(a) != _function(b)
        for place, (a, kind) in enumerate(typed)
        for b, other in typed[:place]
    )


def _share(several: Sequence[bool]) -> float:
    return sum(several) / max(len(several), 1)
