/** Which of several statements about one subject holds: proposed, and decided for all of them in one click. */

import { useState } from "preact/hooks";
import { prepare, request } from "../api";
import { useAnswer } from "../answers";
import { count, dayAndTime, describeOrigin, isRead, sentence, timeOf } from "../format";
import type { Project } from "../project";
import { href } from "../router";
import { useReadOnly } from "./access";
import { Panel } from "./basics";
import { isUndone, Source, type Memory } from "./memory";
import { Pair, type Contradiction } from "./pair";
import { act } from "./toast";

/** Return the id that all versions of a memory share. */
function rootOf({ id }: Memory): string {
  return id.split(".")[0]!;
}

/** Put pairs together that share a statement, in the order of the first of each. */
export function groupPairs(pairs: readonly Contradiction[]): Contradiction[][] {
  const groups: { pairs: Contradiction[]; ids: Set<string> }[] = [];
  for (const pair of pairs) {
    const ids = [rootOf(pair.a), rootOf(pair.b)];
    const [first, ...others] = groups.filter((group) => ids.some((id) => group.ids.has(id)));
    const group = first ?? { pairs: [], ids: new Set<string>() };
    if (!first) groups.push(group);
    for (const other of others) {
      group.pairs.push(...other.pairs);
      other.ids.forEach((id) => group.ids.add(id));
      groups.splice(groups.indexOf(other), 1);
    }
    group.pairs.push(pair);
    ids.forEach((id) => group.ids.add(id));
  }
  return groups.map((group) => group.pairs);
}

/** List the statements of pairs, the one that was said last first. */
function listStatements(pairs: readonly Contradiction[]): Memory[] {
  const statements = new Map(pairs.flatMap(({ a, b }) => [a, b]).map((one) => [rootOf(one), one]));
  return [...statements.values()].sort((one, other) => timeOf(other).localeCompare(timeOf(one)));
}

/** Tell whether one side was said later by the same person as the other, so that it probably holds. */
export function isLastWord(one: Memory, other: Memory): boolean {
  return one.trust === other.trust && one.source.by === other.source.by && !isRead(one) && !isRead(other) && timeOf(one) > timeOf(other);
}

/** Return how many pairs are settled where one statement holds: its own, and those of what then no longer holds. */
function countSettled(winner: Memory, pairs: readonly Contradiction[]): number {
  const isWith = ({ a, b }: Contradiction, ids: ReadonlySet<string>) => ids.has(rootOf(a)) || ids.has(rootOf(b));
  const own = pairs.filter((pair) => isWith(pair, new Set([rootOf(winner)])));
  const ended = new Set(own.flatMap(({ a, b }) => [rootOf(a), rootOf(b)]));
  return pairs.filter((pair) => isWith(pair, ended)).length;
}

function countTouched(pair: Contradiction, pairs: readonly Contradiction[]): number {
  const ids = [rootOf(pair.a), rootOf(pair.b)];
  return pairs.filter(({ a, b }) => ids.includes(rootOf(a)) || ids.includes(rootOf(b))).length;
}

interface GroupProps {
  pairs: readonly Contradiction[];
  project: Project;
  onChanged: () => void;
  title?: string | undefined;
}

