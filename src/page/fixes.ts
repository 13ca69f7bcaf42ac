/** Errors and the fixes that are kept beside them, as memories of one kind. */

import type { Memory } from "./components/memory";

const FIX = "fix";

export function isFix(memory: Memory): boolean {
  return memory.tags.includes(FIX) && memory.links.some((link) => link.type === "fixes");
}

/** Return those of the memories that fixed this error. */
export function fixesOf(error: Memory, memories: readonly Memory[]): Memory[] {
  return memories.filter((one) => isFix(one) && one.links.some((link) => link.type === "fixes" && link.ref === error.id));
}
