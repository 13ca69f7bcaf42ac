/** Table of the views. A new view is one file in `views/` and one line here; see README.md. */

import type { ComponentType } from "preact";
import type { Project } from "./project";
import type { Route } from "./router";

export interface ViewProps {
  project: Project;
  route: Route;
}

export interface View {
  /** Last part of the address: /ui/NAME. */
  name: string;
  /** In the navigation. */
  title: string;
  /** Loaded when the view is opened for the first time. */
  load: () => Promise<{ default: ComponentType<ViewProps> }>;
}

export const VIEWS: readonly View[] = [
  { name: "now", title: "Now", load: () => import("./views/now") },
  { name: "file", title: "File", load: () => import("./views/file") },
  { name: "search", title: "Search", load: () => import("./views/search") },
  { name: "knowledge", title: "Knowledge", load: () => import("./views/knowledge") },
  { name: "contradictions", title: "Contradictions", load: () => import("./views/contradictions") },
  { name: "sessions", title: "Sessions", load: () => import("./views/sessions") },
  { name: "errors", title: "Errors", load: () => import("./views/errors") },
  { name: "workflows", title: "Workflows", load: () => import("./views/workflows") },
  { name: "patterns", title: "Patterns", load: () => import("./views/patterns") },
  { name: "nights", title: "Nights", load: () => import("./views/nights") },
  { name: "figures", title: "Figures", load: () => import("./views/figures") },
  { name: "settings", title: "Settings", load: () => import("./views/settings") },
];
