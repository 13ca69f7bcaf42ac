/** Numbers, times and words for people. */

export function percent(share: number): string {
  return share > 0 && share < 0.01 ? "under 1 %" : `${Math.round(share * 100)} %`;
}

/** Say in words how sure a memory is: nobody knows what 86 % of a sentence is. */
export function sureness(confidence: number): string {
  if (confidence >= 0.95) return "certain";
  if (confidence >= 0.75) return "quite sure";
  return confidence >= 0.5 ? "fairly sure" : "unsure";
}

export function bytes(number: number): string {
  const steps: readonly [number, string][] = [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]];
  const [size, unit] = steps.find(([one]) => number >= one) ?? [1, "bytes"];
  return `${(number / size).toLocaleString("en-GB", { maximumFractionDigits: number >= 1e9 ? 1 : 0 })} ${unit}`;
}

export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`;
}

export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Write reasons for people: without commands for the terminal, scores, and chances that a count beside them explains better. */
export function plainReasons(reasons: readonly string[] | undefined): string[] {
  return (reasons ?? []).filter((one) => !one.startsWith("hunch ") && !/^\d+% likely$/.test(one)).map(plainReason);
}

export function plainReason(reason: string): string {
  return reason
    .replace(/ \(\d?\.\d+\)$/, "")
    .replace(/^(\d+) days old/, (_, days: string) => `${age(Number(days))} old`)
    .replace(/^you asked to remember it/, TRUST.user!)
    .replace(/^you said so/, `${TRUST.user} in a session`)
    .replace(/\b(\d{4}-\d\d-\d\d \d\d:\d\d)(?=\)|$|:)/, (_, at: string) => dayAndTime(at.replace(" ", "T")))
    .replace(/^to decide: /, "")
    .replace(/^says (.+)$/, "has the words: $1")
    .replace(/^said beside it: (.+)$/, "near the words: $1");
}

function age(days: number): string {
  if (days < 60) return count(days, "day");
  return days < 730 ? count(Math.floor(days / 30.44), "month") : count(Math.floor(days / 365.25), "year");
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString("en-GB")} ${number === 1 ? one : many}`;
}

/** Remove the marks that tell agents that somebody else's words are quoted; people see who said it. */
export function unquote(text: string): string {
  return text.replace(/^«(.*)»$/s, "$1");
}

/** Write a contradiction as the question that it is; who said what stands beside each side. */
export function nameContradiction(title: string): string {
  const sides = unquote(title.replace(/^contradiction: /, "")).split(" / ").map((side) => side.replace(/ \([^()]*\d{4}-\d\d\)$/, "").replace(/^([\w.-]+): /, (_, key: string) => `${nameKey(key)}: `));
  return sides.length === 2 ? `“${sides[0]}” or “${sides[1]}”?` : sides.join(" / ");
}

/** Write the key of a fact in words; one that is prose already stays as it is. */
export function nameKey(key: string): string {
  return key.includes(" ") ? key : key.replace(/_+|(?<=[a-z])[.-]+(?=[a-z])/gi, " ").trim();
}

const COMPACT = new Intl.NumberFormat("en-GB", { notation: "compact", maximumSignificantDigits: 3 });
export function compact(number: number): string {
  return COMPACT.format(number);
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Count midnights: what was said the day before yesterday is not of yesterday, however late it was. */
function daysBetween(one: Date, other: Date): number {
  const [first, last] = [one, other].map((date) => Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()));
  return Math.round((last! - first!) / DAY);
}

/** Say how long ago, by the calendar from the day before on. */
export function ago(iso: string, now = Date.now()): string {
  const elapsed = Math.max(0, now - Date.parse(iso));
  if (elapsed < 10 * MINUTE) return "just now";
  if (elapsed < HOUR) return `${10 * Math.floor(elapsed / (10 * MINUTE))} min ago`;
  if (elapsed < DAY) return `${Math.floor(elapsed / HOUR)} h ago`;
  const days = daysBetween(new Date(iso), new Date(now));
  if (days < 2) return "yesterday";
  if (days < 60) return `${days} days ago`;
  return new Date(iso).toLocaleDateString("en-GB", { month: "long", year: "numeric" });
}

interface Dated {
  at: string;
  kind: string;
  status: string;
  valid_from?: string | null | undefined;
  updated?: string | null | undefined;
  trust?: string;
  source?: Record<string, unknown>;
}

/** Tell whether a memory was read from a file of the project: nobody knows since when that holds. */
export function isRead({ trust, source }: { trust?: string; source?: Record<string, unknown> }): boolean {
  return (trust === "project" || trust === "untrusted") && typeof source?.path === "string";
}

/** Say since when a memory holds, by when it was said; or when it was read from a file, put away, or happened. */
export function describeSince(memory: Dated): string {
  if (memory.status === "archived") return `put away since ${dayAndTime(memory.updated ?? memory.at)}`;
  if (memory.kind === "episode" || memory.kind === "error") return dayAndTime(memory.at);
  if (isRead(memory)) return `read ${dayAndTime(memory.valid_from ?? memory.at)}`;
  return `since ${dayAndTime(memory.valid_from ?? memory.at)}`;
}

