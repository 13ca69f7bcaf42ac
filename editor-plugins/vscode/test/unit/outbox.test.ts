/** Tests of the outbox: no signal is lost, duplicated or blocked. */

import * as assert from "node:assert/strict";
import { test } from "node:test";

import { type Answer, type Question, Unreachable } from "../../src/http";
import { Outbox, type Signal } from "../../src/outbox";

type Reply = (signals: readonly Signal[]) => { status: number; body?: unknown; retryAfter?: number };

function outbox(reply: Reply, add: (project: string) => boolean = () => true) {
  const batches: Signal[][] = [];
  const log: string[] = [];
  const box = new Outbox({
    ask: (question: Question): Promise<Answer> => {
      const { signals } = question.body as { signals: Signal[] };
      batches.push(signals);
      const { status, body, retryAfter } = reply(signals);
      return status === 0
        ? Promise.reject(new Unreachable("away"))
        : Promise.resolve({ status, text: JSON.stringify(body), etag: undefined, retryAfter });
    },
    add: (project) => Promise.resolve(add(project)),
    sent: () => undefined,
    log: (text) => log.push(text),
  });
  return { box, batches, log };
}

const fine = { status: 202, body: { rejected: [] } };
const refused = (...indexes: number[]) => ({
  status: 202,
  body: { rejected: indexes.map((index) => ({ index, error: { code: "not_found", message: "no project" } })) },
});
const open = (path: string) => ({ kind: "file_opened" as const, path });

test("outbox keeps signals while disconnected, in order and with their times", async () => {
  let away = true;
  const { box, batches } = outbox(() => (away ? { status: 0 } : fine));
  box.add("/p", open("a"), new Date(0));
  await box.send();
  box.add("/p", open("b"));
  away = false;
  await box.send();
  box.close();

  assert.equal(box.size, 0);
  assert.deepEqual(
    batches.at(-1)?.map((signal) => "path" in signal && signal.path),
    ["a", "b"],
  );
  assert.equal(batches.at(-1)?.[0]?.at, "1970-01-01T00:00:00.000Z");
  assert.equal(batches[0]?.[0]?.event_id, batches[1]?.[0]?.event_id, "the same event, should both have arrived");
});

test("outbox drops the oldest signals beyond its limit", async () => {
  const { box } = outbox(() => ({ status: 0 }));
  for (let n = 0; n < 700; n++) {
    box.add("/p", open(String(n)));
  }
  box.close();
  assert.equal(box.size, 500);
});

test("outbox skips a rejected batch", async () => {
  const { box, batches, log } = outbox((signals) => (signals.length > 1 ? { status: 422, body: {} } : fine));
  box.add("/p", open("a"));
  box.add("/p", open("b"));
  await box.send();
  box.add("/p", open("c"));
  await box.send();
  box.close();

  assert.equal(box.size, 0);
  assert.equal(batches.length, 2);
  assert.equal(log.length, 1);
});

test("outbox respects Retry-After", async () => {
  const { box, batches } = outbox(() => ({ status: 429, retryAfter: 600, body: {} }));
  box.add("/p", open("a"));
  await box.send();
  box.close();

  assert.equal(batches.length, 1);
  assert.equal(box.size, 1);
});

test("outbox stops retrying a project that stays unknown", async () => {
  const { box, batches } = outbox(() => refused(0));
  box.add("/p", open("a"));
  await box.send();
  box.close();

  assert.equal(batches.length, 2);
  assert.equal(box.size, 0);
});

test("outbox resends only signals rejected for an unknown project", async () => {
  const added: string[] = [];
  const { box, batches } = outbox(
    (signals) => (signals.length === 2 ? refused(1) : fine),
    (project) => added.push(project) > 0,
  );
  box.add("/known", open("a"));
  box.add("/new", open("b"));
  await box.send();
  box.close();

  assert.deepEqual(added, ["/new"]);
  assert.deepEqual(
    batches.map((batch) => batch.map((signal) => signal.project)),
    [["/known", "/new"], ["/new"]],
  );
});
