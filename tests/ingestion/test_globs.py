"""Globs of agent rules: matching, and limits for hostile globs."""

from __future__ import annotations

import pytest

from hunchd.ingestion import globs


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("src/**/*.ts", ["src/**/*.ts"]),
        ("src/**/*.ts, tests/**/*.cs ,global.json", ["src/**/*.ts", "tests/**/*.cs", "global.json"]),
        ("**/*.{ts,tsx},docs/**", ["**/*.{ts,tsx}", "docs/**"]),
        ("[\"**/*.ts\", '**/*.tsx']", ["**/*.ts", "**/*.tsx"]),
        ('"src/**/*.ts,src/**/*.tsx"', ["src/**/*.ts", "src/**/*.tsx"]),
        ("[locale]/page.tsx", ["[locale]/page.tsx"]),
        ("[]", []),
        (" , ,", []),
        ("{a,b", ["{a,b"]),
    ],
)
def test_glob_list_formats_are_split(text: str, expected: list[str]) -> None:
    assert globs.split_list(text) == expected


@pytest.mark.parametrize(
    ("glob", "named", "others"),
    [
        ("src/**/*.tsx", ["src/a.tsx", "src/x/y/a.tsx"], ["src/a.ts", "web/src/a.tsx", "a.tsx"]),
        ("**/*.py", ["a.py", "x/y/a.py"], ["a.pyi", "a.py/b"]),
        ("src/*.py", ["src/a.py"], ["src/x/a.py"]),
        ("**/*.{test,spec}.{ts,tsx}", ["a.test.ts", "x/b.spec.tsx"], ["a.ts", "a.test.js"]),
        ("{src,{lib,bin}}/**", ["src/a", "lib/a/b", "bin/a"], ["{src/a", "a"]),
        ("apps/*/components/**/*.tsx", ["apps/web/components/a.tsx"], ["apps/web/x/components/a.tsx"]),
        ("**/trigger/**/*.ts", ["trigger/a.ts", "apps/trigger/x/a.ts"], ["apps/triggers/a.ts"]),
        ("**/a/**/b/c", ["a/b/b/c", "a/a/b/c", "x/a/b/x/b/c"], ["a/b/x/c", "b/c"]),
        ("docs/", ["docs/a.md", "docs/x/a.md"], ["src/docs/a.md"]),
        ("/dir1/**/*", ["dir1/a"], ["x/dir1/a"]),
        ("./src/**", ["src/a"], ["x/src/a"]),
        ("src/**.ts", ["src/a.ts", "src/x/a.ts"], ["src/a.py"]),
        ("src\\**\\*.cs", ["src/x/a.cs"], ["src/a.ts"]),
        ("app/[locale]/**", ["app/[locale]/page.tsx", "app/l/page.tsx"], ["app/en/page.tsx"]),
        ("app/\\[id\\]/*", ["app/[id]/page.tsx"], ["app/en/page.tsx"]),
        ("v?.md", ["v1.md"], ["v10.md", "v/.md"]),
        ("[^a]*.md", ["b.md"], ["a.md"]),
        ("**/*a*b?c", ["x/aabxc"], ["x/aabc"]),
        ("a*b*c", ["abc", "axxbxxc", "abcbc"], ["ab", "ac", "abcd"]),
        ("*ab*ab", ["abab", "xabxab"], ["ab", "xab"]),
        ("../other/**", [], ["other/a", "a"]),
    ],
)  # fmt: skip
def test_glob_matches_files(glob: str, named: list[str], others: list[str]) -> None:
    plain = globs.normalize_globs([glob], names_anywhere=False)
    assert [path for path in (*named, *others) if globs.matches_any(plain, path)] == named


def test_bare_name_matches_anywhere_or_at_root() -> None:
    anywhere = globs.normalize_globs(["*.ts", "/Makefile"], names_anywhere=True)
    assert globs.matches_any(anywhere, "src/a.ts")
    assert not globs.matches_any(anywhere, "src/Makefile")
    assert not globs.matches_any(globs.normalize_globs(["*.ts"], names_anywhere=False), "src/a.ts")


def test_negated_glob_excludes_files() -> None:
    some = globs.normalize_globs(["src/**", "!**/*.test.ts"], names_anywhere=False)
    assert globs.matches_any(some, "src/a.ts")
    assert not globs.matches_any(some, "src/a.test.ts")
    others = globs.normalize_globs(["!docs/**"], names_anywhere=False)
    assert globs.matches_any(others, "src/a.ts")
    assert not globs.matches_any(others, "docs/a.md")


@pytest.mark.parametrize("glob", ["**", "**/*", "*", "./**", "/**/*", "**/*.*"])
def test_match_all_glob_is_dropped(glob: str) -> None:
    assert globs.normalize_globs([glob, "src/**"], names_anywhere=True) == ()
    assert globs.normalize_globs([glob, "!src/**"], names_anywhere=True) != ()


def test_common_folder_of_glob() -> None:
    found = [globs.common_folder(glob) for glob in ("src/web/**/*.ts", "src/a*/b", "**/*.ts", "!src/**", "src/a.ts")]
    assert found == ["src/web", "src", "", "", "src"]


@pytest.mark.parametrize(
    "glob",
    [
        "{a,b}" * 60,
        "{" * 150 + "a,b" + "}" * 140,
        "**/b*" * 60,
        "*a" * 149 + "b",
        "[" * 300,
        "{" + "a," * 140 + "}",
    ],
)
def test_hostile_glob_is_bounded(glob: str) -> None:
    plain = globs.normalize_globs(globs.split_list(",".join([glob] * 20)), names_anywhere=True)
    assert len(plain) <= globs.MAX_GLOBS
    assert not globs.matches_any(plain, "a/" * 100 + "a" * 255)
