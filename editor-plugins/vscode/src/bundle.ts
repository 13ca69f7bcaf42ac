/** Converts a bundle of the daemon to the items of the view. */

export interface Item {
  readonly id: string;
  readonly kind: string;
  readonly title: string;
  readonly tier: 1 | 2 | 3 | 4;
  readonly level: string;
  readonly tokens: number;
  readonly score: number;
  readonly reasons: readonly string[];
  readonly source: { readonly path?: string | null; readonly line?: number | null; readonly sha?: string };
  readonly trust: "user" | "project" | "team" | "derived" | "untrusted";
}

export interface Bundle {
  readonly status: "ok" | "empty" | "degraded";
  readonly degraded: readonly string[];
  readonly context: string;
  readonly token_count: number;
  readonly budget: number;
  readonly items: readonly Item[];
}

export interface Section {
  readonly is: "section";
  readonly tier: 1 | 2 | 3 | 4;
  readonly title: string;
  readonly entries: readonly Entry[];
}

export type Entry = Piece | Topic;

export interface Piece {
  readonly is: "piece";
  readonly item: Item;
  readonly label: string;
  readonly description: string;
  readonly path: string | undefined; // target of a click, relative to the project
  readonly line: number | undefined; // from 1
  readonly forgettable: boolean;
}

export interface Topic {
  readonly is: "topic";
  readonly name: string;
}

const TITLES = { 1: "Now", 2: "Likely next", 3: "Background", 4: "Ask for more" } as const;
const TIERS = [1, 2, 3, 4] as const;
const REASONS_SHOWN = 2;

/** Return the tiers with items, in order; `at` is the file of the bundle. */
export function sectionsOf(bundle: Bundle, at = ""): Section[] {
  return TIERS.map((tier): Section => {
    const pieces: Entry[] = bundle.items.filter((item) => item.tier === tier).map((item) => pieceOf(item, at));
    const entries = tier === 4 ? [...pieces, ...topicsOf(bundle.context)] : pieces;
    return { is: "section", tier, title: TITLES[tier], entries };
  }).filter((section) => section.entries.length > 0);
}

export function pieceOf(item: Item, at = ""): Piece {
  const path = item.source.path || undefined;
  const shared = { is: "piece" as const, item, path, line: item.source.line ?? undefined };
  if (item.kind === "file" && path !== undefined) {
    const elsewhere = folderOf(path) === folderOf(at) ? "" : folderOf(path);
    const description = [elsewhere, item.reasons[0]].filter((part) => part).join(" · ");
    return { ...shared, label: path.slice(path.lastIndexOf("/") + 1), description, forgettable: false };
  }
  const title = unquoted(item.title) || item.kind;
  const reasons = item.reasons.filter((reason) => !title.includes(reason)).slice(0, REASONS_SHOWN);
  return { ...shared, label: title, description: reasons.join(", "), forgettable: !item.id.includes(":") };
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf("/"), 0));
}

/** Return the topics at the end of a bundle, which can be expanded. */
export function topicsOf(context: string): Topic[] {
  const [, section] = context.split(`\n## ${TITLES[4]}\n`);
  const line = section?.split("\n").find((each) => each.includes(" · `hunch expand"));
  const names = line?.split(" · `hunch expand")[0]?.split(", ") ?? [];
  return names.filter((name) => name.trim() !== "").map((name) => ({ is: "topic", name }));
}

/** Remove the marks that quote untrusted text. */
export function unquoted(title: string): string {
  return title.startsWith("«") && title.endsWith("»") ? title.slice(1, -1) : title;
}

/** Format a number with thousands separators, like the daemon. */
export function counted(number: number): string {
  return number.toLocaleString("en-US");
}

/** Escape `text` as one line of Markdown that shows exactly these characters. */
export function plain(text: string): string {
  return text.replace(/\s+/g, " ").replace(/[!-/:-@[-`{-~]/g, "\\$&");
}
