/** Tests against the recorded conversations, which the daemon's tests replay too. */

import * as assert from "node:assert/strict";
import { type TestContext, test } from "node:test";

import type { Connection } from "../../src/connection";
import { Errors } from "../../src/diagnostics";
import { Following, type Shown } from "../../src/following";
import { Outbox } from "../../src/outbox";
import { add } from "../../src/projects";
import { Home, Replay, connectionTo, transcript, until } from "./daemon";

const PROJECT = "/home/ada/shop";
const LIMIT = { timeout: 60_000 };

interface Stage {
  readonly daemon: Replay;
  readonly connection: Connection;
  readonly outbox: Outbox;
  readonly following: Following;
  readonly log: string[];
}

/** A replayed conversation, with the parts of the extension under test. */
async function stage(t: TestContext, name: string, adds = true): Promise<Stage> {
  const home = new Home();
  const daemon = await new Replay(transcript(name), PROJECT).start(home);
  const connection = connectionTo(home);
  const log: string[] = [];
  const parts = {
    ask: connection.ask.bind(connection),
    add: async (project: string) => adds && (await add(project, (question) => connection.json(question))).ok,
    budget: () => 8000,
    sent: () => undefined,
    log: (text: string) => void log.push(text),
  };
  const outbox = new Outbox(parts);
  const following = new Following(parts);
  t.after(async () => {
    following.close();
    outbox.close();
    connection.close();
    await daemon.stop();
    home.dispose();
  });
  return { daemon, connection, outbox, following, log };
}

async function shown(following: Following, path: string): Promise<Shown> {
  following.at({ project: PROJECT, path });
  await following.now();
  return following.shown;
}

async function opened({ outbox }: Stage, path = "shop/basket.py"): Promise<void> {
  outbox.add(PROJECT, { kind: "file_opened", path });
  await outbox.send();
}

test("opening a file shows its context, the second request gets 304", LIMIT, async (t) => {
  const on = await stage(t, "open");
  await opened(on);
  const first = await shown(on.following, "shop/basket.py");
  await on.following.now();

  assert.ok(on.daemon.isOver);
  assert.deepEqual(on.log, []);
  assert.equal(first.is, "bundle");
  assert.equal(on.following.shown, first, "304 leaves what is shown as it is");
});

test("unknown project is added and the signal resent", LIMIT, async (t) => {
  const on = await stage(t, "open-unknown");
  await opened(on);

  assert.ok(on.daemon.isOver);
  assert.equal(on.outbox.size, 0);
});

test("project that may not be added drops its signals and is reported", LIMIT, async (t) => {
  const on = await stage(t, "open-unknown", false);
  await opened(on);
  assert.equal(on.outbox.size, 0);

  const asked = await stage(t, "unknown", false);
  assert.deepEqual(await shown(asked.following, "shop/basket.py"), { is: "unknown", project: PROJECT });
});

test("context of an unknown project is requested again after adding it", LIMIT, async (t) => {
  const on = await stage(t, "unknown");
  const context = await shown(on.following, "shop/basket.py");

  assert.ok(on.daemon.isOver);
  assert.equal(context.is === "bundle" && context.bundle.status, "degraded");
});

test("save, switch and close send their signals", LIMIT, async (t) => {
  const on = await stage(t, "edit");
  await opened(on);
  for (const [kind, path] of [
    ["file_saved", "shop/basket.py"],
    ["file_opened", "shop/checkout.py"],
    ["file_closed", "shop/basket.py"],
  ] as const) {
    on.outbox.add(PROJECT, { kind, path });
    await on.outbox.send();
  }

  assert.ok(on.daemon.isOver);
  assert.deepEqual(on.log, []);
});

test("diagnostics are sent as errors and cleared", LIMIT, async (t) => {
  const on = await stage(t, "diagnostics");
  const errors = new Errors();
  const tell = async (message?: string): Promise<void> => {
    const underlined = message === undefined ? [] : [{ message, line: 3, source: "pyright" }];
    errors.changes(PROJECT, "shop/basket.py", underlined).forEach((each) => on.outbox.add(PROJECT, each));
    await on.outbox.send();
  };
  await opened(on);
  await tell('"Basket" has no attribute "items"');
  const context = await shown(on.following, "shop/basket.py");
  await tell();

  assert.ok(on.daemon.isOver);
  assert.deepEqual(on.log, []);
  assert.ok(context.is === "bundle" && context.bundle.items.some((item) => item.source.line === 3));
});

test("empty and degraded bundles are distinguished", LIMIT, async (t) => {
  const empty = await shown((await stage(t, "empty")).following, "note.txt");
  const degraded = await shown((await stage(t, "degraded")).following, "shop/basket.py");

  assert.equal(empty.is === "bundle" && empty.bundle.status, "empty");
  assert.deepEqual(degraded.is === "bundle" && degraded.bundle.degraded, [`${PROJECT} is not there`]);
});

test("answer of a superseded request is dropped", LIMIT, async (t) => {
  const home = new Home();
  const [, asked] = transcript("open");
  const daemon = await new Replay([asked!, asked!], PROJECT).start(home);
  const connection = connectionTo(home);
  const following = new Following({
    ask: connection.ask.bind(connection),
    add: () => Promise.resolve(false),
    budget: () => 8000,
    log: () => undefined,
  });
  t.after(() => Promise.all([following.close(), connection.close(), daemon.stop(), home.dispose()]));
  following.at({ project: PROJECT, path: "elsewhere.py" });
  const overtaken = following.now();
  following.at({ project: PROJECT, path: "shop/basket.py" });
  await Promise.all([overtaken, following.now()]);
  await until(() => following.shown.is !== "nothing-open");

  const { shown } = following;
  assert.equal("place" in shown && shown.place.path, "shop/basket.py");
});
