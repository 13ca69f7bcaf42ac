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
  /** One sentence below the heading, for somebody who is here for the first time. */
  about: string;
  /** Loaded when the view is opened for the first time. */
  load: () => Promise<{ default: ComponentType<ViewProps> }>;
}

export const VIEWS: readonly View[] = [
  {
    name: "now",
    title: "Now",
    about: "What you are working on, what hunchd expects next, and what an agent would be told about it.",
    load: () => import("./views/now"),
  },
  {
    name: "file",
    title: "File",
    about: "Everything hunchd knows about one file: its context, what changes with it, its tests, rules and past.",
    load: () => import("./views/file"),
  },
  {
    name: "search",
    title: "Search",
    about: "One box for code, past changes, facts, documents, errors and sessions.",
    load: () => import("./views/search"),
  },
  {
    name: "knowledge",
    title: "Knowledge",
    about: "Facts and decisions: who said it, how sure it is, how it changed. Choose one to put it right.",
    load: () => import("./views/knowledge"),
  },
  {
    name: "contradictions",
    title: "Contradictions",
    about: "Statements that cannot both be true. Say which one holds.",
    load: () => import("./views/contradictions"),
  },
  {
    name: "sessions",
    title: "Sessions",
    about: "What you and your agents said, and what hunchd kept of it.",
    load: () => import("./views/sessions"),
  },
  {
    name: "errors",
    title: "Errors",
    about: "Errors that were reported while you worked, and the changes that made them go away.",
    load: () => import("./views/errors"),
  },
  {
    name: "workflows",
    title: "Workflows",
    about: "Commands that belong together, read from the scripts, task runners and CI of the project.",
    load: () => import("./views/workflows"),
  },
  {
    name: "patterns",
    title: "Patterns",
    about: "Shapes of code that this project repeats. Agents are told to copy them.",
    load: () => import("./views/patterns"),
  },
  {
    name: "nights",
    title: "Nights",
    about: "At night hunchd joins duplicates, shortens what is old and puts away what nobody needs. Each change can be undone here.",
    load: () => import("./views/nights"),
  },
  {
    name: "figures",
    title: "Figures",
    about: "How often the predictions were right, how fast the answers are, and what hunchd costs.",
    load: () => import("./views/figures"),
  },
  {
    name: "settings",
    title: "Settings",
    about: "What hunchd watches, whether it is well, and how it is set up.",
    load: () => import("./views/settings"),
  },
];
