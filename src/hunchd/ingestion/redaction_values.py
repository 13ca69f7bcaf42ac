"""Checks of whether a value looks like a secret.

These functions do no I/O.
"""

from __future__ import annotations

import math
import re
from collections import Counter

from hunchd.ingestion.redaction_words import PATTERNS
from hunchd.text.identifiers import split_ascii_letters

_PLACEHOLDER = re.compile(PATTERNS["placeholder"])
_NUMBERS = re.compile(r"\d+(?:[-./: T]\d+)*")  # a date, a time, an address
_CALL = re.compile(r"[A-Za-z_][\w.]*\([^()]*\)")
_DIGEST = re.compile(r"^(?:sha\d{1,3}|md5|h1|blake\w+)[-:=]", re.IGNORECASE)
_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")
_WORD = re.compile(r"([A-Za-z]*)\d{0,4}|\d{1,4}[A-Za-z]{1,3}")  # a name with its number, or a number with its unit
_HUMP = re.compile(r"(?<=[a-z])[A-Z]")
_LONG_PART = 16  # characters
_LETTERS_OF_A_WORD = 2.75  # average length of the words in a long part
# Where letters, digits and marks change; a capital at the start of a word is no change.
_CHANGE = re.compile(
    r"(?<=[A-Za-z])(?=[^A-Za-z])|(?<=[^A-Za-z])(?=[A-Za-z])|(?<=\d)(?=[^\w])|(?<=[^\w])(?=\d)|(?<=[a-z])(?=[A-Z])"
)
_MIXED_ALPHABET = re.compile(r"[A-Za-z0-9!#$%^&*~?+=@_.:-]{8,64}")
_ALTERNATION = re.compile(r"(?<=[A-Za-z])\d|(?<=\d)[A-Za-z]|(?<=[a-z])[A-Z]")
_CALLED = re.compile(r"[A-Za-z]\w*(?:\.[a-z_]\w*)+[!?]")  # a method of Ruby or a macro
_PUBLIC = re.compile(r"[+]|=$|^AAAA")  # of digests and public keys
# A mark behind a word and a number, between two words of which one has a number, or before the last of two numbers.
_WORD_AND_MARKS = re.compile(
    r"[A-Za-z]{3,}\d+[A-Za-z]*[!#$%^&*?@+=~§€£]+|[A-Za-z]{3,}[-_.!#$%&*?@]\d+[A-Za-z]*[!#$^&*?@§€£]+"
    r"|[A-Za-z]{3,}[!#$%&*][A-Za-z]{3,}\d{1,4}|\d{1,4}[A-Za-z]{3,}[!#$%&*]\d{1,4}"
)
_STRONG_MARK = re.compile(r"[!#$%^&*~?@]")
_MARK = re.compile(r"[!#$%^&*~?@+=]")
_CODE = re.compile(r"a-z|A-Z|0-9|&#|%[0-9A-F]{2}|\*=|\$[A-Z_]{2}")  # of regular expressions, entities and quoted URLs
_CHANGES_PER_CHARACTER = 0.4
_ANNOUNCED_DENSITY = 0.3  # changes per character right behind a word for a password
_FEWEST_CHANGES = 3  # of a short word
_SHORTEST_SCRAMBLED = 12
_LONG_SCRAMBLED = 20
_LETTERS_OF_SCRAMBLED, _LETTERS_OF_LONG = 2.3, 3.0  # average length of runs of letters, split at camel case
_LONG_DENSITY = 0.25
_WORD_AND_YEAR = re.compile(r"[A-Za-z][a-z]{4,}\d{2,4}|[A-Za-z][a-z]{3}\d{3,4}")
_WORD_MARK_NUMBER = re.compile(r"[A-Za-z][a-z]{2,}(?:[!$^*?~]\d{2,4}[a-z]{0,4}|[#&%@+]\d{2,4}[a-z]{1,4})")
_WORDS_AND_NUMBER = re.compile(PATTERNS["words_and_number"])
# Words joined by hyphens with a number among them, or four longer words: what a generator of pass phrases writes.
_PHRASE = re.compile(r"[A-Za-z]{3,12}(?:-[A-Za-z]{3,12})*-\d{1,4}(?:-[A-Za-z]{3,12})+|[a-z]{4,12}(?:-[a-z]{4,12}){3,7}")
_NUMBERED_PHRASE = re.compile(r"[a-z]{4,12}(?:-[a-z]{4,12}){2,6}-\d{1,4}")
_SHORT_PHRASE = re.compile(r"[a-z]{4,12}(?:-[a-z]{4,12}){2}")
_WORD_WITH_NUMBER = re.compile(
    r"(?!(?:sha|md|utf|base|oauth|argon|bcrypt|level|version|type|line|step|http|i?pv)\d)[^\W\d_]{4,20}\d{1,4}"
)
_LITERAL = re.compile(r"[^\s$/(){}\[\]][^\s(){}\[\]]*")
_DIGIT_RUN = "01234567890123456789"
_LETTERED_DIGIT = re.compile(r"(?<=[a-z])[013457]{1,2}(?=[a-z])")  # as in `dr4gon`
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)*")
_FIXTURE = re.compile(PATTERNS["fixture"])
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def looks_secret(value: str, announced_as: str, *, is_quoted: bool) -> bool:
    """Return True if a value looks like a secret.

    Names, paths, calls and placeholders do not. `announced_as` is the kind of the word that announced the value
    ("password", "secret" or "key"), which determines how strict the check is.
    """
    if (
        is_placeholder(value)
        or _CALL.fullmatch(value)
        or _DIGEST.match(value)
        or value.startswith(("/", "./", "../", "~/", "http:", "https:"))
    ):
        return False
    if announced_as == "password":
        return _looks_like_password(value, is_quoted=is_quoted)
    if " " in value:
        return False
    if announced_as == "secret":
        return is_random(value, shortest=12) or is_mixed(value) or _UUID.fullmatch(value) is not None
    return len(value) >= 20 and _mixes_characters(value) and not _HEX.fullmatch(value) and is_random(value)


