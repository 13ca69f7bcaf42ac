"""Which files imports mean."""

# ruff: noqa: E501 - one row of a table, one line

from __future__ import annotations

import time

import pytest

from hunchd.domain.code import FileOutline
from hunchd.ingestion.imports import ProjectFiles, resolve_imports


def resolved(path: str, language: str, imports: tuple[str, ...], files: list[str]) -> tuple[str, ...]:
    return resolve_imports(FileOutline(path, "", language, 0, 0, imports=imports), ProjectFiles([path, *files]))


@pytest.mark.parametrize(
    ("path", "language", "imports", "files", "expected"),
    [
        ("src/pkg/a.py", "python", (".", ".b"), ["src/pkg/__init__.py", "src/pkg/b.py"], ("src/pkg/__init__.py", "src/pkg/b.py")),
        ("src/pkg/sub/a.py", "python", ("..c", "..c.Name"), ["src/pkg/c.py"], ("src/pkg/c.py",)),
        ("tests/t.py", "python", ("pkg.c", "os"), ["src/pkg/c.py", "src/pkg/__init__.py"], ("src/pkg/c.py",)),
        ("src/pkg/a.py", "python", ("json", "typing"), ["src/pkg/json/__init__.py", "src/util/typing.py"], ()),
        ("a/b.ts", "typescript", ("./c", "../d.js", "react"), ["a/c/index.ts", "d.ts"], ("a/c/index.ts", "d.ts")),
        ("a/b.vue", "vue", ("./c.vue", "@/util/d"), ["a/c.vue", "src/util/d.ts"], ("a/c.vue", "src/util/d.ts")),
        ("a/x.ts", "typescript", ("@scope/shared",), ["packages/shared/src/index.ts"], ("packages/shared/src/index.ts",)),
        ("cmd/m.go", "go", ("fmt", "github.com/me/proj/internal/db"), ["internal/db/a.go", "internal/db/a_test.go"], ("internal/db/a.go",)),
        ("src/net/mod.rs", "rust", ("mod::tcp", "crate::io::Read", "std::fmt"), ["src/net/tcp.rs", "src/io/mod.rs", "src/lib.rs"],
         ("src/net/tcp.rs", "src/io/mod.rs")),
        ("src/a/b.rs", "rust", ("super::c::X",), ["src/a/c.rs"], ("src/a/c.rs",)),
        ("app/src/A.java", "java", ("com.x.B", "com.x.C.member", "java.util.List"),
         ["core/src/main/java/com/x/B.java", "core/src/main/java/com/x/C.java"],
         ("core/src/main/java/com/x/B.java", "core/src/main/java/com/x/C.java")),
        ("src/a.c", "c", ("b.h", "sub/c.h", "stdio.h"), ["src/b.h", "include/sub/c.h"], ("src/b.h", "include/sub/c.h")),
        ("lib/a.rb", "ruby", ("./b", "proj/c"), ["lib/b.rb", "lib/proj/c.rb"], ("lib/b.rb", "lib/proj/c.rb")),
        ("src/A.php", "php", ("App\\Db\\Conn",), ["src/Db/Conn.php"], ("src/Db/Conn.php",)),
        ("a.sh", "bash", ("./lib/x.sh",), ["lib/x.sh"], ("lib/x.sh",)),
    ],
)  # fmt: skip
def test_imports_mean_files_of_the_project(
    path: str, language: str, imports: tuple[str, ...], files: list[str], expected: tuple[str, ...]
) -> None:
    assert resolved(path, language, imports, files) == expected


def test_a_file_never_imports_itself_and_no_file_is_named_twice() -> None:
    assert resolved("pkg/a.py", "python", (".a", ".b", ".b.name"), ["pkg/b.py"]) == ("pkg/b.py",)


def test_a_name_that_many_files_have_means_none_of_them() -> None:
    files = [f"lib{number}/core/config.py" for number in range(9)]
    assert resolved("app/x.py", "python", ("config",), files) == ()


def test_a_thousand_files_of_a_large_project_resolve_quickly() -> None:
    files = ProjectFiles([f"src/p{a}/m{b}.py" for a in range(250) for b in range(200)])
    outlines = [
        FileOutline(f"src/p{a}/m0.py", "", "python", 0, 0, imports=(".m1", f"p{a}.m2", "os.path", "typing"))
        for a in range(250)
    ]
    start = time.process_time()
    found = [resolve_imports(outline, files) for outline in outlines * 4]
    assert time.process_time() - start < 2.0
    assert found[3] == ("src/p3/m1.py", "src/p3/m2.py")
