"""Tests of what people say about secrets and identities."""

from __future__ import annotations

import pytest

from hunchd.ingestion.spoken_secrets import redact_speech

SECRET = "-".join(("q7" + "Rv2", "x9" + "Kt4"))  # of no service


@pytest.mark.parametrize(
    "text",
    [
        "The panel password is {}",
        "user admin, password {}",
        "Kennwort fürs Portal ist {}",
        "das Passwort für den Server hab ich auf {} gesetzt",
        "密码是 {}",
        "管理后台的密码改成了 {}",
        "La contraseña del panel es {}",
        "mi contraseña de siempre, {}",
        "Le mot de passe du portail est {}",
        "A senha do painel é {}",
        "暗証番号は {} です",
        "パスワードは{}です",
        "Пароль от портала {}",
    ],
)
def test_spoken_password_is_redacted(text: str) -> None:
    assert redact_speech(text.format(SECRET)) == text.format("[redacted:secret]")


@pytest.mark.parametrize("text", ["npm publish token for today: {}", "Zugang zum Broker: {}", "密钥是{}"])
def test_spoken_key_is_redacted(text: str) -> None:
    key = "".join((SECRET, SECRET)).replace("-", "")
    assert redact_speech(text.format(key)) == text.format("[redacted:secret]")
    assert redact_speech("the key is release-2024") == "the key is release-2024"


@pytest.mark.parametrize(
    "text",
    [
        "The password policy is twelve characters",
        "Kennwort vergessen ist kaputt seit v2.14.1",
        "密码是必填项",
        "la clave es user_id2",
        "The password form is in login2.py",
        "order 4111 was late, see 2026-05-04",
    ],
)
def test_talk_about_passwords_stays(text: str) -> None:
    assert redact_speech(text) == text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("card 4111 1111 1111 1111 for the hosting", "1111 1111"),
        ("IBAN DE89370400440532013000", "370400440532013000"),
        ("SSN 078-05-1120", "078-05-1120"),
        ("身份证 11010519491231002X", "11010519491231002"),
        ("mi DNI es 12345678Z", "12345678"),
        ("CPF 529.982.247-25", "529.982"),
        ("Kontonummer 1234567890", "1234567890"),
    ],
)
def test_identity_number_is_redacted(text: str, number: str) -> None:
    assert number not in redact_speech(text)