/** Open contradictions about one subject: a single pair beside each other, several as a list with one click for all. */
export function Group({ pairs, project, onChanged, title }: GroupProps) {
  const readOnly = useReadOnly();
  const [isOpen, setOpen] = useState(false);
  if (pairs.length < 2) return <Pair pair={pairs[0]!} project={project} onChanged={onChanged} {...(title ? { title } : {})} />;
  const statements = listStatements(pairs);
  const last = statements.find((one) => statements.some((other) => isLastWord(one, other)));
  const keep = (memory: Memory) => {
    const pair = pairs.find(({ a, b }) => [a, b].some((side) => rootOf(side) === rootOf(memory)))!;
    decide(pair, rootOf(pair.a) === rootOf(memory) ? "a_wins" : "b_wins", `Decided: “${memory.title}” holds. ${count(countSettled(memory, pairs), "pair")} settled.`);
  };
  // A pair that touches the most others, so that one request reaches all of them.
  const middle = [...pairs].sort((one, other) => countTouched(other, pairs) - countTouched(one, pairs))[0]!;
  const decide = (pair: Contradiction, resolution: "a_wins" | "b_wins" | "both_valid", text: string) => {
    const params = { id: pair.id };
    void act(
      text,
      () => request("post", "/contradictions/{id}/resolve", { params, body: { resolution, group: true } }),
      () => request("post", "/contradictions/{id}/undo", { params }),
      onChanged,
      { id: pair.id, title: "", undo: () => prepare("post", "/contradictions/{id}/undo", { params }) },
    );
  };
  return (
    <Panel title={title ?? `${statements.length} statements that cannot all be true`} hint="Not decided yet: agents are told all of them.">
      {last && (
        <p>
          Probably holds: <b>“{last.title}”</b>, because {describeOrigin(last)} last, {dayAndTime(timeOf(last))}.
        </p>
      )}
      <ol class="plain standing">
        {statements.map((one) => (
          <li key={one.id} class={one === last ? "side proposed" : "side"}>
            <p class="preview-title">
              <a href={href("knowledge", { project: project.id, show: one.id })}>{one.title}</a> {one === last && <span class="tag good-text">said last</span>}
            </p>
            <p class="quiet-text">
              <Source memory={one} project={project} />, {dayAndTime(timeOf(one))}.
            </p>
            {!readOnly && (
              <button type="button" class={one === last || !last ? "primary" : ""} onClick={() => keep(one)} aria-label={`This one holds: ${one.title.slice(0, 80)}`}>
                This one holds
                {countSettled(one, pairs) === pairs.length ? ": settles all" : `: settles ${countSettled(one, pairs)} of ${pairs.length} pairs`}
              </button>
            )}
          </li>
        ))}
      </ol>
      {!readOnly && (
        <div class="actions">
          <button type="button" onClick={() => decide(middle, "both_valid", "Decided: all of them hold.")}>
            All of them hold
          </button>
        </div>
      )}
      <p class="quiet-text">What it contradicts is kept in its history, as what held before. One undo brings all of it back.</p>
      <details class="origin" onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Decide the {pairs.length} pairs one at a time</summary>
        {isOpen && (
          <div class="stack">
            {pairs.map((pair) => (
              <Pair key={pair.id} pair={pair} project={project} onChanged={onChanged} />
            ))}
          </div>
        )}
      </details>
    </Panel>
  );
}

/** What holds now, since when, who said it, and what it replaced; nothing where it replaced nothing. */
export function Holds({ id, project }: { id: string; project: Project }) {
  const history = useAnswer((signal) => request("get", "/memories/{id}/history", { params: { id }, query: { limit: 20 }, signal }), [id]);
  const [head, ...earlier] = history.value?.items ?? [];
  const same = new Set(head?.links.filter((link) => link.type === "merged_from").map((link) => link.ref)); // said twice
  const replaced = earlier.filter((one) => !isUndone(one) && !same.has(one.id) && one.content !== head!.content && one.status !== "archived");
  if (!head || head.status !== "active" || replaced.length === 0) return null;
  return (
    <Panel title="What holds">
      <p class="preview-title">
        <a href={href("knowledge", { project: project.id, show: id })}>{head.title}</a> <span class="tag good-text">holds now</span>
      </p>
      <p class="quiet-text">
        {sentence(describeOrigin(head))}, since {dayAndTime(timeOf(head))}. It replaced:
      </p>
      <ul class="plain">
        {replaced.slice(0, 5).map((one) => (
          <li key={one.id}>
            “{one.title}” <span class="quiet-text">({describeOrigin(one)}, {dayAndTime(timeOf(one))}; held until {dayAndTime(one.valid_to ?? timeOf(head))})</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
