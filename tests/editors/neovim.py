"""Driver of headless Neovim, over its own socket."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

from tests.editors.editor import PLUGINS, TIMEOUT, Editor, wait_until

_OLDEST = (0, 10)
# Reads lines of JSON with code, writes lines of JSON with [ok, result], and stores messages to the user.
_LISTENER = """
vim.o.columns, vim.o.lines = 160, 50
_said = {}
vim.notify = function(text) table.insert(_said, text) end
local listener = vim.uv.new_pipe(false)
listener:bind(address)
listener:listen(8, function()
  local client, received = vim.uv.new_pipe(false), ""
  listener:accept(client)
  client:read_start(function(_, chunk)
    received = received .. (chunk or "")
    for line in received:gmatch("([^\\n]*)\\n") do
      vim.schedule(function()
        local run, reason = load(vim.json.decode(line))
        local answer = { false, reason }
        if run then
          answer = { pcall(run) }
        end
        if answer[2] == nil then
          answer[2] = vim.NIL
        end
        client:write(vim.json.encode({ answer[1], answer[1] and answer[2] or tostring(answer[2]) }) .. "\\n")
      end)
    end
    received = received:match("[^\\n]*$")
  end)
end)
"""


class Neovim(Editor):
    name = "neovim"

    @classmethod
    def find(cls) -> str:
        return os.environ.get("HUNCHD_TEST_NVIM") or shutil.which("nvim") or ""

    @classmethod
    def missing(cls) -> str | None:
        if not cls.find():
            return "there is no nvim (tests/editors/run installs one)"
        told = subprocess.run([cls.find(), "--version"], capture_output=True, text=True, check=False).stdout
        version = re.match(r"NVIM v(\d+)\.(\d+)", told)
        if version is None or (int(version[1]), int(version[2])) < _OLDEST:
            return f"{told.partition(chr(10))[0] or 'nvim'} is older than 0.10"
        return None

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        address = f"{self.folder}.sock"
        init = self.folder / "init.lua"
        init.write_text(
            f"vim.opt.rtp:prepend({json.dumps(str(PLUGINS / 'neovim'))})\n"
            f"require('hunch').setup(vim.json.decode({json.dumps(json.dumps(self.settings))}))\n"
            f"local address = {json.dumps(address)}\n" + _LISTENER
        )
        self.process = subprocess.Popen(
            [self.executable, "--headless", "-u", str(init), "-n", "-i", "NONE"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=self.environment(),
            cwd=self.folder,
        )
        wait_until(lambda: self._accepts_connections(address), "Neovim listens")
        self._answers = self._socket.makefile("rb")

    def _accepts_connections(self, address: str) -> bool:
        """Return True once Neovim accepts connections; the socket file appears earlier."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(TIMEOUT)
        if self._socket.connect_ex(address) == 0:
            return True
        self._socket.close()
        return False

    def stop(self) -> None:
        super().stop()
        self._answers.close()
        self._socket.close()

    def lua(self, code: str) -> Any:
        """Run Lua `code` in the editor and return its value."""
        self._socket.sendall(json.dumps(code).encode() + b"\n")
        good, result = json.loads(self._answers.readline())
        assert good, f"{code}\n{result}"
        return result

    def open(self, path: Path) -> None:
        # In a window that shows a file, like a user.
        self.lua(
            "for _, win in ipairs(vim.api.nvim_list_wins()) do\n"
            "  if vim.bo[vim.api.nvim_win_get_buf(win)].buftype == '' then vim.api.nvim_set_current_win(win) end\n"
            "end\n"
            f"vim.cmd.edit({json.dumps(str(path))})"
        )

    def save(self) -> None:
        self.lua("vim.cmd('silent write')")

    def close(self, path: Path) -> None:
        self.lua(f"vim.cmd.bdelete({json.dumps(str(path))})")

    def current_file(self) -> str:
        return str(self.lua("return vim.api.nvim_buf_get_name(0)"))

    def show_context(self) -> None:
        self.lua("vim.cmd.Hunch()")

    def read_context(self) -> str:
        return str(
            self.lua(
                "local buf = vim.fn.bufnr('^hunch://context$')\n"
                "return buf == -1 and '' or table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\\n')"
            )
        )

    def choose_related(self, path: str) -> None:
        self.lua(
            "vim.ui.select = function(items, options, choose)\n"
            f"  for index, item in ipairs(items) do if item.path == {json.dumps(path)} then\n"
            "     table.insert(_said, options.format_item(item)); return choose(item, index)\n"
            "  end end\n"
            "end\n"
            "vim.cmd.HunchRelated()"
        )

    def search_code(self, question: str) -> None:
        self.lua(f"vim.cmd.HunchSearch({json.dumps(question)})")

    def open_first_result(self) -> int | None:
        if not self.lua("return #vim.fn.getqflist()"):
            return None
        return int(self.lua("vim.cmd.cfirst()\nreturn vim.fn.line('.')"))

    def report_errors(self, errors: list[tuple[int, str, str]]) -> None:
        found = [
            {"lnum": line - 1, "col": 0, "message": message, "source": source, "severity": 1}
            for line, message, source in errors
        ]
        self.lua(
            "local found = vim.json.decode(" + json.dumps(json.dumps(found)) + ")\n"
            "vim.diagnostic.set(vim.api.nvim_create_namespace('checker'), 0, found)"
        )

    def run_action(self, action: str, title: str) -> None:
        self.lua(
            "vim.fn.win_gotoid(vim.fn.bufwinid('^hunch://context$'))\n"
            f"vim.fn.search('\\\\V' .. {json.dumps(title)}, 'cw')\n"
            "vim.ui.select = function(items, _, choose) choose(items[1], 1) end\n"
            f"require('hunch.keys')[{json.dumps(action)}]()"
        )

    def read_messages(self) -> str:
        return str(
            self.lua(
                "local said = vim.deepcopy(_said)\n"
                "for _, win in ipairs(vim.api.nvim_list_wins()) do\n"
                "  if vim.api.nvim_win_get_config(win).relative ~= '' then\n"
                "    vim.list_extend(said, vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, false))\n"
                "  end\n"
                "end\n"
                "table.insert(said, vim.v.errmsg)\n"
                "return table.concat(said, '\\n')"
            )
        )
