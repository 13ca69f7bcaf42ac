/** One line of a context: what it says, why it is there, where it comes from, and how to put it right. */

import { useState } from "preact/hooks";
import { prepare, request, type Schemas } from "../api";
import { useAnswer } from "../answers";
import { count, dayAndTime, describeSince, KINDS, listPaths, nameContradiction, nameKey, percent, plainReasons, sentence, sureness, tellAgents, TIERS, timeOf, unquote } from "../format";
import type { Project } from "../project";
import { href } from "../router";
import { useReadOnly } from "./access";
import { EditorLink, Empty, FileLink, Show } from "./basics";
import { act, actLater, NotedTag, useUndone, type Noted } from "./toast";

export type Item = Schemas["Bundle"]["items"][number];
export type Memory = Schemas["Memory"];

export function isMemory(id: string): boolean {
  return !id.includes(":");
}

interface LineProps {
  item: Item;
  project: Project;
  noted: Noted | null;
  onNoted: Note;
  onChanged: () => void;
}
/** Note what was done to a line, or to one of the rules that stand in it together. */
type Note = (noted: Noted | null, part?: Pick<Item, "id" | "title">) => void;

function Line({ item, project, noted, onNoted, onChanged }: LineProps) {
  const [isOpen, setOpen] = useState(false);
  const path = typeof item.source.path === "string" ? item.source.path : "";
  const isFile = item.kind === "file" && path !== "";
  return (
    <li class={noted?.isGone ? "line noted" : "line"}>
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <span class="line-title">{isFile ? <span class="path-text">{item.title}</span> : item.kind === "files" ? sentence(item.title.split(":")[0]!) : nameLine(item)}</span>
          <span class="tag">{nameKind(item)}</span>
          <span class="reasons">{item.kind === "files" ? nameFiles(item.source.paths) : plainReasons(item.reasons).join(" · ")}</span>
        </summary>
        {isOpen && <Why item={item} project={project} path={path} onNoted={onNoted} onChanged={onChanged} />}
      </details>
      <NotedTag noted={noted} />
    </li>
  );
}

/** Kind of a line, as Knowledge names it. */
function nameKind(item: Item): string {
  const category = String(item.source.category ?? "");
  return KINDS[category] ?? KINDS[item.kind] ?? item.kind;
}

const MAX_NAMES = 4;

/** Name the first files of a list, and say how many more there are. */
export function nameFiles(paths: unknown): string {
  const names = Array.isArray(paths) ? paths.map(String) : [];
  return names.slice(0, MAX_NAMES).join(", ") + (names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "");
}

/** Title of a line: a fact has the one that Knowledge shows, not the short form for agents. */
export function nameLine(item: Pick<Item, "title"> & { kind?: string; source?: Record<string, unknown> }): string {
  if (item.kind === "contradiction") return nameContradiction(item.title);
  if (typeof item.source?.title === "string" && !item.source.facts && !item.source.title.endsWith("…")) return item.source.title;
  if (item.kind && item.kind !== "fact") return unquote(item.title);
  return unquote(item.title).replace(/(^|\/ )([\w.-]+): /g, (_, before: string, key: string) => `${before}${nameKey(key)}: `);
}

interface WhyProps {
  item: Item;
  project: Project;
  path: string;
  onNoted: Note;
  onChanged: () => void;
}

