/** Status bar item: state of the daemon, and what it lacks. */

import * as vscode from "vscode";

import { counted } from "./bundle";
import type { State } from "./connection";
import type { Shown } from "./following";
import { settings } from "./settings";

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("hunch.status", vscode.StatusBarAlignment.Right, 90);

  constructor() {
    this.item.name = "hunchd";
  }

  dispose(): void {
    this.item.dispose();
  }

  get text(): string {
    return this.item.text;
  }

  show(shown: Shown, state: State): void {
    const { icon, says, lines, command } = told(shown, state);
    this.item.text = `$(${icon}) ${says}`;
    this.item.tooltip = lines.join("\n\n");
    this.item.accessibilityInformation = { label: `hunchd: ${lines.join(", ")}` };
    this.item.command = command;
    if (settings().statusBar) {
      this.item.show();
    } else {
      this.item.hide();
    }
  }
}

interface Told {
  readonly icon: string;
  readonly says: string;
  readonly lines: readonly string[];
  readonly command: string;
}

function told(shown: Shown, state: State): Told {
  const focus = "hunch.focus";
  switch (state.is) {
    case "looking":
      return { icon: "lightbulb", says: "hunch", lines: ["Looking for the daemon"], command: focus };
    case "starting":
      return { icon: "sync~spin", says: "hunch", lines: ["Starting the daemon"], command: focus };
    case "slow":
      return { icon: "warning", says: "hunch", lines: ["The daemon does not answer in time"], command: "hunch.log" };
    case "missing":
      return { icon: "circle-slash", says: "hunch", lines: ["The command hunch was not found"], command: focus };
    case "absent":
      return {
        icon: "circle-slash",
        says: "hunch",
        lines: ["The daemon is not running. Click to start it.", ...(state.why ? [state.why] : [])],
        command: "hunch.start",
      };
    case "incompatible":
      return { icon: "warning", says: "hunch", lines: [state.why], command: "hunch.log" };
    case "ready":
      return { ...found(shown, state.version), command: focus };
  }
}

function found(shown: Shown, version: string): Omit<Told, "command"> {
  const daemon = `Daemon ${version}`;
  if (shown.is === "failed") {
    return { icon: "warning", says: "hunch", lines: [shown.why, daemon] };
  }
  if (shown.is === "unknown") {
    return { icon: "lightbulb", says: "hunch", lines: [`${shown.project} is not known`, daemon] };
  }
  if (shown.is !== "bundle") {
    return { icon: "lightbulb", says: "hunch", lines: [daemon] };
  }
  const { bundle, place } = shown;
  const amount = `${bundle.items.length} pieces, ${counted(bundle.token_count)} of ${counted(bundle.budget)} tokens for ${place.path ?? place.project}`;
  if (bundle.status === "degraded") {
    const passes = bundle.degraded.every((each) => each.endsWith("being read"));
    return { icon: passes ? "sync~spin" : "warning", says: "hunch", lines: [...bundle.degraded, amount, daemon] };
  }
  return bundle.items.length > 0
    ? { icon: "lightbulb-sparkle", says: String(bundle.items.length), lines: [amount, daemon] }
    : { icon: "lightbulb", says: "hunch", lines: ["Nothing relevant is known for this file", daemon] };
}
