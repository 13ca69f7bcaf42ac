/** Load a component when it is first shown. */

import { h, type ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { RequestFailed } from "../api";
import { ErrorBox, Loading } from "./basics";

const loaded = new Map<unknown, ComponentType<never>>();

export function Lazy<P extends object>({ load, props, what }: { load: () => Promise<{ default: ComponentType<P> }>; props: P; what: string }) {
  const [, setTurn] = useState(0);
  const [error, setError] = useState<RequestFailed>();
  const found = loaded.get(load) as ComponentType<P> | undefined;
  useEffect(() => {
    if (found) return;
    let isWanted = true;
    load().then(
      (module) => {
        loaded.set(load, module.default as ComponentType<never>);
        if (isWanted) setTurn((turn) => turn + 1);
      },
      () => isWanted && setError(new RequestFailed(0, "This view could not be loaded.", "hunchd is not answering, or it was updated: then reload the page.")),
    );
    return () => {
      isWanted = false;
    };
  }, [load]);
  if (found) return h(found, props);
  return error ? <ErrorBox error={error} retry={() => location.reload()} /> : <Loading what={what} />;
}
