/** Runs inside VS Code's extension host, beside the extension, against a real daemon. */

import * as assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import * as vscode from "vscode";

import type { Piece } from "../../src/bundle";
import type { Running } from "../../src/extension";
import { type Question, ask } from "../../src/http";
import { here, readRendezvous, rendezvousFile } from "../../src/rendezvous";

const PATIENCE = 60_000; // ms; on a busy machine a test waits longer rather than failing

let running: Running;

async function daemon() {
  const told = await readRendezvous(await rendezvousFile("", here()));
  assert.ok(told, "no daemon is running");
  return told;
}

async function asked(question: Question): Promise<string> {
  return (await ask(await daemon(), question)).text;
}

async function until<T>(what: string, holds: () => Promise<T | undefined | false> | T | undefined | false): Promise<T> {
  const deadline = Date.now() + PATIENCE;
  for (;;) {
    const found = await holds();
    if (found) {
      return found;
    }
    assert.ok(Date.now() < deadline, `not within ${PATIENCE / 1000} s: ${what}; ${JSON.stringify(running?.state())}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function root(): string {
  const folder = vscode.workspace.workspaceFolders?.[0];
  assert.ok(folder);
  return folder.uri.fsPath;
}

function uri(path: string): vscode.Uri {
  return vscode.Uri.file(join(root(), path));
}

const open = (path: string): Thenable<vscode.TextEditor> =>
  vscode.window.showTextDocument(uri(path), { preview: false });

/** Return the signals that the daemon exports. */
async function signals(kind: string, project = root()): Promise<Record<string, unknown>[]> {
  const lines = (await asked({ method: "GET", path: "/export", query: { project } })).trim().split("\n");
  return lines
    .map((line) => JSON.parse(line) as { type: string; data: Record<string, unknown> })
    .filter(
      ({ type, data }) =>
        type === "signal" && (data["kind"] === kind || JSON.stringify(data).includes(`"kind":"${kind}"`)),
    )
    .map(({ data }) => (data["data"] ?? data) as Record<string, unknown>);
}

const arrived = (kind: string, path: string): Promise<unknown> =>
  until(`${kind} ${path} at the daemon`, async () =>
    (await signals(kind)).some((signal) => (signal["path"] ?? signal["file"]) === path),
  );

const pieces = (): Piece[] =>
  running.listed().flatMap((section) => section.entries.filter((entry) => entry.is === "piece"));

const listed = (name: string): Promise<Piece> =>
  until(`${name} in the view`, () => pieces().find((piece) => piece.label === name));

const shows = (path: string): Promise<unknown> =>
  until(`the context of ${path}`, () => {
    const shown = running.shown();
    return shown.is === "bundle" && shown.place.path === path && shown.bundle.status === "ok" && pieces().length > 0;
  });

const hunch = (...args: string[]) => promisify(execFile)(process.env["HUNCH"] ?? "hunch", args);

const tests: Record<string, () => Promise<void>> = {
  async "the extension is active, and a daemon that was not there is started"() {
    const extension = vscode.extensions.getExtension<Running>("hunchd.hunchd");
    assert.ok(extension);
    running = await extension.activate();
    await until("a daemon", () => running.state().is === "ready");
  },

  async "a file that is opened is told to the daemon, and its context comes into the view"() {
    await open("shop/basket.py");

    await arrived("file_opened", "shop/basket.py");
    await shows("shop/basket.py");
    await listed("checkout.py");
    assert.match(running.statusBar(), /lightbulb-sparkle/);
  },

  async "saving, switching and closing are told"() {
    const editor = await open("shop/checkout.py");
    await shows("shop/checkout.py");
    await arrived("file_opened", "shop/checkout.py");
    await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), "# paid at once\n"));
    await editor.document.save();
    await arrived("file_saved", "shop/checkout.py");
    await vscode.commands.executeCommand("workbench.action.closeActiveEditor");
    await arrived("file_closed", "shop/checkout.py");
  },

  async "an error in a saved file is told, shown with its line, and cleared when it is gone"() {
    await open("shop/basket.py");
    const diagnostics = vscode.languages.createDiagnosticCollection("pretended");
    const wrong = new vscode.Diagnostic(new vscode.Range(1, 4, 1, 9), 'cannot access attribute "cents"');
    wrong.source = "pretended";
    diagnostics.set(uri("shop/basket.py"), [wrong]);

    await arrived("error", "shop/basket.py");
    const piece = await until("the error in the view", () => pieces().find((each) => each.item.kind === "error"));
    assert.equal(piece.line, 2);
    await vscode.commands.executeCommand("hunch.openEntry", piece);
    assert.equal(vscode.window.activeTextEditor?.selection.active.line, 1);

    diagnostics.set(uri("shop/basket.py"), []);
    await arrived("error_cleared", "shop/basket.py");
    await until("a view without the error", () => !pieces().some((each) => each.item.kind === "error"));
    diagnostics.dispose();
  },

  async "a click on a file opens it and is told as used; thumbs go to the daemon"() {
    await open("shop/basket.py");
    await shows("shop/basket.py");
    const piece = await listed("test_basket.py");
    await vscode.commands.executeCommand("hunch.helpful", piece);
    await vscode.commands.executeCommand("hunch.openEntry", piece);

    assert.equal(vscode.window.activeTextEditor?.document.uri.fsPath, uri("tests/test_basket.py").fsPath);
    await arrived("used", "tests/test_basket.py");
  },

  async "a file of a repository inside the workspace belongs to that repository"() {
    await open("paint/brush.py");
    await until("the context of that repository", () => {
      const shown = running.shown();
      return shown.is === "bundle" && shown.place.project === uri("paint").fsPath;
    });
    await until("the signal at the daemon", async () => (await signals("file_opened", uri("paint").fsPath)).length > 0);
    const told = await signals("file_opened", uri("paint").fsPath);
    assert.deepEqual(
      told.map((signal) => signal["path"]),
      ["brush.py"],
    );
  },

  async "what is remembered is in the context, and a thumb counts for it"() {
    const body = { kind: "fact", content: "prices are whole cents", category: "decision", project: root() };
    await asked({ method: "POST", path: "/memories", body });
    await open("shop/basket.py");
    await vscode.commands.executeCommand("hunch.refresh");
    const piece = await listed("prices are whole cents");
    assert.ok(piece.forgettable);
    await vscode.commands.executeCommand("hunch.wrong", piece);

    await until("a counted thumb", async () => {
      const memory = JSON.parse(await asked({ method: "GET", path: `/memories/${piece.item.id}` }));
      return memory.usage.ignored === 1;
    });
  },

  async "a topic opens as a text, and so does the whole context"() {
    const topic = await until("a topic", () => running.listed().find((section) => section.tier === 4)?.entries[0]);
    await vscode.commands.executeCommand("hunch.openEntry", topic);
    assert.equal(vscode.window.activeTextEditor?.document.uri.scheme, "hunch");
    await vscode.commands.executeCommand("hunch.showContext");
    assert.match(vscode.window.activeTextEditor?.document.getText() ?? "", /^# shop\/basket\.py/);
  },

  async "while the daemon hangs, files open and take what is typed; what happened meanwhile arrives later"() {
    const { pid } = await daemon();
    process.kill(pid, "SIGSTOP");
    try {
      const editor = await open("docs/colours.md");
      await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), "Green.\n"));
      await editor.document.save();
      assert.match(editor.document.getText(), /^Green/);
    } finally {
      process.kill(pid, "SIGCONT");
    }
    await arrived("file_saved", "docs/colours.md");
  },

  async "a daemon that is killed is started again, and nothing that happened meanwhile is lost"() {
    const killed = await daemon();
    process.kill(killed.pid, "SIGKILL");
    await open("pyproject.toml");
    await open("shop/basket.py");
    const next = await until("another daemon", async () => {
      const told = await readRendezvous(await rendezvousFile("", here()));
      return told !== undefined && told.pid !== killed.pid && running.state().is === "ready" && told;
    });
    assert.notEqual(next.token, killed.token);
    await arrived("file_opened", "pyproject.toml");
    await vscode.commands.executeCommand("hunch.refresh");
    await shows("shop/basket.py");
    await until("an empty outbox", () => running.waiting() === 0);
  },

  async "a daemon that is stopped on purpose stays stopped; one that is started elsewhere is found"() {
    await hunch("stop");
    await until("no daemon", () => running.state().is === "absent");
    assert.match(running.statusBar(), /circle-slash/);
    await open("tests/test_basket.py");
    await hunch("start");
    await until("a daemon", () => running.state().is === "ready");
    await shows("tests/test_basket.py");
    await arrived("file_opened", "tests/test_basket.py");
  },

  async "agents are offered hunch mcp"() {
    const [server, ...others] = await running.mcpServers();
    assert.equal(others.length, 0);
    assert.match(server?.command ?? "", /hunch$/);
    assert.deepEqual(server?.args, ["mcp"]);
  },
};

export async function run(): Promise<void> {
  let passed = 0;
  for (const [name, test] of Object.entries(tests)) {
    const began = Date.now();
    try {
      await test();
      passed += 1;
      console.log(`ok ${name} (${Date.now() - began} ms)`);
    } catch (error) {
      console.log(`not ok ${name}: ${(error as Error).message}`);
      if (running?.state().is !== "ready") {
        break; // the following tests cannot pass
      }
    }
  }
  const all = Object.keys(tests).length;
  console.log(`# ${passed} of ${all} passed`);
  assert.equal(passed, all);
}
