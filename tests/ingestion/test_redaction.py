"""Secrets are redacted before anything else sees a text."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunchd.ingestion.redaction import redact, redact_values

# Split, so that secret scanners do not report this file.
TOKEN = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
PASSWORD = "hun" + "ter2!Q9z"

fragments = st.lists(
    st.one_of(
        st.text(max_size=30),
        st.sampled_from(
            [
                TOKEN,
                f"password = '{PASSWORD}'",
                "\n",
                "key: ",
                f"https://a:{PASSWORD}@b",
                "[redacted:jwt]",
                "token ",
                '"',
                "=",
            ]
        ),
    ),
    max_size=12,
).map("".join)


def test_placeholder_names_secret_kind() -> None:
    redacted = redact(f"export GITHUB={TOKEN}")

    assert redacted.text == "export GITHUB=[redacted:github-token]"
    assert redacted.kinds == ("github-token",)


def test_quoted_password_is_redacted_and_line_kept() -> None:
    assert redact(f'connect(user="app", password="{PASSWORD}", port=5432)').text == (
        'connect(user="app", password="[redacted:password]", port=5432)'
    )


def test_login_and_password_beside_address_redacted() -> None:
    secret = "Kx7" + "vvQ2!mmr9"
    assert redact(f"Zugang zum Mailserver: kassa@shop.example / {secret}").text.endswith("/ [redacted:password]")
    for harmless in (
        "ada@shop.example / ada and grace",
        "git@host.example/team1/repo2name",
        "@types/node@20/x1y2z3a4b5",
    ):
        assert redact(harmless).text == harmless


def test_lowercase_password_is_redacted_variable_kept() -> None:
    said = "log in as admin, password=hun" + "ter2secretxyz, on staging"

    assert redact(said).text == "log in as admin, password=[redacted:password], on staging"
    for line in ("login(password=oldpassword2)", "password=sha256sum", "password=new_password2", "pwd: token1"):
        assert redact(line).text == line


def test_truncated_key_block_is_redacted_whole() -> None:
    lines = "\n".join("MIIEpAIBAAKCAQEA" + "x1Y2" * 12 for _ in range(6))
    begin = "-----BEGIN RSA PRI" + "VATE KEY-----"
    whole = f"before\n{begin}\n{lines}\n-----END RSA PRI" + "VATE KEY-----\nafter"

    assert redact(whole).text == "before\n[redacted:private-key]\nafter"
    assert "x1Y2" not in redact(f"{begin}\n{lines}").text
    assert "x1Y2" not in redact("+" + f"{begin}\n{lines}".replace("\n", "\n+")).text


def test_secret_in_base64_is_redacted() -> None:
    encoded = base64.b64encode(f"TOKEN={TOKEN}".encode()).decode()

    assert redact(f"data: {encoded}").text == "data: [redacted:github-token]"


def test_json_value_is_judged_with_key() -> None:
    value, found = redact_values(
        {"user": "ann", "password": PASSWORD, "nested": [{"note": f"use {TOKEN}"}, 3, None, True]}
    )

    assert value == {
        "user": "ann",
        "password": "[redacted:password]",
        "nested": [{"note": "use [redacted:github-token]"}, 3, None, True],
    }
    assert found == ("password", "github-token")


def test_deeply_nested_value_is_cut_off() -> None:
    value = json.loads("[" * 500 + "]" * 500)

    assert "too-deep" in redact_values(value)[1]


@pytest.mark.parametrize("before", ["log: a\\n", "a\\t", "https://x/?next=%2Fa%3Ftoken%3D"])
def test_token_after_escape_is_redacted(before: str) -> None:
    assert redact(before + TOKEN).text == f"{before}[redacted:github-token]"


def test_secret_hidden_by_neighbor_is_redacted() -> None:
    assert TOKEN not in redact(f"{TOKEN}= _secret{TOKEN}0").text


@given(fragments)
def test_redaction_is_idempotent(text: str) -> None:
    once = redact(text).text

    assert redact(once).text == once


@given(st.text(max_size=60), st.text(max_size=60))
def test_token_between_spaces_is_always_redacted(before: str, after: str) -> None:
    assert TOKEN not in redact(f"{before} {TOKEN} {after}").text


@given(st.text(alphabet=st.characters()))
def test_text_without_secrets_is_unchanged(text: str) -> None:
    redacted = redact(text)

    assert redacted.kinds or redacted.text == text


def test_word_as_password_in_url_is_removed() -> None:
    password = "winter" + "wolf"

    assert redact(f"https://admin:{password}@host.example").text == "https://admin:[redacted:url-password]@host.example"
    assert redact("postgres://postgres:postgres@localhost/db").kinds == ()
