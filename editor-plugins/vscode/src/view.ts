/** The side view: the current bundle by tier. */

import * as vscode from "vscode";

import { type Entry, type Item, type Piece, type Section, counted, plain, sectionsOf, unquoted } from "./bundle";
import type { State } from "./connection";
import type { Focus, Shown } from "./following";

export type Vote = "cited" | "wrong";
export type Node = Section | Entry;

// Icon of each kind of item; a file has its own.
const ICONS: Readonly<Record<string, string>> = {
  error: "error",
  decision: "milestone",
  contradiction: "warning",
  episode: "git-commit",
  convention: "law",
  fact: "note",
  pattern: "symbol-structure",
  workflow: "list-ordered",
  document: "book",
  message: "comment",
};
const SECTION_ICONS = { 1: "flame", 2: "telescope", 3: "library", 4: "search" } as const;
const COLOURS: Readonly<Record<string, string>> = {
  error: "problemsErrorIcon.foreground",
  contradiction: "problemsWarningIcon.foreground",
  decision: "charts.blue",
};
const ORIGIN: Readonly<Record<Item["trust"], string>> = {
  user: "Stored by you.",
  project: "From the project's own files.",
  team: "Stored by a member of your team.",
  derived: "Derived by hunchd.",
  untrusted: "From an untrusted source.",
};

export class ContextView implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly refreshed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.refreshed.event;
  private readonly tree: vscode.TreeView<Node>;
  private readonly votes = new Map<string, Vote>();
  private sections: readonly Section[] = [];
  private focus: Focus | undefined;

  constructor() {
    this.tree = vscode.window.createTreeView("hunch.context", { treeDataProvider: this, showCollapseAll: true });
  }

  dispose(): void {
    this.tree.dispose();
    this.refreshed.dispose();
  }

  get listed(): readonly Section[] {
    return this.sections;
  }

  /** Show the current context; `state` is that of the connection. */
  show(shown: Shown, state: State): void {
    const bundle = shown.is === "bundle" ? shown.bundle : undefined;
    this.focus = shown.is === "bundle" ? shown.place : undefined;
    this.sections =
      bundle === undefined ? [] : sectionsOf(bundle, shown.is === "bundle" ? shown.place.path : undefined);
    this.tree.message = this.sections.length > 0 ? above(shown, state) : "";
    void vscode.commands.executeCommand("setContext", "hunch.shows", whatShows(shown, state, this.sections.length));
    this.refreshed.fire();
  }

  voted(item: Item, vote: Vote | undefined): void {
    if (vote === undefined) {
      this.votes.delete(item.id);
    } else {
      this.votes.set(item.id, vote);
    }
    this.refreshed.fire();
  }

  getChildren(node?: Node): Node[] {
    return node === undefined ? [...this.sections] : node.is === "section" ? [...node.entries] : [];
  }

  getTreeItem(node: Node): vscode.TreeItem {
    switch (node.is) {
      case "section":
        return this.section(node);
      case "topic": {
        const item = new vscode.TreeItem(node.name);
        item.iconPath = new vscode.ThemeIcon("symbol-keyword");
        item.tooltip = `What is known about ${node.name}`;
        item.command = opens(node);
        return item;
      }
      case "piece":
        return this.piece(node);
    }
  }

  private section({ tier, title, entries }: Section): vscode.TreeItem {
    const open = tier <= 2 ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed;
    const item = new vscode.TreeItem(title, open);
    item.id = `tier${tier}`;
    item.iconPath = new vscode.ThemeIcon(SECTION_ICONS[tier]);
    item.description = String(entries.length);
    return item;
  }

  private piece(piece: Piece): vscode.TreeItem {
    const { item: shown } = piece;
    const vote = this.votes.get(shown.id);
    const item = new vscode.TreeItem(piece.label);
    item.description = [vote === "cited" ? "👍" : vote === "wrong" ? "👎" : "", piece.description]
      .filter((part) => part)
      .join(" ");
    item.tooltip = tooltip(piece);
    item.contextValue = `votable${piece.forgettable ? " forgettable" : ""}`;
    item.command = opens(piece);
    if (shown.kind === "file" && piece.path !== undefined && this.focus !== undefined) {
      item.resourceUri = vscode.Uri.joinPath(vscode.Uri.file(this.focus.project), piece.path);
      item.iconPath = vscode.ThemeIcon.File;
    } else {
      const colour = COLOURS[shown.kind];
      item.iconPath = new vscode.ThemeIcon(
        ICONS[shown.kind] ?? "circle-small",
        colour ? new vscode.ThemeColor(colour) : undefined,
      );
    }
    return item;
  }
}

function opens(entry: Entry): vscode.Command {
  return { command: "hunch.openEntry", title: "Open", arguments: [entry] };
}

/** Untrusted text is shown as plain text, never as Markdown. */
function tooltip({ item, path, line }: Piece): vscode.MarkdownString {
  const place = path === undefined ? "" : ` ${path}${line === undefined ? "" : `:${line}`}`;
  const lines = [
    `**${plain(unquoted(item.title) || item.id)}**`,
    ...item.reasons.map((reason) => `- ${plain(reason)}`),
    "",
    plain(`${ORIGIN[item.trust]}${place}`),
    "",
    plain(`${item.kind} · ${item.tokens} tokens · weight ${item.score.toFixed(2)}`),
  ];
  return new vscode.MarkdownString(lines.join("\n"));
}

/** Return the message above the list: its subject, and what is missing. */
function above(shown: Shown, state: State): string {
  if (shown.is !== "bundle") {
    return "";
  }
  const { place, bundle } = shown;
  const name = (place.path ?? place.project).split(/[/\\]/).pop() ?? "";
  const lines = [`${name} · ${counted(bundle.token_count)} of ${counted(bundle.budget)} tokens`];
  if (state.is !== "ready" && state.is !== "looking") {
    lines.push("The daemon is not reachable; this is its last answer.");
  } else if (bundle.status === "degraded") {
    lines.push(bundle.degraded.join("; "));
  }
  return lines.join(" · ");
}

/** Return the key of the welcome text for an empty list. */
function whatShows(shown: Shown, state: State, sections: number): string {
  if (sections > 0) {
    return "list";
  }
  if (state.is !== "ready") {
    return state.is === "slow" ? "failed" : state.is;
  }
  return shown.is === "bundle" ? (shown.bundle.status === "degraded" ? "reading" : "empty") : shown.is;
}
