/** Data of a view: loading, ready or failed; what was there stays visible while it is asked for again. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { RequestFailed } from "./api";

export interface Loaded<T> {
  value: T | undefined;
  error: RequestFailed | undefined;
  isLoading: boolean;
  reload: () => void;
}

/** Ask when `deps` change; an answer that is no longer wanted is dropped. Null asks nothing. */
export function useAnswer<T>(ask: ((signal: AbortSignal) => Promise<T>) | null, deps: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<{ key: string; value?: T; error?: RequestFailed }>({ key: "" });
  const [turn, setTurn] = useState(0);
  const key = JSON.stringify(deps);
  const running = useRef<AbortController>();
  useEffect(() => {
    if (!ask) return;
    const control = new AbortController();
    running.current = control;
    ask(control.signal).then(
      (value) => control.signal.aborted || setState({ key, value }),
      (error: unknown) => {
        if (control.signal.aborted) return;
        const failed = error instanceof RequestFailed ? error : new RequestFailed(0, String(error));
        setState((before) => (before.key === key && before.value !== undefined ? { ...before, error: failed } : { key, error: failed }));
      },
    );
    return () => control.abort();
  }, [key, turn, ask === null]);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  const isCurrent = state.key === key;
  return {
    value: isCurrent ? state.value : undefined,
    error: isCurrent ? state.error : undefined,
    isLoading: !isCurrent && ask !== null,
    reload,
  };
}

export interface Listed<T> {
  items: T[];
  total: number | undefined;
  hasMore: boolean;
}
type PageOf<T> = { items: T[]; next?: string | null | undefined; total?: number };

const MAX_PAGES = 5; // asked for again when something changes

/** Ask for a list that the daemon gives page by page; `more` asks for one page more. */
export function usePages<T>(
  ask: (cursor: string | undefined, signal: AbortSignal) => Promise<PageOf<T>>,
  deps: readonly unknown[],
): Loaded<Listed<T>> & { more: () => void } {
  const key = JSON.stringify(deps);
  const wanted = useRef<{ key: string; pages: number; had: PageOf<T> | undefined }>({ key, pages: 1, had: undefined });
  if (wanted.current.key !== key) wanted.current = { key, pages: 1, had: undefined };
  const answer = useAnswer<Listed<T>>(async (signal) => {
    const { had } = wanted.current;
    wanted.current.had = undefined;
    const items: T[] = had ? [...had.items] : [];
    let page = had;
    for (let at = had ? wanted.current.pages - 1 : 0; at < wanted.current.pages && (at === 0 || page?.next); at++) {
      page = await ask(page?.next ?? undefined, signal);
      items.push(...page.items);
    }
    last.current = { items, next: page?.next };
    return { items, total: page?.total, hasMore: Boolean(page?.next) };
  }, deps);
  const last = useRef<PageOf<T>>();
  const more = () => {
    wanted.current.pages++;
    wanted.current.had = last.current;
    answer.reload();
  };
  /** Ask anew, for at most as many pages as one would still scroll through. */
  const reload = () => {
    wanted.current.pages = Math.min(wanted.current.pages, MAX_PAGES);
    answer.reload();
  };
  return { ...answer, reload, more };
}
