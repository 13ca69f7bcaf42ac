/** Reader of the rendezvous file, by the same rules as `hunch`. */

import { constants } from "node:fs";
import { open, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

export const PROTOCOL = 1;

export interface Rendezvous {
  readonly protocol: number;
  readonly url: string;
  readonly socket: string | null;
  readonly token: string;
  readonly pid: number;
  readonly version: string;
}

export interface Surroundings {
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  readonly home: string; // home folder of the user
}

const LARGEST = 65_536; // bytes; the file has a few hundred
const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"]);

export function here(): Surroundings {
  return { variables: process.env, platform: process.platform, home: homedir() };
}

/** Return the path of the rendezvous file. `home` is the setting `hunch.home`, or "". */
export async function rendezvousFile(home: string, { variables, platform, home: user }: Surroundings): Promise<string> {
  const base = home || variables["HUNCHD_HOME"];
  if (base) {
    return join(base.replace(/^~(?=$|[/\\])/, user), "run", "daemon.json");
  }
  return join(await runtimeFolder(variables, platform, user), "daemon.json");
}

async function runtimeFolder(
  variables: Surroundings["variables"],
  platform: NodeJS.Platform,
  user: string,
): Promise<string> {
  if (platform === "win32") {
    return join(variables["LOCALAPPDATA"] || join(user, "AppData", "Local"), "Temp", "hunchd");
  }
  const xdg = variables["XDG_RUNTIME_DIR"];
  if (xdg && (await isFolder(xdg))) {
    return join(xdg, "hunchd");
  }
  if (platform === "darwin") {
    return join(user, "Library", "Caches", "TemporaryItems", "hunchd");
  }
  return join(variables["XDG_CACHE_HOME"] || join(user, ".cache"), "hunchd", "run");
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** Read the file; undefined if it is missing, not private, or malformed. */
export async function readRendezvous(file: string): Promise<Rendezvous | undefined> {
  let opened;
  try {
    opened = await open(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  } catch {
    return undefined;
  }
  try {
    const found = await opened.stat();
    if (!found.isFile() || found.size > LARGEST || (process.getuid && found.uid !== process.getuid())) {
      return undefined;
    }
    return understood(JSON.parse(await opened.readFile("utf8")));
  } catch {
    return undefined;
  } finally {
    await opened.close();
  }
}

/** Return the daemon that `told` names, if it is on this machine: nothing is ever sent to another. */
function understood(told: Record<string, unknown>): Rendezvous | undefined {
  const { protocol, url, socket, token, pid, version } = told;
  if (typeof protocol !== "number" || typeof pid !== "number" || typeof version !== "string") {
    return undefined;
  }
  if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token) || typeof url !== "string") {
    return undefined;
  }
  const address = new URL(url);
  if (address.protocol !== "http:" || !LOOPBACK.has(address.hostname)) {
    return undefined;
  }
  return { protocol, url, socket: typeof socket === "string" && socket ? socket : null, token, pid, version };
}

/** Return true if a process of that id exists. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
