"""`hunch service`: the daemon as a service of systemd or launchd.

The system starts it on the first request or at login, and supervises it.
"""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import hunchd
from hunchd.cli.errors import CommandError
from hunchd.cli.launching import DAEMON, end, holder
from hunchd.cli.output import clean, note, print_json
from hunchd.config.places import Places, places

LABEL: Final = "org.hunchd.daemon"
UNITS: Final = ("hunchd.socket", "hunchd.service")
_PATIENCE: Final = 90.0  # seconds: a stop may take the unit's TimeoutStopSec, a start its TimeoutStartSec
_TEMPLATE_PROGRAM: Final = "%h/.local/bin/hunchd"
_TEMPLATE_SOCKET: Final = "%t/hunchd/hunchd.sock"


def service(arguments: Namespace) -> int:
    manager = arguments.manager or _present()
    where = places()
    files = wanted_files(manager, where, os.environ)
    if arguments.action == "install":
        if arguments.dry_run:
            for path, content in files.items():
                print(f"# {clean(path)}\n{content.decode()}")
            return 0
        install(manager, where, files)
    elif arguments.action == "uninstall":
        uninstall(manager, files)
    return _show(manager, files, as_json=arguments.json)


def wanted_files(manager: str, where: Places, environment: Mapping[str, str]) -> dict[Path, bytes]:
    """Return the files to write, with their content."""
    home = environment.get("HUNCHD_HOME")
    if manager == "launchd":
        return {Path.home() / "Library" / "LaunchAgents" / f"{LABEL}.plist": _plist(where, home)}
    base = Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd" / "user"
    return {base / name: _unit(name, where, home).encode() for name in UNITS}


def install(manager: str, where: Places, files: Mapping[Path, bytes]) -> None:
    """Write the files, stop a running daemon, and start the service.

    Safe to repeat after an upgrade.
    """
    if manager == "systemd":
        _systemctl("show-environment")  # fails before anything is written if no manager responds
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.new")
        draft.write_bytes(content)
        draft.replace(path)
    if manager == "launchd":
        _run(*_launchctl("bootout"), check=False)
        _end_other(where)
        _run("launchctl", "bootstrap", f"gui/{os.getuid()}", str(next(iter(files))))
        return
    _systemctl("daemon-reload")
    _systemctl("stop", *UNITS)
    _end_other(where)
    _systemctl("enable", *UNITS)
    _systemctl("start", *UNITS)


def uninstall(manager: str, files: Mapping[Path, bytes]) -> None:
    """Stop the daemon and delete the files.

    Any command starts the daemon again.
    """
    if not any(path.exists() for path in files):
        return
    if manager == "launchd":
        _run(*_launchctl("bootout"), check=False)
    else:
        _systemctl("disable", "--now", *UNITS, check=False)
    for path in files:
        path.unlink(missing_ok=True)
    if manager == "systemd":
        _systemctl("daemon-reload", check=False)
        _systemctl("reset-failed", *UNITS, check=False)


def installed(where: Places) -> str | None:
    """Return the manager that the daemon of this home is installed with, or None."""
    home = os.environ.get("HUNCHD_HOME")
    for manager in ("systemd", "launchd"):
        for path in wanted_files(manager, where, os.environ):
            if path.name.endswith((".service", ".plist")) and path.exists():
                text = path.read_text(errors="replace")
                return manager if (home in text if home else "HUNCHD_HOME" not in text) else None
    return None


def state(manager: str, files: Mapping[Path, bytes]) -> dict[str, Any]:
    """Return the state of the service, as `--json` shows it."""
    there = {path: path.read_bytes() if path.exists() else None for path in files}
    told: dict[str, Any] = {
        "manager": manager,
        "installed": all(content is not None for content in there.values()),
        "up_to_date": there == dict(files),
        "files": [str(path) for path, content in there.items() if content is not None],
    }
    if manager == "systemd" and told["installed"]:
        for unit in UNITS:
            shown = _run("systemctl", "--user", "show", unit, "-p", "ActiveState,UnitFileState,NRestarts", check=False)
            fields = dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)
            told[unit] = {"active": fields.get("ActiveState", "unknown"), "enabled": fields.get("UnitFileState", "")}
            if "NRestarts" in fields:
                told[unit]["restarts"] = int(fields["NRestarts"])
    return told


def _show(manager: str, files: Mapping[Path, bytes], *, as_json: bool) -> int:
    told = state(manager, files)
    if as_json:
        print_json(told)
        return 0
    if not told["installed"]:
        print(f"{manager}: not installed")
        return 0
    print(f"{manager}: installed{'' if told['up_to_date'] else ', but for another installation of hunchd'}")
    for path in told["files"]:
        print(f"  {clean(path)}")
    for unit in UNITS:
        if unit in told:
            print(f"  {unit}: {', '.join(f'{name} {value}' for name, value in told[unit].items())}")
    if not told["up_to_date"]:
        note("hunch service install brings it up to date.")
    return 0


def _unit(name: str, where: Places, home: str | None) -> str:
    text = _template(name).replace(_TEMPLATE_PROGRAM, " ".join(_quoted(word) for word in DAEMON))
    if home:
        place = _quoted(f"HUNCHD_HOME={Path(home).expanduser().absolute()}")
        text = text.replace("[Service]\n", f"[Service]\nEnvironment={place}\n")
        text = text.replace(_TEMPLATE_SOCKET, str(where.socket_file).replace("%", "%%"))
    return text


def _template(name: str) -> str:
    """Read a unit from the package, or from the source tree beside it."""
    package = Path(hunchd.__file__).parent
    for folder in (package / "systemd", package.parents[1] / "systemd"):
        if (folder / name).is_file():
            return (folder / name).read_text(encoding="utf-8")
    raise CommandError(f"{name} is missing from this installation.", hint="Reinstall hunchd.")


def _quoted(word: str) -> str:
    """Quote a word literally for a unit's command line."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{plain}"' if any(sign in plain for sign in " \t\\'\";") else plain


def _plist(where: Places, home: str | None) -> bytes:
    """Render a launchd agent that starts at login and is restarted when it fails."""
    return plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": list(DAEMON),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ThrottleInterval": 10,  # seconds between two starts
            "ProcessType": "Background",
            "LowPriorityIO": True,
            "Nice": 5,
            "Umask": 0o077,
            "WorkingDirectory": "/",
            "StandardErrorPath": str(where.log_file),
            **({"EnvironmentVariables": {"HUNCHD_HOME": str(Path(home).expanduser().absolute())}} if home else {}),
        }
    )


def _present() -> str:
    if sys.platform == "darwin":
        return "launchd"
    if shutil.which("systemctl"):
        return "systemd"
    raise CommandError(
        "this system has neither systemd nor launchd.", hint="Any command starts the daemon; docs/service.md has more."
    )


def _end_other(where: Places) -> None:
    """Stop a daemon that was started by hand, in favour of the service's."""
    if (pid := holder(where)) is not None:
        end(pid)


def _launchctl(action: str) -> tuple[str, ...]:
    return ("launchctl", action, f"gui/{os.getuid()}/{LABEL}")


def _systemctl(*words: str, check: bool = True) -> None:
    _run("systemctl", "--user", *words, check=check)


def _run(*command: str, check: bool = True) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CommandError(f"{command[0]} could not be run: {error}") from error
    if check and done.returncode:
        said = clean(done.stderr.strip() or done.stdout.strip())
        raise CommandError(f"{' '.join(command)} failed: {said}", hint="Does it have a user session to connect to?")
    return done.stdout
