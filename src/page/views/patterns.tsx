/** Patterns of the code: what a new one of a kind also changes, and the instances. */

import { useState } from "preact/hooks";
import { request } from "../api";
import { usePages } from "../answers";
import { FileLink, Show } from "../components/basics";
import { Code, type Place } from "../components/code";
import { Choices, MemoryPanel, More, type Memory } from "../components/memory";
import { useEvents } from "../events";
import { count, sentence } from "../format";
import { href } from "../router";
import type { ViewProps } from "../views";

const SPOT = /^- (.+):(\d+)(?: (.*))?$/;

export default function Patterns({ project, route }: ViewProps) {
  const shown = route.query.get("show") ?? "";
  const patterns = usePages(
    (cursor, signal) => request("get", "/memories", { query: { project: project.id, kind: ["pattern"], limit: 200, cursor: cursor ?? "" }, signal }),
    [project.id],
  );
  useEvents(["memory", "patterns"], project.id, patterns.reload, { bundled: true });
  const items = [...(patterns.value?.items ?? [])].sort((one, other) => Number(other.source.strength ?? 0) - Number(one.source.strength ?? 0));
  const chosen = shown || items[0]?.id || "";
  return (
    <Show
      of={patterns}
      what="the patterns"
      empty={() =>
        items.length === 0 &&
        (project.patterns.state === "mining" ? "The code is being searched for patterns." : "No pattern was found: the code has no group of alike functions or files, or it was not searched yet.")
      }
    >
      {() => (
        <>
          <p class="quiet-text" role="status">
            {count(items.length, "pattern")}, those that help most first
          </p>
          <div class={shown ? "results opened" : "results"}>
            <div>
              <Choices label="Patterns" items={items} keyOf={(one) => one.id} chosen={chosen} address={(show) => href("patterns", { project: project.id, show })}>
                {(one) => (
                  <>
                    <span class="line-title">{one.title}</span>
                    <span class="tag">{String(one.source.language ?? "code")}</span>
                    <span class="reasons">
                      {count(Number(one.source.instances ?? 0), "instance")} in {count(Number(one.source.files ?? 0), "file")}
                    </span>
                  </>
                )}
              </Choices>
              <More of={patterns} what="patterns" />
            </div>
            <MemoryPanel key={chosen} id={chosen} project={project} title="Pattern" onChanged={patterns.reload} back={shown ? href("patterns", { project: project.id }) : undefined} body={(memory) => <Body key={memory.id} memory={memory} project={project} />} />
          </div>
        </>
      )}
    </Show>
  );
}

/** What it says, the template beside one instance, and all instances. */
function Body({ memory, project }: { memory: Memory; project: ViewProps["project"] }) {
  const lines = memory.content.split("\n");
  const spots = lines.map((line) => SPOT.exec(line)).filter((found) => found !== null).map((found) => ({ path: found[1]!, line: Number(found[2]), name: found[3] ?? "" }));
  const sentences = lines.filter((line) => line.trim() && !SPOT.test(line) && line !== "instances:").map(sentence);
  const example = memory.source.example as Partial<Place> | undefined;
  const isExample = (spot: Place) => spot.path === example?.path && spot.line === example.line;
  const template = spots.find(isExample) ?? spots[0];
  const others = spots.filter((spot) => spot !== template);
  const [chosen, setChosen] = useState(0);
  const instance = others[chosen];
  return (
    <>
      {sentences.map((line) => (
        <p key={line}>{line}</p>
      ))}
      {template && (
        <div class="pair">
          <Code key={`${template.path} ${template.line}`} place={template} project={project} title="The one to copy, in part" />
          {instance && <Code key={`${instance.path} ${instance.line}`} place={instance} project={project} title="Another instance, in part" />}
        </div>
      )}
      {others.length > 0 && (
        <>
          <h3>The other instances</h3>
          <ul class="plain spots">
            {others.map((spot, at) => (
              <li key={`${spot.path} ${spot.line}`}>
                {spot.name && <b>{spot.name}</b>} <FileLink project={project} path={spot.path} line={spot.line} />{" "}
                <button type="button" class="quiet" aria-pressed={at === chosen} onClick={() => setChosen(at)}>
                  {at === chosen ? "Shown above" : "Show above"}
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
