/** The team of a project: whether this machine is in step, who is a member, and what each of them said. */

import { request, type Answer } from "../api";
import { useAnswer, usePages } from "../answers";
import { ago, count, dayAndTime } from "../format";
import type { Project } from "../project";
import { href } from "../router";
import { Empty, Panel, Show, Table } from "./basics";
import { More } from "./memory";

type Status = Answer<"/team", "get">;
type Subject = Answer<"/team/statements", "get">["items"][number];

export function Team({ project }: { project: Project }) {
  const team = useAnswer(async (signal) => {
    const status = await request("get", "/team", { query: { project: project.id }, signal });
    const members = status.joined ? (await request("get", "/team/members", { query: { project: project.id }, signal })).items : [];
    return { status, members };
  }, [project.id]);
  return (
    <Show of={team} what="the team" empty={({ status }) => !status.joined && <NoTeam />}>
      {({ status, members }) => (
        <div class="stack">
          <Panel title="Team" hint={`What you state about ${project.name} is shared with its members at ${status.uri}. You are ${status.name} there.`}>
            <Exchange status={status} />
            <Table
              caption="Members"
              rows={members}
              keyOf={(one) => one.id}
              columns={[
                { title: "Member", cell: (one) => <b>{one.own ? `${one.name} (you)` : one.name}</b> },
                { title: "Role", cell: (one) => (one.state === "active" ? one.role : one.state) },
                { title: "Said", cell: (one) => count(one.statements, "thing") },
                { title: "Last", cell: (one) => (one.last_at ? dayAndTime(one.last_at) : "–") },
              ]}
            />
          </Panel>
          <Statements project={project} />
        </div>
      )}
    </Show>
  );
}

function NoTeam() {
  return (
    <>
      This project has no team. In a terminal, <code>hunch team create</code> shares what you state with colleagues, <code>hunch team join</code> joins them; <code>hunch team preview</code> shows before what would be sent.
    </>
  );
}

/** Say whether everything was exchanged, and what waits. */
function Exchange({ status }: { status: Status }) {
  const { progress, unsent = 0, unapplied = 0 } = status;
  const waiting = [unsent > 0 && `${count(unsent, "thing")} that you said wait${unsent === 1 ? "s" : ""} to be sent`, unapplied > 0 && `${unapplied.toLocaleString("en-GB")} of your colleagues' are not shown yet`].filter(Boolean);
  return (
    <>
      <p>
        {progress?.state === "in step" ? "Everything is exchanged" : `Not in step: ${progress?.state ?? "not connected yet"}`}
        {progress?.in_step_at && `, last looked ${ago(progress.in_step_at)}`}.{waiting.length > 0 && ` ${waiting.join("; ")}.`}
      </p>
      {progress?.failure && <p class="warning">{progress.failure}</p>}
    </>
  );
}

function Statements({ project }: { project: Project }) {
  const subjects = usePages((after, signal) => request("get", "/team/statements", { query: { project: project.id, after: after ?? "" }, signal }), [project.id]);
  return (
    <Show of={subjects} what="what the members said">
      {({ items }) => (
        <Panel title="What the members said" hint="What is about the same thing stands together. Yours are also under All facts, where you can correct or forget them.">
          {items.length === 0 && <Empty>Nobody has said anything yet.</Empty>}
          <ul class="lines subjects">
            {items.map((subject) => (
              <li key={subject.subject} class="line">
                <About subject={subject} project={project} />
              </li>
            ))}
          </ul>
          <More of={subjects} what="statements" />
        </Panel>
      )}
    </Show>
  );
}

/** What was said about one thing, and how members decided where they disagree. */
function About({ subject, project }: { subject: Subject; project: Project }) {
  const { statements, resolution } = subject;
  const isOpen = !resolution && statements.filter((one) => one.open).length > 1;
  return (
    <>
      {isOpen && (
        <p class="warning">
          They disagree{statements[0]!.key && ` about “${statements[0]!.key}”`}. <a href={href("contradictions", { project: project.id })}>Decide which one holds</a>
        </p>
      )}
      {statements.map((one) => (
        <p key={one.id} class={one.open ? "statement" : "statement ended"}>
          <span class="line-title">{one.content || `${one.key}: ${one.value}`}</span>
          <span class="reasons">
            {one.by}, {dayAndTime(one.said_at)}
            {!one.open && " · no longer holds"}
          </span>
        </p>
      ))}
      {resolution && (
        <p class="quiet-text">
          {resolution.by} decided{resolution.value && `: ${resolution.value}`}
          {resolution.note && ` (${resolution.note})`}
        </p>
      )}
    </>
  );
}
