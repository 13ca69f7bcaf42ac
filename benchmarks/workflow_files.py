"""Check of workflow parsing on the CI and script files of real repositories.

    python benchmarks/workflow_files.py TREE...
    python benchmarks/workflow_files.py TREE --sample 20     # print some workflows, to be read beside their files

`verbatim`: steps with a command that is in the file, white space aside (a target that another one needs counts if the
file says so). `scripts`: of the targets, scripts, jobs, environments and hooks that a simple scan of the files finds,
those that are workflows. `lines`: of the lines of shell in `run:` blocks of GitHub's workflows (comments and shell
bookkeeping aside), those that are in a step.
"""

from __future__ import annotations

import argparse
import configparser
import json
import random
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from hunchd.domain.workflow import Workflow
from hunchd.ingestion.workflows.script_files import is_script
from hunchd.ingestion.workflows.scripts import read_workflows
from hunchd.ingestion.workflows.workflow_memories import make_hint

BOOKKEEPING = re.compile(
    r"(?:#|set |if |then|else|elif|fi$|fi;|for |do$|done|while |case |esac|;;|\}|\{|\)|echo |printf |exit|export |read "
    r"|local |\w+=|[\w$|*\"-]+\)|&&|\|)|.*\)$|.*<<|EOF"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", nargs="+", type=Path)
    parser.add_argument("--sample", type=int, default=0, help="print so many workflows")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for root in options.tree:
        listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True, check=True)
        files = listed.stdout.splitlines()
        began = time.perf_counter()
        found = read_workflows(root, files)
        seconds = time.perf_counter() - began
        steps = [step for one in found for step in one.steps]
        right = sum(_contains_command(one, step.command, root) for one in found for step in one.steps)
        wanted = [(path, name) for path in files if is_script(path) for name in _find_scripts(root, path)]
        found_names = {(one.path, _bare_name(one)) for one in found} | {(one.path, one.name) for one in found}
        missed = [each for each in wanted if each not in found_names]
        lines = [(path, line) for path in files if is_script(path) for line in _find_lines(root, path)]
        covered = {path: " ".join(_normalize(step.command) for one in found if one.path == path for step in one.steps)
                   for path, _ in lines}  # fmt: skip
        inside = sum(_normalize(line) in covered[path] for path, line in lines)
        print(
            f"{root.name}: {len(found)} workflows, {len(steps)} steps, verbatim {right}/{len(steps)}, "
            f"scripts {len(wanted) - len(missed)}/{len(wanted)}, lines {inside}/{len(lines)}, {seconds:.2f} s"
        )
        for each in missed[:5]:
            print("    missed:", *each)
        chance = random.Random(options.seed)
        for one in chance.sample(found, min(options.sample, len(found))):
            print(f"    {one.path}:{one.line} [{one.purpose}] {make_hint(one)}")
            for step in one.steps:
                print("       ", step.command.replace("\n", "\n          ") or f"({step.name})")


def _contains_command(one: Workflow, command: str, root: Path) -> bool:
    text = _normalize((root / one.path).read_text(errors="replace"))
    plain = _normalize(command.removesuffix("…"))
    if plain in text or plain in text.replace('\\"', '"').replace("\\\\", "\\"):
        return True
    words = command.split()
    if one.origin == "hook" or "nox" in one.name or "tox" in one.name:  # lists of words in the file
        return all(word.strip("\"'{}") in text for word in words)
    return words[0] in ("make", "just", "task", "pip", "cargo") and words[-1] in text


def _normalize(text: str) -> str:
    return " ".join(text.replace("\\\n", " ").split())


def _bare_name(one: Workflow) -> str:
    """Return the bare name of a script: `make -C docs html` is `html`."""
    name = re.sub(r" \(in .*\)$", "", one.name)
    return name.rpartition(" / ")[2] if " / " in name else name.split()[-1]


def _find_scripts(root: Path, path: str) -> Iterator[str]:
    """Yield the scripts that a simple scan finds in a file."""
    text = (root / path).read_text(errors="replace")
    name = path.rpartition("/")[2]
    if name == "package.json":
        scripts = json.loads(text).get("scripts", {})
        hooked = (f"{mark}{one}" for one in scripts for mark in ("pre", "post"))
        yield from set(scripts) - set(hooked)
    elif name.lower() == "makefile":
        for target in dict.fromkeys(re.findall(r"^([A-Za-z][\w-]*)[ \t]*::?(?!=)", text, re.MULTILINE)):
            rule = re.search(rf"^{re.escape(target)}[ \t]*::?(?!=)[ \t]*([^\n]*)\n(\t?)", text, re.MULTILINE)
            if rule and (rule[2] or rule[1].strip()):
                yield target
    elif path.startswith(".github/workflows/"):
        jobs = _parse_jobs(text)
        for job, job_body in jobs.items():
            if any("run" in step for step in job_body.get("steps", ())):
                yield job if len(jobs) > 1 else name
    elif name == "tox.ini":
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        parser.read_string(text)
        for section in parser.sections():
            if section.startswith("testenv") and parser.get(section, "commands", fallback="").strip():
                yield section.partition(":")[2] or "tox"
    elif name == ".pre-commit-config.yaml":
        yield "pre-commit hooks"


def _parse_jobs(text: str) -> dict[str, Any]:
    try:
        return dict(yaml.safe_load(text).get("jobs", {}))
    except yaml.YAMLError:  # one of the repositories has such a file
        return {}


def _find_lines(root: Path, path: str) -> Iterator[str]:
    if not path.startswith(".github/workflows/"):
        return
    for job in _parse_jobs((root / path).read_text(errors="replace")).values():
        for step in job.get("steps", ()):
            if step.get("shell") in (None, "bash", "sh") and "run" in step:
                for line in str(step["run"]).replace("\\\n", " ").splitlines():
                    if line.strip() and not BOOKKEEPING.match(line.strip()):
                        yield line


if __name__ == "__main__":
    main()
