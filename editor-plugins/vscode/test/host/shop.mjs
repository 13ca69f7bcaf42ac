/** Small repository with a history for predictions. */

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const AUTHOR = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"];

/** Create it in `folder`, and return its path. */
export function makeShop(folder) {
  mkdirSync(folder, { recursive: true });
  const git = (...args) => execFileSync("git", [...AUTHOR, ...args], { cwd: folder, stdio: "ignore" });
  const write = (path, text) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  git("init", "-q", "-b", "main");
  write("pyproject.toml", '[project]\nname = "shop"\nrequires-python = ">=3.11"\n[tool.ruff]\nline-length = 90\n');
  write("docs/colours.md", "# Colours\n\nBlue.\n");
  let rules = "";
  for (let rule = 1; rule <= 8; rule++) {
    rules += `\n\ndef rule_${rule}(basket: Basket) -> int:\n    return basket.total() - ${rule}`;
    write("shop/basket.py", `class Basket:\n    def total(self) -> int:\n        return 100${rules}\n`);
    write(
      "shop/checkout.py",
      `from shop.basket import Basket\n\n\ndef pay(basket: Basket) -> int:\n    return basket.total() - ${rule}\n`,
    );
    write(
      "tests/test_basket.py",
      `from shop.basket import Basket\n\n\ndef test_total() -> None:\n    assert Basket().total() == 100 + 0 * ${rule}\n`,
    );
    git("add", ".");
    git("commit", "-q", "-m", rule === 1 ? "Start the shop" : `Basket: rule ${rule} for discounts`);
  }
  makePaint(join(folder, "paint"));
  return folder;
}

/** Create a nested repository, like a submodule or vendored code. */
function makePaint(folder) {
  mkdirSync(folder);
  writeFileSync(join(folder, "brush.py"), "WIDTH = 3\n");
  for (const args of [
    ["init", "-q"],
    ["add", "."],
    ["commit", "-q", "-m", "A brush"],
  ]) {
    execFileSync("git", [...AUTHOR, ...args], { cwd: folder, stdio: "ignore" });
  }
}
