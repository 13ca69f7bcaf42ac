/**
 * The page of `hunch ui`, inside the editor. Its files come from the running daemon, so that they belong together; its
 * requests go through this extension, so that the page has neither the token nor a connection of its own.
 */

import { randomBytes } from "node:crypto";

import * as vscode from "vscode";

import type { Connection } from "./connection";
import type { Question } from "./http";

interface Asked {
  readonly id: number;
  readonly method: Question["method"];
  readonly address: string;
  readonly body?: string;
}
type Message = Asked | { readonly follow: true } | { readonly open: string };

const ASSET = /[A-Za-z0-9_]+-[A-Za-z0-9_-]{8}\.(?:js|css|svg)/g;
// What the page may ask for: the same as in a browser (serving/page_access.py), of which the daemon knows nothing here.
const REFUSED = /^\/(?:signals|import|export|mcp|openapi\.json|page\/codes|agents\/|team)/;

export class Page implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;

  constructor(private readonly around: { connection: Connection; folder: vscode.Uri; log: vscode.LogOutputChannel }) {
    around.connection.events.on((event) => this.tell({ event }));
    around.connection.changed.on((state) => this.tell({ link: state.is === "ready" ? "live" : "lost" }));
  }

  dispose(): void {
    this.panel?.dispose();
  }

  /** Open the page, or bring it to the front; `address` is that of a view. */
  async show(address = ""): Promise<void> {
    const shown = this.panel;
    if (shown !== undefined) {
      shown.reveal();
      return void (address && this.tell({ show: address }));
    }
    const folder = await this.load();
    const panel = vscode.window.createWebviewPanel("hunch.page", "hunchd", vscode.ViewColumn.Active, {
      enableScripts: true,
      retainContextWhenHidden: true,
      localResourceRoots: [folder],
    });
    this.panel = panel;
    panel.onDidDispose(() => (this.panel = undefined));
    panel.webview.onDidReceiveMessage((message: Message) => this.receive(message, address));
    panel.webview.html = await this.document(panel.webview, folder);
  }

  /** Load the files of the page into the extension's own folder; returns that folder. */
  private async load(): Promise<vscode.Uri> {
    const document = await this.read("/ui/now");
    const folder = vscode.Uri.joinPath(this.around.folder, "page");
    await vscode.workspace.fs.delete(folder, { recursive: true }).then(undefined, () => undefined);
    const waiting = new Set(document.match(ASSET));
    for (const name of waiting) {
      const text = await this.read(`/ui/assets/${name}`);
      for (const found of text.match(ASSET) ?? []) {
        waiting.add(found); // the loop goes on with it
      }
      await vscode.workspace.fs.writeFile(vscode.Uri.joinPath(folder, "assets", name), Buffer.from(text));
    }
    await vscode.workspace.fs.writeFile(vscode.Uri.joinPath(folder, "index.html"), Buffer.from(document));
    return folder;
  }

  private async read(path: string): Promise<string> {
    const answer = await this.around.connection.ask({ method: "GET", path });
    if (answer.status !== 200) {
      throw new Error(`the daemon has no page (${answer.status} for ${path})`);
    }
    return answer.text;
  }

  private async document(webview: vscode.Webview, folder: vscode.Uri): Promise<string> {
    const text = Buffer.from(await vscode.workspace.fs.readFile(vscode.Uri.joinPath(folder, "index.html"))).toString();
    const nonce = randomBytes(16).toString("hex");
    const source = webview.cspSource;
    const policy = `default-src 'none'; script-src 'nonce-${nonce}' ${source}; style-src ${source}; img-src ${source}`;
    const root = webview.asWebviewUri(folder).toString();
    return text
      .replaceAll("./assets/", `${root}/assets/`)
      .replace("<script ", `<script nonce="${nonce}" `)
      .replace("<head>", `<head><meta http-equiv="Content-Security-Policy" content="${policy}">`);
  }

  private async receive(message: Message, address: string): Promise<void> {
    if ("follow" in message) {
      this.tell({ link: this.around.connection.state.is === "ready" ? "live" : "lost" });
      return void (address && this.tell({ show: address }));
    }
    if ("open" in message) {
      const [, path = "", line = "1"] = /^(.*?)(?::(\d+))?$/.exec(message.open) ?? [];
      const spot = new vscode.Position(Math.max(Number(line) - 1, 0), 0);
      await vscode.window.showTextDocument(vscode.Uri.file(path), { selection: new vscode.Range(spot, spot) });
      return;
    }
    this.tell({ id: message.id, ...(await this.answer(message)) });
  }

  private async answer({ method, address, body }: Asked): Promise<{ status: number; text: string }> {
    const [path = "", query = ""] = address.split("?", 2);
    if (!path.startsWith("/") || REFUSED.test(path)) {
      return { status: 403, text: '{"error": {"code": "forbidden", "message": "The page may not use this route."}}' };
    }
    try {
      const asked = query ? { query: Object.fromEntries(new URLSearchParams(query)) } : {};
      const parsed: unknown = body === undefined ? undefined : JSON.parse(body);
      const answer = await this.around.connection.ask({ method, path, ...asked, body: parsed });
      return { status: answer.status, text: answer.text };
    } catch (error) {
      this.around.log.warn(`page: ${(error as Error).message}`);
      return {
        status: 503,
        text: JSON.stringify({ error: { code: "unavailable", message: "hunchd is not answering." } }),
      };
    }
  }

  private tell(message: unknown): void {
    void this.panel?.webview.postMessage(message);
  }
}
