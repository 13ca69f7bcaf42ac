-- Commands and autocommands. All else is loaded on demand, to keep the start of Neovim fast.
if vim.g.loaded_hunch then
  return
end
vim.g.loaded_hunch = 1

if vim.fn.has("nvim-0.10") == 0 then
  vim.notify_once("hunch needs Neovim 0.10 or newer", vim.log.levels.WARN)
  return
end

local function command(name, run, options)
  vim.api.nvim_create_user_command(name, run, options)
end

command("Hunch", function(given)
  require("hunch").show({ query = given.args ~= "" and given.args or nil })
end, { nargs = "*", desc = "Show the context of this file; with words, for that question" })
command("HunchRelated", function()
  require("hunch").related()
end, { desc = "Choose a related file" })
command("HunchSearch", function(given)
  require("hunch").search(given.args)
end, { nargs = "+", desc = "Search the code for a question; lists what answers it in the quickfix window" })
command("HunchWhy", function()
  require("hunch").why()
end, { desc = "Show the reasons of each item" })
command("HunchCopy", function()
  require("hunch").copy()
end, { desc = "Copy the context of this file as Markdown" })

local group = vim.api.nvim_create_augroup("hunch", { clear = true })

local function on(events, run)
  vim.api.nvim_create_autocmd(events, { group = group, callback = run })
end

-- Opening the first file does not wait for the rest of the plugin, which takes a millisecond or more to load.
local loading = false

local function when_loaded(run)
  return function(event)
    if package.loaded["hunch.files"] then
      run(event.buf)
    elseif not loading then
      loading = true
      vim.defer_fn(function()
        require("hunch.files").entered(vim.api.nvim_get_current_buf())
      end, 20)
    end
  end
end

on("BufEnter", when_loaded(function(buf)
  require("hunch.files").entered(buf)
end))
on({ "BufDelete", "BufWipeout" }, when_loaded(function(buf)
  require("hunch.files").closed(buf)
end))
on("DiagnosticChanged", when_loaded(function(buf)
  require("hunch.diagnostics").changed(buf)
end))
on("BufWritePost", function(event)
  require("hunch.files").saved(event.buf)
end)
on("VimLeavePre", function()
  if package.loaded["hunch.files"] then
    require("hunch.files").leaving()
  end
end)
