"""`hunch service`: installs the daemon as a service under systemd or launchd.

The service manager starts the daemon on the first request or at login, and supervises it.
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
from hunchd.cli.daemon_control import DAEMON_COMMAND, find_lock_holder, stop_process
from hunchd.cli.errors import CommandError
from hunchd.cli.output import print_json, print_note, strip_controls
from hunchd.config.app_paths import AppPaths, resolve_app_paths

LABEL: Final = "org.hunchd.daemon"
UNITS: Final = ("hunchd.socket", "hunchd.service")
_TIMEOUT_SECONDS: Final = 90.0  # seconds: a stop may take the unit's TimeoutStopSec, a start its TimeoutStartSec
_TEMPLATE_PROGRAM: Final = "%h/.local/bin/hunchd"
_TEMPLATE_SOCKET: Final = "%t/hunchd/hunchd.sock"


def service(arguments: Namespace) -> int:
    manager = arguments.manager or _detect_manager()
    paths = resolve_app_paths()
    files = build_service_files(manager, paths, os.environ)
    if arguments.action == "install":
        if arguments.dry_run:
            for path, content in files.items():
                print(f"# {strip_controls(path)}\n{content.decode()}")
            return 0
        install_service(manager, paths, files)
    elif arguments.action == "uninstall":
        uninstall_service(manager, files)
    return _print_service(manager, files, as_json=arguments.json)


def build_service_files(manager: str, paths: AppPaths, environment: Mapping[str, str]) -> dict[Path, bytes]:
    """Return the service files to write: their content, keyed by path."""
    home = environment.get("HUNCHD_HOME")
    if manager == "launchd":
        return {Path.home() / "Library" / "LaunchAgents" / f"{LABEL}.plist": _render_plist(paths, home)}
    base = Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd" / "user"
    return {base / name: _render_unit(name, paths, home).encode() for name in UNITS}


def install_service(manager: str, paths: AppPaths, files: Mapping[Path, bytes]) -> None:
    """Write the service files, stop any running daemon, and start the service.

    This can safely be repeated, for example after an upgrade.
    """
    if manager == "systemd":
        _run_systemctl("show-environment")  # fails before anything is written if no manager responds
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.new")
        draft.write_bytes(content)
        draft.replace(path)
    if manager == "launchd":
        _run_command(*_launchctl_command("bootout"), check=False)
        _stop_manual_daemon(paths)
        _run_command("launchctl", "bootstrap", f"gui/{os.getuid()}", str(next(iter(files))))
        return
    _run_systemctl("daemon-reload")
    _run_systemctl("stop", *UNITS)
    _stop_manual_daemon(paths)
    _run_systemctl("enable", *UNITS)
    _run_systemctl("start", *UNITS)


def uninstall_service(manager: str, files: Mapping[Path, bytes]) -> None:
    """Stop the service and delete its files. Afterwards, commands start the daemon themselves again."""
    if not any(path.exists() for path in files):
        return
    if manager == "launchd":
        _run_command(*_launchctl_command("bootout"), check=False)
    else:
        _run_systemctl("disable", "--now", *UNITS, check=False)
    for path in files:
        path.unlink(missing_ok=True)
    if manager == "systemd":
        _run_systemctl("daemon-reload", check=False)
        _run_systemctl("reset-failed", *UNITS, check=False)


def find_installed_manager(paths: AppPaths) -> str | None:
    """Return the service manager that runs the daemon for hunchd's current folders.

    Returns None if no service is installed, or only one for other folders.
    """
    home = os.environ.get("HUNCHD_HOME")
    for manager in ("systemd", "launchd"):
        for path in build_service_files(manager, paths, os.environ):
            if path.name.endswith((".service", ".plist")) and path.exists():
                text = path.read_text(errors="replace")
                return manager if (home in text if home else "HUNCHD_HOME" not in text) else None
    return None


def get_service_state(manager: str, files: Mapping[Path, bytes]) -> dict[str, Any]:
    """Return the state of the service, in the form that `--json` prints."""
    current = {path: path.read_bytes() if path.exists() else None for path in files}
    report: dict[str, Any] = {
        "manager": manager,
        "installed": all(content is not None for content in current.values()),
        "up_to_date": current == dict(files),
        "files": [str(path) for path, content in current.items() if content is not None],
    }
    if manager == "systemd" and report["installed"]:
        for unit in UNITS:
            unit_properties = _run_command(
                "systemctl", "--user", "show", unit, "-p", "ActiveState,UnitFileState,NRestarts", check=False
            )
            fields = dict(line.split("=", 1) for line in unit_properties.splitlines() if "=" in line)
            report[unit] = {"active": fields.get("ActiveState", "unknown"), "enabled": fields.get("UnitFileState", "")}
            if "NRestarts" in fields:
                report[unit]["restarts"] = int(fields["NRestarts"])
    return report


def _print_service(manager: str, files: Mapping[Path, bytes], *, as_json: bool) -> int:
    report = get_service_state(manager, files)
    if as_json:
        print_json(report)
        return 0
    if not report["installed"]:
        print(f"{manager}: not installed")
        return 0
    print(f"{manager}: installed{'' if report['up_to_date'] else ', but for another installation of hunchd'}")
    for path in report["files"]:
        print(f"  {strip_controls(path)}")
    for unit in UNITS:
        if unit in report:
            print(f"  {unit}: {', '.join(f'{name} {value}' for name, value in report[unit].items())}")
    if not report["up_to_date"]:
        print_note("run `hunch service install` to bring it up to date.")
    return 0


def _render_unit(name: str, paths: AppPaths, home: str | None) -> str:
    text = _load_template(name).replace(_TEMPLATE_PROGRAM, " ".join(_quote_word(word) for word in DAEMON_COMMAND))
    if home:
        home_setting = _quote_word(f"HUNCHD_HOME={Path(home).expanduser().absolute()}")
        text = text.replace("[Service]\n", f"[Service]\nEnvironment={home_setting}\n")
        text = text.replace(_TEMPLATE_SOCKET, str(paths.socket_file).replace("%", "%%"))
    return text


def _load_template(name: str) -> str:
    """Read the template of a systemd unit file from the package, or from the source tree.

    Raises CommandError if neither contains the template.
    """
    package = Path(hunchd.__file__).parent
    for folder in (package / "systemd", package.parents[1] / "systemd"):
        if (folder / name).is_file():
            return (folder / name).read_text(encoding="utf-8")
    raise CommandError(f"{name} is missing from this installation.", hint="Reinstall hunchd.")


def _quote_word(word: str) -> str:
    """Quote a word so that systemd takes it literally in a unit file."""
    escaped_word = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped_word}"' if any(sign in escaped_word for sign in " \t\\'\";") else escaped_word


def _render_plist(paths: AppPaths, home: str | None) -> bytes:
    """Render the property list of a launchd agent.

    launchd starts the daemon at login and restarts it if it fails.
    """
    return plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": list(DAEMON_COMMAND),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ThrottleInterval": 10,  # seconds between two starts
            "ProcessType": "Background",
            "LowPriorityIO": True,
            "Nice": 5,
            "Umask": 0o077,
            "WorkingDirectory": "/",
            "StandardErrorPath": str(paths.log_file),
            **({"EnvironmentVariables": {"HUNCHD_HOME": str(Path(home).expanduser().absolute())}} if home else {}),
        }
    )


def _detect_manager() -> str:
    if sys.platform == "darwin":
        return "launchd"
    if shutil.which("systemctl"):
        return "systemd"
    raise CommandError(
        "this system has neither systemd nor launchd.",
        hint="No service is needed: any `hunch` command starts the daemon. See docs/service.md.",
    )


def _stop_manual_daemon(paths: AppPaths) -> None:
    """Stop a daemon that was not started by the service, so that the service can replace it."""
    if (pid := find_lock_holder(paths)) is not None:
        stop_process(pid)


def _launchctl_command(action: str) -> tuple[str, ...]:
    return ("launchctl", action, f"gui/{os.getuid()}/{LABEL}")


def _run_systemctl(*words: str, check: bool = True) -> None:
    _run_command("systemctl", "--user", *words, check=check)


def _run_command(*command: str, check: bool = True) -> str:
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CommandError(f"{command[0]} could not be run: {error}") from error
    if check and result.returncode:
        error_output = strip_controls(result.stderr.strip() or result.stdout.strip())
        raise CommandError(
            f"{' '.join(command)} failed: {error_output}", hint="Check that there is a user session to connect to."
        )
    return result.stdout
