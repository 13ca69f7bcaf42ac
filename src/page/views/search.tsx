/** Search: code, memories and history in one box, with filters and a preview. */

import { useEffect, useRef, useState } from "preact/hooks";
import { request, type Answer, type Schemas } from "../api";
import { useAnswer, type Loaded } from "../answers";
import { EditorLink, Empty, FileLink, Panel, Show } from "../components/basics";
import { isMemory, LineActions } from "../components/line";
import { BackToList, isUndone, MemoryPanel } from "../components/memory";
import { isAbout, PairPanel, useContradictions, type Contradiction } from "../components/pair";
import { Group, groupPairs, Holds } from "../components/standing";
import { NotedTag, type Noted } from "../components/toast";
import { count, day, dayAndTime, isRead, KINDS, nameContradiction, plainReasons, sentence, timeOf, TRUST } from "../format";
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
const MOST = 30; // results of a question
const WITH_PAST = 10; // facts whose former values are asked for
const SHORT = 5; // results of one kind that are shown beside the others
const HEADSTART = 10; // places: facts answer “what did we decide” even where code says the words more often
const ANSWERS = 2; // facts that a question is about, if they lead
const ASKED = 0.6; // share of the words of a question
const EXACT = "is exactly what was asked for";
const ROLES: Record<string, string> = { "": "Any file", source: "Sources", test: "Tests", docs: "Documentation", example: "Examples", config: "Configuration" };

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
              k: MOST,
              ...(role ? { roles: [role] as Roles } : SCOPES[scope]?.kinds.length ? { kinds: SCOPES[scope]!.kinds } : {}),
              ...(prefix ? { path_prefix: prefix } : {}),
            },
            signal,
          })
      : null,
    [project.id, q, scope, role, prefix],
  );
  const pairs = useContradictions(project, q !== "");
  // Code says the words of most questions more often: facts are asked for by themselves, too.
  const facts = useAnswer(q && scope === "all" && !role ? (signal) => request("post", "/search", { body: { project: project.id, query: q, k: SHORT, kinds: ["fact"], ...(prefix ? { path_prefix: prefix } : {}) }, signal }) : null, [project.id, q, scope, role, prefix]);
  const [turn, setTurn] = useState(0); // grows with each decision: what is shown of a fact then is another
  const decided = () => (pairs.reload(), answer.reload(), facts.reload(), setTurn(turn + 1));
  const first = answer.value?.results ?? [];
  const found = [...first, ...(facts.value?.results ?? []).filter((one) => first.every((other) => other.id !== one.id))];
  const hasFacts = scope === "all" || scope === "facts";
  const groups = groupResults([...(hasFacts && !role && !prefix ? listDecided(q, pairs.value ?? [], found) : []), ...found], scope, role);
  const results = groups.flatMap((group) => group.results);
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
          Only in the folder
          <input defaultValue={prefix} placeholder="src/" onChange={(event) => navigate(address({ below: event.currentTarget.value.trim(), show: "" }))} />
        </label>
      </div>
      {!q ? (
        <Empty>Ask in your own words, such as “where are cookies signed” or “why did we drop Python 3.9”. Names of functions and files work too.</Empty>
      ) : (
        <Show of={answer} what="results" empty={() => results.length === 0 && "Nothing was found. Try other words, or look in everything."}>
          {(value) => (
            <>
              <p class="quiet-text" role="status">
                {value.results.length < MOST ? count(value.results.length, "result") : `The best ${MOST} results`} in {Math.max(1, Math.round(value.took_ms))} ms
              </p>
              {!chosen && <Standing key={turn} project={project} facts={groups.find((group) => group.scope === "facts")?.results ?? []} pairs={pairs} onChanged={decided} />}
              <div class={chosen ? "results opened" : "results"}>
                <div>
                  {groups.map((group) => (
                    <section key={group.scope}>
                      {(groups.length > 1 || group.all > group.results.length) && (
                        <h2 class="group">
                          {SCOPES[group.scope]!.name}
                          {group.all > SHORT && <a href={address({ in: group.scope, role: "", show: "" })}>All {group.all}</a>}
                        </h2>
                      )}
                      <ol class="result-list" aria-label={SCOPES[group.scope]!.name}>
                        {group.results.map((one, at) => (
                          <li key={keyOf(one)} class={one === shown ? "result current" : "result"}>
                            <a href={address({ show: keyOf(one) })} aria-current={one === shown ? "true" : undefined}>
                              <span class="line-title">{nameResult(one)}</span>
                              {one.kind !== SCOPES[group.scope]!.kinds[0] && <span class="tag">{nameKind(one)}</span>}
                              {isDisputed(one, pairs) && <span class="tag noted-tag">to decide</span>}
                              {one.kind === "fact" && at < WITH_PAST && <Before key={turn} id={one.id ?? ""} />}
                              <span class="reasons">{place(one)}</span>
                            </a>
                          </li>
                        ))}
                      </ol>
                    </section>
                  ))}
                </div>
                {shown && <Preview key={`${turn} ${keyOf(shown)}`} result={shown} project={project} onDecided={decided} back={chosen ? address({ show: "" }) : undefined} />}
              </div>
            </>
          )}
        </Show>
      )}
    </>
  );
}

