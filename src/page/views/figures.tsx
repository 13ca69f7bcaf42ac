/** Figures: how good the predictions are, how fast the answers, and what hunchd costs. */

import { useEffect, useState } from "preact/hooks";
import { readMetrics, request, type Answer } from "../api";
import { useAnswer } from "../answers";
import { Empty, Panel, Show, Table } from "../components/basics";
import { Lazy } from "../components/lazy";
import { parseMetrics, readHistogram, type Sample } from "../components/metrics";
import { bytes, count, duration, percent } from "../format";
import { href } from "../router";
import type { ViewProps } from "../views";

type Status = Answer<"/status", "get">;
type Foresight = NonNullable<Status["prefetch"]>["day"];

const loadPlot = () => import("../components/plot");
const loadCurve = () => import("../components/calibration");
const loadBars = () => import("../components/histogram");
const PAUSE = 90_000; // ms between two looks; two requests each
const MAX_POINTS = 480;

// Kept while other views are open: the daemon has no history of these.
const seen: { at: number; memory: number; cpu: number; share: number | null }[] = [];

export default function Figures({ project }: ViewProps) {
  const [turn, setTurn] = useState(0);
  const status = useAnswer(async (signal) => remember(await request("get", "/status", { signal })), []);
  const metrics = useAnswer(async (signal) => parseMetrics(await readMetrics(signal)), []);
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.hidden) return;
      setTurn((before) => before + 1);
    }, PAUSE);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => {
    if (turn === 0) return;
    status.reload();
    metrics.reload();
  }, [turn]);
  return (
    <div class="columns">
      <div class="main-column">
        <Panel title="Were the predictions right?" hint="Counted from the files that you opened yourself.">
          <Show of={status} what="the figures" empty={(value) => !value.prefetch && "No figures are kept by this hunchd."}>
            {(value) => <Predictions day={value.prefetch!.day} week={value.prefetch!.week} projectId={project.id} />}
          </Show>
        </Panel>
        <Panel title="How fast are the answers?" hint="Since hunchd was started.">
          <Show of={metrics} what="the times">
            {(value) => <Speed samples={value} />}
          </Show>
        </Panel>
      </div>
      <div class="side-column">
        <Panel title="What does it cost?">
          <Show of={status} what="the costs">
            {(value) => <Costs status={value} />}
          </Show>
        </Panel>
        <Panel title="Prepared ahead" hint="Answers made before somebody asked, and what was made for nothing.">
          <Show of={status} what="the figures" empty={(value) => !value.prefetch && "Nothing is prepared ahead."}>
            {(value) => <Ahead status={value} />}
          </Show>
        </Panel>
      </div>
    </div>
  );
}

function remember(status: Status): Status {
  const last = seen.at(-1);
  const at = Date.now() / 1000;
  const { memory_bytes: memory, cpu_seconds: cpu } = status.resources;
  const share = last && cpu >= last.cpu && at > last.at ? (100 * (cpu - last.cpu)) / (at - last.at) : null;
  seen.push({ at, memory, cpu, share });
  if (seen.length > MAX_POINTS) seen.shift();
  return status;
}

function Predictions({ day, week, projectId }: { day: Foresight; week: Foresight; projectId: string }) {
  const share = (value: number | null) => (value === null ? "–" : percent(value));
  const rows: { name: string; explains: string; cell: (one: Foresight) => string }[] = [
    { name: "Files opened", explains: "while something was predicted", cell: (one) => one.opened.toLocaleString("en-GB") },
    { name: "Hit rate", explains: "opened files that were among the predicted ones", cell: (one) => share(one.hit_rate) },
    { name: "Precision", explains: "predicted files that were then opened", cell: (one) => share(one.precision) },
    { name: "Lead time", explains: "between the prediction and the opening, in the middle", cell: (one) => (one.lead_seconds === null ? "–" : duration(one.lead_seconds)) },
    { name: "Ready when asked", explains: "answers that were made ahead", cell: (one) => share(one.warm_rate) },
  ];
  const { baselines } = week;
  const bins = week.calibration.filter((one) => one.shown > 0);
  if (week.opened === 0)
    return (
      <Empty>
        No file was opened in an editor with the hunchd plugin this week, so there is nothing to count. <a href={href("now", { project: projectId })}>Now</a> shows what is predicted.
      </Empty>
    );
  return (
    <>
    <Table
      caption="Predictions of the last day and week"
      rows={rows}
      keyOf={(one) => one.name}
      columns={[
        {
          title: "Figure",
          cell: (one) => (
            <>
              <b>{one.name}</b> <span class="quiet-text">{one.explains}</span>
            </>
          ),
        },
        { title: "24 hours", number: true, cell: (one) => one.cell(day) },
        { title: "7 days", number: true, cell: (one) => one.cell(week) },
      ]}
    />
    <h3>Better than a plain rule?</h3>
    {baselines.opened === 0 ? (
      <Empty>Not known yet: the rules can name ten files only after ten files were opened.</Empty>
    ) : (
      <Table
        caption="Predictions beside plain rules, this week"
        rows={RULES}
        keyOf={(one) => one.name}
        columns={[
          { title: `Of the same ${count(baselines.opened, "opened file")}, this week`, cell: (one) => one.name },
          {
            title: "Among ten",
            number: true,
            cell: (one) => (
              <>
                <b>{percent(baselines[one.figure] / baselines.opened)}</b> <span class="quiet-text">{baselines[one.figure].toLocaleString("en-GB")}</span>
              </>
            ),
          },
        ]}
      />
    )}
    <h3>Is “40 %” really 40 %?</h3>
    {bins.length === 0 ? (
      <Empty>Not known yet: a prediction is judged half an hour after it was made.</Empty>
    ) : (
      <>
        <Lazy
          load={loadCurve}
          what="the curve"
          props={{ points: bins.map((one) => ({ said: one.above + 0.05, came: one.opened / one.shown, many: one.shown })) }}
        />
        <p class="quiet-text">
          Each point: of the files that were given this chance, how many were opened within half an hour. On the line, the chance is right; above it, files were opened more often than said. From{" "}
          {count(bins.reduce((sum, one) => sum + one.shown, 0), "prediction")} this week.
        </p>
      </>
    )}
    </>
  );
}

