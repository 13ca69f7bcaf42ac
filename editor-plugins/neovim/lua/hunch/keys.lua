-- Actions of the keys in the window.
local bundles = require("hunch.bundle")
local config = require("hunch.config")
local daemon = require("hunch.daemon")
local files = require("hunch.files")

local M = {}

local function view()
  return require("hunch.view")
end

local function say(text, level)
  vim.notify("hunch: " .. text, level or vim.log.levels.INFO)
end

local function entry_here()
  local about = view().under_cursor()
  return about and about.entry, about
end

-- Return a window to open a file in; preferably the one used before the view.
local function file_window()
  local previous = vim.fn.win_getid(vim.fn.winnr("#"))
  for _, window in ipairs({ previous, unpack(vim.api.nvim_tabpage_list_wins(0)) }) do
    if vim.api.nvim_win_is_valid(window) then
      local buf = vim.api.nvim_win_get_buf(window)
      if vim.bo[buf].buftype == "" and vim.api.nvim_win_get_config(window).relative == "" then
        return window
      end
    end
  end
end

local function edit(path, how)
  local window = how ~= "tab" and file_window()
  if window then
    vim.api.nvim_set_current_win(window)
  end
  local command = ({ split = "split", vsplit = "vsplit", tab = "tabedit" })[how] or (window and "edit" or "topleft vsplit")
  vim.cmd({ cmd = command:match("%S+$"), args = { path }, mods = { split = command:match("^topleft") } })
end

-- Open a file of the project and report it as used; at `line`, or at the definition of `name`.
function M.go(place, target, how, name)
  local path = place.in_git and vim.fs.joinpath(place.project, target.path) or target.path
  if not vim.uv.fs_stat(path) then
    return say(target.path .. " is not there", vim.log.levels.WARN)
  end
  files.used(path)
  edit(path, how)
  if target.line then
    vim.api.nvim_win_set_cursor(0, { math.min(math.max(target.line, 1), vim.api.nvim_buf_line_count(0)), 0 })
  elseif name then
    vim.fn.cursor(1, 1)
    vim.fn.search("\\V\\C\\<" .. vim.fn.escape(name, "\\") .. "\\>", "cW")
  end
end

local function show_text(title, text, filetype)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(text, "\n", { plain = true }))
  vim.bo[buf].filetype = filetype
  vim.bo[buf].bufhidden = "wipe"
  vim.bo[buf].modifiable = false
  local width = math.min(100, math.max(40, vim.o.columns - 8))
  local height = math.max(1, math.min(vim.api.nvim_buf_line_count(buf), vim.o.lines - 8))
  local window = vim.api.nvim_open_win(buf, true, {
    relative = "editor",
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 2),
    col = math.floor((vim.o.columns - width) / 2),
    width = width,
    height = height,
    style = "minimal",
    border = "rounded",
    title = " " .. title .. " ",
  })
  vim.wo[window].wrap = true
  vim.wo[window].linebreak = true
  vim.wo[window].conceallevel = 2
  for _, key in ipairs({ "q", "<Esc>" }) do
    vim.keymap.set("n", key, "<Cmd>close<CR>", { buffer = buf, nowait = true })
  end
  return buf, window
end
M.show_text = show_text

local function show_commit(place, sha)
  local command = { "git", "-C", place.project, "show", "--stat", "--patch", "--no-color", "--no-ext-diff", sha }
  vim.system(command, { text = true, timeout = 10000 }, function(ended)
    vim.schedule(function()
      if ended.code ~= 0 then
        return say(vim.trim(ended.stderr or "git show failed"), vim.log.levels.WARN)
      end
      show_text(sha:sub(1, 10), ended.stdout, "git")
    end)
  end)
end

local function expand(place, topic)
  daemon.ask({
    method = "POST",
    path = "/expand",
    body = { project = place.project, topic = topic },
  }, function(failure, answer)
    if failure then
      return say(failure.message, vim.log.levels.WARN)
    end
    show_text(topic, vim.trim(answer.text or "") ~= "" and answer.text or "No further text is stored.", "markdown")
  end)
end

local function follow(how)
  local entry, about = entry_here()
  local shown = view().shown()
  if not shown or not about then
    return
  end
  if about.topic then
    return expand(shown.place, about.topic)
  end
  local target = entry and bundles.target(entry)
  if not target then
    return M.why()
  end
  if target.commit then
    return show_commit(shown.place, target.commit)
  end
  M.go(shown.place, target, how, about.line and bundles.defined(about.line))
end

function M.open()
  follow("edit")
end

function M.split()
  follow("split")
end

function M.vsplit()
  follow("vsplit")
end

function M.tab()
  follow("tab")
end

local function judge(outcome)
  local entry = entry_here()
  if not entry then
    return
  end
  local item = { id = entry.item.id, outcome = outcome, project = view().shown().place.project }
  daemon.ask({ method = "POST", path = "/feedback", body = { items = { item } } }, function(failure)
    if failure then
      return say(failure.message, vim.log.levels.WARN)
    end
    view().judged(item.id, outcome)
  end)
end

function M.helpful()
  judge("cited")
end

