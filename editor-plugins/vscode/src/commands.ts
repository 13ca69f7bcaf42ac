/** Commands: open, related files, copy, feedback, remember, forget. */

import * as vscode from "vscode";

import { type Entry, type Piece, unquoted } from "./bundle";
import type { Connection } from "./connection";
import type { Documents } from "./documents";
import { type Focus, type Following, budgetAsked } from "./following";
import type { Outbox } from "./outbox";
import type { Page } from "./page";
import { settings } from "./settings";
import type { ContextView, Vote } from "./view";

export interface Parts {
  readonly connection: Connection;
  readonly following: Following;
  readonly outbox: Outbox;
  readonly view: ContextView;
  readonly documents: Documents;
  readonly page: Page;
  readonly log: vscode.LogOutputChannel;
  addProject(project: string): Promise<boolean>;
}

interface Predicted {
  readonly path: string;
  readonly confidence: number;
  readonly reasons: readonly string[];
}

interface Found {
  readonly title: string;
  readonly reasons: readonly string[];
  readonly source: { readonly path: string; readonly start_line: number };
}

type FoundItem = vscode.QuickPickItem & Found["source"];

const RELATED = 10; // files
const FOUND = 20; // places in the code
const TYPING_MS = 250; // without a key, until the question is asked

export function registerCommands(parts: Parts): vscode.Disposable[] {
  const command = (name: string, run: (...given: never[]) => unknown): vscode.Disposable =>
    vscode.commands.registerCommand(`hunch.${name}`, async (...given: never[]) => {
      try {
        await run(...given);
      } catch (error) {
        parts.log.warn(`${name}: ${(error as Error).message}`);
        void vscode.window.showWarningMessage(`hunchd: ${(error as Error).message}`);
      }
    });
  return [
    command("openEntry", (entry: Entry) => openEntry(parts, entry)),
    command("related", () => related(parts)),
    command("search", () => search(parts)),
    command("copyContext", () => copyContext(parts)),
    command("showContext", () => showContext(parts)),
    command("remember", () => remember(parts)),
    command("helpful", (piece: Piece) => rate(parts, piece, "cited")),
    command("wrong", (piece: Piece) => rate(parts, piece, "wrong")),
    command("correct", (piece: Piece) => correct(parts, piece)),
    command("never", (piece: Piece) => putAway(parts, piece)),
    command("forget", (piece: Piece) => forget(parts, piece)),
    command("page", () => parts.page.show()),
    command("pageOfEntry", (piece: Piece) =>
      parts.page.show(`/ui/knowledge?show=${encodeURIComponent(piece.item.id)}`),
    ),
    command("refresh", () => parts.following.now()),
    command("focus", () => vscode.commands.executeCommand("hunch.context.focus")),
    command("start", () => parts.connection.startNow()),
    command("addProject", () => addProject(parts)),
    command("log", () => parts.log.show()),
    command("settings", () => vscode.commands.executeCommand("workbench.action.openSettings", "@ext:hunchd.hunchd")),
  ];
}

async function openEntry(parts: Parts, entry: Entry): Promise<void> {
  const { project } = focusOf(parts);
  if (entry.is === "topic") {
    const told = await expanded(parts, { topic: entry.name, project });
    return parts.documents.show(entry.name, told);
  }
  const { item, path, line } = entry;
  const file = item.kind === "file";
  parts.outbox.add(project, file && path !== undefined ? { kind: "used", path } : { kind: "used", id: item.id });
  if (path !== undefined) {
    return openFile(project, path, line);
  }
  return parts.documents.show(unquoted(item.title), await expanded(parts, { id: item.id, project }));
}

async function expanded(parts: Parts, body: Readonly<Record<string, string>>): Promise<string> {
  const told = (await parts.connection.json({ method: "POST", path: "/expand", body })) as { text: string };
  return told.text;
}

async function openFile(project: string, path: string, line?: number): Promise<void> {
  const uri = vscode.Uri.joinPath(vscode.Uri.file(project), path);
  const spot = new vscode.Position(Math.max((line ?? 1) - 1, 0), 0);
  await vscode.window.showTextDocument(uri, line === undefined ? {} : { selection: new vscode.Range(spot, spot) });
}

