/** File: its context with reasons, what changes with it, its past, its tests and rules. */

import { useState } from "preact/hooks";
import { request, type Answer } from "../api";
import { useAnswer } from "../answers";
import { EditorLink, Empty, FileLink, Panel, Show, Table, Timeline } from "../components/basics";
import { countTogether, monthOf, nameMonth, type PastChange } from "../components/cochange";
import { Lazy } from "../components/lazy";
import { isMemory, Lines, MemoryDetails, nameFiles, nameLine, type Item } from "../components/line";
import { listPutAway } from "../components/memory";
import { useEvents } from "../events";
import { count, namesFile, plainReasons, sentence } from "../format";
import type { Project } from "../project";
import { href, navigate } from "../router";
import type { ViewProps } from "../views";

type Prediction = Answer<"/context/predict", "post">;
const MAX_TWINS = 8;
const NEIGHBOURS = 12;
const MAX_AWAY = 1_000;
const SECOND = 4; // neighbours whose own neighbours are asked for

const loadGraph = () => import("../components/graph");
const loadPlot = () => import("../components/plot");

export default function File({ project, route }: ViewProps) {
  const path = toRelative(route.query.get("path") ?? "", project);
  return (
    <>
      <FileBox key={path} project={project} path={path} />
      {path ? <Checked key={`${project.id} ${path}`} project={project} path={path} /> : <Recent project={project} />}
    </>
  );
}

function toRelative(path: string, project: Project): string {
  return path.startsWith(`${project.path}/`) ? path.slice(project.path.length + 1) : path.replace(/^\.\//, "");
}

function FileBox({ project, path }: { project: Project; path: string }) {
  const [text, setText] = useState(path);
  const known = useAnswer(
    text.trim().length > 1
      ? (signal) => request("post", "/search", { body: { project: project.id, query: text.trim().slice(0, 200), kinds: ["code"], depth: "specific", k: 10 }, signal })
      : null,
    [project.id, text.trim()],
  );
  const paths = [...new Set((known.value?.results ?? []).map((one) => String(one.source?.path ?? "")).filter(Boolean))];
  return (
    <form
      class="big-box"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        navigate(href("file", { project: project.id, path: toRelative(text.trim(), project) }));
      }}
    >
      <label for="file-path">File</label>
      <input
        id="file-path"
        list="file-paths"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        placeholder="src/app.py"
        autocomplete="off"
        spellcheck={false}
      />
      <datalist id="file-paths">
        {paths.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
      <button type="submit" class="primary">
        Show
      </button>
    </form>
  );
}

function Recent({ project }: { project: Project }) {
  const focus = useAnswer((signal) => request("get", "/focus", { query: { project: project.id }, signal }), [project.id]);
  const likely = useAnswer((signal) => request("post", "/context/predict", { body: { project: project.id, k: 12 }, signal }), [project.id]);
  const open = focus.value?.open_files.map((one) => one.path) ?? [];
  const others = (likely.value?.predicted_files.map((one) => one.path!) ?? []).filter((path) => !open.includes(path));
  return (
    <div class="columns">
      <Panel title="Open files">
        <Show of={focus} what="the open files" empty={() => open.length === 0 && "No file is open. Type the path of one above."}>
          {() => <PathList project={project} paths={open} />}
        </Show>
      </Panel>
      <Panel title="Often worked on lately">
        <Show of={likely} what="files" empty={() => others.length === 0 && "Nothing is known yet."}>
          {() => <PathList project={project} paths={others} />}
        </Show>
      </Panel>
    </div>
  );
}

function PathList({ project, paths }: { project: Project; paths: readonly string[] }) {
  return (
    <ul class="files">
      {paths.map((path) => (
        <li key={path}>
          <FileLink project={project} path={path} />
        </li>
      ))}
    </ul>
  );
}

