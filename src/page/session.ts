/** The browser session: a code from `hunch ui` becomes a cookie, and a key that only this origin can read. */

import { host, send } from "./host";

const KEY = "hunchd-key";

export type Access = { state: "open"; readOnly: boolean; version: string } | { state: "locked"; reason: string };

export function getKey(): string {
  return localStorage.getItem(KEY) ?? "";
}

export function forgetKey(): void {
  localStorage.removeItem(KEY);
}

/** Call `then` when another tab has opened a session, so that this one goes on by itself. */
export function onKeyChanged(then: () => void): () => void {
  const listener = (event: StorageEvent) => {
    if (event.key === KEY && event.newValue) then();
  };
  addEventListener("storage", listener);
  return () => removeEventListener("storage", listener);
}

/** Exchange the code in the address, if there is one, and say what this browser may do. */
export async function openSession(): Promise<Access> {
  if (host) {
    const told = await (await send("/page/session", {})).json();
    return { state: "open", readOnly: told.read_only, version: told.version };
  }
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code) {
    history.replaceState(null, "", location.pathname + location.search);
    const answer = await fetch("/page/session", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Hunchd-Page": "new" },
      body: JSON.stringify({ code }),
    });
    const told = await answer.json();
    if (!answer.ok) return { state: "locked", reason: String(told.error?.message ?? "the code did not work") };
    localStorage.setItem(KEY, told.key);
    return { state: "open", readOnly: told.read_only, version: told.version };
  }
  if (!getKey()) return { state: "locked", reason: "" };
  const answer = await fetch("/page/session", { headers: { "X-Hunchd-Page": getKey() } });
  const told = await answer.json();
  if (!answer.ok) return { state: "locked", reason: "The session has ended: hunchd was started again, or 12 hours went by." };
  return { state: "open", readOnly: told.read_only, version: told.version };
}
