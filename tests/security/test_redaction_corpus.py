"""Ninety kinds of secrets in five contexts are removed, ordinary source stays (goals 28 and 29)."""

from __future__ import annotations

import random
import time

import pytest

from hunchd.ingestion.redaction import redact
from tests.security.secret_formats import CONTEXTS, FORMATS, traces_of

ROUNDS = 3  # secrets of each kind


@pytest.mark.parametrize("context", CONTEXTS)
def test_redaction_finds_98_percent_of_secrets(context: str) -> None:
    missed = []
    for kind, name, make in FORMATS:
        for number in range(ROUNDS):
            secret = make(random.Random(f"{number} {kind}"))
            planted = CONTEXTS[context](name, secret)
            redacted = redact(planted).text
            if redacted == planted or any(trace in redacted for trace in traces_of(secret)):
                missed.append(kind)

    assert len(FORMATS) >= 60
    assert len(missed) <= 0.02 * ROUNDS * len(FORMATS), missed


def hexadecimal(size: int) -> str:
    return random.Random(size).randbytes(size).hex()


ORDINARY = [
    f"commit {hexadecimal(20)}",
    f'    "integrity": "sha512-{"Ab3/" * 21}Zw==",',
    f'checksum = "{hexadecimal(32)}"',
    f"    --hash=sha256:{hexadecimal(32)} \\",
    f"golang.org/x/oauth2 v0.27.0 h1:{'aB3+' * 10}xyz=",
    "js-tokens@^4.0.0:",
    '  resolved "https://registry.yarnpkg.com/js-tokens/-/js-tokens-4.0.0.tgz#19203fb59991df98e3a287050d4647cdeaf32499"',
    "id: 6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    'password = request.form["password"]',
    "token = get_token(user.id, expires_in=3600)",
    'parser.add_argument("--password", help="the password to use")',
    "self.access_token = access_token",
    'PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]',
    "max_tokens: int = 4096",
    'secret_key = os.environ["SECRET_KEY"]',
    "export API_KEY=${API_KEY:?missing}",
    "  token: ${{ secrets.GITHUB_TOKEN }}",
    'client.login(username="test", password="test-password")',
    "curl -u user:password https://example.com/",
    'url = "postgresql://user:password@localhost/db"',
    "Set the token to your API key.",
    "The key is to read the whole line before the next token is taken.",
    'cache_key = "users:%s:permissions"',
    "primary_key=True, foreign_key='users.id'",
    "type Token = { kind: TokenKind; value: string }",
    "if token != expected_token: raise InvalidToken(token)",
    "-----BEGIN PUBLIC KEY-----",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "const TOKENS_PER_SECOND = 1000; // tokens: 1.5e3",
    'authorization = request.headers.get("Authorization")',
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGJk comment",
]


@pytest.mark.parametrize("line", ORDINARY)
def test_redaction_keeps_ordinary_lines(line: str) -> None:
    assert redact(line).text == line


HOSTILE = [
    "-eyJ",
    "a",
    'password="',
    "://a:",
    "QUJD",
    "token ",
    "password" + " " * 50,
    "authorization: ",
    "-----BEGIN " + "PRIVATE KEY-----",
    "-",
    "login a ",
    "A" * 76 + "\n",
    "AccountKey=",
    "secret_",
    "token `a ",
    "echo a | ",
    "docker login -u ",
    "curl -u a ",
    "cookie: a=",
    "'\"",
    "net use ",
    "password ist ",
    "&a=",
    "-- ",
    'token="\\',
    "\n",
]


@pytest.mark.parametrize("part", HOSTILE)
def test_redaction_is_linear_on_hostile_lines(part: str) -> None:
    def seconds(size: int) -> float:
        text = (part * (size // len(part) + 1))[:size]
        begin = time.thread_time()
        redact(text)
        return time.thread_time() - begin

    def fastest(size: int) -> float:
        return min(seconds(size) for _ in range(3))

    assert fastest(40_000) < 6 * max(fastest(10_000), 0.02)
