/** A stored memory in full: what it says, who said it, how it changed, and what can be done with it. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { request, type Schemas } from "../api";
import { useAnswer, type Listed } from "../answers";
import { count, day, describeSource, KINDS, percent, SCOPES, sentence, TRUST } from "../format";
import type { Project } from "../project";
import { href } from "../router";
import { useReadOnly } from "./access";
import { FileLink, Panel, Show, Timeline } from "./basics";
import { LineActions } from "./line";
import { act, actLater } from "./toast";

export type Memory = Schemas["Memory"];

/** List of links on the left, of which one is shown on the right. */
export function Choices<T>({ label, items, keyOf, chosen, address, children }: { label: string; items: readonly T[]; keyOf: (item: T) => string; chosen: string; address: (key: string) => string; children: (item: T) => ComponentChildren }) {
  return (
    <ol class="result-list" aria-label={label}>
      {items.map((item) => {
        const key = keyOf(item);
        return (
          <li key={key} class={key === chosen ? "result current" : "result"}>
            <a href={address(key)} aria-current={key === chosen ? "true" : undefined}>
              {children(item)}
            </a>
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
export function Source({ memory, project }: { memory: Memory; project: Project }) {
  const session = typeof memory.source.session === "string" ? memory.source.session : "";
  const path = typeof memory.source.path === "string" ? memory.source.path : "";
  const quoted = typeof memory.source.sentence === "string" ? memory.source.sentence : "";
  return (
    <>
      {session ? (
        <a href={href("sessions", { project: project.id, show: session })}>{sentence(describeSource(memory))}</a>
      ) : (
        sentence(describeSource(memory))
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
}

export function MemoryPanel({ id, project, asOf, onChanged, title = "Details", body }: PanelProps) {
  const memory = useAnswer((signal) => request("get", "/memories/{id}", { params: { id }, query: { as_of: asOf ?? "" }, signal }), [id, asOf]);
  const [noted, setNoted] = useState("");
  const changed = () => {
    memory.reload();
    onChanged();
  };
  return (
    <Panel title={title}>
      <Show of={memory} what="the memory">
        {(value) => (
          <>
            <p class="preview-title">{value.title}</p>
            {noted && <p class="tag noted-tag">{noted}</p>}
            {value.status !== "active" && <p class="warning">{STATUS[value.status]}</p>}
            {body ? (
              body(value)
            ) : (
              value.content !== value.title && (
                <pre class="content" tabIndex={0}>
                  {value.content}
                </pre>
              )
            )}
            {value.kind === "fact" ? (
              <Facts memory={value} project={project} />
            ) : (
              <details class="origin">
                <summary>Where it comes from</summary>
                <Facts memory={value} project={project} />
              </details>
            )}
            <Changes key={value.updated} id={id} />
            <Usage id={id} project={project} />
            {value.status === "active" && <LineActions item={value} project={project} onNoted={setNoted} onChanged={changed} />}
            <Removal memory={value} onNoted={setNoted} onChanged={changed} />
          </>
        )}
      </Show>
    </Panel>
  );
}

const STATUS: Record<string, string> = {
  archived: "Put away: it is not shown to you or to agents.",
  superseded: "Replaced by a newer value.",
  suspect: "In doubt: what it is about has changed since.",
};

function Facts({ memory, project }: { memory: Memory; project: Project }) {
  return (
    <div class="why">
      <dl>
        <dt>Kind</dt>
        <dd>{KINDS[memory.category ?? ""] ?? KINDS[memory.kind] ?? memory.kind}</dd>
        {memory.key && memory.kind === "fact" && (
          <>
            <dt>Value</dt>
            <dd>
              {memory.key.replace(/[_.-]+/g, " ")}: {memory.value}
            </dd>
          </>
        )}
        <dt>Comes from</dt>
        <dd>
          <Source memory={memory} project={project} />
        </dd>
        <dt>Trust</dt>
        <dd>{TRUST[memory.trust] ?? memory.trust}</dd>
        <dt>How sure</dt>
        <dd>{percent(memory.confidence)}</dd>
        <dt>Holds</dt>
        <dd>
          {memory.valid_from ? `since ${day(memory.valid_from)}` : `since ${day(memory.created ?? memory.at)}`}
          {memory.valid_to && ` until ${day(memory.valid_to)}`}
          {memory.branch && `, on branch ${memory.branch}`}
        </dd>
        <dt>Who sees it</dt>
        <dd>{SCOPES[memory.scope] ?? memory.scope}</dd>
      </dl>
    </div>
  );
}

/** Earlier values, newest first. */
function Changes({ id }: { id: string }) {
  const history = useAnswer((signal) => request("get", "/memories/{id}/history", { params: { id }, query: { limit: 100 }, signal }), [id]);
  const versions = history.value?.items ?? [];
  if (versions.length < 2) return null;
  const entries = versions.map((one, at) => ({
    key: `${one.id} ${at}`,
    at: one.valid_from ?? one.updated ?? one.at,
    title: one.value ?? one.content,
    detail: one.value && one.content !== one.value ? one.content : undefined,
  }));
  return (
    <>
      <h3>How it changed</h3>
      <Timeline entries={entries.sort((one, other) => (other.at > one.at ? 1 : other.at < one.at ? -1 : 0))} first={6} />
    </>
  );
}

function Usage({ id, project }: { id: string; project: Project }) {
  const usage = useAnswer((signal) => request("get", "/memories/{id}/usage", { params: { id }, signal }), [id]);
  if (!usage.value) return null;
  const { usage: counts, changes } = usage.value;
  return (
    <>
      <p class="quiet-text">
        Shown {count(counts.retrieved ?? 0, "time")}, useful {counts.cited ?? 0}, wrong {counts.wrong ?? 0}.
      </p>
      {changes.length > 0 && (
        <details>
          <summary>Changed at night: {count(changes.length, "time")}</summary>
          <ul>
            {changes.map((one) => (
              <li key={one.run + one.what}>
                {one.what}: {one.why} {one.undone && "(undone) "}
                <a href={href("nights", { project: project.id, show: one.run, of: id })}>{one.undone ? "Show that night" : "Show or take it back"}</a>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function Removal({ memory, onNoted, onChanged }: { memory: Memory; onNoted: (text: string) => void; onChanged: () => void }) {
  const readOnly = useReadOnly();
  if (readOnly) return null;
  const id = memory.id;
  const setStatus = (status: Memory["status"]) => request("patch", "/memories/{id}", { params: { id }, body: { status } });
  const forget = () => {
    onNoted("forgotten");
    actLater("Forgotten for good.", () => request("delete", "/memories/{id}", { params: { id } }).then(onChanged), () => onNoted(""));
  };
  return (
    <div class="actions" role="group" aria-label="Put away or forget">
      {memory.status === "archived" && (
        <button type="button" class="primary" onClick={() => void act("It is shown again.", () => setStatus("active"), () => setStatus("archived"), onChanged)}>
          Show it again
        </button>
      )}
      <button type="button" class="danger" onClick={forget}>
        Forget for good
      </button>
    </div>
  );
}
