/** Typed client of the daemon's routes; the types come from its own OpenAPI document. */

import type { components, paths } from "./generated/openapi";
import { send as transport } from "./host";
import { getKey } from "./session";

export type Schemas = components["schemas"];
type Method = "get" | "post" | "put" | "patch" | "delete";
type PathsWith<M extends Method> = { [P in keyof paths]: paths[P] extends Record<M, object> ? P : never }[keyof paths];
type Operation<P extends keyof paths, M extends Method> = M extends keyof paths[P] ? NonNullable<paths[P][M]> : never;
type JsonOf<T> = T extends { content: { "application/json": infer J } } ? J : unknown;
type Successes<R> = R extends object ? JsonOf<R[keyof R & (200 | 201 | 202)]> : unknown;
export type Answer<P extends keyof paths, M extends Method> =
  Operation<P, M> extends { responses: infer R } ? Successes<R> : unknown;
type Part<O, K extends "query" | "path"> = O extends { parameters: infer A } ? (K extends keyof A ? A[K] : never) : never;
type Body<O> = O extends { requestBody?: infer B } ? JsonOf<NonNullable<B>> : never;
export interface Request<O> {
  params?: Part<O, "path">;
  query?: Part<O, "query">;
  body?: Body<O>;
  signal?: AbortSignal;
  keepalive?: boolean;
}

/** Error that the daemon answered, or that it did not answer (status 0). */
export class RequestFailed extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly hint: string = "",
  ) {
    super(message);
  }
}

let whenLocked: () => void = () => undefined;
/** Set what happens when the daemon no longer knows this session. */
export function onLocked(then: () => void): void {
  whenLocked = then;
}

export async function request<M extends Method, P extends PathsWith<M>>(
  method: M,
  path: P,
  options: Request<Operation<P, M>> = {},
): Promise<Answer<P, M>> {
  const answer = await send(method.toUpperCase(), buildAddress(path as string, options.params, options.query), options);
  return (await answer.json()) as Answer<P, M>;
}

/** A request that can be kept in the session's storage, and sent later. */
export interface Call {
  method: string;
  address: string;
  body?: unknown;
}

export function prepare<M extends Method, P extends PathsWith<M>>(method: M, path: P, options: Request<Operation<P, M>> = {}): Call {
  return { method: method.toUpperCase(), address: buildAddress(path as string, options.params, options.query), body: options.body };
}

export async function sendPrepared({ method, address, body }: Call): Promise<unknown> {
  return (await send(method, address, { body })).json();
}

/** Read the metrics, which are text. */
export async function readMetrics(signal: AbortSignal): Promise<string> {
  return (await send("GET", "/metrics", { signal })).text();
}

/** Open the stream of events; the caller reads the body. */
export async function openEvents(signal: AbortSignal): Promise<Response> {
  return send("GET", "/events", { signal });
}

interface Sent {
  body?: unknown;
  signal?: AbortSignal;
  keepalive?: boolean;
}

async function send(method: string, address: string, { body, signal, keepalive }: Sent): Promise<Response> {
  const headers: Record<string, string> = { "X-Hunchd-Page": getKey() };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer: Response;
  try {
    answer = await transport(address, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
      keepalive: keepalive ?? false,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new RequestFailed(0, "hunchd is not answering.", "It may be restarting. `hunch status` tells in a terminal.");
  }
  if (answer.ok) return answer;
  if (answer.status === 401) whenLocked();
  const told = (await answer.json().catch(() => ({}))) as { error?: { message?: string; hint?: string } };
  throw new RequestFailed(answer.status, told.error?.message ?? `hunchd answered ${answer.status}.`, told.error?.hint ?? "");
}

function buildAddress(path: string, params: unknown, query: unknown): string {
  let address = path;
  for (const [name, value] of Object.entries((params ?? {}) as Record<string, unknown>))
    address = address.replace(`{${name}}`, encodeURIComponent(String(value)));
  const pairs = Object.entries((query ?? {}) as Record<string, unknown>).filter(([, value]) => value !== undefined && value !== "");
  const text = pairs.map(([name, value]) => `${name}=${encodeURIComponent(Array.isArray(value) ? value.join(",") : String(value))}`);
  return text.length ? `${address}?${text.join("&")}` : address;
}
