/** Actions that can be undone: done at once and undone by the daemon, or held back for a while. Each stays listed with its undo. */

import { useEffect, useRef, useState } from "preact/hooks";
import { RequestFailed, sendPrepared, type Call } from "../api";
import { clock } from "../format";

interface Toast {
  id: number;
  text: string;
  undo?: () => void;
  stop?: string;
  isError?: boolean;
}
/** What a change is about: only the last change of one subject can be undone. */
interface Subject {
  id: string;
  title: string;
  /** What undoes the change after a reload, when what was on the page is gone; asked for when the change is done. */
  undo?: () => Call;
}
/** Something that was changed in this tab. */
interface Done {
  id: number;
  at: string;
  text: string;
  of: Subject;
  state: "done" | "waiting" | "final" | "undone";
  call: Call | null;
  stop?: string;
  /** Missing after a reload where nothing is kept that could undo it. */
  undo?: () => void;
}

const UNDO_MS = 20_000; // long enough to read what happened, and to reach the button with a keyboard
const MAX_DONE = 200;
const NOTHING: Subject = { id: "", title: "" };
let toasts: readonly Toast[] = [];
const KEY = "hunchd-changes"; // the session's storage: it ends with the tab
let done: readonly Done[] = readDone();
let next = Math.max(0, ...done.map((one) => one.id)) + 1;
const watchers = new Set<() => void>();
const undoWatchers = new Set<() => void>();
const waiting = new Set<() => void>();

// A page that is out of sight may be ended without a further word.
let isLeft = false; // what is sent then arrives, although its answer is never read
addEventListener("pagehide", () => ((isLeft = true), waiting.forEach((send) => send())));
addEventListener("pageshow", () => (isLeft = false));
document.addEventListener("visibilitychange", () => document.hidden && waiting.forEach((send) => send()));

function update(changed: readonly Toast[]): void {
  toasts = changed;
  watchers.forEach((show) => show());
}

/** Read what was changed before a reload; what was held back then was sent. */
function readDone(): Done[] {
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "[]") as Done[];
  return kept.map((one) => ({ ...one, state: one.state !== "waiting" ? one.state : one.call ? "done" : "final", ...(one.call ? { undo: () => void undoKept(one.id, one.call!) } : {}) }));
}

async function undoKept(id: number, call: Call): Promise<void> {
  try {
    await sendPrepared(call);
  } catch (error) {
    return addError(error);
  }
  setState(id, "undone");
  add({ text: "Undone." }, 4_000);
  undoWatchers.forEach((then) => then());
}

/** Call `then` when a change was undone that was made before a reload: nothing on the page knows of it. */
export function useUndone(then: () => void): void {
  const call = useRef(then);
  call.current = then;
  useEffect(() => {
    const watcher = () => call.current();
    undoWatchers.add(watcher);
    return () => void undoWatchers.delete(watcher);
  }, []);
}

function setDone(changed: readonly Done[]): void {
  done = changed.slice(0, MAX_DONE);
  sessionStorage.setItem(KEY, JSON.stringify(done));
  watchers.forEach((show) => show());
}

function list(entry: Omit<Done, "at">): void {
  setDone([{ at: new Date().toISOString(), ...entry }, ...done]);
}

function setState(id: number, state: Done["state"]): void {
  setDone(done.map((one) => (one.id === id ? { ...one, state } : one)));
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
  add({ text: error instanceof RequestFailed ? `That did not work: ${error.message} ${error.hint}` : `That did not work: ${String(error)}`, isError: true });
}

/** Do something that the daemon itself can undo; return what undoes it, for a button beside what was changed. */
export async function act(text: string, run: () => Promise<unknown>, undo: (() => Promise<unknown>) | null, after: () => void = () => undefined, of: Subject = NOTHING): Promise<(() => void) | null> {
  try {
    await run();
  } catch (error) {
    addError(error);
    return null;
  }
  after();
  if (!undo) {
    add({ text });
    return null;
  }
  const takeBack = () => {
    dismiss(id);
    undo().then(() => (setState(id, "undone"), add({ text: "Undone." }, 4_000), after()), addError);
  };
  const id = add({ text, undo: takeBack });
  list({ id, text, of: { id: of.id, title: of.title }, state: "done", call: of.undo?.() ?? null, undo: takeBack });
  return takeBack;
}

interface Later {
  onUndo?: () => void;
  /** Called when it was sent, with what undoes it from then on, if anything does. */
  onSent?: (undo: (() => void) | null) => void;
  /** What undoes it once it was sent. */
  back?: () => Call;
  /** Word of the button that stops it, where “Undo” would be the thing itself. */
  stop?: string;
  of?: Subject;
  /** Say when it is done, where the text alone would say that it is done already. */
  when?: string;
}

