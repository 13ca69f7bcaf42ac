/** Contradictions: both sides beside each other, decided in a click. */

import { request } from "../api";
import { usePages } from "../answers";
import { Show } from "../components/basics";
import { Chips, More } from "../components/memory";
import { Pair, PairPanel } from "../components/pair";
import { Group, groupPairs } from "../components/standing";
import { useEvents } from "../events";
import { count } from "../format";
import { href } from "../router";
import type { ViewProps } from "../views";

const STATES: Record<string, string> = { "": "To decide", resolved: "Decided" };

export default function Contradictions({ project, route }: ViewProps) {
  const state = route.query.get("state") ?? "";
  const shown = route.query.get("show") ?? "";
  const found = usePages(
    (cursor, signal) =>
      request("get", "/contradictions", { query: { project: project.id, status: state === "resolved" ? "resolved" : "open", limit: state ? 20 : 100, cursor: cursor ?? "" }, signal }),
    [project.id, state],
  );
  useEvents(["memory", "consolidation"], project.id, found.reload, { bundled: true });
  if (shown)
    return (
      <div class="stack">
        <p>
          <a href={href("contradictions", { project: project.id })}>Show all contradictions</a>
        </p>
        <PairPanel key={shown} id={shown} project={project} onChanged={found.reload} />
      </div>
    );
  return (
    <>
      <div class="filters">
        <Chips label="Show" chosen={state} options={STATES} address={(name) => href("contradictions", { project: project.id, state: name })} />
      </div>
      <Show
        of={found}
        what="the contradictions"
        empty={(value) => value.items.length === 0 && (state ? "Nothing was decided yet." : "Nothing contradicts itself. When two statements cannot both be true, they appear here.")}
      >
        {(value) => (
          <>
            <p class="quiet-text" role="status">
              {count(value.total ?? value.items.length, "pair")} {state ? "decided" : "to decide. Until you decide, agents are told both."}
            </p>
            <div class="stack">
              {state
                ? value.items.map((one) => <Pair key={one.id} pair={one} project={project} onChanged={found.reload} />)
                : groupPairs(value.items).map((group) => <Group key={group[0]!.id} pairs={group} project={project} onChanged={found.reload} />)}
            </div>
            <More of={found} what="pairs" />
          </>
        )}
      </Show>
    </>
  );
}
