/** Contradictions: both sides beside each other, decided in a click. */

import { useState } from "preact/hooks";
import { prepare, request, type Schemas } from "../api";
import { usePages } from "../answers";
import { useReadOnly } from "../components/access";
import { Panel, Show } from "../components/basics";
import { Chips, More, Source, type Memory } from "../components/memory";
import { act } from "../components/toast";
import { useEvents } from "../events";
import { count, dayAndTime, describeSince, nameKey, sentence, TRUST } from "../format";
import { href } from "../router";
import type { ViewProps } from "../views";

type Contradiction = Schemas["Contradiction"];
type Resolution = Schemas["Resolution"];

const STATES: Record<string, string> = { "": "To decide", resolved: "Decided" };
const DECIDED: Record<string, string> = { a_wins: "The left one holds", b_wins: "The right one holds", both_valid: "Both hold", merged: "Replaced by a new value" };

export default function Contradictions({ project, route }: ViewProps) {
  const state = route.query.get("state") ?? "";
  const found = usePages(
    (cursor, signal) =>
      request("get", "/contradictions", { query: { project: project.id, status: state === "resolved" ? "resolved" : "open", limit: 20, cursor: cursor ?? "" }, signal }),
    [project.id, state],
  );
  useEvents(["memory", "consolidation"], project.id, found.reload, { bundled: true });
  return (
    <>
      <div class="filters">
        <Chips label="Show" chosen={state} options={STATES} address={(name) => href("contradictions", { project: project.id, state: name })} />
      </div>
      <Show
        of={found}
        what="the contradictions"
        empty={(value) => value.items.length === 0 && (state ? "Nothing was decided yet." : "Nothing contradicts itself. When two statements cannot both be true, they appear here.")}
      >
        {(value) => (
          <>
            <p class="quiet-text" role="status">
              {count(value.total ?? value.items.length, "pair")} {state ? "decided" : "to decide. Until you decide, agents are told both."}
            </p>
            <div class="stack">
              {value.items.map((one) => (
                <Pair key={one.id} pair={one} project={project} onChanged={found.reload} />
              ))}
            </div>
            <More of={found} what="pairs" />
          </>
        )}
      </Show>
    </>
  );
}

function Pair({ pair, project, onChanged }: { pair: Contradiction; project: ViewProps["project"]; onChanged: () => void }) {
  const readOnly = useReadOnly();
  const [isMerging, setMerging] = useState(false);
  const undo = () => request("post", "/contradictions/{id}/undo", { params: { id: pair.id } });
  const decide = (body: Resolution) =>
    act(`Decided: ${DECIDED[body.resolution]!.toLowerCase()}.`, () => request("post", "/contradictions/{id}/resolve", { params: { id: pair.id }, body }), undo, onChanged, {
      id: pair.id,
      title: pair.a.title,
      undo: () => prepare("post", "/contradictions/{id}/undo", { params: { id: pair.id } }),
    });
  const isOpen = pair.status === "open";
  const subject = pair.a.key && pair.a.key === pair.b.key ? `About ${nameKey(pair.a.key)}` : "Only one can be true";
  return (
    <Panel title={subject} hint={`${pair.reason} Seen ${dayAndTime(pair.detected_at)}.`}>
      <div class="pair">
        <Side memory={pair.a} project={project} isLoser={pair.resolution === "b_wins"} keep={isOpen && !readOnly ? () => void decide({ resolution: "a_wins" }) : undefined} name="left" />
        <Side memory={pair.b} project={project} isLoser={pair.resolution === "a_wins"} keep={isOpen && !readOnly ? () => void decide({ resolution: "b_wins" }) : undefined} name="right" />
      </div>
      {!isOpen && (
        <p>
          <b>{DECIDED[pair.resolution ?? ""]}</b>
          {pair.resolved_at && `, decided ${dayAndTime(pair.resolved_at)}`}
          {pair.note && `: ${pair.note}`}
        </p>
      )}
      {!readOnly && (
        <div class="actions">
          {isOpen ? (
            <>
              <button type="button" onClick={() => void decide({ resolution: "both_valid" })}>
                Both hold
              </button>
              {pair.a.key && (
                <button type="button" aria-expanded={isMerging} onClick={() => setMerging(!isMerging)}>
                  Neither: give a new value…
                </button>
              )}
            </>
          ) : (
            <button type="button" onClick={() => void act("To decide again.", undo, null, onChanged)}>
              Undo the decision
            </button>
          )}
        </div>
      )}
      {isMerging && isOpen && (
        <form
          class="correction"
          onSubmit={(event) => {
            event.preventDefault();
            void decide({ resolution: "merged", value: String(new FormData(event.currentTarget).get("value")).trim() });
          }}
        >
          <label>
            What holds instead
            <input name="value" required maxLength={1000} defaultValue={pair.b.value ?? ""} />
          </label>
          <div class="actions">
            <button type="submit" class="primary">
              Save
            </button>
          </div>
        </form>
      )}
    </Panel>
  );
}

function Side({ memory, project, isLoser, keep, name }: { memory: Memory; project: ViewProps["project"]; isLoser: boolean; keep: (() => void) | undefined; name: string }) {
  return (
    <div class={isLoser ? "side loser" : "side"} role="group" aria-label={`The ${name} one`}>
      <p class="preview-title">
        <a href={href("knowledge", { project: project.id, show: memory.id })}>{memory.title}</a>
      </p>
      {memory.content !== memory.title && (
        <pre class="content" tabIndex={0}>
          {memory.content}
        </pre>
      )}
      <p class="quiet-text">
        <Source memory={memory} project={project} />, {describeSince(memory)}. {sentence(TRUST[memory.trust] ?? memory.trust)}.
      </p>
      {keep && (
        <button type="button" class="primary" onClick={keep} aria-label={`This one holds: ${memory.title.slice(0, 80)}`}>
          This one holds
        </button>
      )}
    </div>
  );
}
