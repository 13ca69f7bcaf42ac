/** The checks of `hunch doctor`, with its safe fixes. */

import { useState } from "preact/hooks";
import { request, type Answer } from "../api";
import { useAnswer } from "../answers";
import { count, sentence } from "../format";
import { useReadOnly } from "./access";
import { Show } from "./basics";
import { act } from "./toast";

type Check = Answer<"/doctor", "get">["checks"][number];

const VERDICTS: Record<Check["verdict"], { sign: string; name: string; style: string }> = {
  ok: { sign: "✓", name: "fine", style: "good-text" },
  note: { sign: "•", name: "worth knowing", style: "" },
  bad: { sign: "✗", name: "wrong", style: "bad-text" },
};

export function Doctor() {
  const [isOpen, setOpen] = useState(false);
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Check everything: folders, git, disk, hooks, service</summary>
      {isOpen && <Checks />}
    </details>
  );
}

function Checks() {
  const readOnly = useReadOnly();
  const [fixed, setFixed] = useState<readonly Check[]>();
  const asked = useAnswer((signal) => request("get", "/doctor", { signal }), []);
  const fix = () =>
    act("Mended what could be mended safely.", async () => setFixed((await request("post", "/doctor/fix")).checks), null);
  return (
    <Show of={asked} what="the checks">
      {(value) => {
        const checks = fixed ?? value.checks;
        const bad = checks.filter((one) => one.verdict === "bad");
        const shown = [...checks].sort((one, other) => ORDER.indexOf(one.verdict) - ORDER.indexOf(other.verdict));
        return (
          <>
            <p role="status">{bad.length === 0 ? "Nothing is wrong." : `${sentence(count(bad.length, "thing"))} to mend.`}</p>
            <dl class="checks">
              {shown.map((one, at) => (
                <CheckLine key={at} check={one} />
              ))}
            </dl>
            {!readOnly && checks.some((one) => one.fixable && one.verdict !== "ok") && (
              <button type="button" class="primary" onClick={() => void fix()}>
                Mend what is safe to mend
              </button>
            )}
          </>
        );
      }}
    </Show>
  );
}

const ORDER: readonly Check["verdict"][] = ["bad", "note", "ok"];

function CheckLine({ check }: { check: Check }) {
  const { sign, name, style } = VERDICTS[check.verdict];
  return (
    <>
      <dt class={style}>
        <span aria-hidden="true">{sign}</span>
        <span class="unseen">{name}</span>
      </dt>
      <dd>
        <b>{sentence(check.name)}</b>: {check.finding}
        {check.advice && <span class="quiet-text">{check.advice}</span>}
      </dd>
    </>
  );
}