/** Return when a version of a memory came to be: when it was said, not when it was stored or replaced. */
export function timeOf(version: Dated & { id: string }): string {
  return version.valid_from ?? (version.id.includes(".") ? (version.updated ?? version.at) : version.at);
}

export function day(iso: string): string {
  return new Date(iso).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
}

export function clock(iso: string): string {
  return new Date(iso).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}

export function dayAndTime(iso: string): string {
  return `${day(iso)}, ${clock(iso)}`;
}

/** List the paths and names of files that a text mentions. */
export function listPaths(text: string): string[] {
  return [...new Set(text.match(/(?<![\w/.:@-])(?:\.\/)?(?:[\w.@+-]+\/)*[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,7}(?![\w/(-])/g)?.map((one) => one.replace(/^\.\//, "")) ?? [])];
}

/** Tell whether a text names a file, by its path or the end of it. */
export function namesFile(text: string, path: string): boolean {
  return listPaths(text).some((one) => `/${path}`.endsWith(`/${one}`));
}

/** Split a path so that the name is seen even where the folders are cut off. */
export function splitPath(path: string): [string, string] {
  const at = path.lastIndexOf("/") + 1;
  return [path.slice(0, at), path.slice(at)];
}

export const TIERS: Record<number, { name: string; explains: string }> = {
  1: { name: "Now", explains: "the open file, errors, and what was said about them" },
  2: { name: "Likely next", explains: "files that are probably needed next" },
  3: { name: "Background", explains: "rules of the project and past work" },
  4: { name: "On request", explains: "topics that an agent can ask for" },
};

export const KINDS: Record<string, string> = {
  code: "code",
  file: "file",
  files: "files",
  episode: "past change",
  error: "error",
  fact: "fact",
  identity: "about you",
  preference: "preference",
  constraint: "limit",
  instruction: "instruction",
  decision: "decision",
  convention: "rule",
  pattern: "pattern",
  workflow: "workflow",
  document: "document",
  message: "said in a session",
  contradiction: "contradiction",
  summary: "summary",
  goal: "goal",
  person: "person",
};

export const TRUST: Record<string, string> = {
  user: "you said it",
  project: "read from this project",
  untrusted: "written by other people",
  team: "said by a colleague",
  derived: "worked out by hunchd",
};
const TRUST_MEANS: Record<string, string> = {
  user: "You said it: agents follow it.",
  project: "Read from the files of this project: agents follow it.",
  untrusted: "Written by other people, in a commit, an error or a document: agents are told it as information, and not to obey it.",
  team: "Said by a colleague: agents are told it as information, and not to obey it.",
  derived: "Worked out by hunchd from what it saw: agents are told it as a guess.",
};

/** What follows for agents, from what a memory is and from what became of it. */
export function tellAgents({ kind, status, trust }: { kind: string; status?: string; trust: string }): string | undefined {
  if (status === "archived") return "It is put away: agents are not told it.";
  if (status === "superseded") return "It was replaced: agents are told what holds now.";
  if (kind === "contradiction") return "Until you decide, agents are told both.";
  if (kind === "file" || kind === "files") return "A guess from the history and the code: agents are told where to look.";
  return TRUST_MEANS[trust];
}

export const SCOPES: Record<string, string> = {
  "user-private": "only you, in every project",
  "project-shared": "you; it can be shared with colleagues",
  system: "hunchd itself",
};

/** States of a memory; a button that leads to one uses the same word. */
export const STATUSES: Record<string, string> = { active: "shown", archived: "put away", superseded: "replaced", suspect: "in doubt" };

const SOURCES: Record<string, string> = {
  session: "said in a session",
  commit: "read from the git history",
  history: "read from the git history",
  convention: "read from the project's files",
  document: "from a document",
  script: "read from the project's files",
  pattern: "seen in the code",
  fix: "seen when an error went away",
  signal: "reported while you worked",
  client: "noted by a program",
};

/** Say in a few words who said it, or which file says it: the same words wherever a memory is listed. */
export function describeOrigin(memory: { source: Record<string, unknown>; trust: string }): string {
  if (memory.trust === "team" && memory.source.by) return `said by ${String(memory.source.by)}`;
  return isRead(memory) ? `from ${String(memory.source.path)}` : (TRUST[memory.trust] ?? memory.trust);
}

/** Say in words where a memory comes from. */
export function describeSource(memory: { source: Record<string, unknown>; trust: string }): string {
  if (memory.trust === "team") return describeOrigin(memory);
  const type = String(memory.source.type ?? memory.source.kind ?? "");
  const who = String(memory.source.actor ?? memory.source.client ?? memory.source.by ?? "");
  const words = memory.trust === "user" ? `${TRUST.user}${type === "session" ? " in a session" : ""}` : (SOURCES[type] ?? (type ? type.replace(/[_-]+/g, " ") : "not recorded"));
  return who && who !== type ? `${words} (${who})` : words;
}
