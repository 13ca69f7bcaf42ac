/** Fake daemons: one replays a recorded conversation, one has configurable answers. */

import * as assert from "node:assert/strict";
import { mkdtempSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Connection, type Surrounding } from "../../src/connection";

const TRANSCRIPTS = join(__dirname, "../../../../transcripts");

export interface Recorded {
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly query?: Readonly<Record<string, string>>;
    readonly body?: unknown;
    readonly if_none_match?: string;
    readonly token?: string;
  };
  readonly answer: { readonly status: number; readonly body?: unknown };
}

export function transcript(name: string): Recorded[] {
  return JSON.parse(readFileSync(join(TRANSCRIPTS, `${name}.json`), "utf8")).exchanges;
}

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly token: string;
  readonly etag: string | undefined;
}

export interface Answered {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Temporary home for successive daemons; removed with `dispose`. */
export class Home {
  readonly folder = mkdtempSync(join(tmpdir(), "hunch-"));
  readonly file = join(this.folder, "run", "daemon.json");

  constructor() {
    mkdirSync(join(this.folder, "run"));
  }

  announce(told: Readonly<Record<string, unknown>>): void {
    writeFileSync(`${this.file}.new`, JSON.stringify(told), { mode: 0o600 });
    renameSync(`${this.file}.new`, this.file);
  }

  remove(): void {
    rmSync(this.file, { force: true });
  }

  dispose(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export class Daemon {
  readonly asked: Asked[] = [];
  readonly token = Math.random().toString(36).slice(2);
  protected readonly server = http.createServer((request, response) => void this.serve(request, response));
  private readonly listeners = new Set<http.ServerResponse>();
  hangs = false;

  constructor(private readonly answer: (asked: Asked) => Answered = () => ({ status: 200, body: {} })) {}

  /** Listen on a Unix socket in `home` or, with `tcp`, on loopback only. */
  async start(home: Home, { tcp = false, protocol = 1, pid = process.pid } = {}): Promise<this> {
    const socket = join(home.folder, "run", `${this.token}.sock`);
    await new Promise<void>((resolve) =>
      tcp ? this.server.listen(0, "127.0.0.1", resolve) : this.server.listen(socket, resolve),
    );
    const port = tcp ? (this.server.address() as AddressInfo).port : 1;
    const url = `http://127.0.0.1:${port}`;
    home.announce({ protocol, url, socket: tcp ? null : socket, token: this.token, pid, version: "0.1.0" });
    return this;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  tell(event: Readonly<Record<string, unknown>>): void {
    for (const listener of this.listeners) {
      listener.write(`event: ${String(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`);
    }
  }

  private async serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://localhost");
    if (this.hangs) {
      return;
    }
    if (url.pathname === "/health") {
      response.end('{"status":"ok"}');
      return;
    }
    if (request.headers.authorization !== `Bearer ${this.token}`) {
      response
        .writeHead(401)
        .end('{"error":{"code":"unauthorized","message":"the token does not belong to this daemon"}}');
      return;
    }
    if (url.pathname === "/events") {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.write(": hello\n\n");
      this.listeners.add(response);
      response.on("close", () => this.listeners.delete(response));
      return;
    }
    let text = "";
    for await (const piece of request) {
      text += piece;
    }
    const asked: Asked = {
      method: request.method ?? "",
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      body: text ? JSON.parse(text) : undefined,
      token: this.token,
      etag: request.headers["if-none-match"],
    };
    this.asked.push(asked);
    const { status, body, headers } = this.answer(asked);
    response.writeHead(status, { "Content-Type": "application/json", ...headers });
    response.end(body === undefined ? "" : JSON.stringify(body));
  }
}

/** Replayed daemon: each request must be the next of the transcript, and gets the recorded answer. */
export class Replay extends Daemon {
  private next = 0;

  constructor(
    private readonly exchanges: readonly Recorded[],
    private readonly project: string,
  ) {
    super((asked) => this.played(asked));
  }

  get isOver(): boolean {
    return this.next === this.exchanges.length;
  }

  private played(asked: Asked): Answered {
    const exchange = this.exchanges[this.next++];
    if (exchange === undefined) {
      return { status: 500, body: { error: { code: "test", message: `not recorded: ${JSON.stringify(asked)}` } } };
    }
    const { request, answer } = filled(exchange, this.project);
    const difference = differs(asked, request);
    if (difference !== undefined) {
      return { status: 500, body: { error: { code: "test", message: difference } } };
    }
    const etag = (answer.body as { etag?: string } | undefined)?.etag;
    return { ...answer, ...(etag ? { headers: { ETag: `"${etag}"` } } : {}) };
  }
}

function filled(recorded: Recorded, project: string): Recorded {
  return JSON.parse(JSON.stringify(recorded).replaceAll("{project}", project));
}

/** Return the differences of a request from the recorded one; values chosen by clients may be anything. */
function differs(asked: Asked, recorded: Recorded["request"]): string | undefined {
  try {
    assert.equal(`${asked.method} ${asked.path}`, `${recorded.method} ${recorded.path}`);
    assert.deepEqual(asked.query, recorded.query ?? {});
    const own = (key: string, value: unknown): unknown => (["event_id", "at"].includes(key) ? typeof value : value);
    const plain = (body: unknown): unknown => (body === undefined ? body : JSON.parse(JSON.stringify(body, own)));
    assert.deepEqual(plain(asked.body), plain(recorded.body));
    assert.equal(asked.etag !== undefined, recorded.if_none_match !== undefined);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Return a connection with short retries in `home`; it starts nothing unless `around` says so. */
export function connectionTo(home: Home, around: Partial<Surrounding> = {}): Connection {
  return new Connection({
    file: () => Promise.resolve(home.file),
    mayStart: () => false,
    start: () => Promise.resolve({ ok: true }),
    log: () => undefined,
    pauses: { shortest: 5, longest: 20 },
    ...around,
  });
}

/** Wait for a condition, up to the time limit of the test runner. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
