from __future__ import annotations

import pytest

from hunchd.protocol.export_integrity import ExportIntegrity, build_closing_line, build_opening_line
from hunchd.protocol.exports import ExportLine, build_export_line

MEMORY = build_export_line("memory", {"id": "m1"})
EXPORT = [build_opening_line({"product": "hunchd"}), MEMORY, MEMORY, build_closing_line(3)]
OLDER = [build_export_line("meta", {"product": "hunchd"}), MEMORY]
BROKEN = None  # a line that nobody understands


def complete(*lines: ExportLine | None) -> bool | None:
    wholeness = ExportIntegrity()
    for line in lines:
        wholeness.count_line()
        if line is not None:
            wholeness.check_line(line)
    is_complete, warnings = wholeness.summarize()
    assert bool(warnings) == (is_complete is not True)
    return is_complete


def test_export_with_all_lines_is_complete() -> None:
    assert complete(*EXPORT) is True
    assert complete(*EXPORT, *EXPORT) is True
    assert complete(EXPORT[0], BROKEN, MEMORY, EXPORT[-1]) is True  # it came, whatever it says


@pytest.mark.parametrize("end", range(1, len(EXPORT)))
def test_export_cut_off_is_incomplete(end: int) -> None:
    assert complete(*EXPORT[:end]) is False
    assert complete(*EXPORT, *EXPORT[:end]) is False


def test_export_with_wrong_count_is_incomplete() -> None:
    assert complete(*EXPORT[1:]) is False
    assert complete(*EXPORT[:2], *EXPORT[3:]) is False
    assert complete(*EXPORT[:3], *EXPORT[2:]) is False


def test_export_without_count_is_unknown() -> None:
    assert complete() is None
    assert complete(*OLDER) is None
    assert complete(*EXPORT, *OLDER) is None
    assert complete(MEMORY) is None
