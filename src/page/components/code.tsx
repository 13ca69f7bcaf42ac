/** Code at a place, as the index has it. */

import { request } from "../api";
import { useAnswer } from "../answers";
import type { Project } from "../project";
import { EditorLink, FileLink, Show } from "./basics";

export interface Place {
  path: string;
  line: number;
  name: string;
}

export function Code({ place, project, title }: { place: Place; project: Project; title: string }) {
  const { path, line, name } = place;
  const found = useAnswer(
    (signal) => request("post", "/search", { body: { project: project.id, query: name || path, kinds: ["code"], path_prefix: path, k: 10 }, signal }),
    [project.id, path, line],
  );
  const at = found.value?.results.find((one) => Number(one.source?.start_line) <= line && line <= Number(one.source?.end_line));
  return (
    <div class="side">
      <h3>{title}</h3>
      <p class="row">
        <FileLink project={project} path={path} line={line} />
        <EditorLink project={project} path={path} line={line} />
      </p>
      <Show of={found} what="the code" empty={() => !at && "Its code is not in the index; open it in the editor."}>
        {() => (
          <pre class="content" tabIndex={0}>
            {[at!.title, at!.snippet && indent(at!.snippet)].filter(Boolean).join("\n")}
          </pre>
        )}
      </Show>
    </div>
  );
}

/** The index keeps what is below the first line without its indentation. */
function indent(text: string): string {
  return text.replace(/^(?=.)/gm, "    ");
}
