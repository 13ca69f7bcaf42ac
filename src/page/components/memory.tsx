/** A stored memory in full: what it says, who said it, how it changed, and what can be done with it. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { prepare, request, type Schemas } from "../api";
import { useAnswer, type Listed } from "../answers";
import { count, dayAndTime, describeSince, describeSource, isRead, KINDS, nameKey, plainReason, SCOPES, sentence, sureness, tellAgents, timeOf } from "../format";
import type { Project } from "../project";
import { href, navigate, pin } from "../router";
import { useReadOnly } from "./access";
import { FileLink, Panel, Show, Timeline } from "./basics";
import { describeUsage, LineActions, Reach } from "./line";
import { Name } from "./difference";
import { describeNightChange } from "./night_words";
import { Disputes } from "./pair";
import { act, actLater, NotedTag, useUndone, type Noted } from "./toast";

export type Memory = Schemas["Memory"];

interface ChoicesProps<T> {
  label: string;
  items: readonly T[];
  keyOf: (item: T) => string;
  chosen: string;
  address: (key: string) => string;
  children: (item: T) => ComponentChildren;
  /** A button beside the link of an item. */
  beside?: ((item: T) => ComponentChildren) | undefined;
}

/** List of links on the left, of which one is shown on the right. */
export function Choices<T>({ label, items, keyOf, chosen, address, children, beside }: ChoicesProps<T>) {
  return (
    <ol class="result-list" aria-label={label}>
      {items.map((item) => {
        const key = keyOf(item);
        return (
          <li key={key} class={key === chosen ? "result current" : "result"}>
            <a href={address(key)} aria-current={key === chosen ? "true" : undefined}>
              {children(item)}
            </a>
            {beside && <div class="beside">{beside(item)}</div>}
          </li>
        );
      })}
    </ol>
  );
}

/** How many are shown, and a button for more. */
export function More({ of, what }: { of: { value: Listed<unknown> | undefined; more: () => void }; what: string }) {
  if (!of.value?.hasMore) return null;
  return (
    <p class="more">
      <button type="button" class="quiet" onClick={of.more}>
        Show more {what}
      </button>{" "}
      <span class="quiet-text">
        {of.value.items.length.toLocaleString("en-GB")}
        {of.value.total !== undefined && ` of ${of.value.total.toLocaleString("en-GB")}`}
      </span>
    </p>
  );
}

export function Chips({ label, chosen, options, address }: { label: string; chosen: string; options: Record<string, string>; address: (name: string) => string }) {
  return (
    <fieldset>
      <legend>{label}</legend>
      <div class="chips">
        {Object.entries(options).map(([name, title]) => (
          <a key={name} class="chip" aria-current={chosen === name ? "true" : undefined} href={address(name)}>
            {title}
          </a>
        ))}
      </div>
    </fieldset>
  );
}

/** Source in words, with a link to the session or file that it comes from. */
export function Source({ memory, project, isInSentence = false }: { memory: Memory; project: Project; isInSentence?: boolean }) {
  const words = isInSentence ? describeSource(memory) : sentence(describeSource(memory));
  const session = typeof memory.source.session === "string" ? memory.source.session : "";
  const said = typeof memory.source.message === "string" ? memory.source.message : "";
  const path = typeof memory.source.path === "string" ? memory.source.path : "";
  const quoted = typeof memory.source.sentence === "string" ? memory.source.sentence : "";
  return (
    <>
      {session ? (
        <a href={href("sessions", { project: project.id, show: session, at: said })}>{words}</a>
      ) : (
        words
      )}
      {path && !path.startsWith("/") && (
        <>
          , in <FileLink project={project} path={path} />
        </>
      )}
      {quoted && <q class="sentence">{quoted}</q>}
    </>
  );
}

interface PanelProps {
  id: string;
  project: Project;
  asOf?: string;
  onChanged: () => void;
  title?: string;
  body?: (memory: Memory) => ComponentChildren;
  /** What stands below everything else. */
  below?: ComponentChildren;
  /** Address of the list beside it, for a narrow screen, where the list is far below. */
  back?: string | undefined;
  /** Keep the memory shown in the address after a change, although it may leave its list. */
  isPinned?: boolean;
}

