/** Now: what you work on, what is predicted, what was then opened, and what was reported. */

import { useEffect, useState } from "preact/hooks";
import { request } from "../api";
import { useAnswer } from "../answers";
import { Bar, Empty, FileLink, Panel, Show, Time } from "../components/basics";
import { Lines } from "../components/line";
import { useEvents, type HunchEvent } from "../events";
import { fixesOf, isFix } from "../fixes";
import { clock, count, percent, plainReasons, sureness, TIERS } from "../format";
import type { ViewProps } from "../views";
import { href } from "../router";

const MAX_SIGNALS = 60;
const MAX_READY = 6;
const MIN_CHANCE = 0.02; // less likely files are no prediction worth reading

export default function Now({ project }: ViewProps) {
  const focus = useAnswer((signal) => request("get", "/focus", { query: { project: project.id }, signal }), [project.id]);
  const current = focus.value?.open_files[0]?.path;
  const openFiles = focus.value?.open_files.map((one) => one.path).slice(0, 20).reverse() ?? [];
  const isReady = focus.value !== undefined;
  const bundle = useAnswer(
    isReady
      ? (signal) =>
          request("post", "/context/assemble", {
            body: { project: project.id, signals: current ? { current_file: current, open_files: openFiles } : {} },
            signal,
          })
      : null,
    [project.id, current, openFiles.join()],
  );
  const prediction = useAnswer(
    isReady
      ? (signal) =>
          request("post", "/context/predict", {
            body: { project: project.id, k: 8, ...(current ? { file_opened: current, open_files: openFiles } : {}) },
            signal,
          })
      : null,
    [project.id, current, openFiles.join()],
  );
  const reload = () => [focus, bundle, prediction].forEach((each) => each.reload());
  useEvents(["signal"], project.id, focus.reload, { bundled: true });
  useEvents(["context_ready", "indexed"], project.id, reload, { bundled: true });

  return (
    <div class="columns news-first">
      <div class="main-column">
        <Panel title="You are working on">
          <Show of={focus} what="the open files">
            {(value) =>
              current ? (
                <>
                  <p class="focus">
                    <FileLink project={project} path={current} />
                    <span class="quiet-text">
                      {value.branch && `branch ${value.branch}, `}
                      opened <Time at={value.open_files[0]!.at} />
                    </span>
                  </p>
                  {value.open_files.length > 1 && (
                    <ul class="chips" aria-label="Other open files">
                      {value.open_files.slice(1, 9).map((one) => (
                        <li key={one.path}>
                          <FileLink project={project} path={one.path} />
                        </li>
                      ))}
                      {value.open_files.length > 9 && <li class="quiet-text">{value.open_files.length - 9} more</li>}
                    </ul>
                  )}
                </>
              ) : (
                <Empty>
                  No file is open in {project.name}. Open one in an editor that has the hunchd plugin, or <a href={href("file", { project: project.id })}>choose a file here</a>.
                </Empty>
              )
            }
          </Show>
        </Panel>

        <Panel title="Context now" hint="What an agent would be given. Open a line to see why it is there, or to put it right.">
          <Show
            of={bundle}
            what="the context"
            empty={(value) => value.items.length === 0 && (value.degraded.join(", ") || "There is nothing to say yet. It fills up once a file is open.")}
          >
            {(value) => (
              <>
                {value.degraded.length > 0 && <p class="warning">Not complete: {value.degraded.join(", ")}</p>}
                <Bar label={`Tokens, ${value.token_count} of ${value.budget}`} total={value.budget} parts={sizeParts(value)} />
                <p class="quiet-text">
                  {value.token_count.toLocaleString("en-GB")} of at most {value.budget.toLocaleString("en-GB")} tokens
                  {value.prefetched && ", made before it was asked for"}
                </p>
                <Lines items={value.items} project={project} onChanged={bundle.reload} />
              </>
            )}
          </Show>
        </Panel>
      </div>

      <div class="side-column">
        <CurrentError project={project} />
        <Panel title="Predicted next" hint="Files that you will probably open next, and how likely that is.">
          <Show of={prediction} what="the predictions" empty={(value) => value.predicted_files.every((file) => file.confidence! < MIN_CHANCE) && "Nothing is likely enough to say."}>
            {(value) => (
              <ol class="chances">
                {value.predicted_files.filter((file) => file.confidence! >= MIN_CHANCE).map((file) => (
                  <li key={file.path}>
                    <div class="row">
                      <FileLink project={project} path={file.path!} />
                      <b>{percent(file.confidence!)}</b>
                    </div>
                    <meter min={0} max={1} value={file.confidence!} aria-label={`chance of ${file.path}`} />
                    <span class="quiet-text">{plainReasons(file.reasons).join(" · ")}</span>
                  </li>
                ))}
              </ol>
            )}
          </Show>
        </Panel>
        <Panel title="Ready" hint="Contexts that are made already: an agent that opens one of these files is answered at once.">
          <Show of={focus} what="what is ready" empty={(value) => value.ready_files.length === 0 && "None is ready now. They are made anew a moment after you open a file, and when something is remembered or put away."}>
            {(value) => (
              <ul class="files">
                {value.ready_files.slice(0, MAX_READY).map((path) => (
                  <li key={path}>
                    <FileLink project={project} path={path} />
                  </li>
                ))}
                {value.ready_files.length > MAX_READY && <li class="quiet-text">{value.ready_files.length - MAX_READY} more</li>}
              </ul>
            )}
          </Show>
        </Panel>
        <Panel title="Hit or miss" hint="Files you opened, and whether they were among the first ten predicted just before.">
          <Show of={focus} what="the opened files" empty={(value) => value.opened.length === 0 && "Nothing to judge yet: since hunchd was started, no file was opened a while after a prediction."}>
            {(value) => {
              const hits = value.opened.filter((one) => one.rank !== null).length;
              return (
                <>
                  <p>
                    <b>
                      {hits} of {value.opened.length}
                    </b>{" "}
                    predicted
                  </p>
                  <ul class="outcomes">
                    {value.opened.slice(0, 12).map((one) => (
                      <li key={one.path + one.at} class={one.rank === null ? "miss" : "hit"}>
                        <span class="mark" aria-hidden="true">
                          {one.rank === null ? "–" : "✓"}
                        </span>
                        <div>
                          <FileLink project={project} path={one.path} />
                          <span class="quiet-text">
                            {one.rank === null ? "not predicted" : `number ${one.rank} of the predicted ones, ${percent(one.probability ?? 0)} likely`}, <Time at={one.at} />
                          </span>
                        </div>
                      </li>
                    ))}
                  </ul>
                </>
              );
            }}
          </Show>
        </Panel>
        <Signals project={project} />
      </div>
    </div>
  );
}

