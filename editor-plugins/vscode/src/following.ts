/** Keeps the context of the current focus up to date in the background. */

import type { Bundle } from "./bundle";
import { Emitter } from "./emitter";
import type { DaemonEvent } from "./events";
import { type Answer, type Question, Refused, json } from "./http";
import type { Signal } from "./outbox";
import type { Place } from "./projects";

export type Shown =
  | { readonly is: "nothing-open" }
  | { readonly is: "unknown"; readonly project: string } // the daemon does not know the project
  | { readonly is: "bundle"; readonly place: Focus; readonly bundle: Bundle }
  | { readonly is: "failed"; readonly place: Focus; readonly why: string };

/** A file of a project, or the whole project. */
export interface Focus {
  readonly project: string;
  readonly path?: string | undefined;
}

export interface Source {
  ask(question: Question): Promise<Answer>;
  /** Add a project. False if that is not allowed, or failed. */
  add(project: string): Promise<boolean>;
  budget(): number; // tokens
  log(text: string): void;
}

const DEFAULT_BUDGET = 8000; // tokens, without a setting
const SETTLED = 120; // ms in a file before its context is requested
const CHANGES_CONTEXT: ReadonlySet<Signal["kind"]> = new Set(["file_saved", "error", "error_cleared"]);
const AFTER_NEWS = 400; // ms; events come in bursts

export class Following {
  readonly changed = new Emitter<Shown>();
  private current: Shown = { is: "nothing-open" };
  private focus: Focus | undefined;
  private asking: AbortController | undefined;
  private timer: NodeJS.Timeout | undefined;
  private etag: string | undefined;

  constructor(private readonly source: Source) {}

  get shown(): Shown {
    return this.current;
  }

  get place(): Focus | undefined {
    return this.focus;
  }

  /** Called when the focus changes to another file, or none. */
  at(place: Place | Focus | undefined): void {
    if (place?.project === this.focus?.project && place?.path === this.focus?.path) {
      return;
    }
    this.focus = place;
    this.etag = undefined;
    this.refresh(SETTLED);
  }

  /** Request again after a delay. */
  refresh(delay = AFTER_NEWS): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.now(), delay);
  }

  /** Handle an event that may affect the shown context. */
  heard(event: DaemonEvent): void {
    if (event.type === "indexed" || event.type === "lagged" || event.type === "project") {
      this.refresh();
    } else if (event.type === "progress" && this.current.is === "bundle" && this.current.bundle.status === "degraded") {
      this.refresh();
    } else if (event.type === "context_ready" && event.file === this.focus?.path) {
      this.refresh();
    }
  }

  /** Handle sent signals that may change the context. */
  told(signals: readonly Signal[]): void {
    if (signals.some((signal) => CHANGES_CONTEXT.has(signal.kind) && signal.project === this.focus?.project)) {
      this.refresh();
    }
  }

  close(): void {
    clearTimeout(this.timer);
    this.asking?.abort();
  }

  /** Request now. Never rejects; the answer of a superseded request is dropped. */
  async now(): Promise<void> {
    clearTimeout(this.timer);
    this.asking?.abort();
    const focus = this.focus;
    if (focus === undefined) {
      return this.show({ is: "nothing-open" });
    }
    const asking = (this.asking = new AbortController());
    let shown: Shown | undefined;
    try {
      shown = await this.asked(focus, asking.signal);
    } catch (error) {
      if (asking.signal.aborted) {
        return;
      }
      const why = (error as Error).message;
      this.source.log(`context of ${focus.path ?? focus.project}: ${why}`);
      // The shown context stays valid while the daemon restarts.
      const stays = this.current.is === "bundle" && this.current.place === focus;
      shown = stays ? undefined : { is: "failed", place: focus, why };
    }
    if (shown !== undefined && !asking.signal.aborted) {
      this.show(shown);
    }
  }

  private async asked(focus: Focus, signal: AbortSignal, again = true): Promise<Shown | undefined> {
    const query = { project: focus.project, file: focus.path, budget: budgetAsked(this.source.budget()) };
    const answer = await this.source.ask({ method: "GET", path: "/context", query, etag: this.etag, signal });
    if (answer.status === 304) {
      return undefined;
    }
    if (answer.status === 404) {
      return again && (await this.source.add(focus.project))
        ? this.asked(focus, signal, false)
        : { is: "unknown", project: focus.project };
    }
    try {
      const bundle = json(answer) as Bundle;
      if (!signal.aborted) {
        this.etag = answer.etag;
      }
      return { is: "bundle", place: focus, bundle };
    } catch (error) {
      if (error instanceof Refused) {
        return { is: "failed", place: focus, why: error.message };
      }
      throw error;
    }
  }

  private show(shown: Shown): void {
    this.current = shown;
    if (shown.is !== "bundle") {
      this.etag = undefined;
    }
    this.changed.fire(shown);
  }
}

/** Return the budget parameter of a request; none for the daemon's default. */
export function budgetAsked(budget: number): number | undefined {
  return budget === DEFAULT_BUDGET ? undefined : budget;
}
