/**
 * The editor that shows the page, if one does: VS Code's extension then carries requests and events, and the page gets
 * neither the token nor a session of its own.
 */

interface Host {
  postMessage(message: unknown): void;
}
declare function acquireVsCodeApi(): Host;

type Told = { id: number; status: number; text: string } | { event: { type: string } } | { link: "live" | "lost" } | { show: string };

export const host: Host | undefined = typeof acquireVsCodeApi === "function" ? acquireVsCodeApi() : undefined;

const waiting = new Map<number, (answer: Response) => void>();
const listeners = new Set<(told: Told) => void>();
let last = 0;

if (host) {
  addEventListener("message", ({ data }: MessageEvent<Told>) => {
    if (!("id" in data)) return listeners.forEach((listener) => listener(data));
    const hasBody = data.status !== 204 && data.status !== 304;
    waiting.get(data.id)?.(new Response(hasBody ? data.text : null, { status: data.status || 503 }));
    waiting.delete(data.id);
  });
}

export function onHost(then: (told: Exclude<Told, { id: number }>) => void): void {
  listeners.add(then as (told: Told) => void);
}

/** Send a request, through the editor if one shows the page. */
export function send(address: string, init: RequestInit): Promise<Response> {
  if (!host) return fetch(address, init);
  const id = ++last;
  return new Promise((resolve, reject) => {
    waiting.set(id, resolve);
    init.signal?.addEventListener("abort", () => {
      waiting.delete(id);
      reject(new DOMException("no longer wanted", "AbortError"));
    });
    host!.postMessage({ id, method: init.method ?? "GET", address, body: init.body ?? undefined });
  });
}
