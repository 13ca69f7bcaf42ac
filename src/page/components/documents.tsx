/** Documents by path, with an editor and a preview. */

import { useState } from "preact/hooks";
import { request, RequestFailed, type Schemas } from "../api";
import { useAnswer, usePages } from "../answers";
import { count, dayAndTime, sentence, TRUST } from "../format";
import type { Project } from "../project";
import { useReadOnly } from "./access";
import { Empty, Panel, Show } from "./basics";
import { Markdown } from "./markdown";
import { Choices, More } from "./memory";
import { act, actLater } from "./toast";

interface Props {
  project: Project;
  shown: string;
  asOf: string;
  address: (show: string) => string;
}
type Document = Schemas["Document"];

export function Documents({ shown, asOf, address }: Props) {
  const documents = usePages((cursor, signal) => request("get", "/documents", { query: { limit: 100, cursor: cursor ?? "" }, signal }), []);
  const [gone, setGone] = useState("");
  const items = (documents.value?.items ?? []).filter((one) => one.path !== gone);
  const chosen = shown || items[0]?.path || "";
  return (
    <Show of={documents} what="the documents">
      {() => (
        <div class={shown ? "results opened" : "results"}>
          <div>
            <p class="quiet-text">Documents are the same in every project.</p>
            {items.length === 0 && <Empty>No document is stored yet. Write the first one, such as /profile/preferences.</Empty>}
            <Choices label="Documents" items={items} keyOf={(one) => one.path} chosen={chosen} address={address}>
              {(one) => (
                <>
                  <span class="line-title">{one.title}</span>
                  <span class="tag">{one.path.split("/")[1]}</span>
                  <span class="reasons">
                    {one.path} · {dayAndTime(one.updated_at)}
                  </span>
                </>
              )}
            </Choices>
            <More of={documents} what="documents" />
            <NewDocument address={address} />
          </div>
          {chosen && <DocumentPanel key={chosen + asOf} isNew={!documents.value?.hasMore && !asOf && !items.some((one) => one.path === chosen)} path={chosen} asOf={asOf} onChanged={documents.reload} onGone={setGone} />}
        </div>
      )}
    </Show>
  );
}

function NewDocument({ address }: { address: (show: string) => string }) {
  const readOnly = useReadOnly();
  const [path, setPath] = useState("/reference/");
  if (readOnly) return null;
  return (
    <details class="new">
      <summary>Write a new document</summary>
      <div class="correction">
        <label>
          Path, below /profile, /projects, /reference, /insights or /conversations
          <input value={path} onInput={(event) => setPath(event.currentTarget.value)} spellcheck={false} autocomplete="off" />
        </label>
        <p>
          <a class="chip" href={address(path)}>
            Open the editor
          </a>
        </p>
      </div>
    </details>
  );
}

interface PanelProps {
  path: string;
  isNew: boolean;
  asOf: string;
  onChanged: () => void;
  onGone: (path: string) => void;
}

function DocumentPanel({ path, isNew, asOf, onChanged, onGone }: PanelProps) {
  const inPath = path.replace(/^\/+/, "");
  const document = useAnswer<Document | null>(
    async (signal) => {
      if (isNew) return null;
      try {
        return await request("get", "/documents/{path}", { params: { path: inPath }, query: { as_of: asOf }, signal });
      } catch (error) {
        if (error instanceof RequestFailed && error.status === 404) return null;
        throw error;
      }
    },
    [path, asOf, isNew],
  );
  const [isEditing, setEditing] = useState(false);
  const readOnly = useReadOnly();
  const put = (content: string, from: Document | null) =>
    request("put", "/documents/{path}", { params: { path: inPath }, body: { content, ...(from ? { tags: from.tags, metadata: from.metadata } : {}) } });
  const after = () => {
    document.reload();
    onChanged();
  };
  const save = (content: string, before: Document | null) =>
    act(
      "Saved.",
      () => put(content, before),
      () => (before ? put(before.content ?? "", before) : request("delete", "/documents/{path}", { params: { path: inPath } })),
      () => (setEditing(false), after()),
      { id: path, title: path },
    );
  const forget = () => {
    onGone(path);
    actLater("Forgotten for good.", () => request("delete", "/documents/{path}", { params: { path: inPath }, keepalive: true }).then(after), { onUndo: () => onGone(""), of: { id: path, title: path } });
  };
  return (
    <Panel title={path}>
      <Show of={document} what="the document">
        {(value) =>
          isEditing || (value === null && !asOf && !readOnly) ? (
            <Editor text={value?.content ?? ""} onSave={(text) => void save(text, value)} onCancel={value ? () => setEditing(false) : undefined} />
          ) : value === null ? (
            <Empty>There was no such document then.</Empty>
          ) : (
            <>
              <p class="quiet-text">
                Changed {dayAndTime(value.updated_at)}, {count(value.size, "byte")}. {sentence(TRUST[value.trust] ?? value.trust)}.
              </p>
              <Markdown text={value.content ?? ""} />
              {!readOnly && !asOf && (
                <div class="actions">
                  <button type="button" class="primary" onClick={() => setEditing(true)}>
                    Edit
                  </button>
                  <button type="button" class="danger" onClick={forget}>
                    Forget for good
                  </button>
                </div>
              )}
            </>
          )
        }
      </Show>
    </Panel>
  );
}

function Editor({ text, onSave, onCancel }: { text: string; onSave: (text: string) => void; onCancel: (() => void) | undefined }) {
  const [draft, setDraft] = useState(text);
  return (
    <form
      class="correction"
      onSubmit={(event) => {
        event.preventDefault();
        onSave(draft);
      }}
    >
      <label>
        Text, in Markdown
        <textarea class="mono" required rows={16} value={draft} onInput={(event) => setDraft(event.currentTarget.value)} />
      </label>
      <div class="actions">
        <button type="submit" class="primary" disabled={draft === text}>
          Save
        </button>
        {onCancel && (
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
        )}
      </div>
      <h3>Preview</h3>
      <Markdown text={draft} />
    </form>
  );
}
