/** Tests of the connection across daemon restarts. */

import * as assert from "node:assert/strict";
import { type TestContext, test } from "node:test";

import type { Started, State, Surrounding } from "../../src/connection";
import type { DaemonEvent } from "../../src/events";
import { Refused, Unreachable } from "../../src/http";
import { Daemon, Home, connectionTo, until } from "./daemon";

const LIMIT = { timeout: 60_000 };
const NO_PROCESS = 2 ** 22 + 1; // above the highest process id of Linux

function at(t: TestContext, around: Partial<Surrounding> = {}) {
  const home = new Home();
  const connection = connectionTo(home, around);
  const states: State["is"][] = [];
  connection.changed.on((state) => states.push(state.is));
  t.after(() => {
    connection.close();
    home.dispose();
  });
  return { home, connection, states };
}

test("connection finds a started daemon over socket or loopback", LIMIT, async (t) => {
  for (const tcp of [false, true]) {
    const { home, connection } = at(t);
    void connection.run();
    await until(() => connection.state.is === "absent");
    const daemon = await new Daemon(() => ({ status: 200, body: { fine: true } })).start(home, { tcp });
    t.after(() => daemon.stop());
    await until(() => connection.state.is === "ready");

    assert.deepEqual(await connection.json({ method: "GET", path: "/status" }), { fine: true });
  }
});

test("request finds a restarted daemon without an event", LIMIT, async (t) => {
  const { home, connection } = at(t);
  const first = await new Daemon().start(home);
  await connection.json({ method: "GET", path: "/status" });
  await first.stop();
  const second = await new Daemon(() => ({ status: 200, body: "second" })).start(home);
  t.after(() => second.stop());

  assert.equal(await connection.json({ method: "GET", path: "/status" }), "second");
});

test("rejected token is reread from the rendezvous file", LIMIT, async (t) => {
  const { home, connection } = at(t);
  const daemon = await new Daemon(() => ({ status: 200, body: "served" })).start(home, { tcp: true });
  t.after(() => daemon.stop());
  await connection.json({ method: "GET", path: "/status" });
  (daemon as { token: string }).token = "anew"; // the same address, another daemon
  const { port } = daemon["server"].address() as { port: number };
  home.announce({
    protocol: 1,
    url: `http://127.0.0.1:${port}`,
    socket: null,
    token: "anew",
    pid: 1,
    version: "0.1.1",
  });

  assert.equal(await connection.json({ method: "GET", path: "/status" }), "served");
});

test("request without a daemon fails immediately", LIMIT, async (t) => {
  const { connection } = at(t);
  await assert.rejects(connection.json({ method: "GET", path: "/status" }), Unreachable);
});

test("rejection keeps the daemon's message", LIMIT, async (t) => {
  const { home, connection } = at(t);
  const error = { code: "not_found", message: "there is no memory 'm1'" };
  const daemon = await new Daemon(() => ({ status: 404, body: { error } })).start(home);
  t.after(() => daemon.stop());

  await assert.rejects(
    connection.json({ method: "GET", path: "/memories/m1" }),
    new Refused(404, "not_found", error.message),
  );
});

test(
  "a window that opens starts a daemon once; a crash starts it again; a stop on purpose does not",
  LIMIT,
  async (t) => {
    let running: Daemon | undefined;
    let starts = 0;
    const { home, connection, states } = at(t, {
      mayStart: () => true,
      start: async (): Promise<Started> => {
        starts += 1;
        running = await new Daemon().start(home);
        return { ok: true };
      },
    });
    void connection.run();
    await until(() => connection.state.is === "ready");
    assert.equal(starts, 1);

    home.announce({ protocol: 1, url: "http://127.0.0.1:1", socket: null, token: "t", pid: NO_PROCESS, version: "0" });
    await running?.stop();
    await until(() => starts === 2 && connection.state.is === "ready");

    home.remove();
    await running?.stop();
    await until(() => connection.state.is === "absent");
    assert.equal(starts, 2);
    assert.deepEqual(states, ["starting", "ready", "starting", "ready", "absent"]);

    connection.startNow();
    await until(() => connection.state.is === "ready");
    assert.equal(starts, 3);
    await running?.stop();
  },
);

test("failing start is not repeated forever", LIMIT, async (t) => {
  let starts = 0;
  const start = (): Promise<Started> => {
    starts += 1;
    return Promise.resolve({ ok: false, missing: starts > 1, why: "it broke" });
  };
  const { home, connection } = at(t, { mayStart: () => true, start });
  home.announce({ protocol: 1, url: "http://127.0.0.1:1", socket: null, token: "t", pid: NO_PROCESS, version: "0" });
  void connection.run();

  await until(() => starts === 3);
  assert.deepEqual(connection.state, { is: "missing" });
  for (let look = 0; look < 20; look++) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.equal(starts, 3);
});

test("daemon with another protocol version gets no requests", LIMIT, async (t) => {
  const { home, connection } = at(t);
  const daemon = await new Daemon().start(home, { protocol: 2 });
  t.after(() => daemon.stop());
  void connection.run();
  await until(() => connection.state.is === "incompatible");

  await assert.rejects(connection.json({ method: "GET", path: "/status" }), Unreachable);
  assert.deepEqual(daemon.asked, []);
});

test("events are received, also after a restart", LIMIT, async (t) => {
  const { home, connection, states } = at(t);
  const heard: DaemonEvent[] = [];
  connection.events.on((event) => heard.push(event));
  void connection.run();
  for (const file of ["a.py", "b.py"]) {
    const seen = states.filter((state) => state === "ready").length;
    const daemon = await new Daemon().start(home);
    await until(() => states.filter((state) => state === "ready").length > seen);
    daemon.tell({ type: "context_ready", project: "p", file });
    await until(() => heard.length > 0 && heard.at(-1)?.file === file);
    await daemon.stop();
  }

  assert.deepEqual(
    heard.map((event) => event.file),
    ["a.py", "b.py"],
  );
});

test("hanging daemon is reported as slow, and reconnected", { timeout: 60_000 }, async (t) => {
  const { home, connection } = at(t);
  const daemon = new Daemon();
  daemon.hangs = true;
  await daemon.start(home);
  t.after(() => daemon.stop());
  void connection.run();
  await until(() => connection.state.is === "slow");
  daemon.hangs = false;
  await until(() => connection.state.is === "ready");
});
