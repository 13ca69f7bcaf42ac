/** Texts of the daemon as read-only documents: not rendered, so that no image in them is fetched. */

import * as vscode from "vscode";

const SCHEME = "hunch";
const KEPT = 50;

export class Documents implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly registered = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);

  dispose(): void {
    this.registered.dispose();
    this.changed.dispose();
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.path) ?? "This text is no longer available; request it again.";
  }

  async show(name: string, text: string): Promise<void> {
    const path = `/${
      name
        .replace(/[^\p{L}\p{N} ._-]+/gu, " ")
        .trim()
        .slice(0, 80) || "hunchd"
    }.md`;
    this.texts.delete(path);
    this.texts.set(path, text);
    for (const oldest of [...this.texts.keys()].slice(0, -KEPT)) {
      this.texts.delete(oldest);
    }
    const uri = vscode.Uri.from({ scheme: SCHEME, path });
    this.changed.fire(uri);
    await vscode.window.showTextDocument(uri, { preview: true });
  }
}