function Why({ item, project, path, onNoted, onChanged }: WhyProps) {
  const paths = Array.isArray(item.source.paths) ? (item.source.paths as string[]) : [];
  const parts = Array.isArray(item.source.facts) ? (item.source.facts as string[]) : [];
  const chances = (item.source.probabilities ?? {}) as Record<string, number>;
  return (
    <div class="why">
      <dl>
        <dt>Why it is here</dt>
        <dd>
          <ul>
            {plainReasons(item.reasons).map((reason) => (
              <li key={reason}>{sentence(reason)}</li>
            ))}
            {item.source.here !== undefined && <li>{explainPlace(item)}</li>}
          </ul>
        </dd>
        {item.kind === "file" && (
          <>
            <dt>How likely</dt>
            <dd>You will need this file next with a chance of {percent(item.score)}.</dd>
          </>
        )}
        {path && (
          <>
            <dt>Comes from</dt>
            <dd class="row">
              <FileLink project={project} path={path} />
              <EditorLink project={project} path={path} />
            </dd>
          </>
        )}
        {paths.length > 0 && (
          <>
            <dt>Files</dt>
            <dd>
              <ul class="files">
                {paths.map((one) => (
                  <li key={one}>
                    <FileLink project={project} path={one} /> {chances[one] !== undefined && <span class="quiet-text">{percent(chances[one]!)}</span>}
                  </li>
                ))}
              </ul>
            </dd>
          </>
        )}
        <dt>For agents</dt>
        <dd>
          {tellAgents(item)} It takes {count(item.tokens, "token")} of their context.
        </dd>
      </dl>
      {parts.length > 1 ? (
        <>
          <p>These are {parts.length} rules in one line. Each can be put right by itself:</p>
          {parts.map((id) => (
            <Part key={id} id={id} project={project} onNoted={onNoted} onChanged={onChanged} />
          ))}
        </>
      ) : item.kind === "contradiction" ? (
        <MemoryLink id={item.id} kind={item.kind} project={project} />
      ) : (
        <>
          {isMemory(item.id) && <MemoryDetails id={item.id} />}
          {isMemory(item.id) && <MemoryLink id={item.id} kind={item.kind} project={project} />}
          {item.trust === "user" && isMemory(item.id) && <Reach id={item.id} project={project} onNoted={onNoted} onChanged={onChanged} />}
          <LineActions item={item} project={project} onNoted={onNoted} onChanged={onChanged} />
        </>
      )}
    </div>
  );
}

/** One of the rules of a line, with its own buttons. */
function Part({ id, project, onNoted, onChanged }: { id: string; project: Project; onNoted: Note; onChanged: () => void }) {
  const memory = useAnswer((signal) => request("get", "/memories/{id}", { params: { id }, signal }), [id]);
  return (
    <div class="part">
      <Show of={memory} what="the rule">
        {(value) => (
          <>
            <a href={href("knowledge", { project: project.id, show: id })}>{value.title}</a>
            <LineActions item={value} project={project} onNoted={(noted) => onNoted(noted, value)} onChanged={onChanged} />
          </>
        )}
      </Show>
    </div>
  );
}

/** Say why a fact is in the context of this file. */
function explainPlace(item: Item): string {
  if (item.source.names) return "It names this file.";
  if (item.source.here) return "It has words of this file’s name, or of what you are working on.";
  const others = item.trust === "user" ? listPaths(item.title) : [];
  if (others.length) return `You said it for the whole project, although it names ${others.join(" and ")}; “Only for” below keeps it there.`;
  return item.trust === "user" ? "It holds for the whole project, so it is in the context of every file." : "It is a rule of the whole project that fits this file.";
}

/** What is stored, and how it came to be so. */
export function MemoryDetails({ id }: { id: string }) {
  const memory = useAnswer((signal) => request("get", "/memories/{id}", { params: { id }, signal }), [id]);
  const history = useAnswer((signal) => request("get", "/memories/{id}/history", { params: { id }, signal }), [id]);
  return (
    <Show of={memory} what="the memory">
      {(value) => (
        <>
          <pre class="content" tabIndex={0}>
            {value.content}
          </pre>
          <p class="quiet-text">
            {sentence(describeSince(value))}, {sureness(value.confidence)}.{" "}
            {describeUsage(value.usage)}
          </p>
          {(history.value?.items.length ?? 0) > 1 && (
            <details class="versions">
              <summary>{count(history.value!.items.length, "version")}</summary>
              <ol>
                {history.value!.items.map((version) => (
                  <li key={version.id}>
                    {dayAndTime(timeOf(version))}: {version.content}
                  </li>
                ))}
              </ol>
            </details>
          )}
        </>
      )}
    </Show>
  );
}

export function describeUsage(usage: { retrieved?: number; cited?: number; wrong?: number } | undefined): string {
  return `Shown ${count(usage?.retrieved ?? 0, "time")}, rated useful ${count(usage?.cited ?? 0, "time")}, “show less” ${count(usage?.wrong ?? 0, "time")}.`;
}

/** Link to where a memory can be seen in full, or decided. */
export function MemoryLink({ id, kind, project }: { id: string; kind: string; project: Project }) {
  return (
    <p>
      {kind === "contradiction" ? (
        <a href={href("contradictions", { project: project.id, show: id })}>Decide which one holds</a>
      ) : (
        <a href={href("knowledge", { project: project.id, show: id })}>Who said it, and how it changed</a>
      )}
    </p>
  );
}

