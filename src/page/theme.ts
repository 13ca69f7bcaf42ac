/** Light, dark, or as the system is set. */

export type Theme = "auto" | "light" | "dark";
export const THEMES: Record<Theme, string> = { auto: "Auto", light: "Light", dark: "Dark" };
const KEY = "hunchd-theme";
const ORDER: readonly Theme[] = ["auto", "light", "dark"];

export function readTheme(): Theme {
  const stored = localStorage.getItem(KEY) as Theme | null;
  return stored && ORDER.includes(stored) ? stored : "auto";
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = readTheme();
}

export function cycleTheme(): Theme {
  const next = ORDER[(ORDER.indexOf(readTheme()) + 1) % ORDER.length]!;
  localStorage.setItem(KEY, next);
  applyTheme();
  return next;
}
