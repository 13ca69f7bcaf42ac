-- `:HunchWhy` outside of the view: all items of a file's context with their reasons, as a table.
local M = {}

local function row(item)
  local what = item.title or (item.source or {}).path or item.id
  local chance = item.kind == "file" and ("%3.0f %%"):format(item.score * 100) or ("%5.2f"):format(item.score)
  return {
    ("%d  %-11s %s  %4d  %s"):format(item.tier, item.kind, chance, item.tokens, what:gsub("\n", " ")),
    "                           " .. table.concat(item.reasons or {}, " · "),
  }
end

function M.lines(bundle)
  local lines = { "tier kind       worth tokens", "" }
  for _, item in ipairs(bundle.items) do
    vim.list_extend(lines, row(item))
  end
  if #bundle.items == 0 then
    lines = { "Nothing would be shown." }
  end
  for _, note in ipairs(bundle.degraded or {}) do
    lines[#lines + 1] = note
  end
  return lines
end

function M.show(path, bundle)
  require("hunch.keys").show_text("why · " .. vim.fn.fnamemodify(path, ":t"), table.concat(M.lines(bundle), "\n"), "hunch-why")
end

return M
