/** Entry point of the extension. The editor never waits for it or for anything it starts. */

import * as vscode from "vscode";

import type { Section } from "./bundle";
import { registerCommands } from "./commands";
import { Connection, type State } from "./connection";
import { Documents } from "./documents";
import { Editor, folders } from "./editor";
import { Following, type Shown } from "./following";
import { definitions, provideMcpServer } from "./mcp";
import { Outbox } from "./outbox";
import { Page } from "./page";
import { add, mayAdd } from "./projects";
import { here, rendezvousFile } from "./rendezvous";
import { settings } from "./settings";
import { commandPath, startDaemon } from "./starting";
import { StatusBar } from "./status";
import { ContextView } from "./view";

/** Objects exposed to tests. */
export interface Running {
  readonly state: () => State;
  readonly shown: () => Shown;
  readonly listed: () => readonly Section[];
  readonly statusBar: () => string;
  readonly waiting: () => number;
  readonly mcpServers: () => Promise<vscode.McpStdioServerDefinition[]>;
}

export function activate(context: vscode.ExtensionContext): Running {
  const version = String(context.extension.packageJSON.version);
  const log = vscode.window.createOutputChannel("hunchd", { log: true });
  const connection = connect(log);
  const addable = (project: string): Promise<boolean> => addUnasked(project, connection, log);
  const ask = connection.ask.bind(connection);
  const say = (text: string): void => log.info(text);
  const following = new Following({ ask, add: addable, budget: () => settings().budget, log: say });
  const outbox = new Outbox({ ask, add: addable, log: say, sent: (signals) => following.told(signals) });
  const documents = new Documents();
  const view = new ContextView();
  const page = new Page({ connection, folder: context.globalStorageUri, log });
  const statusBar = new StatusBar();
  const editor = new Editor(
    { signal: (project, happened) => outbox.add(project, happened), focus: (place) => following.at(place) },
    say,
  );

  const render = (): void => {
    view.show(following.shown, connection.state);
    statusBar.show(following.shown, connection.state);
  };
  following.changed.on(render);
  connection.events.on((event) => following.heard(event));
  let told = 0; // process id of the daemon that got the open files
  connection.changed.on((state) => {
    render();
    if (state.is === "ready") {
      outbox.flush();
      following.refresh(0);
      if (state.pid !== told) {
        told = state.pid;
        void editor.tellAll().catch((error: Error) => say(error.message));
      }
    }
  });

  context.subscriptions.push(
    log,
    documents,
    page,
    view,
    statusBar,
    editor,
    ...registerCommands({ connection, following, outbox, view, documents, page, log, addProject: asked(connection) }),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("hunch")) {
        render();
        following.refresh();
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => following.refresh()),
    provideMcpServer(version),
    { dispose: () => [connection, following, outbox].forEach((part) => part.close()) },
  );
  render();
  void connection.run();
  return {
    state: () => connection.state,
    shown: () => following.shown,
    listed: () => view.listed,
    statusBar: () => statusBar.text,
    waiting: () => outbox.size,
    mcpServers: () => definitions(version),
  };
}

function connect(log: vscode.LogOutputChannel): Connection {
  return new Connection({
    file: () => rendezvousFile(settings().home, here()),
    mayStart: () => settings().startDaemon,
    log: (text) => log.info(text),
    start: async () => {
      const { command, home } = settings();
      const path = await commandPath(command, here());
      return path === undefined
        ? { ok: false, missing: true, why: "the command hunch was not found" }
        : startDaemon(path, home, process.env);
    },
  });
}

/** Add a project if the settings allow it automatically. */
async function addUnasked(project: string, connection: Connection, log: vscode.LogOutputChannel): Promise<boolean> {
  const window = {
    folders: folders(),
    trusted: vscode.workspace.isTrusted,
    repositories: settings().addProjects === "repositories",
  };
  const adding = await mayAdd(project, window);
  if (adding !== "allowed") {
    log.info(`${project} is not added: ${adding}`);
    return false;
  }
  const added = await add(project, (question) => connection.json(question));
  log.info(added.ok ? `${project} is known from now on` : `${project} is not added: ${added.why}`);
  return added.ok;
}

/** Add a project at the user's request. */
function asked(connection: Connection): (project: string) => Promise<boolean> {
  return async (project) => {
    const added = await add(project, (question) => connection.json(question));
    if (!added.ok) {
      throw new Error(added.why);
    }
    return true;
  };
}
