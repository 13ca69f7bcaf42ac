/** The frame: who may see it, the navigation, the project, and the view of the address. */

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { onLocked } from "./api";
import { useAnswer } from "./answers";
import { ReadOnly, useReadOnly } from "./components/access";
import { AddProject } from "./components/add_project";
import { EditorChoice, ThemeSwitch } from "./components/browser_choices";
import { Empty, Loading, Show } from "./components/basics";
import { Lazy } from "./components/lazy";
import { OwnChanges, Toasts } from "./components/toast";
import { startEvents, stopEvents, useEvents, useLink } from "./events";
import { count } from "./format";
import { chooseProject, listProjects, type Project } from "./project";
import { host } from "./host";
import { canGoBack, goBack, href, interceptLinks, navigate, useRoute } from "./router";
import { onKeyChanged, openSession, type Access } from "./session";
import { applyTheme, followHostTheme } from "./theme";
import { VIEWS } from "./views";

function Page() {
  const [access, setAccess] = useState<Access>();
  useEffect(() => {
    const open = () =>
      openSession().then(
        (told) => {
          setAccess(told);
          if (told.state === "open") startEvents();
        },
        () => setAccess({ state: "locked", reason: "hunchd is not answering." }),
      );
    onLocked(() => {
      stopEvents();
      setAccess({ state: "locked", reason: "The session has ended: hunchd was started again, or 12 hours went by." });
    });
    void open();
    return onKeyChanged(() => void open());
  }, []);
  if (!access) return <Loading what="the page" />;
  if (access.state === "locked") return <Locked reason={access.reason} />;
  return (
    <ReadOnly.Provider value={access.readOnly}>
      <Frame readOnly={access.readOnly} version={access.version} />
      <Toasts />
    </ReadOnly.Provider>
  );
}

function Locked({ reason }: { reason: string }) {
  return (
    <main class="locked" id="main" tabIndex={-1}>
      <h1>hunchd</h1>
      {reason && (
        <p class="warning" role="alert">
          {reason}
        </p>
      )}
      <p>This page shows private code, so it opens only with a code that is new each time. In a terminal, run:</p>
      <pre tabIndex={0}>hunch ui</pre>
      <p>The page then opens by itself, and tabs that are open already go on.</p>
    </main>
  );
}

function Frame({ readOnly, version }: { readOnly: boolean; version: string }) {
  const route = useRoute();
  const projects = useAnswer((signal) => listProjects(signal), []);
  useEvents(["project", "indexed", "progress"], null, projects.reload, { bundled: true });
  const view = VIEWS.find((one) => one.name === route.view);
  const project = projects.value && chooseProject(projects.value, route.query.get("project"));
  useEffect(() => {
    document.title = `${view?.title ?? "Not found"}${project ? ` – ${project.name}` : ""} – hunchd`;
  }, [view?.title, project?.name]);
  if (project) visited.set(route.view, href(route.view, { ...Object.fromEntries(route.query), project: project.id }));
  useEffect(() => document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }), [route.view]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href={href("now", { project: project?.id })}>
          hunchd
        </a>
        <div class="view-choice">
          <select aria-label="View" value={route.view} onChange={(event) => navigate(recall(event.currentTarget.value, project?.id))}>
            {!view && <option value={route.view}>Not found</option>}
            {VIEWS.map((one) => (
              <option key={one.name} value={one.name}>
                {one.title}
              </option>
            ))}
          </select>
        </div>
        <div class="tools">
          {projects.value && projects.value.length > 0 && (
            <label>
              <span class="unseen">Project</span>
              <select value={project?.id} onChange={(event) => navigate(href(route.view, { project: event.currentTarget.value }))}>
                {projects.value.map((one) => (
                  <option key={one.id} value={one.id}>
                    {one.name}
                  </option>
                ))}
              </select>
            </label>
          )}
          {host ? (
            canGoBack() && (
              <button type="button" class="quiet" onClick={goBack}>
                Back
              </button>
            )
          ) : (
            <>
              <EditorChoice />
              <ThemeSwitch />
            </>
          )}
          {readOnly && <span class="tag">read-only</span>}
          <OwnChanges />
        </div>
        <nav aria-label="Views">
          {VIEWS.map((one) => (
            <a key={one.name} href={one.name === route.view ? href(one.name, { project: project?.id }) : recall(one.name, project?.id)} aria-current={one.name === route.view ? "page" : undefined}>
              {one.title}
            </a>
          ))}
        </nav>
      </header>
      <LinkState />
      <main id="main" tabIndex={-1}>
        <h1>{view?.title ?? "Not found"}</h1>
        {view && <p class="hint about">{view.about}</p>}
        {!view ? (
          <Empty>
            There is no page at this address. <a href={href("now")}>Go to Now</a>.
          </Empty>
        ) : (
          <Show of={projects} what="the projects" empty={(value) => value.length === 0 && <NoProject onAdded={projects.reload} />}>
            {() => (
              <>
                {project && <ProjectState project={project} />}
                {project && <Lazy key={view.name} load={view.load} what={`“${view.title}”`} props={{ project, route }} />}
              </>
            )}
          </Show>
        )}
      </main>
      <footer>hunchd {version}. This page talks to no other machine.</footer>
    </>
  );
}

const RECALLED: readonly string[] = ["search", "file"]; // what was typed; a filter that comes back by itself hides things

/** Return where one was in a view, so that a look at another one loses nothing; a second click on the view begins anew. */
function recall(view: string, project: string | undefined): string {
  const last = RECALLED.includes(view) ? visited.get(view) : undefined;
  return last && new URLSearchParams(last.split("?")[1]).get("project") === project ? last : href(view, { project });
}
const visited = new Map<string, string>();

function NoProject({ onAdded }: { onAdded: () => void }) {
  const readOnly = useReadOnly();
  return (
    <>
      No project is watched yet. In a terminal, go to a repository and run <code>hunch add</code>. This page then fills by itself.
      {!readOnly && <AddProject onAdded={onAdded} />}
    </>
  );
}

function ProjectState({ project }: { project: Project }) {
  if (project.state === "missing") return <p class="warning">The folder {project.path} is gone. What was known about it is still here.</p>;
  if (project.state !== "indexing") return null;
  const { commits, files } = project.progress;
  const done = commits.done + files.done;
  const total = commits.total + files.total;
  return (
    <div class="warning" role="status">
      {project.name} is being read{total > 0 && `: ${files.done.toLocaleString("en-GB")} of ${count(files.total, "file")}, ${commits.done.toLocaleString("en-GB")} of ${count(commits.total, "commit")}`}. Answers get better until it is done.
      <progress max={Math.max(total, 1)} value={done} aria-label="Progress" />
    </div>
  );
}

function LinkState() {
  const link = useLink();
  return (
    <div class="link-state" role="status" aria-live="polite">
      {link === "lost" && <p class="warning">hunchd is not answering. This page tries again by itself; what you see may be old.</p>}
    </div>
  );
}

applyTheme();
followHostTheme();
interceptLinks();
render(<Page />, document.getElementById("page")!);
