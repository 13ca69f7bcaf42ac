"""Small real git repositories with a history, for tests."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

# A shop in which basket, checkout and a test change together, and one unrelated file.
SHOP: Sequence[tuple[str, Mapping[str, str]]] = (
    (
        "Start the shop",
        {
            "shop/basket.py": "class Basket:\n    def add(self, item: str) -> None:\n        self.items = [item]\n",
            "shop/checkout.py": "from shop.basket import Basket\n\n\ndef pay(basket: Basket) -> int:\n    return 1\n",
            "tests/test_basket.py": "from shop.basket import Basket\n\n\ndef test_add():\n    Basket().add('a')\n",
            "docs/colours.md": "# Colours\n\nGreen.\n",
            "pyproject.toml": '[project]\nname = "shop"\nrequires-python = ">=3.11"\n[tool.ruff]\nline-length = 90\n',
        },
    ),
    *(
        (
            f"Basket: rule {number} for discounts",
            {
                "shop/basket.py": "class Basket:\n    def add(self, item: str) -> None:\n"
                + f"        self.items = [item] * {number}\n",
                "shop/checkout.py": "from shop.basket import Basket\n\n\ndef pay(basket: Basket) -> int:\n"
                + f"    return {number}\n",
                "tests/test_basket.py": "from shop.basket import Basket\n\n\ndef test_add():\n"
                + f"    Basket().add('{number}')\n",
            },
        )
        for number in range(2, 9)
    ),
    ("Colours: blue at last", {"docs/colours.md": "# Colours\n\nBlue.\n"}),
)


def git(folder: Path, *arguments: str) -> str:
    """Run git and return its output.

    Identity and isolation come from the environment of the test.
    """
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path, message: str, files: Mapping[str, str]) -> str:
    """Write `files`, commit them, and return the new commit's id."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def make_shop(folder: Path) -> Path:
    """Create the shop repository at `folder`, on the branch main.

    It is copied from one repository that is built once for each process.
    """
    return Path(shutil.copytree(_original(), folder))


@cache
def _original() -> Path:
    """Build the shop repository once, because git is slow."""
    around = tempfile.mkdtemp(prefix="hd-shop-")
    atexit.register(shutil.rmtree, around, ignore_errors=True)
    folder = Path(around) / "shop"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for message, files in SHOP:
        commit(folder, message, files)
    return folder
