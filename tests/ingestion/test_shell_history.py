"""Shell history files: commands with the folder that the preceding `cd` led to."""

from __future__ import annotations

from pathlib import Path

import pytest

from hunchd.ingestion.workflows.shell_history import Shell, guess_shell, read_history

HOME = "/home/ada"


def read_written(folder: Path, name: str, content: bytes, shell: Shell) -> list[tuple[str, float | None, str | None]]:
    file = folder / name
    file.write_bytes(content)
    return [(one.command, one.at, one.folder) for one in read_history(file, shell, HOME)]


def test_bash_history_with_and_without_times(tmp_path: Path) -> None:
    content = b"ls\n#1750000000\ncd ~/shop\n#1750000060\nmake test\n"

    assert read_written(tmp_path, "h", content, "bash") == [
        ("ls", None, None),
        ("cd ~/shop", 1750000000.0, None),
        ("make test", 1750000060.0, "/home/ada/shop"),
    ]


def test_zsh_history_with_multiline_and_metafied_bytes(tmp_path: Path) -> None:
    # é is C3 A9 in UTF-8; zsh writes A9 as 83 and A9 with its sixth bit turned.
    content = b": 1750000000:0;cd /srv/shop && ls\n: 1750000009:2;for x in a\\\ndo echo $x\\\ndone\n"
    content += b": 1750000020:0;echo caf\xc3\x83\x89\n"

    told = read_written(tmp_path, "h", content, "zsh")

    assert told[1] == ("for x in a\ndo echo $x\ndone", 1750000009.0, "/srv/shop")
    assert told[2][0] == "echo café"


def test_fish_history_with_escapes(tmp_path: Path) -> None:
    content = b"- cmd: cd /srv/shop\n  when: 1750000000\n  paths:\n    - /srv/shop\n"
    content += b"- cmd: echo a\\nb \\\\ c\n  when: 1750000001\n- cmd: ls\n"

    assert read_written(tmp_path, "h", content, "fish") == [
        ("cd /srv/shop", 1750000000.0, None),
        ("echo a\nb \\ c", 1750000001.0, "/srv/shop"),
        ("ls", None, "/srv/shop"),
    ]


@pytest.mark.parametrize(
    ("moves", "folder"),
    [
        (["cd /a", "cd b/../c"], "/a/c"),
        (["cd /a", "cd /b", "cd -"], "/a"),
        (["cd /a", "cd"], HOME),
        (["cd /a && cd b"], "/a/b"),
        (["cd b"], None),
        (["cd /a", "cd $X"], None),
        (["cd /a", "z shop"], None),
        (["cd /a", "popd"], None),
        (["cd /a", "git commit -m 'cd there'"], "/a"),
    ],
)
def test_folder_follows_cd_without_guessing(tmp_path: Path, moves: list[str], folder: str | None) -> None:
    content = "\n".join((*moves, "ls")).encode()

    assert read_written(tmp_path, "h", content, "bash")[-1] == ("ls", None, folder)


def test_shell_is_guessed_by_file_name() -> None:
    names = (".bash_history", ".zsh_history", ".histfile", "fish_history")

    assert [guess_shell(Path(name)) for name in names] == ["bash", "zsh", "zsh", "fish"]


ENTRIES = {
    "here document": ["cat <<EOF > a.txt", "rm -rf build", "EOF"],
    "quoted here document": ["python3 - <<'PY'", "print('make')", "PY"],
    "indented here document": ["cat <<-END", "\tx", "\tEND"],
    "message": ['git commit -m "Seal boxes', "", 'with tape"'],
    "loop": ["while read box; do", "  seal $box", "done < boxes"],
    "condition": ["if make check; then", "  make ship", "fi"],
    "choice": ["case $1 in", "a) make a;;", "esac"],
    "continued": ["docker run \\", "  --rm image"],
    "group": ["{ make a;", "make b", "}"],
}


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_bash_entry_of_several_lines_is_one_command(tmp_path: Path, entry: list[str]) -> None:
    for stamps in (True, False):
        stamp = ["#1764000000"] if stamps else []
        file = tmp_path / "bash_history"
        file.write_text("\n".join([*stamp, "make first", *stamp, *entry, *stamp, "make last"]) + "\n")

        commands = [one.command for one in read_history(file, "bash", "/home/ann")]

        assert commands == ["make first", "\n".join(entry), "make last"]


@pytest.mark.parametrize(
    "line", ["echo don't", "grep '<<' a.txt", "echo done", "git log --format='%h # %s'", "a <<< b"]
)
def test_bash_single_lines_do_not_swallow_the_next(tmp_path: Path, line: str) -> None:
    file = tmp_path / "bash_history"
    file.write_text(f"{line}\nmake last\n")

    assert [one.command for one in read_history(file, "bash", "/home/ann")] == [line, "make last"]


def test_zsh_escaped_backslash_ends_the_command(tmp_path: Path) -> None:
    file = tmp_path / "zsh_history"
    file.write_text(": 1764000000:0;echo a\\\\\n: 1764000001:0;make last\n")

    assert [one.command for one in read_history(file, "zsh", "/home/ann")] == ["echo a\\\\", "make last"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_history_of_windows_encodings_is_read(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / ".bash_history"
    file.write_bytes(
        "#1767225600\r\ngit status\r\n#1767225601\r\ncat <<'EOF' > größe\r\na\r\nEOF\r\nls".encode(encoding)
    )

    commands = read_history(file, "bash", "/home/ada")

    assert [one.command for one in commands] == ["git status", "cat <<'EOF' > größe\na\nEOF", "ls"]
    assert [one.at for one in commands] == [1767225600.0, 1767225601.0, 1767225601.0]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_history_lines_end_at_line_breaks_only(tmp_path: Path, shell: Shell) -> None:
    file = tmp_path / "history"
    file.write_text("echo 'a\u2028b\x0cc\x1dd'\nls\n", encoding="utf-8")

    assert [one.command for one in read_history(file, shell, "/home/ada")] == ["echo 'a\u2028b\x0cc\x1dd'", "ls"]


def test_bash_half_characters_are_replaced(tmp_path: Path) -> None:
    file = tmp_path / ".bash_history"
    file.write_bytes(b"echo \xed\xa0\x80\nls\n")

    first, second = (one.command for one in read_history(file, "bash", "/home/ada"))

    assert (first.encode(), second) == (first.encode("utf-8"), "ls")


def test_zsh_here_document_keeps_its_time(tmp_path: Path) -> None:
    file = tmp_path / ".zsh_history"
    file.write_text(": 1767225600:0;cat <<EOF\\\nfirst\\\n#1767225601\\\nEOF\n: 1767225602:3;ls\n")

    assert [(one.at, one.command) for one in read_history(file, "zsh", "/home/ada")] == [
        (1767225600.0, "cat <<EOF\nfirst\n#1767225601\nEOF"),
        (1767225602.0, "ls"),
    ]


def test_bash_function_is_one_command(tmp_path: Path) -> None:
    (file := tmp_path / ".bash_history").write_text("#1764000010\nsend() {\n  git push\n}\n#1764000020\nmake\n")
    assert [one.command for one in read_history(file, "bash", "/home/a")] == ["send() {\n  git push\n}", "make"]
