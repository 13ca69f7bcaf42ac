"""Tests of the masking of mail addresses, phone numbers and postal addresses."""

from __future__ import annotations

import pytest

from hunchd.ingestion.contact_masking import find_contacts, mask_contacts


@pytest.mark.parametrize(
    "text",
    [
        "Write to ines.faber@example.org about it.",
        "Her number is +44 20 7946 0018.",
        "Meine Handynummer ist 0176 55501234.",
        "Son portable est le 06 39 98 12 34.",
        "电话是13812345678。",
        "携帯は 080-1234-5678 です",
        "Мой телефон: 8 495 123-45-67",
        "Ship it to 7 Orchard Lane, Bristol",
        "Sie wohnt Lindenallee 4, 50667 Köln.",
        "Vive en la Avenida de América 31",
        "Il habite 8 bis, rue du Bac",
        "他住在上海市静安区南京西路1266号",
        "ул. Садовая, д. 14",
    ],
)
def test_contact_is_found_in_each_language(text: str) -> None:
    assert find_contacts(text)


@pytest.mark.parametrize(
    "text",
    [
        "git clone git@gitlab.com:group/project.git",
        "npm install left-pad@1.3.0 react@next",
        "Listen on 192.168.120.254:8443 since 2026-11-25 17:04:12",
        "build 20261125.7, 1764090000 seconds, 13 000 rows, Python 3.13.0",
        "@pytest.mark.skip and ssh root@build.example.com",
        "Spring 6 and Route 66, see issue 1234567890123",
        "https://user@host.example.com/path",
    ],
)
def test_technical_text_stays(text: str) -> None:
    assert mask_contacts(text) == text


def test_contact_of_named_person_is_kept() -> None:
    text = "Ines can be reached at +44 20 7946 0018. Write to Paul: paul@example.org."
    assert mask_contacts(text, "what is ines' number?").count("[") == 1
    assert mask_contacts(text, "What is the number?") == (
        "Ines can be reached at [phone number]. Write to Paul: [mail address]."
    )
    assert "13812345678" in mask_contacts("李雷的电话是13812345678。", "李雷的电话是多少？")
