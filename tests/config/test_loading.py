"""Tests of settings loading: errors name file, key and allowed values."""

from dataclasses import fields
from pathlib import Path

import pytest

from hunchd.config.loading import build_settings, load_settings
from hunchd.config.settings import Settings
from hunchd.domain.errors import ConfigError


def test_load_missing_file_returns_defaults(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "none.toml") == Settings()


def test_load_file_overrides_named_settings(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[context]\nbudget = 4000\n[index]\nignore = ["*.gen.ts"]\n')
    settings = load_settings(file)
    assert settings.context.budget == 4000
    assert settings.index.ignore == ("*.gen.ts",)
    assert settings.serving == Settings().serving


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"servng": {}}, "me.toml: there is no section 'servng'. Did you mean 'serving'?"),
        (
            {"serving": {"prot": 1}},
            "me.toml: [serving] has no setting 'prot'. Did you mean 'port'? Allowed: host, port",
        ),
        ({"serving": 3}, "'serving' is a section"),
        ({"serving": {"port": "80"}}, "me.toml: [serving] port must be a whole number, not '80'"),
        ({"serving": {"port": True}}, "must be a whole number"),
        ({"serving": {"port": 70000}}, "must be between 0 and 65535"),
        ({"serving": {"host": "0.0.0.0"}}, "must be a loopback address"),
        ({"signals": {"watch_files": 1}}, "must be true or false"),
        ({"index": {"ignore": "x"}}, "must be a list of strings"),
        ({"daemon": {"log_level": "loud"}}, "must be one of: debug, info"),
        ({"shell": {"private_folders": ["~", "secret"]}}, "[shell] private_folders must be absolute, or begin with ~"),
        ({"shell": {"private_folders": ["~nobody-here/x"]}}, "or ~NAME of a user, not '~nobody-here/x'"),
        ({"context": {"budget": 300_000}}, "must be between 1 and 200000"),
    ],
)
def test_load_mistake_names_file_and_key(table: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_settings(table, file="me.toml")
    assert message in caught.value.message


NUMBERS = [
    (section.name, setting.name)
    for section in fields(Settings)
    for setting in fields(getattr(Settings(), section.name))
    if type(getattr(getattr(Settings(), section.name), setting.name)) in (int, float)
]


@pytest.mark.parametrize(("section", "name"), NUMBERS)
def test_load_number_out_of_range_is_rejected(section: str, name: str) -> None:
    """Reject it at the start, not when a nightly run uses it."""
    kind = type(getattr(getattr(Settings(), section), name))
    for senseless in (-1, 10**12, *((float("nan"), float("inf")) if kind is float else ())):
        with pytest.raises(ConfigError) as caught:
            build_settings({section: {name: kind(senseless)}}, file="me.toml")
        assert caught.value.message.startswith(f"me.toml: [{section}] {name} must be between ")


@pytest.mark.parametrize("content", [b"[serving", b"\xff\xfe"])
def test_load_unreadable_file_raises_config_error(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=r"config\.toml"):
        load_settings(file)
