/** Whether this browser may change something. */

import { createContext } from "preact";
import { useContext } from "preact/hooks";

export const ReadOnly = createContext(false);

export function useReadOnly(): boolean {
  return useContext(ReadOnly);
}
