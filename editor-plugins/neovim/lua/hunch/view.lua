-- The window of `:Hunch`: one for each Neovim, following the current file.
local bundles = require("hunch.bundle")
local config = require("hunch.config")
local context = require("hunch.context")
local daemon = require("hunch.daemon")
local drawing = require("hunch.drawing")
local files = require("hunch.files")
local projects = require("hunch.projects")

local M = {}

local api = vim.api
local NAMESPACE = api.nvim_create_namespace("hunch")
local ROOM = 120 -- minimum columns for two windows side by side
local READING = 1500 -- ms between two requests while a project is being indexed

-- State of the view: buf; path (of the file); query; page; bundle; verdicts (id → outcome)
local state = { verdicts = {} }
local reading

local function window()
  if state.buf and api.nvim_buf_is_valid(state.buf) then
    local found = vim.fn.bufwinid(state.buf)
    return found ~= -1 and found or nil
  end
end

function M.is_open()
  return window() ~= nil
end

local function highlight()
  for group, link in pairs(drawing.groups) do
    api.nvim_set_hl(0, group, { link = link, default = true })
  end
end

local function paint(page)
  local buf = state.buf
  vim.bo[buf].modifiable = true
  api.nvim_buf_set_lines(buf, 0, -1, false, page.lines)
  vim.bo[buf].modifiable = false
  api.nvim_buf_clear_namespace(buf, NAMESPACE, 0, -1)
  for _, mark in ipairs(page.marks) do
    api.nvim_buf_set_extmark(buf, NAMESPACE, mark.row, mark.from, { end_col = mark.to, hl_group = mark.group })
  end
  for _, mark in ipairs(page.right) do
    api.nvim_buf_set_extmark(buf, NAMESPACE, mark.row, 0, {
      virt_text = { { mark.text .. " ", mark.group } },
      virt_text_pos = "right_align",
    })
  end
  state.page = page
end

