"""config.example.toml matches the settings."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

from hunchd.config.description import describe_settings, render_example
from hunchd.config.loading import load_settings
from hunchd.config.settings import Settings

FILE = Path(__file__).parents[2] / "config.example.toml"


def test_example_is_generated_from_settings() -> None:
    assert FILE.read_text() == render_example(), "run: ./dev fix"


def test_example_equals_defaults() -> None:
    assert load_settings(FILE) == Settings()


def test_example_explains_every_setting() -> None:
    lines = FILE.read_text().splitlines()
    keys = [field.name for section in fields(Settings) for field in fields(getattr(Settings(), section.name))]

    shown = [number for number, line in enumerate(lines) if " = " in line and not line.startswith("#")]

    assert [lines[number].split(" = ")[0] for number in shown] == keys
    assert all(len(lines[number - 1]) > len("# so long") for number in shown)


def test_description_tells_value_and_default() -> None:
    settings = Settings(context=replace(Settings().context, budget=500))

    described = {f"{one.section}.{one.name}": one for one in describe_settings(settings)}

    assert (described["context.budget"].value, described["context.budget"].default) == ("500", "8000")
    assert described["signals.error_logs"].value == "[]"
    assert all(one.about for one in described.values())
