/** Two statements that cannot both be true, beside each other, decided in a click. */

import { useState } from "preact/hooks";
import { prepare, request, type Schemas } from "../api";
import { useAnswer, type Loaded } from "../answers";
import { count, dayAndTime, describeOrigin, describeSince, nameKey, sentence } from "../format";
import type { Project } from "../project";
import { href } from "../router";
import { useReadOnly } from "./access";
import { Panel, Show } from "./basics";
import { Source, type Memory } from "./memory";
import { groupPairs, Group, isLastWord } from "./standing";
import { act } from "./toast";

export type Contradiction = Schemas["Contradiction"];
type Resolution = Schemas["Resolution"];

const MAX_PAIRS = 500;
const BY_ITSELF = "the other memory is no longer active"; // the daemon's note where nobody decided
const PLAIN = /^(they disagree: |two sources give different values )/; // says no more than the two sides

/** Ask for all contradictions of a project, decided ones too. */
export function useContradictions(project: Project, isWanted = true): Loaded<readonly Contradiction[]> {
  return useAnswer(
    isWanted ? async (signal) => (await request("get", "/contradictions", { query: { project: project.id, status: "all", limit: MAX_PAIRS }, signal })).items : null,
    [project.id, isWanted],
  );
}

/** Tell whether a memory, or an earlier version of it, is a side of the pair. */
export function isAbout({ a, b }: Contradiction, id: string): boolean {
  return [a, b].some((side) => side.id.split(".")[0] === id.split(".")[0]);
}

/** Say how a pair was decided, and by whom. */
function describeDecision({ a, b, resolution, resolved_at, note }: Contradiction): string {
  const outcome = resolution === "both_valid" ? "Both hold" : resolution === "merged" ? "Replaced by a new value" : resolution ? `“${resolution === "a_wins" ? a.title : b.title}” holds` : "Closed";
  const at = resolved_at ? ` ${dayAndTime(resolved_at)}` : "";
  return note === BY_ITSELF ? `${outcome}. Nobody had to decide: the other one was no longer in use when hunchd looked${at && `,${at}`}.` : `${outcome}, decided${at}${note ? `: ${note}` : ""}.`;
}

interface PairProps {
  pair: Contradiction;
  project: Project;
  onChanged: () => void;
  title?: string;
}