def is_literal_password(value: str) -> bool:
    """Return True for a value that is a password where only a literal can stand, as in a settings file."""
    return (
        len(value) >= 6
        and not is_placeholder(value)
        and not _FIXTURE.match(value)
        and not _NUMBERS.fullmatch(value)
        and _LITERAL.fullmatch(value) is not None
        and not re.fullmatch(r"[a-z_]+(?:\.[a-z_]+)+", value)
    )


def _looks_like_password(value: str, *, is_quoted: bool) -> bool:
    if value.isdecimal():
        return is_quoted and 6 <= len(value) <= 12 and value not in _DIGIT_RUN and value[::-1] not in _DIGIT_RUN
    if len(value) < 5 or _NUMBERS.fullmatch(value) or (" " in value and len(value.split()) > 4):
        return False
    if is_decorated_word(value) or is_generated(value, density=_ANNOUNCED_DENSITY) or is_phrase(value):
        return True
    if is_chosen(value):
        return True
    if is_words(value) and (not is_quoted or _FIXTURE.match(value) or not re.search(r"\d", value)):
        return False
    if _IDENTIFIER.fullmatch(value) and (_FIXTURE.match(value) or not is_quoted):
        return len(value) >= 10 and (
            _mixes_characters(value) or (not _FIXTURE.match(value) and _has_inner_digits(value))
        )
    kinds = sum(re.search(kind, value) is not None for kind in (r"[a-z]", r"[A-Z]", r"\d", r"[^\w\s]"))
    return kinds >= (2 if is_quoted else 3) and (is_quoted or re.search(r"\d", value) is not None)


def is_chosen(value: str) -> bool:
    """Return True for words with a number, as people choose them: `gravel-174`, `summer2024`, `Turnip?41nvq`."""
    return not _FIXTURE.match(value) and bool(_WORD_AND_YEAR.fullmatch(value) or _WORDS_AND_NUMBER.fullmatch(value))


def is_numbered(value: str) -> bool:
    """Return True for a word with a number, such as `rocket7`, which only its place tells from a name."""
    return _WORD_WITH_NUMBER.fullmatch(value) is not None and not _FIXTURE.match(value) and not is_placeholder(value)


def is_decorated_word(value: str) -> bool:
    """Return True for a word extended to satisfy password rules, such as `Summer2024!`."""
    return (len(value) >= 6 and _WORD_MARK_NUMBER.fullmatch(value) is not None) or (
        len(value) >= 8 and _WORD_AND_MARKS.fullmatch(value) is not None
    )


def is_mixed(value: str) -> bool:
    """Return True for a generated value with a mark that names lack.

    The value must satisfy `is_generated` and contain a mark that occurs neither in names nor in paths.
    """
    return _STRONG_MARK.search(value) is not None and not _CALLED.fullmatch(value) and is_generated(value)


def is_generated(value: str, *, density: float = _CHANGES_PER_CHARACTER) -> bool:
    """Return True for a mixture of characters that looks generated.

    The value has letters of both cases, digits and marks, which alternate more often than in any name or
    expression. `density` is the smallest number of changes per character.
    """
    return (
        _MIXED_ALPHABET.fullmatch(value) is not None
        and _mixes_characters(value)
        and not _CODE.search(value)
        and len(_CHANGE.findall(value)) >= max(4, density * (len(value) - 1))
        and not is_placeholder(value)
    )


def is_scrambled(value: str) -> bool:
    """Return True for a mixture of letters and digits without readable words.

    The letters must be of both cases.
    """
    is_long = len(value) >= _LONG_SCRAMBLED
    return (
        len(value) >= (_SHORTEST_SCRAMBLED if value.isalnum() else 8)
        and _has_short_parts(value, _LETTERS_OF_LONG if is_long else _LETTERS_OF_SCRAMBLED)
        and len(_ALTERNATION.findall(value)) >= 4
        and not _PUBLIC.search(value)
        and is_generated(value, density=_LONG_DENSITY if is_long else _ANNOUNCED_DENSITY)
    )


def _has_short_parts(value: str, most: float) -> bool:
    """Return True if the runs of letters, split at camel case, have at most `most` letters on average."""
    parts = split_ascii_letters(value)
    return len("".join(parts)) <= most * len(parts)


