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