export function Pair({ pair, project, onChanged, title }: PairProps) {
  const readOnly = useReadOnly();
  const [isMerging, setMerging] = useState(false);
  const undo = () => request("post", "/contradictions/{id}/undo", { params: { id: pair.id } });
  const decide = (body: Resolution) =>
    act(`Decided: ${nameOutcome(body, pair)}.`, () => request("post", "/contradictions/{id}/resolve", { params: { id: pair.id }, body }), undo, onChanged, {
      id: pair.id,
      title: "",
      undo: () => prepare("post", "/contradictions/{id}/undo", { params: { id: pair.id } }),
    });
  const isOpen = pair.status === "open";
  const subject = pair.a.key && pair.a.key === pair.b.key ? `About ${nameKey(pair.a.key)}` : "Only one can be true";
  const reason = PLAIN.test(pair.reason) ? "" : ` ${sentence(pair.reason)}${/[.!?]$/.test(pair.reason) ? "" : "."}`;
  const last = isOpen && (isLastWord(pair.b, pair.a) ? pair.b : isLastWord(pair.a, pair.b) ? pair.a : undefined);
  // What was said last comes first, as in all lists.
  const sides = [...([
    ["b", pair.b, pair.resolution === "a_wins"],
    ["a", pair.a, pair.resolution === "b_wins"],
  ] as const)].sort((one, other) => Number(other[1] === last) - Number(one[1] === last));
  return (
    <Panel title={title ?? subject} hint={`Found ${dayAndTime(pair.detected_at)}.${reason}`}>
      <div class="pair">
        {sides.map(([name, memory, isLoser]) => (
          <Side key={name} memory={memory} project={project} isLoser={isLoser} isLast={last ? memory === last : undefined} isUnasked={pair.note === BY_ITSELF} isWinner={!isOpen && !isLoser && !!pair.resolution && pair.resolution !== "merged"} keep={isOpen && !readOnly ? () => void decide({ resolution: `${name}_wins` }) : undefined} />
        ))}
      </div>
      {!isOpen && <p>{describeDecision(pair)}</p>}
      {!readOnly && (
        <div class="actions">
          {isOpen ? (
            <>
              <button type="button" onClick={() => void decide({ resolution: "both_valid" })}>
                Both hold
              </button>
              <button type="button" aria-expanded={isMerging} onClick={() => setMerging(!isMerging)}>
                Neither: write what holds…
              </button>
            </>
          ) : (
            <button type="button" onClick={() => void act("To decide again.", undo, null, onChanged)}>
              Undo the decision
            </button>
          )}
        </div>
      )}
      {isOpen && <p class="quiet-text">What you do not choose stays in the history of the other one, as what held before.</p>}
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
            <input name="value" required maxLength={1000} defaultValue={pair.b.value ?? pair.b.title} />
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

function nameOutcome({ resolution, value }: Resolution, { a, b }: Contradiction): string {
  if (resolution === "both_valid") return "both hold";
  return `“${(resolution === "merged" ? value : resolution === "a_wins" ? a.title : b.title) ?? ""}” holds`;
}

interface SideProps {
  memory: Memory;
  project: Project;
  isLoser: boolean;
  /** Whether the same person said it later than the other side; undefined where that says nothing. */
  isLast: boolean | undefined;
  /** Nobody decided. */
  isUnasked: boolean;
  isWinner: boolean;
  keep: (() => void) | undefined;
}

function Side({ memory, project, isLoser, isLast, isUnasked, isWinner, keep }: SideProps) {
  return (
    <div class={isLoser ? "side loser" : isLast ? "side proposed" : "side"} role="group" aria-label={memory.title.slice(0, 80)}>
      <p class="preview-title">
        <a href={href("knowledge", { project: project.id, show: memory.id })}>{memory.title}</a> {isWinner && <span class="tag good-text">holds</span>}
        {isLoser && !isUnasked && <span class="tag">held before</span>}
        {isLast && <span class="tag good-text">said last: probably holds</span>}
      </p>
      {memory.content !== memory.title && (
        <pre class="content" tabIndex={0}>
          {memory.content}
        </pre>
      )}
      <p class="quiet-text">
        <Source memory={memory} project={project} />, {describeSince({ ...memory, status: "active" })}.
      </p>
      {keep && (
        <button type="button" class={isLast === false ? "" : "primary"} onClick={keep} aria-label={`This one holds: ${memory.title.slice(0, 80)}`}>
          This one holds
        </button>
      )}
    </div>
  );
}

/** Open contradictions of a memory, each with the way to decide it. */
export function Disputes({ memory, project }: { memory: Memory; project: Project }) {
  const pairs = useContradictions(project);
  const open = (pairs.value ?? []).filter((one) => one.status === "open" && isAbout(one, memory.id));
  if (open.length === 0) return null;
  return (
    <div class="warning">
      {count(open.length, "contradiction")} to decide:
      <ul class="plain">
        {open.map((pair) => {
          const other = pair.a.id.split(".")[0] === memory.id.split(".")[0] ? pair.b : pair.a;
          return (
            <li key={pair.id}>
              “{other.title}” ({describeOrigin(other)}). <a href={href("contradictions", { project: project.id, show: pair.id })}>Decide which one holds</a>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

/** One contradiction in full, found by its id. */
export function PairPanel({ id, project, onChanged }: { id: string; project: Project; onChanged: () => void }) {
  const pairs = useContradictions(project);
  return (
    <Show of={pairs} what="the contradiction" empty={(value) => !value.some((one) => one.id === id) && "This contradiction is no longer known."}>
      {(value) => {
        const pair = value.find((one) => one.id === id)!;
        const changed = () => (pairs.reload(), onChanged());
        if (pair.status !== "open") return <Pair pair={pair} project={project} onChanged={changed} />;
        const group = groupPairs(value.filter((one) => one.status === "open")).find((one) => one.includes(pair))!;
        return <Group pairs={group} project={project} onChanged={changed} />;
      }}
    </Show>
  );
}