def is_token(value: str) -> bool:
    """Return True for letters and digits without readable words, or words and a number joined by hyphens."""
    if _UUID.fullmatch(value) or _CODE.search(value) or "://" in value or is_placeholder(value):
        return False
    is_marked = _STRONG_MARK.search(value) is not None and re.search(r"\d", value) is not None
    return (
        is_random(value, shortest=8)
        or _NUMBERED_PHRASE.fullmatch(value) is not None
        or (
            _mixes_characters(value)
            and _has_short_parts(value, _LETTERS_OF_LONG if "-" in value[3:] else _LETTERS_OF_SCRAMBLED)
        )
        or (is_marked and value[0] != "#" and "/" not in value and len(_CHANGE.findall(value)) >= 4)
    )


def is_phrase(value: str) -> bool:
    """Return True for a pass phrase such as `maple-otter-93-quilt`."""
    return _PHRASE.fullmatch(value) is not None and not _FIXTURE.match(value)


def is_letters(value: str) -> bool:
    """Return True for letters of both cases without readable words."""
    is_mixed_case = value.isalpha() and not value.islower() and not value.isupper()
    return is_mixed_case and len(value) <= _LETTERS_OF_SCRAMBLED * len(split_ascii_letters(value))


def is_short_phrase(value: str) -> bool:
    """Return True for three words joined by hyphens."""
    return _SHORT_PHRASE.fullmatch(value) is not None and not _FIXTURE.match(value) and not is_placeholder(value)


def is_respelt(value: str) -> bool:
    """Return True for words with digits for some letters, such as `dr4g0nfire`."""
    plain = value.replace("-", "")
    return len(value) >= 8 and plain.isalnum() and value.isascii() and _LETTERED_DIGIT.search(value) is not None


def is_short_scramble(value: str) -> bool:
    """Return True for a short scramble such as `UEX4eihLIM`."""
    return (
        8 <= len(value) <= 16
        and value.isalnum()
        and _mixes_characters(value)
        and not (is_words(value) or is_placeholder(value) or len(_CHANGE.findall(value)) < _FEWEST_CHANGES)
    )


def _has_inner_digits(value: str) -> bool:
    """Return True for letters with digits among them, such as `hunter2secret`.

    Variable names that consist of letters and digits usually end in the number.
    """
    return re.fullmatch(r"[A-Za-z]+\d[A-Za-z\d]*[A-Za-z]{2}[A-Za-z\d]*", value) is not None and not is_words(value)


def is_random(value: str, *, shortest: int = 16) -> bool:
    """Return True for letters and digits that do not look like words.

    The value must look as if it was generated. `shortest` is the minimum length in characters.
    """
    if len(value) < shortest or not re.search(r"\d", value) or not re.search(r"[A-Za-z]", value) or is_words(value):
        return False
    if _HEX.fullmatch(value):
        return len(value) >= 24 and _compute_entropy(value) >= 3.0
    return _compute_entropy(value) >= (3.0 if len(value) < 20 else 3.3) and _letters_and_digits_alternate(value)


def _letters_and_digits_alternate(value: str) -> bool:
    """Return True if the type of character changes at least three times.

    Changes between letter and digit, and from lower to upper case, are counted; `v1.2-beta` has fewer than three.
    """
    return len(_ALTERNATION.findall(value)) >= 3


def _mixes_characters(value: str) -> bool:
    return bool(re.search(r"[a-z]", value) and re.search(r"[A-Z]", value) and re.search(r"\d", value))


def is_placeholder(value: str) -> bool:
    return _PLACEHOLDER.search(value) is not None or is_monotonous(value)


def is_stand_in(password: str, user: str) -> bool:
    """Return True if the password in a URL is only a stand-in for one.

    Examples are `user:password@host` and `postgres:postgres@host`.
    """
    return (
        is_words(password)
        and not _MARK.search(password)
        and (_FIXTURE.match(password) is not None or password == user or len(password) < 6)
    )


def is_monotonous(value: str) -> bool:
    """Return True for a value that is too repetitive to be a secret.

    Examples are `xxxxxxxx`, `0000…` and `abcabcabc`.
    """
    return len(set(value[-24:])) <= 3 and len(value) >= 4


def is_words(value: str) -> bool:
    """Return True if every part of a value is a word.

    A word that is extended to satisfy password rules, such as `Summer2024!`, does not count.
    """
    return not is_decorated_word(value) and all(map(_is_word, _SEPARATORS.split(value)))


def _is_word(part: str) -> bool:
    match = _WORD.fullmatch(part)
    # Camel case has a capital every few letters, generated text has one every other letter.
    if match is None or len(_HUMP.findall(part)) * 3 > len(match.group(1) or ""):
        return False
    return len(part) < _LONG_PART or len(match.group(1)) >= _LETTERS_OF_A_WORD * len(
        split_ascii_letters(match.group(1))
    )


def _compute_entropy(value: str) -> float:
    """Return the entropy of the first 200 characters, in bits per character."""
    counts = Counter(value[:200])
    size = sum(counts.values())
    return -sum(n / size * math.log2(n / size) for n in counts.values())
