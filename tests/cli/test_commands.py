"""Behaviour common to all commands: help, exit codes, quiet exits, and a fast start."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hunchd.cli.command import GROUPED_COMMANDS, GROUPS, NOUNS, Noun
from hunchd.cli.commands import COMMANDS
from hunchd.cli.context import format_progress
from hunchd.cli.main import main
from hunchd.cli.parser import build_parser, render_overview
from hunchd.cli.status import _summarize_run, format_value
from tests.cli.fake_daemon import FakeDaemon, bundle, project_at

Output = pytest.CaptureFixture[str]
HUNCH = (sys.executable, "-m", "hunchd.cli")


def test_overview_lists_each_command_once(capsys: Output) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([])

    told = capsys.readouterr().out
    assert told.strip() == render_overview()
    for command in COMMANDS:
        assert told.count(f"\n  {command.name} ") == (command.name not in GROUPED_COMMANDS)
        assert command.group in GROUPS
    for noun in NOUNS:
        assert f"\n  {noun.name} " in told


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.name)
def test_noun_verb_is_its_command(noun: Noun, capsys: Output) -> None:
    for verb in noun.verbs:
        with pytest.raises(SystemExit, match="0"):
            main([noun.name, verb, "--help"])
        assert capsys.readouterr().out.startswith(f"usage: hunch {noun.name} {verb} ")
    with pytest.raises(SystemExit, match="0"):
        main([noun.name])
    listed = capsys.readouterr().out
    assert all(f"\n  {verb} " in listed for verb in noun.verbs)


def test_noun_unknown_verb_lists_its_verbs(capsys: Output) -> None:
    assert main(["daemon", "strat"]) == 2
    assert "start, stop, restart, logs, service" in capsys.readouterr().err


@pytest.mark.parametrize("name", [command.name for command in COMMANDS if command.name != "bench"])
def test_command_help_has_description_and_examples(name: str) -> None:
    command = next(each for each in COMMANDS if each.name == name)

    told = build_parser(command).format_help()

    assert told.startswith(f"usage: hunch {name}")
    assert all(example in told for example in command.examples)
    assert ("--json" in told) == command.prints_data
    assert ("--no-start" in told) == command.asks_daemon


@pytest.fixture
def west(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Time zone in which days end later than in UTC."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


TEAM = "'create', 'join', 'status', 'members', 'preview', 'exclude', 'readmit', 'appoint', 'leave'"


@pytest.mark.usefixtures("west")
@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["contxt", "a.py"], "unknown command 'contxt'. Did you mean 'context'?"),
        (["--json", "status"], "options must come after the command: hunch COMMAND --json"),
        (["context", "--budget", "0"], "argument --budget: must be a whole number above 0; got '0'"),
        (["search", "x", "-k", "lots"], "argument -k: must be a whole number above 0; got 'lots'"),
        (["context", "a.py", "--wait", "nan"], "argument --wait: must be a number of seconds, at most 3600; got 'nan'"),
        (["logs", "-n", "-1"], "argument -n/--lines: must be a whole number, 0 or more; got '-1'"),
        (["import-transcripts", "--since", "soon"], "argument --since: must be a date like 2026-03-01; got 'soon'"),
        (
            ["import-transcripts", "--since", "9999-12-31T23:59"],
            "argument --since: must be a date like 2026-03-01; got '9999",
        ),
        (["context", "--activity", "sleeping"], "argument --activity: invalid choice: 'sleeping'"),
        (["predict"], "FILE is missing; name one, or use --query to describe what you are looking for."),
        (["add", "/etc/passwd"], "'/etc/passwd' is a file."),
        (["shell-init"], "the following arguments are required: shell (bash, zsh, fish)"),
        (["bench"], "the following arguments are required: BENCHMARK (replay, recall, latency, bundle, code)"),
        (["sessions", "begin"], "argument action: invalid choice: 'begin'"),
        (["team", "jion"], f"argument action: invalid choice: 'jion' (choose from {TEAM}) Did you mean 'join'?"),
        (["team", "members", "status"], "`hunch team members` takes no further argument."),
        (["team", "join", "s3://k:x@bucket/x"], "the address must not contain credentials."),
        (["team", "create", "shared/shop"], "the address must be s3://…, az://…, gs://… or an absolute path."),
        (["remember", "x", "--importance", "2"], "argument --importance: must be a number from 0 to 1; got '2'"),
        (["remember", "   "], "nothing to remember"),
        (["remember", "x", "--value", "y"], "--value needs --key"),
        (["erase"], "one of the arguments --project --everything is required"),
        (["dream"], "unknown command 'dream'"),
    ],
)
def test_wrong_usage_prints_hint_exits_2(argv: list[str], message: str, capsys: Output) -> None:
    assert main(argv) == 2

    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"hunch: {message}")
    assert len(lines) <= 2


def test_hint_route_is_replaced_by_command(fake: FakeDaemon, capsys: Output) -> None:
    told = {"error": {"code": "not_found", "message": "there is no run 'r'", "hint": "GET /consolidate lists them"}}
    fake.routes["POST /consolidate/r/undo"] = (404, told)

    assert main(["consolidate", "--undo", "r"]) == 1

    assert capsys.readouterr().err == "hunch: there is no run 'r'\n       run `hunch consolidate --runs` to list them\n"


@pytest.mark.parametrize("argv", [["status"], ["projects"], ["search", "x"], ["export"], ["context"]])
def test_no_start_without_daemon_exits_3(argv: list[str], repository: Path, capsys: Output, hunchd_home: Path) -> None:
    assert main([*argv, "--no-start"]) == 3

    assert capsys.readouterr().err == "hunch: no daemon is running.\n       Run `hunch start` to start it.\n"
    assert not hunchd_home.exists()


def test_closed_output_pipe_exits_quietly(fake: FakeDaemon) -> None:
    fake.routes["GET /export"] = (200, b'{"type":"memory"}\n' * 50_000)
    command = subprocess.Popen([*HUNCH, "export"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert command.stdout
    assert command.stderr
    assert command.stdout.readline() == b'{"type":"memory"}\n'
    command.stdout.close()

    with command:
        assert command.stderr.read() == b""
    assert command.returncode == 141


@pytest.mark.parametrize(
    ("closed", "argv", "code", "told"),
    [
        (">&-", ["projects", "--json"], 0, ""),
        (">&- 2>&- <&-", ["projects", "--json"], 0, ""),
        ("<&-", ["remember", "-"], 2, "hunch: nothing to remember: TEXT is empty.\n"),
        ("<&-", ["mcp"], 0, ""),
    ],
)
def test_closed_standard_stream_acts_as_empty(
    closed: str, argv: list[str], code: int, told: str, fake: FakeDaemon
) -> None:
    fake.routes["GET /projects"] = (200, {"items": [], "next": None, "total": 0})

    done = subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", *HUNCH, *argv], capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (code, told)


def test_removed_current_folder_is_reported(fake: FakeDaemon, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()

    done = subprocess.run(
        ["sh", "-c", 'rmdir "$PWD" && "$@"', "sh", *HUNCH, "search", "x"], cwd=gone, capture_output=True, text=True
    )

    assert done.returncode == 1
    assert done.stderr == "hunch: the current folder no longer exists; change to another one.\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_home_of_other_user_is_reported(hunchd_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    hunchd_home.mkdir(mode=0o700)
    (hunchd_home / "run").mkdir(mode=0o700)
    monkeypatch.setenv("HUNCHD_HOME", str(hunchd_home))
    os.seteuid(12345)
    try:
        assert main(["status"]) == 1
    finally:
        os.seteuid(0)

    told = capsys.readouterr().err
    assert "Permission denied" in told
    assert f"sudo chown -R 0 {hunchd_home}" in told


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_own_inaccessible_home_hint_is_chmod(
    hunchd_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    hunchd_home.mkdir()
    os.chown(hunchd_home, 12345, -1)
    hunchd_home.chmod(0)
    hunchd_home.parent.chmod(0o711)
    monkeypatch.setenv("HUNCHD_HOME", str(hunchd_home))
    os.seteuid(12345)
    try:
        assert main(["status"]) == 1
    finally:
        os.seteuid(0)

    told = capsys.readouterr().err
    assert "chown" not in told
    assert f"chmod -R u+rwX {hunchd_home}" in told


@pytest.mark.parametrize("words", ["show", "show /reference/", "forget", "undo", "sessions end", "consolidate --undo"])
def test_non_utf8_name_is_sent_unchanged(words: str, fake: FakeDaemon, capsys: Output) -> None:
    *before, last = words.split(" ")
    odd = [*before, f"{last}\udcff"] if last.startswith("/") else [*before, last, "\udcff"]

    assert main(odd) == 1

    assert "\N{REPLACEMENT CHARACTER}" in fake.asked[-1][0]
    assert capsys.readouterr().err.startswith("hunch: there is no ")


def test_ctrl_c_exits_130_quietly(fake: FakeDaemon, repository: Path) -> None:
    fake.routes["GET /context"] = (200, bundle(status="degraded", degraded=["reading"], items=[]))
    fake.routes["POST /projects"] = (200, project_at(repository, state="indexing"))
    command = subprocess.Popen(
        [*HUNCH, "context", "--wait", "30"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=repository,
        # A test run in the background ignores interrupts, and so would everything that it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not fake.bodies("GET /context"):
        assert command.poll() is None
    for _ in range(10):  # Python loses an interrupt that arrives in a destructor; a person presses again
        command.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            command.wait(timeout=3)
            break

    assert command.communicate(timeout=10) == (b"", b"")
    assert command.returncode == 130


def test_command_imports_no_heavy_module(fake: FakeDaemon) -> None:
    fake.routes["GET /status"] = (200, {"projects": [], "degraded": [], "queues": {"journal": 0}})
    code = (
        "import sys; from hunchd.cli.main import main; main(['status']); "
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split()

    heavy = ("asyncio", "aiohttp", "numpy", "rich", "lancedb", "pyarrow", "fastembed", "tree_sitter", "git")
    slow = ("http", "ssl", "email", "subprocess", "logging", "urllib.request")
    assert [name for name in (*heavy, *slow) if name in loaded] == []


def test_status_names_what_is_on() -> None:
    assert format_value({"bytes": 2_000, "running": True, "full": False}) == "bytes 2.0 kB · running · full no"


def test_colours_only_on_capable_terminals(fake: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.routes["GET /status"] = (200, {"projects": [], "degraded": [], "queues": {"journal": 0}})

    assert b"\033[" in _run_on_terminal("status")

    monkeypatch.setenv("NO_COLOR", "1")
    assert b"\033[" not in _run_on_terminal("status")


def test_table_multiline_cell_stays_one_row(fake: FakeDaemon, capsys: Output) -> None:
    fake.routes["GET /projects"] = (200, {"items": [project_at(Path("/code/two\nlines"))], "next": None, "total": 1})

    assert main(["projects"]) == 0

    assert len(capsys.readouterr().out.splitlines()) == 2


def _run_on_terminal(*argv: str) -> bytes:
    """Return what a command writes to a terminal."""
    ours, theirs = os.openpty()
    try:
        subprocess.run([*HUNCH, *argv], stdout=theirs, stderr=theirs, check=True, env={**os.environ, "TERM": "xterm"})
        return os.read(ours, 65_536)
    finally:
        os.close(ours)
        os.close(theirs)


def test_status_shows_last_index_progress(fake: FakeDaemon, capsys: Output) -> None:
    shop = project_at(Path("/shop"), state="indexing", reading={"step": "history", "silent_seconds": 75})
    fake.routes["GET /status"] = (200, {"projects": [shop, project_at(Path("/other"))], "degraded": []})

    assert main(["status"]) == 0

    told = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert [line for line in told if line.startswith("indexing")] == [
        "indexing shop: last progress report 1 min ago: history"
    ]
    assert format_progress(shop).endswith("last progress report 1 min ago: history")


def test_status_shows_prefetch_metrics_and_last_run(fake: FakeDaemon, capsys: Output) -> None:
    day = {"opened": 4, "hit_rate": 0.75, "precision": None, "lead_seconds": 90.0, "warm_rate": 0.9, "wasted_bytes": 12}
    prefetch = {"answers": 10, "hit_rate": 0.9, "answer_ms": {"p50": 0.21, "p95": 3.0}, "depth": 3, "day": day}
    night = {"run": "r1", "status": "done", "trigger": "nightly", "began": "2020-01-01T00:00:00Z", "deduped": 1_200}
    fake.routes["GET /status"] = (200, {"projects": [], "degraded": [], "prefetch": prefetch, "consolidation": night})

    assert main(["status"]) == 0

    told = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "foresight opened expected precision ahead by ready wasted" in told
    assert "last day 4 75% – 2 min 90% 12 B" in told
    assert "last week 0 – – – – 0 B" in told
    assert "answers 10 sent · 90% were ready · p50 0.2 ms · p95 3.0 ms · 3 likely files kept ready" in told
    [night_line] = [line for line in told if line.startswith("last night")]
    assert night_line.endswith("ago · done · 1,200 merged")


def test_status_of_running_run_names_step() -> None:
    run = {"status": "running", "began": "2020-01-01T00:00:00Z", "step": "compress", "project": "shop", "total": 1_200}
    assert _summarize_run(run).endswith("running · compress of shop · 1,200 changes")
