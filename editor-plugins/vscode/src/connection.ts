/** Connection to the daemon: finds it, follows its events, reconnects, and starts it if allowed. */

import { type FSWatcher, watch } from "node:fs";
import { dirname } from "node:path";

import { Emitter } from "./emitter";
import { type DaemonEvent, follow } from "./events";
import { type Answer, type Question, TooSlow, Unreachable, ask, json } from "./http";
import { PROTOCOL, type Rendezvous, isAlive, readRendezvous } from "./rendezvous";

export type State =
  | { readonly is: "looking" }
  | { readonly is: "starting" }
  | { readonly is: "ready"; readonly version: string; readonly pid: number }
  | { readonly is: "slow" } // not answering
  | { readonly is: "missing" } // the command is not installed
  | { readonly is: "absent"; readonly why: string }
  | { readonly is: "incompatible"; readonly why: string };

export type Started = { readonly ok: true } | { readonly ok: false; readonly missing: boolean; readonly why: string };

export interface Surrounding {
  file(): Promise<string>;
  mayStart(): boolean;
  start(): Promise<Started>;
  log(text: string): void;
  readonly pauses?: { shortest: number; longest: number }; // ms between two attempts
}

const HEALTH = 3_000; // ms
const PAUSES = { shortest: 250, longest: 15_000 }; // ms; an attempt reads one small file
// A daemon that crashes repeatedly is not restarted.
const MOST_STARTS = 3;
const UNHEARD = 5_000; // ms between two health checks of a daemon without an event stream
const STARTS_COUNT_FOR = 10 * 60_000; // ms

export class Connection {
  readonly changed = new Emitter<State>();
  readonly events = new Emitter<DaemonEvent>();
  private current: State = { is: "looking" };
  private daemon: Rendezvous | undefined;
  private asked = true; // a start was requested: by opening the window, or by the user
  private starts: number[] = [];
  private readonly closing = new AbortController();
  private poked = false;
  private endRest: () => void = () => undefined;
  private watcher: FSWatcher | undefined;

  constructor(private readonly around: Surrounding) {}

  get state(): State {
    return this.current;
  }

  /** Find the daemon and stay connected, until `close`. */
  async run(): Promise<void> {
    const { shortest, longest } = this.around.pauses ?? PAUSES;
    let pause = shortest;
    while (!this.closing.signal.aborted) {
      const before = this.current.is;
      const stayed = await this.once().catch((error: Error) => {
        this.around.log(`searching the daemon failed: ${error.message}`);
        return false;
      });
      pause = stayed || this.current.is !== before ? shortest : Math.min(pause * 2, longest);
      await this.rest(pause);
    }
  }

  close(): void {
    this.closing.abort();
    this.watcher?.close();
    this.wake();
  }

  /** Try again now, and start a daemon if there is none, even after crashes. */
  startNow(): void {
    this.asked = true;
    this.starts = [];
    this.wake();
  }

  /** Return the answer as JSON. Rejects with Refused or Unreachable. */
  async json(question: Question): Promise<unknown> {
    return json(await this.ask(question));
  }

  /** Return the answer of the running daemon, even if it was restarted a moment ago. */
  async ask(question: Question): Promise<Answer> {
    const first = this.daemon ?? (await this.look());
    if (first === undefined) {
      throw new Unreachable("no daemon is running");
    }
    try {
      const answer = await ask(first, question);
      if (answer.status !== 401) {
        return answer;
      }
    } catch (error) {
      if (!(error instanceof Unreachable) || error instanceof TooSlow) {
        throw error;
      }
    }
    const second = await this.look();
    if (second === undefined || second.token === first.token) {
      this.wake();
      throw new Unreachable("the daemon went away");
    }
    return ask(second, question);
  }

  private async look(): Promise<Rendezvous | undefined> {
    const told = await readRendezvous(await this.around.file());
    this.daemon = told?.protocol === PROTOCOL ? told : undefined;
    return this.daemon;
  }

