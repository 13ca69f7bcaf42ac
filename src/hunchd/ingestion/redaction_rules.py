"""Formats of secrets, and words that announce secrets without a known format.

Provenance: prefixes, alphabets and lengths follow the issuers' documentation, cross-checked against the public rule
sets of gitleaks (config/gitleaks.toml, MIT) and detect-secrets (Apache-2.0) as of 2026-11; every pattern was
written for this module. To add a format, add a row to secret_formats.toml and to tests/security/secret_formats.py.

A row is tried only if one of its literals occurs in the text: searching a line for a literal takes some
nanoseconds, matching a pattern a thousand times as long. Patterns are bounded and have no nested repetition, so
they run in time linear in the text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hunchd.ingestion.redaction_words import (
    ASCII_STEMS,
    COPULAS,
    JOINED_COPULAS,
    KEY_WORDS,
    LOGIN_STEMS,
    LOGIN_WORDS,
    MARKS,
    NOUNS,
    OTHER_MEANINGS,
    PATTERNS,
    TARGETS,
    TOKENS,
    compile_any,
)


@dataclass(frozen=True, slots=True)
class SecretFormat:
    """Format of an issuer's secrets.

    The pattern `source` is tried only if one of `literals` occurs in the text. If the pattern has a group, group 1
    is the secret, otherwise the whole match.
    """

    kind: str
    literals: tuple[str, ...]
    source: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """Return the pattern, which is compiled on first use.

        Compiling all patterns at once would take a tenth of a second at every start.
        """
        return _compile(self.source)


@cache
def _compile(source: str) -> re.Pattern[str]:
    return re.compile(source)


# Not after a letter or digit, except in an escaped line break or URL escape: "\\n", "%3D".
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"


def _make_format(kind: str, literals: str, pattern: str, *, start: str = _START) -> SecretFormat:
    return SecretFormat(kind, tuple(literals.split()), start + pattern)


FORMATS: tuple[SecretFormat, ...] = tuple(
    _make_format(**row)
    for row in tomllib.loads(Path(__file__).with_name("secret_formats.toml").read_text("utf-8"))["formats"]
)

_PLAIN_LOGIN_WORDS = [word for word in LOGIN_WORDS.replace(r"\b", "").split("|") if "[" not in word and "?" not in word]
# Logins as people pass them on, each with a pattern of stems of which a lower-case text must contain one.
LOGINS = tuple(
    (
        compile_any((*row["stems"], *(_PLAIN_LOGIN_WORDS if "@LOGIN@" in row["pattern"] else ()))),
        re.compile(row["pattern"].replace("@LOGIN@", LOGIN_WORDS).replace("@PASSED_ON@", PATTERNS["passed_on"])),
    )
    for row in PATTERNS["logins"]
)

# The same rows keyed by literal, so that each literal is searched for only once per text.
FORMATS_BY_LITERAL: tuple[tuple[str, SecretFormat], ...] = tuple(
    (literal, row) for row in FORMATS for literal in row.literals
)

LONG_LITERAL = compile_any(literal for literal, _ in FORMATS_BY_LITERAL if len(literal) > 2)
FORMATS_BY_SHORT_LITERAL = tuple(one for one in FORMATS_BY_LITERAL if len(one[0]) <= 2)

AUTHORIZATION = re.compile(PATTERNS["authorization"])
BEARER = re.compile(r"\b(?:bearer|basic),?[ \t]{1,2}([A-Za-z0-9_.~+/-]{12,4000}={0,2})", re.IGNORECASE)
# scheme://user:password@host: the password may contain anything but its delimiters.
URL_PASSWORD = re.compile(r"://[^\s/:@\"'<>?#]{0,120}:([^\s/\"'<>]{1,200})@")
# scheme://token@host
URL_TOKEN = re.compile(r"https?://([A-Za-z0-9_-]{20,200})(?::[\w-]{0,40})?@")
PRIVATE_KEY = re.compile(
    r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d:|-----BEGIN OpenVPN Static key"
)
# "-----BEGIN" in base64, at each of its three alignments.
ENCODED_KEY = re.compile(r"(?:LS0tLS1CRUdJTi|0tLS0tQkVHSU4|tLS0tLUJFR0lO)[A-Za-z0-9+/=_-]{20,20000}")

# First words of names such as "dbpass", which say whose password it is; "minipass" and "bypass" are not passwords.
PASS_OF = (
    "db|database|user|admin|root|require"
    "|smtp|mail|ftp|sftp|ssh|sql|pg|redis|ldap|wifi|vpn|proxy|http|login|app|key|store|my|ad"
    "|sa|svc"
)
# Words that announce a secret, in lower case; the group determines how strictly the value is checked. A bare
# "key" says little: keys of caches, rows and dictionaries are frequent.
ANNOUNCERS = re.compile(
    PATTERNS["announcers"].replace("@PASS_OF@", PASS_OF).replace("@NOUNS@", NOUNS).replace("@TOKENS@", TOKENS)
)
# Without one of these, and in ASCII, a text has neither a login nor a word of SECRET_NAME.
OTHER_STEMS = (*LOGIN_STEMS, *(stem for row in PATTERNS["logins"] for stem in row["stems"]), "sign", "root", "admin")
# Each announcer of an ASCII text contains one of these stems.
ANNOUNCER_STEMS = (
    "pass", "login", "code", "verifier", "pwd", "pw", "psk", "identified", "secret", "token", "cred", "key", "auth",
    "dsn", "connection", "jeton", *ASCII_STEMS,
)  # fmt: skip
_STEM = compile_any(ANNOUNCER_STEMS)
_BEFORE_STEM, _FROM_STEM = 24, 80  # characters of an announcer


def find_announcers(lower: str) -> Iterator[re.Match[str]]:
    """Yield the words that announce a secret in a lower-case text; in an ASCII text, only stems are looked around."""
    if not lower.isascii():
        yield from ANNOUNCERS.finditer(lower)
        return
    first, last = 0, -1
    for stem in _STEM.finditer(lower):
        if stem.start() - _BEFORE_STEM > last:
            yield from ANNOUNCERS.finditer(lower, first, last) if last >= 0 else ()
            first = max(0, stem.start() - _BEFORE_STEM)
        last = stem.start() + _FROM_STEM
    yield from ANNOUNCERS.finditer(lower, first, last) if last >= 0 else ()


# Suffixes of names that are not the secret itself: `token_type`, `password_field`, …
OTHER_MEANING_SUFFIX = re.compile(rf"(?:{OTHER_MEANINGS})$", re.IGNORECASE)


def find_announced_kind(name: str) -> str:
    """Return the kind of secret that a name announces, or ""."""
    lower = name.strip().strip('"`[]').lower()
    for word in ANNOUNCERS.finditer(lower):
        if not OTHER_MEANING_SUFFIX.search(lower[word.end() :].rpartition("_")[2].rpartition("-")[2]):
            return str(word.lastgroup)
    return ""


ASSIGNMENT = re.compile(PATTERNS["assignment"])
# No line of prose or of settings has these.
CODE_MARK = re.compile(r"[(){}\[\];<>$]|[=!]=|\b(?:const|let|var|def|return|if|self)\b")
LITERAL_NAME = re.compile(PATTERNS["literal_name"])
# The same in a sentence: a few words, then the value. On a command line, the value follows a flag directly.
SENTENCES = tuple(
    re.compile(
        r"(?:[^\W\d_]{0,3}|['’]s|[^\x00-\x7f：]{1,8})"
        rf"(?P<words>(?:[ \t]{{1,2}}(?:[^\W\d_]{{1,14}}(?:['’][^\W\d_]{{1,8}})?|\d|`[^`\n]{{1,40}}`)){{0,8}}?)"
        rf"(?:[ \t]{{0,2}}(?P<sign>[ \t](?:{copulas})[ \t]:?|[:：=]|{JOINED_COPULAS})[ \t]{{0,3}}"
        rf"|(?:[ \t]{{1,2}}|(?<=[^\x00-\x7f]))(?=\S{{0,60}}\d))"
        r"[\"'`「『“„«]?"
        r"(?!\S{1,60}[:：]\s)(?P<bare>[^\s\"'`<>(){}\[\],;|，。；、！？）」』”»]{6,300})"
    )
    for copulas in (f"{COPULAS}|{MARKS}", TARGETS)
)
# A word with a digit that may be a password: it stands between spaces, quotes or brackets.
_MIXED = r"A-Za-z0-9!#$%^&*~?+=@_.:§€£-"
CHOSEN_WORD = re.compile(rf"(?<![/\\{_MIXED}])(?=[^\d\s]{{0,63}}\d)[A-Za-z0-9][{_MIXED}]{{7,63}}+(?![/({{\[{_MIXED}])")
OPTION_BEFORE = re.compile(r"(?:^|[\s\"'(])(?:--?[A-Za-z][\w-]{0,30}[ =]|/[a-z]+ |-[A-Za-z])[\"']?(?:\w{1,32}:)?$")
ASCII_PART = re.compile(r"[!-~]{7,}")
# Words that must be near it, before or after it on the same line.
SECRET_CONTEXT = re.compile(
    r"pass|\b(?:bind|root|admin|user|db)?p(?:s?w|ss?w)d?\b"
    r"|protect|encrypt|decrypt|unlock|\bpdo\b"
    r"|pwprompt|secret|token|\bkey\b|cred|\blog(?:ged)?[ -]?in\b|\bsign(?:ed)? in\b|auth"
    r"|basic|\buser|\broot\b|\badmin|\bpin\b|\bpsk\b|identified by|secure-?string|connect|vpn|wi-?fi|wlan"
    rf"|{LOGIN_WORDS}|{KEY_WORDS}|{NOUNS}"
)
CONTEXT_REACH = 80  # characters
# In a sentence of prose with such a word, any value without readable words is a secret.
SECRET_NAME = re.compile(
    rf"passw|passphrase|secret|cred|\blog(?:ged)?[ -]?in\b|\bsign(?:ed)? in\b|\broot\b|\badmin|{LOGIN_WORDS}|{NOUNS}"
)
SENTENCE_END = re.compile(r"[.!?…]\s|[。！？\n]")
SENTENCE_REACH = 240  # characters
SENTENCE_WORD = re.compile(rf"(?<![A-Za-z0-9_/\\.:@-])[A-Za-z0-9!#$%^&*?][/_{_MIXED}]{{7,127}}+(?![\\({{])")
OTHER_TOKEN = re.compile(r"\b(?:commit|hash|digest|checksum|sha\d*|md5|revision|session|ticket|uuid|build)\b|\bids?\b")
NAMED_VALUE = re.compile(PATTERNS["named_value"])
# Before a password that is no more than a word: "sign in with … as the password".
GIVEN_BY = re.compile(
    r"\b(?:with|using|use|try|enter|type|mit|nimm|avec|con|com|usa|met|med|z|s|с)[ \t][\"'`“„«]?$",
    re.IGNORECASE,
)
# Between a noun and a password without a verb: "пароль от сервера …". In English, the name of the target would follow.
FOR_TARGET = re.compile(
    r"[ \t]+(?:от|для|к|из|на|do|od|ke?|na|dla|für|zum|zur|vom|du|de la|des|del|della|do|da|voor|van|till|til)"
    r"(?![^\n]*(?:user|benutz|utilis|usuar|utente|użytk|uživ|польз|konto|compte|cuenta))(?:[ \t]+[^\W\d_]{2,14}){1,3}",
    re.IGNORECASE,
)
# Where a value ends: its first 300 characters are checked, but all of it is removed.
VALUE_END = re.compile(r"[^\s\"'`<>(){}\[\],;&#|]*")
# "use … as the staging API key": the value comes first.
VALUE_BEFORE_ANNOUNCER = re.compile(
    r"(?<![\w+/=~.-])([\w+/=~.!#$%^&*?@:-]{8,300}+)[\"'`]?[ \t]"
    rf"(?:as|for|comme|como|come|als|jako|как|{COPULAS})[ \t](?:\w{{1,14}}[ \t]){{0,4}}"
    rf"(?:key|token|secret|credential|(?P<password>password|{NOUNS}))"
    r"(?! (?:field|name|type|hash|format|label|column)s?\b)",
    re.IGNORECASE,
)
