"""Which secrets are found where only their place tells them, and how many lines of ordinary code are changed?

    python -m benchmarks.secret_forms [--rounds 20] [--code REPO …] [--lines 8000]

Fills the tables of forms (tests/security/secret_places.py) with secrets made now, and redacts each. `--code` names git
repositories, bare or not, of which that many lines each are redacted; every changed one is shown.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import PurePosixPath
from random import Random

from hunchd.ingestion.personal_data import find_identity_numbers, holds_contact_data, holds_personal_data
from hunchd.ingestion.redaction import redact
from hunchd.repository.git import Git
from tests.security.personal_forms import FIRST, SECOND
from tests.security.secret_places import FORMS, fill

LARGEST = 400_000  # bytes of a file
TEXT = frozenset(
    f".{name}"
    for name in [
        "py",
        "js",
        "ts",
        "tsx",
        "jsx",
        "go",
        "rs",
        "java",
        "kt",
        "rb",
        "php",
        "c",
        "cpp",
        "h",
        "hpp",
        "cs",
        "sh",
        "md",
        "yml",
        "yaml",
        "toml",
        "json",
        "ex",
        "exs",
        "scala",
        "swift",
        "css",
        "html",
        "zig",
        "hs",
        "ml",
        "sol",
        "nim",
        "txt",
        "rst",
        "adoc",
    ]
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20, help="secrets of each form (20)")
    parser.add_argument("--code", nargs="*", default=(), help="git repositories")
    parser.add_argument("--lines", type=int, default=8_000, help="of each repository (8000)")
    asked = parser.parse_args()
    for group, forms in FORMS.items():
        measure_group(group, forms, asked.rounds)
    for name, forms_by_kind in (("first", FIRST), ("second", SECOND)):
        texts = [text for texts in forms_by_kind.values() for text in texts]
        found = sum(bool(find_identity_numbers(text)) or holds_personal_data(text) for text in texts)
        no_facts = sum(holds_contact_data(text) or bool(find_identity_numbers(text)) for text in texts)
        print(f"personal data, {name} set: {found} of {len(texts)} recognised, {no_facts} kept out of facts")
    seen = changed = 0
    for repository in asked.code:
        for path, line in code_lines(repository, asked.lines):
            seen += 1
            redacted = redact(line)
            if redacted.kinds:
                changed += 1
                print(f"  {path}: {redacted.text.strip()[:140]}")
    if seen:
        print(f"lines of code: {seen}, changed: {changed}")
    return 0


def measure_group(group: str, forms: tuple[str, ...], rounds: int) -> None:
    """Print how many secrets of a group of forms are found, and the forms of which one is not."""
    missed: dict[str, int] = {}
    for form in forms:
        for number in range(rounds):
            text, secrets = fill(form, Random(f"measured {number} {form}"))
            redacted = redact(text).text
            missed[form] = missed.get(form, 0) + any(secret in redacted for secret in secrets)
    times = len(forms) * rounds
    print(f"{group}: {len(forms)} forms, {1 - sum(missed.values()) / times:.4f} of {times} found")
    for form, often in missed.items():
        if often:
            print(f"  {often} of {rounds} missed: {form}")


def code_lines(repository: str, most: int) -> Iterator[tuple[str, str]]:
    """Yield lines of files of the newest commit, files in an order that is drawn once for good."""
    git = Git(repository)
    tree = {path: blob for path, blob in git.list_tree().items() if PurePosixPath(path).suffix in TEXT}
    paths = sorted(tree)
    Random(repository).shuffle(paths)
    left = most
    for path in paths:
        for _, content in git.read_blobs([tree[path]], max_bytes=LARGEST):
            text = content.decode("utf-8", "replace")
            lines = [line for line in text.splitlines() if line.strip()][:left]
            left -= len(lines)
            yield from ((path, line) for line in lines)
        if left <= 0:
            return


if __name__ == "__main__":
    raise SystemExit(main())
