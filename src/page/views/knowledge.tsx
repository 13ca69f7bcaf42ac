/** Knowledge: facts, rules, people and goals with their history, and the documents. */

import { request } from "../api";
import { usePages } from "../answers";
import { Empty, Panel, Show } from "../components/basics";
import { Chips, Choices, MemoryPanel, More } from "../components/memory";
import { AddFact } from "../components/new_fact";
import { Documents } from "../components/documents";
import { useEvents } from "../events";
import { count, KINDS, percent, TRUST } from "../format";
import { href, navigate } from "../router";
import type { ViewProps } from "../views";

const PARTS: Record<string, string> = {
  "": "All facts",
  decision: "Decisions",
  convention: "Rules",
  constraint: "Limits",
  instruction: "Instructions",
  preference: "Preferences",
  identity: "About you",
  person: "People",
  goal: "Goals",
  documents: "Documents",
  archived: "Put away",
};

export default function Knowledge({ project, route }: ViewProps) {
  const part = route.query.get("part") ?? "";
  const asOf = route.query.get("as_of") ?? "";
  const shown = route.query.get("show") ?? "";
  const address = (changed: Record<string, string>) => href("knowledge", { project: project.id, part, as_of: asOf, show: shown, ...changed });
  return (
    <>
      <div class="filters">
        <Chips label="Show" chosen={part} options={PARTS} address={(name) => address({ part: name, show: "" })} />
        <label>
          As it was on
          <input type="date" value={asOf.slice(0, 10)} max={new Date().toISOString().slice(0, 10)} onChange={(event) => navigate(address({ as_of: endOfDay(event.currentTarget.value) }))} />
        </label>
        {asOf && (
          <a class="chip" href={address({ as_of: "" })}>
            Back to today
          </a>
        )}
      </div>
      {part === "documents" ? (
        <Documents key={asOf} project={project} shown={shown} asOf={asOf} address={(show) => address({ show })} />
      ) : (
        <Facts project={project} part={part} asOf={asOf} shown={shown} address={(show) => address({ show })} />
      )}
    </>
  );
}

function endOfDay(date: string): string {
  return date && new Date(`${date}T23:59:59`).toISOString();
}

interface FactsProps {
  project: ViewProps["project"];
  part: string;
  asOf: string;
  shown: string;
  address: (show: string) => string;
}

function Facts({ project, part, asOf, shown, address }: FactsProps) {
  const facts = usePages(
    (cursor, signal) =>
      request("get", "/memories", {
        query: {
          project: project.id,
          kind: ["fact"],
          status: part === "archived" ? ["archived"] : ["active", "suspect"],
          category: part === "archived" ? "" : part,
          as_of: asOf,
          limit: 100,
          cursor: cursor ?? "",
        },
        signal,
      }),
    [project.id, part, asOf],
  );
  useEvents(["memory", "consolidation"], project.id, facts.reload);
  const items = facts.value?.items ?? [];
  const chosen = items.some((one) => one.id === shown) ? shown : shown || items[0]?.id;
  return (
    <>
      {part !== "archived" && !asOf && <AddFact project={project} category={part} onAdded={facts.reload} />}
      <Show of={facts} what="the facts">
        {(value) => (
          <>
            <p class="quiet-text" role="status">
              {count(value.total ?? value.items.length, "entry", "entries")}
              {asOf && " that held then"}
            </p>
            <div class={shown ? "results opened" : "results"}>
              <div>
                {value.items.length === 0 && (
                  <Empty>
                    {part === "archived"
                      ? "Nothing was put away. “Never again” moves a line here."
                      : "Nothing of this kind is known. hunchd learns it from sessions and from files of the project; you can also write it down here."}
                  </Empty>
                )}
                <Choices label="Facts" items={value.items} keyOf={(one) => one.id} chosen={chosen ?? ""} address={address}>
                  {(one) => (
                    <>
                      <span class="line-title">{one.title}</span>
                      <span class="tag">{KINDS[one.category ?? ""] ?? one.category ?? "fact"}</span>
                      <span class="reasons">
                        {TRUST[one.trust]} · {percent(one.confidence)} sure{one.status === "suspect" && " · in doubt"}
                      </span>
                    </>
                  )}
                </Choices>
                <More of={facts} what="facts" />
              </div>
              {chosen ? <MemoryPanel key={chosen} id={chosen} project={project} asOf={asOf} onChanged={facts.reload} /> : <Hint />}
            </div>
          </>
        )}
      </Show>
    </>
  );
}

function Hint() {
  return (
    <Panel title="Details">
      <Empty>Choose an entry to see who said it, how it changed, and to put it right.</Empty>
    </Panel>
  );
}
