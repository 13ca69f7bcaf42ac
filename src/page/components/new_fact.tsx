/** Form that stores a fact. */

import { useState } from "preact/hooks";
import { prepare, request, type Schemas } from "../api";
import type { Project } from "../project";
import { useReadOnly } from "./access";
import { act } from "./toast";

const CATEGORIES: Record<string, string> = {
  decision: "Decision",
  convention: "Rule of the project",
  constraint: "Limit",
  instruction: "Instruction to agents",
  preference: "Preference of mine",
  identity: "About me",
};

export function AddFact({ project, category, onAdded }: { project: Project; category: string; onAdded: () => void }) {
  const [isOpen, setOpen] = useState(false);
  const readOnly = useReadOnly();
  if (readOnly) return null;
  const save = (form: HTMLFormElement) => {
    const data = new FormData(form);
    const content = String(data.get("content")).trim();
    let added = "";
    const body = { kind: "fact", project: project.id, content, category: String(data.get("category")) } as Schemas["MemoryDraft"];
    void act(
      "Stored.",
      async () => {
        added = (await request("post", "/memories", { body })).ids[0] ?? "";
        setOpen(false);
      },
      () => request("delete", "/memories/{id}", { params: { id: added } }),
      onAdded,
      { id: "", title: content, undo: () => prepare("delete", "/memories/{id}", { params: { id: added } }) },
    );
  };
  return (
    <details class="new" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Write something down</summary>
      <form
        class="correction"
        onSubmit={(event) => {
          event.preventDefault();
          save(event.currentTarget);
        }}
      >
        <label>
          In one sentence
          <input name="content" required maxLength={4000} placeholder="Releases are made on Thursdays." autocomplete="off" />
        </label>
        <label>
          Kind
          <select name="category" defaultValue={category in CATEGORIES ? category : "decision"}>
            {Object.entries(CATEGORIES).map(([name, title]) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <div class="actions">
          <button type="submit" class="primary">
            Store
          </button>
        </div>
      </form>
    </details>
  );
}
