"""Detection of personal data that facts must not contain.

This covers bank cards and accounts, identity numbers, phone numbers and private mail addresses. Card and account
numbers must have valid check digits, so that build numbers and ids are not mistaken for them; phone numbers are
recognised by their form or by the word before them. This module does no I/O.
"""

from __future__ import annotations

import re
from typing import Final

from hunchd.ingestion.contact_masking import find_contacts, find_phones
from hunchd.ingestion.redaction_words import COPULAS, PATTERNS, PRIVATE_MAIL, PRIVATE_MAIL_DOMAINS

_CARD: Final = re.compile(
    r"(?<![A-Za-z0-9_.-])(?:[3-6]\d{3}|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d"
    r"|2720)(?:[ .-]?\d{4}){2}[ .-]?\d{1,7}(?![\w-])"
    r"|(?<![A-Za-z0-9_.-])3\d{3}[ -]?\d{6}[ -]?\d{5}(?![\w-])"
)
_IBAN: Final = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?(?![A-Za-z0-9])")
_PRIVATE_MAIL: Final = re.compile(
    rf"(?<![\w.+-])[\w.+-]+@(?:{PRIVATE_MAIL})\.(?:{PRIVATE_MAIL_DOMAINS})\b", re.IGNORECASE
)
_ANY_MAIL: Final = re.compile(r"[\w.+-]+@[\w-]+\.\w+")
_LONG_NUMBER: Final = re.compile(r"(?<![\w.])(?<!\d,)\+?\d(?:[ ().\-/]{0,2}\d){7,}")
_DATE: Final = re.compile(r"\b\d{4}[-/.]\d{1,2}[-/.]\d{1,2}\b|\b\d{1,2}[-/.]\d{1,2}[-/.]\d{4}\b")
_TECHNICAL_NUMBER: Final = re.compile(PATTERNS["technical_number"])
_SOCIAL_SECURITY: Final = re.compile(r"(?<![\w-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])")


_IDENTITY_WORD: Final = PATTERNS["identity_word"]
_ACCOUNT_WORD: Final = PATTERNS["account_word"]
_NUMBER_AFTER: Final = (
    rf"(?:-?n(?:umme)?r)?\W{{0,4}}(?:(?:(?:no|nr|number|nummer|el|la|mitt?|mój|{COPULAS})(?![^\W\d_])|是|は|號|号)"
    r"\W{0,3}){0,3}(?P<value>"
)
_IDENTITY_NUMBER: Final = r"(?-i:[A-Z]{0,5})[ -]?\d[\dA-Z]*(?:[ .-]{1,2}\d[\dA-Z]*)*)"
_NAMED_IDENTITY: Final = re.compile(
    rf"(?<![A-Za-z0-9]){_IDENTITY_WORD}(?:(?<=[^\x00-\x7f])|(?![A-Za-z0-9_])){_NUMBER_AFTER}{_IDENTITY_NUMBER}"
    r"|(?<![A-Za-z0-9])(?P<fiscal>(?-i:[A-Z]{6}\d\d[A-EHLMPRST]\d\d[A-Z]\d{3}[A-Z]))(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_NAMED_ACCOUNT: Final = re.compile(rf"{_ACCOUNT_WORD}{_NUMBER_AFTER}\d[\d -]{{3,}}\d)", re.IGNORECASE)
_CHINESE_IDENTITY: Final = re.compile(r"(?<!\d)[1-9]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])\d{5}[\dXx](?!\d)")
_REDACTED_NUMBER: Final = re.compile(r"\[redacted:(?:card|account|identity)\]")
_FEWEST_DIGITS: Final = 6


def redact_identity_numbers(text: str) -> str:
    """Replace card, account and identity numbers by placeholders."""
    for start, end, kind in sorted(find_identity_numbers(text), reverse=True):
        text = f"{text[:start]}[redacted:{kind}]{text[end:]}"
    return text


def find_identity_numbers(text: str) -> list[tuple[int, int, str]]:
    """Return (start, end, kind) for each card, account or identity number in `text`.

    The spans are in order and do not overlap.
    """
    if not any(map(str.isdigit, text)):
        return []
    found = [(*match.span(), "card") for match in _CARD.finditer(text) if _passes_luhn(match[0])]
    found += [(*match.span(), "account") for match in _IBAN.finditer(text) if _passes_mod97(match[0])]
    found += [
        (*match.span(), "identity") for match in (*_SOCIAL_SECURITY.finditer(text), *_CHINESE_IDENTITY.finditer(text))
    ]
    for pattern, kind in ((_NAMED_IDENTITY, "identity"), (_NAMED_ACCOUNT, "account")):
        for match in pattern.finditer(text):
            group = "value" if match["value"] else "fiscal"
            if sum(map(str.isdigit, match[group])) >= _FEWEST_DIGITS:
                found.append((*match.span(group), kind))
    separate: list[tuple[int, int, str]] = []
    for start, end, kind in sorted(found):
        if not separate or start >= separate[-1][1]:
            separate.append((start, end, kind))
    return separate


def holds_contact_data(text: str) -> bool:
    """Return True if `text` may contain contact data.

    Any mail address counts. The following count too: numbers of at least eight digits that look like neither a date
    nor the number of a thing, redacted numbers, postal addresses, and whatever `holds_personal_data` finds.
    """
    has_number = _LONG_NUMBER.search(_TECHNICAL_NUMBER.sub("", _DATE.sub("", text))) or _REDACTED_NUMBER.search(text)
    if has_number is not None or _ANY_MAIL.search(text) is not None or holds_personal_data(text):
        return True
    return bool(find_contacts(text))


def holds_personal_data(text: str) -> bool:
    """Return True if `text` contains personal data.

    Examples are a card number, a bank account, a phone number or a private mail address.
    """
    if "@" in text and _PRIVATE_MAIL.search(text):
        return True
    if not any(map(str.isdigit, text)):
        return False
    return (
        any(_passes_luhn(match[0]) for match in _CARD.finditer(text))
        or any(_passes_mod97(match[0]) for match in _IBAN.finditer(text))
        or _SOCIAL_SECURITY.search(text) is not None
        or bool(find_phones(text))
    )


def _passes_luhn(number: str) -> bool:
    digits = [int(one) for one in number if one.isdigit()][::-1]
    doubled_digits = (digit * 2 - 9 * (digit > 4) for digit in digits[1::2])
    return 13 <= len(digits) <= 19 and (sum(digits[::2]) + sum(doubled_digits)) % 10 == 0


def _passes_mod97(account: str) -> bool:
    plain = account.replace(" ", "")
    rotated_text = plain[4:] + plain[:4]
    return 15 <= len(plain) <= 34 and int("".join(str(int(one, 36)) for one in rotated_text)) % 97 == 1
