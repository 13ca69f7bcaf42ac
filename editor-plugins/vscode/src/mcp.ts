/** hunchd as an MCP server for the agents in this editor. */

import * as vscode from "vscode";

import { here } from "./rendezvous";
import { settings } from "./settings";
import { commandPath } from "./starting";

export function provideMcpServer(version: string): vscode.Disposable {
  const changed = new vscode.EventEmitter<void>();
  const configured = vscode.workspace.onDidChangeConfiguration((change) => {
    if (["mcpServer", "command", "home"].some((name) => change.affectsConfiguration(`hunch.${name}`))) {
      changed.fire();
    }
  });
  const provided = vscode.lm.registerMcpServerDefinitionProvider("hunch.mcp", {
    onDidChangeMcpServerDefinitions: changed.event,
    provideMcpServerDefinitions: () => definitions(version),
  });
  return vscode.Disposable.from(provided, configured, changed);
}

/** `hunch mcp`, where the command is there and the user wants it. */
export async function definitions(version: string): Promise<vscode.McpStdioServerDefinition[]> {
  const { mcpServer, command, home } = settings();
  const path = mcpServer ? await commandPath(command, here()) : undefined;
  if (path === undefined) {
    return [];
  }
  const env: Record<string, string> = home ? { HUNCHD_HOME: home } : {};
  const server = new vscode.McpStdioServerDefinition("hunchd", path, ["mcp"], env, version);
  const folder = vscode.workspace.workspaceFolders?.find((each) => each.uri.scheme === "file");
  if (folder !== undefined) {
    server.cwd = folder.uri; // the project that is meant when none is named
  }
  return [server];
}
