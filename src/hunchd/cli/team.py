"""`hunch team`: shares a project's memories through an object store or a shared folder."""

from __future__ import annotations

import time
import tomllib
from argparse import Namespace
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from hunchd.cli.client import Client, quote_segment
from hunchd.cli.context import request_in_project
from hunchd.cli.daemon_control import connect
from hunchd.cli.errors import RequestRejected, WrongUsage
from hunchd.cli.output import (
    BOLD,
    DIM,
    colourize,
    format_age,
    format_duration,
    format_line,
    format_table,
    print_json,
    print_note,
    require_confirmation,
    strip_controls,
)
from hunchd.cli.sharing import get_git_user
from hunchd.cli.targets import find_project_root, get_items, resolve_folder
from hunchd.domain.errors import InvalidInput
from hunchd.domain.json_values import JsonObject
from hunchd.domain.sharing import SHARED_FOLDER
from hunchd.domain.team_address import split_address
from hunchd.repository.safe_reading import read_file

ADDRESS_FILE: Final = f"{SHARED_FOLDER}/team.toml"
_MAX_ADDRESS_FILE_BYTES: Final = 4_096
_FIRST_EXCHANGE_SECONDS: Final = 5.0  # until a join returns in any case


def team(arguments: Namespace) -> int:
    """Run the action named after `hunch team`."""
    root = Path(find_project_root(resolve_folder(arguments.project) if arguments.project else str(Path.cwd())))
    if arguments.target and arguments.action in _ACTIONS_WITHOUT_TARGET:
        raise WrongUsage(f"`hunch team {arguments.action}` takes no further argument.")
    if arguments.target and arguments.action in ("create", "join"):
        _check_address(arguments.target)  # before anything is printed or asked
    client = connect(start=not arguments.no_start)
    return _ACTIONS[arguments.action](client, root, arguments)


def _create(client: Client, root: Path, arguments: Namespace) -> int:
    if not arguments.target:
        raise WrongUsage("the team's address is missing.", hint="For example: `hunch team create s3://bucket/folder`")
    return _enter(client, root, arguments, arguments.target, is_new=True)


def _join(client: Client, root: Path, arguments: Namespace) -> int:
    return _enter(client, root, arguments, arguments.target or _read_address(root), is_new=False)


def _enter(client: Client, root: Path, arguments: Namespace, address: str, *, is_new: bool) -> int:
    """Join or create a team after showing its address and asking."""
    name = arguments.name or get_git_user(root)
    if not name:
        raise WrongUsage("your name is missing.", hint="Use --name NAME, or set git config user.name.")
    preview = _request(client, root, "/team/preview")
    if preview["joined"]:
        raise WrongUsage("this project already has a team.", hint="To leave it, run `hunch team leave`.")
    count = len(preview["items"])
    memories = "1 memory" if count == 1 else f"{count} memories"
    print_note(f"{memories} of {root} would be sent to {strip_controls(address)} as {name}.")
    print_note("Run `hunch team preview` to list them. Anyone with access to that address can read them.")
    require_confirmation(
        "Share this project's memory there?", is_confirmed=arguments.yes, otherwise="nothing was sent."
    )
    body = {"project": str(root), "uri": address, "name": name, "create": is_new}
    joined = request_in_project(client, str(root), lambda: client.post("/team", body))
    if arguments.json:
        print_json(joined)
        return 0
    print(f"{colourize('created' if is_new else 'joined', BOLD)}: {strip_controls(joined['uri'])}")
    if is_new:
        print_note(f"to join, colleagues run `hunch team join '{strip_controls(joined['address'])}'`.")
        print_note(
            "for them to run `hunch team join` without an address, add this line to "
            f'{ADDRESS_FILE} in the repository: address = "{strip_controls(joined["address"])}"'
        )
    _wait_for_first_exchange(client, root)
    if (warning := describe_read_only(client, str(root))) is not None:
        print_note(warning)
    return 0


