/** Settings of `hunch.*`, read on each access. */

import * as vscode from "vscode";

export interface Settings {
  readonly command: string;
  readonly home: string;
  readonly startDaemon: boolean;
  readonly addProjects: "repositories" | "never";
  readonly budget: number;
  readonly reportSignals: boolean;
  readonly reportDiagnostics: boolean;
  readonly statusBar: boolean;
  readonly mcpServer: boolean;
}

export function settings(): Settings {
  const configured = vscode.workspace.getConfiguration("hunch");
  return {
    command: configured.get("command", ""),
    home: configured.get("home", ""),
    startDaemon: configured.get("startDaemon", true),
    addProjects: configured.get("addProjects", "repositories"),
    budget: configured.get("budget", 8000),
    reportSignals: configured.get("reportSignals", true),
    reportDiagnostics: configured.get("reportDiagnostics", true),
    statusBar: configured.get("statusBar", true),
    mcpServer: configured.get("mcpServer", true),
  };
}