/** The file, or that there is none: a context for a wrong path would be believed. */
function Checked({ project, path }: { project: Project; path: string }) {
  const file = useAnswer((signal) => request("get", "/files", { query: { project: project.id, path }, signal }), [project.id, path]);
  useEvents(["indexed"], project.id, file.reload, { bundled: true });
  const similar = file.value?.similar ?? [];
  return (
    <Show of={file} what="the file">
      {(value) =>
        value.exists ? (
          <AboutFile project={project} path={path} />
        ) : (
          <div class="columns">
            <Panel title="There is no such file">
              <p role="status">
                <code>{path}</code> is neither on disk nor in the last commit of {project.name}.
              </p>
              {similar.length > 0 ? (
                <>
                  <h3>Did you mean</h3>
                  <PathList project={project} paths={similar} />
                </>
              ) : (
                <Empty>No file has a similar name.</Empty>
              )}
            </Panel>
            <Past project={project} path={path} />
          </div>
        )
      }
    </Show>
  );
}

function AboutFile({ project, path }: { project: Project; path: string }) {
  const bundle = useAnswer((signal) => request("get", "/context", { query: { project: project.id, file: path }, signal }), [project.id, path]);
  useEvents(["indexed"], project.id, bundle.reload, { bundled: true });
  const focus = useAnswer((signal) => request("get", "/focus", { query: { project: project.id }, signal }), [project.id]);
  const others = (focus.value?.open_files ?? []).map((one) => one.path).filter((one) => one !== path);
  const away = useAnswer((signal) => listPutAway(project, { limit: MAX_AWAY }, signal), [project.id]);
  const awayCount = away.value?.items.length ?? 0;
  return (
    <div class="columns">
      <div class="main-column">
        <Panel
          title="Context of this file"
          hint={
            <>
              What an agent is given when it opens <code>{path}</code>. Open a line to see why it is there, or to put it right. <EditorLink project={project} path={path} />
            </>
          }
        >
          <Show of={bundle} what="the context" empty={(value) => value.items.length === 0 && (value.degraded.join(", ") || "Nothing is known about this file. Is the path right?")}>
            {(value) => (
              <>
                <p class="quiet-text">
                  {count(value.token_count, "token")}
                  {others.length > 0 && `. The other files that you have open count, too: ${nameFiles(others)}.`}
                </p>
                <Lines items={value.items} project={project} onChanged={() => (bundle.reload(), away.reload())} />
              </>
            )}
          </Show>
          {awayCount > 0 && (
            <p class="quiet-text">
              <a href={href("knowledge", { project: project.id, part: "archived" })}>
                {count(awayCount, "line")} of this project {awayCount === 1 ? "is" : "are"} put away: show {awayCount === 1 ? "it" : "them"}
              </a>
            </p>
          )}
        </Panel>
        <Together project={project} path={path} />
      </div>
      <div class="side-column">
        <Tests project={project} path={path} />
        <Twins project={project} path={path} />
        <Rules project={project} path={path} items={bundle.value?.items ?? []} />
        <Past project={project} path={path} />
      </div>
    </div>
  );
}

/** What changes with the file: a graph, and the same as a table. */
function Together({ project, path }: { project: Project; path: string }) {
  const around = useAnswer(
    async (signal) => {
      const first = await predict(project, path, NEIGHBOURS, signal);
      const near = first.predicted_files.slice(0, SECOND).map((one) => one.path!);
      const further = await Promise.all(near.map((one) => predict(project, one, NEIGHBOURS, signal)));
      return { first, further: near.map((one, index) => [one, further[index]!] as const) };
    },
    [project.id, path],
  );
  return (
    <Panel title="What changes with it" hint="A thick line: when one changes, the other probably does too. The list begins with the closest. Select a file to go there.">
      <Show of={around} what="related files" empty={(value) => value.first.predicted_files.length === 0 && "No other file is known to change with this one."}>
        {(value) => (
          <>
            <OverTime project={project} path={path} now={toGraph(path, value.first, value.further)} />
            <Table
              caption={`Files that change with ${path}`}
              rows={value.first.predicted_files}
              keyOf={(one) => one.path!}
              columns={[
                { title: "File", cell: (one) => <FileLink project={project} path={one.path!} /> },
                { title: "Why", cell: (one) => plainReasons(one.reasons).join(" · ") },
              ]}
            />
          </>
        )}
      </Show>
    </Panel>
  );
}