def _wait_for_first_exchange(client: Client, root: Path) -> None:
    deadline = time.monotonic() + _FIRST_EXCHANGE_SECONDS
    while _request(client, root, "/team")["progress"]["state"] == "starting" and time.monotonic() < deadline:
        time.sleep(0.2)


def describe_read_only(client: Client, root: str) -> str | None:
    """Return a warning if the user's statements cannot be sent to the team of the project at `root`."""
    with suppress(RequestRejected):
        status = client.get("/team", project=root)
        if status["joined"] and status["progress"]["state"] == "read-only":
            return f"{status['progress']['failure']}: what you state stays on this machine until they can."
    return None


def _read_address(root: Path) -> str:
    """Return the team's address from the repository, or raise WrongUsage."""
    content = read_file(root, ADDRESS_FILE, limit=_MAX_ADDRESS_FILE_BYTES)
    if content is None:
        raise WrongUsage(
            "the team's address is missing.", hint=f"Run `hunch team join URI`: the repository has no {ADDRESS_FILE}."
        )
    try:
        address = tomllib.loads(content.decode("utf-8"))["address"]
    except (ValueError, KeyError):
        raise WrongUsage(f'{ADDRESS_FILE} has no valid line `address = "…"`.') from None
    return _check_address(str(address))


def _check_address(address: str) -> str:
    """Return a valid address; raise WrongUsage without quoting credentials."""
    try:
        split_address(address)
    except InvalidInput as error:
        raise WrongUsage(f"{error.message}.", hint=error.hint) from None
    return address


def _show_status(client: Client, root: Path, arguments: Namespace) -> int:
    status = _request(client, root, "/team")
    if arguments.json:
        print_json(status)
        return 0
    if not status["joined"]:
        print_note("this project has no team yet. Run `hunch team create URI` or `hunch team join URI`.")
        return 0
    progress = status["progress"]
    members = "1 member" if status["members"] == 1 else f"{status['members']} members"
    print(f"{colourize(strip_controls(status['uri']), BOLD)}  {members}, you are {strip_controls(status['name'])}")
    is_read_only = progress["state"] == "read-only"
    is_behind = is_read_only or (progress["state"] == "in step" and status["unsent"] + status["unapplied"] > 0)
    since = (
        f"{'last exchange' if is_behind else 'in step'} {format_age(progress['in_step_at'])}"
        if progress.get("in_step_at")
        else ""
    )
    state = ", ".join(filter(None, (progress["state"] if progress["state"] != "in step" else "", since)))
    waiting = f"{status['unsent']} {'wait on this machine' if is_read_only else 'to send'}"
    print(f"{state}; {waiting}, {status['unapplied']} received and not shown yet")
    if is_read_only:
        print_note(f"{strip_controls(progress['failure'])}; unsent records are sent once you have write access.")
    elif progress["failure"]:
        print_note(f"{strip_controls(progress['failure'])}; {_describe_next_attempt(progress)}")
    if progress["forged"]:
        print_note(
            f"{progress['forged']} records with an invalid signature were ignored; "
            "run `hunch team members` to list the members."
        )
    return 0


def _list_members(client: Client, root: Path, arguments: Namespace) -> int:
    answer = _request(client, root, "/team/members")
    if arguments.json:
        print_json(answer)
        return 0
    rows = [
        (
            strip_controls(one["name"]) + (" (you)" if one["own"] else ""),
            one["id"][:8],
            one["role"] if one["state"] == "active" else f"{one['role']}, {one['state']}",
            str(one["statements"]),
            format_age(one["last_at"]) if one["last_at"] else "",
        )
        for one in get_items(answer)
    ]
    print(format_table(("name", "key", "role", "statements", "latest"), rows, right=(3,)))
    return 0