export function MemoryPanel({ id, project, asOf, onChanged, title = "Details", body, below, back, isPinned = true }: PanelProps) {
  const memory = useAnswer((signal) => request("get", "/memories/{id}", { params: { id }, query: { as_of: asOf ?? "" }, signal }), [id, asOf]);
  const [noted, setNoted] = useState<Noted | null>(null);
  const changed = () => {
    if (isPinned) pin("show", id);
    memory.reload();
    onChanged();
  };
  useUndone(changed);
  return (
    <Panel title={title}>
      {back && <BackToList address={back} />}
      <Show of={memory} what="the memory">
        {(value) => (
          <>
            <p class="preview-title">{value.title}</p>
            <NotedTag noted={noted} />
            {value.status !== "active" && (
              <p class="warning">
                {STATUS[value.status]}
                {value.status === "superseded" && <Replacement memory={value} project={project} />}
              </p>
            )}
            {value.kind === "fact" && value.status === "active" && <Disputes key={value.updated} memory={value} project={project} />}
            {value.status === "active" && value.kind === "fact" && <Reach key={value.updated} id={id} project={project} onNoted={setNoted} onChanged={changed} />}
            {value.status === "active" && <LineActions item={value} project={project} onNoted={setNoted} onChanged={changed} />}
            {value.status === "archived" && <ShowAgain memory={value} onNoted={setNoted} onChanged={changed} />}
            {body ? (
              body(value)
            ) : (
              value.content !== value.title && (
                <pre class="content" tabIndex={0}>
                  {value.content}
                </pre>
              )
            )}
            <Changes key={value.updated} memory={value} project={project} onChanged={changed} />
            {value.kind === "fact" ? (
              <>
                <h3>Where it comes from</h3>
                <Facts memory={value} project={project} onChanged={changed} />
              </>
            ) : (
              <details class="origin">
                <summary>Where it comes from</summary>
                <Facts memory={value} project={project} onChanged={changed} />
              </details>
            )}
            <Usage id={id} project={project} />
            <Removal memory={value} onNoted={setNoted} onChanged={changed} />
            {below}
          </>
        )}
      </Show>
    </Panel>
  );
}

export function BackToList({ address }: { address: string }) {
  return (
    <p class="back">
      <a href={address}>Back to the list</a>
    </p>
  );
}

/** When a value ended, and the one that holds instead. */
function Replacement({ memory, project }: { memory: Memory; project: Project }) {
  const by = memory.superseded_by;
  return (
    <>
      {memory.valid_to && ` It was said ${dayAndTime(timeOf(memory))} and held until ${dayAndTime(memory.valid_to)}.`}
      {by && (
        <>
          {" "}
          Now holds: <a href={href("knowledge", { project: project.id, show: by })}><Name of={by} /></a>
        </>
      )}
    </>
  );
}

const STATUS: Record<string, string> = {
  archived: "Put away: it is not shown to agents, and only here to you.",
  superseded: "Replaced.",
  suspect: "In doubt: what it is about has changed since.",
};

/** Who sees a fact, and a button that changes it; the fact then has another address. */
function Sharing({ memory, project, onChanged }: { memory: Memory; project: Project; onChanged: () => void }) {
  const readOnly = useReadOnly();
  const isShared = memory.scope === "project-shared";
  const isOwn = memory.kind === "fact" && memory.trust === "user" && memory.status === "active" && Boolean(memory.project);
  const show = (id: string) => navigate(href("knowledge", { project: project.id, show: id }), { replace: true });
  const change = async () => {
    let moved = memory.id;
    await act(
      isShared ? "Only you see it now." : "It can be shared with colleagues now.",
      async () => (moved = (await request("patch", "/memories/{id}", { params: { id: memory.id }, body: { scope: isShared ? "user-private" : "project-shared" } })).id),
      () => request("post", "/memories/{id}/undo", { params: { id: moved } }).then(() => show(memory.id)),
      onChanged,
      { id: memory.id, title: memory.title, undo: () => prepare("post", "/memories/{id}/undo", { params: { id: moved } }) },
    );
    if (moved !== memory.id) show(moved);
  };
  return (
    <>
      {memory.scope === "user-private" && memory.project ? "only you" : (SCOPES[memory.scope] ?? memory.scope)}
      {isOwn && !readOnly && (
        <>
          {" "}
          <button type="button" class="quiet" onClick={() => void change()}>
            {isShared ? "Keep it to yourself" : "Let colleagues see it"}
          </button>
        </>
      )}
    </>
  );
}