type Sized = { token_count: number; tiers: { tier1: number; tier2: number; tier3: number; tier4: number } };

/** Tokens of each part that has lines below, and of what stands around them. */
function sizeParts({ token_count, tiers }: Sized) {
  const parts = [tiers.tier1, tiers.tier2, tiers.tier3].map((size, at) => ({ name: TIERS[at + 1]!.name, size, tone: at + 1 }));
  const rest = token_count - parts.reduce((sum, one) => sum + one.size, 0);
  return [...parts, { name: "Headings, and what can be asked for", size: Math.max(0, rest), tone: 5 }].filter((part) => part.size > 0);
}

function CurrentError({ project }: { project: ViewProps["project"] }) {
  const errors = useAnswer((signal) => request("get", "/memories", { query: { project: project.id, kind: ["error"], limit: 200 }, signal }), [project.id]);
  useEvents(["signal"], project.id, errors.reload, { bundled: true, about: (event) => isAbout(event, "error", "command") });
  const all = errors.value?.items ?? [];
  const newest = all.filter((one) => !isFix(one)).sort((one, other) => (other.at > one.at ? 1 : -1))[0];
  const fixes = newest ? fixesOf(newest, all) : [];
  return (
    <Panel title="Last error">
      <Show of={errors} what="the errors" empty={() => !newest && "No error was reported. Run tests with hunch run, or let the shell report them."}>
        {() => (
          <>
            <p class="error-title">{newest!.title}</p>
            <p class="quiet-text">
              <Time at={newest!.at} />
              {newest!.tags?.includes("fixed") && ", fixed since"}
            </p>
            <details>
              <summary>The whole text</summary>
              <pre class="content" tabIndex={0}>
                {newest!.content}
              </pre>
            </details>
            {fixes.length > 0 && (
              <>
                <h3>What helped before</h3>
                <ul class="plain">
                  {fixes.map((fix) => (
                    <li key={fix.id}>
                      <a href={href("errors", { project: project.id, part: "fixes", show: fix.id })}>{fix.title}</a>{" "}
                      <span class="quiet-text">{sureness(fix.confidence)}</span>
                    </li>
                  ))}
                </ul>
              </>
            )}
          </>
        )}
      </Show>
    </Panel>
  );
}

