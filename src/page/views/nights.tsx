/** Nights: what was tidied up and when, each change as a difference, and how to take it back. */

import { useEffect, useState } from "preact/hooks";
import { request, type Schemas } from "../api";
import { useAnswer, usePages, type Loaded } from "../answers";
import { useReadOnly } from "../components/access";
import { Empty, Panel, Show, Table } from "../components/basics";
import { Difference, Name, type Fields } from "../components/difference";
import { Lazy } from "../components/lazy";
import { Chips, More } from "../components/memory";
import { holdUndo, settleUndo, useWanted } from "../components/night_undo";
import { listChain, listRows, mergeEdits, type Change, type Row } from "../components/night_rows";
import { STEPS } from "../components/night_words";
import { act, actLater } from "../components/toast";
import { useEvents } from "../events";
import { bytes, clock, compact, count, day, dayAndTime, plainReason } from "../format";
import { href } from "../router";
import type { ViewProps } from "../views";

type Run = Schemas["Run"];

const loadPlot = () => import("../components/plot");
const FIRST = 60; // changes that are shown at once; the others are read meanwhile, for the box that finds them
const PAGE = 500; // changes a request
const MAX_CHANGES = 5_000;
const SHOWN = 40;
const MAX_EDITS = 5; // memories of one change that are shown
const MAX_NAMED = 20; // changes that are undone with another, by name
const MAX_CHAIN = 1_000; // changes that are undone together
const SAID = "said"; // the filter for what the user said; no step has this name
const POLL = 1_000; // ms, while something is being undone

const STATES: Record<string, string> = {
  done: "done",
  dry_run: "tried, nothing changed",
  interrupted: "interrupted",
  rolled_back: "undone by itself: answers got worse",
  running: "running",
  stopped: "stopped",
  undone: "undone",
};
// Counter, its name, and the step that a filter shows for it.
const COUNTS: readonly (readonly [keyof Run, string, Change["step"]])[] = [
  ["deduped", "joined, as they were said twice", "duplicates"],
  ["summarised", "shortened to a summary", "summarise"],
  ["compressed", "shortened to one line", "compress"],
  ["promoted", "more important", "use"],
  ["demoted", "less important", "use"],
  ["forgotten", "put away", "forget"],
  ["retired", "outdated", "retire"],
  ["doubted", "in doubt", "cascade"],
  ["trusted_again", "trusted again", "cascade"],
  ["linked", "related memories linked", "links"],
  ["histories", "past changes told as one history", "history"],
  ["contradictions_found", "contradictions found", "contradictions"],
  ["contradictions_closed", "contradictions closed", "contradictions"],
  ["erased", "forgotten for good", "erase"],
];

export default function Nights({ project, route }: ViewProps) {
  const shown = route.query.get("show") ?? "";
  const runs = usePages((cursor, signal) => request("get", "/consolidate", { query: { limit: 100, cursor: cursor ?? "" }, signal }), []);
  useEvents(["consolidation"], null, runs.reload, { bundled: true });
  const items = runs.value?.items ?? [];
  const chosen = shown || items[0]?.run || "";
  const address = (changed: Record<string, string>) => href("nights", { project: project.id, show: chosen, ...changed });
  return (
    <>
      <RunNow project={project} runs={items} onDone={runs.reload} />
      <Show of={runs} what="the nights" empty={() => items.length === 0 && "hunchd has not tidied up yet. It does so at night, or when you ask for it."}>
        {() => (
          <div class="columns narrow-first">
            <div class="side-column">
              <Panel title="Calendar">
                <Calendar runs={items} chosen={chosen} address={(show) => address({ show })} />
                <More of={runs} what="nights" />
              </Panel>
              <Quality runs={items} />
              <Size runs={items} />
            </div>
            <div class="main-column">
              <AboutRun key={chosen} run={chosen} project={project} query={route.query} address={address} onChanged={runs.reload} />
            </div>
          </div>
        )}
      </Show>
    </>
  );
}

