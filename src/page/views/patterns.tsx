/** Patterns of the code: the common shape beside its instances. */

import { request } from "../api";
import { usePages } from "../answers";
import { EditorLink, Empty, FileLink, Show } from "../components/basics";
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
  const template = lines.filter((line) => line.startsWith("    ")).map((line) => line.slice(4));
  const spots = lines.map((line) => SPOT.exec(line)).filter((found) => found !== null);
  const holes = lines.filter((line) => line.startsWith("‹"));
  const place = lines.filter((line) => /; a new one goes in |^changes with: /.test(line));
  if (template.length === 0)
    return (
      <pre class="content" tabIndex={0}>
        {memory.content}
      </pre>
    );
  return (
    <>
      {place.map((line) => (
        <p key={line}>{line.charAt(0).toUpperCase() + line.slice(1)}.</p>
      ))}
      <div class="pair">
        <div class="side">
          <h3>Common shape</h3>
          <pre class="content" tabIndex={0}>
            {template.join("\n")}
          </pre>
          {holes.length > 0 && (
            <ul>
              {holes.map((hole) => (
                <li key={hole}>{hole}</li>
              ))}
            </ul>
          )}
        </div>
        <div class="side">
          <h3>Instances</h3>
          {spots.length === 0 && <Empty>No instance is listed.</Empty>}
          <ul class="plain spots">
            {spots.map((found) => (
              <li key={found[0]}>
                {found[3] && <b>{found[3]}</b>} <FileLink project={project} path={found[1]!} line={Number(found[2])} /> <EditorLink project={project} path={found[1]!} line={Number(found[2])} />
              </li>
            ))}
          </ul>
        </div>
      </div>
    </>
  );
}
