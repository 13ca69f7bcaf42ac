/**
 * Events of the daemon, live. All tabs share one connection, since a browser allows six: the tab that holds the lock
 * reads, and passes each event on to the others.
 */

import { useEffect, useRef, useState } from "preact/hooks";
import { openEvents } from "./api";
import { host, onHost } from "./host";

export interface HunchEvent {
  type: string;
  project?: string;
  [field: string]: unknown;
}
export type Link = "connecting" | "live" | "lost";
type Message = { link: Link } | { event: HunchEvent } | { ask: true };

const MAX_PAUSE = 15_000; // ms between two attempts
const channel = new BroadcastChannel("hunchd-events");
const listeners = new Set<(event: HunchEvent) => void>();
const linkListeners = new Set<(link: Link) => void>();
let link: Link = "connecting";
let isReader = false;
let stop = new AbortController();

/** Start reading, or wait for the tab that reads; `stopEvents` ends it. */
export function startEvents(): void {
  if (host) return followHost();
  stop.abort();
  stop = new AbortController();
  const { signal } = stop;
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if ("ask" in data) isReader && channel.postMessage({ link });
    else receive(data);
  };
  channel.postMessage({ ask: true });
  void navigator.locks.request("hunchd-events", { signal }, () => readForever(signal)).catch(() => undefined);
}

let isFollowing = false;
function followHost(): void {
  if (!isFollowing) onHost((told) => ("event" in told ? receive({ event: told.event }) : "link" in told && receive({ link: told.link })));
  isFollowing = true;
  host!.postMessage({ follow: true });
}

export function stopEvents(): void {
  stop.abort();
}

async function readForever(signal: AbortSignal): Promise<void> {
  isReader = true;
  let pause = 500;
  while (!signal.aborted) {
    try {
      const answer = await openEvents(signal);
      pause = 500;
      tell({ link: "live" });
      await readStream(answer);
    } catch {
      // the link says that it is lost
    }
    if (signal.aborted) break;
    tell({ link: "lost" });
    await new Promise((then) => setTimeout(then, pause));
    pause = Math.min(pause * 2, MAX_PAUSE);
  }
  isReader = false;
}

async function readStream(answer: Response): Promise<void> {
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const parts = text.split("\n\n");
    text = parts.pop() ?? "";
    for (const part of parts) {
      const data = part.split("\n").find((line) => line.startsWith("data: "));
      if (data) tell({ event: JSON.parse(data.slice(6)) as HunchEvent });
    }
  }
}

function tell(message: Message): void {
  channel.postMessage(message);
  receive(message);
}

function receive(message: Message): void {
  if ("link" in message) {
    link = message.link;
    linkListeners.forEach((listener) => listener(link));
  } else if ("event" in message) listeners.forEach((listener) => listener(message.event));
}

interface Listening {
  /** Call once for a burst, a little after its last event, and at least every two seconds. */
  bundled?: boolean;
  about?: (event: HunchEvent) => boolean;
}
const BURST = 250; // ms
const MAX_BURST = 2_000; // ms

/** Call `then` for each event of these types that concerns `project`, or all projects. */
export function useEvents(types: readonly string[], project: string | null, then: (event: HunchEvent) => void, { bundled = false, about }: Listening = {}): void {
  const burst = useRef({ timer: 0, began: 0 });
  const call = useRef(then);
  call.current = then;
  useEffect(() => {
    const listener = (event: HunchEvent) => {
      if (!types.includes(event.type) || (project !== null && event.project !== undefined && event.project !== project) || about?.(event) === false) return;
      if (!bundled) return call.current(event);
      const { timer, began } = burst.current;
      const now = Date.now();
      const isWaiting = timer !== 0;
      clearTimeout(timer);
      const run = () => {
        burst.current = { timer: 0, began: 0 };
        call.current(event);
      };
      const start = isWaiting ? began : now;
      burst.current = { timer: window.setTimeout(run, Math.min(BURST, Math.max(0, start + MAX_BURST - now))), began: start };
    };
    listeners.add(listener);
    return () => void listeners.delete(listener);
  });
  useEffect(() => () => clearTimeout(burst.current.timer), []);
}

export function useLink(): Link {
  const [state, setState] = useState(link);
  useEffect(() => {
    linkListeners.add(setState);
    return () => void linkListeners.delete(setState);
  }, []);
  return state;
}
