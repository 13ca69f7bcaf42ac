/** Actions that can be taken back: done at once and undone by the daemon, or held back for a few seconds. */

import { useEffect, useState } from "preact/hooks";
import { RequestFailed } from "../api";

interface Toast {
  id: number;
  text: string;
  undo?: () => void;
  isError?: boolean;
}

const UNDO_MS = 8_000;
let toasts: readonly Toast[] = [];
let next = 1;
let show: (toasts: readonly Toast[]) => void = () => undefined;
const waiting = new Set<() => void>();

addEventListener("pagehide", () => waiting.forEach((send) => send()));

function update(changed: readonly Toast[]): void {
  toasts = changed;
  show(toasts);
}

function dismiss(id: number): void {
  update(toasts.filter((toast) => toast.id !== id));
}

function add(toast: Omit<Toast, "id">, ms = UNDO_MS): number {
  const id = next++;
  update([...toasts.slice(-3), { ...toast, id }]);
  setTimeout(() => dismiss(id), ms);
  return id;
}

function addError(error: unknown): void {
  add({ text: error instanceof RequestFailed ? `That did not work: ${error.message} ${error.hint}` : `That did not work: ${String(error)}`, isError: true }, 12_000);
}

/** Do something that the daemon itself can undo. */
export async function act(text: string, run: () => Promise<unknown>, undo: (() => Promise<unknown>) | null, after: () => void = () => undefined): Promise<void> {
  try {
    await run();
  } catch (error) {
    addError(error);
    return;
  }
  after();
  if (!undo) return void add({ text });
  const id = add({
    text,
    undo: () => {
      dismiss(id);
      undo().then(() => (add({ text: "Undone." }, 4_000), after()), addError);
    },
  });
}

/** Do something that cannot be undone, once the time to take it back is over or the page is left. */
export function actLater(text: string, run: () => Promise<unknown>, onUndo: () => void = () => undefined): void {
  let timer = 0;
  const send = () => {
    clearTimeout(timer);
    if (waiting.delete(send)) run().catch((error: unknown) => (onUndo(), addError(error)));
  };
  waiting.add(send);
  timer = window.setTimeout(send, UNDO_MS);
  const id = add({
    text,
    undo: () => {
      clearTimeout(timer);
      waiting.delete(send);
      dismiss(id);
      onUndo();
    },
  });
}

export function Toasts() {
  const [shown, setShown] = useState(toasts);
  useEffect(() => {
    show = setShown;
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.map((toast) => (
        <div key={toast.id} class={toast.isError ? "toast bad" : "toast"}>
          <span>{toast.text}</span>
          {toast.undo && (
            <button type="button" onClick={toast.undo}>
              Undo
            </button>
          )}
          <button type="button" class="close" aria-label="Dismiss" onClick={() => dismiss(toast.id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
