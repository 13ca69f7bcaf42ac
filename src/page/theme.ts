/** Light, dark, or as the system is set. */

import { host } from "./host";

export type Theme = "auto" | "light" | "dark";
export const THEMES: Record<Theme, string> = { auto: "Auto", light: "Light", dark: "Dark" };
const KEY = "hunchd-theme";
const ORDER: readonly Theme[] = ["auto", "light", "dark"];

export function readTheme(): Theme {
  const stored = localStorage.getItem(KEY) as Theme | null;
  return stored && ORDER.includes(stored) ? stored : "auto";
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = host ? readHostTheme() : readTheme();
}

/** Follow the theme of the editor, which marks the body. */
export function followHostTheme(): void {
  if (host) new MutationObserver(applyTheme).observe(document.body, { attributeFilter: ["class"] });
}

function readHostTheme(): Theme {
  const { classList } = document.body;
  return classList.contains("vscode-light") || classList.contains("vscode-high-contrast-light") ? "light" : "dark";
}

export function cycleTheme(): Theme {
  const next = ORDER[(ORDER.indexOf(readTheme()) + 1) % ORDER.length]!;
  localStorage.setItem(KEY, next);
  applyTheme();
  return next;
}
