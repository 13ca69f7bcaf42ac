/** One memory before and after a change of a night, in words. */

import { request } from "../api";
import { useAnswer } from "../answers";
import { dayAndTime, percent, SCOPES, STATUSES } from "../format";
import { Empty, Show } from "./basics";
import { FIELDS, LINKS } from "./night_words";

export type Fields = Record<string, unknown> | null;
type Flat = Record<string, unknown>;

const FORMS: Record<string, string> = { compressed: "one line", summary: "a summary", index: "its title", full: "the whole text" };
const IGNORED: readonly string[] = ["updated", "levels", "shown_as", "id", "created"];

export function Difference({ id, was, now }: { id: string; was: Fields; now: Fields }) {
  if (was === null) return <Made fields={flatten(now)} />;
  const [before, after] = [flatten(was), flatten(now)];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => !IGNORED.includes(name) && JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  const known = names.filter((name) => name in FIELDS); // the others say nothing to people
  const isShortened = before.shown_as !== after.shown_as;
  if (known.length === 0 && !isShortened) return <Empty>Nothing that you can see is different.</Empty>;
  return (
    <>
      {isShortened && <Shortened id={id} was={String(before.shown_as ?? "full")} now={String(after.shown_as ?? "full")} />}
      {known.length > 0 && (
        <dl class="difference">
          {known.map((name) => (
            <Field key={name} name={name} was={before[name]} now={after[name]} />
          ))}
        </dl>
      )}
    </>
  );
}

/** Put the fields of a source beside those of its memory, so that only what differs is shown. */
function flatten(fields: Fields): Flat {
  const { source, ...others } = fields ?? {};
  return { ...others, ...(source as Fields) };
}

function Made({ fields }: { fields: Flat }) {
  return (
    <dl class="difference">
      <Pair title="New" was="" now={[fields.title, fields.content].filter((one) => typeof one === "string").join("\n\n")} />
    </dl>
  );
}

/** The text that was shown, and the one that is shown now; the whole text stays stored. */
function Shortened({ id, was, now }: { id: string; was: string; now: string }) {
  const memory = useAnswer((signal) => request("get", "/memories/{id}", { params: { id }, signal }), [id]);
  return (
    <Show of={memory} what="the memory">
      {(value) => {
        const levels = (value.levels ?? {}) as Record<string, string>;
        const text = (form: string) => (form === "full" ? value.content : levels[form] || value.title);
        return (
          <dl class="difference">
            <Pair title={`Shown to you and agents as ${FORMS[now] ?? now}. The whole text is kept.`} was={text(was)} now={text(now)} />
          </dl>
        );
      }}
    </Show>
  );
}

function Field({ name, was, now }: { name: string; was: unknown; now: unknown }) {
  const title = FIELDS[name]!;
  if (name === "links") return <Links was={list(was)} now={list(now)} />;
  if (name === "superseded_by") return <Links was={[]} now={typeof now === "string" ? [{ type: "", ref: now }] : []} title={title} />;
  return <Pair title={title} was={say(name, was)} now={say(name, now)} />;
}

interface Link {
  type: string;
  ref: string;
}

function list(value: unknown): Link[] {
  return Array.isArray(value) ? (value as Link[]) : [];
}

function Links({ was, now, title = FIELDS.links! }: { was: readonly Link[]; now: readonly Link[]; title?: string }) {
  const has = (links: readonly Link[], link: Link) => links.some((one) => one.type === link.type && one.ref === link.ref);
  return (
    <div>
      <dt>{title}</dt>
      {was.filter((link) => !has(now, link)).map((link) => (
        <dd key={link.type + link.ref} class="was">
          <span class="unseen">before: </span>
          {LINKS[link.type] ?? link.type} <Name of={link.ref} />
        </dd>
      ))}
      {now.filter((link) => !has(was, link)).map((link) => (
        <dd key={link.type + link.ref} class="now">
          <span class="unseen">after: </span>
          {LINKS[link.type] ?? link.type} <Name of={link.ref} />
        </dd>
      ))}
    </div>
  );
}

const ID = /^m[0-9a-f]{12,}$/;

const titles = new Map<string, Promise<string>>();

function readTitle(id: string): Promise<string> {
  const known = titles.get(id) ?? request("get", "/memories/{id}", { params: { id } }).then((memory) => memory.title);
  titles.set(id, known);
  known.catch(() => titles.delete(id));
  return known;
}

/** Title of a memory, or the path that a link leads to. */
export function Name({ of }: { of: string }) {
  const title = useAnswer(ID.test(of) ? () => readTitle(of) : null, [of]);
  return <>{title.value ? `“${title.value}”` : ID.test(of) ? "a memory" : of}</>;
}

function Pair({ title, was, now }: { title: string; was: string; now: string }) {
  return (
    <div>
      <dt>{title}</dt>
      {was !== "" && (
        <dd class="was">
          <span class="unseen">before: </span>
          {was}
        </dd>
      )}
      {now !== "" && (
        <dd class="now">
          <span class="unseen">after: </span>
          {now}
        </dd>
      )}
    </div>
  );
}

const DATES: readonly string[] = ["valid_from", "valid_to", "at", "goes_after"];

function say(name: string, value: unknown): string {
  if (name === "status") return STATUSES[String(value)] ?? write(value);
  if (name === "scope") return SCOPES[String(value)] ?? write(value);
  if (typeof value === "number" && (name === "confidence" || name === "importance")) return percent(value);
  if (typeof value === "string" && DATES.includes(name)) return dayAndTime(value);
  return write(value);
}

function write(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : (JSON.stringify(value, null, 1) ?? "");
}
