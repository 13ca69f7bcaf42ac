/** The settings that people change, in words; the others are for those who know how hunchd works. */

interface Words {
  title: string;
  about: string;
  /** Unit of a number. */
  unit?: string;
  /** What each value means, where its name does not say it. */
  values?: Readonly<Record<string, string>>;
}

export const EVERYDAY: Readonly<Record<string, Words>> = {
  "consolidation.nightly": { title: "Tidy up at night", about: "Join duplicates, shorten what is old, put away what nobody needs. If off, only when you ask for it under Nights." },
  "consolidation.hour": { title: "When to tidy up", about: "The hour of the night.", unit: "o'clock" },
  "consolidation.summarise_days": { title: "Shorten to a summary after", about: "The whole text stays stored.", unit: "days" },
  "consolidation.compress_days": { title: "Shorten to one line after", about: "The whole text stays stored.", unit: "days" },
  "consolidation.forget_days": { title: "Put away what nobody needed for", about: "It is no longer shown to agents; you find it under Knowledge, Put away.", unit: "days" },
  "consolidation.restore_days": { title: "Keep what was put away for", about: "Until then you can show it again; then it is forgotten for good.", unit: "days" },
  "context.budget": { title: "Longest context", about: "What an agent is given at once, unless it asks for less.", unit: "tokens" },
  "index.ignore": { title: "Files not to read", about: "Besides those that git ignores; written as in .gitignore, one a line." },
  "shell.private_folders": { title: "Folders whose commands are never noted", about: "One a line; for shells that are opened from then on." },
  "index.patterns": { title: "Look for repeated code", about: "While nobody works; shown under Patterns." },
  "signals.watch_files": { title: "Notice saved files", about: "Also those that no editor plugin reports." },
  "signals.error_logs": { title: "Log files to read for errors", about: "Paths or patterns, one a line." },
  "embedding.enabled": { title: "Search by meaning", about: "If off, only by words; that takes less memory." },
  "sessions.personal": { title: "Addresses and phone numbers said in sessions", about: "Where they may be kept.", values: { log: "only in the transcript", mask: "nowhere", keep: "also in what is remembered" } },
  "language.enabled": { title: "Let a language model read sessions", about: "If on, texts of sessions are sent to it, without secrets. Off: nothing leaves this machine." },
};

/** Write a value in words. */
export function sayValue(value: string, { unit = "", values = {} }: Partial<Words> = {}): string {
  const parsed: unknown = JSON.parse(value);
  if (typeof parsed === "string" && values[parsed]) return values[parsed];
  if (typeof parsed === "boolean") return parsed ? "on" : "off";
  if (Array.isArray(parsed)) return parsed.length ? parsed.join(", ") : "none";
  return `${typeof parsed === "number" ? parsed.toLocaleString("en-GB") : String(parsed)}${unit && ` ${unit}`}`;
}
