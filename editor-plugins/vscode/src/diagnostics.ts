/** What an editor underlines in red → errors that appeared and errors that are gone. */

import type { Happened } from "./outbox";

export interface Underlined {
  readonly message: string;
  readonly line: number; // the first is 1
  readonly source?: string | undefined; // the tool
  readonly code?: string | undefined;
}

const MOST_OF_A_FILE = 20; // more than these are the consequence of the first ones
const LONGEST = 2_000; // characters of one message

/** Remembers what was told of each file, and tells the difference. */
export class Errors {
  private readonly told = new Map<string, Set<string>>(); // project and file → texts

  /** The signals that make what was told of a file equal to what is underlined in it now. */
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
