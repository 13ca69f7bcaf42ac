/** Changes of nights that are being undone: held back, then sent, until the daemon tells that they are undone. */

import { useEffect, useState } from "preact/hooks";

/** An undo that was asked for; `sent` is when it left, 0 while it is held back. */
interface Wanted {
  run: string;
  numbers: readonly number[];
  sent: number;
}

const KEY = "hunchd-undoing"; // what was sent outlives a reload; what is held back is sent by leaving
const MAX_WAIT = 30_000; // ms without a sign that the daemon works on it
const watchers = new Set<() => void>();
let wanted: readonly Wanted[] = JSON.parse(sessionStorage.getItem(KEY) ?? "[]") as Wanted[];

function set(changed: readonly Wanted[]): void {
  if (changed.length === wanted.length && changed.every((one, at) => one === wanted[at])) return;
  wanted = changed;
  sessionStorage.setItem(KEY, JSON.stringify(wanted.filter((one) => one.sent)));
  watchers.forEach((show) => show());
}

/** Hold an undo back; the answer says when it is sent, and drops it where it was not wanted or was refused. */
export function holdUndo(run: string, numbers: readonly number[]): { send: () => void; drop: () => void } {
  let own: Wanted = { run, numbers, sent: 0 };
  set([...wanted, own]);
  return {
    send: () => {
      const held = own;
      own = { ...own, sent: Date.now() };
      set(wanted.map((one) => (one === held ? own : one)));
    },
    drop: () => set(wanted.filter((one) => one !== own)),
  };
}

/** Drop what the daemon tells is undone, and what it shows no sign of any more. */
export function settleUndo(run: string, undone: ReadonlySet<number>, isWorking: boolean): void {
  const isOver = (one: Wanted) => one.numbers.every((number) => undone.has(number)) || (one.sent > 0 && !isWorking && Date.now() - one.sent > MAX_WAIT);
  set(wanted.filter((one) => one.run !== run || !isOver(one)));
}

/** Return what is being undone in a night. */
export function useWanted(run: string): readonly Wanted[] {
  const [, setTurn] = useState(0);
  useEffect(() => {
    const show = () => setTurn((before) => before + 1);
    watchers.add(show);
    return () => void watchers.delete(show);
  }, []);
  return wanted.filter((one) => one.run === run);
}
