"""Globs of agents' rules: which files they name, and that nobody's glob holds up anything."""

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
def test_a_list_of_globs_is_written_in_many_ways(text: str, expected: list[str]) -> None:
    assert globs.listed(text) == expected


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
def test_a_glob_names_files(glob: str, named: list[str], others: list[str]) -> None:
    plain = globs.plain([glob], names_anywhere=False)
    assert [path for path in (*named, *others) if globs.name(plain, path)] == named


def test_a_bare_name_is_meant_anywhere_or_at_the_root() -> None:
    anywhere = globs.plain(["*.ts", "/Makefile"], names_anywhere=True)
    assert globs.name(anywhere, "src/a.ts")
    assert not globs.name(anywhere, "src/Makefile")
    assert not globs.name(globs.plain(["*.ts"], names_anywhere=False), "src/a.ts")


def test_what_a_glob_leaves_out_is_not_named() -> None:
    some = globs.plain(["src/**", "!**/*.test.ts"], names_anywhere=False)
    assert globs.name(some, "src/a.ts")
    assert not globs.name(some, "src/a.test.ts")
    others = globs.plain(["!docs/**"], names_anywhere=False)
    assert globs.name(others, "src/a.ts")
    assert not globs.name(others, "docs/a.md")


@pytest.mark.parametrize("glob", ["**", "**/*", "*", "./**", "/**/*", "**/*.*"])
def test_a_glob_that_names_everything_says_nothing(glob: str) -> None:
    assert globs.plain([glob, "src/**"], names_anywhere=True) == ()
    assert globs.plain([glob, "!src/**"], names_anywhere=True) != ()


def test_the_folder_in_which_all_that_a_glob_names_is() -> None:
    found = [globs.folder_of(glob) for glob in ("src/web/**/*.ts", "src/a*/b", "**/*.ts", "!src/**", "src/a.ts")]
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
def test_a_glob_of_somebody_who_means_harm_is_bounded(glob: str) -> None:
    plain = globs.plain(globs.listed(",".join([glob] * 20)), names_anywhere=True)
    assert len(plain) <= globs.MOST
    assert not globs.name(plain, "a/" * 100 + "a" * 255)
