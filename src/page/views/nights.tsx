/** Nights: what was tidied up and when, each change as a difference, and how to take it back. */

import { useState } from "preact/hooks";
import { request, type Schemas } from "../api";
import { useAnswer, usePages } from "../answers";
import { useReadOnly } from "../components/access";
import { Empty, Panel, Show, Table } from "../components/basics";
import { Lazy } from "../components/lazy";
import { Chips, More } from "../components/memory";
import { act, actLater } from "../components/toast";
import { useEvents } from "../events";
import { clock, count, day, sentence } from "../format";
import { href } from "../router";
import type { ViewProps } from "../views";

type Run = Schemas["Run"];
type Change = NonNullable<Run["changes"]>[number];

const loadPlot = () => import("../components/plot");
const FIRST = 60; // changes that are shown at once; the others are read meanwhile, for the box that finds them
const PAGE = 500; // changes a request
const MAX_CHANGES = 5_000;
const SHOWN = 40;

const STEPS: Record<string, string> = {
  use: "Use counted",
  duplicates: "Duplicates joined",
  contradictions: "Contradictions",
  retire: "Outdated rules",
  cascade: "Doubt and trust",
  summarise: "Summaries",
  compress: "Old changes shortened",
  history: "Histories of files",
  links: "Linked",
  forget: "Put away",
  erase: "Erased",
  reembed: "Search index",
  compact: "Disk",
};
const STATES: Record<string, string> = {
  done: "done",
  dry_run: "tried, nothing changed",
  interrupted: "interrupted",
  rolled_back: "taken back by itself: answers got worse",
  running: "running",
  stopped: "stopped",
  undone: "undone",
};
const COUNTS: readonly (readonly [keyof Run, string])[] = [
  ["deduped", "duplicates joined"],
  ["summarised", "summarised"],
  ["compressed", "shortened"],
  ["promoted", "more important"],
  ["demoted", "less important"],
  ["forgotten", "put away"],
  ["retired", "outdated"],
  ["doubted", "in doubt"],
  ["trusted_again", "trusted again"],
  ["linked", "linked"],
  ["histories", "histories of files"],
  ["contradictions_found", "contradictions found"],
  ["contradictions_closed", "contradictions closed"],
  ["erased", "erased"],
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
                {clock(one.began!)}, {STATES[one.status]}
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
    return { at: Date.parse(run.began!) / 1000, kept: answers ? (100 * (answers - lost)) / answers : 100, answers };
  });
  const last = shares.at(-1);
  if (!last) return null;
  return (
    <Panel title="Are answers still found?" hint="After each night hunchd asks itself questions and compares the answers with those from before.">
      <p>
        Last time {Math.round(last.kept)} % of {last.answers} answers were still found.
      </p>
      {shares.length > 1 && (
        <Lazy load={loadPlot} what="the plot" props={{ times: shares.map((one) => one.at), series: [{ name: "Answers still found, %", values: shares.map((one) => one.kept) }], label: "Answers still found by night" }} />
      )}
    </Panel>
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
  const [gone, setGone] = useState<readonly number[]>([]);
  const readOnly = useReadOnly();
  const about = useAnswer((signal) => readPage(run, 0, signal), [run]);
  const first = about.value?.changes ?? [];
  const isLong = first.length === FIRST;
  const rest = useAnswer(isLong ? (signal) => readRest(run, first, signal) : null, [run, isLong]);
  const all = [...first, ...(rest.value ?? [])];
  const undo = (chain?: readonly Change[]) => {
    const hidden = (chain ?? all).map((one) => one.change);
    setGone([...gone, ...hidden]);
    const ask = (body: Schemas["UndoRequest"]) => request("post", "/consolidate/{id}/undo", { params: { id: run }, body, keepalive: true });
    actLater(
      chain ? "Taken back." : "The whole night is taken back.",
      async () => {
        for (const one of chain ?? []) await ask({ change: one.change });
        if (!chain) await ask({});
        about.reload();
        rest.reload();
        onChanged();
      },
      () => setGone((before) => before.filter((one) => !hidden.includes(one))),
    );
  };
  return (
    <Show of={about} what="the night">
      {(value) => {
        const changes = all;
        const steps = [...new Set(changes.map((one) => one.step))];
        const isGone = (one: Change) => one.undone || gone.includes(one.change);
        const listed = changes.filter(
          (one) => (!step || one.step === step) && (!of || one.edits.some((edit) => edit.id === of)) && (!words || `${one.what} ${one.why}`.toLowerCase().includes(words.toLowerCase())),
        );
        const isComplete = !isLong || rest.value !== undefined; // what goes back together is known only then
        const canUndoAll = !readOnly && (value.status === "done" || value.status === "stopped" || value.status === "interrupted");
        const canUndo = canUndoAll && isComplete;
        return (
          <Panel title={value.began ? `${day(value.began)}, ${clock(value.began)}` : "Night"} hint={`${STATES[value.status] ?? value.status}${value.seconds ? `, took ${Math.round(value.seconds)} s` : ""}`}>
            <Table
              caption="What was done"
              keyOf={(one) => one[1]}
              rows={COUNTS.filter(([name]) => Number(value[name] ?? 0) > 0)}
              columns={[
                { title: "Done", cell: ([, title]) => title.charAt(0).toUpperCase() + title.slice(1) },
                { title: "How many", number: true, cell: ([name]) => Number(value[name]).toLocaleString("en-GB") },
              ]}
            />
            {canUndoAll && changes.length > 0 && (
              <div class="actions">
                <button type="button" class="danger" onClick={() => undo()}>
                  Take the whole night back
                </button>
              </div>
            )}
            {(value.gate ?? []).some((one) => (one.lost ?? 0) > 0) && <p class="warning">Some answers were no longer found; what caused it was taken back by itself.</p>}
            {changes.length === 0 ? (
              <Empty>Nothing was changed.</Empty>
            ) : (
              <>
                <h3>Changes</h3>
                <div class="filters">
                  <Chips label="Only" chosen={step} options={{ "": "All", ...Object.fromEntries(steps.map((one) => [one, STEPS[one] ?? one])) }} address={(name) => address({ step: name, of })} />
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
                  {!isComplete ? "Reading the other changes…" : of ? `${count(listed.length, "change")} of one memory` : words && count(listed.length, "change")}
                </p>
                <ul class="lines">
                  {listed.slice(0, length).map((one) => (
                    <ChangeLine key={one.change} change={one} project={project} isFirst={of !== ""} isGone={isGone(one)} chainOf={(each) => listChain(each, changes.filter((other) => !isGone(other)))} undo={canUndo ? undo : undefined} />
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

function ChangeLine({ change, project, isFirst, isGone, chainOf, undo }: { change: Change; project: ViewProps["project"]; isFirst: boolean; isGone: boolean; chainOf: (change: Change) => Change[]; undo: ((chain: readonly Change[]) => void) | undefined }) {
  const [isOpen, setOpen] = useState(isFirst);
  const chain = isOpen ? chainOf(change) : [];
  return (
    <li class={isGone ? "line noted" : "line"}>
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <span class="line-title">{change.what.charAt(0).toUpperCase() + change.what.slice(1)}</span>
          <span class="tag">{STEPS[change.step] ?? change.step}</span>
          <span class="reasons">{change.why}</span>
          {isGone && <span class="tag noted-tag">taken back</span>}
        </summary>
        {isOpen && (
          <div class="why">
            {change.edits.map((edit) => (
              <div key={edit.id} class="edit">
                <p>
                  <a href={href("knowledge", { project: project.id, show: edit.id })}>Show the memory</a>
                </p>
                <Difference was={edit.was as Fields} now={edit.now as Fields} />
              </div>
            ))}
            {undo && !isGone && (
              <>
                {chain.length > 1 && (
                  <p>
                    Later that night the same memories were changed again. This goes back with it:{" "}
                    {chain
                      .slice(0, -1)
                      .slice(0, 3)
                      .map((one) => sentence(one.what))
                      .join("; ")}
                    {chain.length > 4 && ` and ${chain.length - 4} more`}.
                  </p>
                )}
                <div class="actions">
                  <button type="button" class="danger" onClick={() => undo(chain)}>
                    Take this back
                  </button>
                </div>
              </>
            )}
          </div>
        )}
      </details>
    </li>
  );
}

/** Return a change with the later ones of the same memories, last first: in this order each can be taken back. */
function listChain(change: Change, changes: readonly Change[]): Change[] {
  const touched = new Set(change.edits.map((edit) => edit.id));
  const chain = [change];
  for (const later of changes)
    if (later.change > change.change && later.edits.some((edit) => touched.has(edit.id))) {
      chain.push(later);
      for (const edit of later.edits) touched.add(edit.id);
    }
  return chain.reverse();
}

type Fields = Record<string, unknown> | null;

const FIELDS: Record<string, string> = { shown_as: "Shown to you and agents as", superseded_by: "Replaced by", valid_to: "Held until", at: "Dated" };
const FORMS: Record<string, string> = { compressed: "one line", summary: "a summary", index: "a title", full: "the whole text" };

/** Put the fields of a source beside those of its memory, so that only what differs is shown. */
function flatten(fields: Fields): Record<string, unknown> {
  const { source, ...others } = fields ?? {};
  const flat = { ...others, ...(source as Fields) };
  return typeof flat.shown_as === "string" ? { ...flat, shown_as: FORMS[flat.shown_as] ?? flat.shown_as } : flat;
}

/** Fields that differ, each before and after. */
function Difference({ was, now }: { was: Fields; now: Fields }) {
  [was, now] = [flatten(was), flatten(now)];
  const names = [...new Set([...Object.keys(was), ...Object.keys(now)])].filter((name) => write(was?.[name]) !== write(now?.[name]));
  if (names.length === 0) return <Empty>No field is different.</Empty>;
  return (
    <dl class="difference">
      {names.map((name) => (
        <div key={name}>
          <dt>{FIELDS[name] ?? sentence(name.replace(/_/g, " "))}</dt>
          {write(was?.[name]) !== "" && (
            <dd class="was">
              <span class="unseen">before: </span>
              {write(was?.[name])}
            </dd>
          )}
          {write(now?.[name]) !== "" && (
            <dd class="now">
              <span class="unseen">after: </span>
              {write(now?.[name])}
            </dd>
          )}
        </div>
      ))}
    </dl>
  );
}

/** Write a field; links and other lists of small objects take one line each. */
function write(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.map((one) => (isFlat(one) ? Object.values(one).join(" ") : write(one))).join("\n");
  return typeof value === "string" ? value : (JSON.stringify(value, null, 1) ?? "");
}

function isFlat(value: unknown): value is Record<string, string> {
  return typeof value === "object" && value !== null && Object.values(value).every((one) => typeof one !== "object");
}
