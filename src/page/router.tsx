/** Addresses: /ui/VIEW?project=ID&… ; plain links, without a reload. */

import { useEffect, useState } from "preact/hooks";
import { host, onHost } from "./host";

export interface Route {
  view: string;
  query: URLSearchParams;
}
type Params = Record<string, string | number | undefined | null>;

const CHANGED = "hunchd-route";

// In an editor the address of the frame is not the page's, so the page keeps its own.
const visited: string[] = [];
function readAddress(): string {
  return host ? (visited.at(-1) ?? "/ui/now") : location.pathname + location.search;
}

export function readRoute(): Route {
  const { pathname, search } = new URL(readAddress(), "page:///");
  const [, , view = ""] = pathname.split("/");
  return { view: decodeURIComponent(view) || "now", query: new URLSearchParams(search) };
}

export function canGoBack(): boolean {
  return visited.length > 0;
}

export function goBack(): void {
  visited.pop();
  dispatchEvent(new Event(CHANGED));
}

/** Build the address of a view; empty parameters are left out. */
export function href(view: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value !== undefined && value !== null && value !== "") query.set(name, String(value));
  const text = query.toString();
  return `/ui/${view}${text ? `?${text}` : ""}`;
}

export function navigate(address: string, { replace = false } = {}): void {
  if (address === readAddress()) return;
  if (host) visited[replace ? Math.max(0, visited.length - 1) : visited.length] = address;
  else history[replace ? "replaceState" : "pushState"](null, "", address);
  dispatchEvent(new Event(CHANGED));
}

/** Write what is shown into the address, where it is not there yet. */
export function pin(name: string, value: string): void {
  const { view, query } = readRoute();
  if (!query.has(name)) navigate(href(view, { ...Object.fromEntries(query), [name]: value }), { replace: true });
}

/** Follow links to views without a reload; everything else is left to the browser. */
export function interceptLinks(): void {
  addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest?.("a");
    const address = link?.getAttribute("href") ?? "";
    if (host && link && address.startsWith("vscode://file")) host.postMessage({ open: decodeURI(address.slice(13)) });
    else if (!link || link.target || !address.startsWith("/ui/")) return;
    event.preventDefault();
    event.stopPropagation(); // VS Code would follow it, too
    if (!address.startsWith("/ui/")) return;
    navigate(address);
    scrollTo(0, 0);
    document.getElementById("main")?.focus({ preventScroll: true }); // the header stays in sight
  }, { capture: host !== undefined });
  onHost((told) => "show" in told && navigate(told.show));
}

export function useRoute(): Route {
  const [route, setRoute] = useState(readRoute);
  useEffect(() => {
    const update = () => setRoute(readRoute());
    addEventListener("popstate", update);
    addEventListener(CHANGED, update);
    return () => {
      removeEventListener("popstate", update);
      removeEventListener(CHANGED, update);
    };
  }, []);
  return route;
}
