-- How much the plugin adds to opening a file: nvim --headless -u NONE -n -i NONE -l benchmarks/opening.lua FOLDER [PLUGIN]
-- Prints what `:edit` takes, in ms, over the files below FOLDER; the first one loads the plugin.
local folder, plugin = arg[1], arg[2]
if plugin then
  vim.opt.rtp:prepend(plugin)
  vim.cmd.runtime("plugin/hunch.lua")
end
local files = vim.fs.find(function(name)
  return name:match("%.%a+$")
end, { path = folder, type = "file", limit = 200 })
vim.wait(200) -- Neovim has started, its user reaches for a key
local times = {}
for _ = 1, 3 do
  for _, file in ipairs(files) do
    local began = vim.uv.hrtime()
    vim.cmd.edit(vim.fn.fnameescape(file))
    times[#times + 1] = (vim.uv.hrtime() - began) / 1e6
    vim.wait(200) -- timers and answers come between two files, as they do when a person opens them
    vim.cmd("silent! bwipeout!")
  end
end
local first = times[1]
table.sort(times)
local median, late = times[math.ceil(#times / 2)], times[math.ceil(#times * 0.95)]
io.stdout:write(("%d opens: median %.2f ms, 95 %% below %.2f ms, the first %.2f ms\n"):format(#times, median, late, first))