/** The graph as predicted now, or as the changes until a month of the past show it. */
function OverTime({ project, path, now }: { project: Project; path: string; now: Graphed }) {
  const [month, setMonth] = useState<number>();
  const past = useAnswer(
    (signal) => request("get", "/memories", { query: { project: project.id, path_prefix: path, kind: ["episode"], limit: 1000 }, signal }),
    [project.id, path],
  );
  const changes: PastChange[] = (past.value?.items ?? []).map((one) => ({ at: one.at, files: one.artifacts.filter((each) => each.type === "file").map((each) => each.ref) }));
  const months = changes.map((one) => monthOf(one.at));
  const first = Math.min(...months);
  const last = Math.max(...months) + 1; // the last place of the slider is now
  const then = month !== undefined && month < last ? countTogether(path, changes, month, NEIGHBOURS) : undefined;
  const { nodes, edges } = then ?? now;
  return (
    <>
      {months.length > 1 && first < last - 1 && (
        <label class="slider">
          <span>
            {then ? (
              <>
                Until <b>{nameMonth(month!)}</b>: {count(then.changes, "past change")} of this file in two years
              </>
            ) : (
              <>
                <b>Now</b>, as hunchd predicts it. Move to the left to see earlier years.
              </>
            )}
          </span>
          <input type="range" min={first} max={last} value={month ?? last} aria-valuetext={then ? `until ${nameMonth(month!)}` : "now"} onInput={(event) => setMonth(Number(event.currentTarget.value))} />
        </label>
      )}
      <Lazy load={loadGraph} what="the graph" props={{ middle: path, project: project.id, nodes, edges }} />
    </>
  );
}

type Graphed = ReturnType<typeof toGraph>;

function predict(project: Project, path: string, k: number, signal: AbortSignal): Promise<Prediction> {
  return request("post", "/context/predict", { body: { project: project.id, file_opened: path, open_files: [path], k }, signal });
}

function toGraph(path: string, first: Prediction, further: readonly (readonly [string, Prediction])[]) {
  const nodes = [{ id: path, weight: 1 }, ...first.predicted_files.map((one) => ({ id: one.path!, weight: one.confidence! }))];
  const shown = new Set(nodes.map((node) => node.id));
  const edges = first.predicted_files.map((one) => ({ from: path, to: one.path!, weight: one.confidence! }));
  for (const [from, its] of further)
    for (const one of its.predicted_files)
      if (shown.has(one.path!) && one.path !== path && !edges.some((edge) => edge.from === one.path && edge.to === from) && one.confidence! > 0.05)
        edges.push({ from, to: one.path!, weight: one.confidence! });
  return { nodes, edges };
}

function Tests({ project, path }: { project: Project; path: string }) {
  const tests = useAnswer(
    (signal) => request("post", "/search", { body: { project: project.id, query: `tests for ${path}`, kinds: ["code"], roles: ["test"], k: 12 }, signal }),
    [project.id, path],
  );
  const paths = [...new Set((tests.value?.results ?? []).map((one) => String(one.source?.path ?? "")).filter((one) => one && one !== path))].slice(0, 6);
  return (
    <Panel title="Tests that seem to cover it">
      <Show of={tests} what="tests" empty={() => paths.length === 0 && "No test was found for this file."}>
        {() => <PathList project={project} paths={paths} />}
      </Show>
    </Panel>
  );
}

/** Files that are instances of the same patterns. */
function Twins({ project, path }: { project: Project; path: string }) {
  const patterns = useAnswer(
    (signal) => request("get", "/memories", { query: { project: project.id, path_prefix: path, kind: ["pattern"], limit: 5 }, signal }),
    [project.id, path],
  );
  return (
    <Panel title="Files like it" hint="They hold code of the same shape.">
      <Show of={patterns} what="files like it" empty={(value) => value.items.length === 0 && "No pattern of the project has an instance in this file."}>
        {(value) =>
          value.items.map((one) => (
            <div key={one.id}>
              <h3>
                <a href={href("patterns", { project: project.id, show: one.id })}>{sentence(one.title)}</a>
              </h3>
              <PathList project={project} paths={one.artifacts.filter((each) => each.type === "file" && each.ref !== path).map((each) => each.ref).slice(0, MAX_TWINS)} />
            </div>
          ))
        }
      </Show>
    </Panel>
  );
}