function Facts({ memory, project, onChanged }: { memory: Memory; project: Project; onChanged: () => void }) {
  return (
    <div class="why">
      <dl>
        <dt>Kind</dt>
        <dd>{KINDS[memory.category ?? ""] ?? KINDS[memory.kind] ?? memory.kind}</dd>
        {hasValue(memory) && (
          <>
            <dt>{sentence(nameKey(memory.key!))}</dt>
            <dd>{memory.value}</dd>
          </>
        )}
        <dt>Comes from</dt>
        <dd>
          <Source memory={memory} project={project} />
        </dd>
        <dt>For agents</dt>
        <dd>{tellAgents(memory)}</dd>
        <dt>How sure</dt>
        <dd>{sentence(sureness(memory.confidence))}</dd>
        <dt>{memory.kind === "episode" || memory.kind === "error" || isRead(memory) ? "When" : "Holds"}</dt>
        <dd>
          {sentence(describeSince(memory))}
          {memory.valid_to && memory.status !== "archived" && ` until ${dayAndTime(memory.valid_to)}`}
          {memory.branch && `, on branch ${memory.branch}`}
        </dd>
        <dt>Who sees it</dt>
        <dd>
          <Sharing memory={memory} project={project} onChanged={onChanged} />
        </dd>
      </dl>
    </div>
  );
}

/** Tell whether a fact has a value that its title does not show: a short name, not a sentence that is true or not. */
function hasValue({ kind, key, value, title }: Memory): boolean {
  return kind === "fact" && Boolean(key && value) && !key!.includes(" ") && value !== "yes" && value !== "no" && !title.endsWith(`: ${value}`);
}

/** Tell whether an id is that of an earlier version of a memory. */
export function isVersion(id: string): boolean {
  return id.includes(".");
}

/** Tell whether a version was undone: it held for a while, and the one before it holds again. */
export function isUndone({ links }: Memory): boolean {
  return links.some((link) => link.type === "undone");
}

interface Step {
  key: string;
  at: string;
  title: ComponentChildren;
  detail?: ComponentChildren;
}

/** Say what a version says, or what else it changed; where it was undone, that too, when it happened. */
function describeVersion(version: Memory, before: Memory | undefined): { title: string; isState: boolean } {
  if (!before || before.content !== version.content || before.value !== version.value) return { title: version.content, isState: false };
  if (version.status === "archived") return { title: "Put away", isState: true };
  if (before.status === "archived") return { title: "Shown again", isState: true };
  if (before.tags?.join() !== version.tags?.join()) return { title: "Which files it is shown beside", isState: true };
  return { title: before.scope !== version.scope ? `Who sees it: ${SCOPES[version.scope] ?? version.scope}` : "Stored anew with the same text", isState: true };
}

/** List what happened to a memory, newest first: what it said, what it replaced, and what was undone. */
function listSteps(memory: Memory, items: readonly Memory[], project: Project): Step[] {
  const root = memory.id.split(".")[0];
  const own = items.filter((one) => one.id.split(".")[0] === root && !isUndone(one)).reverse();
  const isOver = memory.status === "superseded" || memory.status === "archived";
  const versions = own.map((one, at): Step => {
    const { title, isState } = describeVersion(one, own[at - 1]);
    const next = own[at + 1];
    const isLatest = own.slice(at + 1).every((later, place) => describeVersion(later, own[at + place]).isState);
    const ended = next && !isLatest && !describeVersion(next, one).isState ? `replaced ${dayAndTime(one.valid_to ?? timeOf(next))}, ` : "";
    const holds = isLatest && !isOver;
    return {
      key: `${one.id} ${at}`,
      at: isState && own[at - 1] && timeOf(own[at - 1]!) === timeOf(one) ? (one.updated ?? one.at) : timeOf(one),
      title: holds && !isState ? <b>{title}</b> : title,
      detail: !isState && (
        <>
          {ended || (holds ? "holds now, " : "")}
          <Source memory={one} project={project} isInSentence />
        </>
      ),
    };
  });
  const undone = items.filter(isUndone).flatMap((one): Step[] => [
    { key: one.id, at: timeOf(one), title: one.status === "archived" && one.content === memory.content ? "Put away" : `Changed to “${one.content}”` },
    { key: `${one.id} undone`, at: one.updated ?? one.at, title: one.content === memory.content ? "Undone: shown again" : "Undone: as before" },
  ]);
  const others = items.filter((one) => one.id.split(".")[0] !== root).flatMap((one): Step[] => {
    const ended = one.valid_to ?? timeOf(memory);
    const isLater = Math.abs(Date.parse(ended) - Date.parse(timeOf(memory))) > 60_000;
    const said: Step = {
      key: one.id,
      at: timeOf(one),
      title: <a href={href("knowledge", { project: project.id, show: one.id })}>{one.title}</a>,
      detail: (
        <>
          held until {dayAndTime(ended)}, <Source memory={one} project={project} isInSentence />
        </>
      ),
    };
    return isLater ? [said, { key: `${one.id} ended`, at: ended, title: <>It was decided that this holds instead of “{one.title}”</> }] : [said];
  });
  return [...versions, ...undone, ...others].sort((one, other) => other.at.localeCompare(one.at));
}

