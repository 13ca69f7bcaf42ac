/** Knowledge: facts, rules, people and goals with their history, and the documents. */

import { useEffect, useRef } from "preact/hooks";
import { request } from "../api";
import { useAnswer, usePages } from "../answers";
import { useReadOnly } from "../components/access";
import { Empty, Panel, Show } from "../components/basics";
import { Chips, Choices, listPutAway, MemoryPanel, More, showAgain } from "../components/memory";
import { isAbout, useContradictions } from "../components/pair";
import { AddFact } from "../components/new_fact";
import { Documents } from "../components/documents";
import { Team } from "../components/team";
import { useEvents } from "../events";
import { count, describeOrigin, describeSince, KINDS, plainReasons, sureness } from "../format";
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
  team: "Team",
  archived: "Put away",
};

const ABOUT: Record<string, string> = {
  "": "A fact is what you, an agent or a file said. What was said in words such as “we decided”, “never” or “I prefer” also has a kind; the rest is just a fact.",
  decision: "What was chosen, said in words such as “we decided to”, “we use”, “from now on”.",
  convention: "How things are done in this project: tools, commands and formats, read from its files or said by you.",
  constraint: "What has to be kept: versions that are supported, limits, deadlines.",
  instruction: "What agents should always or never do.",
  preference: "What you like, in all projects.",
  identity: "Who you are and what you do.",
  person: "Who is who, and who owns what.",
  goal: "What you want to reach.",
};
const PAUSE = 350; // ms after the last letter

/** Box that finds while one types. */
function FindBox({ find, onFind }: { find: string; onFind: (words: string) => void }) {
  const box = useRef<HTMLInputElement>(null);
  const timer = useRef(0);
  useEffect(() => {
    if (box.current && box.current !== document.activeElement) box.current.value = find;
  }, [find]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const later = (wait: number) => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => onFind(box.current?.value.trim() ?? ""), wait);
  };
  return (
    <label>
      Find by words
      <input ref={box} type="search" defaultValue={find} placeholder="release day" onInput={() => later(PAUSE)} onChange={() => later(0)} />
    </label>
  );
}