function RunNow({ project, runs, onDone }: { project: ViewProps["project"]; runs: readonly Run[]; onDone: () => void }) {
  const readOnly = useReadOnly();
  const [live, setLive] = useState("");
  useEvents(["consolidation"], null, (event) => setLive(event.status === "running" ? `Working: ${STEPS[String(event.step)] ?? String(event.step ?? "starting")}…` : ""));
  const running = runs.find((one) => one.status === "running");
  if (readOnly) return null;
  const start = (dry: boolean) =>
    act(dry ? "Trying it out. Nothing is changed." : "Tidying up has begun.", () => request("post", "/consolidate", { body: { project: project.id, dry_run: dry } }), null, onDone);
  return (
    <div class="actions start">
      {running || live ? (
        <>
          <span role="status">{live || "Working…"}</span>
          {running && (
            <button type="button" onClick={() => void act("It stops after this step.", () => request("post", "/consolidate/{id}/stop", { params: { id: running.run } }), null, onDone)}>
              Stop
            </button>
          )}
        </>
      ) : (
        <>
          <button type="button" onClick={() => void start(true)}>
            Try it, changing nothing
          </button>
          <button type="button" onClick={() => void start(false)}>
            Tidy up now
          </button>
        </>
      )}
    </div>
  );
}

/** Months with runs, newest first; each day with a run links to it. */
function Calendar({ runs, chosen, address }: { runs: readonly Run[]; chosen: string; address: (run: string) => string }) {
  const byDay = new Map<string, Run[]>();
  for (const run of runs) if (run.began) byDay.set(localDay(run.began), [...(byDay.get(localDay(run.began)) ?? []), run]);
  const months = [...new Set([...byDay.keys()].map((date) => date.slice(0, 7)))].sort().reverse();
  const chosenDay = localDay(runs.find((one) => one.run === chosen)?.began ?? "");
  return (
    <>
      {months.slice(0, 6).map((month) => (
        <table key={month} class="calendar">
          <caption>{new Date(`${month}-01T12:00:00`).toLocaleDateString("en-GB", { month: "long", year: "numeric" })}</caption>
          <thead>
            <tr>
              {["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {weeksOf(month).map((week, at) => (
              <tr key={at}>
                {week.map((date, column) => {
                  const found = byDay.get(date);
                  return (
                    <td key={column}>
                      {found ? (
                        <a href={address(found[0]!.run)} class="night" aria-current={date === chosenDay ? "date" : undefined} aria-label={`${day(found[0]!.began!)}: ${count(found.length, "run")}`}>
                          {Number(date.slice(8))}
                        </a>
                      ) : (
                        <span>{date && Number(date.slice(8))}</span>
                      )}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      ))}
      <ul class="plain runs">
        {runs
          .filter((one) => one.began && localDay(one.began) === chosenDay)
          .map((one) => (
            <li key={one.run}>
              <a class="chip" href={address(one.run)} aria-current={one.run === chosen ? "true" : undefined}>
                {clock(one.began!)}, {one.status === "done" && COUNTS.every(([name]) => !one[name]) ? "nothing to do" : STATES[one.status]}
              </a>
            </li>
          ))}
      </ul>
    </>
  );
}

function localDay(iso: string): string {
  return iso && new Date(iso).toLocaleDateString("sv-SE");
}

function weeksOf(month: string): string[][] {
  const [year, number] = month.split("-").map(Number) as [number, number];
  const before = (new Date(year, number - 1, 1).getDay() + 6) % 7;
  const days = new Date(year, number, 0).getDate();
  const cells = [...Array<string>(before).fill(""), ...Array.from({ length: days }, (_, at) => `${month}-${String(at + 1).padStart(2, "0")}`)];
  while (cells.length % 7) cells.push("");
  return Array.from({ length: cells.length / 7 }, (_, at) => cells.slice(7 * at, 7 * at + 7));
}

/** Share of test questions whose answer was lost, by night. */
function Quality({ runs }: { runs: readonly Run[] }) {
  const checked = runs.filter((run) => run.began && run.gate?.some((one) => (one.answers ?? 0) > 0)).reverse();
  const shares = checked.map((run) => {
    const answers = run.gate!.reduce((sum, one) => sum + (one.answers ?? 0), 0);
    const lost = run.gate!.reduce((sum, one) => sum + (one.lost ?? 0), 0);
    return { kept: answers ? (100 * (answers - lost)) / answers : 100, answers };
  });
  const last = shares.at(-1);
  return (
    <Panel title="Are answers still found?" hint="After each night hunchd asks itself questions and compares the answers with those from before.">
      {last ? (
        <p>
          Last time {Math.round(last.kept)} % of {last.answers} answers were still found.
        </p>
      ) : (
        <Empty>No night had anything to compare yet.</Empty>
      )}
      <ByNight runs={checked} title="Answers still found, %" values={shares.map((one) => one.kept)} />
    </Panel>
  );
}

/** How much was stored after each night. */
function Size({ runs }: { runs: readonly Run[] }) {
  const known = runs.filter((run) => run.began && run.store).reverse();
  const last = known.at(-1)?.store;
  return (
    <Panel title="How much is stored?" hint="After each night. Tokens: what all of it would take in an agent's context, as it is shown now; shortening makes them fewer.">
      {last ? (
        <p>
          {count(last.memories, "memory", "memories")}, {last.tokens ? `about ${compact(last.tokens)} tokens, ` : ""}
          {bytes(last.bytes)} on disk
        </p>
      ) : (
        <Empty>Not known yet: it is counted at the end of the next night.</Empty>
      )}
      <ByNight runs={known} title="Memories" values={known.map((run) => run.store!.memories)} />
      <ByNight runs={known} title="Tokens" values={known.map((run) => run.store!.tokens ?? null)} />
      <ByNight runs={known} title="Megabytes on disk" values={known.map((run) => run.store!.bytes / 1e6)} />
    </Panel>
  );
}

/** A curve over the nights; runs of one day alone make none. */
function ByNight({ runs, title, values }: { runs: readonly Run[]; title: string; values: readonly (number | null)[] }) {
  if (new Set(runs.map((run) => localDay(run.began!))).size < 2 || values.every((one) => one === null)) return null;
  return (
    <>
      <h3>{title}</h3>
      <Lazy load={loadPlot} what="the plot" props={{ times: runs.map((run) => Date.parse(run.began!) / 1000), series: [{ name: title, values }], label: `${title} by night` }} />
    </>
  );
}

interface AboutProps {
  run: string;
  project: ViewProps["project"];
  query: URLSearchParams;
  address: (changed: Record<string, string>) => string;
  onChanged: () => void;
}

function AboutRun({ run, project, query, address, onChanged }: AboutProps) {
  const step = query.get("step") ?? "";
  const of = query.get("of") ?? "";
  const [words, setWords] = useState("");
  const [length, setLength] = useState(SHOWN);
  const [live, setLive] = useState<Run["undoing"]>();
  const wanted = useWanted(run);
  const readOnly = useReadOnly();
  const about = useAnswer((signal) => readPage(run, 0, signal), [run]);
  const own = useAnswer(step === SAID ? (signal) => listSaid(project, signal) : null, [project.id, step]);
  const first = about.value?.changes ?? [];
  const isLong = first.length === FIRST;
  const rest = useAnswer(isLong ? (signal) => readRest(run, first, signal) : null, [run, isLong]);
  const all = [...first, ...(rest.value ?? [])];
  const reload = () => (about.reload(), rest.reload());
  useEvents(["consolidation"], null, () => (setLive(undefined), reload(), onChanged()), { bundled: true, about: (event) => event.status !== "running" });
  useEvents(["consolidation"], null, (event) => setLive(event.undoing as Run["undoing"]), { about: (event) => event.run === run && event.status === "running" });
  const working = about.value?.status === "running" ? (live ?? about.value.undoing) : undefined;
  const isSent = wanted.some((one) => one.sent) || working !== undefined;
  useEffect(() => settleUndo(run, new Set(all.filter((one) => one.undone).map((one) => one.change)), working !== undefined), [about.value, rest.value]);
  usePoll(about, isSent);
  usePoll(rest, isSent && isLong);
  const undo = (chain?: readonly Change[], title = "") => {
    const numbers = (chain ?? all).map((one) => one.change);
    const held = holdUndo(run, numbers);
    actLater(
      chain ? "Going to undo this change of the night" : "Going to undo the whole night",
      async () => {
        held.send();
        await request("post", "/consolidate/{id}/undo", { params: { id: run }, body: chain ? { changes: numbers } : {}, keepalive: true });
        reload();
        onChanged();
      },
      { onUndo: held.drop, of: { id: "", title }, when: "It begins in 20 seconds, or when you leave this page.", stop: "Do not undo" },
    );
  };
  /** Say how far the undo of a change is. */
  const stateOf = (one: Change): string => {
    if (one.undone) return "undone";
    const its = wanted.find((each) => each.numbers.includes(one.change));
    if (!its) return "";
    if (!its.sent) return "about to be undone";
    return `undoing ${((live ?? working)?.[0] ?? 0).toLocaleString("en-GB")} of ${its.numbers.length.toLocaleString("en-GB")}…`;
  };
  const stateOfRow = (row: Row): string => row.changes.map(stateOf).find((state) => state !== "undone") ?? "undone";
  return (
    <Show of={about} what="the night">
      {(value) => {
        const changes = all;
        const steps = [...new Set([...COUNTS.filter(([name, , step]) => Number(value[name] ?? 0) > 0 && step !== "erase").map(([, , step]) => step), ...changes.map((one) => one.step)])];
        const listed = listRows(changes).filter(
          (row) => (!step || (step === SAID ? row.changes.some((one) => one.edits.some((edit) => own.value?.has(edit.id))) : row.step === step)) && (!of || row.changes.some((one) => one.edits.some((edit) => edit.id === of))) && (!words || `${row.title} ${row.why}`.toLowerCase().includes(words.toLowerCase())),
        );
        const undoneBy = (name: string) => changes.filter((one) => one.undone && one.counts === name).length;
        const isComplete = !isLong || rest.value !== undefined; // what goes back together is known only then
        const canUndoAll = !readOnly && (value.status === "done" || value.status === "stopped" || value.status === "interrupted");
        const canUndo = canUndoAll && isComplete;
        return (
          <Panel title={value.began ? dayAndTime(value.began) : "Night"} hint={`${STATES[value.status] ?? value.status}${value.seconds ? `, took ${Math.round(value.seconds)} s` : ""}`}>
            <Table
              caption="What was done"
              keyOf={(one) => one[1]}
              rows={COUNTS.filter(([name]) => Number(value[name] ?? 0) > 0)}
              columns={[
                { title: "Done", cell: ([, title]) => title.charAt(0).toUpperCase() + title.slice(1) },
                {
                  title: "How many",
                  number: true,
                  cell: ([name]) => (
                    <>
                      {Number(value[name]).toLocaleString("en-GB")}
                      {undoneBy(name) > 0 && <span class="quiet-text">, {undoneBy(name) === Number(value[name]) ? "undone" : `${undoneBy(name).toLocaleString("en-GB")} of them undone`}</span>}
                    </>
                  ),
                },
              ]}
            />
            {working && (
              <p role="status">
                Undoing {working[0]!.toLocaleString("en-GB")} of {count(working[1]!, "change")}…
              </p>
            )}
            {canUndoAll && changes.length > 0 && (
              <div class="actions">
                <button type="button" class="danger" disabled={wanted.length > 0} onClick={() => undo()}>
                  Undo the whole night
                </button>
              </div>
            )}
            {(value.gate ?? []).some((one) => (one.lost ?? 0) > 0) && <p class="warning">Some answers were no longer found; what caused it was undone by itself.</p>}
            {changes.length === 0 ? (
              <Empty>Nothing was changed.</Empty>
            ) : (
              <>
                <h3>Changes</h3>
                <div class="filters">
                  <Chips label="Only" chosen={step} options={{ "": "All", [SAID]: "What you said", ...Object.fromEntries(steps.map((one) => [one, STEPS[one] ?? one])) }} address={(name) => address({ step: name, of })} />
                  <label>
                    Find a memory
                    <input type="search" value={words} onInput={(event) => setWords(event.currentTarget.value)} placeholder="words of its title" />
                  </label>
                  {of && (
                    <a class="chip" href={address({ step })}>
                      Show all changes of this night
                    </a>
                  )}
                </div>
                <p class="quiet-text" role="status">
                  {!isComplete || (step === SAID && !own.value) ? "Reading the other changes…" : of ? `${count(listed.length, "change")} of one memory` : words && count(listed.length, "change")}
                </p>
                <ul class="lines">
                  {listed.slice(0, length).map((row) => (
                    <ChangeLine key={row.key} row={row} project={project} isFirst={of !== ""} state={stateOfRow(row)} chainOf={(each) => listChain(each, changes.filter((other) => !stateOf(other)))} undo={canUndo ? undo : undefined} />
                  ))}
                </ul>
                {listed.length > length && (
                  <button type="button" class="quiet" onClick={() => setLength(length + 200)}>
                    Show more changes ({(listed.length - length).toLocaleString("en-GB")})
                  </button>
                )}
                {changes.length < (value.total ?? 0) && <p class="quiet-text">The first {changes.length.toLocaleString("en-GB")} of {value.total!.toLocaleString("en-GB")} changes.</p>}
              </>
            )}
          </Panel>
        );
      }}
    </Show>
  );
}

/** Return the ids of the facts that you said, those that a night ended too. */
async function listSaid(project: ViewProps["project"], signal: AbortSignal): Promise<ReadonlySet<string>> {
  const page = await request("get", "/memories", { query: { project: project.id, kind: ["fact"], status: ["active", "suspect", "archived", "superseded"], limit: 1_000 }, signal });
  return new Set(page.items.filter((one) => one.trust === "user").map((one) => one.id));
}

/** Ask again and again, each time a while after the last answer. */
function usePoll({ value, error, reload }: Loaded<unknown>, isWanted: boolean): void {
  useEffect(() => {
    const timer = isWanted ? window.setTimeout(reload, POLL) : 0;
    return () => clearTimeout(timer);
  }, [value, error, isWanted]);
}

function readPage(id: string, after: number, signal: AbortSignal): Promise<Run> {
  return request("get", "/consolidate/{id}", { params: { id }, query: { after, limit: after ? PAGE : FIRST }, signal });
}

/** Read the changes that come after the first page. */
async function readRest(id: string, first: readonly Change[], signal: AbortSignal): Promise<Change[]> {
  const changes: Change[] = [];
  for (let page = first; page.length > 0 && changes.length < MAX_CHANGES; ) {
    page = (await readPage(id, page.at(-1)!.change + 1, signal)).changes ?? [];
    changes.push(...page);
    if (page.length < PAGE) break;
  }
  return changes;
}

interface LineProps {
  row: Row;
  project: ViewProps["project"];
  isFirst: boolean;
  state: string;
  chainOf: (row: Row) => Change[];
  undo: ((chain: readonly Change[], title: string) => void) | undefined;
}

function ChangeLine({ row, project, isFirst, state, chainOf, undo }: LineProps) {
  const [isOpen, setOpen] = useState(isFirst);
  const chain = isOpen ? chainOf(row) : [];
  const others = listRows(chain.filter((one) => !row.changes.includes(one)).reverse());
  const edits = isOpen ? mergeEdits(row.changes) : [];
  return (
    <li class={state ? "line noted" : "line"}>
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <span class="line-title">{row.title}</span>
          <span class="reasons">{plainReason(row.why)}</span>
          {state && <span class="tag noted-tag">{state}</span>}
        </summary>
        {isOpen && (
          <div class="why">
            {state === "undone" && <p class="quiet-text">This is undone: what follows is how it was in between.</p>}
            {edits.slice(0, MAX_EDITS).map((edit) => (
              <div key={edit.id} class="edit">
                <p>
                  <a href={href("knowledge", { project: project.id, show: edit.id })}>
                    <Name of={edit.id} />
                  </a>
                </p>
                <Difference id={edit.id} was={edit.was as Fields} now={edit.now as Fields} />
              </div>
            ))}
            {edits.length > MAX_EDITS && <p class="quiet-text">{count(edits.length - MAX_EDITS, "more memory", "more memories")} changed in the same way.</p>}
            {undo && !state && (
              <>
                {others.length > 0 && (
                  <>
                    <p>Later that night {count(others.length, "other change")} built on this. {others.length === 1 ? "It is" : "They are"} undone with it, since {others.length === 1 ? "it" : "they"} cannot stand alone:</p>
                    <ul>
                      {others.slice(0, MAX_NAMED).map((other) => (
                        <li key={other.key}>
                          {other.title} <span class="quiet-text">{plainReason(other.why)}</span>
                        </li>
                      ))}
                      {others.length > MAX_NAMED && <li class="quiet-text">and {count(others.length - MAX_NAMED, "more change")}</li>}
                    </ul>
                  </>
                )}
                <div class="actions">
                  {chain.length > MAX_CHAIN ? (
                    <span class="quiet-text">Too many changes build on this one. Undo the whole night instead.</span>
                  ) : (
                    <button type="button" class="danger" onClick={() => undo(chain, row.title)}>
                      {others.length > 0 ? `Undo this and ${count(others.length, "other change")}` : "Undo this change"}
                    </button>
                  )}
                </div>
              </>
            )}
          </div>
        )}
      </details>
    </li>
  );
}
