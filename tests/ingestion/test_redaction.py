"""Secrets go before anything else sees a text."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunchd.ingestion.redaction import redact, redact_values

# In parts, so that this file holds nothing that looks like what it is about.
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


def test_the_placeholder_names_the_kind() -> None:
    redacted = redact(f"export GITHUB={TOKEN}")

    assert redacted.text == "export GITHUB=[redacted:github-token]"
    assert redacted.found == ("github-token",)


def test_a_quoted_password_goes_and_its_line_stays() -> None:
    assert redact(f'connect(user="app", password="{PASSWORD}", port=5432)').text == (
        'connect(user="app", password="[redacted:password]", port=5432)'
    )


def test_a_password_without_capitals_goes_and_a_variable_stays() -> None:
    said = "log in as admin, password=hun" + "ter2secretxyz, on staging"

    assert redact(said).text == "log in as admin, password=[redacted:password], on staging"
    for line in ("login(password=oldpassword2)", "password=sha256sum", "password=new_password2", "pwd: token1"):
        assert redact(line).text == line


def test_a_key_block_goes_whole_also_when_it_was_cut() -> None:
    lines = "\n".join("MIIEpAIBAAKCAQEA" + "x1Y2" * 12 for _ in range(6))
    begin = "-----BEGIN RSA PRI" + "VATE KEY-----"
    whole = f"before\n{begin}\n{lines}\n-----END RSA PRI" + "VATE KEY-----\nafter"

    assert redact(whole).text == "before\n[redacted:private-key]\nafter"
    assert "x1Y2" not in redact(f"{begin}\n{lines}").text
    assert "x1Y2" not in redact("+" + f"{begin}\n{lines}".replace("\n", "\n+")).text


def test_a_secret_inside_base64_goes_with_its_wrapping() -> None:
    encoded = base64.b64encode(f"TOKEN={TOKEN}".encode()).decode()

    assert redact(f"data: {encoded}").text == "data: [redacted:github-token]"


def test_a_value_is_judged_with_its_key() -> None:
    value, found = redact_values(
        {"user": "ann", "password": PASSWORD, "nested": [{"note": f"use {TOKEN}"}, 3, None, True]}
    )

    assert value == {
        "user": "ann",
        "password": "[redacted:password]",
        "nested": [{"note": "use [redacted:github-token]"}, 3, None, True],
    }
    assert found == ("password", "github-token")


def test_a_value_nested_without_end_is_refused_rather_than_followed() -> None:
    value = json.loads("[" * 500 + "]" * 500)

    assert "too-deep" in redact_values(value)[1]


@pytest.mark.parametrize("before", ["log: a\\n", "a\\t", "https://x/?next=%2Fa%3Ftoken%3D"])
def test_a_token_behind_a_written_out_line_break_or_an_escape_is_none_of_its_letters(before: str) -> None:
    assert redact(before + TOKEN).text == f"{before}[redacted:github-token]"


def test_what_is_seen_only_when_its_neighbour_is_gone_goes_too() -> None:
    assert TOKEN not in redact(f"{TOKEN}= _secret{TOKEN}0").text


@given(fragments)
def test_redacting_twice_changes_nothing(text: str) -> None:
    once = redact(text).text

    assert redact(once).text == once


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_token_between_spaces_is_never_left(before: str, after: str) -> None:
    assert TOKEN not in redact(f"{before} {TOKEN} {after}").text


@given(st.text(alphabet=st.characters()))
def test_text_without_secrets_is_returned_as_it_is(text: str) -> None:
    redacted = redact(text)

    assert redacted.found or redacted.text == text