interface ActionProps {
  item: Pick<Item, "id" | "title">;
  project: Project;
  onNoted: (noted: Noted | null) => void;
  onChanged: () => void;
}

const ONLY = "only-its-files"; // tag of the daemon

/** Files beside which a statement is shown, and the button that keeps it to those that it names, or not. */
export function Reach({ id, project, onNoted, onChanged }: { id: string; project: Project; onNoted: (noted: Noted | null) => void; onChanged: () => void }) {
  const memory = useAnswer((signal) => request("get", "/memories/{id}", { params: { id }, signal }), [id]);
  const named = listPaths(memory.value?.content ?? "");
  const files = useAnswer(
    named.length ? (signal) => Promise.all(named.map((path) => request("get", "/files", { query: { project: project.id, path }, signal }).then((file) => (file.exists ? [path] : file.similar.filter((one) => one.endsWith(`/${path}`)).slice(0, 1))))) : null,
    [named.join()],
  );
  const readOnly = useReadOnly();
  const value = memory.value;
  const paths = [...new Set(files.value?.flat() ?? [])];
  if (!value || value.kind !== "fact" || value.status !== "active" || value.trust !== "user" || paths.length === 0) return null;
  const tags = value.tags ?? [];
  const isOnly = tags.includes(ONLY);
  const names = nameFiles(paths);
  const change = async () => {
    const others = value.artifacts.filter((one) => one.type !== "file" || !paths.includes(one.ref));
    const body: Schemas["MemoryPatch"] = isOnly
      ? { tags: tags.filter((one) => one !== ONLY), artifacts: others, ...(value.valid_from ? { valid_from: value.valid_from } : {}) }
      : { tags: [...tags, ONLY], artifacts: [...others, ...paths.map((ref) => ({ type: "file" as const, ref }))] };
    const word = isOnly ? "for every file" : `only for ${names}`;
    const changed = () => (memory.reload(), onChanged());
    const undo = await act(
      isOnly ? "It is shown beside every file." : `It is shown only beside ${names}.`,
      () => request("patch", "/memories/{id}", { params: { id }, body }),
      () => request("post", "/memories/{id}/undo", { params: { id } }).then(() => onNoted(null)),
      changed,
      { id, title: value.title, undo: () => prepare("post", "/memories/{id}/undo", { params: { id } }) },
    );
    if (undo) onNoted({ text: word, undo });
  };
  return (
    <p class="row reach">
      <span>
        Shown {isOnly ? "only beside" : "beside every file; it names"} {names}.
      </span>
      {!readOnly && (
        <button type="button" onClick={() => void change()}>
          {isOnly ? "For every file" : `Only for ${names}`}
        </button>
      )}
    </p>
  );
}

/** Useful, show less, correct, never again. */
export function LineActions({ item, project, onNoted, onChanged }: ActionProps) {
  const [isEditing, setEditing] = useState(false);
  const readOnly = useReadOnly();
  if (readOnly) return <Empty>This page was opened read-only, so nothing can be changed here.</Empty>;
  const isKnown = isMemory(item.id);
  const of = { id: item.id, title: nameLine(item) };
  if (!isKnown && !item.id.startsWith("file:")) return null;
  const rate = (outcome: "cited" | "wrong", word: string, text: string) => {
    const rating = (outcome: "cited" | "wrong") => ({ items: [{ id: item.id, outcome, ...(isKnown ? {} : { project: project.id }) }] });
    const ask = () => request("post", "/feedback", { body: rating(outcome), keepalive: true });
    // What was counted stays counted: the opposite rating outweighs it.
    const back = () => prepare("post", "/feedback", { body: rating(outcome === "wrong" ? "cited" : "wrong") });
    onNoted({ text: word, undo: actLater(text, ask, { onUndo: () => onNoted(null), onSent: (undo) => onNoted({ text: word, undo }), back, of }) });
  };
  const patch = async (body: Schemas["MemoryPatch"], word: string, text: string) => {
    const undo = await act(
      text,
      () => request("patch", "/memories/{id}", { params: { id: item.id }, body }),
      () => request("post", "/memories/{id}/undo", { params: { id: item.id } }).then(() => onNoted(null)),
      onChanged,
      { ...of, undo: () => prepare("post", "/memories/{id}/undo", { params: { id: item.id } }) },
    );
    if (undo) onNoted({ text: word, undo, isGone: body.status === "archived" });
  };
  return (
    <>
      <div class="actions" role="group" aria-label={`Put “${item.title.slice(0, 60)}” right`}>
        <button type="button" onClick={() => rate("cited", "useful", "Noted as useful.")}>
          Useful
        </button>
        <button type="button" title="It stays here and in Knowledge; the next nights move it down, so that other lines come first" onClick={() => rate("wrong", "to be shown less", "Noted: show it less. It stays for now; the next nights move it down.")}>
          Show less
        </button>
        {isKnown && (
          <>
            <button type="button" onClick={() => setEditing(!isEditing)} aria-expanded={isEditing}>
              Correct…
            </button>
            <button type="button" class="danger" onClick={() => void patch({ status: "archived" }, "put away", "Put away: it is not shown again.")}>
              Put away: never again
            </button>
          </>
        )}
      </div>
      {isEditing && <Correction id={item.id} onDone={() => setEditing(false)} save={(body) => patch(body, "corrected", "Corrected.")} />}
    </>
  );
}

