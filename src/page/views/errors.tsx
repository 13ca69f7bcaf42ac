/** Errors that were reported, and what made them go away. */

import { request } from "../api";
import { usePages } from "../answers";
import { EditorLink, Empty, FileLink, Show, Time } from "../components/basics";
import { Chips, Choices, MemoryPanel, More, type Memory } from "../components/memory";
import { useEvents } from "../events";
import { fixesOf, isFix } from "../fixes";
import { count, sureness } from "../format";
import { href } from "../router";
import type { ViewProps } from "../views";

const PARTS: Record<string, string> = { "": "Errors", fixes: "Fixes" };

export default function Errors({ project, route }: ViewProps) {
  const part = route.query.get("part") ?? "";
  const shown = route.query.get("show") ?? "";
  const memories = usePages(
    (cursor, signal) => request("get", "/memories", { query: { project: project.id, kind: ["error"], limit: 200, cursor: cursor ?? "" }, signal }),
    [project.id],
  );
  useEvents(["signal"], project.id, memories.reload, { bundled: true, about: (event) => /error|command/.test(String((event.signal as { kind?: string } | undefined)?.kind)) });
  const all = memories.value?.items ?? [];
  const fixes = all.filter(isFix);
  const items = part === "fixes" ? fixes : all.filter((one) => !isFix(one));
  const chosen = shown || (items[0]?.id ?? "");
  const address = (show: string) => href("errors", { project: project.id, part, show });
  return (
    <>
      <div class="filters">
        <Chips label="Show" chosen={part} options={PARTS} address={(name) => href("errors", { project: project.id, part: name })} />
      </div>
      <Show of={memories} what="the errors">
        {() => (
          <>
            <p class="quiet-text" role="status">
              {count(all.length - fixes.length, "error")}, {count(fixes.length, "fix", "fixes")}
            </p>
            {items.length === 0 ? (
              <Empty>
                {part === "fixes" ? (
                  "No fix is known yet. When an error goes away after a change, the change is kept as its fix."
                ) : (
                  <>
                    No error was reported. Run your tests with <code>hunch run</code>, or let the shell report them: <code>hunch shell init</code>.
                  </>
                )}
              </Empty>
            ) : (
              <div class={shown ? "results opened" : "results"}>
                <div>
                  <Choices label={PARTS[part] ?? "Errors"} items={items} keyOf={(one) => one.id} chosen={chosen} address={address}>
                    {(one) => (
                      <>
                        <span class="line-title">{one.title}</span>
                        <span class="tag">{isFix(one) ? sureness(one.confidence) : fixesOf(one, fixes).length ? "fix known" : "no fix yet"}</span>
                        <span class="reasons">
                          <Time at={one.at} />
                          {!isFix(one) && Number(one.value) > 1 && ` · seen ${one.value} times`}
                        </span>
                      </>
                    )}
                  </Choices>
                  <More of={memories} what="errors" />
                </div>
                {chosen && (
                  <MemoryPanel
                    key={chosen}
                    id={chosen}
                    project={project}
                    title={part === "fixes" ? "Fix" : "Error"}
                    onChanged={memories.reload}
                    back={shown ? address("") : undefined}
                    body={(memory) => <Body memory={memory} project={project} fixes={fixesOf(memory, fixes)} errors={all} />}
                  />
                )}
              </div>
            )}
          </>
        )}
      </Show>
    </>
  );
}

interface BodyProps {
  memory: Memory;
  project: ViewProps["project"];
  fixes: readonly Memory[];
  errors: readonly Memory[];
}

function Body({ memory, project, fixes, errors }: BodyProps) {
  const files = memory.artifacts.filter((one) => one.type === "file").map((one) => one.ref);
  const line = typeof memory.source.line === "number" ? memory.source.line : 1;
  const fixed = errors.filter((one) => memory.links.some((link) => link.type === "fixes" && link.ref === one.id));
  return (
    <>
      {files.map((path) => (
        <p key={path} class="row">
          <FileLink project={project} path={path} {...(isFix(memory) ? {} : { line })} />
          <EditorLink project={project} path={path} line={line} />
        </p>
      ))}
      {typeof memory.source.command === "string" && memory.source.command && (
        <p>
          When running <code>{memory.source.command}</code>
        </p>
      )}
      <pre class="content" tabIndex={0}>
        {memory.content}
      </pre>
      {fixed.map((one) => (
        <p key={one.id}>
          Made this go away: <a href={href("errors", { project: project.id, show: one.id })}>{one.title}</a>
        </p>
      ))}
      {!isFix(memory) && (
        <>
          <h3>What made it go away</h3>
          {fixes.length === 0 && <Empty>Not known yet. After the change that helps, the change appears here.</Empty>}
          {fixes.map((fix) => (
            <details key={fix.id} open={fixes.length === 1}>
              <summary>
                {fix.title} <span class="quiet-text">{sureness(fix.confidence)}</span>
              </summary>
              <pre class="content diff" tabIndex={0}>
                {fix.content}
              </pre>
              <a href={href("errors", { project: project.id, part: "fixes", show: fix.id })}>Put this fix right</a>
            </details>
          ))}
        </>
      )}
    </>
  );
}