/** Show the related files. The list opens at once and is filled when the answer arrives. */
async function related(parts: Parts): Promise<void> {
  const focus = focusOf(parts);
  const pick = vscode.window.createQuickPick<vscode.QuickPickItem & { path: string }>();
  pick.title = focus.path === undefined ? "Files that come next" : `Files that go with ${focus.path}`;
  pick.placeholder = "Looking for related files…";
  pick.matchOnDescription = pick.matchOnDetail = true;
  pick.busy = true;
  const asking = new AbortController();
  pick.onDidHide(() => {
    asking.abort();
    pick.dispose();
  });
  pick.onDidAccept(() => {
    const chosen = pick.selectedItems[0];
    if (chosen !== undefined) {
      pick.hide();
      parts.outbox.add(focus.project, { kind: "used", path: chosen.path });
      void openFile(focus.project, chosen.path).then(undefined, (error: Error) => parts.log.warn(error.message));
    }
  });
  pick.show();
  try {
    const files = await predicted(parts, focus, asking.signal);
    pick.items = files.map(pickable);
    pick.placeholder = files.length > 0 ? "Open one of them" : "No related files are known";
  } catch (error) {
    if (!asking.signal.aborted) {
      pick.placeholder = (error as Error).message;
    }
  } finally {
    pick.busy = false;
  }
}

async function predicted(parts: Parts, focus: Focus, signal: AbortSignal): Promise<readonly Predicted[]> {
  const body = { project: focus.project, file_opened: focus.path, k: RELATED };
  const answer = await parts.connection.json({ method: "POST", path: "/context/predict", body, signal });
  return (answer as { predicted_files: Predicted[] }).predicted_files;
}

function pickable({ path, confidence, reasons }: Predicted): vscode.QuickPickItem & { path: string } {
  const at = path.lastIndexOf("/");
  const percent = confidence >= 0.01 ? `${Math.round(confidence * 100)} %` : "< 1 %";
  return {
    path,
    label: path.slice(at + 1),
    iconPath: new vscode.ThemeIcon("file"),
    description: [path.slice(0, Math.max(at, 0)), percent].filter((part) => part).join(" · "),
    detail: reasons.join(", "),
  };
}

/** Ask for code in words, while they are typed; what is chosen is opened at its line. */
function search(parts: Parts): void {
  const { project } = focusOf(parts);
  const pick = vscode.window.createQuickPick<FoundItem>();
  pick.title = "Search the code for a question";
  pick.placeholder = "where is the session signed";
  let asking = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  pick.onDidChangeValue((question) => {
    clearTimeout(timer);
    asking.abort();
    const current = (asking = new AbortController());
    pick.busy = question.trim() !== "";
    if (pick.busy) {
      timer = setTimeout(() => void offer(parts, pick, question, current.signal), TYPING_MS);
    }
  });
  pick.onDidHide(() => {
    clearTimeout(timer);
    asking.abort();
    pick.dispose();
  });
  pick.onDidAccept(() => {
    const chosen = pick.selectedItems[0];
    if (chosen !== undefined) {
      pick.hide();
      parts.outbox.add(project, { kind: "used", path: chosen.path });
      void openFile(project, chosen.path, chosen.start_line).then(undefined, (error: Error) =>
        parts.log.warn(error.message),
      );
    }
  });
  pick.show();
}

async function offer(
  parts: Parts,
  pick: vscode.QuickPick<FoundItem>,
  question: string,
  signal: AbortSignal,
): Promise<void> {
  const { project } = focusOf(parts);
  const body = { project, query: question, kinds: ["code"], k: FOUND };
  try {
    const answer = await parts.connection.json({ method: "POST", path: "/search", body, signal });
    pick.items = (answer as { results: Found[] }).results.map(({ title, reasons, source }) => ({
      ...source,
      label: title,
      iconPath: new vscode.ThemeIcon("symbol-method"),
      description: `${source.path}:${source.start_line}`,
      detail: reasons.join(", "),
      alwaysShow: true, // the question is not a part of the label
    }));
    pick.title = pick.items.length > 0 ? "Search the code for a question" : "No code was found";
  } catch (error) {
    if (!signal.aborted) {
      pick.title = (error as Error).message;
    }
  } finally {
    pick.busy = signal.aborted && pick.busy;
  }
}