function M.not_helpful()
  judge("wrong")
end

local function is_memory(entry)
  return not entry.item.id:find("^file:")
end

function M.forget()
  local entry = entry_here()
  if not entry then
    return
  end
  if not is_memory(entry) then
    return say("a file is a prediction, not a memory: use `-` to mark it as not helpful")
  end
  vim.ui.select({ "Forget it", "Keep it" }, { prompt = "Forget “" .. entry.title .. "”?" }, function(_, choice)
    if choice ~= 1 then
      return
    end
    daemon.ask({ method = "DELETE", path = "/memories/" .. entry.item.id }, function(failure)
      if failure then
        return say(failure.message, vim.log.levels.WARN)
      end
      say("forgotten: " .. entry.title)
      view().refresh()
    end)
  end)
end

local function source_lines(source)
  local lines = {}
  for _, name in ipairs(vim.tbl_keys(source)) do
    if type(source[name]) ~= "table" then
      lines[#lines + 1] = ("- %s: %s"):format(name, tostring(source[name]):gsub("\n", " "))
    end
  end
  table.sort(lines)
  return lines
end

local LEVELS = { full = "in full", summary = "as a summary", compressed = "as one line", index = "as a name only" }

-- Return the reasons of an entry as text.
function M.reasons_of(entry)
  local item = entry.item
  local lines = { "# " .. entry.title, "" }
  for _, reason in ipairs(item.reasons or {}) do
    lines[#lines + 1] = "- " .. reason
  end
  vim.list_extend(lines, {
    "",
    ("%s, tier %d, shown %s for %d tokens"):format(item.kind, item.tier, LEVELS[item.level] or item.level, item.tokens),
    item.kind == "file" and ("%.0f %% likely to be needed"):format(item.score * 100)
      or ("expected usefulness %.2f"):format(item.score),
    "trust: " .. item.trust,
  })
  local source = source_lines(item.source or {})
  if #source > 0 then
    vim.list_extend(lines, { "", "## Source" })
    vim.list_extend(lines, source)
  end
  return lines
end

function M.why()
  local entry = entry_here()
  if not entry then
    return
  end
  local lines = M.reasons_of(entry)
  if not is_memory(entry) then
    return show_text("why", table.concat(lines, "\n"), "markdown")
  end
  daemon.ask({ method = "GET", path = "/memories/" .. entry.item.id }, function(failure, memory)
    if not failure and memory.content and memory.content ~= entry.title then
      vim.list_extend(lines, { "", "## In full" })
      vim.list_extend(lines, vim.split(memory.content, "\n", { plain = true }))
    end
    show_text("why", table.concat(lines, "\n"), "markdown")
  end)
end

function M.fold()
  pcall(vim.cmd, "normal! za")
end

function M.next()
  view().step(vim.v.count1)
end

function M.previous()
  view().step(-vim.v.count1)
end

function M.copy()
  local shown = view().shown()
  if shown and shown.bundle then
    M.copy_bundle(shown.bundle)
  end
end

function M.copy_bundle(bundle)
  vim.fn.setreg('"', bundle.context, "l")
  -- Without a clipboard only the unnamed register is available.
  pcall(vim.fn.setreg, "+", bundle.context, "l")
  say(("copied %d tokens of Markdown"):format(bundle.token_count))
end

function M.refresh()
  view().refresh()
end

function M.close()
  view().close()
end

local MEANINGS = {
  { "open", "go there: file, line, definition, commit; expand a name" },
  { "split", "… in a split" },
  { "vsplit", "… in a vertical split" },
  { "tab", "… in a tab" },
  { "helpful", "this helps" },
  { "not_helpful", "this does not help" },
  { "forget", "delete a memory permanently" },
  { "why", "show its reasons" },
  { "fold", "fold or unfold its lines" },
  { "next", "next entry" },
  { "previous", "previous entry" },
  { "copy", "copy the context as Markdown" },
  { "refresh", "ask again" },
  { "help", "these keys" },
  { "close", "close" },
}

function M.help()
  local lines = {}
  for _, meaning in ipairs(MEANINGS) do
    local key = config.options.keys[meaning[1]]
    if key then
      lines[#lines + 1] = ("  %-7s %s"):format(key, meaning[2])
    end
  end
  show_text("keys", table.concat(lines, "\n"), "hunch-keys")
end

-- Text of the window's bar.
function M.summary()
  local keys = config.options.keys
  local parts = {}
  for _, each in ipairs({
    { "open", "go" },
    { "helpful", "helps" },
    { "not_helpful", "does not" },
    { "why", "why" },
    { "help", "keys" },
  }) do
    if keys[each[1]] then
      parts[#parts + 1] = keys[each[1]]:gsub("%%", "%%%%") .. " " .. each[2]
    end
  end
  return table.concat(parts, " · ")
end

function M.map(buf)
  for _, meaning in ipairs(MEANINGS) do
    local key = config.options.keys[meaning[1]]
    if key then
      vim.keymap.set("n", key, M[meaning[1]], { buffer = buf, nowait = true, silent = true, desc = "hunch: " .. meaning[2] })
    end
  end
end

return M
