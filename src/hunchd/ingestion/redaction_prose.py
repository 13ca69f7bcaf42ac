"""Secrets that people pass on in words.

These are codes in digits, phrases, lists of spare codes and keys in groups. Digits and words are no secret by their
shape. A word that names the secret must stand before or behind them, with at most a verb or a colon between. This
module does no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hunchd.ingestion.redaction_values import is_numbered, is_random, is_scrambled, is_short_phrase
from hunchd.ingestion.redaction_words import (
    ANSWERS,
    ASCII_STEMS,
    CODE_NOUNS,
    CODE_PURPOSES,
    COPULAS,
    JOINED_COPULAS,
    KEY_WORDS,
    MARKS,
    NOUNS,
    OTHER_CODES,
    PATTERNS,
    PHRASE_NAMES,
    QUESTIONS,
    SPARE,
    compile_any,
)
from hunchd.text.words import is_function_word

_OF: Final = (
    r"(?:(?:de|di|da|do|del|della|of|for|la|el|les?|l|d|para|pour|per|der|the|из|от|для|до|к|z|dla|i|untuk)[ '’]){0,3}"
)
# A name of a code: one that says it all, or what it is for beside a word for a code.
_CODE_NAME: Final = re.compile(
    r"(?<![a-z])(?<!gpio )(?:[mi]|sms)?(?:pin|puk|tan|t?otp)(?:[ -]?(?:code|kod\w{0,3}|nummer))?(?![a-z_(])"
    r"|\bpass-?code\b|\bdigicode\b|\bauthenticator\b|\bпин(?:-?код)?\b"
    rf"|(?:{CODE_PURPOSES})\w{{0,12}}(?:['’]s)?[ -]?(?:\w{{1,12}} )?(?:{CODE_NOUNS})"
    rf"|(?:{CODE_NOUNS})[ -]{_OF}(?:ال|ה)?(?:{CODE_PURPOSES})\w{{0,12}}|{NOUNS}",
    re.IGNORECASE,
)
_UNIT: Final = PATTERNS["code_unit"]
_CODE: Final = re.compile(
    r"(?<![A-Za-z0-9_.,#-])(?:[A-Z]{1,3}-)?(?:\d{4,8}(?:-[A-Z][a-z]{3,12})?|\d{3}[ -]\d{3}(?:[ -]\d{3})?"
    rf"|\d{{4}}[ -]\d{{4}})(?![A-Za-z_\d%(]|[.,:/-]\d|[ -]?{_UNIT})"
)
_SIGN: Final = rf"(?:[:：=＝→]|->|[ \t](?:{COPULAS}|{MARKS}|lautet|are|says|shows)(?![^\W\d_])|{JOINED_COPULAS})"
_OPENING: Final = r"[\s\"'`“”„«»「『【\[(（*_>]{0,4}"
_BETWEEN: Final = re.compile(rf"[ \t:]?{_OPENING}|[^\n.!?;,]{{0,36}}?{_SIGN}{_OPENING}", re.IGNORECASE)
_CLOSING: Final = re.compile(
    rf"[\"'”»」\]】)]?(?:[ ]?[,(（–-][ ]?|[ ]?(?:{COPULAS}|as|como|als|作为|为|は)[ ]?)(?:[^\s\d.;:=]{{1,14}} ){{0,4}}",
    re.IGNORECASE,
)
_ENTERED_CODE: Final = re.compile(PATTERNS["entered_code"], re.IGNORECASE)
# Any other code, if it is said to be a number and is not one for reading: "code for the lockbox is …".
_PLAIN_NAME: Final = re.compile(rf"(?<![a-z])(?:{CODE_NOUNS}|2fa\b|verification\b)", re.IGNORECASE)
_SAID: Final = re.compile(
    rf"[^\n\d.!?;,:={{}}()]{{0,36}}[ \t](?:{COPULAS})[ \t](?:(?:the|le|el|il|o|de|now|still) )?[\"'“«]?", re.IGNORECASE
)
_LONG_CODE: Final = re.compile(
    r"[^\n\d.!?;,={}()\"']{0,24}?[:：]?[ \t]?[\"'“«]?(?=\d{6}(?!\d)|(?![1-5]\d\d-[1-5])\d{3}[ -]\d{3})", re.IGNORECASE
)
_ENGLISH_CODE: Final = re.compile(r"code|comb|2fa|verif", re.IGNORECASE)
_OTHER_CODE: Final = re.compile(OTHER_CODES, re.IGNORECASE)
_REACH: Final = 48  # characters between a name and its code
_BEHIND: Final = 20  # characters between a key in groups and its name
_CODE_STEMS: Final = (
    "pin", "puk", "tan", "otp", "cod", "kod", "2fa", "pass", "authentic", "combin", "sign in", "log in", "verif",
    "confirm", "reset",
    *ASCII_STEMS,
)  # fmt: skip
_CODE_STEM: Final = compile_any(_CODE_STEMS)

_SPARE: Final = re.compile(SPARE)
_LISTING: Final = re.compile(r"[:：\n]|(?i:are|sind|sont|son)\b")
_ITEM: Final = r"(?=[^\n]{0,60}\d)[A-Za-z0-9]{3,12}(?:[ -][A-Za-z0-9]{3,12}){0,5}|(?-i:[A-Z]{3,6}(?:-[A-Z]{3,6}){1,5})"
_CODE_LIST: Final = re.compile(
    rf"(?:(?:{SPARE})[^\n]{{0,24}}?(?:{CODE_NOUNS}|\bkeys?\b)|(?:{CODE_NOUNS}) {_OF}(?:{SPARE}))"
    rf"[^\n:：\d]{{0,30}}(?:(?:[:：]|\b(?:are|sind|sont|son)\b)\s{{0,8}}|\n\s{{0,8}})"
    rf"(?P<codes>(?:(?:[-*•]|\d{{1,2}}[.)])?[ \t]*(?:{_ITEM})[ \t]*(?:[,;/|]\s?|\r?\n\s?|$)){{2,20}})",
    re.IGNORECASE,
)
_GROUP: Final = r"(?=[a-z-]{0,16}\d)[0-9a-z]{4,8}(?:-[0-9a-z]{4,8}){0,3}"
_LISTED_GROUPS: Final = re.compile(
    rf"(?:(?:{SPARE})[^\n]{{0,24}}?(?:{CODE_NOUNS}|\bkeys?\b)|(?:{CODE_NOUNS}) {_OF}(?:{SPARE}))"
    rf"[^\n:：\d]{{0,30}}[:：]?\s{{1,8}}(?P<codes>{_GROUP}(?:[\s,;]{{1,3}}{_GROUP}){{1,20}})(?![\w-])",
    re.IGNORECASE,
)
_HEX_GROUPS: Final = re.compile(r"[0-9a-f]{4}[-\s,;]\s?[0-9a-f]{4}")
_NETWORK: Final = r"(?:\bwi-?fi|\bwlan|\bwireless|\bhotspot|вай-?фа[йяе]\w?|无线|無線)"
_NETWORK_KEY: Final = re.compile(
    rf"(?:{_NETWORK}[^\n.:=]{{0,12}}?(?:\bkey|\bcode|{KEY_WORDS})|(?:\bkey|{KEY_WORDS})[^\n.:=]{{0,16}}?{_NETWORK})"
    rf"[^\n:=({{]{{0,24}}?{_SIGN}{_OPENING}(?P<value>[^\s\"'`<>(){{}}\[\],;|_]{{7,62}}[^\s\"'`<>(){{}}\[\],;|_.!?:])",
    re.IGNORECASE,
)
_NO_NETWORK_KEY: Final = re.compile(r"w[pe][pa]\d?|psk|aes|802|\d+[./:]|[^\d-]+$", re.IGNORECASE)
_NETWORK_STEMS: Final = ("wifi", "wi-fi", "wlan", "wireless", "hotspot")
# A name or a word with digits, given as the answer to a question that opens an account.
_ANSWER: Final = re.compile(
    rf"(?:(?:{QUESTIONS})[^\n]{{0,80}}?(?<![^\W_])(?:{ANSWERS})|\b(?:security|secret) answer)\w{{0,2}}"
    rf"[^\n.:=?]{{0,20}}?{_SIGN}{_OPENING}"
    r"(?P<value>(?=\w{0,20}\d)\w{3,30}"
    r"|(?-i:[^\W\d_a-zß-öø-ÿа-яё][\w'’-]{2,30}(?: [A-ZÀ-Ý][\w'’-]{2,30}){0,2})(?! [a-zа-я]))",
    re.IGNORECASE,
)
_ANSWER_STEMS: Final = ("question", "answer", "frag", "pregunta", "domanda", "pergunta", "pytani", "vraag")
_GROUPED: Final = re.compile(
    r"(?<![\w-])(?:\d{6}(?:-\d{6}){7}|[A-Z0-9]{4,6}(?:-[A-Z0-9]{4,6}){3,7}|[a-z2-7]{4}(?: [a-z2-7]{4}){3,7}"
    r"|[A-Z2-7]{4}(?: [A-Z2-7]{4}){3,7}|[A-Z2-7]{16,64})(?![\w-])"
)
_GROUPED_STEMS: Final = (
    "key", "secret", "2fa", "totp", "authentic", "passw", "serial", "licen", "schl", "clave", "chave", "chiave",
)  # fmt: skip
_GROUPED_STEM: Final = compile_any(_GROUPED_STEMS)
_UNREADABLE: Final = re.compile(r"\d|\b[b-df-hj-np-tv-xz]{4}\b", re.IGNORECASE)
_GROUPED_NAME: Final = re.compile(
    rf"key|secret|2fa|totp|authenticator|app.?passw|licen[sc]e|serial|schlüssel|clé|clave|chave|chiave|ключ|密钥|{SPARE}",
    re.IGNORECASE,
)
_WORDS: Final = r"[^\W\d_]{2,16}(?P<by>[ ._-])[^\W\d_]{2,16}(?:(?P=by)[^\W\d_]{2,16}){2,30}"
_NUMBERED: Final = r"(?:\s{0,3}\d{1,2}[.):]?[ \t]{0,2}[a-z]{3,10}\b,?){8,24}"
_LONGEST_VERB: Final = 4  # characters of a colon or verb between a word for a password and one of words
_PHRASE_ONLY: Final = re.compile(PHRASE_NAMES, re.IGNORECASE)
_PHRASE_NAME: Final = re.compile(rf"{PHRASE_NAMES}|{NOUNS}|\bpassword\b")  # in lower case
_PHRASE: Final = re.compile(
    rf"(?P<between>[\"']?[^\n.!?;]{{0,36}}?{_SIGN}|\W{{0,3}}\s)\s*(?P<quote>[\"'`“„«「『])?\s?(?P<phrase>{_WORDS}|{_NUMBERED})",
    re.IGNORECASE,
)
_PHRASE_BEFORE: Final = re.compile(
    rf"(?<![\w-])(?P<phrase>{_WORDS})[\"'”»」]?,?\s(?:\^ |as|is|that's|als|como|comme)[^\n.]{{0,30}}$", re.IGNORECASE
)
# Where the name of a phrase is far, its length tells: 12 to 24 short words without a function word.
_SEED: Final = re.compile(r"(?<![\w.-])[a-z]{3,8}(?: [a-z]{3,8}){11,23}(?![\w.-])")
_RUN: Final = re.compile(r"[a-z]{3,8}+(?: [a-z]{3,8}+)*+")
_FEWEST_SPACES: Final = 10  # between the words of a seed
_SPOKEN_SHAPE: Final = re.compile(r"[\"'“„«‘「『]|[a-z][A-Z][a-z]")
# Right behind "password is": capitals that join words, or one word in quotes that is none of those which tell about it.
_SPOKEN: Final = re.compile(
    rf"(?:\b(?:pass(?:word|phrase)?|pw)\b|{NOUNS})[^\n.!?:=;\"]{{0,30}}?"
    rf"(?:[ \t](?:{COPULAS}|lautet)[ \t](?:\w+ly |still |just )?|[:：][ \t]?(?=[“„«]))"
    r"(?:(?P<joined>(?-i:(?:[A-Z][a-z]{2,11}){3,8})(?!\w))"
    r"|(?<!to )[\"'“„«‘](?!(?:requi|wrong|incor|invali|weak|empty|missing|expir|hidden|option|hash|encr|corr|blank"
    r"|nul|non|str|pass|secret|test|too|not|set|chang|bad|com|sec|saf|un|very|never|user))(?P<quoted>[^\W_]{5,24})[\"'”“»’])"
    rf"|(?:{NOUNS})\w{{0,3}}[ \t]?(?:{JOINED_COPULAS})?[ \t]?[“„«「『][ \t]?(?P<foreign>[^\W_]{{5,24}})[ \t]?[”“»」』]",
    re.IGNORECASE,
)
# A word and a number in quotes, on a line that names a password before or behind them.
_QUOTED_WORD: Final = re.compile(PATTERNS["quoted_password"], re.IGNORECASE)
_BELOW: Final = re.compile(
    r"(?:key|token|secret|passw(?:or)?d|credentials?)(?: \w{1,10})?:?[ \t]*\r?\n"
    r"[ \t]*(?P<value>[\w+/=~.-]{12,200})[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_PHRASE_STEMS: Final = ("pass", "phras", "fras", "seed", "mnemon", "words", "bip", "fraz", *ASCII_STEMS)
_PHRASE_STEM: Final = compile_any(_PHRASE_STEMS)
_NETWORK_STEM: Final = compile_any(_NETWORK_STEMS)
_ANSWER_STEM: Final = compile_any(_ANSWER_STEMS)
STEMS: Final = (*_CODE_STEMS, *_GROUPED_STEMS, *_PHRASE_STEMS, *_NETWORK_STEMS, *_ANSWER_STEMS)
_MOST_FUNCTION_WORDS: Final = 0.2  # share of the words of a phrase
_FEWEST_UNMARKED: Final = 8  # words


def find_in_prose(text: str, lower: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of codes and phrases without a name: grouped digits, and the words of a seed.

    `lower` is `text` in lower case.
    """
    if text.count("-") > 2 or ("-" in text and _SPARE.search(lower)):
        yield from _find_grouped(text)
    if text.count(" ") > _FEWEST_SPACES and any(run[0].count(" ") > _FEWEST_SPACES for run in _RUN.finditer(text)):
        for match in _SEED.finditer(text):
            words = match[0].split()
            if _are_distinct(words) and not any(map(is_function_word, words)):
                yield match.span()