function Signals({ project }: { project: ViewProps["project"] }) {
  const [seen, setSeen] = useState<readonly { key: number; at: string; event: HunchEvent }[]>([]);
  useEffect(() => setSeen([]), [project.id]);
  useEvents(["signal", "patterns", "consolidation", "progress", "indexed", "lagged"], project.id, (event) =>
    setSeen((before) => [{ key: (before[0]?.key ?? 0) + 1, at: new Date().toISOString(), event }, ...before].slice(0, MAX_SIGNALS)),
  );
  return (
    <Panel title="Live" hint="What editors, git, shells and agents report, as it arrives.">
      {seen.length === 0 ? (
        <Empty>Nothing was reported since this page was opened.</Empty>
      ) : (
        <ol class="signals" tabIndex={0} aria-label="Reported events">
          {seen.map(({ key, at, event }) => (
            <li key={key}>
              <time dateTime={at}>{clock(at)}</time> {describe(event)}
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}

const SENTENCES: Record<string, (data: Record<string, unknown>) => string> = {
  file_opened: (data) => `opened ${String(data.path)}`,
  file_saved: (data) => `saved ${String(data.path)}`,
  file_closed: (data) => `closed ${String(data.path)}`,
  file_created: (data) => `created ${String(data.path)}`,
  file_deleted: (data) => `deleted ${String(data.path)}`,
  file_edited: (data) => `edited ${String(data.path)}`,
  git_commit: (data) => `committed ${String(data.message ?? data.subject ?? data.sha ?? "")}`,
  error: (data) => `error: ${String(data.text ?? "").split("\n")[0]}`,
  command: (data) => `ran ${String(data.command ?? "")}${data.exit_code ? `, failed with ${String(data.exit_code)}` : ""}`,
};

/** Say an event in words; one that is new to this page is shown by its name. */
function describe(event: HunchEvent): string {
  if (event.type === "progress") return "reading the project";
  if (event.type === "indexed") return "the project is read";
  if (event.type === "patterns") return `found ${count(Number(event.known), "pattern")}`;
  if (event.type === "consolidation") return event.status === "running" ? "tidying up" : `tidying up: ${String(event.status).replace(/_/g, " ")}`;
  if (event.type === "lagged") return "more happened than could be shown";
  const data = (event.signal ?? {}) as Record<string, unknown>;
  const kind = String(data.kind ?? "something");
  const source = data.source ? ` (${String(data.source)})` : "";
  return (SENTENCES[kind]?.(data) ?? `${kind.replace(/_/g, " ")} ${String(data.path ?? "")}`) + source;
}

function isAbout(event: HunchEvent, ...kinds: string[]): boolean {
  return kinds.includes(String((event.signal as { kind?: string } | undefined)?.kind));
}