/** What happened to a memory, newest first, and the way back to the value before. */
function Changes({ memory, project, onChanged }: { memory: Memory; project: Project; onChanged: () => void }) {
  const { id } = memory;
  const history = useAnswer((signal) => request("get", "/memories/{id}/history", { params: { id }, query: { limit: 100 }, signal }), [id]);
  const readOnly = useReadOnly();
  const undo = () => act("The last change is undone.", () => request("post", "/memories/{id}/undo", { params: { id } }), null, onChanged, memory);
  if (memory.kind !== "fact" && (history.value?.items.length ?? 0) < 2) return null;
  return (
    <>
      <h3>How it changed</h3>
      <Show of={history} what="its history">
        {({ items }) =>
          items.length < 2 ? (
            <p class="quiet-text">It has not changed since it was {isRead(memory) ? "read" : "said"}, {dayAndTime(timeOf(memory))}.</p>
          ) : (
            <>
              <Timeline entries={listSteps(memory, items, project)} first={6} />
              {!readOnly && memory.status !== "archived" && items.some((one) => isVersion(one.id) && !isUndone(one)) && (
                <p class="more">
                  <button type="button" class="quiet" onClick={() => void undo()}>
                    Undo the last change
                  </button>
                </p>
              )}
            </>
          )
        }
      </Show>
    </>
  );
}

function Usage({ id, project }: { id: string; project: Project }) {
  const usage = useAnswer((signal) => request("get", "/memories/{id}/usage", { params: { id }, signal }), [id]);
  if (!usage.value) return null;
  const { usage: counts, changes } = usage.value;
  return (
    <>
      <p class="quiet-text">{describeUsage(counts)}</p>
      {changes.length > 0 && (
        <details>
          <summary>{count(changes.length, "night change")}</summary>
          <ul>
            {changes.map((one) => (
              <li key={one.run + one.what}>
                {describeNightChange(one)}: {plainReason(one.why)} {one.undone && "(undone) "}
                <a href={href("nights", { project: project.id, show: one.run, of: id })}>{one.undone ? "Show that night" : "Show or undo it"}</a>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

/** Ask for what was put away; earlier versions, what was brought back, and what a night archived were not put away by anyone. */
export async function listPutAway(project: Project, query: { as_of?: string; limit: number; cursor?: string }, signal: AbortSignal) {
  const kinds: Memory["kind"][] = ["fact", "episode", "workflow", "pattern", "error"];
  const page = await request("get", "/memories", { query: { project: project.id, kind: kinds, status: ["archived"], ...query }, signal });
  const items = page.items.filter((one) => !isVersion(one.id) && one.source.goes_after === undefined && !isUndone(one));
  return { ...page, items };
}

/** Show a memory again that was put away. */
export function showAgain(memory: Pick<Memory, "id" | "title">, onChanged: () => void, onShown: () => void = () => undefined): Promise<unknown> {
  const set = (status: Memory["status"]) => request("patch", "/memories/{id}", { params: { id: memory.id }, body: { status } });
  // Undoing also brings back since when it holds; where there is nothing to undo, only its state changes.
  const show = () => request("post", "/memories/{id}/undo", { params: { id: memory.id } }).then((told) => (told.status === "active" ? told : set("active")), () => set("active"));
  return act("It is shown again.", () => show().then(onShown), () => set("archived"), onChanged, {
    ...memory,
    undo: () => prepare("patch", "/memories/{id}", { params: { id: memory.id }, body: { status: "archived" } }),
  });
}

function ShowAgain({ memory, onNoted, onChanged }: { memory: Memory; onNoted: (noted: Noted | null) => void; onChanged: () => void }) {
  if (useReadOnly()) return null;
  return (
    <div class="actions">
      <button type="button" class="primary" onClick={() => void showAgain(memory, onChanged, () => onNoted(null))}>
        Undo: show it again
      </button>
    </div>
  );
}

function Removal({ memory, onNoted, onChanged }: { memory: Memory; onNoted: (noted: Noted | null) => void; onChanged: () => void }) {
  const readOnly = useReadOnly();
  if (readOnly) return null;
  const id = memory.id;
  const forget = () => {
    const undo = actLater("Forgotten for good.", () => request("delete", "/memories/{id}", { params: { id }, keepalive: true }).then(onChanged), {
      onUndo: () => onNoted(null),
      onSent: () => onNoted({ text: "forgotten for good", undo: null, isGone: true }),
      of: memory,
    });
    onNoted({ text: "forgotten for good", undo, isGone: true });
  };
  return (
    <div class="actions" role="group" aria-label="Forget">
      <button type="button" class="danger" onClick={forget}>
        Forget for good
      </button>
    </div>
  );
}
