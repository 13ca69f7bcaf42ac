/** Addresses: /ui/VIEW?project=ID&… ; plain links, without a reload. */

import { useEffect, useState } from "preact/hooks";

export interface Route {
  view: string;
  query: URLSearchParams;
}
type Params = Record<string, string | number | undefined | null>;

const CHANGED = "hunchd-route";

export function readRoute(): Route {
  const [, , view = ""] = location.pathname.split("/");
  return { view: decodeURIComponent(view) || "now", query: new URLSearchParams(location.search) };
}

/** Build the address of a view; empty parameters are left out. */
export function href(view: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value !== undefined && value !== null && value !== "") query.set(name, String(value));
  const text = query.toString();
  return `/ui/${view}${text ? `?${text}` : ""}`;
}

export function navigate(address: string, { replace = false } = {}): void {
  if (address === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  dispatchEvent(new Event(CHANGED));
}

/** Follow links to views without a reload; everything else is left to the browser. */
export function interceptLinks(): void {
  addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest?.("a");
    if (!link || link.target || link.origin !== location.origin || !link.pathname.startsWith("/ui/")) return;
    event.preventDefault();
    navigate(link.pathname + link.search);
    scrollTo(0, 0);
    document.getElementById("main")?.focus();
  });
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
