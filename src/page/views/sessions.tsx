/** Sessions of agents: what was said, what was kept of it, and the prompt that is made of it. */

import { useEffect, useState } from "preact/hooks";
import { request, type Answer, type Schemas } from "../api";
import { useAnswer, usePages } from "../answers";
import { useReadOnly } from "../components/access";
import { Bar, Empty, ErrorBox, Loading, Panel, Show } from "../components/basics";
import { Choices, MemoryPanel, More } from "../components/memory";
import { actLater } from "../components/toast";
import { useEvents } from "../events";
import { count, dayAndTime, KINDS, percent } from "../format";
import { href } from "../router";
import type { ViewProps } from "../views";

type Session = Schemas["Session"];
type Project = ViewProps["project"];

const OUTCOMES: Record<string, string> = { success: "it worked", partial: "half done", interrupted: "broken off" };
const ROLES: Record<string, string> = { user: "You", assistant: "Agent", system: "System", tool: "Tool" };
const MESSAGES = 100;

export default function Sessions({ project, route }: ViewProps) {
  const shown = route.query.get("show") ?? "";
  const at = route.query.get("at") ?? "";
  const [gone, setGone] = useState("");
  const sessions = usePages((cursor, signal) => request("get", "/sessions", { query: { project: project.id, limit: 50, cursor: cursor ?? "" }, signal }), [project.id]);
  useEvents(["memory", "signal"], project.id, sessions.reload, { bundled: true, about: (event) => String((event.signal as { kind?: string } | undefined)?.kind ?? "session").startsWith("session") });
  const items = (sessions.value?.items ?? []).filter((one) => one.id !== gone);
  const chosen = shown && shown !== gone ? shown : (items[0]?.id ?? "");
  return (
    <Show of={sessions} what="the sessions" empty={() => items.length === 0 && !shown && <NoSessions />}>
      {() => (
        <div class={shown ? "results half opened" : "results half"}>
          <div>
            <Choices label="Sessions" items={items} keyOf={(one) => one.id} chosen={chosen} address={(show) => href("sessions", { project: project.id, show })}>
              {(one) => (
                <>
                  <span class="line-title">{one.title || one.id}</span>
                  <span class="tag">{one.state === "open" ? "open" : (OUTCOMES[one.outcome ?? ""] ?? "ended")}</span>
                  <span class="reasons">
                    {dayAndTime(one.began)} · {count(one.messages, "message")}
                  </span>
                </>
              )}
            </Choices>
            <More of={sessions} what="sessions" />
          </div>
          {chosen && <About key={chosen} id={chosen} at={at} project={project} onGone={setGone} onChanged={sessions.reload} />}
        </div>
      )}
    </Show>
  );
}

function NoSessions() {
  return (
    <>
      No session of an agent was recorded. In a terminal, run <code>hunch agent install</code>; the next session then appears here.
    </>
  );
}

function About({ id, at, project, onGone, onChanged }: { id: string; at: string; project: Project; onGone: (id: string) => void; onChanged: () => void }) {
  const session = useAnswer((signal) => request("get", "/sessions/{id}", { params: { id }, signal }), [id]);
  const readOnly = useReadOnly();
  const [folded, setFolded] = useState(0);
  const erase = () => {
    onGone(id);
    actLater("Forgotten for good, with everything that was kept of it.", () => request("delete", "/sessions/{id}", { params: { id }, keepalive: true }).then(onChanged), {
      onUndo: () => onGone(""),
      of: { id, title: session.value?.title || id },
    });
  };
  return (
    <div class="stack">
      <Show of={session} what="the session">
        {(value) => <Heading session={value} />}
      </Show>
      <Kept id={id} project={project} />
      <Transcript id={id} at={at} folded={folded} />
      <Compiled id={id} onFolded={setFolded} />
      {!readOnly && (
        <div class="actions">
          <button type="button" class="danger" onClick={erase}>
            Forget this session for good
          </button>
        </div>
      )}
    </div>
  );
}

function Heading({ session }: { session: Session }) {
  return (
    <Panel title={session.title || session.id}>
      <p class="quiet-text">
        Began {dayAndTime(session.began)}, {count(session.messages, "message")}.{" "}
        {session.state === "open" ? "Still open." : session.ended ? `Ended ${dayAndTime(session.ended)}${session.outcome ? `; the agent reported: ${OUTCOMES[session.outcome] ?? session.outcome}` : ""}.` : "Ended."}
      </p>
    </Panel>
  );
}

