/** Queue of signals: sent in order and in batches, each once, and kept while the daemon is unreachable. */

import { randomBytes } from "node:crypto";

import { type Answer, type Question, json } from "./http";

export type Happened =
  | { readonly kind: "file_opened" | "file_saved" | "file_closed"; readonly path: string }
  | { readonly kind: "error"; readonly text: string; readonly file: string; readonly line: number }
  | { readonly kind: "error_cleared"; readonly text?: string; readonly file: string }
  | { readonly kind: "used"; readonly path?: string; readonly id?: string };

export type Signal = Happened & {
  readonly project: string;
  readonly at: string;
  readonly event_id: string;
  readonly source: "editor";
  readonly command?: string;
};

export interface Post {
  ask(question: Question): Promise<Answer>;
  /** Add a project. False if that is not allowed, or failed. */
  add(project: string): Promise<boolean>;
  /** Called with signals that were accepted. */
  sent(signals: readonly Signal[]): void;
  log(text: string): void;
}

// Source of these errors, to distinguish them from those of a terminal.
export const DIAGNOSTICS = "editor diagnostics";
const TOGETHER = 60; // ms in which signals are batched
const MOST = 500; // signals kept while the daemon is unreachable: an hour or two of work; the oldest are dropped
const A_BATCH = 100;
const TRY_AGAIN = 10_000; // ms, if the daemon gives no time

interface Rejected {
  readonly index: number;
  readonly error: { readonly code: string; readonly message: string };
}

export class Outbox {
  private waiting: Signal[] = [];
  private timer: NodeJS.Timeout | undefined;
  private sending: Promise<void> | undefined;
  private closed = false;
  private resent: Set<string> = new Set(); // ids sent for the second time

  constructor(private readonly post: Post) {}

  get size(): number {
    return this.waiting.length;
  }

  /** Queue a signal and return; it is sent shortly. */
  add(project: string, happened: Happened, now: Date = new Date()): void {
    const command = happened.kind.startsWith("error") ? { command: DIAGNOSTICS } : {};
    const event_id = randomBytes(8).toString("hex");
    this.waiting.push({ ...happened, ...command, project, at: now.toISOString(), event_id, source: "editor" });
    if (this.waiting.length > MOST) {
      this.waiting.splice(0, this.waiting.length - MOST);
    }
    this.flush(TOGETHER);
  }

  /** Send queued signals after `delay` ms. Never rejects: unsent signals wait for the next flush. */
  flush(delay = 0): void {
    if (this.closed || (this.timer !== undefined && delay > 0)) {
      return;
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      void this.send();
    }, delay);
  }

  /** Send queued signals now. */
  async send(): Promise<void> {
    if (this.sending === undefined) {
      this.sending = this.empty().finally(() => {
        this.sending = undefined;
      });
    }
    await this.sending;
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
  }

  private async empty(): Promise<void> {
    try {
      while (this.waiting.length > 0 && !this.closed) {
        const batch = this.waiting.slice(0, A_BATCH);
        const answer = await this.post.ask({ method: "POST", path: "/signals", body: { signals: batch } });
        if (answer.status === 429 || answer.status >= 500) {
          return this.flush(answer.retryAfter ? answer.retryAfter * 1000 : TRY_AGAIN);
        }
        const again = await this.again(batch, answer);
        const done = new Set(batch.map((signal) => signal.event_id).filter((id) => !again.has(id)));
        this.waiting = this.waiting.filter((signal) => !done.has(signal.event_id));
        this.post.sent(batch.filter((signal) => done.has(signal.event_id)));
      }
    } catch (error) {
      this.post.log(`${this.waiting.length} signals are queued: ${(error as Error).message}`);
    }
  }

  /** Return the ids to send again: rejected because their project was unknown, and added since. */
  private async again(batch: readonly Signal[], answer: Answer): Promise<ReadonlySet<string>> {
    const unknown = new Map<string, string[]>();
    for (const { index, error } of rejectedOf(answer, this.post)) {
      const signal = batch[index];
      if (signal !== undefined && error.code === "not_found" && !this.resent.has(signal.event_id)) {
        unknown.set(signal.project, [...(unknown.get(signal.project) ?? []), signal.event_id]);
      } else {
        this.post.log(`a signal was rejected: ${error.message}`);
      }
    }
    this.resent = new Set();
    for (const [project, ids] of unknown) {
      if (await this.post.add(project)) {
        ids.forEach((id) => this.resent.add(id));
      }
    }
    return this.resent;
  }
}

function rejectedOf(answer: Answer, post: Post): readonly Rejected[] {
  try {
    return (json(answer) as { rejected: Rejected[] }).rejected;
  } catch (error) {
    post.log(`signals were rejected: ${(error as Error).message}`); // all of them; sending again would not help
    return [];
  }
}
