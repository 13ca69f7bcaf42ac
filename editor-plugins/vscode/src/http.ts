/** One HTTP request to a daemon on this machine: over its Unix socket, or loopback if there is none. */

import * as http from "node:http";

import type { Rendezvous } from "./rendezvous";

export interface Question {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  readonly etag?: string | undefined; // of the cached answer
  readonly timeout?: number; // ms for the whole answer
  readonly signal?: AbortSignal | undefined;
}

export interface Answer {
  readonly status: number;
  readonly etag: string | undefined;
  readonly retryAfter: number | undefined; // seconds
  readonly text: string;
}

/** The daemon cannot be reached, or exited meanwhile. */
export class Unreachable extends Error {}

/** The daemon did not answer in time. */
export class TooSlow extends Unreachable {}

/** A rejection by the daemon, with its message. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint?: string,
  ) {
    super(message);
  }
}

const PATIENCE = 20_000; // ms; a first answer over a cold store may take seconds
const LARGEST_ANSWER = 16 * 1024 * 1024; // characters

/** Return the answer of any status. Rejects with Unreachable, or with the reason of the request's abort signal. */
export async function ask(daemon: Rendezvous, question: Question): Promise<Answer> {
  try {
    return await asked(daemon, question, daemon.socket);
  } catch (error) {
    if (daemon.socket !== null && error instanceof Unreachable && !(error instanceof TooSlow)) {
      return asked(daemon, question, null); // the socket may be unreachable while loopback works
    }
    throw error;
  }
}

function asked(daemon: Rendezvous, question: Question, socket: string | null): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const timeout = AbortSignal.timeout(question.timeout ?? PATIENCE);
    const signal = question.signal ? AbortSignal.any([question.signal, timeout]) : timeout;
    const failed = (error: Error): void => reject(named(error, timeout, question.signal));
    const request = http.request({ ...head(daemon, question, socket), signal }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece: string) => {
        text += piece;
        if (text.length > LARGEST_ANSWER) {
          response.destroy(new Error("the answer is too long"));
        }
      });
      response.on("error", failed);
      response.on("end", () => {
        const { etag, "retry-after": after } = response.headers;
        resolve({ status: response.statusCode ?? 0, etag, retryAfter: after ? Number(after) : undefined, text });
      });
    });
    request.on("error", failed);
    request.end(question.body === undefined ? undefined : JSON.stringify(question.body));
  });
}

/** Return the headers of a request; also used by the event stream. */
export function head(daemon: Rendezvous, question: Question, socket: string | null): http.RequestOptions {
  const address = new URL(daemon.url);
  const asked = Object.entries(question.query ?? {}).filter(([, value]) => value !== undefined && value !== "");
  const query = new URLSearchParams(asked.map(([name, value]): [string, string] => [name, String(value)])).toString();
  return {
    ...(socket === null
      ? { host: address.hostname.replace(/^\[|\]$/g, ""), port: address.port }
      : { socketPath: socket, host: "localhost" }),
    method: question.method,
    path: query ? `${question.path}?${query}` : question.path,
    agent: false, // one connection for each request: none can be closed by a restarted daemon
    headers: {
      Authorization: `Bearer ${daemon.token}`,
      ...(question.body === undefined ? {} : { "Content-Type": "application/json" }),
      ...(question.etag === undefined ? {} : { "If-None-Match": question.etag }),
    },
  };
}

/** Return the JSON of a successful answer. Throws Refused for any other. */
export function json(answer: Answer): unknown {
  if (answer.status < 400) {
    return answer.text ? JSON.parse(answer.text) : undefined;
  }
  try {
    const { code, message, hint } = JSON.parse(answer.text).error;
    return raise(new Refused(answer.status, String(code), String(message), hint));
  } catch (error) {
    throw error instanceof Refused
      ? error
      : new Refused(answer.status, "", `the daemon answered ${answer.status}`, "hunch logs may say why");
  }
}

function raise(error: Error): never {
  throw error;
}

function named(error: Error, timeout: AbortSignal, own: AbortSignal | undefined): Error {
  if (own?.aborted) {
    return own.reason instanceof Error ? own.reason : error;
  }
  return timeout.aborted
    ? new TooSlow("the daemon did not answer in time")
    : new Unreachable(`the daemon cannot be reached: ${error.message}`, { cause: error });
}
