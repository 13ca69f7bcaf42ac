/** Changes of a night as rows: what is one thing to people is one row, with all that must be undone with it. */

import type { Schemas } from "../api";
import { describeNightChange } from "./night_words";

export type Change = NonNullable<Schemas["Run"]["changes"]>[number];
type Edit = Change["edits"][number];

/** One or more changes that are shown as one. */
export interface Row {
  key: number;
  title: string;
  why: string;
  step: Change["step"];
  changes: readonly Change[];
}

const HISTORY = /^condense (\d+) episodes of (.+) into one memory$/;

/** Return the rows of the changes, in order; a history that grew step by step is one row. */
export function listRows(changes: readonly Change[]): Row[] {
  const rows = new Map<string, Change[]>();
  for (const change of changes) {
    const key = nameHistory(change) ?? `change ${change.change}`;
    rows.set(key, [...(rows.get(key) ?? []), change]);
  }
  return [...rows.values()].map((its) => ({ key: its[0]!.change, title: describeRow(its), why: its[0]!.why, step: its[0]!.step, changes: its }));
}

/** Return the id of the history that a change makes or extends. */
function nameHistory({ what, edits }: Change): string | undefined {
  return HISTORY.test(what) ? edits.find((edit) => edit.was === null || "content" in edit.was)?.id : undefined;
}

function describeRow(changes: readonly Change[]): string {
  const [first] = changes;
  const joined = changes.reduce((sum, one) => sum + Number(HISTORY.exec(one.what)?.[1] ?? 0), 0);
  return describeNightChange({ ...first!, what: joined ? first!.what.replace(/\d+/, String(joined)) : first!.what });
}

/** Return each memory once, from the first state to the last; what is new first. */
export function mergeEdits(changes: readonly Change[]): Edit[] {
  const merged = new Map<string, Edit>();
  for (const edit of changes.flatMap((one) => one.edits)) {
    const before = merged.get(edit.id);
    if (!before) merged.set(edit.id, edit);
    else merged.set(edit.id, { id: edit.id, was: before.was && { ...edit.was, ...before.was }, now: edit.now && { ...before.now, ...edit.now } });
  }
  return [...merged.values()].sort((one, other) => Number(one.was !== null) - Number(other.was !== null));
}

/** Return the changes of a row with the later ones that build on them, last first: in this order each can be undone. */
export function listChain(row: Row, changes: readonly Change[]): Change[] {
  const own = new Set(row.changes.map((one) => one.change));
  const touched = new Map<string, Set<string>>(); // by memory
  const chain: Change[] = [];
  for (const change of changes) {
    if (change.change < row.key || (!own.has(change.change) && !change.edits.some((edit) => buildsOn(edit, touched.get(edit.id))))) continue;
    chain.push(change);
    for (const edit of change.edits) touched.set(edit.id, new Set([...(touched.get(edit.id) ?? []), ...listParts(edit)]));
  }
  return chain.reverse();
}

const WHOLE = "*"; // the memory itself was made or removed

function buildsOn(edit: Edit, touched: ReadonlySet<string> | undefined): boolean {
  if (!touched) return false;
  const parts = listParts(edit);
  return touched.has(WHOLE) || parts.includes(WHOLE) || parts.some((part) => touched.has(part));
}

/** Return what the daemon can undo by itself: a field, a name of a mapping, an element of a list. */
function listParts({ was, now }: Edit): string[] {
  if (!was || !now) return [WHOLE];
  return [...new Set([...Object.keys(was), ...Object.keys(now)])].flatMap((name) => {
    if (name === "updated") return [];
    const [before, after] = [was[name], now[name]];
    if (Array.isArray(before) && Array.isArray(after)) return [...listMissing(before, after), ...listMissing(after, before)].map((one) => `${name} ${one}`);
    if (!isMapping(before) || !isMapping(after)) return [name];
    return Object.keys({ ...before, ...after }).filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key])).map((key) => `${name}.${key}`);
  });
}

function listMissing(these: readonly unknown[], those: readonly unknown[]): string[] {
  const known = new Set(those.map((one) => JSON.stringify(one)));
  return these.map((one) => JSON.stringify(one)).filter((one) => !known.has(one));
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
