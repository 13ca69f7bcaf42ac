"""Passwords, codes and phrases that people pass on in words go; talk about them stays."""

from __future__ import annotations

import pytest

from hunchd.ingestion.personal_data import redact_identity_numbers
from hunchd.ingestion.redaction import redact

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
    assert SECRET not in redact(text.format(SECRET)).text


@pytest.mark.parametrize("text", ["npm publish token for today: {}", "Zugang zum Broker: {}", "密钥是{}"])
def test_spoken_key_is_redacted(text: str) -> None:
    key = "".join((SECRET, SECRET)).replace("-", "")
    assert key not in redact(text.format(key)).text
    assert redact("the key is release-2024").kinds == ()


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
    assert redact(text).kinds == ()


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
    assert number not in redact_identity_numbers(text)


CODE = "".join(map(str, (7, 3, 0, 4, 1, 9)))
WORDS = "harvest lumen brisk canoe drizzle ember flint garnet hollow ivory jasper kiosk"


@pytest.mark.parametrize(
    "text",
    [
        "my PIN is {}",
        "the gate code is {}",
        "code for the lockbox is {}",
        "{} is your verification code",
        "Enter {} to confirm your login",
        "Ihr Bestätigungscode lautet {}",
        "le code de la porte est le {}",
        "código de seguridad: {}",
        "код из смс {}",
        "您的验证码是{}，5分钟内有效",
        "認証コード：{}",
        "인증번호 [{}]를 입력하세요",
        "рабочий пароль от домофона: {}",
    ],
)
def test_code_is_redacted(text: str) -> None:
    assert CODE not in redact(text.format(CODE)).text


@pytest.mark.parametrize(
    "text",
    [
        "Error code: {}",
        "exit code {}",
        "code postal : {}",
        "код ошибки: {}",
        "错误代码：{}",
        "your code: {} lines",
        "pin numpy to {}.1",
        "one-time code expires in {} seconds",
    ],
)
def test_other_code_stays(text: str) -> None:
    assert redact(text.format(CODE)).kinds == ()


@pytest.mark.parametrize(
    "text",
    [
        "passphrase: {}",
        "my seed is {}",
        "these are the words: {}",
        "助记词：{}",
        "фраза восстановления: {}",
        "{} <- seed",
    ],
)
def test_phrase_is_redacted(text: str) -> None:
    assert "jasper" not in redact(text.format(WORDS)).text


def test_numbered_phrase_is_redacted() -> None:
    numbered = "\n".join(f"{number}. {word}" for number, word in enumerate(WORDS.split(), 1))
    assert "jasper" not in redact(f"Recovery phrase\n{numbered}").text


@pytest.mark.parametrize(
    "header", ["Backup codes:\n", "GitHub recovery codes\n", "codes de secours :\n", "备用验证码\n"]
)
def test_listed_codes_are_redacted(header: str) -> None:
    codes = [f"{CODE[:4]} {n}{CODE[3:]}" for n in range(2, 8)]
    assert not [code for code in codes if code in redact(header + "\n".join(codes)).text]


@pytest.mark.parametrize(
    "text",
    [
        "the passphrase is read from stdin and never stored",
        "seed generation accepts known methods",
        "password should send to user record email and avoid case mapping collisions",
        "the words are joined by spaces and then hashed twice",
        "recovery codes: see settings",
        "HTTP codes 200-299",
    ],
)
def test_talk_about_phrases_stays(text: str) -> None:
    assert redact(text).kinds == ()


@pytest.mark.parametrize("text", ["word " * 40, "my seed phrase is " + "spam " * 12])
def test_filler_is_no_phrase(text: str) -> None:
    assert redact(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "The credentials hang on the whiteboard, as everybody knows, {} and, for the mirror, {}.",
        "Das Kennwort für die Datenbank steht auf einem Zettel am Monitor, {}, und für den Katalog {}.",
        "Le mot de passe de la base de test est collé sous l'écran de la régie, {}, et pour les images {}.",
        "La contraseña de la base está pegada en el monitor de la oficina, {}, y la del catálogo {}.",
        "A senha do banco está num papel colado no monitor da recepção, {}, e a do catálogo {}.",
        "测试库的密码写在显示器旁边的便签上，{}，目录服务的是{}，不要保存。",
        "データベースのパスワードはモニターの付箋に書いてあります、{}、カタログの方は{}です。",
        "Пароль от тестовой базы на бумажке у монитора, {}, а от каталога {}, не сохраняй.",
    ],
)
def test_values_far_from_password_are_redacted(text: str) -> None:
    first, second = f"kV9{CODE[0]}q-Zt3x{CODE[-2:]}", "qT7" * 4 + "bX2w" * 5
    assert not [value for value in (first, second) if value in redact(text.format(first, second)).text]


@pytest.mark.parametrize(
    "text",
    [
        "Login fails on SM-G991B with Android 14, see src/auth/loader2.py and RFC9106.",
        "We store passwords with argon2id in commit " + "3fa94c1d" * 5,
        "El formulario de la contraseña cambió con 9ab31f2c, ticket ACC-2291.",
        "The password is checked by PwCheck2, then verify(aB3xK9pQ7z, salt).",
    ],
)
def test_names_beside_password_stay(text: str) -> None:
    assert redact(text).text == text
