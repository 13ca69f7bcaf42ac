/** Every setting with its value, where it comes from and what is allowed; changed here, in force after a restart. */

import { useState } from "preact/hooks";
import { request, RequestFailed, type Schemas } from "../api";
import { useAnswer } from "../answers";
import type { Project } from "../project";
import { href } from "../router";
import { useReadOnly } from "./access";
import { Empty, Panel, Show, Table } from "./basics";
import { Chips } from "./memory";
import { EVERYDAY, sayValue } from "./setting_words";
import { act } from "./toast";

type Setting = Schemas["Settings"]["items"][number];

export function SettingValues({ project, only }: { project: Project; only: string }) {
  const settings = useAnswer((signal) => request("get", "/settings", { signal }), []);
  const all = settings.value?.items ?? [];
  const isChanged = (one: Setting) => one.written !== one.default || one.value !== one.default;
  const everyday = Object.keys(EVERYDAY).map((name) => all.find((one) => nameOf(one) === name)).filter((one) => one !== undefined);
  const items = only === "" ? everyday : all.filter((one) => (only === "changed" ? isChanged(one) : only === "all" || one.section === only));
  const options = { "": "Everyday", changed: "Changed by you", all: "All, as in the file" };
  const waiting = all.filter((one) => one.written !== one.value).length;
  return (
    <Panel title="Settings" hint={settings.value && `They are kept in ${settings.value.file}. What decides whether something leaves this machine can be changed only there.`}>
      <Show of={settings} what="the settings">
        {(value) => (
          <>
            {value.problem && <p class="warning">{value.problem}</p>}
            {waiting > 0 && (
              <p class="warning" role="status">
                {waiting === 1 ? "One change waits" : `${waiting} changes wait`} for a restart. In a terminal, run <code>hunch restart</code>, then <code>hunch ui</code>.
              </p>
            )}
            <div class="filters">
              <Chips label="Show" chosen={only} options={options} address={(name) => href("settings", { project: project.id, only: name })} />
            </div>
            {items.length === 0 ? <Empty>Nothing was changed: every setting has its default.</Empty> : <SettingsTable items={items} isPlain={only === ""} onChanged={settings.reload} />}
          </>
        )}
      </Show>
    </Panel>
  );
}

function nameOf({ section, name }: Setting): string {
  return `${section}.${name}`;
}

function SettingsTable({ items, isPlain, onChanged }: { items: readonly Setting[]; isPlain: boolean; onChanged: () => void }) {
  return (
    <Table
      caption="Settings"
      rows={items}
      keyOf={nameOf}
      columns={[
        { title: "Setting", cell: (one) => <Title setting={one} isPlain={isPlain} /> },
        { title: "Value", cell: (one) => <Value setting={one} isPlain={isPlain} onChanged={onChanged} /> },
        { title: "Comes from", cell: (one) => (one.origin === "file" ? `your file; the default is ${isPlain ? sayValue(one.default, EVERYDAY[nameOf(one)]) : one.default}` : "default") },
      ]}
    />
  );
}

/** What a setting does, in words or as the file says it. */
function Title({ setting, isPlain }: { setting: Setting; isPlain: boolean }) {
  const words = isPlain ? EVERYDAY[nameOf(setting)] : undefined;
  return (
    <>
      {words ? <b>{words.title}</b> : <code>{nameOf(setting)}</code>}
      <br />
      <span class="quiet-text">{words?.about ?? setting.about}</span>
    </>
  );
}

/** What is sent elsewhere or downloaded; the daemon refuses to change it over HTTP. */
function isOnlyInFile(setting: Setting): boolean {
  return setting.section === "language" || (setting.section === "embedding" && setting.name === "model");
}

function Value({ setting, isPlain, onChanged }: { setting: Setting; isPlain: boolean; onChanged: () => void }) {
  const readOnly = useReadOnly();
  const [isEditing, setEditing] = useState(false);
  const [refused, setRefused] = useState("");
  const words = isPlain ? EVERYDAY[nameOf(setting)] : undefined;
  const name = words?.title ?? nameOf(setting);
  const say = (value: string) => (words ? sayValue(value, words) : value);
  const write = (value: string | null) => request("patch", "/settings", { body: { section: setting.section, name: setting.name, ...(value === null ? {} : { value }) } });
  const save = async (value: string | null) => {
    try {
      await write(value);
    } catch (error) {
      return setRefused(error instanceof RequestFailed ? error.message : String(error));
    }
    setRefused("");
    setEditing(false);
    const before = setting.written === setting.default ? null : setting.written;
    await act(`“${name}” is written.`, () => Promise.resolve(), () => write(before), onChanged, { id: nameOf(setting), title: "" });
  };
  return (
    <>
      {words ? say(setting.value) : <code>{setting.value}</code>}
      {setting.written !== setting.value && (
        <>
          {" "}
          <span class="tag noted-tag">{say(setting.written)} after a restart</span>
        </>
      )}
      {!readOnly && !isEditing && !isOnlyInFile(setting) && (
        <>
          {" "}
          <button type="button" class="quiet" onClick={() => setEditing(true)} aria-label={`Change ${name}`}>
            Change
          </button>
        </>
      )}
      {isOnlyInFile(setting) && <span class="quiet-text"> in the file only</span>}
      {isEditing && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void save(toToml(setting, String(new FormData(event.currentTarget).get("value"))));
          }}
        >
          <span class="inline-form">
            <Field setting={setting} name={name} values={words?.values ?? {}} />
            <button type="submit" class="primary">
              Save
            </button>
            {setting.written !== setting.default && (
              <button type="button" onClick={() => void save(null)}>
                Use the default
              </button>
            )}
            <button type="button" onClick={() => (setEditing(false), setRefused(""))}>
              Cancel
            </button>
          </span>
          <span class="quiet-text">Allowed: {setting.allowed === "true or false" ? "on or off" : setting.allowed}</span>
          {refused && (
            <p class="error-box" role="alert">
              {refused}
            </p>
          )}
        </form>
      )}
    </>
  );
}

function choices(setting: Setting): string[] {
  if (setting.allowed === "true or false") return ["true", "false"];
  return setting.allowed.startsWith("one of: ") ? setting.allowed.slice(8).split(", ") : [];
}

function Field({ setting, name, values }: { setting: Setting; name: string; values: Readonly<Record<string, string>> }) {
  const options = choices(setting);
  const written: unknown = JSON.parse(setting.written);
  const label = `New value of ${name}`;
  if (options.length)
    return (
      <select name="value" aria-label={label} defaultValue={String(written)}>
        {options.map((one) => (
          <option key={one} value={one} selected={one === String(written)}>
            {one === "true" ? "on" : one === "false" ? "off" : (values[one] ?? one)}
          </option>
        ))}
      </select>
    );
  if (Array.isArray(written)) return <textarea name="value" aria-label={`${label}, one a line`} rows={Math.max(3, written.length + 1)} defaultValue={written.join("\n")} spellcheck={false} />;
  return <input name="value" aria-label={label} defaultValue={String(written)} spellcheck={false} autocomplete="off" />;
}

/** Write what was typed as TOML; whether it is allowed the daemon decides. */
function toToml(setting: Setting, typed: string): string {
  const isText = setting.default.startsWith('"');
  if (setting.default.startsWith("[")) return JSON.stringify(typed.split("\n").map((one) => one.trim()).filter(Boolean));
  return isText ? JSON.stringify(typed) : typed.trim() || '""';
}
