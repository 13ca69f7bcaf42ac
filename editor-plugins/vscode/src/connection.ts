/** The daemon as it comes and goes: found, followed, lost, found again, and started when that is allowed. */

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
  | { readonly is: "slow" } // there, and not answering
  | { readonly is: "missing" } // the command is not installed
  | { readonly is: "absent"; readonly why: string }
  | { readonly is: "incompatible"; readonly why: string };

export type Started = { readonly ok: true } | { readonly ok: false; readonly missing: boolean; readonly why: string };

export interface Surrounding {
  file(): Promise<string>;
  mayStart(): boolean;
  start(): Promise<Started>;
  log(text: string): void;
  readonly pauses?: { shortest: number; longest: number }; // ms between two looks
}

const HEALTH = 3_000; // ms
const PAUSES = { shortest: 250, longest: 15_000 }; // ms; a look is one read of a small file
// A daemon that falls over again and again is left alone.
const MOST_STARTS = 3;
const UNHEARD = 5_000; // ms between two looks at a daemon whose events cannot be followed
const STARTS_COUNT_FOR = 10 * 60_000; // ms

export class Connection {
  readonly changed = new Emitter<State>();
  readonly events = new Emitter<DaemonEvent>();
  private current: State = { is: "looking" };
  private daemon: Rendezvous | undefined;
  private asked = true; // a start was asked for: by opening the window, or by the user
  private starts: number[] = [];
  private readonly closing = new AbortController();
  private poked = false;
  private endRest: () => void = () => undefined;
  private watcher: FSWatcher | undefined;

  constructor(private readonly around: Surrounding) {}

  get state(): State {
    return this.current;
  }

  /** Look for the daemon and stay with it, until `close`. */
  async run(): Promise<void> {
    const { shortest, longest } = this.around.pauses ?? PAUSES;
    let pause = shortest;
    while (!this.closing.signal.aborted) {
      const before = this.current.is;
      const stayed = await this.once().catch((error: Error) => {
        this.around.log(`looking for the daemon failed: ${error.message}`);
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

  /** Look again now; and start a daemon if there is none, whatever happened to the last one. */
  startNow(): void {
    this.asked = true;
    this.starts = [];
    this.wake();
  }

  /** The answer as JSON. Rejects with Refused or Unreachable. */
  async json(question: Question): Promise<unknown> {
    return json(await this.ask(question));
  }

  /** The answer, from the daemon that runs now even if it is not the one that ran a moment ago. */
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

  /** One look, and the time with the daemon that it found. Whether there was one. */
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
        this.current = { is: "looking" }; // events may have been missed: even the same daemon is news
        this.say(ready);
      },
      event: (event) => this.events.fire(event),
    });
    if (!heard) {
      this.say(ready); // it answers, and has no room for one more listener
      await this.rest(UNHEARD);
    }
  }

  private async without(crashed: boolean): Promise<boolean> {
    const now = Date.now();
    this.starts = this.starts.filter((at) => now - at < STARTS_COUNT_FOR);
    // Who stopped it on purpose took its file away: it stays stopped until somebody asks for it.
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

  /** Be woken when something changes in the folder of the rendezvous file; it need not exist yet. */
  private watch(folder: string): void {
    this.watcher?.close();
    this.watcher = undefined;
    try {
      const watcher = watch(folder, { persistent: false }, () => this.wake());
      watcher.on("error", () => watcher.close());
      this.watcher = watcher;
    } catch {
      // There is no such folder before the first start: then the pauses between two looks must do.
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
      ? ["the daemon is older", "hunch restart starts the installed version"]
      : ["this extension is older", "install the one that came with hunchd"];
  return `Daemon ${told.version} speaks protocol ${told.protocol}, this extension ${PROTOCOL}: ${old}; ${hint}.`;
}