const RULES: readonly { name: string; figure: "foreseen" | "recent" | "frequent" }[] = [
  { name: "Predicted by hunchd", figure: "foreseen" },
  { name: "The ten files opened last", figure: "recent" },
  { name: "The ten files opened most often", figure: "frequent" },
];

const ROUTES: Record<string, string> = {
  "/context": "Context of a file",
  "/context/assemble": "Context of now",
  "/context/predict": "Predictions",
  "/search": "Search",
  "/signals": "Reports of editors and shells",
};

function Speed({ samples }: { samples: readonly Sample[] }) {
  const routes = Object.keys(ROUTES)
    .map((route) => ({ route, histogram: readHistogram(samples, route) }))
    .filter((one) => one.histogram.total > 0);
  const [chosen, setChosen] = useState("");
  const shown = routes.find((one) => one.route === chosen) ?? routes[0];
  if (!shown) return <Empty>Nothing was asked for yet.</Empty>;
  const { bounds, counts, total } = shown.histogram;
  const names = bounds.map((bound) => (bound === Infinity ? "over" : `${bound * 1000}`));
  const middle = bounds[counts.findIndex((_, at) => counts.slice(0, at + 1).reduce((sum, one) => sum + one, 0) >= total / 2)] ?? Infinity;
  return (
    <>
      <label>
        Question{" "}
        <select value={shown.route} onChange={(event) => setChosen(event.currentTarget.value)}>
          {routes.map((one) => (
            <option key={one.route} value={one.route}>
              {ROUTES[one.route]}
            </option>
          ))}
        </select>
      </label>
      <p>
        {count(total, "answer")}, {total === 1 ? "given" : "half of them"} within {middle === Infinity ? "more than a second" : `${middle * 1000} ms`}.
      </p>
      <Lazy load={loadBars} what="the plot" props={{ names, counts, label: `Answers by time in milliseconds: ${names.map((name, at) => `up to ${name}: ${counts[at]}`).join(", ")}` }} />
      <p class="quiet-text">Answers by the time they took, up to so many milliseconds.</p>
    </>
  );
}

function Costs({ status }: { status: Status }) {
  const { resources, store } = status;
  const times = seen.map((one) => one.at);
  return (
    <>
      <dl class="facts">
        <dt>Memory</dt>
        <dd>
          {bytes(resources.memory_bytes)} in {count(resources.processes, "process", "processes")}
        </dd>
        <dt>Disk</dt>
        <dd>{bytes(store.bytes)}</dd>
        {store.rows !== undefined && (
          <>
            <dt>Memories</dt>
            <dd>{store.rows.toLocaleString("en-GB")}</dd>
          </>
        )}
        <dt>Processor</dt>
        <dd>
          {duration(resources.cpu_seconds)} of work in {duration(status.uptime_seconds)}
        </dd>
        <dt>Threads</dt>
        <dd>{resources.threads}</dd>
        {status.language && (
          <>
            <dt>Language model</dt>
            <dd>
              {status.language.model}: ${status.language.spent_today_usd.toFixed(2)} of ${status.language.limit_usd.toFixed(2)} today
            </dd>
          </>
        )}
      </dl>
      {seen.length > 1 ? (
        <>
          <h3>Memory since this page was opened, MB</h3>
          <Lazy load={loadPlot} what="the plot" props={{ times, series: [{ name: "MB", values: seen.map((one) => one.memory / 1e6) }], label: "Memory in megabytes" }} />
          <h3>Processor, % of one core</h3>
          <Lazy load={loadPlot} what="the plot" props={{ times, series: [{ name: "%", values: seen.map((one) => one.share) }], label: "Processor in percent of a core" }} />
        </>
      ) : (
        <p class="quiet-text">A curve appears here while this page stays open.</p>
      )}
    </>
  );
}

function Ahead({ status }: { status: Status }) {
  const figures = status.prefetch!;
  return (
    <dl class="facts">
      <dt>Made ahead</dt>
      <dd>{count(figures.built_ahead, "answer")}</dd>
      <dt>For nothing</dt>
      <dd>
        {count(figures.wasted, "answer")}
        {figures.built_ahead > 0 && `, ${percent(figures.wasted / figures.built_ahead)}`}
      </dd>
      <dt>This week</dt>
      <dd>
        {bytes(figures.week.ahead_bytes)} made, {bytes(figures.week.wasted_bytes)} for nothing
      </dd>
    </dl>
  );
}
