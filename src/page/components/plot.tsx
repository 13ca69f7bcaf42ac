/** A plot by uPlot in the colours of the page. Load it with `lazy`, so that only views with a plot pay for it. */

import { useEffect, useRef } from "preact/hooks";
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface Series {
  name: string;
  values: readonly (number | null)[];
  /** Bars instead of a line. */
  bars?: boolean;
}

/** Return the colour that a custom property has in the present theme. */
export function resolveColour(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`;
  const colour = getComputedStyle(element).color;
  element.style.color = "";
  return colour;
}

const COMPACT = new Intl.NumberFormat("en-GB", { notation: "compact" });
const DAY = 86_400; // seconds

/** Write a place on the axis of time, as exact as the next one (`step` seconds away) asks for. */
function writeTime(time: number, step: number): string {
  const date = new Date(time * 1000);
  if (step < DAY) return date.toLocaleTimeString("en-GB", step < 60 ? {} : { hour: "2-digit", minute: "2-digit" });
  if (step < 28 * DAY) return date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  return date.toLocaleDateString("en-GB", step < 360 * DAY ? { month: "short", year: "numeric" } : { year: "numeric" });
}

export default function Plot({ times, series, height = 130, label }: { times: readonly number[]; series: readonly Series[]; height?: number; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current!;
    const colour = (name: string) => resolveColour(element, name);
    const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } };
    const isCounted = series.every((one) => one.values.every((value) => value === null || value % 1 === 0));
    const bars = UPlot.paths.bars!({ size: [0.8, 40] });
    const plot = new UPlot(
      {
        width: element.clientWidth,
        height,
        legend: { show: series.length > 1 },
        cursor: { y: false },
        scales: { y: { range: (_, low, high) => [Math.min(0, low), Math.max(high, 1)] } },
        axes: [
          // What is counted has no halves.
          { ...axis, space: 70, values: (_, times, __, ___, step) => times.map((time) => writeTime(time, step)) },
          { ...axis, size: 44, values: (_, marks) => marks.map((mark) => (isCounted && mark % 1 ? "" : COMPACT.format(mark))) },
        ],
        series: [
          {},
          ...series.map((one, index) => ({
            label: one.name,
            stroke: colour(`--tone-${1 + (index % 4)}`),
            width: one.bars ? 0 : 2,
            ...(one.bars ? { paths: bars, fill: colour(`--tone-${1 + (index % 4)}`), points: { show: false } } : {}),
          })),
        ],
      },
      [[...times], ...series.map((one) => [...one.values])] as UPlot.AlignedData,
      element,
    );
    const watcher = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [JSON.stringify(times), JSON.stringify(series), height]);
  return <div class="plot" ref={box} role="img" aria-label={label} />;
}