/** What was said about the file: what names it, and what is stored for its path. */
function Rules({ project, path, items }: { project: Project; path: string; items: readonly Item[] }) {
  const rules = useAnswer(
    async (signal) => {
      const [stored, found] = await Promise.all([
        request("get", "/memories", { query: { project: project.id, path_prefix: path, kind: ["fact", "document"], limit: 30 }, signal }),
        request("post", "/search", { body: { project: project.id, query: path, kinds: ["fact"], k: 50 }, signal }),
      ]);
      const named = found.results.filter((one) => namesFile(`${one.title} ${one.snippet}`, path)).map((one) => ({ id: one.id ?? "", title: one.title ?? "" }));
      return { items: [...stored.items.filter((one) => named.every((other) => other.id !== one.id)), ...named] };
    },
    [project.id, path, items.length],
  );
  const here = items.filter((one) => one.source.names === true && isMemory(one.id)).map((one) => ({ id: one.id, title: nameLine(one) }));
  return (
    <Panel title="Said about it">
      <Show of={rules} what="what was said" empty={(value) => value.items.length + here.length === 0 && "Nothing was said about this file by name. Rules of the whole project are in its context."}>
        {(value) => (
          <ul class="plain spots">
            {[...here, ...value.items.filter((one) => here.every((other) => other.id !== one.id))].map((one) => (
              <li key={one.id}>
                <Unfold title={one.title} id={one.id} />
              </li>
            ))}
          </ul>
        )}
      </Show>
    </Panel>
  );
}

export function Unfold({ title, id }: { title: string; id: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen && isMemory(id) && <MemoryDetails id={id} />}
    </details>
  );
}

function Past({ project, path }: { project: Project; path: string }) {
  const past = useAnswer(
    (signal) => request("get", "/memories", { query: { project: project.id, path_prefix: path, kind: ["episode", "error"], limit: 200 }, signal }),
    [project.id, path],
  );
  return (
    <Panel title="Its past" hint="Past changes and errors that touched this file, newest first.">
      <Show of={past} what="its past" empty={(value) => value.items.length === 0 && "No change of this file is known."}>
        {(value) => {
          const entries = [...value.items].sort((one, other) => (other.at > one.at ? 1 : -1));
          const { times, values } = countByMonth(entries.map((one) => one.at));
          return (
            <>
              <p>
                {count(value.total, "past change")}
                {value.total > entries.length && `, the newest ${entries.length} are shown`}
              </p>
              {times.length > 2 && <Lazy load={loadPlot} what="the plot" props={{ times, series: [{ name: "changes a month", values, bars: true }], label: "Changes a month" }} />}
              <Timeline
                entries={entries.map((one) => ({ key: one.id, at: one.at, title: <Unfold title={one.title} id={one.id} /> }))}
              />
            </>
          );
        }}
      </Show>
    </Panel>
  );
}

function countByMonth(moments: readonly string[]): { times: number[]; values: number[] } {
  const counts = new Map<number, number>();
  for (const at of moments) {
    const date = new Date(at);
    const month = Date.UTC(date.getUTCFullYear(), date.getUTCMonth()) / 1000;
    counts.set(month, (counts.get(month) ?? 0) + 1);
  }
  const first = Math.min(...counts.keys());
  const last = Math.max(...counts.keys());
  const times: number[] = [];
  for (const date = new Date(first * 1000); date.getTime() <= last * 1000; date.setUTCMonth(date.getUTCMonth() + 1)) times.push(date.getTime() / 1000);
  return { times, values: times.map((time) => counts.get(time) ?? 0) };
}
