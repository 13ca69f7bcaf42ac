"""Personal data is recognised in forms of many countries; what looks alike is not."""

from __future__ import annotations

import pytest

from hunchd.ingestion.personal_data import find_identity_numbers, holds_personal_data
from tests.security.personal_forms import FIRST, LOOK_ALIKES, SECOND

MISSED = 0.1  # share of a kind


def _is_recognised(text: str) -> bool:
    return bool(find_identity_numbers(text)) or holds_personal_data(text)


@pytest.mark.parametrize("kind", FIRST)
def test_personal_data_in_forms_is_recognised(kind: str) -> None:
    texts = FIRST[kind] + SECOND[kind]
    missed = [text for text in texts if not _is_recognised(text)]

    assert len(missed) <= MISSED * len(texts), missed


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_look_alike_is_no_personal_data(text: str) -> None:
    assert not _is_recognised(text)


def test_letters_in_base64_are_no_identity() -> None:
    assert find_identity_numbers("Hq8dni7w2Xc41rg7mI9u61nr2gI2mLI27Nh3Q==") == []