/** What holds of the first facts that were found: to be decided, or what it replaced. */
function Standing({ project, facts, pairs, onChanged }: { project: Project; facts: readonly Result[]; pairs: Loaded<readonly Contradiction[]>; onChanged: () => void }) {
  const first = facts.slice(0, ANSWERS);
  const open = (pairs.value ?? []).filter((one) => one.status === "open");
  const group = groupPairs(open).find((its) => first.some((one) => its.some((pair) => isAbout(pair, one.id ?? ""))));
  if (group) return <div class="answer"><Group pairs={group} project={project} onChanged={onChanged} title="What holds is not decided yet" /></div>;
  return pairs.value && first[0]?.id ? <div class="answer"><Holds key={first[0].id} id={first[0].id} project={project} /></div> : null;
}

/** Return what holds instead of something that a decision ended, where the question has the words of what was ended. */
function listDecided(q: string, pairs: readonly Contradiction[], found: readonly Result[]): Result[] {
  const words = q.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}.+#-]*/gu)?.filter((word) => word.length > 2 || /\d/.test(word)) ?? [];
  const decided = pairs.flatMap((pair) => {
    if (pair.status === "open" || (pair.resolution !== "a_wins" && pair.resolution !== "b_wins")) return [];
    const [winner, loser] = pair.resolution === "a_wins" ? [pair.a, pair.b] : [pair.b, pair.a];
    const text = `${loser.title} ${loser.content}`.toLowerCase();
    const isAsked = words.length > 0 && words.filter((word) => text.includes(word)).length >= words.length * ASKED;
    return isAsked && winner.status === "active" && !found.some((one) => one.id === winner.id) ? [winner] : [];
  });
  return [...new Map(decided.map((one) => [one.id, one])).values()].map(({ id, title, source, at, trust }) => ({ id, ref: null, kind: "fact", title, snippet: "", source: { ...source, trust }, at, score: 0, reasons: ["decided against what you asked for"] }));
}

function isDisputed(result: Result, pairs: Loaded<readonly Contradiction[]>): boolean {
  return result.kind === "fact" && (pairs.value ?? []).some((one) => one.status === "open" && isAbout(one, result.id ?? ""));
}

/** What a fact said before, and until when. */
function Before({ id }: { id: string }) {
  const history = useAnswer((signal) => request("get", "/memories/{id}/history", { params: { id }, query: { limit: 20 }, signal }), [id]);
  const [own, ...others] = history.value?.items ?? [];
  const same = new Set(own?.links.filter((link) => link.type === "merged_from").map((link) => link.ref)); // said twice
  const before = others.filter((one) => !same.has(one.id) && !isUndone(one) && [one.title, one.content].every((text) => normalize(text) !== normalize(own!.title))).sort((one, other) => timeOf(other).localeCompare(timeOf(one)))[0];
  if (!before) return null;
  return (
    <span class="reasons before">
      was “{before.title}” until {dayAndTime(before.valid_to ?? timeOf(own!))}
    </span>
  );
}

function normalize(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim();
}

function keyOf(result: Result): string {
  return `${result.id}@${String(result.source?.start_line ?? "")}`;
}

interface Group {
  scope: string;
  results: Result[];
  /** Results of this kind, also those that are not shown. */
  all: number;
}

