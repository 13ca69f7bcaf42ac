"""Tests of secrets named by a column, an argument, a target or a word of another language."""

from __future__ import annotations

import hashlib

import pytest

from hunchd.ingestion.contact_masking import mask_contacts
from hunchd.ingestion.personal_data import redact_identity_numbers
from hunchd.ingestion.redaction import redact

CHOSEN = "Kies" + "el#88"
WORD = "Gletscher" + "2021"
PHRASE = "-".join(("regen", "tonne", "gabel"))
HEX = hashlib.md5(b"a value of a test", usedforsecurity=False).hexdigest()
GROUPS = f"{HEX[:4]}-{HEX[4:8]} {HEX[8:12]}-{HEX[12:16]}"
PUBLIC = "q1vLk0Jm3WzT9xYb7RcNf5Hs2DpGa8EuKi4OoVtUl1Q="


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("INSERT INTO users (id, login, password) VALUES (7, 'maren', '{}')", CHOSEN),
        ("insert into a(password, n) values (crypt('{}', gen_salt('bf')), 1);", CHOSEN),
        ("INSERT INTO a (n, api_token) VALUES (1, NULL),\n (2, '{}')", HEX),
        ("echo {} | sudo openconnect --passwd-on-stdin vpn.test", WORD),
        ("echo {} | sshfs -o password_stdin bo@h.test:/ /mnt", WORD),
        ("jar.set('sessionid', '{}', domain='a.test')", HEX),
        ("get(url, auth=('maren', '{}'))", CHOSEN),
        ('NewUsernamePasswordCredentials("maren", "{}")', CHOSEN),
        ("login for the box is maren / {}", "Rocky" + "57"),
        ("sign in with {} as the password", PHRASE),
        ("forge recovery codes: {}", GROUPS),
        ("security question (first pet) answer: {}", "Knuffel"),
        ("Sicherheitsfrage Haustier, Antwort: {}", "Knuffel" + "7"),
        ("the guest wifi key is {}", "28781675" + "88786817"),
        ("WLAN-Schlüssel Büro: {}", PHRASE),
        ("пароль от почты {}", "lampa" + "7731"),
        ("jeton d'accès : {}", HEX),
    ],
)
def test_secret_named_elsewhere_is_redacted(text: str, secret: str) -> None:
    assert secret not in redact(text.format(secret)).text


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO users (name, password) VALUES (?, ?)",
        f"INSERT INTO files (name, sha256) VALUES ('a', '{HEX}')",
        "insert into posts (title, body) values ('Summer2024', 'all')",
        f'echo "{HEX}  a.tgz" | md5sum -c -',
        f"[Peer]\nPublicKey = {PUBLIC}",
        "auth=('user', 'pass')",
        "setError('password', 'Password must have 8 letters')",
        "the wifi key is stored in the vault",
        "security question: who reads it? Answer: nobody",
        "sign in with email-and-token as the password field",
        "пароль от сервера хранится в vault",
    ],
)
def test_value_that_is_no_secret_stays(text: str) -> None:
    assert redact(text).text == text


@pytest.mark.parametrize(
    ("text", "number"),
    [("mój PESEL to {}", "690714" + "61987"), ("mitt personnummer är {}", "19731209" + "-3169")],
)
def test_identity_number_behind_verb_is_redacted(text: str, number: str) -> None:
    assert number not in redact_identity_numbers(text.format(number))


@pytest.mark.parametrize(
    "address",
    [
        "Via Mazzini 27, 20121 Milano",
        "ul. Polnej 5/11, 00-950 Warszawa",
        "Piazza Garibaldi 4",
        "os. Złotej Jesieni 3/12",
    ],
)
def test_italian_or_polish_address_is_masked(address: str) -> None:
    assert mask_contacts(f"write to {address} please") == "write to [postal address] please"


def test_via_before_tool_name_stays() -> None:
    assert mask_contacts("install it via Docker 24, then run") == "install it via Docker 24, then run"
