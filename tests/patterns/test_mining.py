"""Mining of code patterns: project-specific repetition is found and dated."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec import convert

from hunchd.ingestion.history import iter_units
from hunchd.patterns.companions import find_adding_commits, find_companions
from hunchd.patterns.identity import reuse_known_keys
from hunchd.patterns.mining import add_history, mine_patterns
from hunchd.patterns.pattern import CodePattern
from hunchd.patterns.shapes import Shape, extract_shapes
from hunchd.protocol.responses import to_json
from hunchd.repository.git import Git
from tests.patterns.sources import LANGUAGES, NAMES, PYTHON, project
from tests.repositories import commit, git

TITLES = {
    "python": "functions with @register_format named load_…",
    "go": "functions named load…",
    "rust": "implementations of Format named …Format",
    "java": "functions with @RegisterFormat named loadDocument",
    "typescript": "functions named …Format",
}


def patterns_in(files: Mapping[str, bytes]) -> list[CodePattern]:
    return mine_patterns(shapes_in(files))


def shapes_in(files: Mapping[str, bytes]) -> list[Shape]:
    return [shape for path, source in sorted(files.items()) for shape in extract_shapes(path, source)]


@pytest.mark.parametrize("language", TITLES)
def test_title_names_what_repeats(language: str) -> None:
    patterns = patterns_in(project(language))

    assert TITLES[language] in [pattern.title for pattern in patterns]
    assert patterns[0].count == len(NAMES)


def test_common_code_is_no_pattern() -> None:
    loop = (
        "def f{n}(items):\n    found = []\n    for item in items:\n        if item:\n"
        "            found.append(str(item))\n    return found\n"
    )
    files = {f"m{n}.py": loop.format(n=n).encode() for n in range(9)}

    assert patterns_in(files) == []


def test_too_few_instances_are_no_pattern() -> None:
    two = project("python", NAMES[:2])
    together = {"formats.py": b"\n".join(project("python", NAMES[:3]).values())}

    assert patterns_in(two) == []
    assert patterns_in(together) == []


def test_place_is_same_named_file_per_folder() -> None:
    files = {
        f"packages/{name}/build_config.py": source
        for name, source in zip(NAMES, project("python").values(), strict=False)
    }

    place = patterns_in(files)[0].place

    assert place.text == "packages/*/build_config.py"
    assert place.contains("packages/new/build_config.py")
    assert not place.contains("packages/new/src/use.py")
    assert place.share == 1.0


def test_pattern_has_usual_place() -> None:
    pattern = patterns_in(project("java"))[0]

    assert pattern.place.text == "src/main/java/formats/*Format.java"
    assert pattern.place.contains("src/main/java/formats/CsvFormat.java")
    assert not pattern.place.contains("src/test/java/formats/CsvFormat.java")
    assert not pattern.place.contains("src/main/java/formats/Csv.java")


def test_key_is_kept_for_similar_instances() -> None:
    before = patterns_in(project("python"))
    changed = {
        path: source.replace(b"checked_document", b"verified_document")
        for path, source in project("python", (*NAMES, "csv")).items()
    }
    now = patterns_in(changed)

    assert now[0].key != before[0].key
    assert reuse_known_keys(now, before)[0].key == before[0].key


def test_mining_is_deterministic() -> None:
    files = {path: source for language in LANGUAGES for path, source in project(language).items()}
    shapes = shapes_in(files)

    assert mine_patterns(shapes) == mine_patterns(list(reversed(shapes)))


def test_pattern_survives_json_round_trip() -> None:
    pattern = patterns_in(project("go"))[0]

    assert convert(to_json(pattern), CodePattern) == pattern


def test_unparsable_file_has_no_shapes() -> None:
    assert extract_shapes("a.py", b"\0\1\2") == ()
    assert extract_shapes("a.md", b"# A heading") == ()
    assert isinstance(extract_shapes("a.py", b"def f(:\n  ((((" * 2_000), tuple)


def test_features_have_no_secrets() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    shapes = extract_shapes("a.py", f'def connect_to_hub(token="{secret}"):\n    hub_client("{secret}")\n'.encode())

    assert shapes
    assert not any(secret in str(shape) for shape in shapes)


@pytest.fixture
def past(tmp_path: Path) -> Path:
    """Add formats one by one, each with a registry line, a test, a changelog note and a file in the root folder."""
    root = tmp_path / "formats"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    for number, name in enumerate(NAMES):
        files = {f"formats/{name}.py": PYTHON.format(name=name), f"tests/test_{name}.py": f"import {name}\n"}
        files["formats/registry.py"] = "\n".join(NAMES[: number + 1])
        files[f"changes/{number}.md"] = f"{name} is read.\n"
        files[f"example-{number}.txt"] = f"{name}\n"
        commit(root, f"Read {name}", files)
    return root


def test_history_yields_companions(past: Path) -> None:
    files = {path: (past / path).read_bytes() for path in project("python")}
    repository = Git(past)
    known = {unit.sha: unit for unit in iter_units(repository)}

    pattern = add_history(
        patterns_in(files), files.get, lambda heads: find_adding_commits(repository, heads), lambda shas: known
    )[0]

    told = {(one.kind, one.target): (one.times, one.of) for one in pattern.companions}
    assert told == {
        ("file", "formats/registry.py"): (3, 4),  # new in the first commit
        ("test", ""): (4, 4),
        ("kind", "changes/*.md"): (4, 4),
    }
    assert set(pattern.commits) == set(git(past, "log", "--format=%H").split())


def test_siblings_are_no_companion(past: Path) -> None:
    units = list(iter_units(Git(past)))

    assert "changes/*.md" in [one.target for one in find_companions([(unit, ["formats/a.py"]) for unit in units])]
    assert "changes/*.md" not in [one.target for one in find_companions([(unit, ["changes/a.md"]) for unit in units])]


def test_removed_file_is_no_companion(past: Path) -> None:
    files = {path: (past / path).read_bytes() for path in project("python")}
    known = {unit.sha: unit for unit in iter_units(Git(past))}

    def added(heads: set[tuple[str, str]]) -> dict[tuple[str, str], str]:
        return find_adding_commits(Git(past), heads)

    gone = {"formats", "formats/registry.py"}
    pattern = add_history(patterns_in(files), files.get, added, lambda shas: known, lambda path: path not in gone)[0]

    assert [(one.kind, one.target) for one in pattern.companions] == [("test", ""), ("kind", "changes/*.md")]


def test_moved_instance_keeps_its_adding_commit(past: Path) -> None:
    head = ("formats/toml.py", "def load_toml(source: TextSource, options):")
    added = find_adding_commits(Git(past), [head])
    (past / "formats/toml.py").write_text("# A comment.\n" + PYTHON.format(name="toml"))
    commit(past, "Say what it is", {})

    assert find_adding_commits(Git(past), [head]) == added


def test_single_commit_yields_no_companion(past: Path) -> None:
    newest = next(iter_units(Git(past), newest=1))

    assert find_companions([(newest, ["formats/plist.py"])]) == ()
