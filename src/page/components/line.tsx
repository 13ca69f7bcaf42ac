/** One line of a context: what it says, why it is there, where it comes from, and how to put it right. */

import { useState } from "preact/hooks";
import { request, type Schemas } from "../api";
import { useAnswer } from "../answers";
import { count, day, KINDS, percent, TRUST } from "../format";
import type { Project } from "../project";
import { href } from "../router";
import { useReadOnly } from "./access";
import { EditorLink, Empty, FileLink, Show } from "./basics";
import { act, actLater } from "./toast";

export type Item = Schemas["Bundle"]["items"][number];
export type Memory = Schemas["Memory"];

export function isMemory(id: string): boolean {
  return !id.includes(":");
}

export function Line({ item, project, onChanged }: { item: Item; project: Project; onChanged: () => void }) {
  const [isOpen, setOpen] = useState(false);
  const [noted, setNoted] = useState("");
  const path = typeof item.source.path === "string" ? item.source.path : "";
  const isFile = item.kind === "file" && path !== "";
  return (
    <li class={noted ? "line noted" : "line"}>
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <span class="line-title">{isFile ? <span class="path-text">{item.title}</span> : item.kind === "files" ? capitalize(item.title) : item.title}</span>
          <span class="tag">{isFile ? percent(item.score) : (KINDS[item.kind] ?? item.kind)}</span>
          <span class="reasons">{item.kind === "files" ? nameFiles(item.source.paths) : withoutCommands(item.reasons).join(" · ")}</span>
          {noted && <span class="tag noted-tag">{noted}</span>}
        </summary>
        {isOpen && <Why item={item} project={project} path={path} onNoted={setNoted} onChanged={onChanged} />}
      </details>
    </li>
  );
}

/** Leave out commands for the terminal: the page has buttons and links for them. */
function withoutCommands(reasons: readonly string[]): string[] {
  return reasons.filter((reason) => !reason.startsWith("hunch "));
}

const MAX_NAMES = 4;

/** Name the first files of a list, and say how many more there are. */
function nameFiles(paths: unknown): string {
  const names = Array.isArray(paths) ? paths.map(String) : [];
  return names.slice(0, MAX_NAMES).join(", ") + (names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "");
}

function capitalize(title: string): string {
  return title.charAt(0).toUpperCase() + title.slice(1);
}

interface WhyProps {
  item: Item;
  project: Project;
  path: string;
  onNoted: (text: string) => void;
  onChanged: () => void;
}

function Why({ item, project, path, onNoted, onChanged }: WhyProps) {
  const paths = Array.isArray(item.source.paths) ? (item.source.paths as string[]) : [];
  const chances = (item.source.probabilities ?? {}) as Record<string, number>;
  return (
    <div class="why">
      <dl>
        <dt>Why it is here</dt>
        <dd>
          <ul>
            {withoutCommands(item.reasons).map((reason) => (
              <li key={reason}>{reason}</li>
            ))}
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
        <dt>Trust</dt>
        <dd>{TRUST[item.trust] ?? item.trust}</dd>
        <dt>Costs</dt>
        <dd>{count(item.tokens, "token")}</dd>
      </dl>
      {isMemory(item.id) && <MemoryDetails id={item.id} />}
      {isMemory(item.id) && <MemoryLink id={item.id} kind={item.kind} project={project} />}
      <LineActions item={item} project={project} onNoted={onNoted} onChanged={onChanged} />
    </div>
  );
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
            {value.confidence !== undefined && `Confidence ${percent(value.confidence)}. `}
            {value.created && `Known since ${day(value.created)}. `}
            Shown {count(value.usage?.retrieved ?? 0, "time")}, useful {value.usage?.cited ?? 0}, not useful {value.usage?.ignored ?? 0}.
          </p>
          {(history.value?.items.length ?? 0) > 1 && (
            <details class="versions">
              <summary>{count(history.value!.items.length, "version")}</summary>
              <ol>
                {history.value!.items.map((version) => (
                  <li key={version.id}>
                    {version.updated && day(version.updated)}: {version.content}
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

/** Link to where a memory can be seen in full, or decided. */
export function MemoryLink({ id, kind, project }: { id: string; kind: string; project: Project }) {
  return (
    <p>
      {kind === "contradiction" ? (
        <a href={href("contradictions", { project: project.id })}>Decide which one holds</a>
      ) : (
        <a href={href("knowledge", { project: project.id, show: id })}>Who said it, and how it changed</a>
      )}
    </p>
  );
}

interface ActionProps {
  item: Pick<Item, "id" | "title">;
  project: Project;
  onNoted: (text: string) => void;
  onChanged: () => void;
}

/** Useful, wrong, never again, correct; all can be taken back. */
export function LineActions({ item, project, onNoted, onChanged }: ActionProps) {
  const [isEditing, setEditing] = useState(false);
  const readOnly = useReadOnly();
  if (readOnly) return <Empty>This page was opened read-only, so nothing can be changed here.</Empty>;
  const isKnown = isMemory(item.id);
  if (!isKnown && !item.id.startsWith("file:")) return null;
  const rate = (outcome: "cited" | "wrong", word: string, text: string) => {
    onNoted(word);
    const sent = { id: item.id, outcome, ...(isKnown ? {} : { project: project.id }) };
    actLater(text, () => request("post", "/feedback", { body: { items: [sent] }, keepalive: true }), () => onNoted(""));
  };
  const patch = (body: Schemas["MemoryPatch"], word: string, text: string) =>
    act(
      text,
      () => request("patch", "/memories/{id}", { params: { id: item.id }, body }),
      () => request("post", "/memories/{id}/undo", { params: { id: item.id } }).then(() => onNoted("")),
      () => {
        onNoted(word);
        onChanged();
      },
    );
  return (
    <>
      <div class="actions" role="group" aria-label={`Put “${item.title.slice(0, 60)}” right`}>
        <button type="button" onClick={() => rate("cited", "useful", "Noted as useful.")}>
          Useful
        </button>
        <button type="button" onClick={() => rate("wrong", "wrong here", "Noted as wrong: it will be shown less.")}>
          Wrong here
        </button>
        {isKnown && (
          <>
            <button type="button" onClick={() => setEditing(!isEditing)} aria-expanded={isEditing}>
              Correct…
            </button>
            <button type="button" class="danger" onClick={() => void patch({ status: "archived" }, "put away", "Put away: it is not shown again.")}>
              Never again
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
              Value of “{value.key}”
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

/** All lines of a bundle under their tiers. */
export function Lines({ items, project, onChanged }: { items: readonly Item[]; project: Project; onChanged: () => void }) {
  return (
    <ul class="lines">
      {items.map((item) => (
        <Line key={item.id} item={item} project={project} onChanged={onChanged} />
      ))}
    </ul>
  );
}