async function copyContext(parts: Parts): Promise<void> {
  const text = await markdown(parts);
  if (text === "") {
    void vscode.window.showInformationMessage("hunchd: nothing relevant is known for this file.");
    return;
  }
  await vscode.env.clipboard.writeText(text);
  vscode.window.setStatusBarMessage("$(check) Context copied as Markdown", 4_000);
}

async function showContext(parts: Parts): Promise<void> {
  const { path, project } = focusOf(parts);
  await parts.documents.show(`Context of ${path ?? project}`, await markdown(parts));
}

async function markdown(parts: Parts): Promise<string> {
  const { project, path } = focusOf(parts);
  const query = { project, file: path, budget: budgetAsked(settings().budget), format: "markdown" };
  const answer = await parts.connection.ask({ method: "GET", path: "/context", query });
  if (answer.status >= 400) {
    throw new Error(`the daemon answered ${answer.status}`);
  }
  return answer.text;
}

async function remember(parts: Parts): Promise<void> {
  const { project } = focusOf(parts);
  const content = await vscode.window.showInputBox({
    title: "Remember",
    prompt: "Fact to remember about this project. For example: sessions stay signed cookies",
    ignoreFocusOut: true,
  });
  if (content?.trim()) {
    await parts.connection.json({ method: "POST", path: "/memories", body: { kind: "fact", content, project } });
    parts.following.refresh();
  }
}

async function rate(parts: Parts, { item }: Piece, vote: Vote): Promise<void> {
  const { project } = focusOf(parts);
  const body = { items: [{ id: item.id, outcome: vote, project }] };
  parts.view.voted(item, vote); // before the daemon answers
  try {
    await parts.connection.json({ method: "POST", path: "/feedback", body });
  } catch (error) {
    parts.view.voted(item, undefined);
    throw error;
  }
}

/** Change what a memory says; the notification can take it back. */
async function correct(parts: Parts, { item }: Piece): Promise<void> {
  const path = `/memories/${encodeURIComponent(item.id)}`;
  const { content } = (await parts.connection.json({ method: "GET", path })) as { content: string };
  const corrected = await vscode.window.showInputBox({
    title: "Correct",
    prompt: "What holds instead",
    value: content,
    ignoreFocusOut: true,
  });
  if (corrected?.trim() && corrected !== content) {
    await change(parts, item.id, { content: corrected.trim() }, "Corrected.");
  }
}

/** Never show a memory again, to you or to agents; the notification can take it back. */
async function putAway(parts: Parts, { item }: Piece): Promise<void> {
  await change(parts, item.id, { status: "archived" }, "Put away: it is not shown again.");
}

async function change(parts: Parts, id: string, body: Readonly<Record<string, string>>, told: string): Promise<void> {
  const path = `/memories/${encodeURIComponent(id)}`;
  await parts.connection.json({ method: "PATCH", path, body });
  parts.following.refresh(0);
  if ((await vscode.window.showInformationMessage(told, "Undo")) === "Undo") {
    await parts.connection.json({ method: "POST", path: `${path}/undo` });
    parts.following.refresh(0);
  }
}

async function forget(parts: Parts, { item, label }: Piece): Promise<void> {
  const detail = "It is deleted permanently. A fact from a file of the project returns when that file changes.";
  if ((await vscode.window.showWarningMessage(`Forget “${label}”?`, { modal: true, detail }, "Forget")) === "Forget") {
    await parts.connection.json({ method: "DELETE", path: `/memories/${encodeURIComponent(item.id)}` });
    parts.following.refresh(0);
  }
}

async function addProject(parts: Parts): Promise<void> {
  const { project } = focusOf(parts);
  if (await parts.addProject(project)) {
    parts.following.refresh(0);
  }
}

function focusOf(parts: Parts): Focus {
  const focus = parts.following.place;
  if (focus === undefined) {
    throw new Error("open a file of a git repository first");
  }
  return focus;
}
