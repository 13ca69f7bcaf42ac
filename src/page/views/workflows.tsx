/** Workflows: steps that belong together, as a small graph, with how often and when. */

import { request } from "../api";
import { usePages } from "../answers";
import { Empty, FileLink, Show } from "../components/basics";
import { Chips, Choices, MemoryPanel, More, type Memory } from "../components/memory";
import { useEvents } from "../events";
import { count, dayAndTime } from "../format";
import { href } from "../router";
import type { ViewProps } from "../views";

interface Step {
  template: string;
  command: string;
  name?: string;
}
interface Trigger {
  cause: string;
  value: string;
  share: number;
  usual: number;
}

const ORIGINS: Record<string, string> = { "": "All", script: "Scripts", ci: "Continuous integration", hook: "Git hooks" };
const ORIGIN: Record<string, string> = { script: "script", ci: "CI", hook: "git hook" };

export default function Workflows({ project, route }: ViewProps) {
  const origin = route.query.get("from") ?? "";
  const shown = route.query.get("show") ?? "";
  const workflows = usePages(
    (cursor, signal) => request("get", "/memories", { query: { project: project.id, kind: ["workflow"], tag: origin ? [origin] : [], limit: 200, cursor: cursor ?? "" }, signal }),
    [project.id, origin],
  );
  useEvents(["memory", "indexed"], project.id, workflows.reload, { bundled: true });
  const items = [...(workflows.value?.items ?? [])].sort((one, other) => runs(other) - runs(one) || one.title.localeCompare(other.title));
  const chosen = shown || items[0]?.id || "";
  return (
    <>
      <div class="filters">
        <Chips label="Show" chosen={origin} options={ORIGINS} address={(from) => href("workflows", { project: project.id, from })} />
      </div>
      <Show
        of={workflows}
        what="the workflows"
        empty={() =>
          items.length === 0 && (
            <>
              None of this kind is known. Workflows are read from the project's files: scripts, task runners, continuous integration and git hooks.
            </>
          )
        }
      >
        {() => (
          <div class={shown ? "results opened" : "results"}>
            <div>
              <Choices label="Workflows" items={items} keyOf={(one) => one.id} chosen={chosen} address={(show) => href("workflows", { project: project.id, from: origin, show })}>
                {(one) => (
                  <>
                    <span class="line-title">{one.title}</span>
                    <span class="tag">{ORIGIN[String(one.source.origin)] ?? String(one.source.origin ?? "workflow")}</span>
                    <span class="reasons">
                      {steps(one).length !== 1 ? count(steps(one).length, "step") : steps(one)[0]!.template === one.title ? "1 step" : steps(one)[0]!.template}
                      {runs(one) > 0 && ` · seen ${count(runs(one), "time")}`}
                    </span>
                  </>
                )}
              </Choices>
              <More of={workflows} what="workflows" />
            </div>
            <MemoryPanel key={chosen} id={chosen} project={project} title="Steps" onChanged={workflows.reload} back={shown ? href("workflows", { project: project.id, from: origin }) : undefined} body={(memory) => <Body memory={memory} project={project} />} />
          </div>
        )}
      </Show>
    </>
  );
}

function runs(memory: Memory): number {
  return Number(memory.source.runs ?? 0);
}

function steps(memory: Memory): Step[] {
  return Array.isArray(memory.source.steps) ? (memory.source.steps as Step[]) : [];
}

function Body({ memory, project }: { memory: Memory; project: ViewProps["project"] }) {
  const triggers = Array.isArray(memory.source.triggers) ? (memory.source.triggers as Trigger[]) : [];
  const { first, last } = memory.source;
  return (
    <>
      {typeof memory.source.about === "string" && <p>{memory.source.about}</p>}
      {typeof memory.source.path === "string" && (
        <p>
          <span class="quiet-text">Read from </span>
          <FileLink project={project} path={memory.source.path} {...(typeof memory.source.line === "number" ? { line: memory.source.line } : {})} />
        </p>
      )}
      {steps(memory).length === 0 ? (
        <Empty>Its steps are not known.</Empty>
      ) : (
        <ol class="flow" aria-label="Steps">
          {steps(memory).map((step, at) => (
            <li key={at}>
                {step.name && <b>{step.name} </b>}
                <code>{step.template}</code>
                {step.command && step.command !== step.template && (
                  <span class="quiet-text">
                    {" "}
                    such as <code>{step.command}</code>
                  </span>
                )}
            </li>
          ))}
        </ol>
      )}
      <h3>How often and when</h3>
      <ul>
        {runs(memory) > 0 ? (
          <li>
            Seen {count(runs(memory), "time")}
            {typeof first === "number" && typeof last === "number" && `, from ${dayAndTime(new Date(first * 1000).toISOString())} to ${dayAndTime(new Date(last * 1000).toISOString())}`}
          </li>
        ) : (
          <li>Read from a file; how often it runs was not seen.</li>
        )}
        {triggers.map((one) => (
          <li key={one.cause + one.value}>
            {describe(one)}
            {runs(memory) > 0 && `: ${Math.round(one.share * runs(memory))} of ${count(runs(memory), "time")}`}
          </li>
        ))}
      </ul>
    </>
  );
}

function describe({ cause, value }: Trigger): string {
  const [first, last] = value.split("-");
  const texts: Record<string, string> = {
    after: `After ${value}`,
    failure: `After ${value} failed`,
    branch: `On branch ${value}`,
    files: `After changes of ${value}`,
    hours: `Between ${first}:00 and ${(Number(last) + 1) % 24}:00`,
    weekday: `On ${value}s`,
    start: "When work begins",
    event: `On ${value}`,
  };
  return texts[cause] ?? `${cause} ${value}`;
}