/** Put results of one kind together, the kind with the best result first; everything else of a kind is one click away. */
function groupResults(results: readonly Result[], scope: string, role: string): Group[] {
  if (scope !== "all" || role) return results.length ? [{ scope, results: [...results], all: results.length }] : [];
  const groups = new Map<string, { results: Result[]; best: number }>();
  const sessions = new Set<unknown>();
  results.forEach((one, at) => {
    const name = scopeOf(one);
    if (name === "sessions" && one.kind !== "message") {
      if (sessions.has(one.source?.session)) return; // a session and its summary
      sessions.add(one.source?.session);
    }
    const rank = one.reasons?.includes(EXACT) ? -HEADSTART - 1 : at - (name === "facts" ? HEADSTART : 0);
    const group = groups.get(name) ?? { results: [], best: rank };
    group.results.push(one);
    group.best = Math.min(group.best, rank);
    groups.set(name, group);
  });
  return [...groups].sort(([, one], [, other]) => one.best - other.best).map(([name, group]) => ({ scope: name, results: group.results.slice(0, SHORT), all: group.results.length }));
}

/** What a result is looked for under; a session as a whole is stored as a document, and what it came to as a past change. */
function scopeOf({ kind, source }: Result): string {
  if (source?.type === "session" && kind !== "fact") return "sessions";
  return Object.keys(SCOPES).find((name) => (SCOPES[name]!.kinds as readonly string[]).includes(kind ?? "")) ?? "facts";
}

function nameKind(result: Result): string {
  if (result.source?.type === "session" && result.kind !== "fact" && result.kind !== "message") return "session";
  return KINDS[result.kind ?? ""] ?? result.kind ?? "";
}

/** Title; who said it is not “user” but you. */
function nameResult({ title = "", kind, snippet = "", source }: Result): string {
  if (kind === "contradiction") return nameContradiction(title);
  // A heading or key, such as “other”, says little without what stands below it.
  if (kind === "code" && source?.role !== "source" && source?.role !== "test") return [title, ...snippet.split("\n")].map((line) => line.trim()).filter((line, at, all) => line && all.indexOf(line) === at).slice(0, 2).join(": ");
  return kind === "message" ? title.replace(/^user: /, "You: ").replace(/^assistant: /, "Agent: ") : title;
}

/** Say where code is, and when and why something else was found. */
function place(result: Result): string {
  const path = result.source?.path;
  if (result.kind === "code" && typeof path === "string" && path) return `${path}${result.source?.start_line ? `:${String(result.source.start_line)}` : ""}`;
  const { kind, at, source = {} } = result;
  const said = kind !== "fact" ? [] : typeof source.path === "string" ? [`from ${source.path}`] : source.type === "session" ? [`${TRUST.user} in a session`] : source.type === "client" ? [TRUST.user!] : [];
  return [...said, ...(at && !(kind === "fact" && isRead({ source, trust: "project" })) ? [kind === "fact" ? dayAndTime(at) : day(at)] : []), ...describeMatch(result)].join(" · ");
}

/** Say why a result was found; its date is told already. */
function describeMatch(result: Result): string[] {
  return plainReasons(result.reasons).filter((reason) => !reason.startsWith("from ") && !/ old$/.test(reason));
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

interface PreviewProps {
  result: Result;
  project: Project;
  back: string | undefined;
  onDecided?: () => void;
}

/** One result: a memory in full, with its history, or code at its place. */
function Preview({ result, project, back, onDecided = () => undefined }: PreviewProps) {
  const id = result.id ?? "";
  const why = (
    <>
      <h3>Why it was found</h3>
      <p class="quiet-text">{describeMatch(result).join(" · ")}</p>
    </>
  );
  if (result.kind === "contradiction")
    return (
      <div class="stack">
        {back && <BackToList address={back} />}
        <PairPanel id={id} project={project} onChanged={onDecided} />
      </div>
    );
  if (isMemory(id)) return <MemoryPanel id={id} project={project} title={sentence(nameKind(result))} onChanged={() => undefined} below={why} back={back} isPinned={false} />;
  return <CodePreview result={result} project={project} back={back} />;
}

function CodePreview({ result, project, back }: PreviewProps) {
  const [noted, setNoted] = useState<Noted | null>(null);
  const path = typeof result.source?.path === "string" ? result.source.path : "";
  const line = Number(result.source?.start_line ?? 1);
  return (
    <Panel title="Code">
      {back && <BackToList address={back} />}
      <p class="preview-title">{result.title}</p>
      <NotedTag noted={noted} />
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
      <h3>Why it was found</h3>
      <p class="quiet-text">{describeMatch(result).join(" · ")}</p>
      <LineActions item={{ id: result.id ?? "", title: result.title ?? "" }} project={project} onNoted={setNoted} onChanged={() => undefined} />
    </Panel>
  );
}
