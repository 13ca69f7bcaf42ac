"""Masking of contact data: mail addresses, phone numbers and postal addresses of people.

Contact data stays in the verbatim log of a session and nowhere else. Precision comes first, because masked text is
shown to agents that work with it: versions, dates, addresses of hosts and code must stay. This module does no I/O.
"""

from __future__ import annotations

import re
from typing import Final

from hunchd.text.words import STATEMENT_STOP_WORDS

_MAIL: Final = re.compile(
    r"(?<![\w.+/:@-])(?!(?:git|no-?reply|root|user|admin)@)"
    r"[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,4}[A-Za-z]{2,12}(?![\w@-]|:\w|\()"
)
_PHONES: Final = tuple(
    re.compile(pattern)
    for pattern in (
        # with a country code
        r"(?<![\w+.])(?:\+|00)[1-9]\d{0,2}[ ./-]?(?:\(0?\d{1,4}\)[ ./-]?)?\d{1,5}(?:[ ./-]?\d{2,5}){1,4}"
        r"(?![\w.]\d|\w)",
        # North American, Chinese mobile, groups of three, national with a leading zero
        r"(?<![\w.-])\(?[2-9]\d{2}\)?[ .-][2-9]\d{2}[ .-]\d{4}(?![\w.-])",
        r"(?<![\w.-])1[3-9]\d{9}(?![\w.-])",
        r"(?<![\w.,-])[6-9]\d{2} \d{3} (?!000)\d{3}(?![\w.,-]|\s\d)",
        r"(?<![\w.,/:-])0[1-9]\d{0,3}(?=(?:[ /-]?\d){7})(?:[ /-]\d{2,8}){1,4}(?![\w.,:/-]\d|\w)",
    )
)
# What stands between such a word and the number.
_LINK: Final = (
    r"(?:\W{0,3}\b(?:no|nr|number|nummer|num[ée]ro|número|numer|is|was|ist|est|es|[éèe]|c'est|le|il|la|an|at|on|jest|я|это)\b"
    r"|'s\b|\W{0,2}(?:是|は|는|은)){0,4}"
)
_INTRODUCED_NUMBER: Final = re.compile(
    r"(?<![A-Za-z])(?:(?:phone|t[eé]l(?:[eé](?:f|ph)\w{0,12})?|tlf|mobil\w{0,8}|móvil|celular|cell\w{0,8}|portable"
    r"|handy\w{0,8}|fax|whatsapp|telegram|sms|телефон\w{0,3}|моб\w{0,8}|(?:my|his|her|mon|mio|mi|meu|mein\w?|moj\w?"
    r"|мой) (?:number|num[ée]ro|número|numero|nummer|numer|номер)|number is)\b"
    r"|(?:call|ring|text|reach|phone|ruf|appelle|llám|chiam)\w{0,5}(?:-moi|(?: (?:me|mich|her|him|us|them))?)"
    r"(?: (?:at|on|an|al|au|il))|手机号?码?|手機號?碼?|电话|電話|携帯|番号|휴대폰|전화(?:번호)?)"
    rf"{_LINK}[^\w\n]{{0,8}}(?P<number>\(?\+?\d[\d ()./-]{{5,18}}\d)",
    re.IGNORECASE,
)
_FEWEST_DIGITS: Final = 7
_MOST_DIGITS: Final = 15
_NAME: Final = r"[A-ZÀ-ÝŐŠŽ](?:[^\W\d_]|['’.-])+"
_ADDRESSES: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b\d{{1,5}}[A-Za-z]? (?:{_NAME} ){{1,3}}(?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Boulevard|Blvd"
        r"|Court|Way|Square|Terrace|Place|Close|Crescent|Parkway)\b\.?(?:,? (?:Apt|Unit|Suite|Flat)\.? ?\w+)?"
        rf"(?:, {_NAME}(?: {_NAME})?)?(?:,? [A-Z]{{2}}\b)?"
        r"(?:,? (?:\d{5}(?:-\d{4})?|[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}))?",
        r"\b[A-ZÄÖÜ][\wäöüß-]*(?:straße|strasse|str\.|weg|gasse|platz|allee|damm|ufer|straat|laan|gatan|vägen|gade) ?"
        rf"\d{{1,4}} ?[a-z]?\b(?![.\d])(?:,? (?:in )?(?:[A-Z]{{1,2}}-)?\d{{4,6}} {_NAME})?",
        r"\b\d{1,4}(?: bis| ter)?,? (?:rue|avenue|boulevard|place|chemin|allée|impasse|quai|route)"
        rf"(?: (?:de|du|des|la|le|les)| d['’]| l['’])* ?{_NAME}(?: {_NAME}){{0,3}}(?:,? \d{{5}} {_NAME})?",
        r"\b(?:[Cc]alle|[Aa]venida|Avda\.|[Pp]laza|[Pp]aseo|[Rr]ua|[Tt]ravessa|[Pp]raça)"
        rf"(?: (?:de|del|da|do|dos|das|la|los|las))* {_NAME}(?: (?:de |del |da |do )?{_NAME}){{0,4}},?"
        r" (?:n[.º°o]{1,2} ?)?\d{1,4}\b"
        rf"(?:,? \d{{4,5}}(?:-\d{{3}})? {_NAME})?",
        r"\b(?:ул\.|улиц[аеы]|проспект\w*|пр-т|переул\w+|бульвар\w*|шоссе) [А-ЯЁ][\w-]+(?: [\w-]+)?,? ?"
        r"(?:д(?:ом|\.) ?)?\d{1,4}(?:,? ?(?:кв|квартира)\.? ?\d+)?",
        r"[\u4e00-\u9fff]{2,24}(?:路|街|大道|巷) ?\d{1,5} ?号(?:[\u4e00-\u9fff\d]{0,12}(?:室|楼|栋|单元))?",
        r"(?:〒\d{3}-\d{4} ?)?[\u4e00-\u9fff]{1,3}[都道府県][\u4e00-\u9fffぁ-んァ-ヶー]{1,16}[市区町村]"
        r"[^\s。、\"]{0,20}?\d{1,4}(?:丁目|番地?|号|[-−]\d{1,4})+",
    )
)
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
