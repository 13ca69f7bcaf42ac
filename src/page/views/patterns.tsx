/** Patterns of the code: what a new one of a kind also changes, and the instances. */

import { request } from "../api";
import { usePages } from "../answers";
import { EditorLink, FileLink, Show } from "../components/basics";
import { Choices, MemoryPanel, More, type Memory } from "../components/memory";
import { useEvents } from "../events";
import { count } from "../format";
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
            <MemoryPanel key={chosen} id={chosen} project={project} title="Pattern" onChanged={patterns.reload} body={(memory) => <Body memory={memory} project={project} />} />
          </div>
        </>
      )}
    </Show>
  );
}

function Body({ memory, project }: { memory: Memory; project: ViewProps["project"] }) {
  const lines = memory.content.split("\n");
  const spots = lines.map((line) => SPOT.exec(line)).filter((found) => found !== null);
  const sentences = lines.filter((line) => line.trim() && !SPOT.test(line));
  return (
    <>
      {sentences.map((line) => (
        <p key={line}>{line}</p>
      ))}
      {spots.length > 0 && (
        <ul class="plain spots">
          {spots.map((found) => (
            <li key={found[0]}>
              {found[3] && <b>{found[3]}</b>} <FileLink project={project} path={found[1]!} line={Number(found[2])} /> <EditorLink project={project} path={found[1]!} line={Number(found[2])} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
