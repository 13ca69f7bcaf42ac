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
];
