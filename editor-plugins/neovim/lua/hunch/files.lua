-- Watcher of opened, switched, saved and closed files. The autocommands only start timers.
local daemon = require("hunch.daemon")
local projects = require("hunch.projects")
local signals = require("hunch.signals")

local M = {}

local uv = vim.uv
local SETTLE = 150 -- ms: files that are only passed through are not reported
local FAREWELL = 60 -- ms for flushing at exit
local MOST_OPEN = 30 -- open files reported to a new daemon

local open = {} -- path → {place, at (seconds)} of reported files
local current -- path reported last
local timer

local function is_file(buf)
  if not vim.api.nvim_buf_is_valid(buf) or vim.bo[buf].buftype ~= "" then
    return false
  end
  local name = vim.api.nvim_buf_get_name(buf)
  return name ~= "" and not name:find("^%a[%w+.-]+://") and not name:find("/.git/", 1, true)
end

-- Return the absolute path of a buffer's file, or nil.
function M.path(buf)
  if is_file(buf) then
    return vim.fs.normalize(vim.api.nvim_buf_get_name(buf))
  end
end

local function report(path)
  local place = projects.place(path)
  open[path] = { place = place, at = os.time() }
  current = path
  signals.add("file_opened", place, { path = place.path })
end

-- Report visible files: unreported ones in other windows first, the current one last.
local function look()
  local here = M.path(vim.api.nvim_get_current_buf())
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local path = M.path(vim.api.nvim_win_get_buf(window))
    if path and path ~= here and not open[path] and uv.fs_stat(path) then
      report(path)
    end
  end
  if here and here ~= current and uv.fs_stat(here) then
    report(here)
  end
end

function M.entered(buf)
  if vim.bo[buf].buftype ~= "" then
    return
  end
  timer = timer or assert(uv.new_timer())
  timer:start(SETTLE, 0, vim.schedule_wrap(look))
end

function M.saved(buf)
  local path = M.path(buf)
  if not path then
    return
  end
  local place = projects.place(path)
  if not open[path] then
    report(path) -- a new file has its first content
  end
  signals.add("file_saved", place, { path = place.path })
  if require("hunch.config").options.diagnostics then
    require("hunch.diagnostics").changed(buf)
  end
end

local function close(path)
  local known = open[path]
  if known then
    open[path] = nil
    if current == path then
      current = nil
    end
    signals.add("file_closed", known.place, { path = known.place.path })
  end
end

function M.closed(buf)
  local path = M.path(buf)
  if path then
    close(path)
  end
end

-- Report a followed suggestion; the daemon learns from it.
function M.used(path)
  local place = projects.place(path)
  signals.add("used", place, { path = place.path })
end

function M.leaving()
  for path in pairs(open) do
    close(path)
  end
  signals.last_words(FAREWELL)
end

-- A restarted daemon does not know the open files.
daemon.on_return(function()
  local paths = vim.tbl_keys(open)
  table.sort(paths, function(a, b)
    return (a ~= current and open[a].at or math.huge) < (b ~= current and open[b].at or math.huge)
  end)
  for _, path in ipairs(vim.list_slice(paths, math.max(1, #paths - MOST_OPEN + 1))) do
    if not signals.will_tell(path) then
      signals.add("file_opened", open[path].place, { path = open[path].place.path }, open[path].at)
    end
  end
end)

-- Fetch its context for `:Hunch` and the statusline.
signals.on_sent(function()
  local here = M.path(vim.api.nvim_get_current_buf())
  if here and open[here] then
    require("hunch.context").refresh(here)
  end
end)

return M
