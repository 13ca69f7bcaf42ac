/** What a night did, in the words of the page. */

import { sentence } from "../format";

/** Kinds of work of a night. */
export const STEPS: Record<string, string> = {
  use: "Use counted",
  duplicates: "Joined",
  contradictions: "Contradictions",
  retire: "Outdated",
  cascade: "In doubt",
  summarise: "Shortened to a summary",
  compress: "Shortened to one line",
  history: "Histories",
  links: "Linked",
  forget: "Put away",
  erase: "Forgotten for good",
  reembed: "Search index",
  compact: "Disk",
};

// The daemon writes `verb 'title'`, the title as Python quotes it.
const SENTENCES: readonly [RegExp, string][] = [
  [/^compress (.+)$/, "Shortened to one line: $1"],
  [/^summarise (.+)$/, "Shortened to a summary: $1"],
  [/^archive (.+)$/, "Put away: $1"],
  [/^erase (.+)$/, "Forgotten for good: $1"],
  [/^retire (.+)$/, "Outdated: $1"],
  [/^merge .+ into (“.+”|.+)$/, "Joined, as it was said twice: $1"],
  [/^condense (\d+) episodes of \. into one memory$/, "$1 past changes of the top folder told as one history"],
  [/^condense (\d+) episodes of (.+) into one memory$/, "$1 past changes of $2 told as one history"],
  [/^mark (.+) as suspect$/, "In doubt: $1"],
  [/^trust (.+) again$/, "Trusted again: $1"],
  [/^promote (.+)$/, "More important: $1"],
  [/^demote (.+)$/, "Less important: $1"],
  [/^update the usage counts of (.+)$/, "Use counted: $1"],
  [/^open a contradiction: (.+)$/, "Found a contradiction: $1"],
  [/^close a contradiction: (.+)$/, "Closed a contradiction: $1"],
  [/^link (.+) to (.+)$/, "Linked $1 to $2"],
];
const QUOTED = /(^|\s)(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")(?=\s|$)/g;

export function describeNightChange({ what, step }: { what: string; step: string }): string {
  const quoted = what.replace(QUOTED, (_, before: string, one: string | undefined, other: string | undefined) => `${before}“${endAtWord((one ?? other ?? "").replace(/\\(['"\\])/g, "$1"))}”`);
  for (const [form, words] of SENTENCES) if (form.test(quoted)) return quoted.replace(form, words);
  return step === "links" ? `Linked: ${writeLinkType(quoted)}` : sentence(quoted);
}

const CUT = 60; // letters of a title that the daemon writes

/** End a title that was cut at its last whole word. */
function endAtWord(title: string): string {
  return title.length < CUT || title.endsWith("…") ? title : `${title.replace(/\s+\S*$/, "")}…`;
}

function writeLinkType(text: string): string {
  return text.replace(/” (\w+) “/, (_, type: string) => `” ${LINKS[type] ?? type.replace(/_/g, " ")} “`);
}

export const LINKS: Record<string, string> = {
  part_of: "is part of the history",
  same_work: "belongs to the same work as",
  about: "is about",
  about_symbol: "is about",
  rests_on: "rests on",
  reverts: "reverts",
  reverted_by: "was reverted by",
  fixes: "fixed",
  fixed_by: "was fixed by",
  merged_from: "was joined with",
};

/** Fields of a memory that say something to people; the others are shown as details. */
export const FIELDS: Record<string, string> = {
  title: "Title",
  content: "Text",
  value: "Value",
  status: "State",
  links: "Linked with",
  confidence: "How sure",
  importance: "How important",
  valid_from: "Holds since",
  valid_to: "Holds until",
  superseded_by: "Kept instead",
  scope: "Who sees it",
  at: "Dated",
  suspect: "Why it is in doubt",
  archived: "Why it was put away",
  goes_after: "Forgotten for good on",
};
