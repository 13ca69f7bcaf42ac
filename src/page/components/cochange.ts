/** Files that changed together up to a moment, counted from past changes. */

import type { GraphEdge, GraphNode } from "./graph";

export interface PastChange {
  at: string;
  files: readonly string[];
}

const WINDOW_MONTHS = 24;
const MAX_FILES = 40; // a change of more files is a clean-up and joins everything with everything

export function monthOf(iso: string): number {
  const date = new Date(iso);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

export function nameMonth(month: number): string {
  return new Date(Date.UTC(Math.floor(month / 12), month % 12, 15)).toLocaleDateString("en-GB", { month: "long", year: "numeric" });
}

/** Return the neighbours of `middle` in the two years that end with `month`, the closest first. */
export function countTogether(middle: string, changes: readonly PastChange[], month: number, most: number): { nodes: GraphNode[]; edges: GraphEdge[]; changes: number } {
  const counted = changes.filter((one) => monthOf(one.at) <= month && monthOf(one.at) > month - WINDOW_MONTHS && one.files.length <= MAX_FILES && one.files.includes(middle));
  const near = new Map<string, number>();
  for (const change of counted) for (const file of change.files) if (file !== middle) near.set(file, (near.get(file) ?? 0) + 1);
  const best = [...near].sort((one, other) => other[1] - one[1] || one[0].localeCompare(other[0])).slice(0, most);
  const share = (times: number) => times / Math.max(counted.length, 1);
  const names = best.map(([file]) => file);
  const edges: GraphEdge[] = best.map(([file, times]) => ({ from: middle, to: file, weight: share(times) }));
  for (const [at, one] of names.entries())
    for (const other of names.slice(at + 1)) {
      const times = counted.filter((change) => change.files.includes(one) && change.files.includes(other)).length;
      if (times > 1) edges.push({ from: one, to: other, weight: share(times) });
    }
  return { nodes: [{ id: middle, weight: 1 }, ...best.map(([id, times]) => ({ id, weight: share(times) }))], edges, changes: counted.length };
}
