/** Said and observed chances as points beside the line on which both are equal, by uPlot. */

import { useEffect, useRef } from "preact/hooks";
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { percent } from "../format";
import { resolveColour } from "./plot";

const HEIGHT = 240;

export default function Calibration({ points }: { points: readonly { said: number; came: number; many: number }[] }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current!;
    const colour = (name: string) => resolveColour(element, name);
    const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 }, values: (_: UPlot, splits: number[]) => splits.map((one) => percent(one)) };
    const said = [...new Set([0, ...points.map((one) => one.said), 1])].sort((one, other) => one - other);
    const came = said.map((at) => points.find((one) => one.said === at)?.came ?? null);
    const plot = new UPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        cursor: { show: false },
        legend: { show: true, live: false },
        scales: { x: { time: false, range: [0, 1] }, y: { range: [0, 1] } },
        axes: [{ ...axis, label: "chance that was said", stroke: colour("--quiet") }, { ...axis, size: 56, label: "opened" }],
        series: [
          {},
          { label: "as said", stroke: colour("--quiet"), width: 1, dash: [6, 4], points: { show: false } },
          { label: "what happened", stroke: colour("--tone-2"), width: 2, spanGaps: true, points: { show: true, size: 9, fill: colour("--tone-2") } },
        ],
      },
      [said, said, came] as UPlot.AlignedData,
      element,
    );
    const watcher = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [JSON.stringify(points)]);
  const words = points.map((one) => `${percent(one.said)} said, ${percent(one.came)} of ${one.many} opened`).join("; ");
  return <div class="plot" ref={box} role="img" aria-label={`Said and observed chances: ${words}`} />;
}