function Correction({ id, save, onDone }: { id: string; save: (body: Schemas["MemoryPatch"]) => Promise<void>; onDone: () => void }) {
  const memory = useAnswer((signal) => request("get", "/memories/{id}", { params: { id }, signal }), [id]);
  return (
    <Show of={memory} what="its text">
      {(value) => (
        <form
          class="correction"
          onSubmit={(event) => {
            event.preventDefault();
            const form = new FormData(event.currentTarget);
            const content = String(form.get("content")).trim();
            const title = String(form.get("title")).trim();
            const body: Schemas["MemoryPatch"] = {};
            if (content !== value.content) body.content = content;
            if (title !== value.title) body.title = title;
            const wanted = form.get("value");
            if (wanted !== null && wanted !== value.value) body.value = String(wanted).trim();
            if (Object.keys(body).length) void save(body).then(onDone);
            else onDone();
          }}
        >
          <label>
            In one line
            <input name="title" required maxLength={1000} defaultValue={value.title} />
          </label>
          {value.value !== undefined && (
            <label>
              Value of “{nameKey(value.key ?? "")}”
              <input name="value" required defaultValue={value.value} />
            </label>
          )}
          <label>
            Text
            <textarea name="content" required rows={Math.min(12, value.content.split("\n").length + 1)} defaultValue={value.content} />
          </label>
          <div class="actions">
            <button type="submit" class="primary">
              Save
            </button>
            <button type="button" onClick={onDone}>
              Cancel
            </button>
          </div>
        </form>
      )}
    </Show>
  );
}

interface NotedItem {
  item: Item;
  noted: Noted;
  place: number;
}

/** All lines of a bundle under their tiers; one that was put away stays in its place, with its undo, while the view is open. */
export function Lines({ items, project, onChanged }: { items: readonly Item[]; project: Project; onChanged: () => void }) {
  const [changed, setChanged] = useState<ReadonlyMap<string, NotedItem>>(new Map());
  useUndone(onChanged);
  const note = (line: Item, noted: Noted | null, part: Pick<Item, "id" | "title"> = line) =>
    setChanged((before) => {
      const after = new Map(before);
      const item = part === line ? line : { ...line, id: part.id, title: part.title, source: { title: part.title } };
      if (noted) after.set(item.id, { item, noted, place: before.get(item.id)?.place ?? items.indexOf(line) });
      else after.delete(item.id);
      return after;
    });
  const all = [...items];
  for (const { item, place } of [...changed.values()].sort((one, other) => one.place - other.place)) if (!all.some((one) => one.id === item.id)) all.splice(Math.max(0, place), 0, item);
  return (
    <>
      {[1, 2, 3, 4].map((tier) => {
        const its = all.filter((item) => item.tier === tier);
        return its.length > 0 ? (
          <div key={tier}>
            <h3>
              <span class={`dot tone-${tier}`} aria-hidden="true" /> {TIERS[tier]!.name} <span class="quiet-text">{TIERS[tier]!.explains}</span>
            </h3>
            <ul class="lines">
              {its.map((item) => (
                <Line key={item.id} item={item} project={project} noted={changed.get(item.id)?.noted ?? null} onNoted={(noted, part) => note(item, noted, part)} onChanged={onChanged} />
              ))}
            </ul>
          </div>
        ) : null;
      })}
    </>
  );
}
