/** Files that change together, laid out by d3-force around one of them; the same is listed beside it in words. */

import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY, type SimulationLinkDatum, type SimulationNodeDatum } from "d3-force";
import { useMemo } from "preact/hooks";
import { splitPath } from "../format";
import { href } from "../router";

export interface GraphNode {
  id: string;
  /** 0 to 1; the middle has 1. */
  weight: number;
}
export interface GraphEdge {
  from: string;
  to: string;
  weight: number;
}
type Placed = SimulationNodeDatum & GraphNode & { name: string };

const WIDTH = 760;
const HEIGHT = 420;

export default function Graph({ middle, nodes, edges, project }: { middle: string; nodes: readonly GraphNode[]; edges: readonly GraphEdge[]; project: string }) {
  const { placed, links } = useMemo(() => place(middle, nodes, edges), [middle, JSON.stringify(nodes), JSON.stringify(edges)]);
  return (
    <svg class="graph" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="group" aria-label={`Files that change with ${middle}`}>
      {links.map(({ source, target, weight }) => {
        const [from, to] = [source as Placed, target as Placed];
        return <line key={`${from.id} ${to.id}`} x1={from.x} y1={from.y} x2={to.x} y2={to.y} stroke-width={1 + 5 * weight} />;
      })}
      {placed.map((node) => (
        <a key={node.id} href={href("file", { project, path: node.id })} aria-label={node.id} class={node.id === middle ? "middle" : ""}>
          <title>{node.id}</title>
          <circle cx={node.x} cy={node.y} r={radius(node)} />
          <text x={node.x} y={(node.y ?? 0) + radius(node) + 13} text-anchor="middle">
            {node.name}
          </text>
        </a>
      ))}
    </svg>
  );
}

function radius(node: GraphNode): number {
  return 6 + 12 * Math.sqrt(node.weight);
}

function place(middle: string, nodes: readonly GraphNode[], edges: readonly GraphEdge[]) {
  const names = new Map<string, number>();
  for (const { id } of nodes) names.set(splitPath(id)[1], (names.get(splitPath(id)[1]) ?? 0) + 1);
  const placed: Placed[] = nodes.map((node) => {
    const [folder, name] = splitPath(node.id);
    const shown = (names.get(name) ?? 0) > 1 ? `${folder.split("/").at(-2) ?? ""}/${name}` : name;
    return { ...node, name: shown, ...(node.id === middle ? { fx: WIDTH / 2, fy: HEIGHT / 2 } : {}) };
  });
  const links: (SimulationLinkDatum<Placed> & { weight: number })[] = edges.map(({ from, to, weight }) => ({ source: from, target: to, weight }));
  const simulation = forceSimulation(placed)
    .force("charge", forceManyBody().strength(-420))
    .force(
      "link",
      forceLink<Placed, (typeof links)[number]>(links)
        .id((node) => node.id)
        .distance((link) => 210 - 110 * Math.sqrt(link.weight)),
    )
    .force("x", forceX(WIDTH / 2).strength(0.04))
    .force("y", forceY(HEIGHT / 2).strength(0.11))
    .force("apart", forceCollide<Placed>((node) => Math.max(radius(node) + 14, 3.6 * node.name.length)))
    .stop();
  simulation.tick(260);
  for (const node of placed) {
    const half = Math.min(3.4 * node.name.length, WIDTH / 2 - 8);
    node.x = Math.min(WIDTH - half - 4, Math.max(half + 4, node.x ?? 0));
    node.y = Math.min(HEIGHT - 36, Math.max(22, node.y ?? 0));
  }
  return { placed, links };
}
