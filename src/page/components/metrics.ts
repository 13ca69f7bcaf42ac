/** Metrics as Prometheus text, read into samples. */

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

export function parseMetrics(text: string): Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split("\n")) {
    const found = LINE.exec(line);
    if (!found) continue;
    const labels = Object.fromEntries([...(found[2] ?? "").matchAll(LABEL)].map((label) => [label[1]!, label[2]!]));
    samples.push({ name: found[1]!, labels, value: Number(found[3]) });
  }
  return samples;
}

export interface Histogram {
  /** Upper ends in seconds; the last one is infinite. */
  bounds: number[];
  counts: number[];
  total: number;
}

/** Read the buckets of one route, not added up. */
export function readHistogram(samples: readonly Sample[], route: string): Histogram {
  const buckets = samples
    .filter((one) => one.name === "hunchd_http_duration_seconds_bucket" && one.labels.route === route)
    .map((one) => ({ bound: one.labels.le === "+Inf" ? Infinity : Number(one.labels.le), value: one.value }))
    .sort((one, other) => one.bound - other.bound);
  return {
    bounds: buckets.map((one) => one.bound),
    counts: buckets.map((one, at) => one.value - (buckets[at - 1]?.value ?? 0)),
    total: buckets.at(-1)?.value ?? 0,
  };
}
