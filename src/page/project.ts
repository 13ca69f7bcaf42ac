/** The project that the page is about; remembered for the next visit. */

import { request, type Schemas } from "./api";
import { host } from "./host";

export type Project = Schemas["Project"];
const LAST = "hunchd-project";

export async function listProjects(signal: AbortSignal): Promise<Project[]> {
  return (await request("get", "/projects", { signal })).items as Project[];
}

/** Return the project of the address, else the last one, else the first. */
export function chooseProject(projects: readonly Project[], wanted: string | null): Project | undefined {
  const found = [wanted, localStorage.getItem(LAST)].map((id) => projects.find((one) => one.id === id)).find(Boolean) ?? projects[0];
  if (found) localStorage.setItem(LAST, found.id);
  return found;
}

const EDITORS: Record<string, (path: string, line: number) => string> = {
  vscode: (path, line) => `vscode://file${encodeURI(path)}:${line}`,
  cursor: (path, line) => `cursor://file${encodeURI(path)}:${line}`,
  zed: (path, line) => `zed://file${encodeURI(path)}:${line}`,
  idea: (path, line) => `idea://open?file=${encodeURIComponent(path)}&line=${line}`,
};
export const EDITOR_NAMES: Record<string, string> = { vscode: "VS Code", cursor: "Cursor", zed: "Zed", idea: "JetBrains" };
const EDITOR = "hunchd-editor";

export function getEditor(): string {
  return host ? "vscode" : (localStorage.getItem(EDITOR) ?? "vscode");
}

export function setEditor(name: string): void {
  localStorage.setItem(EDITOR, name);
}

/** Build the address that opens a file of the project in the chosen editor. */
export function editorAddress(project: Project, path: string, line = 1): string {
  const open = EDITORS[getEditor()] ?? EDITORS.vscode!;
  return open(`${project.path}/${path}`, line);
}
