/** Converts editor events to signals and the focus. Listeners only record; the work is done later. */

import * as vscode from "vscode";

import { Errors, type Underlined } from "./diagnostics";
import type { Happened } from "./outbox";
import { type Place, Roots, placeOf } from "./projects";
import { settings } from "./settings";

export interface Told {
  signal(project: string, happened: Happened): void;
  focus(place: Place | { project: string } | undefined): void;
}

// Files passed through in the explorer or in search results are not reported.
const LOOKED_AT = 250; // ms
// With more tabs than this most are unused.
const MOST_OPEN = 20;
// Language servers publish diagnostics repeatedly until they have analysed everything.
const QUIET = 1_500; // ms

export class Editor implements vscode.Disposable {
  private readonly roots = new Roots();
  private readonly errors = new Errors();
  private readonly underlined = new Set<string>(); // documents with changed diagnostics
  private readonly listening: vscode.Disposable[];
  private looking: NodeJS.Timeout | undefined;
  private quiet: NodeJS.Timeout | undefined;
  private active = "";

  constructor(
    private readonly told: Told,
    private readonly log: (text: string) => void,
  ) {
    this.listening = [
      vscode.window.onDidChangeActiveTextEditor(() => this.look()),
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.look()),
      vscode.workspace.onDidSaveTextDocument((document) => this.saved(document)),
      vscode.window.tabGroups.onDidChangeTabs((change) => this.closed(change.closed)),
      vscode.languages.onDidChangeDiagnostics((change) => this.changed(change.uris)),
    ];
  }

  dispose(): void {
    clearTimeout(this.looking);
    clearTimeout(this.quiet);
    this.listening.forEach((each) => each.dispose());
  }

  /** Report the open files to a daemon that may have missed them; the active file comes last. */
  async tellAll(): Promise<void> {
    const active = vscode.window.activeTextEditor?.document.uri.toString();
    const open = vscode.window.tabGroups.all
      .flatMap((group) => group.tabs.map(uriOf))
      .filter((uri) => uri !== undefined);
    const others = new Map(open.map((uri) => [uri.toString(), uri]));
    for (const [name, uri] of [...others].slice(-MOST_OPEN)) {
      if (name !== active) {
        await this.tell("file_opened", uri);
      }
    }
    this.active = "";
    this.look(0);
  }

  /** Return the place of a file; undefined if it is not on disk or in no project. */
  async place(uri: vscode.Uri | undefined): Promise<Place | undefined> {
    if (uri === undefined || uri.scheme !== "file") {
      return undefined;
    }
    return placeOf(uri.fsPath, this.roots, folders());
  }

  private look(after = LOOKED_AT): void {
    clearTimeout(this.looking);
    this.looking = setTimeout(() => void this.arrived().catch((error: Error) => this.log(error.message)), after);
  }

  /** Called when the user has stayed in a file, or in none. */
  private async arrived(): Promise<void> {
    const document = vscode.window.activeTextEditor?.document;
    const place = await this.place(document?.uri);
    if (place !== undefined) {
      this.told.focus(place);
      const name = `${place.project}\0${place.path}`;
      if (name !== this.active && settings().reportSignals) {
        this.told.signal(place.project, { kind: "file_opened", path: place.path });
      }
      this.active = name;
    } else if (vscode.window.tabGroups.activeTabGroup.activeTab === undefined) {
      this.active = "";
      this.told.focus(await this.whole());
    } // else: settings, a terminal, a diff: the shown context stays valid
  }

  /** Return the whole project as the focus when no file is open. */
  private async whole(): Promise<{ project: string } | undefined> {
    for (const folder of folders()) {
      const root = await this.roots.of(folder);
      if (root !== undefined) {
        return { project: root };
      }
    }
    return undefined;
  }

  private saved(document: vscode.TextDocument): void {
    void this.tell("file_saved", document.uri);
    this.changed([document.uri]);
  }

  private closed(tabs: readonly vscode.Tab[]): void {
    for (const uri of tabs.map(uriOf)) {
      const name = uri?.toString();
      const elsewhere = vscode.window.tabGroups.all.some((group) =>
        group.tabs.some((tab) => uriOf(tab)?.toString() === name),
      );
      if (uri !== undefined && !elsewhere) {
        void this.tell("file_closed", uri);
      }
    }
    if (tabs.length > 0) {
      this.look();
    }
  }

  private async tell(kind: "file_opened" | "file_saved" | "file_closed", uri: vscode.Uri): Promise<void> {
    if (!settings().reportSignals) {
      return;
    }
    const place = await this.place(uri);
    if (place !== undefined) {
      this.told.signal(place.project, { kind, path: place.path });
    }
  }

  private changed(uris: readonly vscode.Uri[]): void {
    for (const uri of uris) {
      if (uri.scheme === "file") {
        this.underlined.add(uri.toString());
      }
    }
    clearTimeout(this.quiet);
    this.quiet = setTimeout(() => void this.settled().catch((error: Error) => this.log(error.message)), QUIET);
  }

  /** Report stable diagnostics of open, saved files; files being edited are skipped. */
  private async settled(): Promise<void> {
    if (!settings().reportDiagnostics) {
      return this.underlined.clear();
    }
    const open = new Map(vscode.workspace.textDocuments.map((document) => [document.uri.toString(), document]));
    for (const name of [...this.underlined]) {
      const document = open.get(name);
      if (document?.isDirty) {
        continue; // saving triggers this again
      }
      this.underlined.delete(name);
      const place = document === undefined ? undefined : await this.place(document.uri);
      if (document === undefined || place === undefined) {
        continue;
      }
      for (const happened of this.errors.changes(place.project, place.path, errorsIn(document.uri))) {
        this.told.signal(place.project, happened);
      }
    }
  }
}

function errorsIn(uri: vscode.Uri): Underlined[] {
  return vscode.languages
    .getDiagnostics(uri)
    .filter((each) => each.severity === vscode.DiagnosticSeverity.Error)
    .map(({ message, range, source, code }) => {
      const name = typeof code === "object" ? code.value : code;
      return { message, line: range.start.line + 1, source, code: name === undefined ? undefined : String(name) };
    });
}

/** Return the file of a tab; in a comparison the right side. */
function uriOf(tab: vscode.Tab): vscode.Uri | undefined {
  const { input } = tab;
  if (input instanceof vscode.TabInputText || input instanceof vscode.TabInputNotebook) {
    return input.uri;
  }
  return undefined;
}

export function folders(): string[] {
  return (vscode.workspace.workspaceFolders ?? [])
    .filter((folder) => folder.uri.scheme === "file")
    .map((folder) => folder.uri.fsPath);
}
