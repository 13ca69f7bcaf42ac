/** Bars with names below them, by uPlot. */

import { useEffect, useRef } from "preact/hooks";
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { resolveColour } from "./plot";

const HEIGHT = 170;
const MIN_WIDTH = 42; // pixels of a name

export default function Histogram({ names, counts, label }: { names: readonly string[]; counts: readonly number[]; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current!;
    const colour = (name: string) => resolveColour(element, name);
    const axis = { stroke: colour("--quiet"), grid: { show: false }, ticks: { stroke: colour("--line"), width: 1 } };
    const places = names.map((_, at) => at);
    const plot = new UPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: false, range: [-0.6, names.length - 0.4] }, y: { range: (_, __, high) => [0, Math.max(high, 1)] } },
        axes: [
          { ...axis, splits: () => places, values: (plot) => names.map((name, at) => (at % 2 && plot.width / names.length < MIN_WIDTH ? "" : name)) },
          { ...axis, size: 44, grid: { stroke: colour("--line"), width: 1 }, values: (_, marks) => marks.map((mark) => (mark % 1 ? "" : mark.toLocaleString("en-GB"))) },
        ],
        series: [{}, { width: 0, paths: UPlot.paths.bars!({ size: [0.8, 60] }), fill: colour("--tone-2"), points: { show: false } }],
      },
      [places, [...counts]],
      element,
    );
    const watcher = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [JSON.stringify(names), JSON.stringify(counts)]);
  return <div class="plot" ref={box} role="img" aria-label={label} />;
}
