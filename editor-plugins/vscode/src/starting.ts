/** Finds the command `hunch`, and starts the daemon with it. */

import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, join } from "node:path";

import type { Started } from "./connection";
import type { Surroundings } from "./rendezvous";

const PATIENCE = 45_000; // ms; the command itself allows the daemon 30 s

/** Return the command's path: the setting, else the first that exists; undefined if there is none. */
export async function commandPath(setting: string, around: Surroundings): Promise<string | undefined> {
  for (const candidate of setting ? [setting.replace(/^~(?=[/\\])/, around.home)] : usualPlaces(around)) {
    const found = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) {
      return candidate;
    }
  }
  return undefined;
}

/** PATH first; an editor started from a desktop often lacks the user's PATH. */
export function usualPlaces({ variables, platform, home }: Surroundings): string[] {
  const windows = platform === "win32";
  const folders = (variables["PATH"] ?? variables["Path"] ?? "").split(delimiter).filter((folder) => folder !== "");
  folders.push(join(home, ".local", "bin"));
  if (!windows) {
    folders.push("/opt/homebrew/bin", "/usr/local/bin");
  }
  return folders.map((folder) => join(folder, windows ? "hunch.exe" : "hunch"));
}

/** Run `hunch start`, which returns when the daemon answers; concurrent calls start one daemon. */
export function startDaemon(command: string, home: string, variables: Surroundings["variables"]): Promise<Started> {
  const env = { ...variables, ...(home ? { HUNCHD_HOME: home } : {}) };
  return new Promise((resolve) => {
    execFile(command, ["start"], { env, timeout: PATIENCE, windowsHide: true }, (error, stdout, stderr) => {
      if (error === null) {
        resolve({ ok: true });
      } else {
        const said = (stderr || stdout).trim() || error.message;
        resolve({ ok: false, missing: (error as NodeJS.ErrnoException).code === "ENOENT", why: said });
      }
    });
  });
}