export default function Knowledge({ project, route }: ViewProps) {
  const part = route.query.get("part") ?? "";
  const asOf = route.query.get("as_of") ?? "";
  const shown = route.query.get("show") ?? "";
  const find = route.query.get("find") ?? "";
  const address = (changed: Record<string, string>) => href("knowledge", { project: project.id, part, as_of: asOf, find, show: shown, ...changed });
  return (
    <>
      <div class="filters stacked">
        <Chips label="Show" chosen={part} options={PARTS} address={(name) => address({ part: name, find: "", show: "" })} />
        {part !== "documents" && (
          <FindBox find={find} onFind={(words) => words !== find && navigate(address({ find: words, part: "", show: "" }), { replace: find !== "" })} />
        )}
        <label>
          What held on
          <input type="date" value={asOf.slice(0, 10)} max={new Date().toISOString().slice(0, 10)} onChange={(event) => navigate(address({ as_of: endOfDay(event.currentTarget.value) }))} />
        </label>
        {asOf && (
          <a class="chip" href={address({ as_of: "" })}>
            Back to today
          </a>
        )}
      </div>
      {!find && ABOUT[part] && <p class="quiet-text">{ABOUT[part]}</p>}
      {part === "documents" ? (
        <Documents key={asOf} project={project} shown={shown} asOf={asOf} address={(show) => address({ show })} />
      ) : part === "team" ? (
        <Team project={project} />
      ) : find ? (
        <Found key={find} project={project} find={find} asOf={asOf} shown={shown} address={address} />
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
      part === "archived"
        ? listPutAway(project, { as_of: asOf, limit: 100, cursor: cursor ?? "" }, signal)
        : request("get", "/memories", {
            query: {
              project: project.id,
              kind: ["fact"],
              // What held then may have been replaced since.
              status: asOf ? ["active", "suspect", "superseded"] : ["active", "suspect"],
              category: part,
              as_of: asOf,
              limit: 100,
              cursor: cursor ?? "",
            },
            signal,
          }),
    [project.id, part, asOf],
  );
  useEvents(["memory", "consolidation"], project.id, facts.reload, { bundled: true });
  const pairs = useContradictions(project, part !== "archived" && !asOf);
  useEvents(["memory"], project.id, pairs.reload, { bundled: true });
  const items = facts.value?.items ?? [];
  const readOnly = useReadOnly();
  const chosen = items.some((one) => one.id === shown) ? shown : shown || items[0]?.id;
  return (
    <>
      {part !== "archived" && !asOf && <AddFact project={project} category={part} onAdded={facts.reload} />}
      <Show of={facts} what="the facts">
        {(value) => (
          <>
            <p class="quiet-text" role="status">
              {count(part === "archived" ? items.length : (value.total ?? items.length), part === "archived" ? "memory" : "fact", part === "archived" ? "memories" : "facts")}
              {asOf && " that held then"}
            </p>
            <div class={shown ? "results opened" : "results"}>
              <div>
                {items.length === 0 && (
                  <Empty>
                    {part === "archived"
                      ? "Nothing was put away. “Put away: never again” moves a line here."
                      : "Nothing of this kind is known. hunchd learns it from sessions and from files of the project; you can also write it down here."}
                  </Empty>
                )}
                <Choices
                  label="Facts"
                  items={items}
                  keyOf={(one) => one.id}
                  chosen={chosen ?? ""}
                  address={address}
                  beside={
                    part === "archived" && !readOnly
                      ? (one) => (
                          <button type="button" onClick={() => void showAgain(one, facts.reload)} aria-label={`Undo: show “${one.title.slice(0, 60)}” again`}>
                            Undo: show it again
                          </button>
                        )
                      : undefined
                  }
                >
                  {(one) => (
                    <>
                      <span class="line-title">{one.title}</span>
                      <span class="tags">
                        {(pairs.value ?? []).some((pair) => pair.status === "open" && isAbout(pair, one.id)) && <span class="tag noted-tag">to decide</span>}{" "}
                        <span class="tag">{KINDS[one.category ?? ""] ?? one.category ?? "fact"}</span>
                      </span>
                      <span class="reasons">
                        {describeOrigin(one)} · {describeSince(one)}{one.confidence < 0.95 && ` · ${sureness(one.confidence)}`}{one.status === "suspect" && " · in doubt"}
                      </span>
                    </>
                  )}
                </Choices>
                <More of={facts} what="facts" />
              </div>
              {chosen ? <MemoryPanel key={chosen} id={chosen} project={project} asOf={asOf} onChanged={facts.reload} back={shown ? address("") : undefined} /> : items.length > 0 && <Hint />}
            </div>
          </>
        )}
      </Show>
    </>
  );
}

interface FoundProps {
  project: ViewProps["project"];
  find: string;
  asOf: string;
  shown: string;
  address: (changed: Record<string, string>) => string;
}

/** Facts that the search finds, best first. */
function Found({ project, find, asOf, shown, address }: FoundProps) {
  const found = useAnswer(
    (signal) => request("post", "/search", { body: { project: project.id, query: find, kinds: ["fact"], k: 50, ...(asOf ? { as_of: asOf } : {}) }, signal }),
    [project.id, find, asOf],
  );
  return (
    <Show of={found} what="what was found" empty={(value) => value.results.length === 0 && "Nothing was found. Try other words, or clear the box to see everything."}>
      {(value) => {
        const chosen = shown || (value.results[0]?.id ?? "");
        return (
          <>
            <p class="quiet-text" role="status">
              {count(value.results.length, "fact")} for “{find}”, best first. <a href={address({ find: "", show: "" })}>Show everything</a>
            </p>
            <div class={shown ? "results opened" : "results"}>
              <Choices label="Found facts" items={value.results} keyOf={(one) => one.id ?? ""} chosen={chosen} address={(show) => address({ show })}>
                {(one) => (
                  <>
                    <span class="line-title">{one.title}</span>
                    <span class="reasons">{plainReasons(one.reasons).join(" · ")}</span>
                  </>
                )}
              </Choices>
              <MemoryPanel key={chosen} id={chosen} project={project} asOf={asOf} onChanged={found.reload} back={shown ? address({ show: "" }) : undefined} />
            </div>
          </>
        );
      }}
    </Show>
  );
}

function Hint() {
  return (
    <Panel title="Details">
      <Empty>Choose a fact to see who said it, how it changed, and to put it right.</Empty>
    </Panel>
  );
}