/** Memories that came out of the session, each with the sentence that it comes from. */
function Kept({ id, project }: { id: string; project: Project }) {
  const kept = useAnswer(
    (signal) => request("get", "/memories", { query: { project: project.id, tag: [`session:${id}`], kind: ["fact", "episode"], limit: 50 }, signal }),
    [id, project.id],
  );
  const [open, setOpen] = useState("");
  return (
    <Panel title="What was kept of it" hint="Open a line to see the sentence it comes from, or to put it right.">
      <Show of={kept} what="what was kept" empty={(value) => value.items.length === 0 && "Nothing yet. A session is read when it ends."}>
        {(value) => (
          <ul class="lines">
            {value.items.map((one) => (
              <li key={one.id} class="line">
                <details open={open === one.id} onToggle={(event) => event.currentTarget.open ? setOpen(one.id) : open === one.id && setOpen("")}>
                  <summary>
                    <span class="line-title">{one.title}</span>
                    <span class="tag">{KINDS[one.kind === "episode" ? "summary" : (one.category ?? "")] ?? KINDS[one.kind]}</span>
                    <span class="reasons">{typeof one.source.turn === "number" ? `from message ${one.source.turn}` : ""}</span>
                  </summary>
                  {open === one.id && (
                    <>
                      {typeof one.source.message === "string" && (
                        <p>
                          <a href={`#${one.source.message}`}>Show the sentence in the transcript</a>
                        </p>
                      )}
                      <MemoryPanel id={one.id} project={project} onChanged={kept.reload} isPinned={false} />
                    </>
                  )}
                </details>
              </li>
            ))}
          </ul>
        )}
      </Show>
    </Panel>
  );
}

function Transcript({ id, at: shown, folded }: { id: string; at: string; folded: number }) {
  const messages = usePages((cursor, signal) => request("get", "/sessions/{id}/messages", { params: { id }, query: { limit: MESSAGES, cursor: cursor ?? "" }, signal }), [id]);
  const isThere = messages.value !== undefined;
  useEffect(() => {
    if (isThere && shown) document.getElementById(shown)?.scrollIntoView({ block: "center" });
  }, [shown, isThere]);
  return (
    <Panel title="Transcript">
      <Show of={messages} what="the transcript" empty={(value) => value.items.length === 0 && "No message was recorded."}>
        {(value) => (
          <>
            <ol class="transcript">
              {value.items.map((one, at) => (
                <li key={one.id} id={one.id} class={`said by-${one.role}${one.id === shown ? " found" : ""}`} tabIndex={-1}>
                  <p class="quiet-text">
                    {at + 1}. <b>{ROLES[one.role] ?? one.role}</b>
                    {one.name && ` (${one.name})`} {dayAndTime(one.at)} · {count(one.tokens, "token")} {at < folded && <span class="tag">folded into a summary</span>}
                  </p>
                  <p class="spoken">{one.content}</p>
                </li>
              ))}
            </ol>
            <More of={messages} what="messages" />
          </>
        )}
      </Show>
    </Panel>
  );
}

type Prompt = Answer<"/context/compile", "post">;
const SECTIONS: readonly [string, string, number][] = [
  ["prefix", "Instructions", 1],
  ["profile", "About you", 4],
  ["background", "The project", 3],
  ["history", "The talk so far", 2],
  ["volatile", "This moment", 1],
  ["task", "Task", 3],
  ["retrieved", "Looked up", 4],
  ["message", "Your message", 2],
];
const CACHED: readonly string[] = ["prefix", "profile", "background", "history"];

function Compiled({ id, onFolded }: { id: string; onFolded: (until: number) => void }) {
  const [isOpen, setOpen] = useState(false);
  const prompt = useAnswer(isOpen ? (signal) => request("post", "/context/compile", { body: { session: id }, signal }) : null, [id, isOpen]);
  const folded = prompt.value?.history.condensed_until ?? 0;
  useEffect(() => onFolded(folded), [folded]);
  return (
    <Panel title="Prompt for the next message" hint="What an agent sends to its model if hunchd writes the prompt.">
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Show the prompt</summary>
        {isOpen && (prompt.value ? <PromptParts prompt={prompt.value} /> : prompt.error ? <ErrorBox error={prompt.error} retry={prompt.reload} /> : <Loading what="the prompt" />)}
      </details>
    </Panel>
  );
}

function PromptParts({ prompt }: { prompt: Prompt }) {
  const sections = prompt.sections as Record<string, number>;
  const cached = CACHED.reduce((sum, name) => sum + (sections[name] ?? 0), 0);
  return (
    <>
      <Bar label={`Tokens of the prompt, ${prompt.token_count}`} total={prompt.token_count} parts={SECTIONS.filter(([name]) => (sections[name] ?? 0) > 0).map(([name, title, tone]) => ({ name: title, size: sections[name] ?? 0, tone }))} />
      <p class="quiet-text">
        {count(prompt.token_count, "token")}. {percent(prompt.token_count ? cached / prompt.token_count : 0)} of it stays the same for the next message, so a model that keeps a cache reads it again at a
        fraction of the price. {prompt.history.condensed_until > 0 && `The first ${count(prompt.history.condensed_until, "message")} are folded into a summary; the transcript marks them.`}
        {prompt.pruned.length > 0 && ` Left out for lack of room: ${prompt.pruned.join(", ")}.`}
      </p>
      {prompt.degraded.length > 0 && <p class="warning">Not complete: {prompt.degraded.join(", ")}</p>}
      {prompt.messages.length === 0 && <Empty>The prompt is empty.</Empty>}
      {prompt.messages.map((message, at) => (
        <details key={at}>
          <summary>
            {at + 1}. {ROLES[String(message.role)] ?? String(message.role)}
          </summary>
          <pre class="content" tabIndex={0}>
            {readText(message.content)}
          </pre>
        </details>
      ))}
    </>
  );
}

function readText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return JSON.stringify(content, null, 2) ?? "";
  return content.map((part: { text?: unknown }) => (typeof part.text === "string" ? part.text : JSON.stringify(part, null, 2))).join("\n");
}