  /** Try once, and follow the daemon that was found. Resolves with true if there was one. */
  private async once(): Promise<boolean> {
    const file = await this.around.file();
    this.watch(dirname(file));
    this.poked = false;
    const told = await readRendezvous(file);
    const answers = told === undefined ? "no" : await this.answers(told);
    if (told === undefined || answers === "no") {
      this.daemon = undefined;
      return this.without(told !== undefined && !isAlive(told.pid));
    }
    if (answers === "late") {
      this.say({ is: "slow" });
      return false;
    }
    if (told.protocol !== PROTOCOL) {
      this.daemon = undefined;
      this.say({ is: "incompatible", why: older(told) });
      return false;
    }
    this.asked = false;
    this.daemon = told;
    await this.stay(told);
    return true;
  }

  private async answers(told: Rendezvous): Promise<"yes" | "late" | "no"> {
    try {
      const answer = await ask(told, { method: "GET", path: "/health", timeout: HEALTH, signal: this.closing.signal });
      return answer.status === 200 ? "yes" : "no";
    } catch (error) {
      this.around.log(`daemon ${told.pid}: ${(error as Error).message}`);
      return error instanceof TooSlow ? "late" : "no";
    }
  }

  private async stay(told: Rendezvous): Promise<void> {
    const ready: State = { is: "ready", version: told.version, pid: told.pid };
    const heard = await follow(told, this.closing.signal, {
      opened: () => {
        this.current = { is: "looking" }; // events may have been missed: announce even the same daemon
        this.say(ready);
      },
      event: (event) => this.events.fire(event),
    });
    if (!heard) {
      this.say(ready); // it answers, but rejects further event streams
      await this.rest(UNHEARD);
    }
  }

  private async without(crashed: boolean): Promise<boolean> {
    const now = Date.now();
    this.starts = this.starts.filter((at) => now - at < STARTS_COUNT_FOR);
    // A deliberate stop removes the file: the daemon stays stopped until it is requested.
    if (!this.around.mayStart() || !(this.asked || crashed) || this.starts.length >= MOST_STARTS) {
      if (this.current.is !== "missing" && this.current.is !== "absent") {
        this.say({ is: "absent", why: "" });
      }
      return false;
    }
    this.asked = false;
    this.starts.push(now);
    this.say({ is: "starting" });
    const started = await this.around.start();
    if (!started.ok) {
      this.around.log(`hunch start: ${started.why}`);
      this.say(started.missing ? { is: "missing" } : { is: "absent", why: started.why });
    }
    return started.ok;
  }

  private say(state: State): void {
    const same = JSON.stringify(state) === JSON.stringify(this.current);
    this.current = state;
    if (!same) {
      this.around.log(`daemon: ${state.is}`);
      this.changed.fire(state);
    }
  }

  /** Watch the folder of the rendezvous file for changes; it may not exist yet. */
  private watch(folder: string): void {
    this.watcher?.close();
    this.watcher = undefined;
    try {
      const watcher = watch(folder, { persistent: false }, () => this.wake());
      watcher.on("error", () => watcher.close());
      this.watcher = watcher;
    } catch {
      // The folder does not exist before the first start: then only the retries find the daemon.
    }
  }

  private wake(): void {
    this.poked = true;
    this.endRest();
  }

  private rest(longest: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, longest);
      this.endRest = () => {
        clearTimeout(timer);
        resolve();
      };
      if (this.poked || this.closing.signal.aborted) {
        this.endRest();
      }
    });
  }
}

function older(told: Rendezvous): string {
  const [old, hint] =
    told.protocol < PROTOCOL
      ? ["the daemon is older", "run `hunch restart` to start the installed version"]
      : ["this extension is older", "install the one that came with hunchd"];
  return `Daemon ${told.version} speaks protocol ${told.protocol}, this extension ${PROTOCOL}: ${old}; ${hint}.`;
}
