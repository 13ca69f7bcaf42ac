/** Tests of parsers: rendezvous file, events, bundles, places, diagnostics. */

import * as assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { type Bundle, pieceOf, plain, sectionsOf, topicsOf } from "../../src/bundle";
import { Errors } from "../../src/diagnostics";
import { type DaemonEvent, reader } from "../../src/events";
import { Roots, mayAdd, placeOf } from "../../src/projects";
import { readRendezvous, rendezvousFile } from "../../src/rendezvous";
import { usualPlaces } from "../../src/starting";
import { Home, transcript } from "./daemon";

const TOLD = { protocol: 1, url: "http://127.0.0.1:7", socket: null, token: "t", pid: 1, version: "0.1.0" };

test("rendezvous file path matches the daemon's", async () => {
  const file = (home: string, variables: Record<string, string>, platform: NodeJS.Platform = "linux") =>
    rendezvousFile(home, { variables, platform, home: "/home/ada" });

  assert.equal(await file("", { HUNCHD_HOME: "/x" }), "/x/run/daemon.json");
  assert.equal(await file("~/y", { HUNCHD_HOME: "/x" }), "/home/ada/y/run/daemon.json");
  assert.equal(await file("", { XDG_RUNTIME_DIR: "/tmp" }), "/tmp/hunchd/daemon.json");
  assert.equal(await file("", { XDG_RUNTIME_DIR: "/not/there" }), "/home/ada/.cache/hunchd/run/daemon.json");
  assert.equal(await file("", {}, "darwin"), "/home/ada/Library/Caches/TemporaryItems/hunchd/daemon.json");
});

test("rendezvous file with a remote URL or another owner is rejected", async (t) => {
  const home = new Home();
  t.after(() => home.dispose());
  const says = async (told: unknown) => {
    home.announce(told as Record<string, unknown>);
    return (await readRendezvous(home.file)) !== undefined;
  };

  assert.ok(await says(TOLD));
  assert.ok(await says({ ...TOLD, url: "http://[::1]:7" }));
  for (const url of [
    "http://example.org:7",
    "https://127.0.0.1:7",
    "http://127.0.0.1.example.org",
    "http://0.0.0.0:7",
    "",
  ]) {
    assert.ok(!(await says({ ...TOLD, url })), url);
  }
  assert.ok(!(await says({ ...TOLD, token: "t\r\nX: y" })));
  assert.ok(!(await says({ ...TOLD, pid: "1" })));
  assert.ok(!(await says([])));
  const link = join(home.folder, "link.json");
  home.announce(TOLD);
  symlinkSync(home.file, link);
  assert.equal(await readRendezvous(link), undefined);
});

test("event parser handles arbitrary chunk boundaries", () => {
  const stream =
    ': hello\n\nevent: indexed\ndata: {"type":"indexed","project":"p"}\n\ndata: not JSON\n\ndata: {"type":"x"}\n\n';
  for (let cut = 1; cut < stream.length; cut++) {
    const heard: DaemonEvent[] = [];
    const read = reader((event) => heard.push(event));
    read(stream.slice(0, cut));
    read(stream.slice(cut));
    assert.deepEqual(heard, [{ type: "indexed", project: "p" }, { type: "x" }]);
  }
});

test("bundle items are grouped by tier, titles unquoted", () => {
  const [, { answer }] = transcript("open") as [unknown, { answer: { body: Bundle } }];
  const sections = sectionsOf(answer.body, "shop/basket.py");

  assert.deepEqual(
    sections.map((section) => section.title),
    ["Now", "Likely next", "Background", "Ask for more"],
  );
  const likely = sections[1]?.entries.map((entry) => (entry.is === "piece" ? [entry.label, entry.path] : []));
  assert.deepEqual(likely?.slice(0, 2).sort(), [
    ["checkout.py", "shop/checkout.py"],
    ["test_basket.py", "tests/test_basket.py"],
  ]);
  assert.ok(likely?.[2]?.[0]?.startsWith("2026-"), "an episode");
  assert.deepEqual(sections[3]?.entries, [
    { is: "topic", name: "basket" },
    { is: "topic", name: "checkout" },
    { is: "topic", name: "shop" },
  ]);
});

