"""Three hundred secrets in every source of text for the daemon, each beside a word that may be found."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.repositories import commit, git
from tests.security.secret_formats import FORMATS, private_key

EACH = 12  # secrets in each of the places


@dataclass(slots=True)
class Planted:
    """Planted data: `secrets` by place; `words` are the harmless ones beside them."""

    random: Random
    secrets: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    words: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def at(self, place: str, *, identifier: bool = False) -> Iterator[tuple[str, str, str]]:
        """EACH times a word, the name of a setting, and its secret, all different."""
        rows = [row for row in _distinctive() if not identifier or row[2](Random(1)).isidentifier()]
        for number in range(EACH):
            _, name, make = rows[(len(self.secrets) * 5 + number) % len(rows)]
            secret, word = make(self.random), f"zebra{place.replace(' ', '')}{number:02d}"
            self.secrets[place].append(secret)
            self.words[place].append(word)
            yield word, name, secret


def _distinctive() -> list[tuple[str, str, object]]:
    from hunchd.ingestion.redaction import redact

    return [row for row in FORMATS if "\n" not in (made := row[2](Random(1))) and made not in redact(f"x {made}").text]


def pieces_of(secret: str) -> set[str]:
    """Return the distinctive parts of a secret, none of which may be found anywhere."""
    if "-----BEGIN" in secret:
        return {line for line in secret.split("\n")[1:-1] if len(line) > 20}
    if "://" in secret and "@" in secret:
        return {secret.split(":")[2].split("@")[0]}
    start = max(8, len(secret) // 3)
    return {secret[at : at + 12] for at in range(start, max(len(secret) - 11, start + 1), 6)}


def in_history(planted: Planted, repository: Path) -> None:
    """Plant secrets in messages, people, branches and tags."""
    for number, ((word, name, secret), (other, _, hidden)) in enumerate(
        zip(planted.at("subjects"), planted.at("bodies"), strict=True)
    ):
        message = f"Set {word} to {secret}\n\nBecause {other} was asked for.\n{name}={hidden}\n"
        commit(repository, message, {f"src/step{number}.py": f"def step{number}() -> None:\n    pass\n"})
    for word, _, secret in planted.at("people"):
        git(repository, "commit", "-q", "--allow-empty", "-m", "Say hello", f"--author={word} {secret} <a@b.example>")
    for word, _, secret in planted.at("tags", identifier=True):
        git(repository, "tag", f"{word}-{secret}")
    for word, _, secret in planted.at("merged branches", identifier=True):
        git(repository, "commit", "-q", "--allow-empty", "-m", f"Merge branch '{word}-{secret}'")


def in_files(planted: Planted, repository: Path) -> None:
    """Plant secrets in code, its names, its comments, manifests, decisions, and secret files."""
    files: dict[str, str] = {}
    for word, name, secret in planted.at("defaults"):
        files[f"src/{word}.py"] = f'def {word}({name.lower()}: str = "{secret}") -> None:\n    pass\n'
    for word, _, secret in planted.at("names", identifier=True):
        files[f"src/{word}.py"] = f"def {word}() -> None:\n    pass\n\n\ndef {secret}() -> None:\n    pass\n"
    for word, name, secret in planted.at("comments"):
        files[f"src/{word}.py"] = (
            f'"""{word} uses {secret} for {name}."""\n\n\ndef f_{word}() -> None:\n    """{secret}"""\n'
        )
    for word, name, secret in planted.at("scripts"):
        files[f"bin/{word}.sh"] = f"# {word}: {secret}\nexport {name}='{secret}'\nf_{word}() {{ :; }}\n"
    for word, name, secret in planted.at("decisions"):
        files[f"docs/adr/{word}.md"] = (
            f"# Use {word} with {secret}\n\nStatus: accepted\n\n## Decision\n\n"
            f"We decided that {word} signs in as {name} with {secret} from now on.\n"
        )
    rows = list(planted.at("manifests"))
    files["package.json"] = json.dumps(
        {"name": "shop", "scripts": {word: f"{name}={secret} run {word}" for word, name, secret in rows}}
    )
    rows = list(planted.at("instructions"))
    files["CONTRIBUTING.md"] = "# Contributing\n\n" + "".join(
        f"- Always run {word} with {secret} before a commit.\n" for word, _, secret in rows
    )
    rows = list(planted.at("secret files"))
    files[".env"] = "".join(f"{name}={secret}\n# {word}\n" for word, name, secret in rows)
    for number in range(4):
        key = private_key("RSA PRI" + "VATE KEY")(planted.random)
        planted.secrets["secret files"].append(key)
        files[("deploy.pem", "id_rsa", ".aws/credentials", "client_secret.json")[number]] = f"{key}\n"
    for word, _, secret in planted.at("paths", identifier=True):
        files[f"data/{word}-{secret}.py"] = f"def f_{word}() -> None:\n    pass\n"
    commit(repository, "Bring the files", files)
    config = "".join(
        f'[remote "{word}"]\n\turl = https://ada:{secret}@git.example/{word}.git\n'
        for word, _, secret in planted.at("remotes")
    )
    with (repository / ".git/config").open("a") as file:
        file.write(config)


def signals(planted: Planted, repository: Path) -> Iterator[dict[str, object]]:
    """Return signals of a shell and an editor."""
    for word, name, secret in planted.at("errors"):
        yield {
            "kind": "error",
            "project": str(repository),
            "text": f'Traceback:\n  File "{repository}/src/part1.py", line 1, in f\n{word}Error: {name}={secret} no',
            "command": f"deploy {word} --{name.lower().replace('_', '-')} {secret}",
        }
    for word, name, secret in planted.at("commands"):
        command = f"{name}={secret} run {word}"
        yield {"kind": "command_finished", "project": str(repository), "command": command, "exit_code": 1}
    for word, _, secret in planted.at("opened files", identifier=True):
        yield {"kind": "file_opened", "project": str(repository), "path": f"src/{word}-{secret}.py", "event_id": secret}
    for word, _, secret in planted.at("checkouts", identifier=True):
        yield {"kind": "branch_checkout", "project": str(repository), "branch": f"{word}-{secret}"}


def memories(planted: Planted, repository: Path) -> Iterator[dict[str, object]]:
    """Return memories with a secret in every text field."""
    fields = ("content", "title", "key", "value", "tags", "ref", "category", "branch", "links", "artifacts", "source")
    for number, (word, name, secret) in enumerate([*planted.at("memories"), *planted.at("more memories")]):
        told = f"{word} {name}={secret}" if number % 2 else f"{word} {secret}"
        shaped = {
            "tags": [told],
            "links": [{"type": "about", "ref": told}],
            "artifacts": [{"type": "url", "ref": told}],
            "source": {"type": "client", "said": told},
        }
        field_ = fields[number % len(fields)]
        plain: dict[str, object] = {"kind": "fact", "project": str(repository), "content": f"about {word}"}
        yield plain | {field_: shaped.get(field_, told)}