def _preview(client: Client, root: Path, arguments: Namespace) -> int:
    answer = _request(client, root, "/team/preview")
    if arguments.json:
        print_json(answer)
        return 0
    for one in answer["items"]:
        content = one["content"]
        statement = content.get("chosen") or content
        kind = statement.get("category") or statement.get("kind") or ""
        heading = statement.get("title") or _describe_record(one["action"], content)
        print(f"{colourize(one['action'], BOLD)} {kind}{': ' if kind else ''}{format_line(heading, 100)}")
        text = strip_controls("\n".join(filter(None, (statement.get("content"), content.get("note")))))
        if text and text != heading:
            print(colourize("\n".join(f"    {line}" for line in text.splitlines()), DIM))
    if not answer["items"]:
        print_note("nothing would be sent." if answer["joined"] else "nothing in this project would be sent to a team.")
    return 0


def _describe_record(action: str, content: JsonObject) -> str:
    """Describe a record that contains no statement."""
    match action:
        case "found" | "join" | "leave":
            return str(content.get("name") or content.get("title") or "")
        case "vote":
            return ", ".join(name for name in ("useful", "wrong") if content.get(name)) or "none any more"
        case "resolve" if content.get("over"):
            return f"{len(content['over'])} of the members' statements no longer holds"
        case "retract" | "erase":
            return "one of your earlier statements"
        case _:
            return "one of your decisions between members" if action == "unresolve" else ""


def _change_member(client: Client, root: Path, arguments: Namespace) -> int:
    if not arguments.target:
        raise WrongUsage("the name of a member is missing.", hint=f"Run `hunch team {arguments.action} NAME`.")
    member = _find_member(client, root, arguments.target)
    body = {"project": str(root), "member": member["id"], "action": arguments.action}
    if arguments.action == "exclude":
        question = f"Make everything that {strip_controls(member['name'])} stated invalid for all members?"
        require_confirmation(question, is_confirmed=arguments.yes, otherwise="nobody was excluded.")
    changed = client.post("/team/members", body)
    if arguments.json:
        print_json(changed)
    else:
        print(f"{strip_controls(changed['name'])}: {changed['action']}; the change is being sent to all members.")
    return 0


def _find_member(client: Client, root: Path, target: str) -> Any:
    members = get_items(_request(client, root, "/team/members"))
    matches = [one for one in members if one["name"] == target or one["id"].startswith(target)]
    if len(matches) == 1:
        return matches[0]
    raise WrongUsage(
        f"{'no member' if not matches else 'more than one member'} is named {strip_controls(target)!r}.",
        hint="Run `hunch team members` to list the names and keys; quote a name that contains spaces.",
    )


def _leave(client: Client, root: Path, arguments: Namespace) -> int:
    question = "Leave the team? Its statements are removed here. Yours stay in the team unless you forget them first."
    require_confirmation(question, is_confirmed=arguments.yes, otherwise="you are still a member.")
    left = client.delete(f"/team?project={quote_segment(str(root))}")
    if arguments.json:
        print_json(left)
        return 0
    print("left.")
    if left["unsent"]:
        print_note(f"{left['unsent']} records could not be sent before leaving.")
    return 0


def _request(client: Client, root: Path, path: str) -> Any:
    return request_in_project(client, str(root), lambda: client.get(path, project=str(root)))


def _describe_next_attempt(progress: JsonObject) -> str:
    seconds = (datetime.fromisoformat(progress["next_attempt_at"]) - datetime.now(UTC)).total_seconds()
    return f"the next attempt is in {format_duration(seconds)}" if seconds >= 1 else "trying again now"


_ACTIONS_WITHOUT_TARGET: Final = ("status", "members", "preview", "leave")
_ACTIONS: Final = {
    "create": _create,
    "join": _join,
    "status": _show_status,
    "members": _list_members,
    "preview": _preview,
    "exclude": _change_member,
    "readmit": _change_member,
    "appoint": _change_member,
    "leave": _leave,
}
