/** Converts diagnostics to signals for new errors and cleared ones. */

import type { Happened } from "./outbox";

export interface Underlined {
  readonly message: string;
  readonly line: number; // from 1
  readonly source?: string | undefined; // the tool
  readonly code?: string | undefined;
}

const MOST_OF_A_FILE = 20; // more are consequences of the first ones
const LONGEST = 2_000; // characters of one message

/** Tracks the reported errors of each file, and returns the difference. */
export class Errors {
  private readonly told = new Map<string, Set<string>>(); // project and file → texts

  /** Return the signals that update the reported errors of a file to its current ones. */
  changes(project: string, file: string, underlined: readonly Underlined[]): Happened[] {
    const key = `${project}\0${file}`;
    const before = this.told.get(key) ?? new Set<string>();
    const now = new Map<string, number>();
    for (const one of underlined.slice(0, MOST_OF_A_FILE)) {
      const text = textOf(one);
      now.set(text, now.get(text) ?? one.line);
    }
    if (now.size > 0) {
      this.told.set(key, new Set(now.keys()));
    } else {
      this.told.delete(key);
    }
    const gone = [...before].filter((text) => !now.has(text));
    const cleared: Happened[] =
      gone.length > 0 && now.size === 0
        ? [{ kind: "error_cleared", file }]
        : gone.map((text) => ({ kind: "error_cleared", text, file }));
    const appeared: Happened[] = [...now]
      .filter(([text]) => !before.has(text))
      .map(([text, line]) => ({ kind: "error", text, file, line }));
    return [...cleared, ...appeared];
  }
}

/** "error: message (tool code)", as compilers write it. */
export function textOf({ message, source, code }: Underlined): string {
  const origin = [source, code].filter((part) => part).join(" ");
  const said = message.trim().slice(0, LONGEST);
  return `error: ${said}${origin ? ` (${origin})` : ""}`;
}
