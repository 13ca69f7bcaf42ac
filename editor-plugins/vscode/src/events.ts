/** Client of the daemon's server-sent events; the end of the stream shows that the daemon has ended. */

import * as http from "node:http";

import { head } from "./http";
import type { Rendezvous } from "./rendezvous";

export type DaemonEvent = Readonly<{ type: string; project?: string; file?: string | null; path?: string }>;

// The daemon sends a keep-alive every 15 s.
const SILENCE = 50_000; // ms

/** Follow until the stream ends, is rejected, times out or is aborted. Resolves with true if it was ever open. */
export function follow(
  daemon: Rendezvous,
  signal: AbortSignal,
  on: { opened: () => void; event: (event: DaemonEvent) => void },
): Promise<boolean> {
  return new Promise((resolve) => {
    let opened = false;
    const end = (): void => resolve(opened);
    const options = head(daemon, { method: "GET", path: "/events" }, daemon.socket);
    const request = http.request({ ...options, signal, timeout: SILENCE }, (response) => {
      if (response.statusCode !== 200) {
        response.destroy();
        return end();
      }
      opened = true;
      on.opened();
      const read = reader(on.event);
      response.setEncoding("utf8");
      response.on("data", read);
      response.on("error", end);
      response.on("close", end);
    });
    request.on("timeout", () => request.destroy());
    request.on("error", end);
    request.on("close", end);
    request.end();
  });
}

/** Parser that takes chunks of the stream and emits complete events. */
export function reader(tell: (event: DaemonEvent) => void): (piece: string) => void {
  let rest = "";
  return (piece) => {
    const blocks = (rest + piece).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = block
        .split("\n")
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice(5).trimStart())
        .join("\n");
      const event = data ? parsed(data) : undefined;
      if (event) {
        tell(event);
      }
    }
  };
}

function parsed(data: string): DaemonEvent | undefined {
  try {
    const event: unknown = JSON.parse(data);
    return typeof event === "object" && event !== null && "type" in event ? (event as DaemonEvent) : undefined;
  } catch {
    return undefined;
  }
}
