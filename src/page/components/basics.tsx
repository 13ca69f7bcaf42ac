/** Small parts that every view uses. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { RequestFailed } from "../api";
import type { Loaded } from "../answers";
import { ago, clock, splitPath } from "../format";
import { editorAddress, EDITOR_NAMES, getEditor, type Project } from "../project";
import { href } from "../router";

export function Panel({ title, hint, children, wide = false }: { title: string; hint?: ComponentChildren; children: ComponentChildren; wide?: boolean }) {
  const id = `panel-${title.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  return (
    <section class={wide ? "panel wide" : "panel"} aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {hint && <p class="hint">{hint}</p>}
      {children}
    </section>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="empty">{children}</div>;
}

export function Loading({ what }: { what: string }) {
  return (
    <p class="loading" role="status">
      Loading {what}…
    </p>
  );
}

export function ErrorBox({ error, retry }: { error: RequestFailed; retry?: () => void }) {
  return (
    <div class="error-box" role="alert">
      <strong>{error.message}</strong>
      {error.hint && <p>{error.hint}</p>}
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Show what was loaded, or that it is loading, failed, or is empty. */
export function Show<T>({ of, what, children, empty }: { of: Loaded<T>; what: string; children: (value: T) => ComponentChildren; empty?: (value: T) => ComponentChildren | false }) {
  if (of.value === undefined) {
    if (of.error) return <ErrorBox error={of.error} retry={of.reload} />;
    return <Loading what={what} />;
  }
  const nothing = empty?.(of.value);
  return (
    <>
      {of.error && <ErrorBox error={of.error} retry={of.reload} />}
      {nothing ? <Empty>{nothing}</Empty> : children(of.value)}
    </>
  );
}

export function FileLink({ project, path, line }: { project: Project; path: string; line?: number }) {
  const [folder, name] = splitPath(path);
  return (
    <a class="path" href={href("file", { project: project.id, path })} title={path}>
      <span class="folder">{folder}</span>
      <wbr />
      <span class="name">
        {name}
        {line ? `:${line}` : ""}
      </span>
    </a>
  );
}

export function EditorLink({ project, path, line = 1 }: { project: Project; path: string; line?: number }) {
  const editor = EDITOR_NAMES[getEditor()] ?? "your editor";
  return (
    <a class="editor" href={editorAddress(project, path, line)} target="_self">
      Open in {editor}
    </a>
  );
}

export function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={new Date(at).toLocaleString("en-GB")}>
      {ago(at)}
    </time>
  );
}

/** A bar of parts with their sizes, also in words. */
export function Bar({ parts, total, label }: { parts: { name: string; size: number; tone: number }[]; total: number; label: string }) {
  const shown = parts.filter((part) => part.size > 0);
  return (
    <div class="bar-box">
      <div class="bar" role="img" aria-label={`${label}: ${shown.map((part) => `${part.name} ${part.size}`).join(", ") || "nothing"} of ${total}`}>
        {shown.map((part) => (
          <span key={part.name} class={`bar-part tone-${part.tone}`} style={{ width: `${(100 * part.size) / Math.max(total, 1)}%` }} />
        ))}
      </div>
      <ul class="legend">
        {parts.map((part) => (
          <li key={part.name}>
            <span class={`dot tone-${part.tone}`} aria-hidden="true" /> {part.name} <b>{part.size.toLocaleString("en-GB")}</b>
          </li>
        ))}
      </ul>
    </div>
  );
}

export interface TimelineEntry {
  key: string;
  at: string;
  title: ComponentChildren;
  detail?: ComponentChildren;
}

/** Day and time; the month stands above it with its year. */
function dayOfMonth(at: string): string {
  return `${new Date(at).toLocaleDateString("en-GB", { day: "numeric", month: "short" })}, ${clock(at)}`;
}

/** Entries newest first, under their month; the older ones unfold. */
export function Timeline({ entries, first = 12 }: { entries: readonly TimelineEntry[]; first?: number }) {
  const [shown, setShown] = useState(first);
  let month = "";
  return (
    <>
      <ol class="timeline">
        {entries.slice(0, shown).map((entry) => {
          const name = new Date(entry.at).toLocaleDateString("en-GB", { month: "long", year: "numeric" });
          const isNew = name !== month;
          month = name;
          return (
            <li key={entry.key}>
              {isNew && <span class="month">{name}</span>}
              <div class="entry">
                <span class="when">{dayOfMonth(entry.at)}</span>
                <div>
                  {entry.title}
                  {entry.detail && <div class="detail">{entry.detail}</div>}
                </div>
              </div>
            </li>
          );
        })}
      </ol>
      {entries.length > shown && (
        <button type="button" class="quiet" onClick={() => setShown(shown + 50)}>
          Show older ({entries.length - shown})
        </button>
      )}
    </>
  );
}

export interface Column<T> {
  title: string;
  cell: (row: T) => ComponentChildren;
  number?: boolean;
}

/** Table that scrolls in itself on a phone. */
export function Table<T>({ rows, columns, caption, keyOf }: { rows: readonly T[]; columns: readonly Column<T>[]; caption: string; keyOf: (row: T) => string }) {
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={column.number ? "number" : ""}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.title} class={column.number ? "number" : ""} data-title={column.title}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
