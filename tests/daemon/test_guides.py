"""Rules for coding agents: read from hidden folders, shown where they apply, removed with their file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.daemon.running import RunningDaemon
from tests.repositories import commit, make_shop

pytestmark = pytest.mark.daemon("shared")

RULE = "---\ndescription: {}\nglobs: {}\nalwaysApply: {}\n---\n- {}\n"
PRICES, CENTS = "Never round prices twice in a row.", "Prefer whole cents to fractions of one."
SQL, FORMS = "Never write SQL by hand in here.", "Only validate again where the data arrives."
EVERYWHERE, STYLE = "Always answer in whole sentences.", "Avoid names of one letter."


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    made = make_shop(tmp_path / "shop")
    rules = {
        ".cursor/rules/prices.mdc": RULE.format("Prices", "shop/**/*.py", "false", PRICES),
        ".cursor/rules/forms.mdc": RULE.format("Building checkout forms", "", "false", FORMS),
        ".github/copilot-instructions.md": f"- {EVERYWHERE}\n",
        ".cursorrules": f"* {EVERYWHERE.lower()}\n",
        "CLAUDE.md": f"{EVERYWHERE}\n\n@docs/style.md\n",
        "docs/style.md": f"- {STYLE}\n",
    }  # fmt: skip
    commit(made, "Write the rules down", rules)
    return made


def told(daemon: RunningDaemon, shop: Path, file: str, **asked: Any) -> str:
    return str(daemon.get("/context", project=str(shop), file=file, **asked)["context"])


def said_by(daemon: RunningDaemon, shop: Path, sentence: str) -> list[str]:
    facts = daemon.get("/memories", project=str(shop), kind="fact", status="active", limit=100)["items"]
    return [one["source"]["path"] for one in facts if one["content"].lower() == sentence.lower()]


def test_agent_rules_follow_scope_and_file_lifetime(daemon: RunningDaemon, shop: Path) -> None:
    daemon.add(shop)

    def until(file: str, *, says: str = "", says_no_more: str = "") -> None:
        def holds() -> bool:
            context = told(daemon, shop, file)
            return says in context and (not says_no_more or says_no_more not in context)

        daemon.wait_until(holds, within=30, what=f"{says or says_no_more} at {file}")

    def write(path: str, text: str) -> None:
        (shop / path).parent.mkdir(parents=True, exist_ok=True)
        (shop / path).write_text(text)

    until("shop/basket.py", says=PRICES)
    assert PRICES not in told(daemon, shop, "README.md")
    for file in ("shop/basket.py", "README.md"):
        context = told(daemon, shop, file)
        # The agent reads them in its own rules; beside a file stands what is for this file.
        assert EVERYWHERE not in context
        assert STYLE not in context
        assert FORMS not in context
    assert FORMS in told(daemon, shop, "README.md", query="how are checkout forms built?")
    found = daemon.post("/search", {"project": str(shop), "query": "building forms", "kinds": ["fact"]})
    assert [one["source"]["path"] for one in found["results"]][:1] == [".cursor/rules/forms.mdc"]

    write(".windsurf/rules/cents.md", f"---\ntrigger: glob\nglobs: shop/basket.py\n---\n{CENTS}\n")
    until("shop/basket.py", says=CENTS)
    assert CENTS not in told(daemon, shop, "shop/checkout.py")

    write(".windsurf/rules/cents.md", f"---\ntrigger: glob\nglobs: shop/checkout.py\n---\n{CENTS}\n")
    until("shop/checkout.py", says=CENTS)
    until("shop/basket.py", says_no_more=CENTS)

    write("docs/style.md", f"- {SQL}\n")
    daemon.wait_until(
        lambda: said_by(daemon, shop, SQL) == ["docs/style.md"] and not said_by(daemon, shop, STYLE),
        within=30,
        what="the rules of the page as it is now",
    )

    (shop / ".cursor/rules/prices.mdc").unlink()
    until("shop/basket.py", says_no_more=PRICES)
    assert said_by(daemon, shop, EVERYWHERE) == [".cursorrules"]
    for path in (".cursorrules", ".github/copilot-instructions.md"):
        (shop / path).unlink()
    daemon.wait_until(
        lambda: said_by(daemon, shop, EVERYWHERE) == ["CLAUDE.md"], within=30, what="the one that still says it"
    )
