/** MCP server definition of hunchd for agents in VS Code. */

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

/** Provide `hunch mcp` if the command exists and the setting allows it. */
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
    server.cwd = folder.uri; // the default project
  }
  return [server];
}
