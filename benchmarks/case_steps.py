"""Steps of the cases: a daemon, repositories and homes, and the requests and commands that a case consists of."""

from __future__ import annotations

import json
import os
import re
import string
import subprocess
import sys
import time
import unicodedata
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from tests.daemon.running import SOURCES, RunningDaemon

SETTLED = 20.0  # seconds until what was said is looked into
PEOPLE = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in
          (("NAME", "Ada"), ("EMAIL", "ada@example.org"))}  # fmt: skip


@dataclass
class Case:
    """One line of the cases, and what was wrong when it was run."""

    fields: dict[str, Any]
    number: int
    lines: Sequence[Mapping[str, Any]]
    wrong: list[str] = field(default_factory=list)

    def __getitem__(self, name: str) -> str | Any:
        return self.fields[name]

    @property
    def siblings(self) -> list[Mapping[str, Any]]:
        return [one for one in self.lines if one["kind"] == self["kind"]]

    @property
    def token(self) -> str:
        return f"quibble{self.number}x"

    @property
    def quoted(self) -> str:
        """Return the word that `right` quotes."""
        return re.findall("'(.*?)'", self["right"])[-1]

    def expect(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.wrong.append(otherwise)

    def same_instant(self, told: str) -> bool:
        return datetime.fromisoformat(told) == datetime.fromisoformat(self["at"])

    def is_same_text(self, text: str) -> bool:
        return unicodedata.normalize("NFC", text) == unicodedata.normalize("NFC", self["content"])

    @staticmethod
    def normal(form: str, text: str) -> str:
        return unicodedata.normalize(form, text)  # type: ignore[arg-type]


@dataclass
class Bench:
    daemon: RunningDaemon
    folder: Path
    exit_code: int = 0

    def home_of(self, case: Case) -> Path:
        home = self.folder / f"home{case.number}"
        home.mkdir(exist_ok=True)
        return home

    def make_repository(
        self, case: Case, files: Mapping[str, str | bytes] | None = None, *, subjects: Sequence[str] = ("Begin",),
        branch: str = "main", remote: tuple[str, str] | None = None,
    ) -> Path:  # fmt: skip
        root = self.folder / f"depot{case.number}"
        root.mkdir()
        self._git(root, "init", "-q", "-b", branch)
        for name, text in {"start.py": "def start():\n    pass\n", **(files or {})}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(text.encode() if isinstance(text, str) else text)
        for number, subject in enumerate(subjects):
            (root / "start.py").write_text(f"def start():\n    return {number}\n")
            self._git(root, "add", "-A")
            self._git(root, "commit", "-q", "-m", subject)
        if remote is not None:
            self._git(root, "remote", "add", *remote)
        self.daemon.add(root)
        return root

    def _git(self, root: Path, *words: str) -> None:
        environment = os.environ | PEOPLE | {"GIT_CONFIG_GLOBAL": os.devnull}
        subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, env=environment)

    def hunch(
        self, root: Path, *words: str, told: str | bytes = b"", home: Path | None = None, may_fail: bool = False
    ) -> str:
        environment = os.environ | {"HUNCHD_HOME": str(self.daemon.home), "PYTHONPATH": str(SOURCES)}
        environment |= {"HOME": str(home or self.folder / "user"), "NO_COLOR": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "hunchd.cli", *words], cwd=root, env=environment, capture_output=True, timeout=120,
            input=told.encode("utf-8", "surrogatepass") if isinstance(told, str) else told, check=False,
        )  # fmt: skip
        self.exit_code = done.returncode
        answer = done.stdout.decode(errors="replace")
        assert not done.returncode or may_fail or words[0] == "run", (answer + done.stderr.decode(errors="replace"))[
            -800:
        ]
        return answer + (done.stderr.decode(errors="replace") if may_fail else "")

    def wait(self, holds: Callable[[], bool], within: float = SETTLED) -> bool:
        deadline = time.monotonic() + within
        while not (held := holds()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return held

    def record_fix(self, root: Path, file: str, text: str) -> None:
        """Let a command fail with `text`, change its file, let it pass, and wait for the fix."""
        output = self.folder / f"{root.name}.out"
        output.write_text(text)
        words = ("run", "--", "sh", "-c", f'if [ -s "{output}" ]; then cat "{output}"; exit 1; fi')
        self.hunch(root, *words)
        self.wait(lambda: bool(self.memories(root, kind="error")))
        time.sleep(0.5)  # until the tree was looked at
        lines = (root / file).read_text().split("\n")
        lines[6] = "line seven is another one now"
        (root / file).write_text("\n".join(lines))
        output.write_text("")
        self.hunch(root, *words)
        has_fix = self.wait(lambda: any("fix" in one["tags"] for one in self.memories(root, kind="error")))
        assert has_fix, f"no fix was recorded: {self.memories(root, kind='error')}"

    def ask_about_error(self, root: Path, file: str, text: str, *, is_told: bool) -> str:
        if is_told:
            self.signal(root, kind="error", text=text)
        asked = {"current_file": file, "recent_errors": [{"text": text}]}
        answer = self.daemon.post("/context/assemble", {"project": str(root), "signals": asked})
        if is_told:
            self.signal(root, kind="error_cleared", text=text)
        return str(answer["context"])

    def signal(self, root: Path, **fields: Any) -> None:
        answer = self.daemon.post("/signals", {"signals": [{"project": str(root), **fields}]})
        assert not answer["rejected"], answer

    def remember(self, root: Path, *texts: str, **fields: Any) -> list[str]:
        drafts = [{"kind": "fact", "project": str(root), "content": text, **fields} for text in texts]
        return list(self.daemon.post("/memories", {"memories": drafts})["ids"])

    def say(self, case: Case, root: Path, texts: Sequence[str], *, at: str = "", ends: bool = True) -> None:
        session = f"case{case.number}"
        messages = [{"ref": f"m{n}", "role": "user", "content": text} for n, text in enumerate(texts)]
        messages = [one | ({"at": at} if at else {}) for one in messages]
        self.daemon.post(f"/sessions/{session}/messages", {"messages": messages, "project": str(root)})
        if ends:
            self.daemon.post(f"/sessions/{session}/end", {})

    def memories(self, root: Path, *, kind: str) -> list[Any]:
        return list(self.daemon.get("/memories", project=str(root), kind=kind, limit=100)["items"])

    def search(self, root: Path, query: str, **fields: Any) -> list[Any]:
        results = self.daemon.post("/search", {"project": str(root), "query": query, **fields})["results"]
        return [one | {"content": self._content(one)} for one in results]

    def _content(self, result: Mapping[str, Any]) -> str:
        if result["kind"] == "code":
            return ""
        return str(self.daemon.get(f"/memories/{result['id']}")["content"])

    def found(self, root: Path, query: str, **fields: Any) -> str:
        return " ¶ ".join(str(one.get("content", "")) for one in self.search(root, query, **fields))

    def export(self, kind: str) -> list[Any]:
        _, told = self.daemon.request("GET", "/export")
        return [line["data"] for line in map(json.loads, told.splitlines()) if line["type"] == kind]

    def place(self, case: Case, root: Path, name: str, text: str) -> None:
        """Write a transcript where its agent would, packed if its name says so."""
        name = name.replace("~/", "").replace("{project's path with dashes}", str(root).strip("/").replace("/", "-"))
        hashed = sha256(str(root).encode()).hexdigest()
        text = text.replace("{project}", str(root)).replace("{sha256 of the project's path}", hashed)
        file = self.home_of(case) / name
        file.parent.mkdir(parents=True)
        file.write_text(text)
        if file.suffix == ".zst":
            packed = subprocess.run(["zstd", "-q", "-c", str(file)], check=True, capture_output=True).stdout
            file.write_bytes(packed)

    @staticmethod
    def session_of(case: Case, name: str) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{case.number} {name}"))

    def bring_claude(
        self, case: Case, root: Path, said: Sequence[tuple[str, str]], session: str, *, forked_from: str = ""
    ) -> None:
        identifier = self.session_of(case, session)
        lines = []
        for at, text in said:
            one = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{case.number} {at} {text!r}"))
            line = {"type": "user", "uuid": one, "sessionId": identifier, "cwd": str(root), "timestamp": at}
            line |= {"message": {"role": "user", "content": text}}  # type: ignore[dict-item]
            if forked_from and forked_from != session:
                line |= {"forkedFrom": {"sessionId": self.session_of(case, forked_from), "messageUuid": one}}  # type: ignore[dict-item]
            lines.append(json.dumps(line))
        file = self.home_of(case) / f"{identifier}.jsonl"
        file.write_text("\n".join(lines) + "\n")
        self.hunch(root, "import-transcripts", "--from", "claude-code", "--all", str(file))

    def expect_absent(self, case: Case, root: Path, secret: str) -> None:
        asked = {"project": str(root), "file": "start.py"}
        answers = [self.daemon.request("GET", "/export")[1], self.daemon.get("/context", **asked)]
        answers += [self.memories(root, kind=kind) for kind in ("fact", "workflow", "episode")]
        answers += [self.daemon.get("/projects"), self.daemon.get("/status")]
        case.expect(secret not in str(answers), "in an answer")
        time.sleep(0.3)
        files = [file for file in self.daemon.home.rglob("*") if file.is_file()]
        where = [file.name for file in files if _holds(file, secret.encode())]
        case.expect(not where, f"in {where}")


def _holds(file: Path, piece: bytes) -> bool:
    try:
        return piece in file.read_bytes()
    except OSError:
        return False


def make_secret(case: Case) -> str:
    chance = Random(f"{case.number} {case['name']}")
    while True:
        made = "".join(chance.choices(string.ascii_letters + string.digits, k=20))
        if re.search(r"\d.*[a-z].*[A-Z]", made):
            return made


def make_personal(case: Case) -> str:
    match case["name"].partition(",")[0]:
        case "card":
            return _with_luhn("4539578763621" + f"{case.number:02}"[:2])
        case "iban":
            account = "37040044" + f"{532013000 + case.number:010}"
            return f"DE{98 - int(account + '131400') % 97:02}{account}"
        case "phone":
            return f"+49 151 2345{67 + case.number % 30:02}89"
        case "private mail":
            return f"olga.brandt{70 + case.number % 20}@gmail.com"
        case "spanish dni":
            return f"{51_234_567 + case.number:08}" + "TRWAGMYFPDXBNJZSQVHLCKE"[(51_234_567 + case.number) % 23]
        case "polish pesel":
            digits = f"840712{1000 + case.number:04}"
            return f"{digits}{-_weigh(digits, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)) % 10}"
        case "brazilian cpf":
            digits = f"{529_982_000 + case.number:09}"
            digits += str(_weigh(digits, range(10, 1, -1)) * 10 % 11 % 10)
            digits += str(_weigh(digits, range(11, 1, -1)) * 10 % 11 % 10)
            return f"{digits[:3]}.{digits[3:6]}.{digits[6:9]}-{digits[9:]}"
        case "american ssn":
            return f"{412 + case.number % 200}-{11 + case.number % 80}-{4000 + case.number}"
        case "home address":
            return f"{118 + case.number} Willow Lane, Dayton, OH 45402"
        case name:
            assert name.startswith("stays") or "{P}" not in str(case["messages"]), f"nothing makes {name!r}"
            return ""


def _weigh(digits: str, weights: Iterable[int]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=True))


def _with_luhn(digits: str) -> str:
    values = [int(one) * (2 - n % 2) for n, one in enumerate(digits)]
    return digits + str(-sum(v - 9 * (v > 9) for v in values) % 10)
