"""Masking of contact data: mail addresses, phone numbers and postal addresses of people.

Contact data stays in the verbatim log of a session and nowhere else. Precision comes first, because masked text is
shown to agents that work with it: versions, dates, addresses of hosts and code must stay. This module does no I/O.
"""

from __future__ import annotations

import re
from typing import Final

from hunchd.ingestion.redaction_words import ADDRESSES, PATTERNS
from hunchd.text.words import STATEMENT_STOP_WORDS

_MAIL: Final = re.compile(
    r"(?<![\w.+/:@-])(?!(?:git|no-?reply|root|user|admin)@)"
    r"[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,4}[A-Za-z]{2,12}(?![\w@-]|:\w|\()"
)
_PHONES: Final = tuple(map(re.compile, PATTERNS["phones"]))
_INTRODUCED_NUMBER: Final = re.compile(PATTERNS["introduced_number"])
_FEWEST_DIGITS: Final = 7
_MOST_DIGITS: Final = 15
_NAME: Final = r"[A-ZÀ-ÝĆČĎĐĘĚĞİŁŃŇŐŘŚŞŠŤŮŰŹŻŽ](?:[^\W\d_]|['’.-])+"
_ADDRESSES: Final = tuple(re.compile(source.replace("<name>", _NAME)) for source in ADDRESSES)
_SEVEN_DIGITS: Final = re.compile(r"(?:\d[ ()./-]{0,3}){7}")
_DATE: Final = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|(?:\d{1,3}\.){3}\d{1,3}")
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s)|[。！？\n]")
_OWNER: Final = re.compile(
    r"(?<![\w-])[^\W\d_a-zß-öø-ÿ][^\W\d_]+|[\u4e00-\u9fff]{2,4}(?=的|电话|手机|邮箱|地址|さん|様)"
)
_WORD: Final = re.compile(r"[^\W\d_]+")
# Words that begin sentences with contact data, and name no person.
_NO_OWNER: Final = STATEMENT_STOP_WORDS | frozenset(
    _WORD.findall(
        "call mail email write send reach contact phone tel telefon nummer number handy adresse address anschrift calle"
        " rue avenue avenida street straße teléfono correo téléphone dirección please bitte our my your"
    )
)


def find_contacts(text: str) -> list[tuple[int, int, str]]:
    """Return (start, end, name of the kind) of each mail address, phone number and postal address.

    The spans are in order and do not overlap.
    """
    spans = [(*match.span(), "mail address") for match in _MAIL.finditer(text)] if "@" in text else []
    if any(map(str.isdigit, text)):
        spans += [(*match.span(), "postal address") for one in _ADDRESSES for match in one.finditer(text)]
        spans += [(*span, "phone number") for span in find_phones(text)]
    separate: list[tuple[int, int, str]] = []
    for start, end, kind in sorted(spans, key=lambda one: (one[0], -one[1])):
        if not separate or start >= separate[-1][1]:
            separate.append((start, end, kind))
    return separate


def mask_contacts(text: str, question: str | None = None) -> str:
    """Replace contact data with the name of its kind, such as `[phone number]`.

    Contact data of a person whom `question` names is kept.
    """
    masked_text, end = "", 0
    for start, stop, kind in find_contacts(text):
        if question is None or not _names_owner(question, text, start, stop):
            masked_text += f"{text[end:start]}[{kind}]"
            end = stop
    return masked_text + text[end:]


def find_phones(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each phone number.

    A phone number is recognised by its form or by the word before it.
    """
    if not _SEVEN_DIGITS.search(text):
        return []
    spans = [match.span() for pattern in _PHONES for match in pattern.finditer(text)]
    spans += [match.span("number") for match in _INTRODUCED_NUMBER.finditer(text)]
    return [
        (start, end)
        for start, end in spans
        if _FEWEST_DIGITS <= sum(map(str.isdigit, text[start:end])) <= _MOST_DIGITS
        and not _DATE.search(text[start:end])
    ]


def _names_owner(question: str, text: str, start: int, stop: int) -> bool:
    """Return True if the question names a possible owner of some contact data.

    The contact data is at `start` to `stop` in `text`. Possible owners are the capitalized words in its sentence,
    and the words in the mail address itself.
    """
    begin = max((match.end() for match in _SENTENCE_END.finditer(text, 0, start)), default=0)
    end = next((match.start() for match in _SENTENCE_END.finditer(text, stop)), len(text))
    sentence = text[begin:start] + " " + text[stop:end]
    owners = {match[0].lower() for match in _OWNER.finditer(sentence)}
    owners |= {word.lower() for word in _WORD.findall(text[start:stop].partition("@")[0]) if "@" in text[start:stop]}
    question_text = question.lower()
    words = {form for word in _WORD.findall(question_text) for form in (word, word.removesuffix("s"))}
    owners = {one for one in owners if len(one) > 1 and one not in _NO_OWNER}
    return not owners.isdisjoint(words) or any(
        one in question_text for one in owners if not one.isascii() and one > "\u2e80"
    )
