/** What is kept in this browser alone: the editor that links open, and the colours. */

import { useState } from "preact/hooks";
import { EDITOR_NAMES, getEditor, setEditor } from "../project";
import { cycleTheme, readTheme, THEMES } from "../theme";

export function EditorChoice() {
  const [editor, change] = useState(getEditor);
  return (
    <label class="editor-choice">
      Open files in
      <select
        value={editor}
        onChange={(event) => {
          setEditor(event.currentTarget.value);
          change(event.currentTarget.value);
        }}
      >
        {Object.entries(EDITOR_NAMES).map(([name, title]) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

export function ThemeSwitch() {
  const [theme, setTheme] = useState(readTheme);
  return (
    <button type="button" class="quiet" onClick={() => setTheme(cycleTheme())} aria-label={`Colours: ${THEMES[theme]}. Change`}>
      Colours: {THEMES[theme].toLowerCase()}
    </button>
  );
}