/** Do something that cannot be undone, once the time to undo it is over or the page is left; return what stops it until then. */
export function actLater(text: string, run: () => Promise<unknown>, { onUndo = () => undefined, onSent = () => undefined, of = NOTHING, when, back, stop }: Later = {}): () => void {
  let timer = 0;
  const fail = (error: unknown) => {
    if (isLeft) return;
    setState(id, "undone");
    onUndo();
    addError(error);
  };
  const send = () => {
    clearTimeout(timer);
    if (!waiting.delete(send)) return;
    const call = back?.() ?? null;
    const undo = call && (() => void undoKept(id, call).then(onUndo));
    setDone(done.map((one) => (one.id === id ? { ...one, state: call ? "done" : "final", call, ...(undo ? { undo } : {}) } : one)));
    run().then(() => onSent(undo), fail);
  };
  waiting.add(send);
  timer = window.setTimeout(send, UNDO_MS);
  const takeBack = () => {
    clearTimeout(timer);
    waiting.delete(send);
    dismiss(id);
    setState(id, "undone");
    onUndo();
  };
  const id = add({ text: when ? `${text}. ${when}` : text, undo: takeBack, ...(stop ? { stop } : {}) });
  list({ id, text, of: { id: of.id, title: of.title }, state: "waiting", call: back?.() ?? null, undo: takeBack, ...(stop ? { stop } : {}) });
  return takeBack;
}

function useChanges(): void {
  const [, setTurn] = useState(0);
  useEffect(() => {
    const show = () => setTurn((before) => before + 1);
    watchers.add(show);
    return () => void watchers.delete(show);
  }, []);
}

export function Toasts() {
  useChanges();
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.map((toast) => (
        <div key={toast.id} class={toast.isError ? "toast bad" : "toast"}>
          <span>{toast.text}</span>
          {toast.undo && (
            <button type="button" onClick={toast.undo}>
              {toast.stop ?? "Undo"}
            </button>
          )}
          <button type="button" class="close" aria-label="Dismiss" title="Hide this message; nothing else happens" onClick={() => dismiss(toast.id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}

const STATES: Record<Done["state"], string> = { done: "changed again since", waiting: "", final: "cannot be undone", undone: "undone" };

/** Tell whether a change is still to be undone, and no later one of the same subject stands. */
function canUndo(change: Done, changes: readonly Done[]): boolean {
  if (!change.undo || change.state === "waiting") return change.undo !== undefined;
  return change.state === "done" && !changes.some((one) => one.id > change.id && one.state === "done" && one.of.id !== "" && one.of.id === change.of.id);
}

function nameUndo(change: Done): string {
  return (change.state === "waiting" && change.stop) || "Undo";
}

/** Say why there is no undo. */
function nameState(change: Done): string {
  if (change.state === "final" && change.stop) return "done";
  return change.state === "done" && !change.undo ? "undo it where it was done" : STATES[change.state];
}

/** What was changed in this tab, each with its undo until it is undone. */
export function OwnChanges() {
  useChanges();
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const close = (event: Event) => {
      const isKey = event instanceof KeyboardEvent;
      if (isKey ? event.key !== "Escape" : box.current?.contains(event.target as Node)) return;
      box.current?.removeAttribute("open");
      if (isKey) box.current?.querySelector("summary")?.focus();
    };
    addEventListener("keydown", close);
    addEventListener("pointerdown", close);
    return () => (removeEventListener("keydown", close), removeEventListener("pointerdown", close));
  }, [isOpen]);
  if (done.length === 0) return null;
  return (
    <details class="own-changes" ref={box} open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span class="words">Your changes </span>({done.length})
      </summary>
      {isOpen && <ul class="plain">
        {done.map((one) => (
          <li key={one.id}>
            <span>
              <span class="quiet-text">{clock(one.at)}</span> {one.text} {one.of.title && <q>{one.of.title.slice(0, 120)}</q>}
            </span>
            {canUndo(one, done) ? (
              <button type="button" onClick={one.undo} aria-label={`${nameUndo(one)}: ${one.text} ${one.of.title.slice(0, 60)}`}>
                {nameUndo(one)}
              </button>
            ) : (
              <span class="tag">{nameState(one)}</span>
            )}
          </li>
        ))}
      </ul>}
    </details>
  );
}

/** What was done to something on the page, and what undoes it. */
export interface Noted {
  text: string;
  undo: (() => void) | null;
  /** What it is about is no longer shown to agents. */
  isGone?: boolean;
}

/** A note with its undo, which stays where the change was made. */
export function NotedTag({ noted }: { noted: Noted | null }) {
  if (!noted) return null;
  return (
    <p class="noted-box">
      <span class="tag noted-tag">{noted.text}</span>
      {noted.undo && (
        <button type="button" class="quiet" onClick={noted.undo}>
          Undo
        </button>
      )}
    </p>
  );
}
