/** Settings and projects: what is watched, what holds, where it is changed, and what is wrong. */

import { useState } from "preact/hooks";
import { prepare, request, type Answer } from "../api";
import { useAnswer } from "../answers";
import { useReadOnly } from "../components/access";
import { AddProject } from "../components/add_project";
import { Panel, Show, Table } from "../components/basics";
import { EditorChoice, ThemeSwitch } from "../components/browser_choices";
import { Doctor } from "../components/doctor";
import { SettingValues } from "../components/setting_values";
import { act, actLater } from "../components/toast";
import { useEvents } from "../events";
import { count, duration } from "../format";
import { host } from "../host";
import { href } from "../router";
import type { ViewProps } from "../views";

type Status = Answer<"/status", "get">;

const STATES: Record<string, string> = { ready: "up to date", indexing: "being read", missing: "folder is gone" };

export default function Settings({ project, route }: ViewProps) {
  const status = useAnswer((signal) => request("get", "/status", { signal }), []);
  useEvents(["project", "indexed", "progress"], null, status.reload, { bundled: true });
  return (
    <div class="stack">
      <Panel title="Projects" hint="Repositories and folders that hunchd watches.">
        <Show of={status} what="the projects">
          {(value) => <Projects status={value} onChanged={status.reload} />}
        </Show>
      </Panel>
      <Panel title="Is everything well?">
        <Show of={status} what="the state">
          {(value) => <Health status={value} />}
        </Show>
      </Panel>
      {!host && (
        <Panel title="In this browser">
          <div class="row in-browser">
            <EditorChoice />
            <ThemeSwitch />
          </div>
        </Panel>
      )}
      <SettingValues project={project} only={route.query.get("only") ?? ""} />
    </div>
  );
}

function Projects({ status, onChanged }: { status: Status; onChanged: () => void }) {
  const [gone, setGone] = useState<readonly string[]>([]);
  const readOnly = useReadOnly();
  const shown = status.projects.filter((one) => !gone.includes(one.id));
  const remove = (one: Status["projects"][number]) => {
    setGone([...gone, one.id]);
    actLater(
      `${one.name} is no longer watched, and what was learned about it is erased.`,
      () => request("delete", "/projects/{id}", { params: { id: one.id }, keepalive: true }).then(onChanged),
      { onUndo: () => setGone((before) => before.filter((id) => id !== one.id)), of: { id: one.id, title: one.name } },
    );
  };
  const pause = (one: Status["projects"][number]) => {
    const set = (paused: boolean) => request("patch", "/projects/{id}", { params: { id: one.id }, body: { paused } });
    void act(one.paused ? `${one.name} is watched again.` : `${one.name} is paused: nothing is read or noted until you resume it.`, () => set(!one.paused), () => set(Boolean(one.paused)), onChanged, {
      id: one.id,
      title: one.name,
      undo: () => prepare("patch", "/projects/{id}", { params: { id: one.id }, body: { paused: Boolean(one.paused) } }),
    });
  };
  return (
    <>
      <Table
        caption="Projects"
        rows={shown}
        keyOf={(one) => one.id}
        columns={[
          {
            title: "Project",
            cell: (one) => (
              <>
                <a href={href("now", { project: one.id })}>
                  <b>{one.name}</b>
                </a>{" "}
                <span class="quiet-text">{one.path}</span>
              </>
            ),
          },
          { title: "State", cell: (one) => <State project={one} /> },
          { title: "Branch", cell: (one) => one.branch || "–" },
          {
            title: "Action",
            cell: (one) =>
              readOnly ? (
                "–"
              ) : (
                <div class="actions">
                  <button type="button" onClick={() => pause(one)} aria-label={`${one.paused ? "Resume" : "Pause"} ${one.name}`}>
                    {one.paused ? "Resume" : "Pause"}
                  </button>
                  <button type="button" class="danger" onClick={() => remove(one)} aria-label={`Remove ${one.name}`}>
                    Remove
                  </button>
                </div>
              ),
          },
        ]}
      />
      {!readOnly && <AddProject onAdded={onChanged} />}
    </>
  );
}

function State({ project }: { project: Status["projects"][number] }) {
  const { commits, files, embeddings } = project.progress;
  const waiting = embeddings.total - embeddings.done;
  const total = commits.total + files.total;
  return (
    <>
      {project.paused ? <b>paused</b> : (STATES[project.state] ?? project.state)}
      {!project.paused && project.state === "indexing" ? (
        <progress max={Math.max(total, 1)} value={commits.done + files.done} aria-label={`Progress of ${project.name}`} />
      ) : (
        <span class="quiet-text">
          {" "}
          {count(commits.done, "commit")}, {count(files.done, "file")}
          {waiting > 0 && `, ${waiting.toLocaleString("en-GB")} not yet searchable by meaning`}
        </span>
      )}
      {project.index_error && <p class="warning">{project.index_error}</p>}
    </>
  );
}

function Health({ status }: { status: Status }) {
  const failing = status.tasks.filter((one) => one.state !== "running" || one.failures > 0);
  const problems = [...status.degraded, ...failing.map((one) => `“${one.name}” failed ${count(one.failures, "time")}${one.last_error ? `: ${one.last_error}` : ""}`)];
  return (
    <>
      {problems.length === 0 ? (
        <p>Yes. Everything has run without a failure for {duration(status.uptime_seconds)}.</p>
      ) : (
        <ul>
          {problems.map((one) => (
            <li key={one} class="warning">
              {one}
            </li>
          ))}
        </ul>
      )}
      <Doctor />
    </>
  );
}