def _find_grouped(text: str) -> Iterator[tuple[int, int]]:
    for match in _GROUPED.finditer(text):
        is_named = _GROUPED_NAME.search(text, max(0, match.start() - _REACH), match.end() + _BEHIND)
        if len(match[0]) == 55 or (is_named and _UNREADABLE.search(match[0])):
            yield match.span()


def find_named_in_prose(text: str, lower: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of codes and phrases with their names; one of STEMS is in `lower`, or it is not ASCII.

    `lower` is `text` in lower case.
    """
    has_script = not lower.isascii()
    has_code = has_script or _CODE_STEM.search(lower) is not None
    if has_code and _CODE.search(text):
        yield from _find_codes(text)
    if (has_code or "key" in lower) and _SPARE.search(lower):
        patterns = [_CODE_LIST] * bool(_LISTING.search(text)) + [_LISTED_GROUPS] * bool(_HEX_GROUPS.search(lower))
        yield from (match.span("codes") for pattern in patterns for match in pattern.finditer(text))
    if has_script or _GROUPED_STEM.search(lower):
        yield from _find_grouped(text)
    if has_script or _PHRASE_STEM.search(lower):
        yield from _find_phrases(text, lower)
        spoken_matches = (
            *(_SPOKEN.finditer(text) if _SPOKEN_SHAPE.search(text) else ()),
            *(one for one in _QUOTED_WORD.finditer(text) if is_numbered(one[one.lastgroup or 0])),
        )
        for match in spoken_matches:
            yield match.span(match.lastgroup or 0)
    if has_script or _NETWORK_STEM.search(lower):
        for match in _NETWORK_KEY.finditer(text):
            if is_short_phrase(match["value"]) or not _NO_NETWORK_KEY.match(match["value"]):
                yield match.span("value")
    if has_script or _ANSWER_STEM.search(lower):
        for match in _ANSWER.finditer(text):
            if not is_function_word(match["value"]):
                yield match.span("value")
    if "\n" in text:
        below = _BELOW.finditer(text)  # a value alone on the line below one that ends with a word for a secret
        yield from (match.span("value") for match in below if is_scrambled(match["value"]) or is_random(match["value"]))


def _find_codes(text: str) -> Iterator[tuple[int, int]]:
    yield from (found.span("code") for found in _ENTERED_CODE.finditer(text))
    for name in _CODE_NAME.finditer(text):
        after = _CODE.search(text, name.end(), name.end() + _REACH)
        if after and _BETWEEN.fullmatch(text, name.end(), after.start()):
            yield after.span()
            continue
        for before in _CODE.finditer(text, max(0, name.start() - _REACH), name.start()):
            if _CLOSING.fullmatch(text, before.end(), name.start()):
                yield before.span()
    for name in _PLAIN_NAME.finditer(text):
        code = _CODE.search(text, name.end(), name.end() + _REACH)
        if (
            code
            and (
                _SAID.fullmatch(text, name.end(), code.start())
                or _LONG_CODE.match(text, name.end(), code.end())
                or (not _ENGLISH_CODE.match(name[0]) and not text[name.end() : code.start()].strip(" :："))
            )
            and not _OTHER_CODE.search(text, max(0, name.start() - _BEHIND), min(len(text), code.end() + _BEHIND))
        ):
            yield code.span()


def _find_phrases(text: str, lower: str) -> Iterator[tuple[int, int]]:
    for name in _PHRASE_NAME.finditer(lower):
        if (after := _PHRASE.match(text, name.end())) and _is_phrase_after(name[0], after):
            yield after.span("phrase")
        line_start = text.rfind("\n", 0, text.rfind("\n", 0, name.start()) + 1 or name.start()) + 1
        before = _PHRASE_BEFORE.search(text, max(line_start, name.start() - 300), name.start())
        if before and _is_phrase(before["phrase"], is_marked=True):
            yield before.span("phrase")


def _is_phrase_after(name: str, match: re.Match[str]) -> bool:
    between = match["between"].strip()
    has_quote = match["quote"] is not None
    if not (has_quote or _PHRASE_ONLY.match(name) or len(between) <= _LONGEST_VERB):
        return False
    return _is_phrase(match["phrase"], is_marked=has_quote or between != "")


def _are_distinct(words: list[str]) -> bool:
    """Return True unless the words are filler, such as one word again and again."""
    return 4 * len({*words}) >= 3 * len(words)


def _is_phrase(text: str, *, is_marked: bool) -> bool:
    """Return True for words that make no sentence."""
    words = re.findall(r"[^\W\d_]+", text)
    return (
        (is_marked or len(words) >= _FEWEST_UNMARKED or " " not in text)
        and _are_distinct(words)
        and sum(map(is_function_word, words)) <= _MOST_FUNCTION_WORDS * len(words)
        and not any(map(is_function_word, words[:3]))
    )
