"""Cards, accounts, phone numbers and private mail are recognised; build numbers, ids and role addresses are not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hunchd.domain.session import Message, MessageType, Turn
from hunchd.ingestion.personal_data import holds_contact_data, holds_personal_data
from hunchd.ingestion.session_digest import digest_turns


def card(digits: str) -> str:
    """Return `digits` with the check digit that makes them a card's number."""
    total = sum(int(one) for one in digits[::-1][1::2])
    total += sum(sum(divmod(int(one) * 2, 10)) for one in digits[::-1][0::2])
    return digits + str(-total % 10)


def iban(country: str, account: str) -> str:
    digits = "".join(str(int(one, 36)) for one in f"{account}{country}00")
    return f"{country}{98 - int(digits) % 97:02}{account}"


PERSONAL = {
    "card": f"Bo pays with {card('453201511283036')}",
    "card in groups": "Bo pays with " + " ".join(card("555555555555444")[at : at + 4] for at in range(0, 16, 4)),
    "account": f"refunds go to {iban('NL', 'ABNA0417164300')}",
    "account in groups": "refunds go to "
    + " ".join(iban("FR", "20041010050500013M02606")[at : at + 4] for at in range(0, 27, 4)),
    "phone": "Bo answers at +44 20 7946 0958",
    "called phone": "his mobile: 0151 23456789",
    "phone of America": "call the driver: (415) 555-0132",
    "mail": "the payslip goes to bo.brandt77@gmx.net",
}


@pytest.mark.parametrize("text", PERSONAL.values(), ids=PERSONAL)
def test_holds_personal_data_true(text: str) -> None:
    assert holds_personal_data(text)


@pytest.mark.parametrize(
    "text",
    [
        "build numbers start at 202611260001",
        "the order id is 4532015112830361",
        "commit 1234567890123456 fixed it",
        "the limit is 1209600 seconds",
        "listen on 127.0.0.1:8080 and 10.0.0.12:5432",
        "ask support@depot.example for access",
        "version 2024.11.03-1415 was released",
        "the hash is DE0012AB34CD56EF",
        "use port 5432 of host 4155550",
    ],
)
def test_holds_personal_data_false(text: str) -> None:
    assert not holds_personal_data(text)


def test_digest_leaves_out_personal_statements() -> None:
    now = datetime(2026, 5, 1, tzinfo=UTC)
    said = f"We decided that Bo pays with {card('453201511283036')}. We decided to use Teal for the labels."
    message = Message(number=1, id="m1", event=MessageType.USER, text=said, at=now, tokens=20)
    turn = Turn(number=1, messages=(message,))

    assert [point.text for point in digest_turns([turn]).points] == ["We decided to use Teal for the labels."]


@pytest.mark.parametrize(
    "text",
    [
        "build numbers start at 202611260001",
        "a log is called 20261126-0815",
        "order ids begin at 40000000",
        "the limit is 104857600 bytes",
        "the seed is 1732612345",
        "the belt listens at 10.20.30.40:8080.",
        "the network 192.168.0.0/24",
        "archives begin at the stamp 1764000000123",
    ],
)
def test_contact_data_technical_number_false(text: str) -> None:
    assert not holds_contact_data(text)


@pytest.mark.parametrize(
    "text", ["reach Bo at 017612345678", "Bo: 415.555.12.34", "his account is 532013417", "Bo: 0151 2345 6789"]
)
def test_contact_data_long_number_true(text: str) -> None:
    assert holds_contact_data(text)