test("file items show their folder, only memories can be forgotten", () => {
  const [, { answer }] = transcript("open") as [unknown, { answer: { body: Bundle } }];
  const file = answer.body.items.find((item) => item.id === "file:shop/checkout.py")!;
  const memory = answer.body.items.find((item) => item.kind === "decision")!;

  assert.ok(!pieceOf(file, "shop/basket.py").description.includes("shop"));
  assert.ok(pieceOf(file, "docs/colours.md").description.startsWith("shop · changed together"));
  assert.ok(!pieceOf(file).forgettable);
  assert.ok(pieceOf(memory).forgettable);
});

test("tooltip escapes Markdown of untrusted text", () => {
  assert.equal(plain("[a](command:x) <b>\n\n# `c`"), "\\[a\\]\\(command\\:x\\) \\<b\\> \\# \\`c\\`");
});

test("empty context has no topics", () => {
  assert.deepEqual(topicsOf(""), []);
  assert.deepEqual(topicsOf("# a\n\n## Now\n- «## Ask for more» · `hunch expand X`\n"), []);
});

test("place of a file: repository, else workspace folder, else none", async (t) => {
  const home = new Home();
  t.after(() => home.dispose());
  const inner = join(home.folder, "outer/vendor/inner");
  mkdirSync(join(home.folder, "outer/.git"), { recursive: true });
  mkdirSync(join(inner, "src"), { recursive: true });
  writeFileSync(join(inner, ".git"), "gitdir: elsewhere"); // a submodule or a linked worktree
  mkdirSync(join(home.folder, "plain"));
  const roots = new Roots();
  const place = (path: string, ...folders: string[]) => placeOf(join(home.folder, path), roots, folders);

  assert.deepEqual(await place("outer/a/b.py"), { project: join(home.folder, "outer"), path: "a/b.py" });
  assert.deepEqual(await place("outer/vendor/inner/src/c.py"), { project: inner, path: "src/c.py" });
  assert.equal(await place("outer/.git/COMMIT_EDITMSG"), undefined);
  assert.equal(await place("plain/note.txt"), undefined);
  assert.deepEqual(await place("plain/note.txt", join(home.folder, "plain")), {
    project: join(home.folder, "plain"),
    path: "note.txt",
  });
});

test("only repositories of a trusted workspace are added automatically", async (t) => {
  const home = new Home();
  t.after(() => home.dispose());
  const shop = join(home.folder, "shop");
  const library = join(shop, "node_modules/library");
  for (const each of [shop, library, join(home.folder, "elsewhere")]) {
    mkdirSync(join(each, ".git"), { recursive: true });
  }
  mkdirSync(join(home.folder, "plain"));
  const window = { folders: [shop, join(home.folder, "plain")], trusted: true, repositories: true };

  assert.equal(await mayAdd(shop, window), "allowed");
  assert.equal(await mayAdd(shop, { ...window, folders: [join(shop, "src")] }), "allowed");
  assert.equal(await mayAdd(shop, { ...window, trusted: false }), "not-allowed");
  assert.equal(await mayAdd(shop, { ...window, repositories: false }), "not-allowed");
  assert.equal(await mayAdd(library, window), "elsewhere");
  assert.equal(await mayAdd(join(home.folder, "elsewhere"), window), "elsewhere");
  assert.equal(await mayAdd(join(home.folder, "plain"), window), "not-a-repository");
});

test("diagnostics report only changes", () => {
  const errors = new Errors();
  const told = (...messages: string[]) =>
    errors.changes(
      "/p",
      "a.py",
      messages.map((message, at) => ({ message, line: at + 1, source: "ruff", code: "F821" })),
    );

  assert.deepEqual(told("x", "x"), [{ kind: "error", text: "error: x (ruff F821)", file: "a.py", line: 1 }]);
  assert.deepEqual(told("x"), []);
  assert.deepEqual(told("y"), [
    { kind: "error_cleared", text: "error: x (ruff F821)", file: "a.py" },
    { kind: "error", text: "error: y (ruff F821)", file: "a.py", line: 1 },
  ]);
  assert.deepEqual(told(), [{ kind: "error_cleared", file: "a.py" }]);
  assert.deepEqual(told(), []);
  assert.equal(told(...Array.from({ length: 100 }, (_, n) => `e${n}`)).length, 20);
});

test("command is searched on PATH first", () => {
  const places = usualPlaces({ variables: { PATH: "/a:/b" }, platform: "linux", home: "/home/ada" });
  assert.deepEqual(places.slice(0, 3), ["/a/hunch", "/b/hunch", "/home/ada/.local/bin/hunch"]);
});
