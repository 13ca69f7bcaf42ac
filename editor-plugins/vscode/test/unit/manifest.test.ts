/** Tests that package.json and the sources agree. */

import * as assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const ROOT = join(__dirname, "../../..");
const about = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const sources = new Map(
  readdirSync(join(ROOT, "src")).map((name) => [name, readFileSync(join(ROOT, "src", name), "utf8")]),
);
const all = [...sources.values()].join("\n");

const found = (pattern: RegExp, text: string): string[] =>
  [...text.matchAll(pattern)].map((match) => match[1] ?? "").sort();

test("commands in package.json and sources agree", () => {
  const described: string[] = about.contributes.commands.map(({ command }: { command: string }) => command);
  const registered = found(/command\("(\w+)"/g, sources.get("commands.ts") ?? "").map((name) => `hunch.${name}`);
  assert.deepEqual(described.sort(), registered);
  const linked = found(/\(command:(hunch\.\w+)\)/g, JSON.stringify(about.contributes.viewsWelcome));
  assert.deepEqual(
    linked.filter((name) => !registered.includes(name)),
    [],
  );
});

test("settings in package.json and sources agree", () => {
  const properties: Record<string, { default: unknown; description?: string; markdownDescription?: string }> =
    about.contributes.configuration.properties;
  const read = new Map(
    [...(sources.get("settings.ts") ?? "").matchAll(/configured\.get\("(\w+)", ([^)]+)\)/g)].map((match) => [
      `hunch.${match[1]}`,
      JSON.parse(match[2] ?? ""),
    ]),
  );
  assert.deepEqual([...read.keys()].sort(), Object.keys(properties).sort());
  for (const [name, { default: value, description, markdownDescription }] of Object.entries(properties)) {
    assert.deepEqual(read.get(name), value, name);
    assert.ok((description ?? markdownDescription ?? "").length > 20, name);
  }
});

test("command and home settings are machine scoped", () => {
  for (const name of ["command", "home", "startDaemon", "addProjects"]) {
    assert.equal(about.contributes.configuration.properties[`hunch.${name}`].scope, "machine", name);
  }
});

test("runtime imports only Node and VS Code", () => {
  assert.equal(about.dependencies, undefined);
  const imported = new Set(found(/from "([^"]+)"/g, all).filter((name) => !name.startsWith("./")));
  assert.deepEqual(
    [...imported].filter((name) => !name.startsWith("node:")),
    ["vscode"],
  );
});

test("only two modules make requests", () => {
  const asking = [...sources]
    .filter(([, text]) => /http\.request|fetch\(|node:net|node:https/.test(text))
    .map(([name]) => name);
  assert.deepEqual(asking.sort(), ["events.ts", "http.ts"]);
});
