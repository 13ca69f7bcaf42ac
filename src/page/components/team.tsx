/** The team of a project: whether this machine is in step, who is a member, and what each of them said. */

import { request } from "../api";
import { useAnswer, usePages } from "../answers";
import { ago, count, dayAndTime } from "../format";
import type { Project } from "../project";
import { Empty, Panel, Show } from "./basics";
import { More } from "./memory";

export function Team({ project }: { project: Project }) {
  const team = useAnswer(async (signal) => {
    const status = await request("get", "/team", { query: { project: project.id }, signal });
    const members = status.joined ? (await request("get", "/team/members", { query: { project: project.id }, signal })).items : [];
    return { status, members };
  }, [project.id]);
  return (
    <Show of={team} what="the team" empty={({ status }) => !status.joined && "This project has no team. `hunch team create` or `hunch team join` in a terminal shares what you state with colleagues."}>
      {({ status, members }) => (
        <>
          <Panel title="Team" hint={`${status.uri}, where you are ${status.name}`}>
            <p>
              {status.progress?.state}
              {status.progress?.in_step_at && `, last exchange ${ago(status.progress.in_step_at)}`}; {status.unsent} to send, {status.unapplied} received and not shown yet
            </p>
            {status.progress?.failure && <p class="hint">{status.progress.failure}</p>}
            <ul>
              {members.map((one) => (
                <li key={one.id}>
                  {one.name}
                  {one.own && " (you)"} · {one.state === "active" ? one.role : one.state} · {count(one.statements, "statement")}
                  {one.last_at && ` · ${dayAndTime(one.last_at)}`}
                </li>
              ))}
            </ul>
          </Panel>
          <Statements project={project} />
        </>
      )}
    </Show>
  );
}

function Statements({ project }: { project: Project }) {
  const subjects = usePages((after, signal) => request("get", "/team/statements", { query: { project: project.id, after: after ?? "" }, signal }), [project.id]);
  return (
    <Show of={subjects} what="what the members said">
      {({ items }) => (
        <Panel title="What the members said">
          {items.length === 0 && <Empty>Nobody has said anything yet.</Empty>}
          <ul>
            {items.map((subject) => (
              <li key={subject.subject}>
                {subject.statements.map((one) => (
                  <div key={one.id} class={one.open ? "" : "quiet-text"}>
                    {one.key && one.value ? `${one.key}: ${one.value}` : one.content}
                    <span class="reasons">
                      {one.by} · {dayAndTime(one.said_at)}
                      {!one.open && " · decided against"}
                    </span>
                  </div>
                ))}
                {subject.resolution && (
                  <span class="reasons">
                    {subject.resolution.by} decided{subject.resolution.value && `: ${subject.resolution.value}`}
                    {subject.resolution.note && ` (${subject.resolution.note})`}
                  </span>
                )}
              </li>
            ))}
          </ul>
          <More of={subjects} what="statements" />
        </Panel>
      )}
    </Show>
  );
}
