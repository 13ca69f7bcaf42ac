-- Reports diagnostics of language servers and linters once they are stable, not while typing.
local config = require("hunch.config")
local files = require("hunch.files")
local projects = require("hunch.projects")
local signals = require("hunch.signals")

local M = {}

local SETTLE = 1500 -- ms without a change
local MOST = 5 -- for each file; the first usually causes the others
local LONGEST = 2000 -- bytes of a message
M.COMMAND = "editor diagnostics" -- distinguishes them from errors of test runs, which other events clear

local reported = {} -- path → {text → true}
local waiting = {} -- buffer → timer

local function text_of(diagnostic)
  local source = diagnostic.source and (" (" .. diagnostic.source .. ")") or ""
  return "error: " .. diagnostic.message:sub(1, LONGEST) .. source
end

local function errors_of(buf)
  local found = vim.diagnostic.get(buf, { severity = vim.diagnostic.severity.ERROR })
  table.sort(found, function(a, b)
    return a.lnum < b.lnum
  end)
  return vim.list_slice(found, 1, MOST)
end

local function report(buf)
  local path = files.path(buf)
  -- Unsaved files are skipped; saving checks again.
  if not path or vim.bo[buf].modified then
    return
  end
  local place = projects.place(path)
  local before, found = reported[path] or {}, {}
  for _, diagnostic in ipairs(errors_of(buf)) do
    local text = text_of(diagnostic)
    if not before[text] and not found[text] then
      signals.add("error", place, {
        text = text,
        command = M.COMMAND,
        file = place.path,
        line = diagnostic.lnum + 1,
      })
    end
    found[text] = true
  end
  if next(before) and not next(found) then
    signals.add("error_cleared", place, { command = M.COMMAND, file = place.path })
  else
    for text in pairs(before) do
      if not found[text] then
        signals.add("error_cleared", place, { command = M.COMMAND, file = place.path, text = text })
      end
    end
  end
  reported[path] = next(found) and found or nil
end

function M.changed(buf)
  if not config.options.diagnostics or not vim.api.nvim_buf_is_valid(buf) or vim.bo[buf].buftype ~= "" then
    return
  end
  waiting[buf] = waiting[buf] or assert(vim.uv.new_timer())
  waiting[buf]:start(SETTLE, 0, vim.schedule_wrap(function()
    if waiting[buf] then
      waiting[buf]:close()
      waiting[buf] = nil
      report(buf)
    end
  end))
end

return M
