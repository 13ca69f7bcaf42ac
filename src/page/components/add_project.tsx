/** Form that adds a folder to the watched ones. */

import { useState } from "preact/hooks";
import { request } from "../api";
import type { Project } from "../project";
import { act } from "./toast";

export function AddProject({ onAdded }: { onAdded: () => void }) {
  const [path, setPath] = useState("");
  const add = () => {
    let added: Project | undefined;
    void act(
      "Added. It is being read now.",
      async () => {
        added = (await request("post", "/projects", { body: { path: path.trim() } })) as Project;
        setPath("");
      },
      () => request("delete", "/projects/{id}", { params: { id: added!.id } }),
      onAdded,
      { id: path, title: path },
    );
  };
  return (
    <form
      class="correction add-project"
      onSubmit={(event) => {
        event.preventDefault();
        add();
      }}
    >
      <label>
        Add a folder of this machine
        <input value={path} required onInput={(event) => setPath(event.currentTarget.value)} placeholder="/home/you/code/app" spellcheck={false} autocomplete="off" />
      </label>
      <div class="actions">
        <button type="submit" class="primary">
          Add
        </button>
      </div>
    </form>
  );
}
