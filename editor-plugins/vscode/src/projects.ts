/** Projects of files, and adding projects to the daemon if that is allowed. */

import { stat } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";

import { type Question, Refused } from "./http";

export interface Place {
  readonly project: string; // absolute path of the working tree, in the editor's spelling
  readonly path: string; // relative to it, with "/"
}

const REMEMBERED = 5_000; // folders
const NO_REPOSITORY_FOR = 30_000; // ms; `git init` may happen at any time

/** Finds the working tree of a folder, with a cache. */
export class Roots {
  private readonly known = new Map<string, { root: string | undefined; until: number }>();

  /** Return the nearest folder from `folder` upwards with a .git, or undefined. */
  async of(folder: string, now: number = Date.now()): Promise<string | undefined> {
    const known = this.known.get(folder);
    if (known !== undefined && known.until > now) {
      return known.root;
    }
    const parent = dirname(folder);
    const root = (await exists(join(folder, ".git")))
      ? folder
      : parent === folder
        ? undefined
        : await this.of(parent, now);
    if (this.known.size >= REMEMBERED) {
      this.known.clear();
    }
    this.known.set(folder, { root, until: root === undefined ? now + NO_REPOSITORY_FOR : Infinity });
    return root;
  }
}

/** Return the place of `file`: in its repository, else in its workspace folder. */
export async function placeOf(file: string, roots: Roots, folders: readonly string[]): Promise<Place | undefined> {
  const repository = await roots.of(dirname(file));
  const project = repository ?? folders.find((folder) => isInside(file, folder));
  if (project === undefined || isInside(file, join(project, ".git"))) {
    return undefined;
  }
  return { project, path: relative(project, file).split(sep).join("/") };
}

export function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

export type Adding = "allowed" | "not-a-repository" | "not-allowed" | "elsewhere";

/** Return if `project` may be added automatically: a repository in the folders of this window. */
export async function mayAdd(
  project: string,
  window: { folders: readonly string[]; trusted: boolean; repositories: boolean },
): Promise<Adding> {
  const belongs = window.folders.some((folder) => isInside(project, folder) || isInside(folder, project));
  if (!belongs || project.split(sep).includes("node_modules")) {
    return "elsewhere"; // a library that was only viewed
  }
  if (!(await exists(join(project, ".git")))) {
    return "not-a-repository";
  }
  return window.trusted && window.repositories ? "allowed" : "not-allowed";
}

/** Return the daemon's answer to POST /projects, or its rejection. */
export async function add(
  project: string,
  json: (question: Question) => Promise<unknown>,
): Promise<{ ok: true } | { ok: false; why: string }> {
  try {
    await json({ method: "POST", path: "/projects", body: { path: project } });
    return { ok: true };
  } catch (error) {
    if (error instanceof Refused) {
      return { ok: false, why: error.message };
    }
    throw error;
  }
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