-- Show `page` and keep the cursor on its entry.
local function repaint(page)
  local win = window()
  if not win then
    return
  end
  local before = state.page and state.page.about[api.nvim_win_get_cursor(win)[1]]
  local id = before and before.entry and before.entry.item.id
  paint(page)
  local row = page.starts[1] or 1
  for _, start in ipairs(page.starts) do
    if id and page.about[start].entry.item.id == id then
      row = start
    end
  end
  api.nvim_win_call(win, function()
    vim.cmd("silent! normal! zE")
    for _, fold in ipairs(page.folds) do
      if fold[2] > fold[1] then
        vim.cmd(("%d,%dfold"):format(fold[1], fold[2]))
      end
    end
    vim.cmd("silent! normal! zR")
  end)
  api.nvim_win_set_cursor(win, { math.min(row, #page.lines), 0 })
end

local function message(...)
  repaint(drawing.message({ ... }))
end

local function name_of(path)
  return vim.fn.fnamemodify(path, ":t")
end

local function show_bundle(bundle)
  state.bundle = bundle
  if #bundle.items == 0 then
    local page = {
      { name_of(state.path), "HunchPlace" },
      { "" },
    }
    if bundle.status == "empty" then
      page[#page + 1] = { "Nothing relevant is known about this file yet." }
    end
    for _, note in ipairs(bundle.degraded or {}) do
      page[#page + 1] = { note, "HunchNote" }
    end
    return repaint(drawing.message(page))
  end
  local win = window()
  repaint(drawing.page(bundles.outline(bundle), state.verdicts, win and api.nvim_win_get_width(win) or 60))
end

local HELP_OF = {
  absent = "`hunch doctor` in a terminal finds out why.",
  slow = "It may be busy: `r` asks again; `hunch doctor` finds out more.",
  protocol = ":checkhealth hunch tells the versions.",
}

local function show_failure(failure)
  state.bundle = nil
  message(
    { name_of(state.path), "HunchPlace" },
    { "" },
    { failure.message, "HunchNote" },
    { HELP_OF[failure.kind] or "`r` asks again; :checkhealth hunch tells more.", "HunchCount" }
  )
end

-- While the project is being indexed the answer grows: poll until it is complete.
local function look_again_soon()
  reading = reading or assert(vim.uv.new_timer())
  reading:start(READING, 0, vim.schedule_wrap(function()
    if window() then
      M.refresh()
    end
  end))
end

function M.refresh()
  local path = state.path
  if not path or not window() then
    return
  end
  context.fetch(path, { wanted = true, query = state.query }, function(failure, bundle)
    if path ~= state.path or not window() then
      return
    end
    if failure then
      return show_failure(failure)
    end
    if bundle ~= state.bundle then
      show_bundle(bundle)
    end
    if bundle.status == "degraded" then
      look_again_soon()
    end
  end)
end

local function open_window()
  local options = config.options.window
  local position = options.position
  if position == "auto" then
    position = vim.o.columns >= ROOM and "right" or "below"
  end
  if position == "below" then
    vim.cmd("botright " .. math.floor(vim.o.lines / 3) .. "split")
  elseif position ~= "current" then
    vim.cmd((position == "left" and "topleft " or "botright ") .. options.width .. "vsplit")
  end
  local win = api.nvim_get_current_win()
  api.nvim_win_set_buf(win, state.buf)
  for name, value in pairs({
    number = false,
    relativenumber = false,
    signcolumn = "no",
    foldcolumn = "0",
    list = false,
    spell = false,
    wrap = true,
    linebreak = true,
    breakindent = true,
    breakindentopt = "list:-1",
    cursorline = true,
    foldmethod = "manual",
    foldenable = true,
    winfixwidth = position == "left" or position == "right",
    winfixheight = position == "below",
    foldtext = "v:lua.require'hunch.view'.foldtext()",
    fillchars = "eob: ,fold: ",
    winbar = " " .. require("hunch.keys").summary(),
    winhighlight = "WinBar:HunchCount,WinBarNC:HunchCount",
  }) do
    api.nvim_set_option_value(name, value, { win = win, scope = "local" })
  end
end

local function make_buffer()
  if state.buf and api.nvim_buf_is_valid(state.buf) then
    return
  end
  state.buf = api.nvim_create_buf(false, true)
  api.nvim_buf_set_name(state.buf, "hunch://context")
  vim.bo[state.buf].filetype = "hunch"
  vim.bo[state.buf].bufhidden = "hide"
  vim.bo[state.buf].formatlistpat = [[^\s*\(›\|◆\|○\|✗\|≠\|·\)\s*]] -- indentation of wrapped titles
  require("hunch.keys").map(state.buf)
end

function M.foldtext()
  local count = vim.v.foldend - vim.v.foldstart + 1
  return { { ("      ⋯ %d lines"):format(count), "HunchReason" } }
end

-- Show the context of `path` in the window; open it if necessary, and enter it.
function M.open(path, query)
  highlight()
  make_buffer()
  local win = window()
  if win then
    api.nvim_set_current_win(win)
  else
    open_window()
  end
  local known = not query and context.known(path)
  state.path, state.query, state.bundle = path, query, nil
  if known then
    show_bundle(known)
  else
    message({ name_of(path), "HunchPlace" }, { "" }, { "asking …", "HunchCount" })
  end
  M.refresh()
end

-- Follow a change of the current file.
function M.follow(path)
  if not window() or path == state.path or not config.options.window.follow or state.query then
    return
  end
  state.path, state.bundle = path, nil
  local known = context.known(path)
  if known then
    show_bundle(known)
  end
  M.refresh()
end

-- Show a new bundle of `path` that was fetched in the background.
function M.came(path)
  local known = context.known(path)
  if path == state.path and not state.query and known and known ~= state.bundle and window() then
    show_bundle(known)
    if known.status == "degraded" then
      look_again_soon()
    end
  end
end

-- Return what is under the cursor: {entry?, line?, topic?}, or nil.
function M.under_cursor()
  local win = window()
  if not win or not state.page then
    return nil
  end
  local position = api.nvim_win_get_cursor(win)
  local about = state.page.about[position[1]]
  if about and about.topics then
    return { topic = M.topic_at(state.page.lines[position[1]], position[2], about.topics) }
  end
  return about
end

-- Return the topic of `line` at byte `column`, or the first one.
function M.topic_at(line, column, topics)
  local from = 1
  for _, topic in ipairs(topics) do
    local first, last = line:find(topic, from, true)
    if last and column < last then
      return topic, first
    end
    from = (last or from) + 1
  end
  return topics[1]
end

-- Move the cursor by `count` entries (back, if negative).
function M.step(count)
  local win = window()
  if not win or not state.page then
    return
  end
  local row = api.nvim_win_get_cursor(win)[1]
  local starts, at = state.page.starts, 0
  for index, start in ipairs(starts) do
    if start <= row then
      at = index
    end
  end
  -- Moving back from inside an entry goes to its beginning.
  if count < 0 and starts[at] and starts[at] < row then
    count = count + 1
  end
  local wanted = starts[math.max(1, math.min(#starts, at + count))]
  if wanted then
    api.nvim_win_set_cursor(win, { wanted, 0 })
  end
end

-- Store the feedback for an item, and show it.
function M.judged(id, outcome)
  state.verdicts[id] = outcome
  if state.bundle then
    show_bundle(state.bundle)
  end
end

function M.close()
  local win = window()
  if win then
    pcall(api.nvim_win_close, win, false)
  end
end

-- Return {path, query, place, bundle} of the shown context.
function M.shown()
  if not state.path then
    return nil
  end
  return { path = state.path, query = state.query, place = projects.place(state.path), bundle = state.bundle }
end

-- When a daemon becomes reachable, refresh a view that shows the failure.
daemon.on_answer(function()
  if state.path and not state.bundle then
    vim.schedule(M.refresh)
  end
end)

local group = api.nvim_create_augroup("hunch_view", { clear = true })
api.nvim_create_autocmd("User", {
  group = group,
  pattern = "HunchContext",
  callback = function(event)
    M.came(event.data.path)
  end,
})
api.nvim_create_autocmd("BufEnter", {
  group = group,
  callback = function(event)
    local path = files.path(event.buf)
    if path and window() then
      vim.schedule(function()
        M.follow(path)
      end)
    end
  end,
})
api.nvim_create_autocmd("ColorScheme", { group = group, callback = highlight })

return M
