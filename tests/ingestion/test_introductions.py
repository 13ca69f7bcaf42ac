"""Names and time zones in what people say about themselves."""

from __future__ import annotations

import pytest

from hunchd.ingestion.introductions import iterate_introductions


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Hi, my name is Elsa Lund and I prefer Go.", [("name", "Elsa Lund")]),
        ("Morning, Piotr Nowak here, he/him.", [("name", "Piotr Nowak")]),
        ("Me llamo Luis Ortega, zona America/Lima.", [("name", "Luis Ortega"), ("time zone", "America/Lima")]),
        ("Ich heiße Eva.", [("name", "Eva")]),
        ("我叫陈思远。", [("name", "陈思远")]),
        ("Меня зовут Ольга Смирнова.", [("name", "Ольга Смирнова")]),
        ("I'm a nurse in Oslo.", []),
        ("The build is slow here.", []),
    ],
)
def test_introduction_gives_name_and_zone(text: str, values: list[tuple[str, str]]) -> None:
    assert [(key, value) for key, value, _ in iterate_introductions(text)] == values
