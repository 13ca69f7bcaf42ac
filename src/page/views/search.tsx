/** Search: code, memories and history in one box, with filters and a preview. */

import { useEffect, useRef, useState } from "preact/hooks";
import { request, type Answer, type Schemas } from "../api";
import { useAnswer } from "../answers";
import { EditorLink, Empty, FileLink, Panel, Show, Time } from "../components/basics";
import { isMemory, LineActions, MemoryDetails, MemoryLink } from "../components/line";
import { NotedTag, type Noted } from "../components/toast";
import { count, KINDS } from "../format";
import type { Project } from "../project";
import { href, navigate } from "../router";
import type { ViewProps } from "../views";

type Result = Answer<"/search", "post">["results"][number];
type Kinds = NonNullable<Schemas["SearchRequest"]["kinds"]>;
type Roles = NonNullable<Schemas["SearchRequest"]["roles"]>;

const SCOPES: Record<string, { name: string; kinds: Kinds }> = {
  all: { name: "Everything", kinds: [] },
  code: { name: "Code", kinds: ["code"] },
  history: { name: "Past changes", kinds: ["episode"] },
  facts: { name: "Facts and rules", kinds: ["fact"] },
  documents: { name: "Documents", kinds: ["document"] },
  errors: { name: "Errors", kinds: ["error"] },
  sessions: { name: "Sessions", kinds: ["message"] },
};
const ROLES: Record<string, string> = { "": "Any file", source: "Sources", test: "Tests", docs: "Documentation", example: "Examples", config: "Settings" };

export default function Search({ project, route }: ViewProps) {
  const q = route.query.get("q") ?? "";
  const scope = route.query.get("in") ?? "all";
  const role = route.query.get("role") ?? "";
  const prefix = route.query.get("below") ?? "";
  const chosen = route.query.get("show") ?? "";
  const address = (changed: Record<string, string>) =>
    href("search", { project: project.id, q, in: scope === "all" ? "" : scope, role, below: prefix, ...changed });
  const answer = useAnswer(
    q
      ? (signal) =>
          request("post", "/search", {
            body: {
              project: project.id,
              query: q,
              k: 30,
              ...(role ? { roles: [role] as Roles } : SCOPES[scope]?.kinds.length ? { kinds: SCOPES[scope]!.kinds } : {}),
              ...(prefix ? { path_prefix: prefix } : {}),
            },
            signal,
          })
      : null,
    [project.id, q, scope, role, prefix],
  );
  const results = answer.value?.results ?? [];
  const shown = results.find((one) => keyOf(one) === chosen) ?? results[0];
  return (
    <>
      <SearchBox key={q} q={q} onSearch={(text) => navigate(address({ q: text, show: "" }))} />
      <div class="filters">
        <fieldset>
          <legend>Look in</legend>
          <div class="chips">
            {Object.entries(SCOPES).map(([name, one]) => (
              <a key={name} class="chip" aria-current={scope === name ? "true" : undefined} href={address({ in: name === "all" ? "" : name, role: "", show: "" })}>
                {one.name}
              </a>
            ))}
          </div>
        </fieldset>
        {(scope === "all" || scope === "code") && (
          <label>
            Kind of file
            <select value={role} onChange={(event) => navigate(address({ role: event.currentTarget.value, in: "code", show: "" }))}>
              {Object.entries(ROLES).map(([name, title]) => (
                <option key={name} value={name}>
                  {title}
                </option>
              ))}
            </select>
          </label>
        )}
        <label>
          Only below
          <input defaultValue={prefix} placeholder="src/" onChange={(event) => navigate(address({ below: event.currentTarget.value.trim(), show: "" }))} />
        </label>
      </div>
      {!q ? (
        <Empty>Ask in your own words, such as “where are cookies signed” or “why did we drop Python 3.9”. Names of functions and files work too.</Empty>
      ) : (
        <Show of={answer} what="results" empty={(value) => value.results.length === 0 && "Nothing was found. Try other words, or look in everything."}>
          {(value) => (
            <>
              <p class="quiet-text" role="status">
                {count(value.results.length, "result")} in {Math.max(1, Math.round(value.took_ms))} ms
              </p>
              <div class={chosen ? "results opened" : "results"}>
                <ol class="result-list" aria-label="Results">
                  {value.results.map((one) => (
                    <li key={keyOf(one)} class={one === shown ? "result current" : "result"}>
                      <a href={address({ show: keyOf(one) })} aria-current={one === shown ? "true" : undefined}>
                        <span class="line-title">{one.title}</span>
                        <span class="tag">{KINDS[one.kind ?? ""] ?? one.kind}</span>
                        <span class="reasons">{place(one)}</span>
                      </a>
                    </li>
                  ))}
                </ol>
                {shown && <Preview key={keyOf(shown)} result={shown} project={project} />}
              </div>
            </>
          )}
        </Show>
      )}
    </>
  );
}

function keyOf(result: Result): string {
  return `${result.id}@${String(result.source?.start_line ?? "")}`;
}

function place(result: Result): string {
  const path = result.source?.path;
  if (typeof path === "string" && path) return `${path}${result.source?.start_line ? `:${String(result.source.start_line)}` : ""}`;
  return result.reasons?.join(" · ") ?? "";
}

function SearchBox({ q, onSearch }: { q: string; onSearch: (text: string) => void }) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!q) input.current?.focus();
  }, []);
  return (
    <form
      class="big-box"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        onSearch(input.current!.value.trim());
      }}
    >
      <label for="query">Search code, memories and history</label>
      <input id="query" ref={input} type="search" defaultValue={q} autocomplete="off" />
      <button type="submit" class="primary">
        Search
      </button>
    </form>
  );
}

/** One result; what is put away stays in the list, so that it can be undone there, until one searches again. */
function Preview({ result, project }: { result: Result; project: Project }) {
  const [noted, setNoted] = useState<Noted | null>(null);
  const path = typeof result.source?.path === "string" ? result.source.path : "";
  const line = Number(result.source?.start_line ?? 1);
  const id = result.id ?? "";
  return (
    <Panel title="Preview">
      <p class="preview-title">{result.title}</p>
      <NotedTag noted={noted} />
      {result.at && !isMemory(id) && (
        <p class="quiet-text">
          <Time at={result.at} />
        </p>
      )}
      {path && (
        <p class="row">
          <FileLink project={project} path={path} line={line} />
          {!path.startsWith("/") && <EditorLink project={project} path={path} line={line} />}
        </p>
      )}
      {result.snippet && (
        <pre class="content" tabIndex={0}>
          {result.snippet}
        </pre>
      )}
      {(result.reasons?.length ?? 0) > 0 && (
        <>
          <h3>Why it was found</h3>
          <ul>
            {result.reasons!.map((reason) => (
              <li key={reason}>{reason}</li>
            ))}
          </ul>
        </>
      )}
      {isMemory(id) && (
        <>
          <h3>What is stored</h3>
          <MemoryDetails id={id} />
          <MemoryLink id={id} kind={result.kind ?? ""} project={project} />
        </>
      )}
      <LineActions item={{ id, title: result.title ?? "" }} project={project} onNoted={setNoted} onChanged={() => undefined} />
    </Panel>
  );
}
