"""Secrets go where a command, a header, a URL or a sentence in any language holds one; what looks alike stays."""

from __future__ import annotations

from random import Random

import pytest

from hunchd.ingestion.redaction import redact
from hunchd.ingestion.redaction_rules import ANNOUNCERS, find_announcers
from tests.security.secret_places import FORMS, fill
from tests.security.secret_places_development import LOOK_ALIKES

ROUNDS = 3  # secrets of each form


@pytest.mark.parametrize("group", FORMS)
def test_secret_in_place_is_redacted(group: str) -> None:
    missed = []
    for form in FORMS[group]:
        for number in range(ROUNDS):
            text, secrets = fill(form, Random(f"{number} {form}"))
            if any(secret in redact(text).text for secret in secrets):
                missed.append(text)

    assert len(missed) <= 0.02 * ROUNDS * len(FORMS[group]), missed


@pytest.mark.parametrize("shape", ["Harbor{mark}{number}{mark}", "harbor{mark}tram{number}", "{number}Harbor{mark}7"])
def test_words_joined_by_marks_are_redacted(shape: str) -> None:
    for mark in "!#$":
        secret = shape.format(mark=mark, number=1934)
        for text in ("the staging db password is {} now", "[smtp]\nuser = bob\npass = {}", "a senha do banco é {}"):
            assert secret not in redact(text.format(secret)).text


@pytest.mark.parametrize("group", FORMS)
def test_announcers_near_stems_are_all(group: str) -> None:
    for form in (*FORMS[group], *LOOK_ALIKES):
        lower = f"{form} {'word ' * 20} {form}".lower()
        assert [word.span() for word in find_announcers(lower)] == [word.span() for word in ANNOUNCERS.finditer(lower)]


@pytest.mark.parametrize(
    "text",
    [
        *LOOK_ALIKES,
        "la parola chiave è async2",
        "      - uses: rubygems/configure-rubygems-credentials@v1.0.0",
        "3. **04b9e13** - fix: correct store access in file export",
        "the new password policy is level3",
        "password is base64",
        "if password1 != password2:",
        "page.fill('#password', password1)",
        "login with oauth2",
        'password: "123456"',
        "docker run --rm -p 127.0.0.1:5432:5432 postgres:16",
        "scp -P 2200 report.pdf yard.test:",
        "mkdir -p build/out && cp -a src build",
        "curl -u $USER:$TOKEN https://yard.test/api",
        "mysql -u root -p shop < dump.sql",
        "PGPASSWORD=$DB_PASSWORD psql -h db shop",
        'echo "done" | tee -a log.txt',
        "redis-cli -h cache -a $REDIS_AUTH ping",
        "gh secret set DEPLOY_KEY < key.txt",
        "kubectl create secret generic db --from-file=password=./password.txt",
        "zip -r out.zip docs -x '*.log'",
        "das Passwort steht im Tresor des Teams",
        "le mot de passe doit contenir douze caractères",
        "пароль хранится в менеджере паролей",
        "密码不能为空，请重新输入",
        "パスワードを忘れた場合はこちら",
        "la contraseña debe tener ocho caracteres",
        "the session cookie expires after 86400 seconds",
        "GET /items?page=12&sort=created_at&order=desc",
        "https://docs.test/login?next=/projects/overview",
        "vault login -method=oidc",
        "token_count: 2048",
        "INSERT INTO users(name, password, born) VALUES ('Bo', 'pw', '1990-12-25')",
        "UNIX timestamps are keys since version2038!",
        "db_password: !Ref DatabasePassword",
    ],
)
def test_ordinary_command_or_sentence_stays(text: str) -> None:
    assert redact(text).text == text


def test_rest_of_the_line_is_kept() -> None:
    text, [secret] = fill("Kennwort für den Drucker: {S}, Raum 12", Random(5))

    assert redact(text).text == text.replace(secret, "[redacted:password]")
