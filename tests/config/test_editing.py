"""Tests of the changes of single settings in the user's file."""

from __future__ import annotations

from pathlib import Path

import pytest

from hunchd.config.editing import write_setting
from hunchd.config.loading import load_settings
from hunchd.domain.errors import ConfigError

FILE = """\
# mine
[context]
budget = 4000  # small models

[index]
ignore = [
  "a/",
  "b/",
]
patterns_idle_seconds = 10.0
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(FILE)
    return path


def test_write_setting_keeps_comments_and_neighbours(file: Path) -> None:
    write_setting(file, "index", "ignore", '["c/"]')
    write_setting(file, "consolidation", "forget_share", "0.5")

    text = file.read_text()
    assert "# mine" in text
    assert "b/" not in text
    settings = load_settings(file)
    assert (settings.context.budget, settings.consolidation.forget_share) == (4000, 0.5)
    assert (settings.index.ignore, settings.index.patterns_idle_seconds) == (("c/",), 10)


def test_write_setting_undone_restores_the_file(file: Path) -> None:
    write_setting(file, "store", "snapshots", "3")
    assert load_settings(file).store.snapshots == 3
    write_setting(file, "store", "snapshots", None)
    write_setting(file, "index", "patterns_idle_seconds", "20")
    write_setting(file, "index", "patterns_idle_seconds", "10.0")

    assert load_settings(file).store.snapshots == 7
    assert file.read_text().startswith(FILE.rstrip())


@pytest.mark.parametrize(
    ("section", "name", "value", "message"),
    [
        ("context", "budget", "0", "between 1 and 200000"),
        ("context", "budget", '"many"', "a whole number"),
        ("context", "budget", "1\nother = 0.2", "is not a valid value"),
        ("context", "budgets", "1", "Did you mean 'budget'"),
        ("daemon", "log_level", '"loud"', "one of: debug"),
        ("language", "enabled", "true", "what leaves this machine"),
        ("embedding", "model", '"other"', "what leaves this machine"),
    ],
)
def test_write_setting_refused_names_what_is_allowed(
    file: Path, section: str, name: str, value: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        write_setting(file, section, name, value)
    assert file.read_text() == FILE


def test_write_setting_without_file_creates_a_private_one(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.toml"
    write_setting(path, "daemon", "log_level", '"debug"')

    assert load_settings(path).daemon.log_level == "debug"
    assert path.stat().st_mode & 0o077 == 0
